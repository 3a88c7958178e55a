//! A run of a pipeline as a state machine: it says what to call next, and takes what came of it.
//!
//! It starts nothing, waits for nothing and measures no time.

mod log;

use std::mem;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::call::{NotRunning, Ready, StartError, StepError};
use super::event::Event;
use super::outcome::{Outcome, Status, TraceEntry};
use super::plan::{Plan, PlannedStep};
use super::scope::{Scope, StepIdentity};
use super::{ErrorStrategy, MAX_OUTPUT, MAX_OUTPUTS, failed, measured, skipped};
use crate::text::clipped;

pub use log::ResumeError;

/// The longest message of a failed step, in characters.
const MAX_ERROR: usize = 4_000;

/// A run of a pipeline.
///
/// Ask [`Run::next`] for the calls to make, hand each result to [`Run::finished`], wait where that says so, and ask
/// again, until [`Run::is_over`]. After each of them, [`Run::take_events`] has what the log needs.
#[derive(Debug)]
pub struct Run {
    plan: Arc<Plan>,
    id: String,
    input: Value,
    steps: Vec<Progress>,
    outputs: Map<String, Value>,
    /// The length of the outputs in bytes of JSON.
    output_bytes: usize,
    stop: Option<Stop>,
    events: Vec<Event>,
    is_ended: bool,
}

/// The reason why no further step starts.
#[derive(Debug)]
enum Stop {
    Failed(String),
    Cancelled,
}

/// The progress of a step.
#[derive(Debug, Default)]
struct Progress {
    phase: Phase,
    /// The attempts that started.
    attempt: u32,
    spent_ms: u64,
    /// True if it had another attempt when the run stopped.
    was_due: bool,
    /// True if an attempt was running when the process ended.
    was_interrupted: bool,
    /// The error of the last attempt.
    error: Option<String>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Phase {
    #[default]
    Waiting,
    /// An attempt was running when the process ended: it is made again.
    Interrupted,
    /// The last attempt failed, and the wait before another one isn't over.
    Resting,
    /// The last attempt failed, and another one is due.
    Due,
    Running,
    Ended(Status),
}

impl Run {
    /// Starts a run.
    ///
    /// # Errors
    /// The input isn't one that the pipeline takes.
    pub fn start(plan: Arc<Plan>, input: Value, id: &str) -> Result<Self, StartError> {
        let input = plan.input(input).map_err(StartError)?;
        let started = Event::Started {
            run: id.to_owned(),
            pipeline: plan.name.clone(),
            definition: plan.definition.clone(),
            input: input.clone(),
        };
        let mut run = Self::new(plan, input, id);
        run.events.push(started);
        Ok(run)
    }

    fn new(plan: Arc<Plan>, input: Value, id: &str) -> Self {
        Self {
            steps: plan.steps.iter().map(|_| Progress::default()).collect(),
            plan,
            id: id.to_owned(),
            input,
            outputs: Map::new(),
            output_bytes: 0,
            stop: None,
            events: Vec::new(),
            is_ended: false,
        }
    }

    /// The id of the run.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The calls to make now, so that at most `limit` are made at once. Call each of them; the run waits for all.
    pub fn next(&mut self, limit: usize) -> Vec<Ready> {
        let plan = Arc::clone(&self.plan);
        let mut ready = Vec::new();
        for layer in &plan.layers {
            for at in layer {
                if self.stop.is_some() || self.running() >= limit.max(1) {
                    break;
                }
                let Some(step) = plan.steps.get(*at) else {
                    continue;
                };
                ready.extend(self.begin(*at, step));
            }
            // A layer waits for the whole one before it, as its steps may use every output there.
            let is_ended = |at: &usize| {
                let step = self.steps.get(*at);
                step.is_some_and(|step| matches!(step.phase, Phase::Ended(_)))
            };
            if !layer.iter().all(is_ended) {
                break;
            }
        }
        self.end_run();
        ready
    }

