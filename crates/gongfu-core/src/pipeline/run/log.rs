//! Runs from their logs.

use std::mem;
use std::sync::Arc;

use super::super::event::Event;
use super::super::outcome::Status;
use super::super::plan::Plan;
use super::super::{ErrorStrategy, skipped};
use super::{Phase, Run};

/// The reason why a run can't be resumed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResumeError {
    /// Its log has no beginning.
    #[error("the log of the run is empty: start the pipeline again")]
    Empty,
    /// Nothing is left to do.
    #[error("the run has succeeded already: start the pipeline again")]
    Succeeded,
    /// The pipeline is another one than the one that started.
    #[error("the pipeline was changed after the run started: start it again")]
    Changed,
    /// The log says what can't have happened.
    #[error("the log of the run is damaged at entry {entry}: {what}; start the pipeline again")]
    Damaged {
        /// The number of the entry, from 1.
        entry: usize,
        /// The contradiction.
        what: String,
    },
}

impl Run {
    /// Resumes a run from its log: what finished keeps its output, and what was running runs again. So does a step whose
    /// failure ended the run.
    ///
    /// # Errors
    /// The log is of another pipeline, of a run that succeeded, or damaged.
    pub fn resume(
        plan: Arc<Plan>,
        events: impl IntoIterator<Item = Event>,
    ) -> Result<Self, ResumeError> {
        let mut events = events.into_iter();
        let Some(first) = events.next() else {
            return Err(ResumeError::Empty);
        };
        let Event::Started {
            run,
            pipeline,
            definition,
            input,
        } = first
        else {
            let what = "the first entry isn't the start of the run".to_owned();
            return Err(ResumeError::Damaged { entry: 1, what });
        };
        if pipeline != plan.name || definition != plan.definition {
            return Err(ResumeError::Changed);
        }
        let mut run = Self::new(plan, input, &run);
        for (at, event) in events.enumerate() {
            if let Event::Ended { success: true, .. } = event {
                return Err(ResumeError::Succeeded);
            }
            let entry = at + 2;
            run.replay(event)
                .map_err(|what| ResumeError::Damaged { entry, what })?;
        }
        if run.stop.is_some() {
            // The process ended before it could write that.
            run.end_run();
            run.reopen();
        }
        run.interrupt();
        run.events.push(Event::Resumed {});
        Ok(run)
    }

    /// Applies an event of the log.
    fn replay(&mut self, event: Event) -> Result<(), String> {
        match event {
            Event::StepStarted { step, attempt } => {
                let at = self.position(&step)?;
                let retries = self.plan.steps.get(at).map_or(0, |step| step.retries);
                let progress = self.progress(at)?;
                let is_due = !matches!(progress.phase, Phase::Ended(_) | Phase::Running);
                let is_next = Some(attempt) == progress.attempt.checked_add(1);
                if !is_due || !is_next || attempt > retries {
                    return Err(format!("`{step}` can't start its attempt {attempt} here"));
                }
                progress.attempt = attempt;
                progress.phase = Phase::Running;
            }
            Event::StepSkipped { step } => {
                let at = self.position(&step)?;
                self.end(at, Status::Skipped, Some(skipped()))?;
            }
            Event::StepFinished {
                step,
                output,
                duration_ms,
            } => {
                let at = self.position(&step)?;
                if self.progress(at)?.phase != Phase::Running {
                    return Err(format!("`{step}` ends without having started"));
                }
                self.spend(at, duration_ms)?;
                self.end(at, Status::Ok, Some(output))?;
            }
            Event::StepFailed {
                step,
                error,
                duration_ms,
                again,
            } => {
                let at = self.position(&step)?;
                self.spend(at, duration_ms)?;
                self.fail(at, error, again)?;
            }
            Event::Started { .. } => return Err("the run starts twice".to_owned()),
            Event::Resumed {} => self.interrupt(),
            Event::Ended { .. } => self.reopen(),
        }
        Ok(())
    }

    /// Takes back what was running when the process ended.
    fn interrupt(&mut self) {
        for step in &mut self.steps {
            if step.phase == Phase::Running {
                step.phase = Phase::Interrupted;
                step.was_interrupted = true;
                step.attempt = step.attempt.saturating_sub(1);
            }
        }
    }

    /// Takes back the end of a run that failed: the steps that had to succeed are tried again from their first attempt,
    /// and those that the end kept from another attempt have it.
    fn reopen(&mut self) {
        self.stop = None;
        self.is_ended = false;
        for (step, planned) in self.steps.iter_mut().zip(&self.plan.steps) {
            if mem::take(&mut step.was_due) {
                step.phase = Phase::Due;
                self.outputs.shift_remove(&planned.name);
            } else if step.phase == Phase::Ended(Status::Failed)
                && planned.strategy == ErrorStrategy::Fail
            {
                step.phase = Phase::Waiting;
                step.attempt = 0;
            }
        }
    }
}
