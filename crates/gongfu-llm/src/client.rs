//! The chat model: attempts until one succeeds, within the limits.
//!
//! Knows no wire; the other modules do.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Poll;

use futures_util::stream::{self, Stream, StreamExt as _};
use genai::adapter::AdapterKind;
use genai::chat::{ChatStream, ChatStreamEvent};
use genai::resolver::{AuthData, Endpoint};
use genai::{Headers, ModelIden, ServiceTarget};
use gongfu_core::port::{
    ChatModel, ModelAnswer, ModelError, ModelErrorKind, ModelEvents, ModelRequest, ModelRetry,
    PendingAnswer,
};
use reqwest::Url;
use reqwest::redirect::Policy;

use crate::answer::Draft;
use crate::failure::{Context, Failure};
use crate::guard::{Fault, Guard};
use crate::provider::base_url;
use crate::request;
use crate::retry;
use crate::settings::{Key, Limits, Provider, ProviderKind};

/// A model of a provider.
///
/// # Errors
/// The provider has no address or key, or the name of the model can't be one.
pub fn chat_model(
    provider: &Provider,
    model: &str,
    limits: Limits,
) -> Result<Arc<dyn ChatModel>, ModelError> {
    let refused = |message: String| ModelError::new(ModelErrorKind::NotConfigured, message);
    // It becomes a part of the address on Gemini's wire, and genai cuts it at `::`.
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "-._:/@+".contains(letter);
    if model.is_empty()
        || !model.chars().all(is_name)
        || model.contains("::")
        || model.contains("..")
    {
        return Err(refused(format!("{model:?} can't be the name of a model")));
    }
    let key = provider.key.as_ref().map_or("", Key::expose);
    if key.chars().any(|letter| !letter.is_ascii_graphic()) {
        let name = &provider.name;
        return Err(refused(format!(
            "the key of provider {name:?} has a space or another character that no key has: copy it again"
        )));
    }
    let base = base_url(provider)?;
    Ok(Arc::new(Model {
        name: format!("{}/{model}", provider.name),
        web: web(&base, &limits).map_err(refused)?,
        target: target(provider, &base, model),
        provider: provider.clone(),
        limits,
    }))
}

/// A client without redirects, whose requests all end.
fn web(base: &Url, limits: &Limits) -> Result<genai::Client, String> {
    // A second provider is refused, and the first one is the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .connect_timeout(limits.connect_timeout)
        // Ends the reading of a body that never pauses, which no timeout around it can.
        .timeout(limits.total_timeout)
        .redirect(Policy::none())
        // A small answer could become a huge one.
        .no_gzip()
        .user_agent(concat!("gongfu/", env!("CARGO_PKG_VERSION")));
    if matches!(base.host_str(), Some("localhost" | "127.0.0.1" | "[::1]")) {
        builder = builder.no_proxy();
    }
    let client = builder.build();
    let client =
        client.map_err(|error| format!("can't create the HTTP client: {}", error.without_url()))?;
    let client = genai::Client::builder().with_reqwest(client).build();
    client.map_err(|_| "can't create the model client".to_owned())
}

fn target(provider: &Provider, base: &Url, model: &str) -> ServiceTarget {
    let adapter = match provider.kind {
        ProviderKind::OpenAi => AdapterKind::OpenAI,
        ProviderKind::Anthropic => AdapterKind::Anthropic,
        ProviderKind::Gemini => AdapterKind::Gemini,
        ProviderKind::Ollama => AdapterKind::Ollama,
    };
    let auth = match (&provider.key, provider.kind) {
        (Some(key), _) => AuthData::from_single(key.expose()),
        // genai insists on a key, which local servers don't have.
        (None, ProviderKind::OpenAi) => AuthData::RequestOverride {
            url: format!("{base}chat/completions"),
            headers: Headers::default(),
        },
        (None, _) => AuthData::from_single("none"),
    };
    ServiceTarget {
        endpoint: Endpoint::from_owned(base.as_str()),
        auth,
        model: ModelIden::new(adapter, model.to_owned()),
    }
}

