//! Changes that programs of the machine obey wait for a person, whichever tool makes them.

use gongfu_core::change::{
    Artifact, Change, ChangeSet, Difference, Excerpt, Going, HeldChange, HeldKind, Present,
    Survivor,
};
use gongfu_core::place::Location;
use gongfu_core::port::Files as _;
use gongfu_core::sandbox::Outcome;
use gongfu_testing::client::TIMEOUT;
use gongfu_testing::json::{list_at, result, text_at};
use gongfu_testing::{now, sandbox};
use serde_json::{Value, json};

use crate::fixture::{Fixture, LocalClient};

const ID: &str = "1a2b3c4d";
const CONFIG: &str = "/workspace/.git/config";

/// A run whose change of the configuration of git waits.
fn fixture() -> Fixture {
    let fixture = Fixture::default();
    fixture.skill("gcd", "Calculates the greatest common divisor.");
    let held = Artifact {
        path: CONFIG.to_owned(),
        change: Change::Held("git uses it".to_owned()),
    };
    fixture.space.sandbox.script(Outcome {
        artifacts: vec![held],
        changed: 1,
        held: Some(ID.to_owned()),
        ..sandbox::good("done\n")
    });
    let change = HeldChange {
        path: CONFIG.to_owned(),
        host: "/home/me/project/.git/config".to_owned(),
        kind: HeldKind::Written {
            bytes: 20,
            executable: false,
        },
        why: "git uses it".to_owned(),
    };
    let difference = Difference {
        change,
        before: file("[core]\n"),
        after: Some(excerpt("[core]\n\tfsmonitor = \"id\u{200b}\"\n")),
        mode: Some(0o644),
        kept: None,
    };
    add(&fixture, ID, vec![difference]);
    fixture
}

fn excerpt(text: &str) -> Excerpt {
    Excerpt {
        bytes: text.as_bytes().to_vec(),
        size: text.len() as u64,
    }
}

fn file(text: &str) -> Present {
    Present::File {
        excerpt: excerpt(text),
        mode: 0o644,
    }
}

/// Adds a set of changes that waits.
fn add(fixture: &Fixture, id: &str, differences: Vec<Difference>) {
    let changes = differences.iter().map(|one| one.change.clone());
    let set = ChangeSet {
        id: id.to_owned(),
        made: 1,
        about: "lib/gcd: make".to_owned(),
        changes: changes.collect(),
    };
    fixture.space.changes.add(set, differences);
}

fn settle(action: &str) -> Value {
    json!({ "name": "change_settle", "arguments": { "id": ID, "action": action } })
}

/// Calls a tool and answers its question; returns the question and the result.
fn asked(client: &mut LocalClient, call: Value, id: u64, answer: Value) -> (String, Value) {
    client.begin(id, "tools/call", call);
    let question = client.receive(TIMEOUT).unwrap();
    assert_eq!(text_at(&question, "/method"), "elicitation/create");
    client.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer }));
    let message = text_at(&question, "/params/message").to_owned();
    (message, result(client.response(&id.into())))
}

fn accept() -> Value {
    json!({ "action": "accept", "content": { "scope": "once" } })
}

fn asking_client(fixture: &Fixture) -> LocalClient {
    let mut client = fixture.silent_client();
    client.initialize_as("2025-11-25", json!({ "elicitation": {} }));
    client
}

#[test]
fn person_sees_the_diff_before_changes_are_applied() {
    let fixture = fixture();
    let mut client = asking_client(&fixture);
    let run = json!({ "skill_name": "gcd", "command": "make" });
    let ran = client.call("skill_run", run);
    assert_eq!(text_at(&ran, "/structuredContent/held/id"), ID);
    let text = text_at(&ran, "/content/0/text");
    assert!(text.contains("waits for approval: git uses it"), "{text}");
    assert!(
        text.contains("change_settle") && text.contains(ID),
        "{text}"
    );
    // Anybody may look.
    let listed = client.good("change_list", json!({}));
    assert_eq!(text_at(&listed, "/structuredContent/sets/0/id"), ID);
    let shown = client.good("change_list", json!({ "id": ID }));
    let diff = text_at(&shown, "/structuredContent/sets/0/changes/0/diff");
    assert!(diff.contains("+\tfsmonitor = \"id\\u{200b}\""), "{diff}");
    // A person who declines has nothing applied.
    let decline = json!({ "action": "decline" });
    let (question, refused) = asked(&mut client, settle("apply"), 100, decline);
    assert!(
        question.contains("+\tfsmonitor = \"id\\u{200b}\""),
        "{question}"
    );
    assert!(question.contains("lib/gcd: make"), "{question}");
    assert_eq!(refused["isError"], json!(true), "{refused}");
    assert_eq!(
        list_at(
            &client.good("change_list", json!({})),
            "/structuredContent/sets"
        )
        .len(),
        1
    );
}

