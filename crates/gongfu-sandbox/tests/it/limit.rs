//! Tests of the limits of a run, and that no process is left when it ends.

use std::process::{Command as Process, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use gongfu_core::account::Owner;
use gongfu_core::sandbox::{Command, Dialogue, Enforcement, Exit, Level, Means, Reason};
use libtest_mimic::{Failed, Trial};

use crate::fixture::{
    DOCKER, Fixture, LITE, NAMESPACES, Test, VICTIM, alive, gone, groups_of, levels,
    of_every_level, runtime, tests, text, word,
};
use crate::runner;

/// The time in which all processes must end after a run.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// A test that gets its fixture, with its name.
type FixtureTest = (&'static str, fn(Fixture));

pub(crate) fn trials() -> Vec<Trial> {
    let all: [Test; 9] = tests![
        "limit": wall_time_limit_kills_all_processes,
        dialogue_is_not_kept_and_its_pauses_do_not_count,
        idle_limit_ends_a_silent_run,
        cpu_time_limit_kills_the_program,
        disk_limit_covers_bytes_and_files,
        output_limit_kills_all_processes,
        end_of_the_program_kills_its_descendants,
        cancelled_run_kills_all_processes,
        killed_server_leaves_no_process,
    ];
    let in_both_modes: [FixtureTest; 2] = tests![
        "limit": memory_limit_covers_all_processes_together,
        process_limit_stops_a_fork_bomb,
    ];
    let only_in_groups: [FixtureTest; 1] = tests!["limit": memory_limit_catches_a_short_peak];
    let of_own_groups: [FixtureTest; 1] = tests!["limit": groups_of_a_dead_server_are_removed];
    let mut trials = of_every_level(&all);
    for (level, is_ignored) in levels() {
        let there_are = !is_ignored && has_groups(level);
        let in_mode = |(name, test): FixtureTest, uses_groups: bool| {
            let mode = if uses_groups {
                "in_a_control_group"
            } else {
                "watched"
            };
            let run = move || {
                let mut fixture = Fixture::new(level);
                fixture.uses_groups = uses_groups;
                test(fixture);
                Ok::<(), Failed>(())
            };
            let is_ignored = is_ignored || (uses_groups && !there_are);
            Trial::test(format!("{level}::{name}::{mode}"), run).with_ignored_flag(is_ignored)
        };
        // A daemon gives every container a control group.
        let modes: &[bool] = if level == DOCKER {
            &[true]
        } else {
            &[false, true]
        };
        let in_each = |test| {
            modes
                .iter()
                .map(move |uses_groups| in_mode(test, *uses_groups))
        };
        trials.extend(in_both_modes.into_iter().flat_map(in_each));
        trials.extend(only_in_groups.map(|test| in_mode(test, true)));
        // The daemon removes the groups of its containers.
        if level != DOCKER {
            trials.extend(of_own_groups.map(|test| in_mode(test, true)));
        }
    }
    trials
}

/// Returns whether runs have control groups on this machine.
fn has_groups(level: Level) -> bool {
    if level == DOCKER {
        return true;
    }
    let ran = Fixture::new(level).run(Command::Line("true".to_owned()));
    ran.is_ok_and(|outcome| outcome.enforcement.memory == Means::ControlGroup)
}

/// The means that must enforce the limits of a fixture.
fn expected_enforcement(fixture: &Fixture) -> Enforcement {
    let (memory, processes) = if fixture.uses_groups {
        (Means::ControlGroup, Means::ControlGroup)
    } else if fixture.level == LITE {
        (Means::Watchdog, Means::Watchdog)
    } else {
        (Means::Watchdog, Means::ProcessLimit)
    };
    let disk = if fixture.level == NAMESPACES {
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

/// A line that starts processes which ignore signals, and waits with them.
fn stubborn_line(word: &str) -> String {
    format!(
        "trap '' TERM HUP INT; (setsid sleep {word} &) ; setsid bash -c 'trap \"\" TERM; sleep {word}' & sleep {word}"
    )
}

fn wall_time_limit_kills_all_processes(level: Level) {
    let mut fixture = Fixture::new(level);
    fixture.limits.wall = Duration::from_millis(700);
    let word = word(fixture.folder.path());
    let start = Instant::now();
    let outcome = fixture.run_line(&stubborn_line(&word));
    assert_eq!((outcome.reason, outcome.exit), (Reason::Timeout, None));
    assert!(start.elapsed() >= fixture.limits.wall);
    assert!(gone(&word) < END_TIMEOUT);
}

fn dialogue_is_not_kept_and_its_pauses_do_not_count(level: Level) {
    let fixture = Fixture::new(level);
    let second = Duration::from_secs(1);
    for (pause, reason) in [(second * 10, Reason::Ok), (Duration::ZERO, Reason::Timeout)] {
        let mut spec = fixture.spec(Command::Line("echo said; echo printed >&2; sleep 2".into()));
        spec.limits.wall = second;
        spec.dialogue = Some(Dialogue {
            paused: Arc::new(move || pause),
        });
        let heard = Arc::<Mutex<Vec<u8>>>::default();
        let listener = {
            let heard = Arc::clone(&heard);
            Arc::new(move |_, bytes: &[u8]| heard.lock().unwrap().extend_from_slice(bytes))
        };
        let runner = runner(level);
        let running = runner.run(&Owner::Local, spec, listener);
        let outcome = runtime().block_on(running).unwrap();
        assert_eq!(outcome.reason, reason, "{outcome:?}");
        assert_eq!(text(&outcome.stderr), "printed\n");
        let stdout = outcome.stdout;
        assert!(stdout.head.is_empty() && stdout.log.is_none(), "{stdout:?}");
        let heard = String::from_utf8(heard.lock().unwrap().clone()).unwrap();
        assert!(heard.contains("said\n") && heard.contains("printed\n"));
    }
}

fn idle_limit_ends_a_silent_run(level: Level) {
    let mut fixture = Fixture::new(level);
    fixture.limits.idle = Some(Duration::from_secs(2));
    let outcome = fixture.run_line("for i in 1 2 3 4; do echo $i; sleep 0.2; done; sleep 60");
    assert_eq!(outcome.reason, Reason::Timeout);
    assert_eq!(text(&outcome.stdout), "1\n2\n3\n4\n");
}

fn cpu_time_limit_kills_the_program(level: Level) {
    let mut fixture = Fixture::new(level);
    fixture.limits.cpu = Duration::from_secs(1);
    let outcome = fixture.run_line("exec python3 -c 'while True: pass'");
    assert_eq!(
        (outcome.reason, outcome.exit),
        (Reason::Timeout, Some(Exit::Signal(24)))
    );
}

fn memory_limit_covers_all_processes_together(mut fixture: Fixture) {
    fixture.limits.memory = 200 << 20;
    let hold =
        "b = bytearray(%d << 20); b[::4096] = b'x' * len(b[::4096]); import time; time.sleep(%d)";
    let of = |size: u32, wait: u32| {
        hold.replacen("%d", &size.to_string(), 1)
            .replacen("%d", &wait.to_string(), 1)
    };
    // The control: less than the limit.
    let outcome = fixture.run_line(&format!("python3 -c \"{}\"", of(100, 0)));
    assert_eq!(
        (outcome.reason, outcome.exit),
        (Reason::Ok, Some(Exit::Code(0)))
    );
    let outcome = fixture.run_line(&format!("python3 -c \"{}\"", of(260, 20)));
    assert_eq!(outcome.reason, Reason::Oom, "{outcome:?}");
    let one = format!("python3 -c \"{}\"", of(40, 20));
    let outcome = fixture.run_line(&format!("for i in 1 2 3 4 5 6 7 8; do {one} & done; wait"));
    assert_eq!(outcome.reason, Reason::Oom, "{outcome:?}");
    // A process whose first thread has ended has no memory in its own status file.
    let hidden = "import ctypes, threading, time\ndef hold():\n  b = bytearray(260 << 20); b[::4096] = b'x' * len(b[::4096]); time.sleep(20)\nthreading.Thread(target=hold).start()\nctypes.CDLL(None).syscall(60, 0)";
    let outcome = fixture.run_line(&format!("exec python3 -c \"{hidden}\""));
    assert_eq!(outcome.reason, Reason::Oom, "{outcome:?}");
    // So is one that holds it in sockets.
    let fill = "import socket, time\nheld = []\nfor i in range(%d):\n  held += socket.socketpair()\n  for end in held[-2:]:\n    end.setblocking(False); end.setsockopt(1, 7, 1 << 30)\n    try:\n      while True: end.send(b'x' * 65536)\n    except BlockingIOError: pass\ntime.sleep(%w)";
    let fill = |pairs: u32, wait: u32| {
        let fill = fill.replace("%d", &pairs.to_string());
        format!("python3 -c \"{}\"", fill.replace("%w", &wait.to_string()))
    };
    let outcome = fixture.run_line(&fill(20, 0));
    assert_eq!(outcome.reason, Reason::Ok, "{outcome:?}");
    let many = fill(110, 20);
    let outcome = fixture.run_line(&format!(
        "for i in 1 2 3 4 5 6 7 8 9 10; do {many} & done; wait"
    ));
    assert_eq!(outcome.reason, Reason::Oom, "{outcome:?}");
    if fixture.level != LITE {
        // Written files are in memory as well.
        fixture.limits.disk = 400 << 20;
        let outcome = fixture.run_line("dd if=/dev/zero of=/tmp/a bs=1M count=300 && sleep 20");
        assert_eq!(outcome.reason, Reason::Oom, "{outcome:?}");
    }
    // A program that doesn't care about the end of its child is ended as well.
    let start = Instant::now();
    let outcome = fixture.run_line(&format!("python3 -c \"{}\"; sleep 50", of(260, 20)));
    assert_eq!((outcome.reason, outcome.exit), (Reason::Oom, None));
    assert!(start.elapsed() < Duration::from_secs(30));
    assert_eq!(outcome.enforcement, expected_enforcement(&fixture));
}

/// A watchdog would miss the peak between two looks.
fn memory_limit_catches_a_short_peak(mut fixture: Fixture) {
    fixture.limits.memory = 100 << 20;
    let blink = "import mmap; m = mmap.mmap(-1, 140 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x8000); m.close()";
    let outcome = fixture.run_line(&format!("exec python3 -c \"{blink}\""));
    assert_eq!(outcome.reason, Reason::Oom, "{outcome:?}");
    if fixture.level == LITE {
        // Written files are on a disk.
        return;
    }
    // The same with a file that isn't mapped.
    fixture.limits.disk = 400 << 20;
    let outcome = fixture.run_line(
        "exec 7> /tmp/a && rm /tmp/a && dd if=/dev/zero bs=1M count=140 >&7 2> /dev/null; exec 7>&-",
    );
    assert_eq!(outcome.reason, Reason::Oom, "{outcome:?}");
}

fn groups_of_a_dead_server_are_removed(fixture: Fixture) {
    let start_server = |line: &str| {
        let mut victim = Process::new(std::env::current_exe().unwrap());
        victim.arg(VICTIM).arg(fixture.level.as_str());
        victim.arg(fixture.path("logs")).arg(line);
        victim.stdout(Stdio::null()).spawn().unwrap()
    };
    let word = word(fixture.folder.path());
    let mut victim = start_server(&format!("exec sleep {word}"));
    let start = Instant::now();
    // The victim has the word in its command line as well, and so has its copy between fork and exec.
    let program = format!("sleep\0{word}");
    while alive(&program) == 0 {
        assert!(start.elapsed() < Duration::from_secs(20), "it doesn't run");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!groups_of(victim.id()).is_empty());
    victim.kill().unwrap();
    victim.wait().unwrap();
    assert!(gone(&word) < END_TIMEOUT);
    // The next server removes them, and that may have been one of a test beside this one.
    let mut next = start_server("true");
    let next_number = next.id();
    assert!(next.wait().unwrap().success());
    assert_eq!(groups_of(victim.id()), Vec::<std::path::PathBuf>::new());
    assert_eq!(groups_of(next_number), Vec::<std::path::PathBuf>::new());
}

fn process_limit_stops_a_fork_bomb(mut fixture: Fixture) {
    fixture.limits.processes = 20;
    fixture.limits.wall = Duration::from_secs(3);
    let word = word(fixture.folder.path());
    let outcome = fixture.run_line("for i in $(seq 10); do sleep 0.2 & done; wait; echo done");
    assert_eq!(
        (outcome.reason, text(&outcome.stdout).as_str()),
        (Reason::Ok, "done\n")
    );
    let outcome = fixture.run_line("bomb() { bomb | bomb & }; bomb; sleep 20");
    assert_ne!(outcome.reason, Reason::Ok, "{outcome:?}");
    fixture.limits.wall = Duration::from_mins(1);
    // Unlike a shell, Python doesn't try again.
    let counting = format!(
        "python3 -c \"import subprocess as s, time\ntry:\n  [s.Popen(['sleep', '{word}']) for _ in range(60)]\nfinally: time.sleep(1)\""
    );
    let running = {
        let runs = std::thread::spawn({
            let counting = counting.clone();
            let (level, limits, uses_groups) = (fixture.level, fixture.limits, fixture.uses_groups);
            move || {
                let mut fixture = Fixture::new(level);
                (fixture.limits, fixture.uses_groups) = (limits, uses_groups);
                fixture.run_line(&counting)
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
    let most = match (fixture.level, fixture.uses_groups) {
        // The watchdog looks only every so often.
        (LITE, false) => 60 + 2,
        _ => 20,
    };
    assert!((10..=most).contains(&running), "{running}");
    assert!(gone(&word) < END_TIMEOUT);
}

fn disk_limit_covers_bytes_and_files(level: Level) {
    let mut fixture = Fixture::new(level);
    fixture.limits.disk = 20 << 20;
    fixture.limits.files = 500;
    for line in [
        "dd if=/dev/zero of=big bs=1M count=50",
        "dd if=/dev/zero of=/workspace/big bs=1M count=50",
        "dd if=/dev/zero of=/tmp/big bs=1M count=50",
        "dd if=/dev/zero of=/dev/shm/big bs=1M count=50",
        "for i in $(seq 2000); do : > file$i || exit 1; done",
    ] {
        if level == LITE && line.contains("/dev/shm") {
            // All processes of the host could see it, so it can't be written.
            assert_eq!(fixture.run_line(line).exit, Some(Exit::Code(1)));
            continue;
        }
        let outcome = fixture.run_line(&fixture.guest_line(line));
        assert_eq!(outcome.reason, Reason::Disk, "{line}: {outcome:?}");
        // A watchdog kills the run; a file system makes the write fail.
        if outcome.enforcement.disk == Means::SizedFileSystem {
            assert_eq!(outcome.exit, Some(Exit::Code(1)), "{line}");
        }
    }
    fixture.limits.file = 1 << 20;
    let outcome = fixture.run_line("exec dd if=/dev/zero of=big bs=1M count=5");
    assert_eq!(outcome.reason, Reason::Disk, "{outcome:?}");
    assert_eq!(
        fixture.output_of("dd if=/dev/zero of=small bs=1K count=5 2> /dev/null; echo $?"),
        "0\n"
    );
}

fn output_limit_kills_all_processes(level: Level) {
    let mut fixture = Fixture::new(level);
    fixture.limits.output = 5 << 20;
    let word = word(fixture.folder.path());
    let outcome = fixture.run_line(&format!("sleep {word} & yes"));
    assert_eq!((outcome.reason, outcome.exit), (Reason::Output, None));
    assert!(gone(&word) < END_TIMEOUT);
}

fn end_of_the_program_kills_its_descendants(level: Level) {
    let fixture = Fixture::new(level);
    let word = word(fixture.folder.path());
    let start = Instant::now();
    // One of them holds the output.
    let outcome = fixture.run_line(&format!(
        "(setsid sleep {word} &); sleep {word} & echo said; exit 0"
    ));
    assert_eq!(
        (outcome.exit, text(&outcome.stdout).as_str()),
        (Some(Exit::Code(0)), "said\n")
    );
    assert!(start.elapsed() < Duration::from_secs(20));
    assert!(gone(&word) < END_TIMEOUT);
}

fn cancelled_run_kills_all_processes(level: Level) {
    let fixture = Fixture::new(level);
    let word = word(fixture.folder.path());
    runtime().block_on(async {
        let runner = runner(level);
        let spec = fixture.spec(Command::Line(stubborn_line(&word)));
        let running = runner.run(&Owner::Local, spec, Arc::new(|_, _| {}));
        let waited = tokio::time::timeout(Duration::from_secs(1), running).await;
        assert!(waited.is_err());
        assert!(gone(&word) < END_TIMEOUT);
    });
}

fn killed_server_leaves_no_process(level: Level) {
    let fixture = Fixture::new(level);
    let word = word(fixture.folder.path());
    let mut victims: Vec<_> = (0..5)
        .map(|_| {
            Process::new(std::env::current_exe().unwrap())
                .arg(VICTIM)
                .arg(level.as_str())
                .arg(fixture.path("logs"))
                .arg(stubborn_line(&word))
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    let start = Instant::now();
    // Five servers with three processes each.
    while alive(&word) < 5 * 4 {
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "they don't run: {}",
            alive(&word)
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    for victim in &mut victims {
        victim.kill().unwrap();
        victim.wait().unwrap();
    }
    assert!(gone(&word) < END_TIMEOUT);
}
