//! Questions of other servers in the middle of a call, for clients of 2026-07-28: the answer to the call requires input
//! (SEP-2322), and the call waits until its client comes back with that.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gongfu_core::account::Owner;
use gongfu_hub::{ToolError, ToolResult};
use rmcp::model::{
    CallToolRequestParams, ElicitRequest, ElicitRequestParams, ElicitResult, ErrorData,
    InputRequest, InputRequiredResult, SealOptions,
};
use serde::Deserialize as _;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::Server;
use super::approval::{self, wrong};

/// The key of the question in an answer that requires input.
const KEY: &str = "question";
/// The time that a person has for an answer.
const TIMEOUT: Duration = Duration::from_mins(10);
/// The most calls that wait at once; a question of a further one is not asked.
const MAX_WAITING: usize = 256;

/// A question that waits for its answer.
pub(super) struct OpenQuestion {
    question: Value,
    answer: oneshot::Sender<Option<Value>>,
}

/// The end of a call that asks.
#[derive(Clone)]
pub(super) struct Questions {
    sender: mpsc::Sender<OpenQuestion>,
    has_urls: bool,
}

impl Questions {
    /// The end that asks, of a client that shows pages or doesn't, and the one that is asked.
    pub(super) fn channel(has_urls: bool) -> (Self, mpsc::Receiver<OpenQuestion>) {
        let (sender, receiver) = mpsc::channel(1);
        (Self { sender, has_urls }, receiver)
    }

    /// Asks a question as MCP writes it; `None` where nobody answers.
    pub(super) async fn ask(&self, question: Value) -> Option<Value> {
        let is_url = question.get("mode").and_then(Value::as_str) == Some("url");
        if is_url && !self.has_urls {
            return None;
        }
        let (answer, answered) = oneshot::channel();
        let asked = OpenQuestion { question, answer };
        self.sender.send(asked).await.ok()?;
        answered.await.ok()?
    }
}

/// The result of a call.
pub(super) type Outcome = Result<ToolResult, ToolError>;

/// A call that runs, and the questions that its server asks.
pub(super) struct RunningCall {
    pub(super) running: JoinSet<Outcome>,
    pub(super) cancel: CancellationToken,
    pub(super) questions: Option<mpsc::Receiver<OpenQuestion>>,
}

/// The next question; waits for ever where there will be none.
pub(super) async fn next_question(
    questions: &mut Option<mpsc::Receiver<OpenQuestion>>,
) -> OpenQuestion {
    if let Some(questions) = questions
        && let Some(question) = questions.recv().await
    {
        return question;
    }
    std::future::pending().await
}

/// A call whose client was asked.
struct WaitingCall {
    call: RunningCall,
    owner: Owner,
    answer: oneshot::Sender<Option<Value>>,
}

/// The calls whose clients were asked, by the secret in the state that a client keeps.
#[derive(Default)]
pub(super) struct WaitingCalls(Mutex<HashMap<String, WaitingCall>>);

impl WaitingCalls {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, WaitingCall>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a call for a while; gives it back where there is no room.
    fn keep(self: &Arc<Self>, id: &str, waiting: WaitingCall) -> Result<(), WaitingCall> {
        let mut all = self.lock();
        if all.len() >= MAX_WAITING {
            return Err(waiting);
        }
        all.insert(id.to_owned(), waiting);
        drop(all);
        let (calls, id) = (Arc::downgrade(self), id.to_owned());
        tokio::spawn(async move {
            tokio::time::sleep(TIMEOUT).await;
            if let Some(calls) = calls.upgrade() {
                // With it the call ends, if its client never came back.
                let forgotten = calls.lock().remove(&id);
                drop(forgotten);
            }
        });
        Ok(())
    }
}

/// The answer that requires input for a call that asks; gives the call back where its client can't be asked.
pub(super) fn round(
    asked: OpenQuestion,
    call: RunningCall,
    server: &Server,
    request: &CallToolRequestParams,
    owner: &Owner,
) -> Result<InputRequiredResult, RunningCall> {
    let OpenQuestion { question, answer } = asked;
    let form = serde_json::from_value::<ElicitRequestParams>(question);
    let id = super::caller::new_session();
    let (Ok(form), Some(id), Some(codec)) = (form, id, &server.codec) else {
        let _ = answer.send(None);
        return Err(call);
    };
    let waiting = WaitingCall {
        call,
        owner: owner.clone(),
        answer,
    };
    if let Err(waiting) = server.waiting.keep(&id, waiting) {
        let _ = waiting.answer.send(None);
        return Err(waiting.call);
    }
    let bound = bound(request);
    let options = SealOptions::new()
        .associated_data(bound.as_bytes())
        .ttl(TIMEOUT);
    let state = codec.seal_with(id.as_bytes(), &options);
    let form = InputRequest::Elicitation(ElicitRequest::new(form));
    let open = BTreeMap::from([(KEY.to_owned(), form)]);
    Ok(InputRequiredResult::new(Some(open), Some(state)))
}

/// The call that waits for the answer in a request, which has it now; `None` for a request without one.
///
/// # Errors
/// The answer is malformed, or the call doesn't wait any more.
pub(super) fn resumed(
    server: &Server,
    request: &CallToolRequestParams,
    owner: &Owner,
) -> Result<Option<RunningCall>, ErrorData> {
    let given = request.input_responses.as_ref();
    let Some(given) = given.and_then(|given| given.get(KEY)) else {
        return Ok(None);
    };
    let state = request.request_state.as_deref();
    let state = state.ok_or_else(|| wrong("requestState", "is missing"))?;
    let answer = ElicitResult::deserialize(given)
        .map_err(|error| wrong(&format!("inputResponses.{KEY}"), &error.to_string()))?;
    let gone = || {
        let why =
            "the call doesn't wait any more; call again without it and without `inputResponses`";
        wrong("requestState", why)
    };
    let codec = server.codec.as_ref().ok_or_else(gone)?;
    let id = codec
        .open_with(state, bound(request).as_bytes())
        .map_err(|_| gone())?;
    let id = String::from_utf8_lossy(&id).into_owned();
    let waiting = {
        let mut all = server.waiting.lock();
        let is_theirs = all.get(&id).is_some_and(|waiting| waiting.owner == *owner);
        if is_theirs { all.remove(&id) } else { None }
    };
    let WaitingCall {
        call, answer: to, ..
    } = waiting.ok_or_else(gone)?;
    // The call may have ended without waiting for it.
    let _ = to.send(serde_json::to_value(answer).ok());
    Ok(Some(call))
}

/// Binds a state to its call, and to this kind of question.
fn bound(request: &CallToolRequestParams) -> String {
    format!("{KEY}\n{}", approval::call(request))
}
