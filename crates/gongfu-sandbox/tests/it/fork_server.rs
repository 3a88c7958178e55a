//! Tests of the fork server. Each has a process of its own, because a process has one fork server.

use std::fs::File;
use std::process::{Command as Process, ExitCode};
use std::sync::Arc;
use std::time::{Duration, Instant};

use gongfu_core::account::Owner;
use gongfu_core::sandbox::{Command, Exit, Level};
use gongfu_sandbox::Runner;
use libtest_mimic::{Failed, Trial};
use rustix::process::{Pid, Signal, kill_process};

use crate::fixture::{Fixture, LITE, NAMESPACES, runtime, text};

/// The argument that makes this program run one of these tests.
pub(crate) const ARGUMENT: &str = "fork-server-test";
/// The time that a process may take to end.
const END_TIMEOUT: Duration = Duration::from_mins(1);

const TESTS: [(&str, fn()); 6] = [
    ("runs_have_a_low_priority", runs_have_a_low_priority),
    ("one_server_forks_all_runs", one_server_forks_all_runs),
    (
        "each_network_is_used_by_one_run",
        each_network_is_used_by_one_run,
    ),
    (
        "works_after_the_spare_was_killed",
        works_after_the_spare_was_killed,
    ),
    ("namespaces_work_after_it_was_killed", || {
        works_after_it_was_killed(NAMESPACES);
    }),
    ("lite_works_after_it_was_killed", || {
        works_after_it_was_killed(LITE);
    }),
];

/// The name of its process.
const NAME: &str = "gongfu-fork";

pub(crate) fn trials() -> Vec<Trial> {
    let trials = TESTS.map(|(name, _)| {
        let run = move || {
            let ran = Process::new(std::env::current_exe().unwrap())
                .args([ARGUMENT, name])
                .output()
                .unwrap();
            let errors = String::from_utf8_lossy(&ran.stderr).into_owned();
            let is_ok = ran.status.success();
            is_ok.then_some(()).ok_or(Failed::from(errors))
        };
        Trial::test(format!("fork_server::{name}"), run)
    });
    trials.into()
}

/// Runs one of these tests in this process.
pub(crate) fn run_one() -> ExitCode {
    let wanted = std::env::args().nth(2);
    let mut tests = TESTS.iter();
    let test = tests.find(|(name, _)| wanted.as_deref() == Some(name));
    test.unwrap().1();
    ExitCode::SUCCESS
}

/// The parent and the name of a process; `None` when it has ended.
fn stat(process: u32) -> Option<(u32, String)> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (start, rest) = stat.rsplit_once(") ")?;
    let (state, rest) = rest.split_once(' ')?;
    let parent = rest.split(' ').next()?.parse().ok()?;
    let name = start.split_once('(')?.1.to_owned();
    (state != "Z").then_some((parent, name))
}

/// The fork servers among the children of a process, and their spare supervisors.
fn forks_of(parent: u32) -> Vec<u32> {
    let wanted = (parent, NAME.to_owned());
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    processes
        .filter(|process| stat(*process).as_ref() == Some(&wanted))
        .collect()
}

/// The fork servers of this process.
fn servers() -> Vec<u32> {
    forks_of(std::process::id())
}

