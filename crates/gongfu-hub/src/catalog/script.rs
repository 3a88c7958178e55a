//! Scripts: the calls that they make are calls of their own, under the one that runs the script.

use std::sync::Arc;

use gongfu_core::account::Actor;
use gongfu_core::trace::TraceContext;
use tokio_util::sync::CancellationToken;

use super::{Catalog, Request};
use crate::call::{Call, CallId, Events, Form};
use crate::error::ToolError;
use crate::gate::Answer;
use crate::output::ToolResult;
use crate::profile::{self, Profile};
use crate::script::{self, Caller, ScriptCall, ScriptReview};

/// Returns true if a name is that of the tool that runs scripts, for callers who see the tools of other servers.
pub(super) fn is_script(name: &str, profiles: &[Profile]) -> bool {
    name == script::NAME && profile::shows_foreign(profiles)
}

impl Catalog {
    /// Runs a script, which may call what its caller may.
    pub(super) async fn call_script(
        &self,
        request: Request<'_>,
        form: Form,
    ) -> Result<ToolResult, ToolError> {
        let spec = script::spec();
        let (profiles, actor) = (request.profiles, request.actor);
        let call = Call {
            id: self.next_id(),
            parent: request.parent,
            actor: actor.clone(),
            space: self.open(actor).await?,
            entry: Arc::clone(&spec.name),
            arguments: Arc::new(request.arguments),
            is_replay: request.is_replay,
            trace: request.trace,
            events: request.events,
            cancel: request.cancel,
            form,
            asked_level: None,
            allowed: None,
        };
        let run = |call: Call| async move {
            let caller = ScriptCaller {
                catalog: self,
                profiles,
                actor,
                parent: call.id,
                trace: call.trace.as_ref(),
            };
            script::run(&call, &caller).await
        };
        self.gate.pass(call, &spec, &ScriptReview, run).await
    }
}

/// The caller of a script, for its calls.
struct ScriptCaller<'a> {
    catalog: &'a Catalog,
    profiles: &'a [Profile],
    actor: &'a Actor,
    parent: CallId,
    trace: Option<&'a TraceContext>,
}

impl ScriptCaller<'_> {
    /// The tool that a name in Python is for: there, a dash can't be written.
    fn meant(&self, name: String) -> String {
        let entries = self.catalog.entries.load();
        let names = entries.visible(self.profiles, &self.actor.owner, false);
        let names = names.map(|entry| &entry.spec().name);
        let mut meant = names.filter(|known| known.replace('-', "_") == name);
        match (meant.next(), meant.next()) {
            (Some(only), None) => only.to_string(),
            _ => name,
        }
    }
}

impl Caller for ScriptCaller<'_> {
    fn call(
        &self,
        call: ScriptCall,
        events: Events,
        cancel: CancellationToken,
    ) -> Answer<'_, ToolResult> {
        Box::pin(async move {
            let name = self.meant(call.name);
            let request = Request {
                parent: Some(self.parent),
                trace: self.trace.cloned(),
                events,
                cancel,
                // The model doesn't see what a script calls, so nothing becomes known by it.
                ..Request::new(self.profiles, &name, call.arguments, self.actor)
            };
            self.catalog.call_as(request, Form::Scripted).await
        })
    }
}
