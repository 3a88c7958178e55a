//! Skills of a project that nobody trusted yet: read at once, run after one yes.

use std::fs;

use gongfu_testing::client::TIMEOUT;
use gongfu_testing::json::{at, text_at};
use serde_json::{Value, json};

use crate::fixture::{Fixture, Run};
use crate::stdio::Client;

/// A cloned project with two skills, one of which has the name of the person's own.
fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("project/.git/HEAD", "ref: refs/heads/main\n");
    fixture.skill_in("project/.claude/skills", "pdf", "The project's.");
    fixture.skill_in("project/.claude/skills", "lint", "Lints.");
    fixture.skill_in("user/.claude/skills", "pdf", "The person's.");
    fixture
}

fn project(fixture: &Fixture) -> String {
    let project = fs::canonicalize(fixture.path("project")).unwrap();
    project.to_string_lossy().into_owned()
}

fn run(fixture: &Fixture) -> Run {
    fixture.gongfu(["run", "lint", "--", "echo", "ran"])
}

/// The description of the skill that holds a name.
fn holder(fixture: &Fixture, name: &str) -> String {
    let shown = fixture
        .gongfu(["skill", "show", name, "--json"])
        .good()
        .json();
    text_at(&shown, "/description").to_owned()
}

#[test]
fn skills_of_a_project_are_read_at_once_and_run_once_it_is_trusted() {
    let fixture = fixture();
    let project = project(&fixture);
    let list = || fixture.gongfu(["skill", "list"]).good();
    assert_eq!(holder(&fixture, "pdf"), "The person's.");
    assert!(
        list().text().contains("[not trusted] Lints."),
        "{}",
        list().text()
    );
    let note = format!("the project {project} isn't trusted, so scripts of its 2 skills don't run");
    assert!(list().stderr.contains(&note), "{}", list().stderr);
    fixture.gongfu(["skill", "read", "lint"]).good();
    let shown = fixture.gongfu(["skill", "show", "lint"]).good().text();
    assert!(
        shown.contains("isn't trusted, so no script runs: gongfu trust"),
        "{shown}"
    );
    let doctor = fixture.gongfu(["doctor"]).run().text();
    assert!(doctor.contains("warn  trust "), "{doctor}");
    for command in [
        &["run", "lint", "--", "echo", "ran"][..],
        &["run", "project-claude/pdf", "--", "echo", "ran"],
        &[
            "tool",
            "call",
            "skill_run",
            "skill_name=lint",
            "command=echo ran",
        ],
    ] {
        let ran = fixture.gongfu(command).ends(1);
        assert!(!ran.text().contains("ran"), "{}", ran.text());
        assert!(
            ran.stderr.contains("PROJECT_UNTRUSTED") && ran.stderr.contains("gongfu trust"),
            "{}",
            ran.stderr
        );
    }

    let trusted = fixture
        .gongfu(["trust"])
        .within(fixture.path("project/.claude"))
        .good()
        .text();
    assert!(
        trusted.starts_with(&format!(
            "trusted: {project}\n  2 skills: lint, pdf\n  undo: "
        )),
        "{trusted}"
    );
    assert!(
        fixture
            .gongfu(["trust"])
            .good()
            .text()
            .starts_with("already trusted")
    );
    assert_eq!(run(&fixture).good().text(), "ran\n");
    assert_eq!(holder(&fixture, "pdf"), "The project's.");
    assert!(!list().stderr.contains("isn't trusted"));
    let listed = fixture.gongfu(["trust", "list", "--json"]).good().json();
    assert_eq!(text_at(&listed, "/0/project"), project);

    // It is known by its path: moved, it is another one.
    fs::rename(fixture.path("project"), fixture.path("moved")).unwrap();
    run(&fixture).within(fixture.path("moved")).ends(1);
    fs::rename(fixture.path("moved"), fixture.path("project")).unwrap();
    run(&fixture).good();
    fixture
        .gongfu(["trust", "remove", &project])
        .within(fixture.path("user"))
        .good();
    run(&fixture).ends(1);
    assert_eq!(holder(&fixture, "pdf"), "The person's.");
    let again = fixture.gongfu(["trust", "remove"]).ends(1);
    assert!(again.stderr.contains("isn't trusted"), "{}", again.stderr);
}

