//! The chat model: attempts until one succeeds, within the limits.
//!
//! Knows no wire; the other modules do.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
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
use crate::ollama;
use crate::provider::base_url;
use crate::request;
use crate::retry;
use crate::settings::{Key, Limits, Provider, ProviderKind};

/// The HTTP clients of all models: one for this machine, which no proxy is asked for, and one for the network.
#[derive(Debug)]
pub struct Clients {
    limits: Limits,
    local: OnceLock<Web>,
    remote: OnceLock<Web>,
}

/// An HTTP client, as it is and with the wires of genai.
#[derive(Debug, Clone)]
struct Web {
    plain: reqwest::Client,
    chat: genai::Client,
}

impl Clients {
    /// Clients whose requests have these limits. They are created when they are needed first.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            local: OnceLock::new(),
            remote: OnceLock::new(),
        }
    }

    fn web(&self, base: &Url) -> Result<Web, String> {
        let is_local = matches!(base.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
        let client = if is_local { &self.local } else { &self.remote };
        match client.get() {
            Some(web) => Ok(web.clone()),
            None => web(is_local, &self.limits).map(|web| client.get_or_init(|| web).clone()),
        }
    }

    /// A model of a provider.
    ///
    /// # Errors
    /// The provider has no address or key, or the name of the model can't be one.
    pub fn chat_model(
        &self,
        provider: &Provider,
        model: &str,
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
            web: self.web(&base).map_err(refused)?,
            target: target(provider, &base, model),
            base,
            provider: provider.clone(),
            limits: self.limits,
        }))
    }
}

/// A client without redirects, whose requests all end.
fn web(is_local: bool, limits: &Limits) -> Result<Web, String> {
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
    if is_local {
        builder = builder.no_proxy();
    }
    let client = builder.build();
    let plain =
        client.map_err(|error| format!("can't create the HTTP client: {}", error.without_url()))?;
    let chat = genai::Client::builder().with_reqwest(plain.clone()).build();
    let chat = chat.map_err(|_| "can't create the model client".to_owned())?;
    Ok(Web { plain, chat })
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
    base: Url,
    target: ServiceTarget,
    web: Web,
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
            let longest = self.limits.longest_wait;
            if let Some(asked) = failure
                .wait
                .filter(|wait| failure.is_worth_a_retry && *wait > longest)
            {
                error.message = format!(
                    "{}; it asks to wait {} s, longer than `models.longest_wait_seconds` ({})",
                    error.message,
                    asked.as_secs(),
                    longest.as_secs()
                );
                return Err(error);
            }
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
            kind,
            key: self.provider.key.as_ref().map(Key::expose),
            request,
        };
        let of_error = |error| Failure::of_error(error, context);
        let of_fault = |fault| Failure::of_fault(fault, context);
        let check = |guard: &Guard| match guard.take_error() {
            Some(body) => Err(Failure::of_event(&body, context)),
            None => guard.check().map_err(of_fault),
        };
        let guard = Arc::new(Guard::new(kind));
        let options = request::options(request, &self.provider, &self.limits)
            .with_raw_frame_sink_arc(guard.clone());
        let chat = request::chat(request, kind);
        let opened = self
            .web
            .chat
            .exec_chat_stream(self.target.clone(), chat, Some(&options))
            .await;
        let mut stream = watched(opened.map_err(of_error)?.stream, &guard);
        let mut draft = Draft::default();
        let mut is_first = true;
        while let Some(event) = stream.next().await {
            let arguments = check(&guard)?;
            let event = event.map_err(of_error)?;
            // The model is loaded by now, and nothing of its answer was shown yet.
            if kind == ProviderKind::Ollama && std::mem::take(&mut is_first) {
                let (web, model) = (&self.web.plain, self.target.model.model_name.as_str());
                let said = ollama::overflow(web, &self.base, context.key, model, request).await;
                if let Some(said) = said {
                    return Err(Failure::new(
                        ModelErrorKind::TooLong,
                        format!("{} {said}", context.provider),
                    ));
                }
            }
            match event {
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
                    if let Some(refusal) = guard.take_refusal() {
                        draft.refuse(&refusal, arguments).map_err(of_fault)?;
                        events.text(&refusal);
                    }
                    return draft.finish(end, guard.take_calls()).map_err(of_fault);
                }
                _ => {}
            }
        }
        check(&guard)?;
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
