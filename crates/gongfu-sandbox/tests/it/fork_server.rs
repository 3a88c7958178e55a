//! The fork server: runs have its low priority, and go on after it was killed. Each test has a process of its own,
//! because a process has one fork server.

use std::sync::Arc;
use std::time::{Duration, Instant};

use gongfu_core::account::Owner;
use gongfu_core::sandbox::{Command, Exit, Level, Reason};
use gongfu_sandbox::Runner;
use rustix::process::{Pid, Signal, kill_process};

use crate::alone::{children, wait_for_end};
use crate::ground::{Ground, LITE, NAMESPACES, gone, runtime, text, word};

pub(crate) const ALL: [(&str, fn()); 6] = [
    ("runs_have_a_low_priority", have_a_low_priority),
    ("is_forked_once", is_forked_once),
    ("namespaces_go_on_without_it", || go_on(NAMESPACES)),
    ("lite_goes_on_without_it", || go_on(LITE)),
    ("namespaces_end_on_timeout", || end(NAMESPACES)),
    ("lite_ends_on_timeout", || end(LITE)),
];

/// The name of its process.
const NAME: &str = "gongfu-fork";

/// A ground without control groups, and a runner that has started its fork server.
fn start(level: Level) -> (Ground, Runner, u32) {
    let ground = Ground::new(level);
    let runner = Runner::new(Some(level)).without_groups();
    says(&ground, &runner, "true");
    let server = children(NAME);
    assert_eq!(server.len(), 1, "{server:?}");
    (ground, runner, server[0])
}

fn says(ground: &Ground, runner: &Runner, line: &str) -> String {
    let spec = ground.spec(Command::Line(line.to_owned()));
    let running = runner.run(&Owner::Local, spec, Arc::new(|_, _| {}));
    let outcome = runtime().block_on(running).unwrap();
    assert_eq!(outcome.exit, Some(Exit::Code(0)), "{line}: {outcome:?}");
    text(&outcome.stdout)
}

fn kill(process: u32) {
    let process = Pid::from_raw(i32::try_from(process).unwrap()).unwrap();
    kill_process(process, Signal::KILL).unwrap();
}

fn have_a_low_priority() {
    let (ground, runner, _) = start(NAMESPACES);
    if !std::path::Path::new("/proc/self/autogroup").exists() {
        println!("not run: sessions share nothing here");
        return;
    }
    let begun = Instant::now();
    // Only so many sessions may be lowered in a second.
    let line = "cat /proc/self/autogroup";
    while !says(&ground, &runner, line).ends_with(" nice 10\n") {
        assert!(begun.elapsed() < Duration::from_mins(1), "it isn't lowered");
    }
    for _ in 0..3 {
        let told = says(&ground, &runner, line);
        assert!(told.ends_with(" nice 10\n"), "{told}");
    }
}

fn is_forked_once() {
    let (ground, runner, server) = start(NAMESPACES);
    // At the same time namespaces have different numbers.
    let line = "readlink /proc/self/ns/pid /proc/self/ns/user /proc/self/ns/net; sleep 1";
    let run = || {
        let spec = ground.spec(Command::Line(line.to_owned()));
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
    let spec = ground.spec(Command::Line("exit 7".to_owned()));
    let running = runner.run(&Owner::Local, spec, Arc::new(|_, _| {}));
    let outcome = runtime().block_on(running).unwrap();
    assert_eq!(outcome.exit, Some(Exit::Code(7)));
}

fn go_on(level: Level) {
    let (ground, runner, server) = start(level);
    kill(server);
    wait_for_end(server);
    for _ in 0..3 {
        assert_eq!(says(&ground, &runner, "echo said"), "said\n");
    }
}

fn end(level: Level) {
    let (ground, runner, server) = start(level);
    let word = word(ground.folder.path());
    let mut spec = ground.spec(Command::Line(format!("sleep {word} & exec sleep {word}")));
    spec.limits.wall = Duration::from_secs(2);
    let running = runner.run(&Owner::Local, spec, Arc::new(|_, _| {}));
    let outcome = runtime().block_on(running).unwrap();
    assert_eq!(outcome.reason, Reason::Timeout, "{outcome:?}");
    gone(&word);
    kill(server);
}
