//! Tools that execute: the request to the sandbox, and the report in each profile.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::time::Duration;

use gongfu_core::account::{Actor, Role};
use gongfu_core::change::{Artifact, Change};
use gongfu_core::sandbox::{Command, Exit, Outcome, Reason};
use serde_json::{Value, json};

use gongfu_testing::MemorySpace;
use gongfu_testing::json::case;
use gongfu_testing::sandbox::{good, outcome};

use super::world::{audit, reading};
use super::{Catalog, call_in, now, shown};
use crate::call::{Event, EventSink, Events};
use crate::catalog::Request;
use crate::profile::Profile;

const DOCUMENT: &[u8] = b"---\nname: pdf\ndescription: Reads PDF\n---\n# PDF\n";

fn setup() -> (Catalog, Arc<MemorySpace>) {
    reading(&[(
        "lib/pdf",
        &[("SKILL.md", DOCUMENT), ("data.txt", b"the skill's own")],
    )])
}

/// The text of an answer; of a failure that of its own form or its code, behind `!`.
fn tried(catalog: &Catalog, of: &str, tool: &str, arguments: Value) -> String {
    match call_in(catalog, of.parse().unwrap(), tool, arguments) {
        Ok(result) => shown(&result),
        Err(error) => match &error.rendered {
            Some(rendered) => format!("!{}", shown(rendered)),
            None => format!("!{error}"),
        },
    }
}

/// The profile that has a tool.
fn profile_of(tool: &str) -> &'static str {
    match tool {
        "skill_run" | "skill_read" => "standard",
        tool if tool.starts_with("skills_") => "skills",
        _ => "agentskills",
    }
}

/// The command of a call: a line for a shell, or a program with its arguments.
fn command(call: &Value) -> Command {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    match call.get("arguments").and_then(Value::as_array) {
        Some(words) => {
            let words = [&call["command"]].into_iter().chain(words);
            Command::Program(words.map(text).collect())
        }
        None => Command::Line(text(&call["command"])),
    }
}

#[test]
fn sandbox_gets_the_requested_command_and_limits() {
    let (catalog, space) = setup();
    for asked in [
        r#"skill_run {"skill_name": "pdf", "command": "ls *"} /skill 120 65536"#,
        r#"skill_run {"skill_name": "pdf", "command": "ls", "arguments": ["*", "a b"], "timeout": 7, "input": "x", "output_limit": 2000} /skill 7 2000"#,
        r#"run_shell_command {"skill_name": "pdf", "command": "ls"} /skill 120 1048576"#,
        r#"skills_run {"name": "pdf", "command": "ls"} /skill 120 1048576"#,
        r#"skills_run {"name": "pdf", "command": "ls", "timeout": 9} /skill 9 1048576"#,
        r#"skills_bash {"command": "ls"} /workspace 60 1048576"#,
        r#"skills_bash {"command": "ls", "cwd": "src/x"} /workspace/src/x 60 1048576"#,
        r#"skills_bash {"command": "ls", "cwd": "skills/pdf/a"} /skill/a 60 1048576"#,
        r#"skills_bash {"command": "ls", "cwd": "/data/x"} /data/x 60 1048576"#,
    ] {
        let (tool, arguments, rest) = case(asked);
        let [folder, seconds, shown] = rest.split(' ').collect::<Vec<_>>().try_into().unwrap();
        let (seconds, shown) = (seconds.parse().unwrap(), shown.parse().unwrap());
        let command = command(&arguments);
        space.sandbox.script(good("ok"));
        let answer = tried(&catalog, profile_of(tool), tool, arguments);
        let asked = space.sandbox.take_specs();
        assert_eq!(asked.len(), 1, "{tool}: {answer}");
        let spec = &asked[0];
        assert_eq!(
            (&spec.command, spec.folder.as_str()),
            (&command, folder),
            "{tool}"
        );
        let wall = Duration::from_secs(seconds);
        assert_eq!(
            (spec.limits.wall, spec.limits.cpu, spec.limits.shown),
            (wall, wall, shown)
        );
        let has_skill = spec.mounts.iter().any(|mount| mount.target == "/skill");
        assert_eq!(has_skill, folder.starts_with("/skill"), "{tool}");
        assert!(spec.environment.is_empty() && spec.logs == Some(PathBuf::from("logs/7")));
    }
}

