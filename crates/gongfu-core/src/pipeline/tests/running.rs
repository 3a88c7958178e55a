//! The order of calls, attempts, failures and the end of a run.

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::{
    DEFAULT_TIMEOUT, ErrorStrategy, Event, MAX_DEPTH, MAX_OUTPUT, MAX_OUTPUTS, Ready, Rule, Run,
    Status, Step, StepError,
};
use super::{drive, echo, pipeline, plan, plan_of};

fn names(ready: &[Ready]) -> Vec<&str> {
    ready.iter().map(|call| call.step.as_str()).collect()
}

fn broken(message: &str) -> Result<Value, StepError> {
    Err(StepError::new(message))
}

#[test]
fn layer_runs_at_once_up_to_the_limit_and_waits_for_the_one_before() {
    let last = Step::new("last", "tool_b").after(["a"]);
    let plan = plan_of([
        last,
        Step::new("a", "tool_a"),
        Step::new("b", "tool_a"),
        Step::new("c", "tool_a"),
    ]);
    let mut run = Run::start(plan, json!({}), "r").unwrap();
    assert_eq!(names(&run.next(2)), ["a", "b"]);
    assert_eq!(names(&run.next(2)), [""; 0]);
    run.finished("a", Ok(json!(1)), 3).unwrap();
    assert_eq!(names(&run.next(2)), ["c"]);
    run.finished("c", Ok(json!(1)), 3).unwrap();
    // `last` depends on `a` alone, but its layer is the second one.
    assert_eq!(names(&run.next(2)), [""; 0]);
    run.finished("b", Ok(json!(1)), 3).unwrap();
    assert_eq!(names(&run.next(0)), ["last"]);
    assert!(!run.is_over());
    run.finished("last", Ok(json!(1)), 3).unwrap();
    assert!(run.is_over() && run.next(2).is_empty());
    assert!(run.outcome(1).success);
}

#[test]
fn step_is_tried_again_as_often_as_it_says() {
    let step = Step {
        retries: 3,
        retry_delay: 250,
        timeout: Some(900),
        ..Step::new("a", "tool_a")
    };
    let plan = plan_of([step, Step::new("b", "tool_a").after(["a"])]);
    let mut failures = 2;
    let (outcome, calls, _) = drive(&plan, json!({}), |call| {
        if call.step == "a" && failures > 0 {
            failures -= 1;
            return broken("not yet");
        }
        echo(call)
    });
    let seen: Vec<_> = calls
        .iter()
        .map(|call| (call.attempt, call.timeout_ms))
        .collect();
    assert_eq!(seen, [(1, 900), (2, 900), (3, 900), (1, DEFAULT_TIMEOUT)]);
    assert!(outcome.success);
    assert_eq!(
        (outcome.trace[0].attempt, outcome.trace[0].duration_ms),
        (3, 15)
    );

    let (outcome, calls, _) = drive(&plan, json!({}), |_| broken("never"));
    assert_eq!(calls.len(), 3);
    assert_eq!(outcome.error.unwrap(), "the step `a` failed: never");

    // An error that another attempt would meet too.
    let (_, calls, _) = drive(&plan, json!({}), |_| Err(StepError::last("refused")));
    assert_eq!(calls.len(), 1);
}

