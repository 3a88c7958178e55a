//! The gate: named stages that a call passes in order, then the run, then the audit.
//!
//! Writes and runs fail closed: they don't start when their beginning can't be recorded. Nothing
//! before the approval stage has an effect.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Waker};

use gongfu_core::audit::{self, AuditEntry, Phase};
use gongfu_core::capability::Access;
use gongfu_core::port::PortError;
use gongfu_core::sandbox::{Contact, Input};

use crate::call::{Asking, Call, Event, EventSink, Events, Proposal, Question};
use crate::error::ToolError;
use crate::error_code::ErrorCode;
use crate::problem::Problem;
use crate::tool::ToolSpec;

mod approval;
mod arguments;
mod quota;
mod safety;
mod scope;
mod size;

pub use quota::Quota;

/// An answer of a stage, an entry or an operation.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, ToolError>> + Send + 'a>>;

/// Says whether a call needs a person; must not have an effect.
pub trait Review: Send + Sync {
    /// The action that a person must allow, or `None` when the call may go on by itself.
    fn review<'a>(&'a self, call: &'a Call) -> Answer<'a, Option<Proposal>>;
}

/// A call on its way through the stages.
pub(crate) struct Passage<'a> {
    /// The call.
    pub(crate) call: &'a Call,
    /// The description of the tool or operation.
    pub(crate) spec: &'a ToolSpec,
    /// Says whether the call needs a person.
    pub(crate) review: &'a dyn Review,
    /// The action that a person must allow; set by the safety stage.
    pub(crate) proposal: Option<Proposal>,
    /// Held while the call runs; set by the quota stage.
    pub(crate) permit: Option<quota::Permit>,
}

/// A stage of the gate.
pub(crate) trait Stage: Send + Sync {
    /// Its name in the audit.
    fn name(&self) -> &'static str;

    /// Lets the call pass, or refuses it.
    fn check<'a>(&'a self, passage: &'a mut Passage<'_>) -> Answer<'a, ()>;
}

/// The stages in order. The surface authenticates before: a call has an actor and its space.
fn stages(quota: Quota) -> Vec<Box<dyn Stage>> {
    vec![
        Box::new(scope::Scope),
        Box::new(size::Size),
        Box::new(arguments::Arguments),
        Box::new(safety::SafetyLevel),
        Box::new(approval::Approval),
        Box::new(quota),
    ]
}

/// Sees every audit entry, for metrics.
pub type AuditObserver = Arc<dyn Fn(&AuditEntry) + Send + Sync>;

/// The gate.
pub(crate) struct Gate {
    stages: Vec<Box<dyn Stage>>,
    observer: Option<AuditObserver>,
}

impl Gate {
    pub(crate) fn new(quota: Quota, observer: Option<AuditObserver>) -> Self {
        Self {
            stages: stages(quota),
            observer,
        }
    }

    /// Passes a call through all stages, runs it, and records it. Cancelling the call drops the run.
    ///
    /// # Errors
    /// A stage refuses, the audit of a change can't be written, or the run fails.
    pub(crate) async fn pass<T, R>(
        &self,
        mut call: Call,
        spec: &ToolSpec,
        review: &dyn Review,
        run: impl FnOnce(Call) -> R,
    ) -> Result<T, ToolError>
    where
        R: Future<Output = Result<T, ToolError>>,
    {
        let started = call.space.now();
        let contacts = Arc::new(ContactRecorder::new(call.events));
        call.events = Events::new(Arc::clone(&contacts) as Arc<dyn EventSink>);
        let entry = AuditEntry {
            at: started,
            call: call.id,
            parent: call.parent,
            phase: Phase::Begin,
            tool: spec.name.to_string(),
            access: spec.access,
            role: call.actor.role,
            client: call.actor.client.clone(),
            outcome: "ok",
            refused_by: None,
            arguments: String::new(),
            milliseconds: None,
            hosts: Vec::new(),
        };
        let mut recording = Recording {
            gate: self,
            call: call.clone(),
            contacts,
            entry,
            has_begun: false,
        };
        let outcome = {
            let cancel = call.cancel.clone();
            let passing = self.checked(call, spec, review, &mut recording, run);
            tokio::select! {
                biased;
                outcome = passing => outcome,
                () = cancel.cancelled() => Err(Problem::Cancelled.error()),
            }
        };
        let error = outcome.as_ref().err();
        recording.end(error.map(|error| (error.code(), error.refused_by)));
        recording.has_begun = false;
        if let Err(error) = self.record(&recording.call, &recording.entry).await {
            tracing::warn!(tool = %spec.name, %error, "a call can't be recorded in the audit");
        }
        outcome
    }

