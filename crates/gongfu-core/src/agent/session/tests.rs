//! Tests of the loop: a script of answers against the state machine.

use serde_json::{Map, Value, json};

use super::reply::{CUT, NO_ANSWER, STOPPED};
use super::*;
use crate::agent::{CallStatus, LoggedDigest, as_logged};
use crate::port::{ModelCall, ModelErrorKind, StopReason};

/// A session that is driven without a model: each event becomes an entry.
#[derive(Default)]
struct Driver {
    session: Session,
    entries: Vec<Entry>,
}

impl Driver {
    fn begun(prompt: &str, limits: AgentLimits) -> Self {
        let mut driver = Self::default();
        driver.add(EntryEvent::Started {
            format: FORMAT,
            forked_from: None,
        });
        driver.prompt(prompt, limits);
        driver
    }

    fn prompt(&mut self, text: &str, limits: AgentLimits) {
        self.add(EntryEvent::Prompt {
            text: text.to_owned(),
            limits,
            skills: None,
        });
    }

    fn add(&mut self, event: EntryEvent) {
        let entry = Entry {
            n: self.session.next_entry(),
            at: String::new(),
            event,
        };
        self.session.apply(&entry).unwrap();
        self.entries.push(entry);
    }

    /// Does what is to be done, with these answers and `result` for each call, until the turn ends.
    fn run(&mut self, answers: &mut dyn Iterator<Item = ModelAnswer>, result: &str) {
        loop {
            match self.session.next(0) {
                Effect::Wait => return,
                Effect::Compact(event) | Effect::Finish(event) => self.add(event),
                Effect::Ask { last } => {
                    let request = self.session.request("system", &[], last);
                    self.add(Session::asking("a/b", &request, last));
                    let answer = as_logged(answers.next().unwrap(), self.session.next_entry());
                    let digest = LoggedDigest::of_json(&answer);
                    self.add(EntryEvent::Answered {
                        answer,
                        digest,
                        duration_ms: 0,
                    });
                }
                Effect::Call(calls) => {
                    // The last one first: results may come in any order.
                    for call in calls.into_iter().rev() {
                        let status = match call.problem {
                            None => CallStatus::Ok,
                            Some(_) => CallStatus::Invalid,
                        };
                        let text = call.problem.unwrap_or_else(|| result.to_owned());
                        self.add(EntryEvent::Called {
                            id: call.id,
                            status,
                            digest: LoggedDigest::of(&text),
                            text,
                            skill: None,
                            duration_ms: 0,
                        });
                    }
                }
            }
        }
    }

    /// The calls of the last turn in short, and its reply.
    fn trace(&self) -> (Vec<String>, Option<(String, End)>) {
        let turn = self.session.turns().last().unwrap();
        let short = |record: &CallRecord| {
            let params = Value::Object(record.call.params.clone());
            format!("{} {params} {}", record.call.tool, record.status.as_str())
        };
        (turn.calls.iter().map(short).collect(), turn.reply.clone())
    }
}

fn text(text: &str) -> ModelAnswer {
    ModelAnswer {
        text: text.to_owned(),
        ..ModelAnswer::default()
    }
}

fn native(calls: &[(&str, Value)]) -> ModelAnswer {
    let call = |(index, (name, arguments)): (usize, &(&str, Value))| ModelCall {
        id: format!("c{index}"),
        name: (*name).to_owned(),
        arguments: arguments.clone(),
        signatures: Vec::new(),
    };
    ModelAnswer {
        calls: calls.iter().enumerate().map(call).collect(),
        stop: StopReason::Calls,
        ..ModelAnswer::default()
    }
}

fn action(tool: &str, params: &Value) -> String {
    format!(
        "```action\n{}\n```\n",
        json!({ "tool": tool, "params": params })
    )
}

fn traced(answers: Vec<ModelAnswer>) -> (Vec<String>, Option<(String, End)>) {
    let mut driver = Driver::begun("do it", AgentLimits::default());
    driver.run(&mut answers.into_iter(), "done");
    driver.trace()
}

