//! The gate: named stages that a call passes in order, then the run, then the audit.
//!
//! What writes or executes fails closed: it doesn't run when its beginning can't be written down.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gongfu_core::account::Actor;
use gongfu_core::capability::Access;
use gongfu_core::port::{AuditEntry, AuditLog, Clock, Phase};
use gongfu_core::sandbox::Contact;
use gongfu_core::skill::Digest;
use serde_json::{Map, Value};

use crate::error::ToolError;
use crate::problem::Problem;
use crate::tool::{ToolResult, ToolSpec};

mod arguments;
mod role;
mod safety;
mod size;

/// A tool that runs.
pub type Running<'a> = Pin<Box<dyn Future<Output = Result<ToolResult, ToolError>> + Send + 'a>>;

/// The hosts that what a call runs asked for: left by the tool, and taken into the audit.
#[derive(Debug, Clone, Default)]
pub struct Hosts(Arc<Mutex<Vec<Contact>>>);

impl Hosts {
    /// Adds some.
    pub(crate) fn leave(&self, more: &[Contact]) {
        self.held().extend_from_slice(more);
    }

    fn take(&self) -> Vec<Contact> {
        std::mem::take(&mut self.held())
    }

    fn held(&self) -> MutexGuard<'_, Vec<Contact>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call on its way through the gate.
pub struct Call<'a> {
    /// Who calls.
    pub actor: &'a Actor,
    /// What is called.
    pub spec: &'a ToolSpec,
    /// With what.
    pub arguments: &'a Map<String, Value>,
    /// The hosts that what it runs asked for, once it has ended.
    pub hosts: &'a Hosts,
}

/// A stage of the gate.
pub(crate) trait Stage: Send + Sync {
    /// What the audit calls it.
    fn name(&self) -> &'static str;
    /// Lets the call pass, or says why not.
    fn check(&self, call: &Call<'_>) -> Result<(), Problem>;
}

/// The stages in order; the cheap ones that look at who calls come before those that look at what
/// they say.
fn stages() -> Vec<Box<dyn Stage>> {
    vec![
        Box::new(role::Role),
        Box::new(safety::SafetyLevel::default()),
        Box::new(size::Size),
        Box::new(arguments::Arguments),
    ]
}

/// The gate.
pub struct Gate {
    stages: Vec<Box<dyn Stage>>,
    audit: Arc<dyn AuditLog>,
    clock: Arc<dyn Clock>,
    calls: AtomicU64,
}

impl Gate {
    /// A gate with every stage.
    pub fn new(audit: Arc<dyn AuditLog>, clock: Arc<dyn Clock>) -> Self {
        Self {
            stages: stages(),
            audit,
            clock,
            calls: AtomicU64::new(0),
        }
    }

    /// Passes a call through all stages, runs it and writes it down.
    ///
    /// # Errors
    /// A stage refuses, the audit of a change can't be written, or the tool fails.
    pub async fn pass<T, R>(&self, call: &Call<'_>, run: impl FnOnce() -> R) -> Result<T, ToolError>
    where
        R: Future<Output = Result<T, ToolError>>,
    {
        let started = self.clock.now();
        let mut entry = AuditEntry {
            at: started,
            call: self.calls.fetch_add(1, Ordering::Relaxed),
            phase: Phase::Begin,
            tool: call.spec.name.to_owned(),
            access: call.spec.access,
            role: call.actor.role,
            client: call.actor.client.clone(),
            outcome: "ok",
            refused_by: None,
            arguments: String::new(),
            milliseconds: None,
            hosts: Vec::new(),
        };
        let outcome = self.checked(call, &mut entry, run).await;
        entry.phase = Phase::End;
        entry.hosts = call.hosts.take();
        entry.at = self.clock.now();
        entry.milliseconds = u64::try_from(entry.at.0.saturating_sub(started.0)).ok();
        if let Err(error) = &outcome {
            entry.outcome = error.code().as_str();
            entry.refused_by = error.refused_by;
        }
        if let Err(error) = self.audit.record(&call.actor.owner, &entry).await {
            tracing::warn!(tool = call.spec.name, %error, "a call isn't in the audit");
        }
        outcome
    }

    async fn checked<T, R>(
        &self,
        call: &Call<'_>,
        entry: &mut AuditEntry,
        run: impl FnOnce() -> R,
    ) -> Result<T, ToolError>
    where
        R: Future<Output = Result<T, ToolError>>,
    {
        if let Some(error) = self.refused(call) {
            return Err(error);
        }
        // Only now, when they are known not to be huge.
        entry.arguments = digest(call.arguments);
        self.begin(call, entry).await?;
        run().await
    }

    fn refused(&self, call: &Call<'_>) -> Option<ToolError> {
        self.stages.iter().find_map(|stage| {
            stage.check(call).err().map(|problem| ToolError {
                problem,
                refused_by: Some(stage.name()),
                rendered: None,
            })
        })
    }

    async fn begin(&self, call: &Call<'_>, entry: &AuditEntry) -> Result<(), ToolError> {
        if call.spec.access == Access::Read {
            return Ok(());
        }
        let written = self.audit.record(&call.actor.owner, entry).await;
        written.map_err(|error| ToolError {
            problem: Problem::broken("the audit", &error),
            refused_by: Some("audit"),
            rendered: None,
        })
    }
}

/// Arguments may be private: the audit holds their digest.
fn digest(arguments: &Map<String, Value>) -> String {
    let text = serde_json::to_vec(arguments).unwrap_or_default();
    Digest::of(&text).to_string()
}

#[cfg(test)]
mod tests;
