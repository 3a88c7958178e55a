//! A call of a tool: its progress, its questions, its end.

use std::collections::BTreeMap;
use std::time::Duration;

use gongfu_core::port::{Asker, ProgressListener, ServerAnswer, ServerCall};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, InputRequest, InputRequiredResult,
    InputResponses, RequestParamsMeta as _, ServerResult,
};
use rmcp::service::{PeerRequestOptions, ServiceError};

use crate::client::answer_question;
use crate::convert;
use crate::request::SentRequest;
use crate::session::Session;
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
        let asking = self.service.service().asking(call.ask.clone());
        let mut round = params.clone();
        for _ in 0..MAX_ROUNDS {
            match self.round(round, &call.progress).await? {
                ServerResult::CallToolResult(result) => return Ok(convert::answer(result)),
                ServerResult::InputRequiredResult(required) => {
                    let responses = responses(&required, &call.ask).await?;
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
        drop(asking);
        let why = format!("it asked for more input {MAX_ROUNDS} times");
        Err(CallError::Unanswered(Trouble::Other(why)))
    }

    async fn round(
        &self,
        params: CallToolRequestParams,
        progress: &ProgressListener,
    ) -> Result<ServerResult, CallError> {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let options = PeerRequestOptions::with_timeout(CALL_TIMEOUT)
            .reset_timeout_on_progress()
            .with_max_total_timeout(LONGEST_CALL);
        let sent = match SentRequest::new(self.service.peer(), request, options).await {
            Ok(sent) => sent,
            Err(error) => return Err(CallError::Unanswered(self.failure(&error).await)),
        };
        let client = self.service.service();
        let _listening = client.listen(sent.progress_token(), progress.clone());
        let answer = sent.answer().await;
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