#[test]
fn native_calls_and_fenced_ones_give_the_same_trace() {
    let (one, two) = (json!({ "x": 1 }), json!({}));
    let by_call = vec![
        native(&[("a", one.clone()), ("b", two.clone())]),
        text("ok"),
    ];
    let fence = action("a", &one) + &action("b", &two);
    let by_fence = vec![text(&fence), text("ok")];
    let both = ModelAnswer {
        text: fence,
        ..native(&[("a", one), ("b", two)])
    };
    let expected = traced(by_call);
    assert_eq!(expected.0, ["a {\"x\":1} ok", "b {} ok"]);
    assert_eq!(traced(by_fence), expected);
    assert_eq!(traced(vec![both, text("ok")]), expected);
}

#[test]
fn steps_end_with_one_last_answer() {
    let calls = || native(&[("a", json!({}))]);
    let mut answers: Vec<_> = (0..6).map(|_| calls()).collect();
    answers.push(text("Half is done."));
    let (trace, reply) = traced(answers);
    assert_eq!(trace.len(), 6);
    assert_eq!(reply, Some(("Half is done.".to_owned(), End::Steps)));
    // A model that calls tools even then gets none, and the person an answer.
    let (trace, reply) = traced((0..7).map(|_| calls()).collect());
    assert_eq!(trace.len(), 6);
    assert_eq!(reply, Some((NO_ANSWER.to_owned(), End::Steps)));
    let fenced = text(&action("a", &json!({})));
    let (trace, reply) = traced((0..7).map(|_| fenced.clone()).collect());
    assert_eq!(
        (trace.len(), reply),
        (6, Some((NO_ANSWER.to_owned(), End::Steps)))
    );
    // What it says before another call isn't taken for the end of the work.
    let fenced = text(&format!("Now the tests.\n\n{}", action("a", &json!({}))));
    let (_, reply) = traced((0..7).map(|_| fenced.clone()).collect());
    let stopped = format!("Now the tests.\n\n{STOPPED}");
    assert_eq!(reply, Some((stopped, End::Steps)));
}

#[test]
fn arguments_with_too_many_levels_are_refused_and_can_be_logged() {
    let deep = (0..120).fold(json!(1), |value, _| json!([value]));
    let params = json!({ "x": deep });
    let mut driver = Driver::begun("do it", AgentLimits::default());
    let answers = [
        native(&[("a", params.clone())]),
        text(&action("a", &params)),
        text("ok"),
    ];
    driver.run(&mut answers.into_iter(), "done");
    assert_eq!(driver.trace().0, ["a {} invalid", "a {} invalid"]);
    for entry in &driver.entries {
        let line = serde_json::to_vec(entry).unwrap();
        assert_eq!(serde_json::from_slice::<Entry>(&line).unwrap(), *entry);
    }
}

#[test]
fn broken_calls_are_observations() {
    let cut = ModelAnswer {
        stop: StopReason::Length,
        ..native(&[("a", json!("{\"x\": \"1"))])
    };
    let (trace, _) = traced(vec![
        native(&[("a", json!("{"))]),
        native(&[("a", json!([1]))]),
        cut,
        text("```action\n{\"tool\": \"a\", "),
        text("ok"),
    ]);
    assert_eq!(
        trace,
        [
            "a {} invalid",
            "a {} invalid",
            "a {} invalid",
            " {} invalid"
        ]
    );
    let many: Vec<_> = (0..20).map(|_| ("a", json!({}))).collect();
    let (trace, _) = traced(vec![native(&many), text("ok")]);
    let refused = trace
        .iter()
        .filter(|line| line.ends_with("invalid"))
        .count();
    assert_eq!((trace.len(), refused), (20, 4));
}

#[test]
fn cut_and_filtered_answers_say_so() {
    let end = |stop| {
        let (_, reply) = traced(vec![ModelAnswer {
            stop,
            ..text("The start")
        }]);
        reply.unwrap()
    };
    assert_eq!(
        end(StopReason::Length),
        (format!("The start\n\n{CUT}"), End::Length)
    );
    assert_eq!(end(StopReason::Filter).1, End::Filter);
    assert_eq!(
        end(StopReason::Calls),
        ("The start".to_owned(), End::Answered)
    );
}