#[test]
fn failure_stops_the_pipeline_and_what_runs_finishes() {
    let retried = Step {
        retries: 2,
        ..Step::new("retried", "tool_a")
    };
    let steps = [
        Step::new("bad", "tool_a"),
        Step::new("slow", "tool_a"),
        retried,
        Step::new("late", "tool_a"),
        Step::new("after", "tool_a").after(["bad"]),
    ];
    let mut run = Run::start(plan_of(steps), json!({}), "r").unwrap();
    assert_eq!(run.next(3).len(), 3);
    run.finished("retried", broken("once"), 1).unwrap();
    run.finished("bad", broken("no\nfile"), 1).unwrap();
    assert!(run.next(3).is_empty() && !run.is_over());
    run.finished("slow", Ok(json!("done")), 7).unwrap();
    assert!(run.next(3).is_empty() && run.is_over());
    let outcome = run.outcome(9);
    assert!(!outcome.success);
    assert_eq!(
        outcome.error.as_deref(),
        Some("the step `bad` failed: no\nfile")
    );
    assert_eq!(json!(outcome.outputs), json!({"slow": "done"}));
    let trace: Vec<_> = outcome
        .trace
        .iter()
        .map(|entry| (entry.step.as_str(), entry.status))
        .collect();
    assert_eq!(
        trace,
        [
            ("bad", Status::Failed),
            ("slow", Status::Ok),
            ("retried", Status::Failed)
        ]
    );
}

#[test]
fn allowed_failure_is_an_output() {
    let steps = [
        Step {
            error_strategy: ErrorStrategy::Continue,
            ..Step::new("a", "tool_a")
        },
        Step::new("b", "tool_b").with("error", "a:_error"),
    ];
    let (outcome, calls, _) = drive(&plan_of(steps), json!({}), |call| {
        match call.step.as_str() {
            "a" => broken("no"),
            _ => echo(call),
        }
    });
    assert!(outcome.success);
    assert_eq!(calls[1].params["error"], "no");
}

#[test]
fn missing_reference_fails_its_step_without_a_call() {
    for (reference, input, wanted) in [
        (
            "input:a.b",
            json!({"a": {"c": 1, "d": 2}}),
            "`input:a.b` has no value: `a` has no `b`: it has `c`, `d`",
        ),
        (
            "input:x",
            json!({}),
            "`input:x` has no value: it has no `x`: it is empty",
        ),
        (
            "input:a[2]",
            json!({"a": [1]}),
            "`a` has no `[2]`: it is a list of 1",
        ),
        (
            "input:a[0]",
            json!({"a": "text"}),
            "`a` has no `[0]`: it is a text",
        ),
        (
            "off:x",
            json!({}),
            "`off:x` has no value: `off` was skipped; use an expression with `default`",
        ),
        (
            "bad:x",
            json!({}),
            "`bad:x` has no value: `bad` failed; use an expression with `default`",
        ),
        ("expr:input.x", json!({}), "the expression is undefined"),
        (
            "expr:input.x.y",
            json!({}),
            "the expression failed: undefined value",
        ),
    ] {
        let steps = [
            Step {
                when: Some(Rule::from("false")),
                ..Step::new("off", "tool_a")
            },
            Step {
                error_strategy: ErrorStrategy::Continue,
                ..Step::new("bad", "tool_a")
            },
            Step {
                retries: 5,
                ..Step::new("user", "tool_a")
                    .after(["off", "bad"])
                    .with("p", reference)
            },
        ];
        let (outcome, calls, _) = drive(&plan_of(steps), input, |_| broken("no"));
        assert_eq!(calls.len(), 1, "{reference}");
        let error = outcome.error.unwrap();
        assert!(
            error.starts_with("the step `user` failed: `params.p`: "),
            "{error}"
        );
        assert!(error.contains(wanted), "{error}");
        assert_eq!(outcome.trace.last().unwrap().attempt, 0);
    }
}

#[test]
fn condition_that_fails_is_a_failure_and_not_a_skip() {
    let step = Step {
        when: Some(Rule::from("1 / input.zero")),
        ..Step::new("a", "tool_a")
    };
    let (outcome, calls, _) = drive(&plan_of([step]), json!({"zero": 0}), echo);
    assert!(calls.is_empty() && !outcome.success);
    assert!(
        outcome
            .error
            .unwrap()
            .contains("`when`: the expression failed")
    );
}

