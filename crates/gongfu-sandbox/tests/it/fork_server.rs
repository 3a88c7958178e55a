//! The process that begins children where sessions share the processors: what it is for, and that nobody
//! misses it. Each test runs in a process that has no other.

use std::sync::Arc;
use std::time::{Duration, Instant};

use gongfu_core::account::Owner;
use gongfu_core::port::Sandbox as _;
use gongfu_core::sandbox::{Command, Exit, Level, Reason};
use gongfu_sandbox::Runner;
use rustix::process::{Pid, Signal, kill_process};

use crate::alone::{PATIENCE, children, ends};
use crate::ground::{Ground, gone, runtime, text, word};

pub(crate) const ALL: [(&str, fn()); 5] = [
    ("what_it_begins_stands_behind", what_it_begins_stands_behind),
    ("without_it_namespaces_go_on", || go_on(Level::Namespaces)),
    ("without_it_lite_goes_on", || go_on(Level::Lite)),
    ("namespaces_that_it_began_end", || end(Level::Namespaces)),
    ("lite_that_it_began_ends", || end(Level::Lite)),
];

/// What it calls itself.
const NAME: &str = "gongfu-fork";

/// A ground without control groups, and a runner that has a fork server; `None` where sessions share
/// nothing.
fn served(level: Level) -> Option<(Ground, Runner, u32)> {
    let told = std::fs::read_to_string("/proc/sys/kernel/sched_autogroup_enabled");
    if told.is_ok_and(|told| told.trim() != "1") {
        return None;
    }
    let ground = Ground::new(level);
    let runner = Runner::new(Some(level)).without_groups();
    says(&ground, &runner, "true");
    let begun = Instant::now();
    loop {
        if let Some(server) = children(NAME).first() {
            return Some((ground, runner, *server));
        }
        assert!(begun.elapsed() < PATIENCE, "there is no fork server");
        std::thread::sleep(Duration::from_millis(5));
    }
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

fn what_it_begins_stands_behind() {
    let Some((ground, runner, _)) = served(Level::Namespaces) else {
        return;
    };
    let begun = Instant::now();
    // It is there before it is of use; from then on every run stands behind at once.
    let line = "cat /proc/self/autogroup";
    while !says(&ground, &runner, line).ends_with(" nice 10\n") {
        assert!(begun.elapsed() < PATIENCE, "it isn't used");
    }
    for _ in 0..3 {
        let told = says(&ground, &runner, line);
        assert!(told.ends_with(" nice 10\n"), "{told}");
    }
    // How it ended is known of whoever it began.
    let spec = ground.spec(Command::Line("exit 7".to_owned()));
    let running = runner.run(&Owner::Local, spec, Arc::new(|_, _| {}));
    let outcome = runtime().block_on(running).unwrap();
    assert_eq!(outcome.exit, Some(Exit::Code(7)));
}

fn go_on(level: Level) {
    let Some((ground, runner, server)) = served(level) else {
        return;
    };
    // It may just be beginning a child, which nobody knows of then.
    kill(server);
    ends(server);
    for _ in 0..3 {
        assert_eq!(says(&ground, &runner, "echo said"), "said\n");
    }
}

fn end(level: Level) {
    let Some((ground, runner, server)) = served(level) else {
        return;
    };
    for _ in 0..3 {
        says(&ground, &runner, "true");
    }
    let word = word(ground.folder.path());
    let mut spec = ground.spec(Command::Line(format!("sleep {word} & exec sleep {word}")));
    spec.limits.wall = Duration::from_secs(2);
    let running = runner.run(&Owner::Local, spec, Arc::new(|_, _| {}));
    let outcome = runtime().block_on(running).unwrap();
    assert_eq!(outcome.reason, Reason::Timeout, "{outcome:?}");
    gone(&word);
    kill(server);
}