#[test]
fn agreement_applies_a_set_once() {
    let fixture = fixture();
    let mut client = asking_client(&fixture);
    let (_, applied) = asked(&mut client, settle("apply"), 100, accept());
    let path = text_at(&applied, "/structuredContent/artifacts/0/path");
    assert_eq!(path, CONFIG);
    assert_eq!(
        list_at(
            &client.good("change_list", json!({})),
            "/structuredContent/sets"
        )
        .len(),
        0
    );
    let error = client.bad("change_settle", json!({ "id": ID, "action": "apply" }));
    assert_eq!(text_at(&error, "/code"), "CHANGE_SET_NOT_FOUND");
}

#[test]
fn nobody_is_asked_to_drop_a_set_and_nobody_applies_one_unasked() {
    let fixture = fixture();
    // A client that can't ask.
    let mut client = fixture.client();
    let error = client.bad("change_settle", json!({ "id": ID, "action": "apply" }));
    assert_eq!(text_at(&error, "/code"), "APPROVAL_REQUIRED");
    assert_eq!(
        list_at(
            &client.good("change_list", json!({})),
            "/structuredContent/sets"
        )
        .len(),
        1
    );
    client.good("change_settle", json!({ "id": ID, "action": "drop" }));
    assert_eq!(
        list_at(
            &client.good("change_list", json!({})),
            "/structuredContent/sets"
        )
        .len(),
        0
    );
    for id in ["../x", "", "1a2b3c4d5"] {
        let error = client.bad("change_settle", json!({ "id": id, "action": "drop" }));
        assert_eq!(text_at(&error, "/code"), "CHANGE_SET_NOT_FOUND");
    }
}

#[test]
fn file_that_programs_obey_is_written_only_with_a_person() {
    let fixture = fixture();
    let mut client = asking_client(&fixture);
    let write = |path: &str| json!({ "path": path, "content": "planted\n" });
    let read = |path: &str| {
        let place = Location::parse(path).unwrap();
        now(fixture.space.files.read(&place, 100)).is_ok()
    };
    for (number, path) in [
        ".git/hooks/pre-commit",
        "sub/CLAUDE.md",
        "app/skills/x/SKILL.md",
    ]
    .into_iter()
    .enumerate()
    {
        let id = 100 + number as u64;
        let call = json!({ "name": "file_write", "arguments": write(path) });
        let decline = json!({ "action": "decline" });
        let (question, refused) = asked(&mut client, call.clone(), id, decline);
        assert!(
            question.contains(path) && question.contains("+planted"),
            "{question}"
        );
        assert_eq!(refused["isError"], json!(true), "{refused}");
        assert!(!read(path), "{path}");
    }
    // Another client, which can't ask.
    let mut silent = fixture.client();
    silent.bad("file_write", write(".envrc"));
    silent.bad(
        "skill_write",
        json!({ "skill_name": "gcd", "path": ".mcp.json", "content": "{}" }),
    );
    // The controls: a person allows one, and other files need nobody.
    let call = json!({ "name": "file_write", "arguments": write(".npmrc") });
    asked(&mut client, call, 200, accept());
    silent.good("file_write", write("notes.md"));
    assert!(read(".npmrc") && read("notes.md") && !read(".envrc"));
}

/// A set of one change by its difference.
fn difference(kind: HeldKind, before: Present, after: Option<&str>) -> Difference {
    Difference {
        change: HeldChange {
            path: CONFIG.to_owned(),
            host: CONFIG.to_owned(),
            kind,
            why: "git uses it".to_owned(),
        },
        before,
        mode: after.map(|_| 0o644),
        after: after.map(excerpt),
        kept: None,
    }
}

fn folder(files: usize, names: &[&str]) -> Present {
    Present::Folder(Going {
        files,
        folders: 0,
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        is_cut: false,
    })
}