#[test]
fn transformation_makes_the_output_and_its_failure_is_final() {
    let transformed = |rule: &str| {
        let step = Step {
            retries: 3,
            transform: Some(Rule::from(rule)),
            ..Step::new("a", "tool_a")
        };
        drive(&plan_of([step]), json!({"factor": 2}), |_| {
            Ok(json!({"n": 21, "long": "x"}))
        })
    };
    let (outcome, ..) = transformed("{'sum': output.n * input.factor}");
    assert_eq!(outcome.outputs["a"], json!({"sum": 42}));
    let (outcome, calls, _) = transformed("output.missing");
    assert_eq!(calls.len(), 1);
    assert!(
        outcome
            .error
            .unwrap()
            .contains("`transform`: the expression is undefined")
    );
}

#[test]
fn output_and_parameters_are_bounded() {
    let long = "x".repeat(MAX_OUTPUT);
    let plan = plan_of([Step {
        retries: 2,
        ..Step::new("a", "tool_a")
    }]);
    let (outcome, calls, _) = drive(&plan, json!({}), |_| Ok(json!(long)));
    assert_eq!(calls.len(), 1);
    assert!(
        outcome
            .error
            .unwrap()
            .contains("the output is longer than 524288 bytes")
    );

    let twice = json!(["input:a", "input:a", "input:a"]);
    let plan = plan_of([Step::new("a", "tool_a").with("p", twice)]);
    let (outcome, ..) = drive(&plan, json!({"a": "x".repeat(MAX_OUTPUT / 3)}), echo);
    assert!(outcome.error.unwrap().contains("`params.p` is longer"));

    let error = Run::start(plan, json!({"a": long}), "r").unwrap_err();
    assert!(
        error
            .to_string()
            .contains("the input is longer than 262144 bytes")
    );
}

#[test]
fn result_of_a_step_that_is_not_running_is_refused() {
    let mut run = Run::start(plan_of([Step::new("a", "tool_a")]), json!({}), "r").unwrap();
    assert!(run.finished("a", Ok(Value::Null), 1).is_err());
    assert!(run.finished("zzz", Ok(Value::Null), 1).is_err());
    run.next(1);
    run.finished("a", Ok(Value::Null), 1).unwrap();
    let error = run.finished("a", Ok(Value::Null), 1).unwrap_err();
    assert_eq!(error.to_string(), "the step `a` is not running");
}

#[test]
fn cancelled_run_starts_nothing_more() {
    let due = Step {
        retries: 2,
        ..Step::new("due", "tool_a")
    };
    let steps = [
        Step::new("a", "tool_a"),
        due,
        Step::new("b", "tool_b").after(["a"]),
    ];
    let mut run = Run::start(plan_of(steps), json!({}), "r").unwrap();
    run.next(4);
    run.finished("due", broken("once"), 1).unwrap();
    run.cancel();
    assert!(run.next(4).is_empty() && !run.is_over());
    run.finished("a", Err(StepError::last("cancelled")), 2)
        .unwrap();
    assert!(run.is_over());
    let outcome = run.outcome(3);
    assert_eq!(outcome.error.as_deref(), Some("the run was cancelled"));
    assert!(!outcome.success && outcome.outputs.is_empty());
    assert_eq!(outcome.trace.len(), 2);
}

#[test]
fn inputs_are_checked_and_have_defaults() {
    let mut definition = pipeline([Step::new("a", "tool_a").with("p", "input:number")]);
    let input = |required, default| super::super::Input {
        description: None,
        required,
        default,
    };
    let inputs = [
        ("number".to_owned(), input(false, Some(json!(7)))),
        ("name".to_owned(), input(true, None)),
    ];
    definition.inputs = Some(inputs.into());
    let plan = plan(&definition);
    let start =
        |input| Run::start(Arc::clone(&plan), input, "r").map_err(|error| error.to_string());
    let (outcome, calls, _) = drive(&plan, json!({"name": "n"}), echo);
    assert!(outcome.success);
    assert_eq!(calls[0].params["p"], 7);
    assert_eq!(
        start(json!({})).unwrap_err(),
        "the input `name` is missing: pass a value for it"
    );
    let unknown = start(json!({"name": 1, "numbers": 2})).unwrap_err();
    assert_eq!(
        unknown,
        "the pipeline takes no input `numbers`: did you mean `number`?"
    );
    assert_eq!(
        start(json!([1])).unwrap_err(),
        "the input must be an object"
    );
}

