//! Changes while a person is asked: nothing is run or written that the person didn't see.

use std::sync::Arc;

use gongfu_core::account::{Actor, Role};
use gongfu_core::approval::AnswerTarget;
use gongfu_core::capability::Safety;
use gongfu_core::change::ChangeSet;
use gongfu_core::place::Location;
use gongfu_core::port::{Change, ChangeSets as _, Files as _};
use gongfu_core::skill::SkillPath;
use gongfu_testing::{MemorySpace, now, sandbox};
use serde_json::{Value, json};

use super::world::reading;
use super::{call_in, shown};
use crate::call::{Asking, EventSink, Events, Question};
use crate::catalog::{Catalog, Request};
use crate::error::ToolError;
use crate::error_code::ErrorCode;
use crate::surface::approval::{ApprovalAnswer, Reply};

const DOCUMENT: &[u8] = b"---\nname: pdf\ndescription: Reads PDF\n---\n# PDF\n";
/// Another skill of the same name.
const OTHER: &[u8] = b"---\nname: pdf\ndescription: Another one\n---\n# Evil\n";

/// An action of somebody else while the person reads the question.
type Meanwhile = fn(&MemorySpace);

/// A person who allows everything, after something happened.
struct Person {
    catalog: Arc<Catalog>,
    space: Arc<MemorySpace>,
    reply: Reply,
    meanwhile: Meanwhile,
}

impl EventSink for Person {
    fn ask<'a>(&'a self, question: &'a Question) -> Asking<'a> {
        Box::pin(async move {
            (self.meanwhile)(&self.space);
            let answer = ApprovalAnswer {
                approval: question.id.clone(),
                target: AnswerTarget::Waiting,
                reply: self.reply,
                any_arguments: false,
                hours: None,
            };
            let person = Actor::local(Role::Developer, "person");
            let answered = self.catalog.operate(answer, &person).await;
            answered.unwrap().is_some()
        })
    }
}

fn setup() -> (Arc<Catalog>, Arc<MemorySpace>) {
    let (catalog, space) = reading(&[
        ("lib/pdf", &[("SKILL.md", DOCUMENT), ("x.py", b"1")]),
        (
            "untrusted/deploy",
            &[(
                "SKILL.md",
                b"---\nname: deploy\ndescription: Deploys\n---\n# D\n",
            )],
        ),
    ]);
    (Arc::new(catalog), space)
}

/// Calls a tool for an agent whose person allows it after something happened.
fn call(
    (catalog, space): &(Arc<Catalog>, Arc<MemorySpace>),
    (profile, tool, arguments): (&str, &str, Value),
    reply: Reply,
    meanwhile: Meanwhile,
) -> Result<String, ToolError> {
    let Value::Object(arguments) = arguments else {
        unreachable!()
    };
    let person = Person {
        catalog: Arc::clone(catalog),
        space: Arc::clone(space),
        reply,
        meanwhile,
    };
    let actor = Actor::local(Role::ExternalAgent, "agent");
    let profiles = [profile.parse().unwrap()];
    let request = Request {
        events: Events::new(Arc::new(person)),
        ..Request::new(&profiles, tool, arguments, &actor)
    };
    now(catalog.call(request)).map(|result| shown(&result))
}

fn nothing(_: &MemorySpace) {}

fn another_version(space: &MemorySpace) {
    let files: [(&str, &[u8]); 2] = [("SKILL.md", DOCUMENT), ("x.py", b"2")];
    space.skills.replace(&[("lib/pdf", &files)]);
}

fn another_skill_of_the_name(space: &MemorySpace) {
    let files: [(&str, &[u8]); 2] = [("SKILL.md", OTHER), ("x.py", b"2")];
    space.skills.replace(&[("user/other/pdf", &files)]);
}

#[test]
fn allowed_command_runs_only_with_the_skill_that_the_person_saw() {
    for reply in [Reply::Once, Reply::Always] {
        for (name, meanwhile, is_run) in [
            ("nothing", nothing as Meanwhile, true),
            ("another version", another_version, false),
            ("another skill", another_skill_of_the_name, false),
        ] {
            let world = setup();
            world.1.sandbox.script(sandbox::good("done"));
            let arguments = json!({ "skill_name": "pdf", "command": "$(cat plan)" });
            let run = ("agentskills", "run_shell_command", arguments);
            let answer = call(&world, run, reply, meanwhile);
            let case = format!("{reply:?}, {name}: {answer:?}");
            assert_eq!(answer.is_ok(), is_run, "{case}");
            let runs = world.1.sandbox.take_specs().len();
            assert_eq!(runs, usize::from(is_run), "{case}");
            if let Err(error) = answer {
                assert_eq!(error.code(), ErrorCode::Conflict, "{case}");
            }
        }
    }
}

