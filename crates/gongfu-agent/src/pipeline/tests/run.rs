//! Runs: results, retries, timeouts, cancellation, limits and refusals.

use std::time::Duration;

use gongfu_core::pipeline::{Function, Param, Rule, Step};
use gongfu_hub::ErrorCode;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::pipeline::PARALLEL;

#[tokio::test]
async fn outputs_are_data_or_text_and_pass_from_step_to_step() {
    let fixture = fixture();
    let events = Arc::new(Recorder::default());
    let steps = "
- { name: a, tool: echo, params: { n: 'input:n' } }
- { name: b, tool: say }
- { name: c, tool: echo, params: { a: 'a:n', b: 'b:', step: 'expr:run.step' } }
";
    let request = TaskRequest {
        events: Arc::clone(&events) as _,
        ..start(steps, json!({"n": [1]}))
    };
    let result = fixture.run(request).await.unwrap();
    assert!(result.outcome.success, "{result:?}");
    let step = format!("{}/c", result.run);
    let wanted = json!({"a": [1], "b": "words", "step": step});
    assert_eq!(result.outcome.outputs["c"], wanted);
    assert_eq!(trace(&result), ["a Ok 1", "b Ok 1", "c Ok 1"]);
    // The events are those of the log.
    let log = fixture.log(&result.run);
    let log: Vec<Event> = log
        .iter()
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    assert_eq!(*events.events.lock().unwrap(), log);
    // Each call passed the gate, and so did the run.
    let mut audited = fixture.audited();
    audited.sort();
    audited.dedup();
    assert_eq!(audited, ["agent/task", "echo", "say"]);
    let json = serde_json::to_value(&result).unwrap();
    assert_eq!(json["run"], result.run.as_str());
    assert_eq!(json["pipelineId"], "test");
    let runs = fixture.runs().await;
    assert_eq!(runs[0].id, result.run);
    assert_eq!(runs[0].success, Some(true));
}

/// The time stands still until nothing else can run.
#[tokio::test(start_paused = true)]
async fn layer_runs_at_once_up_to_the_limit() {
    let steps: Vec<String> = (0..10)
        .map(|at| format!("- {{ name: s{at}, tool: echo }}"))
        .collect();
    let steps = steps.join("\n");
    for (parallel, wanted) in [(1, 1), (4, 4), (100, 10)] {
        let fixture = fixture();
        let request = TaskRequest {
            parallel,
            ..start(&steps, Value::Null)
        };
        assert!(fixture.run(request).await.unwrap().outcome.success);
        assert_eq!(fixture.running.1.load(Ordering::SeqCst), wanted);
    }
}

#[tokio::test(start_paused = true)]
async fn failed_call_is_tried_again_after_the_delay() {
    let fixture = fixture();
    let started = tokio::time::Instant::now();
    let result = fixture
        .steps("- { name: a, tool: flaky, retries: 5, retryDelay: 60000 }")
        .await;
    assert_eq!(result.outcome.outputs["a"], "answer 2");
    assert_eq!(trace(&result), ["a Ok 3"]);
    assert!(started.elapsed() >= Duration::from_mins(2));
    // The waits aren't time of the step.
    assert!(result.outcome.trace[0].duration_ms < 60_000);
}

#[tokio::test(start_paused = true)]
async fn steps_that_wait_for_another_attempt_keep_no_other_from_starting() {
    let fixture = fixture();
    let events = Arc::new(Recorder::default());
    let waits = |at| {
        format!(
            "- {{ name: w{at}, tool: fail, retries: 2, retryDelay: 60000, errorStrategy: continue }}\n"
        )
    };
    let steps: String = (0..4).map(waits).collect();
    let request = TaskRequest {
        events: Arc::clone(&events) as _,
        ..start(&format!("{steps}- {{ name: free, tool: say }}"), json!({}))
    };
    assert!(fixture.run(request).await.unwrap().outcome.success);
    let events = events.events.lock().unwrap();
    let at = |wanted: &dyn Fn(&Event) -> bool| events.iter().position(wanted).unwrap();
    let free = at(&|event| matches!(event, Event::StepFinished { .. }));
    let again = at(&|event| matches!(event, Event::StepStarted { attempt: 2, .. }));
    assert!(free < again, "{events:?}");
}