#[test]
fn each_profile_reports_the_end_of_a_run() {
    let (catalog, space) = setup();
    let code =
        |code, out: &str, error: &str| outcome(Some(Exit::Code(code)), Reason::Ok, out, error);
    let ended = |reason| outcome(None, reason, "half", "");
    let signal = |signal| outcome(Some(Exit::Signal(signal)), Reason::Ok, "", "");
    let native = (
        "standard",
        "skill_run",
        json!({ "skill_name": "pdf", "command": "x" }),
    );
    let run = (
        "skills",
        "skills_run",
        json!({ "name": "pdf", "command": "x", "timeout": 5 }),
    );
    let shell = (
        "agentskills",
        "run_shell_command",
        json!({ "skill_name": "pdf", "command": "python x.py" }),
    );
    for ((profile, tool, arguments), planned, wanted) in [
        (&native, good("out\n"), "out\n"),
        (&native, good(""), "[no output; exit code: 0]\n"),
        (
            &native,
            code(3, "out", "bad\n"),
            "out\n[stderr]\nbad\n[exit code: 3]\n",
        ),
        (&native, signal(11), "[ended by signal 11]\n"),
        (
            &native,
            ended(Reason::Timeout),
            "half\n[timed out after 2 s; raise the timeout or reduce the work; a run has no interactive input]\n",
        ),
        (
            &native,
            ended(Reason::Oom),
            "half\n[exceeded its memory limit; reduce its memory use, e.g. process the data in parts]\n",
        ),
        (&run, good("out\n"), "out\n"),
        (&run, good(""), "(no output)"),
        (
            &run,
            code(3, "out", "bad\n"),
            "Exit code: 3\nout\n[stderr]\nbad\n",
        ),
        (
            &run,
            ended(Reason::Timeout),
            "Command timed out after 5 seconds\nhalf",
        ),
        (
            &run,
            ended(Reason::Disk),
            "Command ended: exceeded its disk limit; write less, and remove temporary files\nhalf",
        ),
        (&shell, good("out\n"), "out\n\n"),
        (&shell, code(3, "out", "bad"), "out\nbad\n[exit code: 3]"),
        (&shell, signal(9), "\n[ended by signal 9]"),
    ] {
        space.sandbox.script(planned);
        assert_eq!(
            tried(&catalog, profile, tool, arguments.clone()),
            wanted,
            "{tool}"
        );
    }
    for (reason, code) in [
        (Reason::Timeout, "TIMEOUT"),
        (Reason::Oom, "QUOTA_EXCEEDED"),
    ] {
        space.sandbox.script(ended(reason));
        let answer = tried(&catalog, shell.0, shell.1, shell.2.clone());
        let payload: Value = serde_json::from_str(answer.strip_prefix('!').unwrap()).unwrap();
        assert_eq!(payload["code"], code);
        assert!(
            payload["detail"].as_str().unwrap().contains("half"),
            "{answer}"
        );
    }
}

#[test]
fn run_without_a_sandbox_is_refused() {
    let (catalog, _) = setup();
    let error = tried(
        &catalog,
        "standard",
        "skill_run",
        json!({ "skill_name": "pdf", "command": "x" }),
    );
    assert!(
        error.starts_with("!SANDBOX_UNAVAILABLE: nothing was run: it has none"),
        "{error}"
    );
    let error = tried(&catalog, "skills", "skills_bash", json!({ "command": "x" }));
    assert!(
        error.starts_with("!Error: nothing was run: it has none"),
        "{error}"
    );
    let error = tried(
        &catalog,
        "agentskills",
        "run_shell_command",
        json!({ "skill_name": "pdf", "command": "python x.py" }),
    );
    assert!(
        error.contains("\"code\":\"SANDBOX_UNAVAILABLE\""),
        "{error}"
    );
    // A visitor runs nothing.
    let visitor = Actor::local(Role::Visitor, "test");
    let arguments = json!({ "skill_name": "pdf", "command": "x" });
    let arguments = arguments.as_object().unwrap().clone();
    let request = Request::new(&[Profile::Standard], "skill_run", arguments, &visitor);
    assert_eq!(
        now(catalog.call(request)).unwrap_err().code().as_str(),
        "FORBIDDEN"
    );
}

