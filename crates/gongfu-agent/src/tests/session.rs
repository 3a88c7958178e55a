//! Sessions: lists, forks, replays.

use gongfu_core::account::Owner;
use gongfu_core::skill::Digest;
use gongfu_hub::ErrorCode;

use crate::store::Store;
use crate::{SessionCompact, SessionFork, SessionList, SessionRemove, SessionShow, SessionStop};

use super::*;

async fn replay(world: &World, id: &str) -> Option<(u64, String)> {
    let (_, difference) = world.agent.replay(id, &person()).await.unwrap();
    difference.map(|difference| (difference.n, difference.what))
}

/// Changes the log of a session.
fn edit(world: &World, id: &str, change: impl Fn(&str) -> String) -> String {
    let lines = world.log(id).into_iter();
    let lines = lines.map(|line| change(std::str::from_utf8(&line).unwrap()));
    let lines: Vec<String> = lines.collect();
    let copy = format!("{id}-{}", Digest::of(lines.concat().as_bytes()).hex(6));
    let log = RecordKey::new(format!("session-log/{copy}")).unwrap();
    for line in &lines {
        now(world.space.records.append(&log, line.as_bytes())).unwrap();
    }
    copy
}

#[tokio::test]
async fn replay_is_equal_and_asks_no_model() {
    let model = ScriptModel::saying(scenario());
    let world = world(&model);
    let id = world.say(None, "go").await.unwrap().session;
    world.say(Some(&id), "and more").await.unwrap();
    let (asked, audited) = (model.requests().len(), world.audited().len());
    assert_eq!(replay(&world, &id).await, None);
    assert_eq!(model.requests().len(), asked);
    // Only the instructions of the skill are read again.
    assert_eq!(world.audited()[audited..], ["session/replay", "skill_load"]);
    let log = RecordKey::new("audit").unwrap();
    let lines = now(world.space.records.entries(&log, usize::MAX)).unwrap();
    let ledger = gongfu_core::ledger::ledger(lines.iter().map(Vec::as_slice), &["skill_load"]);
    assert_eq!(ledger["lib/coldstart"].loaded, 1);
}

#[tokio::test]
async fn replay_names_the_first_difference() {
    let model = ScriptModel::saying(scenario());
    let world = world(&model);
    let id = world.say(None, "go").await.unwrap().session;

    for (from, to, what) in [
        (
            "Set up",
            "Set it up",
            Some("the skill `coldstart` was changed"),
        ),
        (
            "The plan is written.",
            "Nothing.",
            Some("the model's answer in the log was changed"),
        ),
        (
            "\"content\":\"one\"",
            "\"content\":\"1\"",
            Some("the model's answer in the log was changed"),
        ),
        (
            "\"text\":\"go\"",
            "\"text\":\"stop\"",
            Some("the conversation differs: a message in the log was changed"),
        ),
    ] {
        let copy = edit(&world, &id, |line| line.replace(from, to));
        let found = replay(&world, &copy).await.map(|(_, what)| what);
        assert_eq!(found.as_deref(), what, "{from}");
    }
    let copy = edit(&world, &id, |line| {
        if line.contains("\"kind\":\"finished\"") {
            line.replace("The plan", "No plan")
        } else {
            line.to_owned()
        }
    });
    assert_eq!(
        replay(&world, &copy).await.unwrap().1,
        "the reply in the log was changed"
    );

    let changed = SKILL.replace("plan.md", "other.md");
    world
        .space
        .skills
        .replace(&[("lib/coldstart", &[("SKILL.md", changed.as_bytes())])]);
    assert_eq!(
        replay(&world, &id).await.unwrap().1,
        "the skill `coldstart` was changed"
    );
    let described = SKILL.replace("Set up a", "Make a");
    world
        .space
        .skills
        .replace(&[("lib/coldstart", &[("SKILL.md", described.as_bytes())])]);
    let (n, what) = replay(&world, &id).await.unwrap();
    assert!(
        n == 2 && what.starts_with("the instructions differ"),
        "{n} {what}"
    );
}

