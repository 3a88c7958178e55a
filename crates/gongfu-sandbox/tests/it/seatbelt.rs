//! Tests of the sandbox of macOS; each refusal has a control outside.

use std::net::TcpListener;
use std::process::Command as Process;
use std::sync::Arc;
use std::time::Duration;

use gongfu_core::account::{Owner, UserId};
use gongfu_core::change::Change;
use gongfu_core::port::PortError;
use gongfu_core::sandbox::{Command, Exit, Level, Means, Reason};
use gongfu_sandbox::Runner;
use libtest_mimic::Trial;
use rustix::process::{Pid, test_kill_process};

use crate::fixture::{Fixture, Test, of_every_level, runtime, tests, text};

pub(crate) fn trials() -> Vec<Trial> {
    let all: [Test; 9] = tests![
        "seatbelt": written_files_are_kept,
        other_files_are_not_readable,
        other_files_are_not_writable,
        network_is_not_reachable,
        signals_stay_inside,
        end_of_the_program_kills_its_descendants,
        wall_time_limit_ends_the_run,
        missing_program_is_reported,
        users_are_refused,
    ];
    of_every_level(&all)
}

/// Returns whether a line succeeds outside of any sandbox.
fn works_outside(line: &str) -> bool {
    let status = Process::new("/bin/bash").args(["-c", line]).status();
    status.unwrap().success()
}

/// Returns whether a line succeeds inside.
fn works_inside(fixture: &Fixture, line: &str) -> bool {
    fixture.run_line(line).exit == Some(Exit::Code(0))
}

fn written_files_are_kept(level: Level) {
    let fixture = Fixture::new(level);
    fixture.write("skill/input.txt", "in");
    let outcome = fixture.run_line("cp input.txt copy && cat copy && touch $TMPDIR/x");
    assert_eq!(outcome.exit, Some(Exit::Code(0)), "{outcome:?}");
    assert_eq!(text(&outcome.stdout), "in");
    assert_eq!(outcome.level, level);
    assert_eq!(outcome.enforcement.memory, Means::Watchdog);
    let changed = outcome.artifacts.into_iter();
    let changed: Vec<(String, Change)> = changed.map(|one| (one.path, one.change)).collect();
    assert_eq!(changed, [("/skill/copy".to_owned(), Change::Written(2))]);
    assert_eq!(fixture.read("layer/copy"), "in");
    assert!(!fixture.path("skill/copy").exists());
}

fn other_files_are_not_readable(level: Level) {
    let fixture = Fixture::new(level);
    fixture.write("secret", "s");
    let line = format!("cat '{}'", fixture.path("secret").display());
    assert!(works_outside(&line));
    assert!(!works_inside(&fixture, &line));
    assert!(works_outside("/bin/ps -p 1"));
    assert!(!works_inside(&fixture, "/bin/ps -p 1"));
}

fn other_files_are_not_writable(level: Level) {
    let fixture = Fixture::new(level);
    fixture.write("secret", "s");
    let secret = fixture.path("secret");
    let secret = secret.display();
    for line in [
        format!("touch '{secret}'"),
        format!("ln '{secret}' $TMPDIR/linked.$$ && rm $TMPDIR/linked.$$"),
        format!("mkdir '{secret}.$$'"),
    ] {
        assert!(works_outside(&line), "{line}");
        assert!(!works_inside(&fixture, &line), "{line}");
    }
}

fn network_is_not_reachable(level: Level) {
    let fixture = Fixture::new(level);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let line = format!("exec 3<>/dev/tcp/127.0.0.1/{port}");
    assert!(works_outside(&line));
    assert!(!works_inside(&fixture, &line));
}

fn signals_stay_inside(level: Level) {
    let fixture = Fixture::new(level);
    let line = format!("kill -0 {}", std::process::id());
    assert!(works_outside(&line));
    assert!(!works_inside(&fixture, &line));
    assert!(works_inside(&fixture, "sleep 60 & kill $!"));
}

fn end_of_the_program_kills_its_descendants(level: Level) {
    let fixture = Fixture::new(level);
    let daemon = "use POSIX; exit if fork; setsid; if ($p = fork) { print $p; exit } sleep 600";
    let said = fixture.output_of(&format!("perl -e '{daemon}'; sleep 1"));
    let number = Pid::from_raw(said.trim().parse().unwrap()).unwrap();
    assert!(test_kill_process(number).is_err(), "{number:?} is left");
}

fn wall_time_limit_ends_the_run(level: Level) {
    let mut fixture = Fixture::new(level);
    fixture.limits.wall = Duration::from_secs(1);
    let outcome = fixture.run_line("trap '' TERM; echo begun; sleep 600");
    assert_eq!(outcome.reason, Reason::Timeout, "{outcome:?}");
    assert_eq!(text(&outcome.stdout), "begun\n");
}

fn missing_program_is_reported(level: Level) {
    let fixture = Fixture::new(level);
    let missing = Command::Program(vec!["no-such-program".to_owned()]);
    let outcome = fixture.run(missing).unwrap();
    assert_eq!(outcome.exit, Some(Exit::Code(127)), "{outcome:?}");
}

fn users_are_refused(level: Level) {
    let fixture = Fixture::new(level);
    let somebody = Owner::User(UserId::new("somebody").unwrap());
    let runner = Runner::new(Some(level));
    let spec = fixture.spec(Command::Line("true".to_owned()));
    let ran = runtime().block_on(runner.run(&somebody, spec, Arc::new(|_, _| {})));
    let Err(PortError::Unavailable(why)) = ran else {
        panic!("{ran:?}");
    };
    assert!(why.contains("for one person alone"), "{why}");
}