struct Model {
    name: String,
    provider: Provider,
    limits: Limits,
    target: ServiceTarget,
    web: genai::Client,
}

impl fmt::Debug for Model {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Model").field(&self.name).finish()
    }
}

impl ChatModel for Model {
    fn name(&self) -> &str {
        &self.name
    }

    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
        events: &'a dyn ModelEvents,
    ) -> PendingAnswer<'a> {
        Box::pin(async move {
            let attempts = AtomicU32::new(0);
            let asking = self.try_all(request, events, &attempts);
            let answer = tokio::time::timeout(self.limits.total_timeout, asking).await;
            answer.unwrap_or_else(|_| {
                let seconds = self.limits.total_timeout.as_secs_f64();
                Err(ModelError {
                    attempts: attempts.load(Ordering::Relaxed),
                    ..ModelError::new(
                        ModelErrorKind::Stalled,
                        format!(
                            "{} didn't complete an answer within {seconds} seconds",
                            self.provider.name
                        ),
                    )
                })
            })
        })
    }
}

impl Model {
    async fn try_all(
        &self,
        request: &ModelRequest,
        events: &dyn ModelEvents,
        attempts: &AtomicU32,
    ) -> Result<ModelAnswer, ModelError> {
        loop {
            let attempt = attempts.fetch_add(1, Ordering::Relaxed).saturating_add(1);
            let failure = match self.attempt(request, events).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            let mut error = failure.error;
            error.attempts = attempt;
            if !failure.is_worth_a_retry || attempt >= self.limits.attempts {
                return Err(error);
            }
            let wait = retry::wait(attempt, failure.wait, &self.limits);
            events.retry(&ModelRetry {
                attempt: attempt.saturating_add(1),
                wait_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
                error: &error,
            });
            tokio::time::sleep(wait).await;
        }
    }

    async fn attempt(
        &self,
        request: &ModelRequest,
        events: &dyn ModelEvents,
    ) -> Result<ModelAnswer, Failure> {
        let kind = self.provider.kind;
        let context = Context {
            provider: &self.provider.name,
            key: self.provider.key.as_ref().map(Key::expose),
            request,
        };
        let of_error = |error| Failure::of_error(error, context);
        let of_fault = |fault| Failure::of_fault(fault, context);
        let guard = Arc::new(Guard::new(kind));
        let options = request::options(request, &self.provider, &self.limits)
            .with_raw_frame_sink_arc(guard.clone());
        let chat = request::chat(request, kind);
        let opened = self
            .web
            .exec_chat_stream(self.target.clone(), chat, Some(&options))
            .await;
        let mut stream = watched(opened.map_err(of_error)?.stream, &guard);
        let mut draft = Draft::default();
        while let Some(event) = stream.next().await {
            let arguments = guard.check().map_err(of_fault)?;
            match event.map_err(of_error)? {
                ChatStreamEvent::Chunk(piece) => {
                    draft
                        .add_text(&piece.content, arguments)
                        .map_err(of_fault)?;
                    events.text(&piece.content);
                }
                ChatStreamEvent::ToolCallChunk(piece) if guard.sees_whole_calls() => {
                    draft.count(&piece.tool_call).map_err(of_fault)?;
                }
                ChatStreamEvent::End(end) => {
                    return draft.finish(end, guard.take_calls()).map_err(of_fault);
                }
                _ => {}
            }
        }
        guard.check().map_err(of_fault)?;
        Err(of_fault(Fault {
            kind: ModelErrorKind::Incomplete,
            message: "the answer ended before it was whole",
        }))
    }
}

/// The stream, ended when too many reads complete no frame.
fn watched(
    mut stream: ChatStream,
    guard: &Guard,
) -> impl Stream<Item = genai::Result<ChatStreamEvent>> + Unpin {
    let watched = stream::poll_fn(move |context| match stream.poll_next_unpin(context) {
        Poll::Pending if guard.is_endless() => Poll::Ready(None),
        polled => polled,
    });
    // Polls it only when something arrived, and not each time that the caller looks at this future.
    stream::select_all([watched])
}

#[cfg(test)]
mod tests;
