//! What the sandbox of macOS lets a script do, and what it doesn't; each refusal with a control outside.

use std::net::TcpListener;
use std::process::Command as Process;
use std::sync::Arc;
use std::time::Duration;

use gongfu_core::account::{Owner, UserId};
use gongfu_core::port::PortError;
use gongfu_core::sandbox::{Change, Command, Exit, Level, Means, Reason};
use gongfu_sandbox::Runner;
use libtest_mimic::Trial;
use rustix::process::{Pid, test_kill_process};

use crate::ground::{Ground, Test, of_every_level, runtime, text};

pub(crate) fn trials() -> Vec<Trial> {
    let all: [Test; 9] = [
        ("seatbelt::what_is_written_is_kept", what_is_written),
        ("seatbelt::the_rest_is_not_read", the_rest_is_not_read),
        ("seatbelt::the_rest_is_not_written", the_rest_is_not_written),
        ("seatbelt::nothing_is_reached", nothing_is_reached),
        ("seatbelt::no_signal_gets_out", no_signal_gets_out),
        ("seatbelt::nothing_outlives_the_program", nothing_outlives),
        ("seatbelt::time_ends_everything", time_ends_everything),
        ("seatbelt::what_is_not_there_is_said", what_is_not_there),
        ("seatbelt::it_is_for_one_person", it_is_for_one_person),
    ];
    of_every_level(&all)
}

/// Whether a line of a shell ends well outside of any sandbox.
fn works_outside(line: &str) -> bool {
    let status = Process::new("/bin/bash").args(["-c", line]).status();
    status.unwrap().success()
}

/// Whether it ends well inside.
fn works_inside(ground: &Ground, line: &str) -> bool {
    ground.line(line).exit == Some(Exit::Code(0))
}

fn what_is_written(level: Level) {
    let ground = Ground::new(level);
    ground.write("skill/input.txt", "in");
    let outcome = ground.line("cp input.txt copy && cat copy && touch $TMPDIR/x");
    assert_eq!(outcome.exit, Some(Exit::Code(0)), "{outcome:?}");
    assert_eq!(text(&outcome.stdout), "in");
    assert_eq!(outcome.level, level);
    assert_eq!(outcome.enforcement.memory, Means::Watchdog);
    let changed = outcome.artifacts.into_iter();
    let changed: Vec<(String, Change)> = changed.map(|one| (one.path, one.change)).collect();
    assert_eq!(changed, [("/skill/copy".to_owned(), Change::Written(2))]);
    assert_eq!(ground.read("layer/copy"), "in");
    assert!(!ground.path("skill/copy").exists());
}

fn the_rest_is_not_read(level: Level) {
    let ground = Ground::new(level);
    ground.write("secret", "s");
    let line = format!("cat '{}'", ground.path("secret").display());
    assert!(works_outside(&line));
    assert!(!works_inside(&ground, &line));
    assert!(works_outside("/bin/ps -p 1"));
    assert!(!works_inside(&ground, "/bin/ps -p 1"));
}

fn the_rest_is_not_written(level: Level) {
    let ground = Ground::new(level);
    ground.write("secret", "s");
    let secret = ground.path("secret");
    let secret = secret.display();
    for line in [
        format!("touch '{secret}'"),
        format!("ln '{secret}' $TMPDIR/linked.$$ && rm $TMPDIR/linked.$$"),
        format!("mkdir '{secret}.$$'"),
    ] {
        assert!(works_outside(&line), "{line}");
        assert!(!works_inside(&ground, &line), "{line}");
    }
}

fn nothing_is_reached(level: Level) {
    let ground = Ground::new(level);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let line = format!("exec 3<>/dev/tcp/127.0.0.1/{port}");
    assert!(works_outside(&line));
    assert!(!works_inside(&ground, &line));
}

fn no_signal_gets_out(level: Level) {
    let ground = Ground::new(level);
    let line = format!("kill -0 {}", std::process::id());
    assert!(works_outside(&line));
    assert!(!works_inside(&ground, &line));
    assert!(works_inside(&ground, "sleep 60 & kill $!"));
}

fn nothing_outlives(level: Level) {
    let ground = Ground::new(level);
    let daemon = "use POSIX; exit if fork; setsid; if ($p = fork) { print $p; exit } sleep 600";
    let said = ground.says(&format!("perl -e '{daemon}'; sleep 1"));
    let number = Pid::from_raw(said.trim().parse().unwrap()).unwrap();
    assert!(test_kill_process(number).is_err(), "{number:?} is left");
}

fn time_ends_everything(level: Level) {
    let mut ground = Ground::new(level);
    ground.limits.wall = Duration::from_secs(1);
    let outcome = ground.line("trap '' TERM; echo begun; sleep 600");
    assert_eq!(outcome.reason, Reason::Timeout, "{outcome:?}");
    assert_eq!(text(&outcome.stdout), "begun\n");
}

fn what_is_not_there(level: Level) {
    let ground = Ground::new(level);
    let missing = Command::Program(vec!["no-such-program".to_owned()]);
    let outcome = ground.runs(missing).unwrap();
    assert_eq!(outcome.exit, Some(Exit::Code(127)), "{outcome:?}");
}

fn it_is_for_one_person(level: Level) {
    let ground = Ground::new(level);
    let somebody = Owner::User(UserId::new("somebody").unwrap());
    let runner = Runner::new(Some(level));
    let spec = ground.spec(Command::Line("true".to_owned()));
    let ran = runtime().block_on(runner.run(&somebody, spec, Arc::new(|_, _| {})));
    let Err(PortError::Unavailable(why)) = ran else {
        panic!("{ran:?}");
    };
    assert!(why.contains("for one person alone"), "{why}");
}
