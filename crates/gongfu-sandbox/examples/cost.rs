//! What a run costs in every kind of sandbox that works here, beside what the machine takes at least.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a measurement, which says what it found"
)]

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::BTreeMap;
    use std::process::Command as Process;
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use gongfu_core::account::Owner;
    use gongfu_core::port::Sandbox as _;
    use gongfu_core::sandbox::{Command, Exit, Level, Limits, Mode, Mount, Spec};
    use gongfu_sandbox::Runner;

    /// How often each is run, all of them in turns.
    const TIMES: usize = 150;
    /// What is run.
    const PROGRAMS: [&[&str]; 2] = [&["true"], &["python3", "-c", "pass"]];

    /// Runs words; answers how long it took, where it works.
    type Run<'a> = Box<dyn Fn(&[&str]) -> Option<Duration> + 'a>;

    fn print(name: &str, mut times: Vec<Duration>) {
        times.sort_unstable();
        let milliseconds = |time: Option<&Duration>| time.unwrap().as_secs_f64() * 1000.0;
        let (least, median) = (times.first(), times.get(times.len() / 2));
        println!(
            "  {name:<28} min {:6.2} ms   median {:6.2} ms",
            milliseconds(least),
            milliseconds(median)
        );
    }

    fn spawned(before: &[&str], words: &[&str]) -> Option<Duration> {
        let mut words = before.iter().chain(words);
        let begun = Instant::now();
        let ran = Process::new(words.next()?).args(words).status();
        assert!(ran.unwrap().success());
        Some(begun.elapsed())
    }

    pub(crate) fn measure() {
        let folder = std::env::temp_dir().join(format!("gongfu-cost-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("skill")).unwrap();
        std::fs::write(folder.join("skill/file"), "x").unwrap();
        let layered = Mount {
            sources: vec![folder.join("skill")],
            target: "/skill".to_owned(),
            mode: Mode::Layered,
            keep: None,
        };
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_all().build().unwrap();
        let once = |runner: &Runner, words: &[&str]| {
            let words = words.iter().map(|word| (*word).to_owned());
            let spec = Spec {
                command: Command::Program(words.collect()),
                folder: "/skill".to_owned(),
                mounts: vec![layered.clone()],
                environment: BTreeMap::new(),
                input: Vec::new(),
                limits: Limits::default(),
                logs: None,
            };
            let begun = Instant::now();
            let ran = runner.run(&Owner::Local, spec, Arc::new(|_, _| {}));
            let ran = runtime.block_on(ran).ok()?;
            (ran.exit == Some(Exit::Code(0))).then(|| begun.elapsed())
        };
        let mut all: Vec<(String, Run<'_>)> =
            vec![("spawn".to_owned(), Box::new(|words| spawned(&[], words)))];
        if std::path::Path::new("/usr/bin/bwrap").exists() {
            let bare = ["bwrap", "--unshare-all", "--ro-bind", "/", "/"];
            let run = move |words: &[&str]| spawned(&bare, words);
            all.push(("bwrap alone".to_owned(), Box::new(run)));
        }
        let mut ours = |name: String, runner: Runner| {
            let once = &once;
            all.push((name, Box::new(move |words| once(&runner, words))));
        };
        for level in Level::ALL {
            let new = || Runner::new(Some(level));
            ours(level.to_string(), new());
            ours(format!("{level}, no group"), new().without_groups());
            if level == Level::Namespaces {
                ours(format!("{level}, no spare"), new().without_spares());
            }
        }
        for words in PROGRAMS {
            // The first one tries whether it works at all.
            let works: Vec<_> = all.iter().filter(|(_, run)| run(words).is_some()).collect();
            let mut times = vec![Vec::new(); works.len()];
            for _ in 0..TIMES {
                for ((_, run), times) in works.iter().zip(&mut times) {
                    times.extend(run(words));
                }
            }
            println!("{}", words.join(" "));
            for ((name, _), times) in works.iter().zip(times) {
                print(name, times);
            }
        }
        drop(all);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

fn main() -> std::process::ExitCode {
    #[cfg(target_os = "linux")]
    {
        if let Some(ended) = gongfu_sandbox::become_child() {
            return ended;
        }
        linux::measure();
    }
    std::process::ExitCode::SUCCESS
}
