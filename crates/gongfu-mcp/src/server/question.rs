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
use super::person::Person;
use super::progress::Report;

/// The key of the question in an answer that requires input.
const KEY: &str = "question";
/// The time that a person has for an answer.
const TIMEOUT: Duration = Duration::from_mins(10);
/// The most calls that wait at once; a question of a further one is not asked.
const MAX_WAITING: usize = 256;

/// A question that waits for its answer.
pub(super) struct OpenQuestion {
    question: ElicitRequestParams,
    answer: oneshot::Sender<Option<Value>>,
}

/// The end of a call that asks.
#[derive(Clone)]
pub(super) struct Questions {
    sender: mpsc::Sender<OpenQuestion>,
    person: Person,
}

impl Questions {
    /// The end that asks this person, and the one that is asked.
    pub(super) fn channel(person: Person) -> (Self, mpsc::Receiver<OpenQuestion>) {
        let (sender, receiver) = mpsc::channel(1);
        (Self { sender, person }, receiver)
    }

    /// Asks a question as MCP writes it; `None` where nobody answers.
    pub(super) async fn ask(&self, question: Value) -> Option<Value> {
        let question = self.person.asked(question)?;
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
    /// Its progress, for a client that wants to know it.
    pub(super) report: Option<Report>,
}

/// A request as far as it belongs to a call that runs.
pub(super) enum Continuation {
    /// It answers the question of this call.
    Call(RunningCall),
    /// It leaves the question open, which is asked again.
    Again(InputRequiredResult),
    /// It belongs to none.
    Not,
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
    question: Box<ElicitRequestParams>,
    answer: oneshot::Sender<Option<Value>>,
    /// Ends the waiting; it ends with the waiting itself.
    expiry: JoinSet<()>,
}

/// The calls whose clients were asked, by the secret in the state that a client keeps.
#[derive(Default)]
pub(super) struct WaitingCalls(Mutex<HashMap<String, WaitingCall>>);

impl WaitingCalls {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, WaitingCall>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a call for a while; gives it back where there is no room.
    fn keep(self: &Arc<Self>, id: &str, mut waiting: WaitingCall) -> Result<(), WaitingCall> {
        let mut all = self.lock();
        if all.len() >= MAX_WAITING {
            return Err(waiting);
        }
        let (calls, key) = (Arc::downgrade(self), id.to_owned());
        waiting.expiry.spawn(async move {
            tokio::time::sleep(TIMEOUT).await;
            if let Some(calls) = calls.upgrade() {
                // With it the call ends, if its client never came back.
                let forgotten = calls.lock().remove(&key);
                drop(forgotten);
            }
        });
        all.insert(id.to_owned(), waiting);
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
    let (Some(id), Some(codec)) = (super::caller::new_session(), &server.codec) else {
        let _ = answer.send(None);
        return Err(call);
    };
    let waiting = WaitingCall {
        call,
        owner: owner.clone(),
        question: Box::new(question.clone()),
        answer,
        expiry: JoinSet::new(),
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
    Ok(open(question, state))
}

fn open(question: ElicitRequestParams, state: String) -> InputRequiredResult {
    let question = InputRequest::Elicitation(ElicitRequest::new(question));
    let open = BTreeMap::from([(KEY.to_owned(), question)]);
    InputRequiredResult::new(Some(open), Some(state))
}

/// The call that waits for the answer in a request, which has it now. Without the answer it is asked again: the call
/// must not begin a second time.
///
/// # Errors
/// The answer is malformed, or the call doesn't wait any more.
pub(super) fn resumed(
    server: &Server,
    request: &CallToolRequestParams,
    owner: &Owner,
) -> Result<Continuation, ErrorData> {
    let given = request.input_responses.as_ref();
    let given = given.and_then(|given| given.get(KEY));
    let Some(state) = request.request_state.as_deref() else {
        return match given {
            Some(_) => Err(wrong("requestState", "is missing")),
            None => Ok(Continuation::Not),
        };
    };
    let opened = server.codec.as_ref().and_then(|codec| {
        let opened = codec.open_with(state, bound(request).as_bytes());
        Some(String::from_utf8_lossy(&opened.ok()?).into_owned())
    });
    let Some(id) = opened else {
        return match given {
            Some(_) => {
                let why = "it belongs to another call, or its ten minutes are over";
                Err(wrong("requestState", why))
            }
            None => Ok(Continuation::Not),
        };
    };
    let gone = || {
        wrong(
            "requestState",
            "the call doesn't wait for an answer any more",
        )
    };
    let mut all = server.waiting.lock();
    let waiting = all.get(&id).filter(|waiting| waiting.owner == *owner);
    let waiting = waiting.ok_or_else(gone)?;
    let Some(given) = given else {
        return Ok(Continuation::Again(open(
            (*waiting.question).clone(),
            state.to_owned(),
        )));
    };
    let answer = ElicitResult::deserialize(given)
        .map_err(|error| wrong(&format!("inputResponses.{KEY}"), &error.to_string()))?;
    let waiting = all.remove(&id);
    drop(all);
    let WaitingCall {
        call, answer: to, ..
    } = waiting.ok_or_else(gone)?;
    // The call may have ended without waiting for it.
    let _ = to.send(serde_json::to_value(answer).ok());
    Ok(Continuation::Call(call))
}

/// Binds a state to its call, and to this kind of question.
fn bound(request: &CallToolRequestParams) -> String {
    format!("{KEY}\n{}", approval::call(request))
}
