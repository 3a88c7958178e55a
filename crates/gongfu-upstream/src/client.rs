//! Our side of the protocol: what a server may ask of us and tell us.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use gongfu_core::connection::UI_EXTENSION;
use gongfu_core::port::{Asker, Progress, ProgressListener};
use rmcp::ClientHandler;
use rmcp::model::{
    ClientConfig, ConstString as _, CustomRequest, CustomResult, ElicitRequestParams, ElicitResult,
    ElicitationAction, ElicitationCapability, ElicitationCreateRequestMethod, ErrorCode, ErrorData,
    FormElicitationCapability, Implementation, ProgressNotificationParam, ProgressToken,
    UrlElicitationCapability,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use serde_json::{Map, Value};
use tokio::sync::Notify;

/// The time in which a server may still ask about a call that was given up.
const LATE: Duration = Duration::from_secs(10);
/// The media type of a user interface.
const UI_MEDIA_TYPE: &str = "text/html;profile=mcp-app";

/// The handler of one connection. A server that asks for a model or for folders is refused; one that asks a person a
/// question is answered where it is clear whose call it is about.
#[derive(Clone, Default)]
pub(crate) struct Client {
    state: Arc<ClientState>,
}

#[derive(Default)]
struct ClientState {
    /// The listeners of calls that go on.
    listeners: Mutex<HashMap<ProgressToken, ProgressListener>>,
    /// The people behind the calls, by number.
    askers: Mutex<BTreeMap<u64, Caller>>,
    /// Tells that the list of tools changed.
    tools: Notify,
    /// Tells that the list of resources changed, and with it perhaps the skills.
    resources: Notify,
    /// Tells that the list of prompts changed.
    prompts: Notify,
}

/// A listener of progress, until it is dropped.
pub(crate) struct Listening {
    state: Arc<ClientState>,
    token: ProgressToken,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.state.listeners().remove(&self.token);
    }
}

/// The person behind a call.
enum Caller {
    /// They can be asked.
    There(Asker),
    /// They left before the server answered, which may still ask about their call, until this moment.
    Gone(Instant),
}

/// A person who can be asked, until it is dropped.
pub(crate) struct Asking {
    state: Arc<ClientState>,
    number: u64,
    /// True once the server has answered: it asks no more.
    pub(crate) is_answered: bool,
}

impl Drop for Asking {
    fn drop(&mut self) {
        let mut askers = self.state.askers();
        askers.remove(&self.number);
        if !self.is_answered {
            askers.insert(self.number, Caller::Gone(Instant::now() + LATE));
        }
    }
}

impl ClientState {
    fn askers(&self) -> MutexGuard<'_, BTreeMap<u64, Caller>> {
        self.askers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listeners(&self) -> MutexGuard<'_, HashMap<ProgressToken, ProgressListener>> {
        self.listeners
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Client {
    /// Passes the progress of a call on.
    pub(crate) fn listen(&self, token: ProgressToken, listener: ProgressListener) -> Listening {
        self.state.listeners().insert(token.clone(), listener);
        Listening {
            state: Arc::clone(&self.state),
            token,
        }
    }

    /// Lets the person behind a call be asked.
    pub(crate) fn asking(&self, asker: Asker) -> Asking {
        let mut askers = self.state.askers();
        let number = askers.last_key_value().map_or(0, |(last, _)| last + 1);
        askers.insert(number, Caller::There(asker));
        drop(askers);
        Asking {
            state: Arc::clone(&self.state),
            number,
            is_answered: false,
        }
    }

    /// The person behind the only call that goes on.
    fn only_asker(&self) -> Option<Asker> {
        let mut askers = self.state.askers();
        askers
            .retain(|_, caller| !matches!(caller, Caller::Gone(until) if *until < Instant::now()));
        let mut all = askers.values();
        match (all.next(), all.next()) {
            (Some(Caller::There(asker)), None) => Some(Arc::clone(asker)),
            _ => None,
        }
    }

    /// Waits until the list of tools changed.
    pub(crate) async fn tools_changed(&self) {
        self.state.tools.notified().await;
    }

    /// Tells that the list of tools changed.
    pub(crate) fn tools_change(&self) {
        self.state.tools.notify_one();
    }

    /// Waits until the list of resources changed.
    pub(crate) async fn resources_changed(&self) {
        self.state.resources.notified().await;
    }

    /// Tells that the list of resources changed.
    pub(crate) fn resources_change(&self) {
        self.state.resources.notify_one();
    }

    /// Waits until the list of prompts changed.
    pub(crate) async fn prompts_changed(&self) {
        self.state.prompts.notified().await;
    }

    /// Tells that the list of prompts changed.
    pub(crate) fn prompts_change(&self) {
        self.state.prompts.notify_one();
    }
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let mut info = ClientConfig::default();
        info.client_info = Implementation::new("gongfu", env!("CARGO_PKG_VERSION"));
        let elicitation = ElicitationCapability::new()
            .with_form(FormElicitationCapability::default())
            .with_url(UrlElicitationCapability::default());
        info.capabilities.elicitation = Some(elicitation);
        // Some servers offer their user interfaces only to clients that know them. Those that don't get no less.
        let types = Value::Array(vec![UI_MEDIA_TYPE.into()]);
        let ui = Map::from_iter([("mimeTypes".to_owned(), types)]);
        let extensions = info.capabilities.extensions.get_or_insert_default();
        extensions.insert(UI_EXTENSION.to_owned(), ui);
        info
    }

    async fn create_elicitation(
        &self,
        question: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let Some(asker) = self.only_asker() else {
            let why = "it is not clear whose call the question is about: there are several, or one was given up just now";
            return Err(ErrorData::invalid_request(why, None));
        };
        let answer = answer_question(&question, &asker).await;
        Ok(answer.unwrap_or_else(|| ElicitResult::new(ElicitationAction::Cancel)))
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleClient>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method == ElicitationCreateRequestMethod::VALUE {
            let why = "the question can't be read: its message or its schema is malformed";
            return Err(ErrorData::invalid_params(why, None));
        }
        Err(ErrorData::new(
            ErrorCode::METHOD_NOT_FOUND,
            request.method,
            None,
        ))
    }

    async fn on_progress(
        &self,
        progress: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let listener = self
            .state
            .listeners()
            .get(&progress.progress_token)
            .cloned();
        if let Some(listener) = listener {
            listener(Progress {
                done: progress.progress,
                total: progress.total,
                message: progress.message,
            });
        }
    }

    async fn on_prompt_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.prompts_change();
    }

    async fn on_resource_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.resources_change();
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.tools_change();
    }
}

/// Asks a person; `None` where nobody can be asked. A field that the person left out has its default (SEP-1034).
pub(crate) async fn answer_question(
    question: &ElicitRequestParams,
    asker: &Asker,
) -> Option<ElicitResult> {
    let question = serde_json::to_value(question).ok()?;
    let fields = question.pointer("/requestedSchema/properties").cloned();
    let answer = asker(question).await.ok()??;
    let mut answer: ElicitResult = serde_json::from_value(answer).ok()?;
    if let (ElicitationAction::Accept, Some(Value::Object(fields))) = (&answer.action, fields) {
        let content = answer
            .content
            .get_or_insert_with(|| Value::Object(Map::new()));
        let content = content.as_object_mut()?;
        for (name, field) in fields {
            if let (false, Some(default)) = (content.contains_key(&name), field.get("default")) {
                content.insert(name, default.clone());
            }
        }
    }
    Some(answer)
}