#[test]
fn step_that_waits_for_another_attempt_leaves_its_place_to_others() {
    let waits = |name: &str| Step {
        retries: 2,
        retry_delay: 250,
        ..Step::new(name, "tool_a")
    };
    let plan = plan_of([waits("a"), waits("b"), Step::new("c", "tool_a")]);
    let mut run = Run::start(plan, json!({}), "r").unwrap();
    assert_eq!(names(&run.next(2)), ["a", "b"]);
    assert_eq!(run.finished("a", broken("no"), 1), Ok(Some(250)));
    assert_eq!(names(&run.next(2)), ["c"]);
    run.take_events();
    assert_eq!(run.finished("b", broken("no"), 1), Ok(Some(250)));
    assert!(run.next(2).is_empty() && !run.is_over());
    run.wake("a");
    // Neither runs, and neither is woken twice.
    run.wake("c");
    run.wake("zzz");
    assert_eq!(names(&run.next(2)), ["a"]);
    // The attempt begins after the wait.
    let started = Event::StepStarted {
        step: "a".to_owned(),
        attempt: 2,
    };
    assert_eq!(run.take_events().last(), Some(&started));
    run.finished("c", Ok(json!(1)), 1).unwrap();
    run.finished("a", broken("no"), 1).unwrap();
    assert!(run.is_over());
    let ends: Vec<_> = run
        .outcome(0)
        .trace
        .into_iter()
        .map(|step| step.attempt)
        .collect();
    assert_eq!(ends, [2, 1, 1]);
}

#[test]
fn outputs_of_a_run_are_bounded_together() {
    let long = "x".repeat(MAX_OUTPUT - 2);
    let fits = MAX_OUTPUTS / MAX_OUTPUT;
    let steps = |number| (0..number).map(|at| Step::new(format!("s{at}"), "tool_a"));
    let (outcome, ..) = drive(&plan_of(steps(fits)), json!({}), |_| Ok(json!(long)));
    assert!(outcome.success);
    let (outcome, ..) = drive(&plan_of(steps(fits + 1)), json!({}), |_| Ok(json!(long)));
    let error = outcome.error.unwrap();
    let wanted = "the outputs of this run are larger than 8 MiB: select what is needed";
    assert!(error.contains(wanted), "{error}");
}

#[test]
fn value_that_no_log_can_hold_is_refused() {
    let nested = |levels| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    let plan = plan_of([
        Step::new("a", "tool_a").with("p", "input:a"),
        Step::new("b", "tool_a").with("p", json!(["a:"])),
    ]);
    let (outcome, ..) = drive(&plan, json!({ "a": nested(MAX_DEPTH - 1) }), |call| {
        Ok(call.params["p"].clone())
    });
    assert!(outcome.success, "{outcome:?}");
    let input = || json!({ "a": 1 });
    let (outcome, ..) = drive(&plan, input(), |_| Ok(nested(MAX_DEPTH)));
    let error = outcome.error.unwrap();
    assert!(
        error.contains("`params.p` is nested deeper than 64 levels"),
        "{error}"
    );
    let (outcome, _, events) = drive(&plan, input(), |_| Ok(nested(MAX_DEPTH + 1)));
    let error = outcome.error.unwrap();
    assert!(
        error.contains("the output is nested deeper than 64 levels"),
        "{error}"
    );
    let log = serde_json::to_string(&events).unwrap();
    assert!(serde_json::from_str::<Vec<Event>>(&log).is_ok());
    let error = Run::start(plan, json!({ "a": nested(MAX_DEPTH) }), "r").unwrap_err();
    assert!(
        error.to_string().contains("the input is nested deeper"),
        "{error}"
    );
}