/// Differences, words that are shown of each, and whether a person can be asked about it.
fn cases() -> Vec<(Difference, &'static [&'static str], bool)> {
    let written = || HeldKind::Written {
        bytes: 4,
        executable: false,
    };
    let link = || Present::Link {
        to: "old\n+".to_owned(),
    };
    let kept = |beside: Option<&str>| {
        Some(Survivor {
            beside: beside.map(str::to_owned),
        })
    };
    let good = |difference, words: &'static [&'static str]| (difference, words, true);
    let bad = |difference, words: &'static [&'static str]| (difference, words, false);
    vec![
        // A folder goes with what is in it, whatever comes in its place.
        good(
            difference(written(), folder(2, &["HEAD", "a\nb"]), Some("run\n")),
            &["removes 2 files", "\n- HEAD\n- a\\nb\n", "+run"],
        ),
        bad(
            difference(written(), folder(3, &["HEAD", "a"]), Some("run\n")),
            &["removes 3 files", "- HEAD", "… and 1 more", "+run"],
        ),
        good(
            difference(HeldKind::Folder, folder(1, &["HEAD"]), None),
            &["removes 1 file and 0 folders", "- HEAD"],
        ),
        bad(
            difference(HeldKind::Folder, folder(2, &["HEAD"]), None),
            &["… and 1 more"],
        ),
        bad(
            difference(HeldKind::Removed, folder(21, &["HEAD"]), None),
            &["removes 21 files", "… and 20 more"],
        ),
        good(
            difference(HeldKind::Folder, file("old\n"), None),
            &["a folder", "-old"],
        ),
        good(
            difference(HeldKind::Linked { to: "x".to_owned() }, file("old\n"), None),
            &["-> x\n", "-old"],
        ),
        good(
            difference(written(), link(), Some("run\n")),
            &["removes the link -> old\\n+", "+run"],
        ),
        // What can't be read is never shown.
        bad(
            difference(written(), Present::Nothing, None),
            &["its new content can't be read"],
        ),
        bad(
            difference(HeldKind::Removed, Present::Unknown, None),
            &["the current content can't be read"],
        ),
        good(
            difference(written(), Present::Nothing, Some("")),
            &["an empty file"],
        ),
        // Permissions.
        good(
            Difference {
                mode: Some(0o600),
                ..difference(written(), file("old\n"), Some("old\n"))
            },
            &["permissions 0644 -> 0600", "content unchanged"],
        ),
        // What somebody changed stays.
        good(
            Difference {
                kept: kept(Some("/workspace/.git/config.run-1a2b3c4d")),
                ..difference(written(), file("old\n"), Some("run\n"))
            },
            &["beside it as /workspace/.git/config.run-1a2b3c4d)"],
        ),
        good(
            Difference {
                kept: kept(None),
                ..difference(HeldKind::Removed, file("old\n"), None)
            },
            &["it changed since the run began and is kept)"],
        ),
        // The controls.
        good(
            difference(written(), file("old\n"), Some("run\n")),
            &["\n-old\n+run\n"],
        ),
        good(difference(HeldKind::Removed, Present::Nothing, None), &[]),
    ]
}

#[test]
fn person_is_asked_only_about_what_is_shown_as_a_whole() {
    let fixture = fixture();
    let mut client = asking_client(&fixture);
    for (number, (difference, words, is_whole)) in cases().into_iter().enumerate() {
        let id = format!("{number:08x}");
        let case = format!("{difference:?}");
        add(&fixture, &id, vec![difference]);
        let shown = client.good("change_list", json!({ "id": id }));
        let diff = shown.pointer("/structuredContent/sets/0/changes/0/diff");
        let diff = diff.and_then(Value::as_str).unwrap_or_default();
        let diff = format!("\n{diff}");
        for word in words {
            assert!(diff.contains(word), "{case}: {diff}");
        }
        let call = json!({ "id": id, "action": "apply" });
        if is_whole {
            let call = json!({ "name": "change_settle", "arguments": call });
            let (_, applied) = asked(&mut client, call, 100 + number as u64, accept());
            assert_eq!(applied["isError"], json!(false), "{case}: {applied}");
        } else {
            let error = client.bad("change_settle", call);
            assert_eq!(text_at(&error, "/code"), "APPROVAL_REQUIRED", "{case}");
        }
    }
}