#[tokio::test]
async fn fork_continues_from_an_entry() {
    let model = ScriptModel::saying(scenario());
    let world = world(&model);
    let first = world.say(None, "go").await.unwrap();
    let fork = SessionFork {
        id: first.session.clone(),
        at: Some(7),
    };
    let fork = world.agent.catalog.operate(fork, &person()).await.unwrap();
    assert_eq!(fork.forked_from.as_deref(), Some(first.session.as_str()));
    assert!(fork.is_open);
    let second = world.resume(&fork.id).await.unwrap();
    assert_eq!(trace(&second), trace(&first));
    let shown = SessionShow {
        id: fork.id.clone(),
    };
    let shown = world.agent.catalog.operate(shown, &person()).await.unwrap();
    assert_eq!(shown.session.turns().len(), 1);
    for at in [0, 99] {
        let fork = SessionFork {
            id: first.session.clone(),
            at: Some(at),
        };
        assert!(world.agent.catalog.operate(fork, &person()).await.is_err());
    }
    let sessions = world
        .agent
        .catalog
        .operate(SessionList {}, &person())
        .await
        .unwrap();
    assert_eq!(sessions.len(), 2);
    assert!(
        sessions
            .iter()
            .all(|session| session.title == "go" && session.turns == 1 && !session.is_open)
    );
}

#[tokio::test]
async fn person_has_the_conversation_summarised_between_two_turns() {
    let model = ScriptModel::saying(vec![
        say(&"a long answer ".repeat(400)),
        say("short"),
        say("end"),
    ]);
    let world = world(&model);
    let compact = async |id: &str| {
        let operation = SessionCompact { id: id.to_owned() };
        world.agent.catalog.operate(operation, &person()).await
    };
    let id = world.say(None, "go").await.unwrap().session;
    // The last turn stays as it is.
    assert_eq!(compact(&id).await.unwrap(), None);
    world.say(Some(&id), "and more").await.unwrap();
    let (before, after) = compact(&id).await.unwrap().unwrap();
    assert!(after < before / 2, "{before} {after}");
    assert_eq!(compact(&id).await.unwrap(), None);

    world.say(Some(&id), "the end").await.unwrap();
    let request = model.requests().pop().unwrap();
    let Some(Message::User { text }) = request.messages.first() else {
        panic!("{:?}", request.messages);
    };
    assert!(
        text.starts_with("Summary of the conversation so far:"),
        "{text}"
    );
    assert!(text.contains("and more"));
    assert_eq!(replay(&world, &id).await, None);
    assert!(compact("nowhere").await.is_err());
}

#[tokio::test]
async fn open_turn_is_ended_by_the_person() {
    let model = ScriptModel::new(|_, request| {
        let is_first =
            |message: &Message| matches!(message, Message::User { text } if text == "go");
        match request.messages.last() {
            Some(message) if is_first(message) => Err(ModelError::new(
                ModelErrorKind::Unauthorized,
                "the key is wrong",
            )),
            _ => Ok(say("here")),
        }
    });
    let world = world(&model);
    let stop = async |id: &str| {
        let operation = SessionStop { id: id.to_owned() };
        world.agent.catalog.operate(operation, &person()).await
    };
    world.say(None, "go").await.unwrap_err();
    let operation = SessionList {};
    let sessions = world.agent.catalog.operate(operation, &person()).await;
    let info = sessions.unwrap().remove(0);
    assert!(info.is_open);
    let open = SessionCompact {
        id: info.id.clone(),
    };
    assert!(world.agent.catalog.operate(open, &person()).await.is_err());
    assert!(stop(&info.id).await.unwrap());
    assert!(!stop(&info.id).await.unwrap());
    assert_eq!(
        world.say(Some(&info.id), "other").await.unwrap().reply,
        "here"
    );
    assert_eq!(replay(&world, &info.id).await, None);
}

#[tokio::test]
async fn session_is_removed_with_its_log_unless_a_turn_runs_in_it() {
    let model = ScriptModel::saying(scenario());
    let world = world(&model);
    let id = world.say(None, "go").await.unwrap().session;
    let catalog = &world.agent.catalog;
    let remove = || SessionRemove { id: id.clone() };
    let space = world.space.open(&Owner::Local);
    let running = Store::open(&space, &id).await.unwrap();
    for refused in [
        catalog.operate(remove(), &person()).await.unwrap_err(),
        world.say(Some(&id), "more").await.unwrap_err(),
        world.resume(&id).await.unwrap_err(),
    ] {
        assert_eq!(refused.code(), ErrorCode::Conflict);
    }
    drop(running);

    catalog.operate(remove(), &person()).await.unwrap();
    assert_eq!(world.log(&id), Vec::<Vec<u8>>::new());
    let all = catalog.operate(SessionList {}, &person()).await.unwrap();
    assert_eq!(all, []);
    let again = catalog.operate(remove(), &person()).await;
    assert_eq!(again.unwrap_err().code(), ErrorCode::SessionNotFound);
}
