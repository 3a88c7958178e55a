//! Attacks on what a machine has: each would take all of it, and must end soon with nothing left.

use std::time::Duration;

use gongfu_core::sandbox::{Exit, Level, Reason};
use libtest_mimic::Trial;

use crate::ground::{DOCKER, Ground, LITE, NAMESPACES, Test, gone, of_every_level, text, word};

pub(crate) fn trials() -> Vec<Trial> {
    let all: [Test; 7] = [
        ("resource::programs_stand_behind_others", behind),
        ("resource::sessions_stand_behind_others", sessions_behind),
        ("resource::memory_of_fifty_processes", fifty_processes),
        ("resource::processes_that_beget_others", beget_others),
        ("resource::more_small_files_than_there_may_be", small_files),
        ("resource::more_open_files_than_there_may_be", open_files),
        ("resource::names_that_are_hard_to_follow", hard_names),
    ];
    of_every_level(&all)
}

fn behind(level: Level) {
    const OWN: &str =
        "import os; print(os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0))";
    let outside = std::process::Command::new("python3")
        .args(["-c", OWN])
        .output()
        .unwrap();
    let outside = String::from_utf8(outside.stdout).unwrap();
    let (nice, rule) = outside.trim().split_once(' ').unwrap();
    assert_ne!(rule, "3", "outside it must be otherwise");
    let nice = nice.parse::<i32>().unwrap().max(10);
    let ground = Ground::new(level);
    // What it begins stands there as well, and can't come forward by itself.
    let line = format!("nice -n -5 python3 -c '{OWN}' 2>/dev/null; true");
    assert_eq!(ground.says(&line), format!("{nice} 3\n"));
}

fn sessions_behind(level: Level) {
    let path = "/proc/sys/kernel/sched_autogroup_enabled";
    let is_shared = std::fs::read_to_string(path).is_ok_and(|told| told.trim() == "1");
    // Lite hides the file. A container always has a control group, and its share of the processors.
    if !is_shared || level == LITE || level == DOCKER {
        return;
    }
    let mut ground = Ground::new(level);
    // A control group of its own would hold it to its share.
    ground.grouped = false;
    let line = "until grep -q ' nice 10$' /proc/self/autogroup; do sleep 0.05; done; echo it is";
    assert_eq!(ground.says(line), "it is\n");
}

fn fifty_processes(level: Level) {
    let mut ground = Ground::new(level);
    ground.limits.memory = 300 << 20;
    let word = word(ground.folder.path());
    ground.write(
        "skill/many.py",
        "import os, sys, time
for _ in range(50):
    if os.fork() == 0:
        held = bytearray(12 << 20)
        held[::4096] = b'x' * len(held[::4096])
        time.sleep(55)
        os._exit(0)
time.sleep(55)
",
    );
    let outcome = ground.line(&format!("exec python3 many.py {word}"));
    // By a limit of each process the last of them would be refused, and the others go on.
    assert_eq!((outcome.reason, outcome.exit), (Reason::Oom, None));
    gone(&word);
}

fn beget_others(level: Level) {
    let mut ground = Ground::new(level);
    ground.limits.processes = 30;
    ground.limits.wall = Duration::from_secs(3);
    let word = word(ground.folder.path());
    // None of them belongs to the group or the session of another, and none listens to signals.
    ground.write(
        "skill/beget.py",
        "import os, signal, time
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
while True:
    try:
        if os.fork() == 0: os.setsid()
    except OSError: time.sleep(0.01)
",
    );
    let outcome = ground.line(&format!("exec python3 beget.py {word}"));
    assert!(
        matches!(outcome.reason, Reason::Timeout | Reason::Pids),
        "{outcome:?}"
    );
    gone(&word);
    assert_eq!(ground.says("echo next"), "next\n");
}

fn small_files(level: Level) {
    let mut ground = Ground::new(level);
    ground.limits.files = 3_000;
    ground.write(
        "skill/small.py",
        "import sys
for number in range(1_000_000):
    open(f'small-{number}', 'w').close()
",
    );
    let outcome = ground.line("exec python3 small.py");
    assert_eq!(outcome.reason, Reason::Disk, "{outcome:?}");
    // What may be there is there, and the next run works.
    assert!(outcome.changed <= 3_000 || level != NAMESPACES);
    assert_eq!(ground.says("echo next"), "next\n");
}

fn open_files(level: Level) {
    let mut ground = Ground::new(level);
    ground.limits.open_files = 100;
    ground.write(
        "skill/open.py",
        "import os
held = []
try:
    while True: held.append(os.open('/dev/null', os.O_RDONLY))
except OSError as error:
    print(50 < len(held) <= 100, error.errno)
",
    );
    assert_eq!(ground.says("exec python3 open.py"), "True 24\n");
}

fn hard_names(level: Level) {
    let ground = Ground::new(level);
    ground.write(
        "skill/names.py",
        "import os
home = os.environ['HOME']
os.chdir(home)
for name in (b'x' * 255, b'\\xff\\xfe', b'a\\nb', b' ', b'\\x1b[2J', '\u{202e}'.encode()):
    os.close(os.open(name, os.O_CREAT | os.O_WRONLY))
# Deeper than any path can say.
for _ in range(1_500):
    os.mkdir('deep-deep')
    os.chdir('deep-deep')
os.close(os.open('end', os.O_CREAT | os.O_WRONLY))
print('made')
",
    );
    let outcome = ground.line("exec python3 names.py");
    // Where somebody counts what is written, what can't be counted is too much.
    if level != LITE || outcome.reason != Reason::Disk {
        assert_eq!(text(&outcome.stdout), "made\n", "{outcome:?}");
        assert_eq!(outcome.exit, Some(Exit::Code(0)));
    }
    assert_eq!(ground.says("echo next"), "next\n");
}