#[test]
fn call_that_is_asked_by_its_level_acts_on_what_the_person_saw() {
    let moved: Meanwhile = |space| {
        let files: [(&str, &[u8]); 1] = [("SKILL.md", DOCUMENT)];
        space.skills.replace(&[("lib/other/pdf", &files)]);
    };
    let run = json!({ "skill_name": "pdf", "command": "ls" });
    let write = json!({ "skill_name": "pdf", "path": "notes.md", "content": "x" });
    for (tool, arguments, change) in [
        ("skill_run", run, another_version as Meanwhile),
        ("skill_write", write, moved),
    ] {
        for (meanwhile, is_done) in [(nothing as Meanwhile, true), (change, false)] {
            let (catalog, space) =
                reading(&[("lib/pdf", &[("SKILL.md", DOCUMENT), ("x.py", b"1")])]);
            let catalog = Arc::new(catalog.with_approvals_from(Safety::Medium));
            space.sandbox.script(sandbox::good("done"));
            let world = (catalog, space);
            let allowed = ("standard", tool, arguments.clone());
            let answer = call(&world, allowed, Reply::Once, meanwhile);
            assert_eq!(answer.is_ok(), is_done, "{tool}: {answer:?}");
            if let Err(error) = answer {
                assert_eq!(error.code(), ErrorCode::Conflict, "{tool}");
            }
        }
    }
}

#[test]
fn higher_threshold_asks_about_what_an_entry_reviews() {
    let (catalog, _) = reading(&[("lib/pdf", &[("SKILL.md", DOCUMENT)])]);
    let catalog = catalog.with_approvals_from(Safety::Critical);
    let asked = |command: &str| {
        let arguments = json!({ "skill_name": "pdf", "command": command });
        let profile = "agentskills".parse().unwrap();
        let called = call_in(&catalog, profile, "run_shell_command", arguments);
        called.unwrap_err().code()
    };
    assert_eq!(asked("frobnicate"), ErrorCode::ApprovalRequired);
    assert_eq!(asked("sudo ls"), ErrorCode::CommandBlocked);
}

#[test]
fn skill_of_an_untrusted_project_is_run_in_the_version_that_was_allowed() {
    let changed: Meanwhile = |space| {
        let document = b"---\nname: deploy\ndescription: Deploys\n---\n# Other\n";
        let files: [(&str, &[u8]); 1] = [("SKILL.md", document)];
        space.skills.replace(&[("untrusted/deploy", &files)]);
    };
    let named = |name: &str| json!({ name: "deploy", "command": "ls" });
    for run in [
        ("standard", "skill_run", named("skill_name")),
        ("agentskills", "run_shell_command", named("skill_name")),
        ("skills", "skills_run", named("name")),
        (
            "skills",
            "skills_bash",
            json!({ "command": "ls", "cwd": "skills/deploy" }),
        ),
    ] {
        for (meanwhile, is_run) in [(nothing as Meanwhile, true), (changed, false)] {
            let world = setup();
            world.1.sandbox.script(sandbox::good("done"));
            let answer = call(&world, run.clone(), Reply::Once, meanwhile);
            assert_eq!(answer.is_ok(), is_run, "{}: {answer:?}", run.1);
            let runs = world.1.sandbox.take_specs().len();
            assert_eq!(runs, usize::from(is_run), "{}", run.1);
        }
    }
}

#[test]
fn write_that_was_allowed_goes_to_the_skill_that_the_person_saw() {
    let write = || {
        let content = "#!/bin/sh\n";
        let arguments = json!({ "skill_name": "pdf", "path": ".envrc", "content": content });
        ("standard", "skill_write", arguments)
    };
    let moved: Meanwhile = |space| {
        let files: [(&str, &[u8]); 1] = [("SKILL.md", DOCUMENT)];
        space.skills.replace(&[("lib/other/pdf", &files)]);
    };
    for (meanwhile, is_written) in [(nothing as Meanwhile, true), (moved, false)] {
        let world = setup();
        let answer = call(&world, write(), Reply::Once, meanwhile);
        assert_eq!(answer.is_ok(), is_written, "{answer:?}");
        if let Err(error) = answer {
            assert_eq!(error.code(), ErrorCode::Conflict);
        }
    }
}

/// Writes the file that programs obey.
fn put(space: &MemorySpace, bytes: &[u8]) {
    let place = Location::Workspace(SkillPath::new(".envrc").unwrap());
    let change = Change {
        bytes,
        expected: None,
    };
    now(space.files.write(&place, change)).unwrap();
}

#[test]
fn edit_that_was_allowed_makes_the_file_that_the_person_saw() {
    let edit = || {
        let arguments = json!({ "path": ".envrc", "old_text": "a", "new_text": "b" });
        ("standard", "file_write", arguments)
    };
    let edited: Meanwhile = |space| put(space, b"a and evil");
    for (meanwhile, is_written) in [(nothing as Meanwhile, true), (edited, false)] {
        let world = setup();
        put(&world.1, b"a");
        let answer = call(&world, edit(), Reply::Once, meanwhile);
        assert_eq!(answer.is_ok(), is_written, "{answer:?}");
    }
}

#[test]
fn changes_that_were_allowed_are_the_ones_that_are_applied() {
    fn set(made: u64) -> ChangeSet {
        ChangeSet {
            id: "0123456789ab".to_owned(),
            made,
            about: "lib/pdf: x".to_owned(),
            changes: Vec::new(),
        }
    }
    let replaced: Meanwhile = |space| {
        now(space.changes.drop_set("0123456789ab")).unwrap();
        space.changes.add(set(2), Vec::new());
    };
    for (meanwhile, is_applied) in [(nothing as Meanwhile, true), (replaced, false)] {
        let world = setup();
        world.1.changes.add(set(1), Vec::new());
        let arguments = json!({ "id": "0123456789ab", "action": "apply" });
        let answer = call(
            &world,
            ("standard", "change_settle", arguments),
            Reply::Once,
            meanwhile,
        );
        assert_eq!(answer.is_ok(), is_applied, "{answer:?}");
    }
}
