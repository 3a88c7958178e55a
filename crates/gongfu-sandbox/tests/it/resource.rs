//! Attacks on the resources of the machine: each would take all of one, and must end soon.

use std::time::Duration;

use gongfu_core::sandbox::{Exit, Level, Reason};
use libtest_mimic::Trial;

use crate::fixture::{DOCKER, Fixture, LITE, Test, gone, of_every_level, tests, text, word};

pub(crate) fn trials() -> Vec<Trial> {
    let all: [Test; 5] = tests![
        "resource": programs_have_a_low_priority,
        sessions_have_a_low_priority,
        process_limit_holds_against_endless_forking,
        open_file_limit_holds,
        odd_and_deep_names_disturb_no_later_run,
    ];
    of_every_level(&all)
}

fn programs_have_a_low_priority(level: Level) {
    const OWN: &str =
        "import os; print(os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0))";
    let outside = std::process::Command::new("python3")
        .args(["-c", OWN])
        .output()
        .unwrap();
    let outside = String::from_utf8(outside.stdout).unwrap();
    let (nice, rule) = outside.trim().split_once(' ').unwrap();
    assert_ne!(rule, "3", "the control: outside it is another one");
    let nice = nice.parse::<i32>().unwrap().max(10);
    let fixture = Fixture::new(level);
    // Its children have the same priority, and can't raise it.
    let line = format!("nice -n -5 python3 -c '{OWN}' 2>/dev/null; true");
    assert_eq!(fixture.output_of(&line), format!("{nice} 3\n"));
}

fn sessions_have_a_low_priority(level: Level) {
    let path = "/proc/sys/kernel/sched_autogroup_enabled";
    let is_shared = std::fs::read_to_string(path).is_ok_and(|text| text.trim() == "1");
    // Lite hides the file. A container always has a control group, and its share of the processors.
    if !is_shared || level == LITE || level == DOCKER {
        return;
    }
    let mut fixture = Fixture::new(level);
    // A control group would limit its share.
    fixture.uses_groups = false;
    let line = "until grep -q ' nice 10$' /proc/self/autogroup; do sleep 0.05; done; echo it is";
    assert_eq!(fixture.output_of(line), "it is\n");
}

fn process_limit_holds_against_endless_forking(level: Level) {
    let mut fixture = Fixture::new(level);
    fixture.limits.processes = 30;
    fixture.limits.wall = Duration::from_secs(3);
    let word = word(fixture.folder.path());
    // Each has a session of its own, and ignores signals.
    fixture.write(
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
    let outcome = fixture.run_line(&format!("exec python3 beget.py {word}"));
    assert!(
        matches!(outcome.reason, Reason::Timeout | Reason::Pids),
        "{outcome:?}"
    );
    gone(&word);
    assert_eq!(fixture.output_of("echo next"), "next\n");
}

fn open_file_limit_holds(level: Level) {
    let mut fixture = Fixture::new(level);
    fixture.limits.open_files = 100;
    fixture.write(
        "skill/open.py",
        "import os
held = []
try:
    while True: held.append(os.open('/dev/null', os.O_RDONLY))
except OSError as error:
    print(50 < len(held) <= 100, error.errno)
",
    );
    assert_eq!(fixture.output_of("exec python3 open.py"), "True 24\n");
}

fn odd_and_deep_names_disturb_no_later_run(level: Level) {
    let fixture = Fixture::new(level);
    fixture.write(
        "skill/names.py",
        "import os
home = os.environ['HOME']
os.chdir(home)
for name in (b'x' * 255, b'\\xff\\xfe', b'a\\nb', b' ', b'\\x1b[2J', '\u{202e}'.encode()):
    os.close(os.open(name, os.O_CREAT | os.O_WRONLY))
# Deeper than the longest path.
for _ in range(1_500):
    os.mkdir('deep-deep')
    os.chdir('deep-deep')
os.close(os.open('end', os.O_CREAT | os.O_WRONLY))
print('made')
",
    );
    let outcome = fixture.run_line("exec python3 names.py");
    // Where files are counted, a folder that can't be counted exceeds the limit.
    if level != LITE || outcome.reason != Reason::Disk {
        assert_eq!(text(&outcome.stdout), "made\n", "{outcome:?}");
        assert_eq!(outcome.exit, Some(Exit::Code(0)));
    }
    assert_eq!(fixture.output_of("echo next"), "next\n");
}
