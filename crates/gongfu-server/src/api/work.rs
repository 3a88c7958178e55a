//! Work of the agent that runs beside its request, and is stopped once nobody waits for it.

use std::sync::Arc;

use gongfu_core::account::Actor;
use gongfu_core::port::{ModelError, ModelErrorKind};
use gongfu_hub::ToolError;
use gongfu_hub::agent::{ChatRequest, ChatResult, TurnEvent};
use http::header::ACCEPT;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::Instrument as _;

use super::context::Context;
use super::endpoint::Answer;
use super::event_stream::{self, EventSource, event};
use crate::problem::{Problem, Words};

/// The media type of server-sent events.
const EVENTS: &str = "text/event-stream";

/// The name and the data of an event; `None` for one that isn't sent.
type EventJson = Option<(&'static str, Value)>;

/// Work with events and a result. Dropped, it is cancelled, and its log says so.
pub(super) struct Work<E, R> {
    events: mpsc::UnboundedReceiver<E>,
    /// Cancelled once the work is at its end, though something may still hold a sender.
    ended: CancellationToken,
    task: JoinHandle<Result<R, ToolError>>,
    _guard: DropGuard,
}

/// A turn.
pub(super) type TurnWork = Work<TurnEvent, ChatResult>;

impl TurnWork {
    /// Starts a turn of a caller.
    ///
    /// # Errors
    /// The agent isn't for the callers of this server, or they can't choose this model: those of a server with accounts
    /// have the models of its settings, not whatever its keys reach.
    pub(super) fn chat(
        context: &Context,
        request: ChatRequest,
        actor: Actor,
    ) -> Result<Self, Problem> {
        let agent = Arc::clone(context.agent()?);
        if let Some(model) = &request.model
            && context.accounts().is_ok()
            && !agent.models().contains(model)
        {
            let why = format!("`{model}` is not a model of this server: GET /v1/models lists them");
            let error = ModelError::new(ModelErrorKind::NotConfigured, why);
            let problem = gongfu_hub::Problem::Model {
                model: model.clone(),
                error,
                session: None,
            };
            return Err(problem.error().into());
        }
        Ok(Self::start(context, |events, cancel| async move {
            let request = ChatRequest {
                events: Arc::new(events),
                cancel,
                ..request
            };
            agent.chat(request, &actor).await
        }))
    }
}

impl<E, R: Send + 'static> Work<E, R> {
    /// Starts work that sends its events there, and ends where it is cancelled.
    pub(super) fn start<F>(
        context: &Context,
        work: impl FnOnce(mpsc::UnboundedSender<E>, CancellationToken) -> F,
    ) -> Self
    where
        F: Future<Output = Result<R, ToolError>> + Send + 'static,
    {
        let cancel = context.api.turns.child_token();
        let (sender, events) = mpsc::unbounded_channel();
        let work = work(sender, cancel.clone());
        let ended = CancellationToken::new();
        let end = ended.clone().drop_guard();
        let task = async move {
            let _end = end;
            work.await
        };
        Self {
            events,
            ended,
            task: tokio::spawn(task.in_current_span()),
            _guard: cancel.drop_guard(),
        }
    }

    /// The next event; `None` after the last one. No event is lost if the future is dropped.
    pub(super) async fn next(&mut self) -> Option<E> {
        tokio::select! {
            biased;
            Some(event) = self.events.recv() => Some(event),
            () = self.ended.cancelled() => self.events.try_recv().ok(),
        }
    }

    /// Waits for the result, once. It isn't lost if the future is dropped.
    ///
    /// # Errors
    /// The work failed.
    pub(super) async fn end(&mut self) -> Result<R, Problem> {
        while self.next().await.is_some() {}
        match (&mut self.task).await {
            Ok(ended) => Ok(ended?),
            Err(_) => Err(Problem::Fault),
        }
    }
}

impl<E, R> Work<E, R>
where
    E: Send + 'static,
    R: Serialize + JsonSchema + Send + 'static,
{
    /// The answer to a request: the result, or where it asks for them the events, and the result as the last one, with
    /// this name.
    ///
    /// # Errors
    /// The work failed before there was an event.
    pub(super) async fn answer(
        mut self,
        context: &Context,
        result: &'static str,
        json: fn(&E) -> EventJson,
    ) -> Result<Answer<R>, Problem> {
        let accepted = context.header(ACCEPT).unwrap_or_default();
        if !accepted.contains(EVENTS) {
            return Ok(Answer::from(context.unless_revoked(self.end()).await??));
        }
        let first = context.unless_revoked(self.next()).await?;
        let (first, is_over) = match first {
            Some(first) => (written(json(&first)), false),
            None => (Some(event(Some(result), &self.end().await?)), true),
        };
        let events = WorkEvents {
            work: self,
            result,
            json,
            is_over,
        };
        let first = first.unwrap_or_default();
        Ok(Answer::events(event_stream::body(first, events)))
    }
}

fn written(json: EventJson) -> Option<String> {
    json.map(|(name, data)| event(Some(name), &data))
}

/// The events of work as they are sent.
struct WorkEvents<E, R> {
    work: Work<E, R>,
    result: &'static str,
    json: fn(&E) -> EventJson,
    is_over: bool,
}

impl<E, R> EventSource for WorkEvents<E, R>
where
    E: Send + 'static,
    R: Serialize + Send + 'static,
{
    async fn next(&mut self) -> Option<String> {
        if self.is_over {
            return None;
        }
        while let Some(event) = self.work.next().await {
            let text = written((self.json)(&event));
            if text.is_some() {
                return text;
            }
        }
        let ended = self.work.end().await;
        self.is_over = true;
        Some(match ended {
            Ok(result) => event(Some(self.result), &result),
            Err(problem) => {
                let Words { code, detail, hint } = problem.words();
                let mut error = problem.more();
                error.insert("code".to_owned(), code.into());
                error.insert("message".to_owned(), detail.into());
                error.insert("hint".to_owned(), hint.into());
                event(Some("error"), &error)
            }
        })
    }
}
