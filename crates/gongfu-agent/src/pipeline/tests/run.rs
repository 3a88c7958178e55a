//! Runs: results, retries, timeouts, cancellation, limits and refusals.

use std::time::Duration;

use gongfu_core::pipeline::{Function, Param, Step};
use gongfu_hub::ErrorCode;
use tokio_util::sync::CancellationToken;

use super::*;

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
- { name: c, tool: file_read, dependsOn: [b], params: { pth: x }, retries: 3 }
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
    let pipeline = Pipeline {
        name: "functions".to_owned(),
        steps: vec![
            Step::new("a", "echo").with("n", 21),
            Step::new("b", "echo")
                .after(["a"])
                .with("n", Param::Function(twice)),
        ],
        ..Pipeline::default()
    };
    let input = TaskInput::Start {
        pipeline: pipeline.clone(),
        input: Value::Null,
    };
    let result = fixture.run(TaskRequest::new(input)).await.unwrap();
    assert_eq!(result.outcome.outputs["b"], json!({"n": 42}));
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
