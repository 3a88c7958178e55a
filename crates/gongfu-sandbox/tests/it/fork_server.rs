//! Tests of the fork server. Each has a process of its own, because a process has one fork server.

use std::sync::Arc;
use std::time::{Duration, Instant};

use gongfu_core::account::Owner;
use gongfu_core::sandbox::{Command, Exit, Level};
use gongfu_sandbox::Runner;
use rustix::process::{Pid, Signal, kill_process};

use crate::alone::{children, wait_for_end};
use crate::fixture::{Fixture, LITE, NAMESPACES, runtime, text};

pub(crate) const ALL: [(&str, fn()); 4] = [
    ("runs_have_a_low_priority", runs_have_a_low_priority),
    ("one_server_forks_all_runs", one_server_forks_all_runs),
    ("namespaces_work_after_it_was_killed", || {
        works_after_it_was_killed(NAMESPACES);
    }),
    ("lite_works_after_it_was_killed", || {
        works_after_it_was_killed(LITE);
    }),
];

/// The name of its process.
const NAME: &str = "gongfu-fork";

/// A fixture without control groups, and a runner that has started its fork server.
fn start_server(level: Level) -> (Fixture, Runner, u32) {
    let fixture = Fixture::new(level);
    let runner = Runner::new(Some(level)).without_groups();
    output_of(&fixture, &runner, "true");
    let server = children(NAME);
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

fn kill(process: u32) {
    let process = Pid::from_raw(i32::try_from(process).unwrap()).unwrap();
    kill_process(process, Signal::KILL).unwrap();
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
    assert_eq!(children(NAME), [server]);
    // The exit code passes through it.
    let spec = fixture.spec(Command::Line("exit 7".to_owned()));
    let running = runner.run(&Owner::Local, spec, Arc::new(|_, _| {}));
    let outcome = runtime().block_on(running).unwrap();
    assert_eq!(outcome.exit, Some(Exit::Code(7)));
}

fn works_after_it_was_killed(level: Level) {
    let (fixture, runner, server) = start_server(level);
    kill(server);
    wait_for_end(server);
    for _ in 0..3 {
        assert_eq!(output_of(&fixture, &runner, "echo said"), "said\n");
    }
}