    /// Takes the result of a call and its duration. Returns the wait before another attempt in milliseconds, if there is
    /// one; [`Run::wake`] ends it.
    ///
    /// # Errors
    /// The step isn't running; then nothing changes.
    pub fn finished(
        &mut self,
        step: &str,
        result: Result<Value, StepError>,
        duration_ms: u64,
    ) -> Result<Option<u64>, NotRunning> {
        let plan = Arc::clone(&self.plan);
        let unknown = || NotRunning(step.to_owned());
        let at = self.position(step).map_err(|_| unknown())?;
        let planned = plan.steps.get(at).ok_or_else(unknown)?;
        let progress = self.steps.get(at).ok_or_else(unknown)?;
        if progress.phase != Phase::Running {
            return Err(unknown());
        }
        let attempt = progress.attempt;
        let result = result.and_then(|output| self.transformed(planned, progress, output));
        // Neither fails: the step is there, and running.
        let _ = self.spend(at, duration_ms);
        let step = step.to_owned();
        let mut wait = None;
        match result {
            Ok(output) => {
                self.events.push(Event::StepFinished {
                    step,
                    output: output.clone(),
                    duration_ms,
                });
                let _ = self.end(at, Status::Ok, Some(output));
            }
            Err(error) => {
                let again = !error.is_final && attempt < planned.retries && self.stop.is_none();
                let message = clip(&error.message);
                // A cancelled call is not an end: the run can be resumed, and makes it again.
                if !matches!(self.stop, Some(Stop::Cancelled)) {
                    self.events.push(Event::StepFailed {
                        step,
                        error: message.clone(),
                        duration_ms,
                        again,
                    });
                }
                let _ = self.fail(at, message, again);
                wait = (again && planned.retry_delay > 0).then_some(planned.retry_delay);
                if let (Some(_), Some(progress)) = (wait, self.steps.get_mut(at)) {
                    progress.phase = Phase::Resting;
                }
            }
        }
        self.end_run();
        Ok(wait)
    }

    /// Ends the wait of a step before another attempt.
    pub fn wake(&mut self, step: &str) {
        let at = self.position(step).ok();
        let progress = at.and_then(|at| self.steps.get_mut(at));
        if let Some(progress) = progress.filter(|progress| progress.phase == Phase::Resting) {
            progress.phase = Phase::Due;
        }
    }

    /// Cancels the run: no further call is made, and it is over when those that are running have ended.
    pub fn cancel(&mut self) {
        if !self.is_over() && self.stop.is_none() {
            self.stop_for(Stop::Cancelled);
        }
    }

    /// Returns true if nothing runs and nothing is left to do.
    pub fn is_over(&self) -> bool {
        let is_ended = |step: &Progress| matches!(step.phase, Phase::Ended(_));
        let is_done = self.stop.is_some() || self.steps.iter().all(is_ended);
        is_done && self.running() == 0
    }

    /// The number of calls that are being made.
    pub fn running(&self) -> usize {
        let is_running = |step: &&Progress| step.phase == Phase::Running;
        self.steps.iter().filter(is_running).count()
    }

    /// The steps whose calls are being made.
    pub fn running_steps(&self) -> Vec<String> {
        let steps = self.steps.iter().zip(&self.plan.steps);
        let running = steps.filter(|(step, _)| step.phase == Phase::Running);
        running.map(|(_, planned)| planned.name.clone()).collect()
    }

    /// The events since the last time.
    pub fn take_events(&mut self) -> Vec<Event> {
        mem::take(&mut self.events)
    }

    /// The outcome, as far as the run has come.
    pub fn outcome(&self, duration_ms: u64) -> Outcome {
        let layers = self.plan.layers.iter().flatten();
        let trace = layers.filter_map(|at| {
            let (planned, step) = (self.plan.steps.get(*at)?, self.steps.get(*at)?);
            let Phase::Ended(status) = step.phase else {
                return None;
            };
            Some(TraceEntry {
                step: planned.name.clone(),
                status,
                duration_ms: step.spent_ms,
                attempt: step.attempt,
            })
        });
        Outcome {
            success: self.stop.is_none() && self.is_over(),
            pipeline_id: self.plan.name.clone(),
            outputs: self.outputs.clone(),
            trace: trace.collect(),
            duration_ms,
            error: self.error(),
        }
    }

