//! What a run may use, and that nothing of it is left when it ends.

use std::process::{Command as Process, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use gongfu_core::account::Owner;
use gongfu_core::sandbox::{Command, Enforcement, Exit, Level, Means, Reason};
use libtest_mimic::{Failed, Trial};

use crate::ground::{
    DOCKER, Ground, LITE, NAMESPACES, Test, VICTIM, alive, gone, groups_of, levels, of_every_level,
    runtime, text, word,
};
use crate::runner;

/// How soon everything is dead once a run is over.
const SOON: Duration = Duration::from_secs(5);

/// A test that is given its ground.
type OnGround = (&'static str, fn(Ground));

pub(crate) fn trials() -> Vec<Trial> {
    let all: [Test; 8] = [
        ("limit::time_ends_everything", time_ends_everything),
        ("limit::silence_ends_it", silence_ends_it),
        ("limit::time_on_the_processor", time_on_the_processor),
        ("limit::disk_by_size_and_by_number", disk),
        ("limit::a_flood_of_output", a_flood_of_output),
        (
            "limit::nothing_outlives_the_program",
            nothing_outlives_the_program,
        ),
        (
            "limit::whoever_no_longer_waits_ends_it",
            whoever_no_longer_waits,
        ),
        (
            "limit::a_killed_server_leaves_nothing",
            a_killed_server_leaves_nothing,
        ),
    ];
    let counted: [OnGround; 2] = [
        (
            "limit::memory_of_one_and_of_many",
            memory_of_one_and_of_many,
        ),
        ("limit::processes", processes),
    ];
    let only_grouped: [OnGround; 2] = [
        (
            "limit::memory_that_comes_and_goes",
            memory_that_comes_and_goes,
        ),
        ("limit::groups_of_the_dead_go", groups_of_the_dead_go),
    ];
    let mut trials = of_every_level(&all);
    for (level, is_ignored) in levels() {
        let there_are = !is_ignored && is_grouped(level);
        let in_mode = |(name, test): OnGround, grouped: bool| {
            let mode = if grouped {
                "in_a_control_group"
            } else {
                "watched"
            };
            let run = move || {
                let mut ground = Ground::new(level);
                ground.grouped = grouped;
                test(ground);
                Ok::<(), Failed>(())
            };
            let is_ignored = is_ignored || (grouped && !there_are);
            Trial::test(format!("{level}::{name}::{mode}"), run).with_ignored_flag(is_ignored)
        };
        // A daemon gives every container a control group.
        let modes: &[bool] = if level == DOCKER {
            &[true]
        } else {
            &[false, true]
        };
        let in_each = |test| modes.iter().map(move |grouped| in_mode(test, *grouped));
        trials.extend(counted.into_iter().flat_map(in_each));
        trials.extend(only_grouped.into_iter().map(|test| in_mode(test, true)));
    }
    trials
}

/// Whether runs have control groups on this machine.
fn is_grouped(level: Level) -> bool {
    if level == DOCKER {
        return true;
    }
    let ran = Ground::new(level).runs(Command::Line("true".to_owned()));
    ran.is_ok_and(|outcome| outcome.enforcement.memory == Means::ControlGroup)
}

/// What holds the limits of a ground.
fn held(ground: &Ground) -> Enforcement {
    let (memory, processes) = if ground.grouped {
        (Means::ControlGroup, Means::ControlGroup)
    } else if ground.level == LITE {
        (Means::Watchdog, Means::Watchdog)
    } else {
        (Means::Watchdog, Means::ProcessLimit)
    };
    let disk = if ground.level == NAMESPACES {
        Means::SizedFileSystem
    } else {
        Means::Watchdog
    };
    Enforcement {
        memory,
        processes,
        disk,
    }
}

/// A line that begins processes which don't want to end, and waits with them.
fn stubborn(word: &str) -> String {
    format!(
        "trap '' TERM HUP INT; (setsid sleep {word} &) ; setsid bash -c 'trap \"\" TERM; sleep {word}' & sleep {word}"
    )
}

fn time_ends_everything(level: Level) {
    let mut ground = Ground::new(level);
    ground.limits.wall = Duration::from_millis(700);
    let word = word(ground.folder.path());
    let begun = Instant::now();
    let outcome = ground.line(&stubborn(&word));
    assert_eq!((outcome.reason, outcome.exit), (Reason::Timeout, None));
    assert!(begun.elapsed() >= ground.limits.wall);
    assert!(gone(&word) < SOON);
}

fn silence_ends_it(level: Level) {
    let mut ground = Ground::new(level);
    ground.limits.idle = Some(Duration::from_secs(2));
    let outcome = ground.line("for i in 1 2 3 4; do echo $i; sleep 0.2; done; sleep 60");
    assert_eq!(outcome.reason, Reason::Timeout);
    assert_eq!(text(&outcome.stdout), "1\n2\n3\n4\n");
}

fn time_on_the_processor(level: Level) {
    let mut ground = Ground::new(level);
    ground.limits.cpu = Duration::from_secs(1);
    let outcome = ground.line("exec python3 -c 'while True: pass'");
    assert_eq!(
        (outcome.reason, outcome.exit),
        (Reason::Timeout, Some(Exit::Signal(24)))
    );
}

fn memory_of_one_and_of_many(mut ground: Ground) {
    ground.limits.memory = 200 << 20;
    let hold =
        "b = bytearray(%d << 20); b[::4096] = b'x' * len(b[::4096]); import time; time.sleep(%d)";
    let of = |size: u32, wait: u32| {
        hold.replacen("%d", &size.to_string(), 1)
            .replacen("%d", &wait.to_string(), 1)
    };
    // Less than the limit is nobody's business.
    let outcome = ground.line(&format!("python3 -c \"{}\"", of(100, 0)));
    assert_eq!(
        (outcome.reason, outcome.exit),
        (Reason::Ok, Some(Exit::Code(0)))
    );
    let outcome = ground.line(&format!("python3 -c \"{}\"", of(260, 20)));
    assert_eq!(outcome.reason, Reason::Oom, "{outcome:?}");
    let one = format!("python3 -c \"{}\"", of(40, 20));
    let outcome = ground.line(&format!("for i in 1 2 3 4 5 6 7 8; do {one} & done; wait"));
    assert_eq!(outcome.reason, Reason::Oom, "{outcome:?}");
    // One whose first thread has ended has no memory by its own name.
    let hidden = "import ctypes, threading, time\ndef hold():\n  b = bytearray(260 << 20); b[::4096] = b'x' * len(b[::4096]); time.sleep(20)\nthreading.Thread(target=hold).start()\nctypes.CDLL(None).syscall(60, 0)";
    let outcome = ground.line(&format!("exec python3 -c \"{hidden}\""));
    assert_eq!(outcome.reason, Reason::Oom, "{outcome:?}");
    if ground.level != LITE {
        // What is written lies in memory as well.
        ground.limits.disk = 400 << 20;
        let outcome = ground.line("dd if=/dev/zero of=/tmp/a bs=1M count=300 && sleep 20");
        assert_eq!(outcome.reason, Reason::Oom, "{outcome:?}");
    }
    // A program that doesn't mind that another one was ended is ended as well.
    let begun = Instant::now();
    let outcome = ground.line(&format!("python3 -c \"{}\"; sleep 50", of(260, 20)));
    assert_eq!((outcome.reason, outcome.exit), (Reason::Oom, None));
    assert!(begun.elapsed() < Duration::from_secs(30));
    assert_eq!(outcome.enforcement, held(&ground));
}

/// Between two looks of a watchdog all of it is gone.
fn memory_that_comes_and_goes(mut ground: Ground) {
    ground.limits.memory = 100 << 20;
    let blink = "import mmap; m = mmap.mmap(-1, 140 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x8000); m.close()";
    let outcome = ground.line(&format!("exec python3 -c \"{blink}\""));
    assert_eq!(outcome.reason, Reason::Oom, "{outcome:?}");
    if ground.level == LITE {
        // What is written lies on a disk.
        return;
    }
    // Nor is what nobody has mapped.
    ground.limits.disk = 400 << 20;
    let outcome = ground.line(
        "exec 7> /tmp/a && rm /tmp/a && dd if=/dev/zero bs=1M count=140 >&7 2> /dev/null; exec 7>&-",
    );
    assert_eq!(outcome.reason, Reason::Oom, "{outcome:?}");
}

fn groups_of_the_dead_go(ground: Ground) {
    let begin = |line: &str| {
        let mut victim = Process::new(std::env::current_exe().unwrap());
        victim.arg(VICTIM).arg(ground.level.as_str());
        victim.arg(ground.path("logs")).arg(line);
        victim.stdout(Stdio::null()).spawn().unwrap()
    };
    let word = word(ground.folder.path());
    let mut victim = begin(&format!("exec sleep {word}"));
    let begun = Instant::now();
    // The victim has the word in its command line as well, and so has its copy between fork and exec.
    let program = format!("sleep\0{word}");
    while alive(&program) == 0 {
        assert!(begun.elapsed() < Duration::from_secs(20), "it doesn't run");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!groups_of(victim.id()).is_empty());
    victim.kill().unwrap();
    victim.wait().unwrap();
    assert!(gone(&word) < SOON);
    // The dead can't tidy up; whoever comes next does, and that may have been a test beside this one.
    let mut next = begin("true");
    let next_number = next.id();
    assert!(next.wait().unwrap().success());
    assert_eq!(groups_of(victim.id()), Vec::<std::path::PathBuf>::new());
    assert_eq!(groups_of(next_number), Vec::<std::path::PathBuf>::new());
}

fn processes(mut ground: Ground) {
    ground.limits.processes = 20;
    ground.limits.wall = Duration::from_secs(3);
    let word = word(ground.folder.path());
    let outcome = ground.line("for i in $(seq 10); do sleep 0.2 & done; wait; echo done");
    assert_eq!(
        (outcome.reason, text(&outcome.stdout).as_str()),
        (Reason::Ok, "done\n")
    );
    let outcome = ground.line("bomb() { bomb | bomb & }; bomb; sleep 20");
    assert_ne!(outcome.reason, Reason::Ok, "{outcome:?}");
    // Unlike a shell, it doesn't try again.
    let counting = format!(
        "python3 -c \"import subprocess as s, time\ntry:\n  [s.Popen(['sleep', '{word}']) for _ in range(60)]\nfinally: time.sleep(1)\""
    );
    let running = {
        let runs = std::thread::spawn({
            let counting = counting.clone();
            let (level, limits, grouped) = (ground.level, ground.limits, ground.grouped);
            move || {
                let mut ground = Ground::new(level);
                (ground.limits, ground.grouped) = (limits, grouped);
                ground.line(&counting)
            }
        });
        let mut most = 0;
        while !runs.is_finished() {
            most = most.max(alive(&word));
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(runs.join().unwrap().reason, Reason::Pids);
        most
    };
    // The shell and Python have the word in their lines as well.
    let most = match (ground.level, ground.grouped) {
        // It looks every so often.
        (LITE, false) => 60 + 2,
        _ => 20,
    };
    assert!((10..=most).contains(&running), "{running}");
    assert!(gone(&word) < SOON);
}

fn disk(level: Level) {
    let mut ground = Ground::new(level);
    ground.limits.disk = 20 << 20;
    ground.limits.files = 500;
    for line in [
        "dd if=/dev/zero of=big bs=1M count=50",
        "dd if=/dev/zero of=/workspace/big bs=1M count=50",
        "dd if=/dev/zero of=/tmp/big bs=1M count=50",
        "dd if=/dev/zero of=/dev/shm/big bs=1M count=50",
        "for i in $(seq 2000); do : > file$i || exit 1; done",
    ] {
        if level == LITE && line.contains("/dev/shm") {
            // All of the machine could see it, so it can't be written.
            assert_eq!(ground.line(line).exit, Some(Exit::Code(1)));
            continue;
        }
        let outcome = ground.line(&ground.placed(line));
        assert_eq!(outcome.reason, Reason::Disk, "{line}: {outcome:?}");
        // Where nothing but a watch holds, the run is ended and not told.
        if outcome.enforcement.disk == Means::SizedFileSystem {
            assert_eq!(outcome.exit, Some(Exit::Code(1)), "{line}");
        }
    }
    ground.limits.file = 1 << 20;
    let outcome = ground.line("exec dd if=/dev/zero of=big bs=1M count=5");
    assert_eq!(outcome.reason, Reason::Disk, "{outcome:?}");
    assert_eq!(
        ground.says("dd if=/dev/zero of=small bs=1K count=5 2> /dev/null; echo $?"),
        "0\n"
    );
}

fn a_flood_of_output(level: Level) {
    let mut ground = Ground::new(level);
    ground.limits.output = 5 << 20;
    let word = word(ground.folder.path());
    let outcome = ground.line(&format!("sleep {word} & yes"));
    assert_eq!((outcome.reason, outcome.exit), (Reason::Output, None));
    assert!(gone(&word) < SOON);
}

fn nothing_outlives_the_program(level: Level) {
    let ground = Ground::new(level);
    let word = word(ground.folder.path());
    let begun = Instant::now();
    // One of them holds the output.
    let outcome = ground.line(&format!(
        "(setsid sleep {word} &); sleep {word} & echo said; exit 0"
    ));
    assert_eq!(
        (outcome.exit, text(&outcome.stdout).as_str()),
        (Some(Exit::Code(0)), "said\n")
    );
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert!(gone(&word) < SOON);
}

fn whoever_no_longer_waits(level: Level) {
    let ground = Ground::new(level);
    let word = word(ground.folder.path());
    runtime().block_on(async {
        let runner = runner(level);
        let spec = ground.spec(Command::Line(stubborn(&word)));
        let running = runner.run(&Owner::Local, spec, Arc::new(|_, _| {}));
        let waited = tokio::time::timeout(Duration::from_secs(1), running).await;
        assert!(waited.is_err());
        assert!(gone(&word) < SOON);
    });
}

fn a_killed_server_leaves_nothing(level: Level) {
    let ground = Ground::new(level);
    let word = word(ground.folder.path());
    let mut victims: Vec<_> = (0..5)
        .map(|_| {
            Process::new(std::env::current_exe().unwrap())
                .arg(VICTIM)
                .arg(level.as_str())
                .arg(ground.path("logs"))
                .arg(stubborn(&word))
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    let begun = Instant::now();
    // Five lines, and what each of them began.
    while alive(&word) < 5 * 4 {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "they don't run: {}",
            alive(&word)
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    for victim in &mut victims {
        victim.kill().unwrap();
        victim.wait().unwrap();
    }
    assert!(gone(&word) < SOON);
}