#[tokio::test(start_paused = true)]
async fn call_that_never_ends_is_stopped() {
    let fixture = fixture();
    let result = fixture
        .steps("- { name: a, tool: stall, timeout: 3000, retries: 2 }")
        .await;
    assert_eq!(trace(&result), ["a Failed 2"]);
    let error = result.outcome.error.unwrap();
    let wanted = "the call took longer than 3000 ms and was stopped";
    assert!(error.contains(wanted), "{error}");
    // Without a timeout of its own, a step ends all the same.
    let result = fixture.steps("- { name: a, tool: stall }").await;
    let error = result.outcome.error.unwrap();
    assert!(error.contains("longer than 600000 ms"), "{error}");
}

#[tokio::test]
async fn refused_call_is_not_tried_again() {
    let fixture = fixture();
    let steps = "
- { name: a, tool: refuse, retries: 3, errorStrategy: continue }
- { name: b, tool: fail, retries: 3, errorStrategy: continue }
- { name: c, tool: refuse, dependsOn: [b], params: { a: x }, retries: 3 }
";
    let result = fixture.steps(steps).await;
    assert_eq!(trace(&result), ["a Failed 1", "b Failed 3", "c Failed 1"]);
    let error = result.outcome.error.unwrap();
    assert!(error.contains("the step `c` failed"), "{error}");
    let error = result.outcome.outputs["b"]["_error"].as_str().unwrap();
    assert!(error.contains("it is broken"), "{error}");
}

