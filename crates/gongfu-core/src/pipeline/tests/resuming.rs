//! Runs that are resumed from their log.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::super::{Event, Plan, ResumeError, Run, Step, StepError, from_value};
use super::{plan, plan_of, yaml};

fn story() -> Arc<Plan> {
    yaml(
        "
name: story
steps:
  - { name: a, tool: tool_a, retries: 3 }
  - { name: b, tool: tool_a, when: 'false' }
  - { name: c, tool: tool_a, errorStrategy: continue }
  - { name: d, tool: tool_b, params: { x: 'a:', y: 'expr:steps.c._error' } }
  - { name: e, tool: tool_c, dependsOn: [d], transform: 'output | upper' }
",
    )
}

/// The result of an attempt, which depends on nothing else.
fn result(step: &str, attempt: u32) -> Result<Value, StepError> {
    match (step, attempt) {
        ("a", 1) => Err(StepError::new("once")),
        ("c", _) => Err(StepError::new("always")),
        _ => Ok(json!(format!("{step} is done"))),
    }
}

/// Runs on to the end, and adds the events to the log.
fn finish(run: &mut Run, log: &mut Vec<Event>, calls: &mut Vec<(String, u32, bool)>) {
    while !run.is_over() {
        for call in run.next(2) {
            log.extend(run.take_events());
            calls.push((call.step.clone(), call.attempt, call.identity.again));
            run.finished(&call.step, result(&call.step, call.attempt), 5)
                .unwrap();
            log.extend(run.take_events());
        }
    }
    log.extend(run.take_events());
}

#[test]
fn run_that_stops_after_any_event_has_the_same_outcome() {
    let plan = story();
    let (mut log, mut calls) = (Vec::new(), Vec::new());
    let mut whole = Run::start(Arc::clone(&plan), json!({"k": 1}), "r").unwrap();
    finish(&mut whole, &mut log, &mut calls);
    let wanted = whole.outcome(0);
    assert!(wanted.success, "{wanted:?}");
    assert_eq!(wanted.outputs["e"], "E IS DONE");
    assert!(matches!(
        log.last(),
        Some(Event::Ended { success: true, .. })
    ));
    for cut in 1..log.len() {
        // The log is lines of JSON.
        let lines: Vec<String> = log[..cut]
            .iter()
            .map(|event| serde_json::to_string(event).unwrap())
            .collect();
        let read: Vec<Event> = lines
            .iter()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let mut resumed = Run::resume(Arc::clone(&plan), read).unwrap();
        assert_eq!(resumed.id(), "r");
        let (mut rest, mut again) = (log[..cut].to_vec(), Vec::new());
        finish(&mut resumed, &mut rest, &mut again);
        assert_eq!(resumed.outcome(0), wanted, "after {cut} events");
        // Nothing that finished runs again, and what was running is told so.
        let (mut open, mut finished) = (BTreeSet::new(), BTreeSet::new());
        for event in &log[..cut] {
            match event {
                Event::StepStarted { step, .. } => drop(open.insert(step)),
                Event::StepFailed { step, .. } => drop(open.remove(step)),
                Event::StepFinished { step, .. } => {
                    open.remove(step);
                    finished.insert(step);
                }
                _ => {}
            }
        }
        for (step, _, interrupted) in &again {
            assert!(!finished.contains(step), "{step} after {cut} events");
            assert_eq!(
                *interrupted,
                open.contains(step),
                "{step} after {cut} events"
            );
        }
    }
}

#[test]
fn definition_in_the_log_is_enough_to_resume() {
    let mut run = Run::start(story(), json!({}), "r").unwrap();
    let started = run.take_events().remove(0);
    let Event::Started {
        definition: Some(definition),
        ..
    } = &started
    else {
        panic!("{started:?}");
    };
    let again = plan(&from_value(definition).unwrap());
    Run::resume(again, [started]).unwrap();
}

#[test]
fn cancelled_run_can_be_resumed() {
    let plan = plan_of([Step::new("a", "tool_a"), Step::new("b", "tool_a")]);
    let mut run = Run::start(Arc::clone(&plan), json!({}), "r").unwrap();
    run.next(2);
    run.finished("a", Ok(json!(1)), 1).unwrap();
    run.cancel();
    run.finished("b", Err(StepError::last("cancelled")), 1)
        .unwrap();
    let mut run = Run::resume(plan, run.take_events()).unwrap();
    let ready = run.next(2);
    assert_eq!(ready.len(), 1);
    assert_eq!(
        (
            ready[0].step.as_str(),
            ready[0].attempt,
            ready[0].identity.again
        ),
        ("b", 1, true)
    );
    assert_eq!(ready[0].identity.step, "r/b");
}