#[test]
fn trust_is_in_a_project_alone() {
    let fixture = fixture();
    for (folder, why) in [
        (fixture.path("user"), "it is a home folder"),
        ("/".into(), "root of the file system"),
        ("/nowhere/at/all".into(), "no such folder"),
    ] {
        let folder = folder.to_string_lossy().into_owned();
        let refused = fixture.gongfu(["trust", &folder]).ends(1);
        assert!(refused.stderr.contains(why), "{}", refused.stderr);
    }
    // Neither the folder above nor a repository inside is covered.
    fs::create_dir_all(fixture.path("project/vendor/.git")).unwrap();
    fixture.skill_in("project/vendor/skills", "inner", "Somebody else's.");
    fixture.gongfu(["trust"]).good();
    fixture
        .gongfu(["run", "inner", "--", "echo", "ran"])
        .within(fixture.path("project/vendor"))
        .ends(1);
    // A folder that a person names is theirs to trust.
    let named = [
        "run",
        "inner",
        "--skills-dir",
        "skills",
        "--",
        "echo",
        "ran",
    ];
    fixture
        .gongfu(named)
        .within(fixture.path("project/vendor"))
        .good();
    // A record that can't be read trusts nothing.
    fixture.write("home/trust.json", "{");
    run(&fixture).ends(1);
}

#[test]
fn project_that_a_client_trusts_is_trusted() {
    for (file, text) in [
        (
            ".claude.json",
            r#"{"projects": {"PROJECT": {"hasTrustDialogAccepted": true}}}"#,
        ),
        (
            ".codex/config.toml",
            "[projects.\"PROJECT\"]\ntrust_level = \"trusted\"\n",
        ),
        (
            ".gemini/trustedFolders.json",
            r#"{"PROJECT": "TRUST_FOLDER"}"#,
        ),
    ] {
        let fixture = fixture();
        let project = project(&fixture);
        run(&fixture).ends(1);
        // The controls: another folder, and a file that is damaged.
        fixture.write(
            format!("user/{file}"),
            text.replace("PROJECT", "/elsewhere"),
        );
        run(&fixture).ends(1);
        fixture.write(format!("user/{file}"), "{[\0");
        run(&fixture).ends(1);
        let text = text.replace("PROJECT", &project);
        fixture.write(format!("user/{file}"), &text);
        assert_eq!(run(&fixture).good().text(), "ran\n", "{file}");
        assert_eq!(holder(&fixture, "pdf"), "The project's.", "{file}");
        assert_eq!(
            fixture.read(format!("user/{file}")),
            text,
            "it is only read"
        );
        let listed = fixture.gongfu(["trust", "list"]).good().text();
        assert!(listed.starts_with(&format!("{project}  by ")), "{listed}");
    }
}

/// A server in the project, for a client that asks its person or doesn't.
fn server(fixture: &Fixture, capabilities: Value) -> Client {
    let mut client = Client::start(&fixture.gongfu(["mcp"]));
    client.initialize_as("2025-11-25", capabilities);
    client
}

fn call(command: &str) -> Value {
    json!({ "name": "skill_run", "arguments": { "skill_name": "lint", "command": command } })
}

/// Calls, and answers the question that comes; returns the question and the result.
fn asked(client: &mut Client, id: &str, command: &str, answer: Value) -> (String, Value) {
    client.begin(id, "tools/call", call(command));
    let question = loop {
        let message = client.receive(TIMEOUT).unwrap();
        if message.get("method") == Some(&"elicitation/create".into()) {
            break message;
        }
        assert!(message.get("id") != Some(&id.into()), "{message:#}");
    };
    client.send(&json!({ "jsonrpc": "2.0", "id": at(&question, "/id"), "result": answer }));
    let result = client.response(&id.into());
    (question.to_string(), at(&result, "/result").clone())
}