/// Waits for a spare supervisor in a network of its own; returns both.
fn spare_of(server: u32) -> (u32, String) {
    let start = Instant::now();
    let network = |process: u32| std::fs::read_link(format!("/proc/{process}/ns/net"));
    let shared = network(server).unwrap();
    loop {
        if let [spare] = forks_of(server)[..]
            && let Ok(own) = network(spare)
            && own != shared
        {
            return (spare, own.to_str().unwrap().to_owned());
        }
        assert!(start.elapsed() < END_TIMEOUT, "there is no spare");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Kills a fork server or a spare supervisor, and waits for its end.
fn kill(server: u32) {
    let pid = Pid::from_raw(i32::try_from(server).unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    let start = Instant::now();
    while stat(server).is_some() {
        assert!(start.elapsed() < END_TIMEOUT, "{server} lives on");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A fixture without control groups, and a runner that has started its fork server.
fn start_server(level: Level) -> (Fixture, Runner, u32) {
    let fixture = Fixture::new(level);
    let runner = Runner::new(Some(level)).without_groups();
    output_of(&fixture, &runner, "true");
    let server = servers();
    assert_eq!(server.len(), 1, "{server:?}");
    (fixture, runner, server[0])
}

fn output_of(fixture: &Fixture, runner: &Runner, line: &str) -> String {
    let spec = fixture.spec(Command::Line(line.to_owned()));
    let running = runner.run(&Owner::Local, spec, Arc::new(|_, _| {}));
    let outcome = runtime().block_on(running).unwrap();
    assert_eq!(outcome.exit, Some(Exit::Code(0)), "{line}: {outcome:?}");
    text(&outcome.stdout)
}

fn runs_have_a_low_priority() {
    let (fixture, runner, _) = start_server(NAMESPACES);
    if !std::path::Path::new("/proc/self/autogroup").exists() {
        println!("not run: sessions share nothing here");
        return;
    }
    let start = Instant::now();
    // The kernel limits how many sessions are lowered in a second.
    let line = "cat /proc/self/autogroup";
    while !output_of(&fixture, &runner, line).ends_with(" nice 10\n") {
        assert!(start.elapsed() < Duration::from_mins(1), "it isn't lowered");
    }
    for _ in 0..3 {
        let text = output_of(&fixture, &runner, line);
        assert!(text.ends_with(" nice 10\n"), "{text}");
    }
}

fn one_server_forks_all_runs() {
    let (fixture, runner, server) = start_server(NAMESPACES);
    // At the same time namespaces have different numbers.
    let line = "readlink /proc/self/ns/pid /proc/self/ns/user /proc/self/ns/net; sleep 1";
    let run = || {
        let spec = fixture.spec(Command::Line(line.to_owned()));
        runner.run(&Owner::Local, spec, Arc::new(|_, _| {}))
    };
    let (one, other) = runtime().block_on(async { tokio::join!(run(), run()) });
    let [one, other] = [one, other].map(|outcome| text(&outcome.unwrap().stdout));
    assert!(
        one.lines()
            .zip(other.lines())
            .all(|(one, other)| one != other)
    );
    assert_eq!(servers(), [server]);
    // The exit code passes through it.
    let spec = fixture.spec(Command::Line("exit 7".to_owned()));
    let running = runner.run(&Owner::Local, spec, Arc::new(|_, _| {}));
    let outcome = runtime().block_on(running).unwrap();
    assert_eq!(outcome.exit, Some(Exit::Code(7)));
}

fn each_network_is_used_by_one_run() {
    let (fixture, runner, server) = start_server(NAMESPACES);
    // An open namespace keeps its number.
    let mut seen: Vec<(File, String)> = Vec::new();
    for _ in 0..3 {
        let (spare, network) = spare_of(server);
        let handle = File::open(format!("/proc/{spare}/ns/net")).unwrap();
        let line = "readlink /proc/self/ns/net; cat /proc/self/net/dev | wc -l";
        let text = output_of(&fixture, &runner, line);
        // Two lines of headings, and `lo`.
        assert_eq!(text, format!("{network}\n3\n"));
        let is_new = seen.iter().all(|(_, other)| *other != network);
        assert!(is_new, "{network} is used again");
        seen.push((handle, network));
    }
}

fn works_after_the_spare_was_killed() {
    let (fixture, runner, server) = start_server(NAMESPACES);
    for _ in 0..3 {
        let (spare, _) = spare_of(server);
        kill(spare);
        assert_eq!(output_of(&fixture, &runner, "echo said"), "said\n");
    }
    assert_eq!(servers(), [server]);
}

fn works_after_it_was_killed(level: Level) {
    let (fixture, runner, server) = start_server(level);
    kill(server);
    for _ in 0..3 {
        assert_eq!(output_of(&fixture, &runner, "echo said"), "said\n");
    }
}
