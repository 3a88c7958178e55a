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

    /// How often each is run.
    const TIMES: usize = 100;

    fn print(name: &str, mut times: Vec<Duration>) {
        times.sort_unstable();
        let milliseconds = |time: Option<&Duration>| time.unwrap().as_secs_f64() * 1000.0;
        let (least, median) = (times.first(), times.get(times.len() / 2));
        println!(
            "{name:<28} min {:6.2} ms   median {:6.2} ms",
            milliseconds(least),
            milliseconds(median)
        );
    }

    fn spawned(program: &str, arguments: &[&str]) -> Vec<Duration> {
        let once = |_| {
            let begun = Instant::now();
            let ran = Process::new(program).args(arguments).status();
            assert!(ran.unwrap().success());
            begun.elapsed()
        };
        (0..TIMES).map(once).collect()
    }

    pub(crate) fn measure() {
        print("spawn", spawned("true", &[]));
        if std::path::Path::new("/usr/bin/bwrap").exists() {
            let bare = ["--unshare-all", "--ro-bind", "/", "/", "true"];
            print("bwrap alone", spawned("bwrap", &bare));
        }
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
        for level in Level::ALL {
            for grouped in [true, false] {
                let runner = Runner::new(Some(level));
                let runner = if grouped {
                    runner
                } else {
                    runner.without_groups()
                };
                let once = |_| {
                    let spec = Spec {
                        command: Command::Program(vec!["true".to_owned()]),
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
                let mode = if grouped { "" } else { ", no group" };
                // The first one tries whether it works at all.
                match (0..=TIMES).map(once).skip(1).collect() {
                    Some(times) => print(&format!("{level}{mode}"), times),
                    None => println!("{level}{mode}: doesn't work here"),
                }
            }
        }
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