#[test]
fn agent_waits_for_one_yes() {
    let fixture = fixture();
    let mut client = server(&fixture, json!({ "elicitation": {} }));
    client.good("skill_load", json!({ "skill_name": "lint" }));
    let (question, no) = asked(&mut client, "no", "echo no", json!({ "action": "decline" }));
    let project = project(&fixture);
    assert!(
        question.contains(&format!("trust the project {project}")),
        "{question}"
    );
    assert!(question.contains("which isn't trusted yet"), "{question}");
    assert_eq!(at(&no, "/isError"), true, "{no}");
    // Once is this one call.
    let once = json!({ "action": "accept", "content": { "scope": "once" } });
    let (_, ran) = asked(&mut client, "once", "echo one", once.clone());
    assert_eq!(text_at(&ran, "/structuredContent/stdout"), "one\n");
    asked(
        &mut client,
        "again",
        "echo one",
        json!({ "action": "decline" }),
    );
    assert!(!fixture.path("home/trust.json").exists());
    // Always trusts the project: nothing is asked any more, and the name is the project's.
    let always = json!({ "action": "accept", "content": { "scope": "always" } });
    let (_, ran) = asked(&mut client, "always", "echo two", always);
    assert_eq!(text_at(&ran, "/structuredContent/stdout"), "two\n");
    for command in ["echo two", "echo three", "echo one || true"] {
        client.good(
            "skill_run",
            json!({ "skill_name": "lint", "command": command }),
        );
    }
    assert_eq!(holder(&fixture, "pdf"), "The project's.");
    let loaded = client.good("skill_load", json!({ "skill_name": "pdf" }));
    assert!(loaded.to_string().contains("The project's."), "{loaded}");
    // The running server hears of its end.
    fixture.gongfu(["trust", "remove"]).good();
    asked(
        &mut client,
        "removed",
        "echo four",
        json!({ "action": "decline" }),
    );
    client.close();
}

#[test]
fn agent_whose_person_cannot_be_asked_is_told_how_to_go_on() {
    let fixture = fixture();
    let mut client = server(&fixture, json!({}));
    let ask = |client: &mut Client| {
        let arguments = json!({ "skill_name": "lint", "command": "echo ran" });
        client.call("skill_run", arguments)
    };
    let refused = ask(&mut client).to_string();
    assert!(
        refused.contains("APPROVAL_REQUIRED") && refused.contains("isn't trusted yet"),
        "{refused}"
    );
    let listed = fixture.gongfu(["approve", "list", "--json"]).good().json();
    let id = text_at(&listed, "/0/id").to_owned();
    // With an end it is about the call, not about the project.
    fixture
        .gongfu(["approve", "allow", &id, "--always", "--expires", "1h"])
        .good();
    assert!(!fixture.path("home/trust.json").exists());
    assert_eq!(at(&ask(&mut client), "/structuredContent/stdout"), "ran\n");
    fixture.gongfu(["approve", "allow", &id, "--always"]).good();
    let listed = fixture.gongfu(["trust", "list"]).good().text();
    assert!(listed.starts_with(&project(&fixture)), "{listed}");
    // In the running server, by the command line.
    fixture.gongfu(["trust", "remove"]).good();
    let other = json!({ "skill_name": "lint", "command": "echo other" });
    client.bad("skill_run", other.clone());
    fixture.gongfu(["trust"]).good();
    client.good("skill_run", other);
    // No list has the operations of a person.
    let tools = client.ask("tools/list", json!({})).to_string();
    assert!(!tools.contains("\"trust"), "{tools}");
    client.close();
}
