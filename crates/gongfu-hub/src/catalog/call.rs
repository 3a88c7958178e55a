//! The way of a call to its entry, and of a request that is no tool.

use std::sync::Arc;

use gongfu_core::account::Actor;
use gongfu_core::connection::is_for_ui_alone;
use gongfu_core::trace::TraceContext;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::script::is_script;
use super::snapshot::{SEARCH, is_many};
use super::unavailable::unavailable;
use super::{Catalog, Request, is_in_set, is_permitted, library, name};
use crate::call::{Call, Events, Form, Proposal};
use crate::directory::{self, Directory, Target};
use crate::error::ToolError;
use crate::gate::{Answer, Review};
use crate::output::ToolResult;
use crate::profile;
use crate::surface::Operation;
use crate::tool::ToolSpec;

impl Catalog {
    /// Calls a tool: the only way to run one, whatever surface a call comes from.
    ///
    /// # Errors
    /// The tool isn't there, a stage of the gate refuses, or the tool fails.
    pub async fn call(&self, request: Request<'_>) -> Result<ToolResult, ToolError> {
        self.call_as(request, Form::Direct).await
    }

    pub(super) async fn call_as(
        &self,
        request: Request<'_>,
        form: Form,
    ) -> Result<ToolResult, ToolError> {
        let Request {
            profiles,
            name,
            actor,
            ..
        } = request;
        if is_script(name, profiles) {
            // In a box, so that other calls don't carry its state.
            return Box::pin(self.call_script(request, form)).await;
        }
        let entries = self.entries.load_full();
        let directory = || self.directory(&entries, profiles, actor, request.known.as_ref());
        let own = directory::is_own(name).then(directory).flatten();
        if let Some(directory) = &own
            && let Some(target) = Target::of(name, &request.arguments)?
        {
            return self.call_target(request, target, directory).await;
        }
        let space = self.open(actor).await?;
        // Whether there are many skills is asked only where that decides about this tool.
        let is_many = name == SEARCH
            && profile::dialects(profiles).any(|dialect| dialect.gains_search)
            && library(&space).await.is_some_and(|all| is_many(&all));
        let visible = || entries.visible(profiles, &actor.owner, is_many);
        // A user interface calls its tools itself, and by their names.
        let is_offered = |spec: &ToolSpec| form == Form::Direct || !is_for_ui_alone(&spec.ui);
        let in_set =
            visible().filter(|entry| is_in_set(entry.spec(), actor) && is_offered(entry.spec()));
        let found = name::found(in_set, name).map(Arc::clone);
        let Some(entry) = found.or_else(|| own?.entry(name)) else {
            if let Some(error) = unavailable(&space, profiles, actor, name).await {
                return Err(error);
            }
            let permitted = visible().filter(|entry| {
                is_permitted(entry.spec(), actor) && !is_for_ui_alone(&entry.spec().ui)
            });
            return Err(name::unknown(permitted, name));
        };
        let call = Call {
            id: self.next_id(),
            parent: request.parent,
            actor: actor.clone(),
            space,
            entry: Arc::clone(&entry.spec().name),
            arguments: Arc::new(request.arguments),
            is_replay: request.is_replay,
            trace: self.trace_of(entry.spec(), request.trace),
            events: request.events,
            cancel: request.cancel,
            form,
            asked_level: None,
            allowed: None,
        };
        let now = call.space.now();
        let outcome = self
            .gate
            .pass(call, entry.spec(), entry.as_ref(), |call| {
                let entry = Arc::clone(&entry);
                async move { entry.run(&call).await }
            })
            .await;
        let spec = entry.spec();
        let mut loading = profiles.iter().map(|profile| profile.reading().1);
        if let Ok(result) = &outcome
            && request.known.is_some()
            && (spec.is_foreign() || loading.any(|loads| *spec.name == *loads))
            && let Some(directory) = directory()
        {
            directory.note_call(spec, result);
        }
        outcome.map_err(|error| {
            let rendered = entry.failure(&error, now);
            ToolError {
                rendered: rendered.map(Box::new),
                ..error
            }
        })
    }

    /// Calls the tool that a call is for, as if its caller had called it by its name.
    async fn call_target(
        &self,
        request: Request<'_>,
        target: Target,
        directory: &Directory,
    ) -> Result<ToolResult, ToolError> {
        let Target { name, arguments } = target;
        if self.spec(request.profiles, request.actor, &name).is_none() || directory::is_own(&name) {
            return Err(directory.unknown(&name));
        }
        let request = Request {
            name: &name,
            arguments,
            ..request
        };
        // It is no call of `tool_call` again, so this ends.
        Box::pin(self.call_as(request, Form::Indirect)).await
    }

    /// Answers a request that is no tool: a manifest, a resource, a prompt, a person's answer.
    ///
    /// It passes the same gate as a tool and is in the same audit, under its own name.
    ///
    /// # Errors
    /// A stage of the gate refuses, or the operation fails.
    pub async fn operate<O: Operation>(
        &self,
        operation: O,
        actor: &Actor,
    ) -> Result<O::Output, ToolError> {
        self.operate_with(operation, actor, Events::default()).await
    }

    /// The same, with events to the caller.
    ///
    /// # Errors
    /// As [`Self::operate`].
    pub async fn operate_with<O: Operation>(
        &self,
        operation: O,
        actor: &Actor,
        events: Events,
    ) -> Result<O::Output, ToolError> {
        let arguments = match serde_json::to_value(&operation) {
            Ok(Value::Object(arguments)) => arguments,
            _ => Map::new(),
        };
        let spec = O::spec();
        let call = self.direct(spec, arguments, actor, events).await?;
        let run = |call: Call| async move { operation.run(&call).await };
        self.gate.pass(call, spec, &NeverAsks, run).await
    }

    /// A request of a client as a call, for the gate.
    pub(super) async fn direct(
        &self,
        spec: &ToolSpec,
        arguments: Map<String, Value>,
        actor: &Actor,
        events: Events,
    ) -> Result<Call, ToolError> {
        Ok(Call {
            id: self.next_id(),
            parent: None,
            actor: actor.clone(),
            space: self.open(actor).await?,
            entry: Arc::clone(&spec.name),
            arguments: Arc::new(arguments),
            is_replay: false,
            trace: None,
            events,
            cancel: CancellationToken::new(),
            form: Form::Direct,
            asked_level: None,
            allowed: None,
        })
    }

    /// The place in a trace that a call's server is told; other calls tell nobody.
    pub(super) fn trace_of(
        &self,
        spec: &ToolSpec,
        asked: Option<TraceContext>,
    ) -> Option<TraceContext> {
        let told = || (self.current_trace)().or(asked);
        spec.is_foreign().then(told).flatten()
    }
}

/// Operations need no approval: they read, or are a person's own words.
pub(super) struct NeverAsks;

impl Review for NeverAsks {
    fn review<'a>(&'a self, _call: &'a Call) -> Answer<'a, Option<Proposal>> {
        Box::pin(std::future::ready(Ok(None)))
    }
}