#[test]
fn refusals_are_told_before_what_was_written() {
    let (catalog, space) = setup();
    let artifact = |path: String, change| Artifact { path, change };
    let written = |number| artifact(format!("/skill/{number:03}"), Change::Written(1));
    let mut artifacts: Vec<Artifact> = (0..300).map(written).collect();
    artifacts.extend([
        artifact("/skill/x".to_owned(), Change::Conflict(None)),
        artifact("/skill/z".to_owned(), Change::Refused("no".to_owned())),
    ]);
    space.sandbox.script(Outcome {
        changed: artifacts.len(),
        artifacts,
        ..good("done\n")
    });
    let arguments = json!({ "skill_name": "pdf", "command": "x" });
    let result = call_in(&catalog, Profile::Standard, "skill_run", arguments).unwrap();
    let data = result.structured_content.as_ref().unwrap();
    let paths: Vec<&str> = data["artifacts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["path"].as_str().unwrap())
        .collect();
    assert_eq!(paths.len(), 200);
    assert_eq!(paths[..3], ["/skill/z", "/skill/x", "/skill/000"]);
    assert!(shown(&result).contains("/skill/z (not kept: no)"));
}

#[test]
fn files_left_by_a_run_are_listed_and_read_and_the_instructions_stay() {
    let (catalog, space) = setup();
    let left = ["out/x.txt", "data.txt", "SKILL.md"];
    let artifacts = left.map(|path| Artifact {
        path: format!("/skill/{path}"),
        change: Change::Written(4),
    });
    space.sandbox.script(Outcome {
        artifacts: artifacts.to_vec(),
        changed: 25,
        ..good("done\n")
    });
    let arguments = json!({ "skill_name": "pdf", "command": "x" });
    let result = call_in(&catalog, Profile::Standard, "skill_run", arguments).unwrap();
    assert_eq!(
        shown(&result),
        "done\n[files: /skill/out/x.txt (4 bytes), /skill/data.txt (4 bytes), /skill/SKILL.md (4 bytes) … and 5 more]\n"
    );
    let data = result.structured_content.unwrap();
    assert_eq!(
        data["artifacts"][0],
        json!({ "path": "/skill/out/x.txt", "change": "written", "bytes": 4 })
    );
    assert_eq!(
        (&data["exit_code"], &data["reason"], &data["level"]),
        (&json!(0), &json!("ok"), &json!("namespaces"))
    );
    assert_eq!(
        data["enforcement"],
        json!({ "memory": "control_group", "processes": "process_limit", "disk": "sized_file_system" })
    );
    assert!(data.get("signal").is_none());
    for (call, wanted) in [
        (
            r#"read_reference_file {"skill_name": "pdf", "file_name": "out/x.txt"}"#,
            "left",
        ),
        (
            r#"read_reference_file {"skill_name": "pdf", "file_name": "data.txt"}"#,
            "left",
        ),
        (r#"skills_read {"path": "skills/pdf/out/x.txt"}"#, "left"),
        (
            r#"skills_ls {"path": "skills/pdf"}"#,
            "Contents of 'skills/pdf' (3 items):\n  SKILL.md  (47 bytes)\n  data.txt  (4 bytes)\n  out/",
        ),
        (
            r#"skill_read {"skill_name": "pdf", "path": "out/x.txt"}"#,
            "left",
        ),
        (
            r#"skill_read {"skill_name": "pdf", "path": "out"}"#,
            "out/x.txt  (4 bytes, written by a run)  no digest\n",
        ),
    ] {
        let (tool, arguments, _) = case(call);
        let answer = tried(&catalog, profile_of(tool), tool, arguments);
        assert_eq!(answer, wanted, "{call}");
    }
    for (profile, tool, arguments) in [
        ("agentskills", "load_skill", json!({ "skill_name": "pdf" })),
        (
            "agentskills",
            "read_reference_file",
            json!({ "skill_name": "pdf", "file_name": "SKILL.md" }),
        ),
        (
            "skills",
            "skills_read",
            json!({ "path": "skills/pdf/SKILL.md" }),
        ),
        ("standard", "skill_load", json!({ "skill_name": "pdf" })),
    ] {
        let answer = tried(&catalog, profile, tool, arguments);
        assert_eq!(answer.as_bytes(), DOCUMENT, "{tool}");
    }
}

/// Keeps the output of a run.
#[derive(Default)]
struct Recorder(Mutex<Vec<u8>>);

impl EventSink for Recorder {
    fn event(&self, event: Event<'_>) {
        if let Event::Output(_, bytes) = event {
            self.0.lock().unwrap().extend_from_slice(bytes);
        }
    }
}

#[test]
fn caller_receives_output_as_events() {
    let (catalog, space) = setup();
    space.sandbox.script(good("loud"));
    let recorder = Arc::new(Recorder::default());
    let actor = Actor::local(Role::ExternalAgent, "test");
    let arguments = json!({ "skill_name": "pdf", "command": "x" });
    let arguments = arguments.as_object().unwrap().clone();
    let request = Request {
        events: Events::new(Arc::clone(&recorder) as Arc<dyn EventSink>),
        ..Request::new(&[Profile::Standard], "skill_run", arguments, &actor)
    };
    now(catalog.call(request)).unwrap();
    assert_eq!(*recorder.0.lock().unwrap(), b"loud");
}

#[test]
fn dropped_run_has_its_end_in_the_audit() {
    let (catalog, space) = setup();
    space.sandbox.never_end();
    let Value::Object(arguments) = json!({ "skill_name": "pdf", "command": "sleep 9" }) else {
        unreachable!()
    };
    let actor = Actor::local(Role::ExternalAgent, "test");
    let profiles = [Profile::Standard];
    let mut call = Box::pin(catalog.call(Request::new(&profiles, "skill_run", arguments, &actor)));
    let mut context = Context::from_waker(Waker::noop());
    assert!(call.as_mut().poll(&mut context).is_pending());
    let phases = || {
        let entries = audit(&space);
        let phases = entries.iter().map(|entry| {
            let text = |member: &str| entry[member].as_str().unwrap().to_owned();
            (text("phase"), text("outcome"))
        });
        phases.collect::<Vec<_>>()
    };
    let entry = |phase: &str, outcome: &str| (phase.to_owned(), outcome.to_owned());
    assert_eq!(phases(), [entry("begin", "ok")]);
    // As when the server stops.
    drop(call);
    assert_eq!(phases(), [entry("begin", "ok"), entry("end", "CANCELLED")]);
}
