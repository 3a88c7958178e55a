//! A call of a tool: its progress, its questions, its end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use gongfu_core::port::{Asker, ProgressListener, ServerAnswer, ServerCall};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, InputRequest, InputRequiredResult,
    InputResponses, RequestParamsMeta as _, ServerResult,
};
use rmcp::service::ServiceError;

use crate::client::answer_question;
use crate::convert;
use crate::request::SentRequest;
use crate::session::Session;
use crate::silence::Silence;
use crate::trouble::{Trouble, words};

/// The time without an answer or progress after which a call ends, and the longest call.
const CALL_TIMEOUT: Duration = Duration::from_mins(5);
const LONGEST_CALL: Duration = Duration::from_hours(1);
/// The times that a server may ask for more input in one call.
const MAX_ROUNDS: usize = 16;

/// A call without a result of its tool.
#[derive(Debug)]
pub(crate) enum CallError {
    /// The server answered with an error.
    Refused(String),
    /// The server gave no answer.
    Unanswered(Trouble),
}

impl Session {
    /// Calls a tool.
    ///
    /// # Errors
    /// The server refuses the call, or gives no answer.
    pub(crate) async fn call(&self, call: ServerCall) -> Result<ServerAnswer, CallError> {
        let mut params = CallToolRequestParams::new(call.tool).with_arguments(call.arguments);
        if let Some(trace) = call.trace {
            // SEP-414
            params.set_traceparent(&trace.parent);
            if let Some(state) = trace.state {
                params.set_tracestate(&state);
            }
        }
        let silence = Silence::new();
        let ask = silence.asker(call.ask);
        let progress = silence.listener(call.progress);
        let mut asking = self.service.service().asking(Arc::clone(&ask));
        let mut round = params.clone();
        for _ in 0..MAX_ROUNDS {
            let answer = self.round(round, &progress, &silence).await;
            let is_open = matches!(
                answer,
                Err(CallError::Unanswered(_)) | Ok(ServerResult::InputRequiredResult(_))
            );
            asking.is_answered = !is_open;
            match answer? {
                ServerResult::CallToolResult(result) => return Ok(convert::answer(result)),
                ServerResult::InputRequiredResult(required) => {
                    let responses = responses(&required, &ask).await?;
                    round = params.clone();
                    round.input_responses = Some(responses);
                    round.request_state = required.request_state;
                }
                _ => {
                    let why = "its answer is not that of a tool".to_owned();
                    return Err(CallError::Unanswered(Trouble::Other(why)));
                }
            }
        }
        asking.is_answered = true;
        let why = format!("it asked for more input {MAX_ROUNDS} times");
        Err(CallError::Unanswered(Trouble::Other(why)))
    }

    async fn round(
        &self,
        params: CallToolRequestParams,
        progress: &ProgressListener,
        silence: &Silence,
    ) -> Result<ServerResult, CallError> {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let sent = match SentRequest::new(self.service.peer(), request).await {
            Ok(sent) => sent,
            Err(error) => return Err(CallError::Unanswered(self.failure(&error).await)),
        };
        let client = self.service.service();
        let _listening = client.listen(sent.progress_token(), progress.clone());
        let late = |why: &str| CallError::Unanswered(Trouble::Other(why.to_owned()));
        let answer = tokio::select! {
            answer = sent.answer() => answer,
            () = silence.lasts(CALL_TIMEOUT) => {
                return Err(late("it gave no answer and no progress for five minutes"));
            }
            () = tokio::time::sleep(LONGEST_CALL) => {
                return Err(late("it gave no answer for an hour"));
            }
        };
        match answer {
            Ok(answer) => Ok(answer),
            Err(ServiceError::McpError(error)) => Err(CallError::Refused(words(&error.message))),
            Err(error) => Err(CallError::Unanswered(self.failure(&error).await)),
        }
    }
}

/// The answers to everything that a server needs for a call.
async fn responses(
    required: &InputRequiredResult,
    ask: &Asker,
) -> Result<InputResponses, CallError> {
    let mut responses = BTreeMap::new();
    for (key, request) in required.input_requests.iter().flatten() {
        let InputRequest::Elicitation(question) = request else {
            let why = "the server asks for a model or folders, which gongfu doesn't give";
            return Err(CallError::Refused(why.to_owned()));
        };
        let Some(answer) = answer_question(&question.params, ask).await else {
            let why = "the server asks a question, and nobody can be asked here";
            return Err(CallError::Refused(why.to_owned()));
        };
        let answer = serde_json::to_value(answer).unwrap_or_default();
        responses.insert(key.clone(), answer);
    }
    Ok(responses)
}
