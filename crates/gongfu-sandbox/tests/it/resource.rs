//! Attacks on what a machine has: each would take all of it, and must end soon with nothing left.

use std::time::Duration;

use gongfu_core::sandbox::{Exit, Level, Reason};
use libtest_mimic::Trial;

use crate::ground::{Ground, Test, gone, of_every_level, text, word};

pub(crate) fn trials() -> Vec<Trial> {
    let all: [Test; 5] = [
        ("resource::memory_of_fifty_processes", fifty_processes),
        ("resource::processes_that_beget_others", beget_others),
        ("resource::more_small_files_than_there_may_be", small_files),
        ("resource::more_open_files_than_there_may_be", open_files),
        ("resource::names_that_are_hard_to_follow", hard_names),
    ];
    of_every_level(&all)
}

fn fifty_processes(level: Level) {
    let mut ground = Ground::new(level);
    ground.limits.memory = 300 << 20;
    ground.limits.wall = Duration::from_secs(30);
    let word = word(ground.folder.path());
    ground.write(
        "skill/many.py",
        "import os, sys, time
for _ in range(50):
    if os.fork() == 0:
        held = bytearray(12 << 20)
        held[::4096] = b'x' * len(held[::4096])
        time.sleep(25)
        os._exit(0)
time.sleep(25)
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
    ground.limits.wall = Duration::from_secs(30);
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
    assert!(outcome.changed <= 3_000 || level != Level::Namespaces);
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
    let mut ground = Ground::new(level);
    ground.limits.wall = Duration::from_secs(30);
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
    if level != Level::Lite || outcome.reason != Reason::Disk {
        assert_eq!(text(&outcome.stdout), "made\n", "{outcome:?}");
        assert_eq!(outcome.exit, Some(Exit::Code(0)));
    }
    assert_eq!(ground.says("echo next"), "next\n");
}