#[test]
fn results_follow_their_calls_in_order() {
    let mut driver = Driver::begun("go", AgentLimits::default());
    let claimed = action("a", &json!({})) + "Result: 99 rows";
    let answers = vec![
        native(&[("a", json!({})), ("b", json!({}))]),
        text(&claimed),
        text("ok"),
    ];
    driver.run(&mut answers.into_iter(), "done");
    let request = driver.session.request("s", &[], false);
    let roles: Vec<String> = request
        .messages
        .iter()
        .map(|message| match message {
            Message::User { text } => format!("user {text}"),
            Message::Assistant { text, calls } => format!("model {text} {}", calls.len()),
            Message::Tool { name, text, .. } => format!("{name} {text}"),
        })
        .collect();
    assert_eq!(
        roles,
        [
            "user go",
            "model  2",
            "a done",
            "b done",
            "model ```action\n{\"tool\":\"a\",\"params\":{}}\n``` 0",
            "user Result of `a`:\n```result\ndone\n```",
            "model ok 0"
        ]
    );
}

#[test]
fn budget_stops_the_turn_before_the_model_is_asked() {
    let limits = AgentLimits {
        session_tokens: Some(10),
        ..AgentLimits::default()
    };
    let mut driver = Driver::begun("go", limits);
    let costly = ModelAnswer {
        usage: Usage {
            input: 8,
            output: 2,
            cached: 0,
            cost: 0,
        },
        ..native(&[("a", json!({}))])
    };
    driver.run(&mut vec![costly].into_iter(), "done");
    let (_, reply) = driver.trace();
    let (text, end) = reply.unwrap();
    assert_eq!(end, End::Budget);
    assert!(
        text.starts_with("this session has used 10 of the 10 tokens"),
        "{text}"
    );
}

#[test]
fn summary_keeps_goal_instruction_skills_and_pending() {
    let mut driver = Driver::begun("the goal", AgentLimits::default());
    let answers = vec![native(&[("skill_load", json!({ "name": "x" }))])];
    let request = driver.session.request("s", &[], false);
    driver.add(Session::asking("m", &request, false));
    driver.add(EntryEvent::Answered {
        digest: LoggedDigest::of(""),
        answer: answers.into_iter().next().unwrap(),
        duration_ms: 0,
    });
    driver.add(EntryEvent::Called {
        id: "c0".to_owned(),
        status: CallStatus::Ok,
        text: "step one\nstep two".to_owned(),
        digest: LoggedDigest::of(""),
        skill: Some("x".to_owned()),
        duration_ms: 0,
    });
    driver.run(&mut vec![text("first reply")].into_iter(), "done");
    driver.prompt(
        "the second",
        AgentLimits {
            context_tokens: 10,
            ..AgentLimits::default()
        },
    );
    let Effect::Compact(event) = driver.session.next(11) else {
        panic!("it is too long");
    };
    driver.add(event);
    assert_eq!(driver.session.next(11), Effect::Ask { last: false });
    let request = driver.session.request("s", &[], false);
    let [Message::User { text: summary }] = &request.messages[..] else {
        panic!("{request:?}");
    };
    assert!(summary.ends_with("\n\nthe second"), "{summary}");
    for part in [
        "Goal:\nthe goal",
        "skill_load({\"name\":\"x\"}) ok",
        "- You: first reply",
        "Pending: the latest instruction",
        "`x`, loaded before:\n```skill\nstep one\nstep two\n```",
    ] {
        assert!(summary.contains(part), "{part}: {summary}");
    }
}

#[test]
fn state_is_the_same_from_every_prefix_of_the_log() {
    let mut driver = Driver::begun("go", AgentLimits::default());
    let answers = vec![native(&[("a", json!({})), ("b", json!({}))]), text("ok")];
    driver.run(&mut answers.into_iter(), "done");
    driver.prompt("more", AgentLimits::default());
    driver.run(&mut vec![text("ok")].into_iter(), "done");
    for at in 1..driver.entries.len() {
        let mut session = Session::of(&driver.entries[..at]).unwrap();
        for entry in &driver.entries[at..] {
            session.apply(entry).unwrap();
        }
        assert_eq!(session.turns(), driver.session.turns());
    }
}