    fn error(&self) -> Option<String> {
        match self.stop.as_ref()? {
            Stop::Failed(error) => Some(error.clone()),
            Stop::Cancelled => Some("the run was cancelled".to_owned()),
        }
    }

    /// Starts a step that is due; `None` if it isn't, or ends without a call.
    fn begin(&mut self, at: usize, step: &PlannedStep) -> Option<Ready> {
        let progress = self.steps.get(at)?;
        let (phase, attempt) = (progress.phase, progress.attempt + 1);
        if !matches!(phase, Phase::Waiting | Phase::Interrupted | Phase::Due) {
            return None;
        }
        let identity = self.identity(step, progress);
        let prepared = self.prepared(step, phase, &identity);
        let params = match prepared {
            Ok(Some(params)) => params,
            Ok(None) => {
                let step = step.name.clone();
                self.events.push(Event::StepSkipped { step });
                let _ = self.end(at, Status::Skipped, Some(skipped()));
                return None;
            }
            Err(error) => {
                let error = clip(&error);
                self.events.push(Event::StepFailed {
                    step: step.name.clone(),
                    error: error.clone(),
                    duration_ms: 0,
                    again: false,
                });
                let _ = self.fail(at, error, false);
                return None;
            }
        };
        self.events.push(Event::StepStarted {
            step: step.name.clone(),
            attempt,
        });
        let progress = self.steps.get_mut(at)?;
        progress.phase = Phase::Running;
        progress.attempt = attempt;
        Some(Ready {
            step: step.name.clone(),
            tool: step.tool.clone(),
            params,
            attempt,
            timeout_ms: step.timeout,
            identity,
        })
    }

    /// The arguments of a step; `None` if its condition doesn't hold.
    fn prepared(
        &self,
        step: &PlannedStep,
        phase: Phase,
        identity: &StepIdentity,
    ) -> Result<Option<Map<String, Value>>, String> {
        let scope = self.scope(step, identity, None);
        // It held when the first attempt started.
        if let (Phase::Waiting, Some(when)) = (phase, &step.when) {
            let holds = when.holds(&scope);
            if !holds.map_err(|why| format!("`when`: {why}"))? {
                return Ok(None);
            }
        }
        let mut params = Map::new();
        for (name, template) in &step.params {
            let value = template.value(&scope);
            let value = value.map_err(|why| format!("`params.{name}`: {why}"))?;
            measured(&value, MAX_OUTPUT).map_err(|why| format!("`params.{name}` {why}"))?;
            params.insert(name.clone(), value);
        }
        Ok(Some(params))
    }

    /// The output of a step, from the result of its tool.
    fn transformed(
        &self,
        step: &PlannedStep,
        progress: &Progress,
        result: Value,
    ) -> Result<Value, StepError> {
        let output = match &step.transform {
            None => result,
            Some(transform) => {
                let identity = self.identity(step, progress);
                let value = transform.value(&self.scope(step, &identity, Some(&result)));
                value.map_err(|why| StepError::last(format!("`transform`: {why}")))?
            }
        };
        let advice = "select what is needed with `transform`";
        let bytes = measured(&output, MAX_OUTPUT)
            .map_err(|why| StepError::last(format!("the output {why}: {advice}")))?;
        if self.output_bytes + bytes > MAX_OUTPUTS {
            let what = "the outputs of this run are larger than";
            let limit = MAX_OUTPUTS / 1024 / 1024;
            return Err(StepError::last(format!("{what} {limit} MiB: {advice}")));
        }
        Ok(output)
    }

