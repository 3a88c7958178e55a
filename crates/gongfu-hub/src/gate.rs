//! The gate: named stages that a call passes in order, then the run, then the audit.
//!
//! Writes and runs fail closed: they don't start when their beginning can't be recorded. Nothing
//! before the approval stage has an effect.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};

use gongfu_core::audit::{self, AuditEntry, Detail, Phase, Summary};
use gongfu_core::capability::{Access, Safety};
use gongfu_core::port::PortError;
use gongfu_core::sandbox::{Contact, Input};
use gongfu_core::skill::Digest;
use serde_json::Value;

use crate::call::{Asking, Call, Elicitation, Event, EventSink, Events, Proposal, Question};
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
pub(crate) use safety::digest as permission_digest;

/// The level at which a person is asked, unless the settings say otherwise.
pub const THRESHOLD: Safety = Safety::High;

/// Stands in the place of a stage that refused a call: its beginning can't be recorded.
const AUDIT: &str = "audit";

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
    /// The digest of the proposal that a person allowed; set by the approval stage.
    pub(crate) allowed: Option<Digest>,
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
    /// The part of the arguments that the audit keeps.
    pub(crate) detail: Detail,
    /// The level at which a person is asked, whatever an entry itself says.
    pub(crate) threshold: Safety,
}

impl Gate {
    pub(crate) fn new(quota: Quota, observer: Option<AuditObserver>) -> Self {
        Self {
            stages: stages(quota),
            observer,
            detail: Detail::default(),
            threshold: THRESHOLD,
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
        let facts = Arc::new(FactRecorder::new(call.events));
        call.events = Events::new(Arc::clone(&facts) as Arc<dyn EventSink>);
        let entry = AuditEntry {
            at: started,
            call: call.id,
            process: std::process::id(),
            parent: call.parent,
            replay: call.is_replay,
            phase: Phase::Begin,
            tool: spec.name.to_string(),
            access: spec.access,
            role: call.actor.role,
            client: call.actor.client.clone(),
            member: call.actor.member.clone(),
            credential: call.actor.permissions.credential.clone(),
            outcome: "ok",
            refused_by: None,
            summary: Summary::default(),
            ended: None,
            arguments: String::new(),
            milliseconds: None,
            waited: None,
            hosts: Vec::new(),
        };
        let mut recording = Recording {
            gate: self,
            call: call.clone(),
            facts,
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
        // The caller was told that the audit can't be written.
        let is_told = error.is_some_and(|error| error.refused_by == Some(AUDIT));
        if let Err(error) = self.record(&recording.call, &recording.entry).await
            && !is_told
        {
            tracing::warn!(tool = %spec.name, %error, "a call isn't in the audit");
        }
        outcome
    }

    async fn checked<T, R>(
        &self,
        mut call: Call,
        spec: &ToolSpec,
        review: &dyn Review,
        recording: &mut Recording<'_>,
        run: impl FnOnce(Call) -> R,
    ) -> Result<T, ToolError>
    where
        R: Future<Output = Result<T, ToolError>>,
    {
        let is_asked = spec.safety >= self.threshold && !call.actor.role.is_person();
        call.asked_level = is_asked.then_some(spec.safety);
        let mut passage = Passage {
            call: &call,
            spec,
            review,
            proposal: None,
            allowed: None,
            permit: None,
        };
        for stage in &self.stages {
            stage.check(&mut passage).await.map_err(|error| ToolError {
                refused_by: Some(stage.name()),
                ..error
            })?;
        }
        let (_permit, allowed) = (passage.permit.take(), passage.allowed);
        call.allowed = allowed;
        let waited = call.space.now().0.saturating_sub(recording.entry.at.0);
        recording.entry.waited = allowed.and_then(|_| u64::try_from(waited).ok());
        // Only now, when the arguments are known not to be huge.
        recording.entry.arguments = call.digest().to_string();
        recording.entry.summary = recording.summary();
        if spec.access != Access::Read {
            let recorded = self.record(&call, &recording.entry).await;
            recorded.map_err(|error| ToolError {
                refused_by: Some(AUDIT),
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
    facts: Arc<FactRecorder>,
    entry: AuditEntry,
    /// Its beginning is in the audit, and its end isn't.
    has_begun: bool,
}

impl Recording<'_> {
    /// The call's subject, as far as it is known and the audit keeps it.
    fn summary(&self) -> Summary {
        if self.gate.detail == Detail::Digest {
            return Summary::default();
        }
        let mut summary = self.facts.lock().summary.clone();
        let text = |name: &str| self.call.arguments.get(name).and_then(Value::as_str);
        if summary.skill.is_none()
            && let Some(skill) = text("skill_name").or_else(|| text("skill"))
        {
            summary.set_skill(skill);
        }
        if let Some(path) = text("path") {
            summary.set_path(path);
        }
        summary
    }

    /// Makes the entry that of the end, with the code of an error and the stage that refused the call.
    fn end(&mut self, error: Option<(ErrorCode, Option<&'static str>)>) {
        let summary = self.summary();
        let facts = std::mem::take(&mut *self.facts.lock());
        let entry = &mut self.entry;
        let now = self.call.space.now();
        entry.phase = Phase::End;
        entry.hosts = facts.contacts;
        entry.ended = facts.ended;
        entry.summary = summary;
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

/// The facts of a call that the audit keeps, as they become known.
#[derive(Default)]
struct Facts {
    summary: Summary,
    ended: Option<String>,
    contacts: Vec<Contact>,
}

/// Passes events on, and keeps what the audit is to say.
struct FactRecorder {
    events: Events,
    facts: Mutex<Facts>,
}

impl FactRecorder {
    fn new(events: Events) -> Self {
        Self {
            events,
            facts: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Facts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EventSink for FactRecorder {
    fn event(&self, event: Event<'_>) {
        match event {
            Event::Output(..) | Event::Progress(_) => {}
            Event::Contacts(more) => self.lock().contacts.extend_from_slice(more),
            Event::Skill(name) => self.lock().summary.set_skill(name),
            Event::Found(names) => self.lock().summary.set_found(names),
            Event::Command(command) => self.lock().summary.set_command(command),
            Event::Ended(how) => self.lock().ended = Some(how.to_owned()),
        }
        self.events.send(event);
    }

    fn ask<'a>(&'a self, question: &'a Question) -> Asking<'a> {
        Box::pin(self.events.ask(question))
    }

    fn elicit(&self, question: Value) -> Elicitation<'_> {
        Box::pin(self.events.elicit(question))
    }

    fn input(&self) -> Input {
        self.events.input()
    }
}

#[cfg(test)]
mod tests;