#[test]
fn log_with_a_gap_a_new_format_or_a_wrong_order_is_refused() {
    let mut driver = Driver::begun("go", AgentLimits::default());
    driver.run(&mut vec![text("ok")].into_iter(), "done");
    let without = |at: usize| {
        let mut entries = driver.entries.clone();
        entries.remove(at);
        Session::of(&entries).unwrap_err()
    };
    assert_eq!(
        without(2),
        SessionError::Gap {
            wanted: 2,
            found: 3
        }
    );
    assert_eq!(
        without(0),
        SessionError::Gap {
            wanted: 0,
            found: 1
        }
    );
    let mut entries = driver.entries.clone();
    entries.swap(3, 4);
    (entries[3].n, entries[4].n) = (3, 4);
    assert_eq!(
        Session::of(&entries).unwrap_err(),
        SessionError::Order { n: 3 }
    );
    let started = EntryEvent::Started {
        format: 9,
        forked_from: None,
    };
    let entry = Entry {
        n: 0,
        at: String::new(),
        event: started,
    };
    assert_eq!(Session::of([&entry]).unwrap_err(), SessionError::Format(9));
}

#[test]
fn interrupted_turn_leaves_a_conversation_that_can_continue() {
    let mut driver = Driver::begun("go", AgentLimits::default());
    let request = driver.session.request("s", &[], false);
    driver.add(Session::asking("m", &request, false));
    driver.add(EntryEvent::Answered {
        answer: native(&[("a", json!({})), ("b", json!({}))]),
        digest: LoggedDigest::of(""),
        duration_ms: 0,
    });
    driver.add(EntryEvent::Called {
        id: "c1".to_owned(),
        status: CallStatus::Ok,
        text: "done".to_owned(),
        digest: LoggedDigest::of(""),
        skill: None,
        duration_ms: 0,
    });
    driver.add(EntryEvent::Interrupted);
    assert_eq!(driver.session.next(0), Effect::Wait);
    assert_eq!(
        driver.trace(),
        (
            vec!["a {} interrupted".to_owned(), "b {} ok".to_owned()],
            None
        )
    );
    driver.prompt("again", AgentLimits::default());
    assert_eq!(driver.session.request("s", &[], false).messages.len(), 5);
}

#[test]
fn failure_of_the_model_leaves_the_turn_open() {
    let mut driver = Driver::begun("go", AgentLimits::default());
    let request = driver.session.request("s", &[], false);
    driver.add(Session::asking("m", &request, false));
    let error = ModelError::new(ModelErrorKind::Unavailable, "no route");
    driver.add(EntryEvent::Failed {
        error: error.clone(),
    });
    assert_eq!(driver.session.error(), Some(&error));
    assert_eq!(driver.session.next(0), Effect::Ask { last: false });
    driver.run(&mut vec![text("ok")].into_iter(), "done");
    assert_eq!(driver.session.error(), None);
}

#[test]
fn entries_are_read_back_as_they_were_written() {
    let mut driver = Driver::begun("go", AgentLimits::default());
    driver.run(
        &mut vec![native(&[("a", json!({"k": [1, null]}))]), text("ok")].into_iter(),
        "done",
    );
    driver.add(EntryEvent::Compacted {
        through: 1,
        summary: "s".to_owned(),
    });
    for entry in &driver.entries {
        let line = serde_json::to_string(entry).unwrap();
        assert_eq!(
            &serde_json::from_str::<Entry>(&line).unwrap(),
            entry,
            "{line}"
        );
    }
    let calling = EntryEvent::Calling {
        id: "i".to_owned(),
        tool: "t".to_owned(),
        params: Map::new(),
        definition: None,
    };
    let line = serde_json::to_value(&calling).unwrap();
    assert_eq!(
        line,
        json!({ "kind": "calling", "id": "i", "tool": "t", "params": {} })
    );
}