/// Cancels a run when this step starts.
struct Canceller(&'static str, CancellationToken);

impl CallEvents for Canceller {}

impl TaskEvents for Canceller {
    fn event(&self, event: TaskEvent) {
        if matches!(event, TaskEvent::Logged(Event::StepStarted { step, .. }) if step == self.0) {
            self.1.cancel();
        }
    }
}

fn cancelled(request: TaskRequest, step: &'static str) -> TaskRequest {
    let cancel = CancellationToken::new();
    TaskRequest {
        events: Arc::new(Canceller(step, cancel.clone())),
        cancel,
        ..request
    }
}

#[tokio::test]
async fn cancelled_run_stops_its_calls_and_can_be_resumed() {
    let fixture = fixture();
    let steps = "
- { name: a, tool: echo }
- { name: b, tool: stall, dependsOn: [a] }
- { name: c, tool: echo, dependsOn: [b] }
";
    let request = cancelled(start(steps, json!({})), "b");
    let result = fixture.run(request).await.unwrap();
    let error = result.outcome.error.as_deref();
    assert_eq!(error, Some("the run was cancelled"));
    assert_eq!(trace(&result), ["a Ok 1", "b Failed 1"]);
    assert_eq!(fixture.runs().await[0].success, None);

    let request = cancelled(resume(&result.run), "b");
    let again = fixture.run(request).await.unwrap();
    assert_eq!(again.run, result.run);
    assert_eq!(trace(&again), trace(&result));
    // What finished doesn't run again.
    assert_eq!(fixture.echoed.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn pipeline_that_is_wrong_leaves_no_run() {
    let fixture = fixture();
    for (steps, input, wanted) in [
        (
            "- { name: a, tool: ech }",
            json!({}),
            "step `a`, `tool`: there is no tool `ech`: similar names: `echo`",
        ),
        (
            "- { name: a, tool: echo, params: { stp: 1 } }",
            json!({}),
            "step `a`, `params.stp`: `echo` has no such argument: did you mean `step`?",
        ),
        (
            "- { name: a, tool: echo, dependsOn: [a] }",
            json!({}),
            "it depends on itself",
        ),
        (
            "- { name: a, tool: echo }",
            json!(3),
            "the input must be an object",
        ),
    ] {
        let error = fixture.run(start(steps, input)).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidArgument);
        assert!(error.to_string().contains(wanted), "{error}");
    }
    assert!(fixture.runs().await.is_empty());
    let broken = pipeline("- { name: a, tool: ech }\n- { name: b, tool: failed }");
    let mistakes = fixture.agent.check_task(&broken, &person()).await;
    assert_eq!(mistakes.unwrap_err().len(), 2);
}

#[tokio::test]
async fn definition_in_rust_has_functions() {
    let fixture = fixture();
    let twice = Function::new(|scope| Ok(json!(scope.step("a")?["n"].as_i64().map(|n| n * 2))));
    let sum = Function::new(|scope| {
        let output = scope.output.ok_or("no output")?;
        Ok(json!({"sum": output["n"].as_i64().map(|n| n + 1), "of": scope.input["k"]}))
    });
    let pipeline = Pipeline {
        name: "functions".to_owned(),
        steps: vec![
            Step::new("a", "echo").with("n", 21),
            Step {
                transform: Some(Rule::Function(sum)),
                ..Step::new("c", "echo").with("n", "b:n")
            },
            Step::new("b", "echo")
                .after(["a"])
                .with("n", Param::Function(twice)),
        ],
        ..Pipeline::default()
    };
    let input = TaskInput::Start {
        pipeline: pipeline.clone(),
        input: json!({"k": "v"}),
    };
    let result = fixture.run(TaskRequest::new(input)).await.unwrap();
    assert_eq!(result.outcome.outputs["b"], json!({"n": 42}));
    assert_eq!(result.outcome.outputs["c"], json!({"sum": 43, "of": "v"}));
    // A function can't be written to a log, so that the caller must pass the pipeline to resume it.
    let error = fixture.run(resume(&result.run)).await.unwrap_err();
    assert!(
        error.to_string().contains("the caller must pass"),
        "{error}"
    );
    let (run, pipeline) = (result.run, Some(pipeline));
    let request = TaskRequest::new(TaskInput::Resume { run, pipeline });
    let error = fixture.run(request).await.unwrap_err();
    assert!(error.to_string().contains("succeeded already"), "{error}");
}

/// Numbers that look random, the same in each run (Knuth's linear congruential generator).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

#[tokio::test(start_paused = true)]
async fn random_graphs_run_in_order_and_at_once() {
    let mut numbers = Numbers(7);
    let mut at_once = 0;
    for _ in 0..200 {
        let fixture = fixture();
        let events = Arc::new(Recorder::default());
        let number = numbers.below(12) + 1;
        let parents: Vec<Vec<u64>> = (0..number)
            .map(|at| (0..at).filter(|_| numbers.below(4) == 0).collect())
            .collect();
        let steps = parents.iter().enumerate().rev().map(|(at, parents)| {
            let names: Vec<String> = parents.iter().map(|parent| format!("s{parent}")).collect();
            format!(
                "- {{ name: s{at}, tool: echo, dependsOn: [{}] }}\n",
                names.join(", ")
            )
        });
        let request = TaskRequest {
            events: Arc::clone(&events) as _,
            ..start(&steps.collect::<String>(), json!({}))
        };
        let result = fixture.run(request).await.unwrap();
        assert!(result.outcome.success && result.outcome.outputs.len() == parents.len());
        let mut ended = Vec::new();
        for event in events.events.lock().unwrap().iter() {
            match event {
                Event::StepStarted { step, .. } => {
                    let at: usize = step[1..].parse().unwrap();
                    let waits = |parent: &u64| ended.contains(&format!("s{parent}"));
                    assert!(parents[at].iter().all(waits), "{step} of {parents:?}");
                }
                Event::StepFinished { step, .. } => ended.push(step.clone()),
                _ => {}
            }
        }
        at_once = fixture.running.1.load(Ordering::SeqCst).max(at_once);
    }
    assert!((2..=PARALLEL).contains(&at_once), "{at_once}");
}