    async fn checked<T, R>(
        &self,
        call: Call,
        spec: &ToolSpec,
        review: &dyn Review,
        recording: &mut Recording<'_>,
        run: impl FnOnce(Call) -> R,
    ) -> Result<T, ToolError>
    where
        R: Future<Output = Result<T, ToolError>>,
    {
        let mut passage = Passage {
            call: &call,
            spec,
            review,
            proposal: None,
            permit: None,
        };
        for stage in &self.stages {
            stage.check(&mut passage).await.map_err(|error| ToolError {
                refused_by: Some(stage.name()),
                ..error
            })?;
        }
        let _permit = passage.permit.take();
        // Only now, when the arguments are known not to be huge.
        recording.entry.arguments = call.digest().to_string();
        if spec.access != Access::Read {
            let recorded = self.record(&call, &recording.entry).await;
            recorded.map_err(|error| ToolError {
                refused_by: Some("audit"),
                ..Problem::broken("the audit", &error).error()
            })?;
            recording.has_begun = true;
        }
        run(call).await
    }

    async fn record(&self, call: &Call, entry: &AuditEntry) -> Result<(), PortError> {
        if let Some(observer) = &self.observer {
            observer(entry);
        }
        audit::append(call.space.records(), entry).await
    }
}

/// The audit of a call. If the call is dropped after its beginning was recorded, as when the server stops, its end
/// is recorded as well.
struct Recording<'a> {
    gate: &'a Gate,
    call: Call,
    contacts: Arc<ContactRecorder>,
    entry: AuditEntry,
    /// Its beginning is in the audit, and its end isn't.
    has_begun: bool,
}

impl Recording<'_> {
    /// Makes the entry that of the end, with the code of an error and the stage that refused the call.
    fn end(&mut self, error: Option<(ErrorCode, Option<&'static str>)>) {
        let entry = &mut self.entry;
        let now = self.call.space.now();
        entry.phase = Phase::End;
        entry.hosts = self.contacts.take();
        entry.milliseconds = u64::try_from(now.0.saturating_sub(entry.at.0)).ok();
        entry.at = now;
        if let Some((code, refused_by)) = error {
            entry.outcome = code.as_str();
            entry.refused_by = refused_by;
        }
    }
}

impl Drop for Recording<'_> {
    fn drop(&mut self) {
        if self.has_begun {
            self.end(Some((Problem::Cancelled.code(), None)));
            let recording = pin!(self.gate.record(&self.call, &self.entry));
            // Nobody waits for it: a store that isn't ready at once misses the entry.
            let _ = recording.poll(&mut Context::from_waker(Waker::noop()));
        }
    }
}

/// Passes events on, and keeps the contacts for the audit.
struct ContactRecorder {
    events: Events,
    contacts: Mutex<Vec<Contact>>,
}

impl ContactRecorder {
    fn new(events: Events) -> Self {
        Self {
            events,
            contacts: Mutex::default(),
        }
    }

    fn take(&self) -> Vec<Contact> {
        let mut contacts = self.contacts.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut contacts)
    }
}

impl EventSink for ContactRecorder {
    fn event(&self, event: Event<'_>) {
        if let Event::Contacts(more) = event {
            let mut contacts = self.contacts.lock().unwrap_or_else(PoisonError::into_inner);
            contacts.extend_from_slice(more);
        }
        self.events.send(event);
    }

    fn ask<'a>(&'a self, question: &'a Question) -> Asking<'a> {
        Box::pin(self.events.ask(question))
    }

    fn input(&self) -> Input {
        self.events.input()
    }
}

#[cfg(test)]
mod tests;
