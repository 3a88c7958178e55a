//! Programs that behave, and programs that don't.

#![expect(
    clippy::disallowed_methods,
    reason = "a test makes the folders that programs run in"
)]

use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::{Signal, kill_process};

use super::{MAX_MESSAGES, Output, Program, group};
use crate::error::{ImportCode, ImportError};

fn shell<'a>(script: &str) -> Program<'a> {
    Program {
        name: "sh",
        arguments: vec!["-c".into(), script.into()],
        folder: None,
        variables: Vec::new(),
        stdin: None,
        memory: 0,
        timeout: Duration::from_mins(1),
        max_output: 1_000_000,
        watch: None,
    }
}

fn text(output: Output) -> (Option<i32>, String, String) {
    let stdout = String::from_utf8(output.stdout).unwrap();
    (output.status, stdout, output.stderr)
}

#[test]
fn a_program_gets_its_input_folder_and_variables() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    let program = Program {
        folder: Some(&path),
        variables: vec![("GONGFU_TEST", Some(OsString::from("a"))), ("HOME", None)],
        stdin: Some(b"input".to_vec()),
        ..shell("cat; echo \" $GONGFU_TEST ${HOME-unset}\"; pwd; echo wrong >&2; exit 3")
    };
    let (status, stdout, stderr) = text(program.run().unwrap());
    assert_eq!(status, Some(3));
    assert_eq!(stdout, format!("input a unset\n{}\n", path.display()));
    assert_eq!(stderr, "wrong\n");
}

#[test]
fn without_input_a_program_reads_nothing() {
    let (status, stdout, _) = text(shell("cat").run().unwrap());
    assert_eq!((status, stdout.as_str()), (Some(0), ""));
    let unread = Program {
        stdin: Some(vec![b'x'; 1_000_000]),
        ..shell("exec <&-; echo done")
    };
    assert_eq!(text(unread.run().unwrap()).1, "done\n");
}

#[test]
fn long_input_and_output_pass_at_the_same_time() {
    let long = "0123456789abcdef".repeat(50_000);
    let program = Program {
        stdin: Some(long.clone().into_bytes()),
        ..shell("cat")
    };
    assert_eq!(text(program.run().unwrap()).1, long);
}

#[test]
fn a_signal_is_no_exit_status() {
    assert_eq!(shell("kill -KILL $$").run().unwrap().status, None);
}

#[test]
fn a_missing_program_says_so() {
    let program = Program {
        name: "gongfu-no-such-program",
        ..shell("")
    };
    let error = program.run().unwrap_err();
    assert_eq!(error.code, ImportCode::ProgramMissing);
    assert_eq!(error.message, "`gongfu-no-such-program` isn't installed");
}

#[test]
fn output_without_end_is_too_much() {
    let error = shell("yes").run().unwrap_err();
    assert_eq!(error.code, ImportCode::SourceTooLarge);
}

#[test]
fn the_last_messages_are_kept() {
    let script = "i=0; while [ $i -lt 20000 ]; do echo $i >&2; i=$((i+1)); done";
    let messages = shell(script).run().unwrap().stderr;
    assert_eq!(messages.len(), MAX_MESSAGES);
    assert!(messages.ends_with("\n19999\n"));
}

#[test]
fn time_is_limited() {
    for script in ["sleep 600", "exec >&- 2>&-; sleep 600", "yes >&2"] {
        let program = Program {
            timeout: Duration::from_millis(100),
            ..shell(script)
        };
        let error = program.run().unwrap_err();
        assert_eq!(error.code, ImportCode::SourceUnreachable, "{script}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn memory_is_limited() {
    // The last line of what has none is all of it.
    let script = "head -c 100000000 /dev/zero | tail -n 1 | wc -c";
    let (_, whole, _) = text(shell(script).run().unwrap());
    assert_eq!(whole.trim(), "100000000");
    let program = Program {
        memory: 50_000,
        ..shell(script)
    };
    let (_, limited, messages) = text(program.run().unwrap());
    assert_ne!(limited.trim(), "100000000", "{messages}");
}

#[test]
fn a_program_that_asks_on_the_terminal_is_ended() {
    let error = shell("kill -STOP $$").run().unwrap_err();
    assert_eq!(error.message, "`sh` asks for something on the terminal");
}

#[test]
fn output_that_another_process_holds_open_is_not_waited_for() {
    let script = "sleep 600 & echo $!";
    let (status, stdout, _) = text(shell(script).run().unwrap());
    assert_eq!(status, Some(0));
    let kill = shell(&format!("kill {stdout}")).run().unwrap();
    assert_eq!(kill.status, Some(0));
}

/// The end of the program is seen by the end of a pipe that its descendant holds open.
#[test]
fn a_watch_stops_a_program_and_its_descendants() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    let made = Program {
        folder: Some(folder.path()),
        ..shell("mkfifo pipe")
    };
    assert_eq!(made.run().unwrap().status, Some(0));
    let is_open = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let file = std::fs::File::open(&pipe).unwrap();
            is_open.store(true, Ordering::SeqCst);
            std::io::read_to_string(file).unwrap()
        });
        let mut watch = || {
            if is_open.load(Ordering::SeqCst) {
                return Err(ImportError::too_large("the folder grew"));
            }
            Ok(())
        };
        let program = Program {
            folder: Some(folder.path()),
            watch: Some(&mut watch),
            ..shell("sleep 600 > pipe & wait")
        };
        assert_eq!(program.run().unwrap_err().message, "the folder grew");
        assert_eq!(reader.join().unwrap(), "");
    });
}

const FOLDER: &str = "GONGFU_TEST_FOLDER";

/// The process that the next test kills; nothing without that one.
#[test]
fn a_process_with_a_program() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        let program = Program {
            folder: Some(folder.as_ref()),
            ..shell("(sleep 60; echo late) > pipe & wait")
        };
        drop(program.run());
    }
}

#[test]
fn a_program_ends_with_the_process_that_started_it() {
    for signal in [Signal::KILL, Signal::TERM, Signal::INT] {
        let folder = tempfile::tempdir().unwrap();
        let made = Program {
            folder: Some(folder.path()),
            ..shell("mkfifo pipe")
        };
        assert_eq!(made.run().unwrap().status, Some(0));
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "program::tests::a_process_with_a_program"])
            .env(FOLDER, folder.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let pipe = std::fs::File::open(folder.path().join("pipe")).unwrap();
        kill_process(group(&process).unwrap(), signal).unwrap();
        process.wait().unwrap();
        assert_eq!(std::io::read_to_string(pipe).unwrap(), "");
    }
}
