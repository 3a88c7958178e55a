//! A turn that is killed after any entry of its log continues as if nothing had happened.

use super::*;

/// The answers of a scenario.
type Answers = fn() -> Vec<ModelAnswer>;

fn fenced() -> Vec<ModelAnswer> {
    let action = |tool: &str, params: Value| {
        say(&format!(
            "```action\n{}\n```",
            json!({ "tool": tool, "params": params })
        ))
    };
    vec![
        action("skill_load", json!({ "skill_name": "coldstart" })),
        action("file_write", json!({ "path": "plan.md", "content": "one" })),
        say("Done."),
    ]
}

fn endless() -> Vec<ModelAnswer> {
    let write = |number: usize| json!({ "path": format!("{number}.md"), "content": "x" });
    let mut answers: Vec<_> = (0..6)
        .map(|number| call(&[("file_write", write(number))]))
        .collect();
    answers.push(say("That is all that I could do."));
    answers
}

#[tokio::test]
async fn turn_that_is_killed_after_any_entry_continues_to_the_same_end() {
    let scenarios: [(Answers, usize); 3] = [(scenario, 4), (fenced, 2), (endless, 6)];
    for (answers, calls) in scenarios {
        let model = ScriptModel::saying(answers());
        let whole = world(&model);
        let expected = whole.say(None, "go").await.unwrap();
        assert_eq!(expected.tool_calls.len(), calls);
        let lines = whole.log(&expected.session);
        let open = 2..lines.len();
        assert!(open.len() > 2 * calls);
        for kept in open {
            let killed = world(&model);
            write(&killed, &expected.session, &lines[..kept]);
            let result = killed.resume(&expected.session).await.unwrap();
            assert_eq!(
                trace(&result),
                trace(&expected),
                "killed after entry {kept}"
            );
            assert_eq!((&result.reply, result.end), (&expected.reply, expected.end));
            // What was finished isn't called again.
            let entries = killed.entries(&expected.session);
            let finished = entries[..kept]
                .iter()
                .filter(|entry| is_called(entry))
                .count();
            let called = killed.audited().len() - 1;
            assert_eq!(called, calls - finished, "killed after entry {kept}");
        }
    }
}

fn is_called(entry: &Entry) -> bool {
    matches!(entry.event, gongfu_core::agent::EntryEvent::Called { .. })
}

/// Writes the log of a session as a killed process left it.
fn write(world: &World, session: &str, lines: &[Vec<u8>]) {
    let log = RecordKey::new(format!("session-log/{session}")).unwrap();
    for line in lines {
        now(world.space.records.append(&log, line)).unwrap();
    }
}

#[tokio::test]
async fn line_that_is_cut_is_left_out_and_a_lost_entry_noticed() {
    let model = ScriptModel::saying(scenario());
    let whole = world(&model);
    let id = whole.say(None, "go").await.unwrap().session;
    let lines = whole.log(&id);
    let cut = |line: &Vec<u8>| line[..line.len() / 2].to_vec();

    let mut torn = lines[..5].to_vec();
    torn.push(cut(&lines[5]));
    let killed = world(&model);
    write(&killed, &id, &torn);
    assert_eq!(
        killed.resume(&id).await.unwrap().reply,
        "The plan is written."
    );

    let mut damaged = lines[..6].to_vec();
    damaged[3] = cut(&lines[3]);
    let killed = world(&model);
    write(&killed, &id, &damaged);
    let error = killed.resume(&id).await.unwrap_err();
    assert_eq!(error.code(), gongfu_hub::ErrorCode::SessionInvalid);
    assert!(
        error.to_string().contains("found entry 4 where entry 3"),
        "{error}"
    );

    // Written again after the line that was cut, it is whole.
    let mut repeated = torn.clone();
    repeated.extend_from_slice(&lines[5..7]);
    let killed = world(&model);
    write(&killed, &id, &repeated);
    assert_eq!(
        killed.resume(&id).await.unwrap().reply,
        "The plan is written."
    );

    let killed = world(&model);
    let mut missing = lines.clone();
    missing.remove(4);
    write(&killed, &id, &missing);
    let error = killed.resume(&id).await.unwrap_err();
    assert!(
        error.to_string().contains("part of the log is missing"),
        "{error}"
    );
}

/// Returns true if the only log of this kind has a writer.
fn is_held(space: &MemorySpace, records: &str, logs: &str) -> bool {
    let prefix = RecordKey::new(records).unwrap();
    let (key, _) = now(space.records.list(&prefix)).unwrap().remove(0);
    let log = RecordKey::new(key.as_str().replace(records, logs)).unwrap();
    now(space.records.hold_log(&log)).unwrap().is_none()
}

#[tokio::test]
async fn turn_holds_its_session_until_its_end() {
    let world = Arc::new(world(&ScriptModel::saying(scenario())));
    let space = Arc::clone(&world.space);
    let held = move || is_held(&space, "session", "session-log");
    let seen = held.clone();
    let model = ScriptModel::new(move |number, _| {
        assert!(seen());
        Ok(scenario()[number].clone())
    });
    let agent = Agent::new(
        Arc::clone(&world.agent.catalog),
        Arc::new(model),
        AgentSettings::default(),
    );
    let chatting = Arc::new(agent)
        .chat(ChatRequest::new("go"), &person())
        .await;
    assert_eq!(chatting.unwrap().reply, "The plan is written.");
    assert!(!held());
}
