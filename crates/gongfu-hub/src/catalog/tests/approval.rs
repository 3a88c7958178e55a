//! Commands that a person is asked about, and commands that are refused.

use gongfu_core::account::{Actor, Role};
use gongfu_core::approval::{Ruling, Scope};
use gongfu_core::port::Timestamp;
use serde_json::{Value, json};

use super::memory::{Memory, reading};
use super::run;
use super::{Catalog, call_in, now, shown};
use crate::error::{ErrorCode, ToolError};
use crate::profile::Profile;

const DOCUMENT: &[u8] = b"---\nname: pdf\ndescription: Reads PDF\n---\n# PDF\n";
const NOW: Timestamp = Timestamp(1_795_253_400_000);

fn ground() -> (Catalog, std::sync::Arc<Memory>) {
    reading(&[("lib/pdf", &[("SKILL.md", DOCUMENT)])])
}

/// Runs a command by gongfu's own tool.
fn tried(catalog: &Catalog, command: &str) -> Result<String, ToolError> {
    let arguments = json!({ "skill_name": "pdf", "command": command });
    call_in(catalog, Profile::Standard, "skill_run", arguments).map(|result| shown(&result))
}

/// The same, by a person at the command line.
fn by_a_person(catalog: &Catalog, command: &str) -> Result<String, ToolError> {
    let Value::Object(arguments) = json!({ "skill_name": "pdf", "command": command }) else {
        unreachable!()
    };
    let person = Actor::local(Role::Developer, "cli");
    let call = catalog.call(&[Profile::Standard], "skill_run", arguments, &person);
    now(call).map(|result| shown(&result))
}

#[test]
fn what_is_refused_is_refused_to_everybody() {
    let (catalog, memory) = ground();
    memory.plan(run::good(""));
    for command in [
        "sudo ls",
        "bash -c 'sudo ls'",
        "rm -rf /",
        "echo x > /etc/hosts",
        "echo 'a",
    ] {
        let error = tried(&catalog, command).unwrap_err();
        assert_eq!(error.code(), ErrorCode::CommandBlocked, "{command}");
        assert_eq!(error.refused_by, Some("command"));
        let error = by_a_person(&catalog, command).unwrap_err();
        assert_eq!(error.code(), ErrorCode::CommandBlocked, "{command}");
    }
    // Words that are no programs, and arguments that no shell sees, are nobody's business.
    tried(&catalog, "echo sudo ls").unwrap();
    memory.plan(run::good(""));
    let arguments = json!({ "skill_name": "pdf", "command": "echo", "arguments": ["$(sudo ls)"] });
    call_in(&catalog, Profile::Standard, "skill_run", arguments).unwrap();
    let arguments = json!({ "skill_name": "pdf", "command": "bash", "input": "sudo ls" });
    let fed = call_in(&catalog, Profile::Standard, "skill_run", arguments);
    assert_eq!(fed.unwrap_err().code(), ErrorCode::CommandBlocked);
}

#[test]
fn a_person_allows_once_always_or_not() {
    let (catalog, memory) = ground();
    let command = "$(cat name) a";
    let waits = |command: &str| {
        let error = tried(&catalog, command).unwrap_err();
        assert_eq!(error.code(), ErrorCode::ApprovalRequired);
        let json = error.to_json();
        let id = json
            .get("approval")
            .and_then(Value::as_str)
            .unwrap()
            .to_owned();
        assert!(
            error
                .to_string()
                .contains(&format!("gongfu approve allow {id}")),
            "{error}"
        );
        id
    };
    let say = |id: &str, ruling| {
        let mut approvals = memory.approvals.lock().unwrap();
        approvals.answer(id, ruling, None, NOW).unwrap();
    };
    let id = waits(command);
    assert_eq!(waits(command), id);
    assert_ne!(waits("$(cat name) b"), id);
    memory.plan(run::good(""));
    say(&id, Ruling::Allowed(Scope::Once));
    tried(&catalog, command).unwrap();
    assert_eq!(waits(command), id);
    say(&id, Ruling::Allowed(Scope::Always));
    for _ in 0..3 {
        memory.plan(run::good(""));
        tried(&catalog, command).unwrap();
    }
    say(&id, Ruling::Denied);
    let error = tried(&catalog, command).unwrap_err();
    assert_eq!(error.code(), ErrorCode::CommandBlocked);
    assert!(error.to_string().contains("a person declined"), "{error}");
    // Whoever sits at the command line is that person.
    memory.plan(run::good(""));
    by_a_person(&catalog, command).unwrap();
}

#[test]
fn the_list_is_of_one_dialect_alone() {
    let (catalog, memory) = ground();
    let arguments = json!({ "skill_name": "pdf", "command": "git log" });
    let listed: Profile = "agentskills".parse().unwrap();
    let error = call_in(&catalog, listed, "run_shell_command", arguments.clone()).unwrap_err();
    let payload: Value = serde_json::from_str(&shown(error.rendered.as_deref().unwrap())).unwrap();
    assert_eq!(payload["code"], "COMMAND_BLOCKED");
    let detail = payload["detail"].as_str().unwrap();
    assert!(
        detail.contains("`git` isn't one of the programs"),
        "{detail}"
    );
    let id = memory.approvals.lock().unwrap().all[0].id.clone();
    assert!(
        detail.contains(&format!("gongfu approve allow {id}")),
        "{detail}"
    );
    memory.plan(run::good(""));
    memory
        .approvals
        .lock()
        .unwrap()
        .answer(&id, Ruling::Allowed(Scope::Once), None, NOW)
        .unwrap();
    call_in(&catalog, listed, "run_shell_command", arguments).unwrap();
    for (profile, tool, arguments) in [
        (
            "standard",
            "skill_run",
            json!({ "skill_name": "pdf", "command": "git log" }),
        ),
        (
            "skills",
            "skills_run",
            json!({ "name": "pdf", "command": "git log" }),
        ),
        ("skills", "skills_bash", json!({ "command": "git log" })),
    ] {
        memory.plan(run::good(""));
        call_in(&catalog, profile.parse().unwrap(), tool, arguments).unwrap();
    }
}
