//! Commands that a person is asked about, and commands that are refused.

use gongfu_core::account::{Actor, Role};
use gongfu_core::approval::{AnswerTarget, Approvals};
use serde_json::{Value, json};

use gongfu_testing::{MemorySpace, sandbox};

use super::world::reading;
use super::{Catalog, call_in, now, shown};
use crate::catalog::Request;
use crate::error::ToolError;
use crate::error_code::ErrorCode;
use crate::profile::Profile;
use crate::surface::approval::{ApprovalAnswer, Reply};

const DOCUMENT: &[u8] = b"---\nname: pdf\ndescription: Reads PDF\n---\n# PDF\n";

fn setup() -> (Catalog, std::sync::Arc<MemorySpace>) {
    reading(&[("lib/pdf", &[("SKILL.md", DOCUMENT)])])
}

/// Runs a command in the dialect that has a list of programs.
fn tried(catalog: &Catalog, command: &str) -> Result<String, ToolError> {
    let arguments = json!({ "skill_name": "pdf", "command": command });
    let listed: Profile = "agentskills".parse().unwrap();
    call_in(catalog, listed, "run_shell_command", arguments).map(|result| shown(&result))
}

/// The same, by a person at the command line.
fn tried_by_person(catalog: &Catalog, command: &str) -> Result<String, ToolError> {
    let Value::Object(arguments) = json!({ "skill_name": "pdf", "command": command }) else {
        unreachable!()
    };
    let person = Actor::local(Role::Developer, "cli");
    let profiles = ["agentskills".parse().unwrap()];
    let request = Request::new(&profiles, "run_shell_command", arguments, &person);
    let call = catalog.call(request);
    now(call).map(|result| shown(&result))
}

/// A person's answer at the command line; whether there is such a call.
fn answer(catalog: &Catalog, id: &str, reply: Reply) -> bool {
    let person = Actor::local(Role::Developer, "cli");
    let answer = ApprovalAnswer {
        approval: id.to_owned(),
        target: AnswerTarget::Any,
        reply,
        any_arguments: false,
        hours: None,
    };
    now(catalog.operate(answer, &person)).unwrap().is_some()
}

#[test]
fn blocked_command_is_refused_to_everybody() {
    let (catalog, space) = setup();
    space.sandbox.script(sandbox::good(""));
    for command in [
        "sudo ls",
        "bash -c 'sudo ls'",
        "rm -rf /",
        "echo x > /etc/hosts",
        "echo 'a",
    ] {
        let error = tried(&catalog, command).unwrap_err();
        assert_eq!(error.code(), ErrorCode::CommandBlocked, "{command}");
        assert_eq!(error.refused_by, Some("safety"));
        let error = tried_by_person(&catalog, command).unwrap_err();
        assert_eq!(error.code(), ErrorCode::CommandBlocked, "{command}");
    }
    // Words that are no programs, and arguments that no shell sees, are nobody's business.
    tried(&catalog, "echo sudo ls").unwrap();
    space.sandbox.script(sandbox::good(""));
    let arguments = json!({ "skill_name": "pdf", "command": "echo", "arguments": ["$(sudo ls)"] });
    call_in(&catalog, Profile::Standard, "skill_run", arguments).unwrap();
    let arguments = json!({ "skill_name": "pdf", "command": "bash", "input": "sudo ls" });
    let fed = call_in(&catalog, Profile::Standard, "skill_run", arguments);
    assert_eq!(fed.unwrap_err().code(), ErrorCode::CommandBlocked);
}

#[test]
fn person_allows_once_always_or_never() {
    let (catalog, space) = setup();
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
    let say = |id: &str, reply| assert!(answer(&catalog, id, reply));
    let id = waits(command);
    assert_eq!(waits(command), id);
    assert_ne!(waits("$(cat name) b"), id);
    space.sandbox.script(sandbox::good(""));
    say(&id, Reply::Once);
    tried(&catalog, command).unwrap();
    assert_eq!(waits(command), id);
    say(&id, Reply::Always);
    for _ in 0..3 {
        space.sandbox.script(sandbox::good(""));
        tried(&catalog, command).unwrap();
    }
    say(&id, Reply::Never);
    let error = tried(&catalog, command).unwrap_err();
    assert_eq!(error.code(), ErrorCode::CommandBlocked);
    assert!(error.to_string().contains("a person declined"), "{error}");
    // A person at the command line needs nobody's approval.
    space.sandbox.script(sandbox::good(""));
    tried_by_person(&catalog, command).unwrap();
}

#[test]
fn person_sees_all_that_decides_and_is_asked_again_when_it_changes() {
    let (catalog, space) = setup();
    let command = "$(cat plan)";
    let records = || now(Approvals::read(&*space.records)).unwrap().all;
    tried(&catalog, command).unwrap_err();
    let details = records()[0].details.clone();
    let (skill, others) = details.split_first().unwrap();
    assert!(skill.starts_with("skill: lib/pdf in "), "{skill}");
    assert_eq!(
        others,
        [
            "starts in: /skill",
            "reads and writes: workspace as /workspace",
            "client: test"
        ]
    );
    assert!(answer(&catalog, &records()[0].id, Reply::Always));
    space.sandbox.script(sandbox::good(""));
    tried(&catalog, command).unwrap();
    // Another version of the skill would be run, so another approval is needed.
    let files: [(&str, &[u8]); 2] = [("SKILL.md", DOCUMENT), ("plan", b"something else")];
    space.skills.replace(&[("lib/pdf", &files)]);
    let error = tried(&catalog, command).unwrap_err();
    assert_eq!(error.code(), ErrorCode::ApprovalRequired);
    assert_eq!(records().len(), 2);
    assert_ne!(records()[1].details[0], *skill);
    let told = records()[1].details.join("\n");
    assert!(
        told.ends_with("for another version of the skill:\n  plan was added"),
        "{told}"
    );
}

#[test]
fn list_of_programs_belongs_to_one_dialect() {
    let (catalog, space) = setup();
    let arguments = json!({ "skill_name": "pdf", "command": "git log" });
    let listed: Profile = "agentskills".parse().unwrap();
    let error = call_in(&catalog, listed, "run_shell_command", arguments.clone()).unwrap_err();
    let payload: Value = serde_json::from_str(&shown(error.rendered.as_deref().unwrap())).unwrap();
    assert_eq!(payload["code"], "COMMAND_BLOCKED");
    let detail = payload["detail"].as_str().unwrap();
    assert!(
        detail.contains("`git` is not on the list of programs"),
        "{detail}"
    );
    let id = now(Approvals::read(&*space.records)).unwrap().all[0]
        .id
        .clone();
    assert!(
        detail.contains(&format!("gongfu approve allow {id}")),
        "{detail}"
    );
    space.sandbox.script(sandbox::good(""));
    assert!(answer(&catalog, &id, Reply::Once));
    call_in(&catalog, listed, "run_shell_command", arguments).unwrap();
    for (profile, tool, arguments) in [
        (
            "standard",
            "skill_run",
            json!({ "skill_name": "pdf", "command": "$(cat name) log" }),
        ),
        (
            "skills",
            "skills_run",
            json!({ "name": "pdf", "command": "git log" }),
        ),
        ("skills", "skills_bash", json!({ "command": "git log" })),
    ] {
        space.sandbox.script(sandbox::good(""));
        call_in(&catalog, profile.parse().unwrap(), tool, arguments).unwrap();
    }
}
