//! Runs that are killed, resumed, damaged or held by another process.

use gongfu_core::port::LogHold;

use super::*;

const STEPS: &str = "
- { name: a, tool: echo, params: { x: 1 } }
- { name: off, tool: echo, when: 'false' }
- { name: b, tool: fail, retries: 2, errorStrategy: continue }
- { name: c, tool: echo, dependsOn: [b], params: { x: 'a:x', again: 'expr:run.again' } }
- { name: d, tool: echo, dependsOn: [c], params: { x: 'c:x' } }
";

/// A new process over the log of a run as a killed one left it.
fn killed(run: &str, lines: &[Vec<u8>]) -> Fixture {
    let fixture = fixture();
    let log = RecordKey::new(format!("pipelines/{run}")).unwrap();
    for line in lines {
        now(fixture.space.records.append(&log, line)).unwrap();
    }
    fixture
}

fn one_by_one(request: TaskRequest) -> TaskRequest {
    TaskRequest {
        parallel: 1,
        ..request
    }
}

#[tokio::test]
async fn run_that_is_killed_after_any_entry_continues_to_the_same_end() {
    let whole = fixture();
    let request = one_by_one(start(STEPS, json!({})));
    let expected = whole.run(request).await.unwrap();
    assert!(expected.outcome.success, "{expected:?}");
    let lines = whole.log(&expected.run);
    for kept in 1..lines.len() {
        let killed = killed(&expected.run, &lines[..kept]);
        let request = one_by_one(resume(&expected.run));
        let result = killed.run(request).await.unwrap();
        let place = format!("killed after entry {kept}");
        assert_eq!(trace(&result), trace(&expected), "{place}");
        let event = |line: &Vec<u8>| serde_json::from_slice::<Event>(line).unwrap();
        let mut outputs = result.outcome.outputs.clone();
        let again = outputs["c"]["again"].take();
        let mut past = lines[..kept].iter().map(event);
        let (mut starts, mut ends) = (false, false);
        for event in past.by_ref() {
            starts |= matches!(&event, Event::StepStarted { step, .. } if step == "c");
            ends |= matches!(&event, Event::StepFinished { step, .. } if step == "c");
        }
        assert_eq!(again, starts && !ends, "{place}");
        let mut wanted = expected.outcome.outputs.clone();
        wanted["c"]["again"].take();
        assert_eq!(outputs, wanted, "{place}");
        // What was finished isn't called again.
        let is_finished = |line: &&Vec<u8>| matches!(event(line), Event::StepFinished { .. });
        let finished = lines[..kept].iter().filter(is_finished).count();
        let echoed = killed.echoed.lock().unwrap().len();
        assert_eq!(echoed, 3 - finished, "{place}");
    }
}

#[tokio::test]
async fn line_that_a_crash_cut_is_left_out_and_any_other_one_refused() {
    let whole = fixture();
    let run = whole.steps(STEPS).await.run;
    let lines = whole.log(&run);
    let cut = |at: usize| lines[at][..lines[at].len() / 2].to_vec();
    let torn = [lines[..4].to_vec(), vec![cut(4)]].concat();
    let fixture = killed(&run, &torn);
    assert!(fixture.run(resume(&run)).await.unwrap().outcome.success);
    // The cut line is in the middle now; another crash comes later.
    let longer = fixture.log(&run);
    let fixture = killed(&run, &longer[..longer.len() - 2]);
    assert!(fixture.run(resume(&run)).await.unwrap().outcome.success);

    let mut damaged = lines[..6].to_vec();
    damaged[3] = cut(3);
    let mut missing = lines[..6].to_vec();
    missing.remove(0);
    for (lines, wanted) in [
        (damaged, "line 4 of its log can't be read"),
        (vec![cut(0)], "line 1 of its log can't be read"),
        (missing, "must pass"),
    ] {
        let error = killed(&run, &lines).run(resume(&run)).await.unwrap_err();
        assert!(error.to_string().contains(wanted), "{error}");
    }
}

#[tokio::test]
async fn run_that_is_not_there_or_done_is_refused() {
    let fixture = fixture();
    for id in ["20260101-000000-abcdef", "", "../x", "a/b", "A"] {
        let error = fixture.run(resume(id)).await.unwrap_err();
        assert!(error.to_string().contains("there is no run"), "{error}");
    }
    let run = fixture.steps("- { name: a, tool: echo }").await.run;
    let error = fixture.run(resume(&run)).await.unwrap_err();
    assert!(error.to_string().contains("succeeded already"), "{error}");
}

#[tokio::test]
async fn failed_run_continues_where_it_failed() {
    let fixture = fixture();
    let steps = "
- { name: a, tool: echo }
- { name: b, tool: flaky, dependsOn: [a] }
- { name: c, tool: echo, dependsOn: [b] }
";
    let first = fixture.steps(steps).await;
    let error = first.outcome.error.as_deref();
    assert_eq!(error, Some("the step `b` failed: answer 0"));
    assert_eq!(fixture.runs().await[0].success, Some(false));
    let second = fixture.run(resume(&first.run)).await.unwrap();
    let error = second.outcome.error.as_deref();
    assert_eq!(error, Some("the step `b` failed: answer 1"));
    let third = fixture.run(resume(&first.run)).await.unwrap();
    assert_eq!(trace(&third), ["a Ok 1", "b Ok 1", "c Ok 1"]);
    assert_eq!(fixture.echoed.lock().unwrap().len(), 2);
    assert_eq!(fixture.runs().await[0].success, Some(true));
}

/// Tries to hold the log of the run when its step `c` starts.
struct Other(Arc<MemorySpace>);

impl CallEvents for Other {}

impl TaskEvents for Other {
    fn event(&self, event: TaskEvent) {
        if matches!(event, TaskEvent::Logged(Event::StepStarted { step, .. }) if step == "c") {
            assert!(hold(&self.0).is_none());
        }
    }
}

fn hold(space: &MemorySpace) -> Option<LogHold> {
    let prefix = RecordKey::new("pipeline-run").unwrap();
    let (key, _) = now(space.records.list(&prefix)).unwrap().remove(0);
    let log = key.as_str().replace("pipeline-run", "pipelines");
    now(space.records.hold_log(&RecordKey::new(log).unwrap())).unwrap()
}

#[tokio::test]
async fn run_that_is_running_cannot_be_resumed() {
    let fixture = fixture();
    let events = Arc::new(Other(Arc::clone(&fixture.space)));
    let request = TaskRequest {
        events,
        ..start(STEPS, json!({}))
    };
    let result = fixture.run(request).await.unwrap();
    let held = hold(&fixture.space).unwrap();
    let resume = || {
        TaskRequest::new(TaskInput::Resume {
            run: result.run.clone(),
            pipeline: None,
        })
    };
    let error = fixture.run(resume()).await.unwrap_err().to_string();
    assert!(error.contains("is running"), "{error}");
    drop(held);
    let error = fixture.run(resume()).await.unwrap_err().to_string();
    assert!(!error.contains("is running"), "{error}");
}