    fn identity(&self, step: &PlannedStep, progress: &Progress) -> StepIdentity {
        StepIdentity {
            id: self.id.clone(),
            step: format!("{}/{}", self.id, step.name),
            again: progress.was_interrupted,
        }
    }

    fn scope<'a>(
        &'a self,
        step: &PlannedStep,
        run: &'a StepIdentity,
        output: Option<&'a Value>,
    ) -> Scope<'a> {
        let ancestors = step.ancestors.iter();
        let names = ancestors.filter_map(|at| Some(self.plan.steps.get(*at)?.name.as_str()));
        Scope {
            input: &self.input,
            outputs: &self.outputs,
            visible: names.collect(),
            output,
            run,
        }
    }

    fn position(&self, name: &str) -> Result<usize, String> {
        let position = self.plan.steps.iter().position(|step| step.name == name);
        position.ok_or_else(|| format!("there is no step `{}`", clipped(name, 64, '?')))
    }

    fn progress(&mut self, at: usize) -> Result<&mut Progress, String> {
        let step = self.steps.get_mut(at);
        step.ok_or_else(|| "there is no such step".to_owned())
    }

    fn spend(&mut self, at: usize, duration_ms: u64) -> Result<(), String> {
        let progress = self.progress(at)?;
        progress.spent_ms = progress.spent_ms.saturating_add(duration_ms);
        Ok(())
    }

    fn end(&mut self, at: usize, status: Status, output: Option<Value>) -> Result<(), String> {
        let progress = self.progress(at)?;
        if matches!(progress.phase, Phase::Ended(_)) {
            return Err("a step ends twice".to_owned());
        }
        progress.phase = Phase::Ended(status);
        let name = self.plan.steps.get(at).map(|step| step.name.clone());
        if let (Some(name), Some(output)) = (name, output) {
            // One that is longer is in no log.
            self.output_bytes += measured(&output, MAX_OUTPUT).unwrap_or(MAX_OUTPUT);
            self.outputs.insert(name, output);
        }
        Ok(())
    }

    /// Takes the failure of an attempt.
    fn fail(&mut self, at: usize, error: String, again: bool) -> Result<(), String> {
        let plan = Arc::clone(&self.plan);
        let step = plan.steps.get(at).ok_or("there is no such step")?;
        let progress = self.progress(at)?;
        progress.error = Some(error.clone());
        if again {
            if matches!(progress.phase, Phase::Ended(_)) {
                return Err("a step is tried again after its end".to_owned());
            }
            progress.phase = Phase::Due;
            return Ok(());
        }
        match step.strategy {
            ErrorStrategy::Continue => self.end(at, Status::Failed, Some(failed(&error))),
            ErrorStrategy::Fail => {
                self.end(at, Status::Failed, None)?;
                if self.stop.is_none() {
                    self.stop_for(Stop::Failed(format!(
                        "the step `{}` failed: {error}",
                        step.name
                    )));
                }
                Ok(())
            }
        }
    }

    /// Starts nothing more: a step that was to be tried again ends with its last error.
    fn stop_for(&mut self, stop: Stop) {
        self.stop = Some(stop);
        let due: Vec<(usize, String)> = self
            .steps
            .iter()
            .enumerate()
            .filter(|(_, step)| matches!(step.phase, Phase::Resting | Phase::Due))
            .map(|(at, step)| (at, step.error.clone().unwrap_or_default()))
            .collect();
        for (at, error) in due {
            if let Some(step) = self.steps.get_mut(at) {
                step.was_due = true;
            }
            let _ = self.fail(at, error, false);
        }
    }

    /// Notes the end of the run, once. One that was cancelled has none: it can be resumed.
    fn end_run(&mut self) {
        if self.is_ended || !self.is_over() || matches!(self.stop, Some(Stop::Cancelled)) {
            return;
        }
        self.is_ended = true;
        self.events.push(Event::Ended {
            success: self.stop.is_none(),
            error: self.error(),
        });
    }
}

fn clip(error: &str) -> String {
    error.chars().take(MAX_ERROR).collect()
}