#[test]
fn failed_run_is_tried_again_where_it_failed() {
    let due = Step {
        retries: 2,
        error_strategy: super::super::ErrorStrategy::Continue,
        ..Step::new("due", "tool_a")
    };
    let plan = plan_of([
        Step::new("a", "tool_a"),
        due,
        Step::new("fine", "tool_a"),
        Step::new("b", "tool_a").after(["a"]),
    ]);
    let mut run = Run::start(Arc::clone(&plan), json!({}), "r").unwrap();
    run.next(4);
    run.finished("fine", Ok(json!(1)), 1).unwrap();
    run.finished("due", Err(StepError::new("once")), 1).unwrap();
    run.finished("a", Err(StepError::new("no")), 1).unwrap();
    assert_eq!(run.outcome(0).outputs["due"], json!({"_error": "once"}));
    let events = run.take_events();
    assert!(matches!(
        events.last(),
        Some(Event::Ended { success: false, .. })
    ));
    // The process may have ended before it could write the last event.
    for cut in [events.len(), events.len() - 1] {
        let mut log = events[..cut].to_vec();
        let mut run = Run::resume(Arc::clone(&plan), log.clone()).unwrap();
        log.extend(run.take_events());
        assert_eq!(log, [events.clone(), vec![Event::Resumed {}]].concat());
        let ready = run.next(4);
        let calls: Vec<_> = ready
            .iter()
            .map(|call| (call.step.as_str(), call.attempt))
            .collect();
        assert_eq!(calls, [("a", 1), ("due", 2)]);
        for call in ready {
            run.finished(&call.step, Ok(json!(2)), 1).unwrap();
        }
        log.extend(run.take_events());
        // What follows in the log is read as well.
        let mut run = Run::resume(Arc::clone(&plan), log).unwrap();
        assert_eq!(run.next(4)[0].step, "b");
        run.finished("b", Ok(json!(3)), 1).unwrap();
        let outcome = run.outcome(0);
        assert!(outcome.success && outcome.error.is_none());
        assert_eq!(
            json!(outcome.outputs),
            json!({"a": 2, "due": 2, "fine": 1, "b": 3})
        );
    }
}

#[test]
fn succeeded_run_is_not_resumed() {
    let plan = plan_of([Step::new("a", "tool_a")]);
    let mut run = Run::start(Arc::clone(&plan), json!({}), "r").unwrap();
    run.next(1);
    run.finished("a", Ok(json!(1)), 1).unwrap();
    let error = Run::resume(plan, run.take_events()).unwrap_err();
    assert_eq!(error, ResumeError::Succeeded);
}

#[test]
fn log_that_cannot_be_is_refused() {
    let plan = plan_of([Step::new("a", "tool_a")]);
    let mut run = Run::start(Arc::clone(&plan), json!({}), "r").unwrap();
    let started = run.take_events().remove(0);
    let resume = |events: Vec<Event>| Run::resume(Arc::clone(&plan), events).map(drop);
    assert_eq!(resume(Vec::new()), Err(ResumeError::Empty));
    let other = plan_of([Step::new("b", "tool_a")]);
    assert_eq!(
        Run::resume(other, [started.clone()]).map(drop),
        Err(ResumeError::Changed)
    );
    let step = || "a".to_owned();
    let finished = Event::StepFinished {
        step: step(),
        output: json!(1),
        duration_ms: 1,
    };
    let begins = |attempt| Event::StepStarted {
        step: step(),
        attempt,
    };
    let fails = |again| Event::StepFailed {
        step: step(),
        error: String::new(),
        duration_ms: u64::MAX,
        again,
    };
    let unknown = Event::StepSkipped {
        step: "zzz".to_owned(),
    };
    for events in [
        vec![finished.clone()],
        vec![begins(1), finished.clone(), finished.clone()],
        vec![begins(1), finished.clone(), begins(1)],
        vec![begins(1), finished.clone(), fails(false)],
        vec![begins(1), finished, fails(true)],
        vec![begins(u32::MAX)],
        vec![begins(2)],
        vec![begins(1), begins(1)],
        vec![begins(0)],
        vec![started.clone()],
        vec![unknown],
    ] {
        let log = [vec![started.clone()], events.clone()].concat();
        assert!(
            matches!(resume(log), Err(ResumeError::Damaged { .. })),
            "{events:?}"
        );
    }
    assert!(matches!(
        resume(vec![begins(1)]),
        Err(ResumeError::Damaged { entry: 1, .. })
    ));
}
