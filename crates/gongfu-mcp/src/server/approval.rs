//! Asking the person at the client about a command that needs one: in 2026-07-28 by an answer that wants
//! more (SEP-2322), in the older revisions by a request to the client.
//!
//! Whoever can't be asked is told how a person allows it at the command line.

use std::collections::BTreeMap;
use std::time::Duration;

use gongfu_core::skill::Digest;
use gongfu_hub::surface::approval::{ApprovalAnswer, Said};
use gongfu_hub::{Problem, ToolError};
use rmcp::model::{
    CallToolRequestParams, ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult,
    ElicitationAction, ErrorData, InputRequest, InputRequiredResult, ProtocolVersion,
    RequestStateCodec, SealOptions, ServerRequest,
};
use rmcp::service::{PeerRequestOptions, RequestContext, RoleServer};
use serde::Deserialize as _;
use serde_json::{Value, json};

use super::Server;
use crate::wire;

/// What the question is called in an answer that wants more.
const KEY: &str = "approval";
/// How long a person may take.
const PATIENCE: Duration = Duration::from_mins(10);

/// What a person is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Question {
    /// What the call is known by.
    id: String,
    message: String,
}

/// What the seal of states is made with; nothing where the system has no chance to give.
pub(super) fn codec() -> Option<RequestStateCodec> {
    let mut key = [0; RequestStateCodec::MIN_KEY_LENGTH];
    getrandom::fill(&mut key).ok()?;
    RequestStateCodec::try_new(key).ok()
}

/// How the person at a client is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// By an answer that wants more.
    Rounds,
    /// By a request.
    Request,
}

/// How the person at this client is reached, if they are.
pub(super) fn way(context: &RequestContext<RoleServer>) -> Option<Way> {
    let declared = context.client_capabilities()?.elicitation?;
    // Whoever names no kind has forms.
    let has_forms = declared.form.is_some() || declared.url.is_none();
    let is_new = context
        .protocol_version()
        .is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
    has_forms.then_some(if is_new { Way::Rounds } else { Way::Request })
}

/// What a person has to be asked, if that is why a call failed. What is too long to be read isn't asked.
pub(super) fn question(tool: &str, error: &ToolError) -> Option<Question> {
    let Problem::CommandWaits { reason, id, what } = &error.problem else {
        return None;
    };
    let what = what.as_ref()?;
    Some(Question {
        id: id.clone(),
        message: format!(
            "{tool} wants to run this command:\n\n{what}\n\nYou are asked because {reason}."
        ),
    })
}

impl Question {
    fn form(&self) -> Result<ElicitRequest, ErrorData> {
        let schema = json!({
            "type": "object",
            "properties": {
                "scope": {
                    "type": "string",
                    "title": "Allow it",
                    "description": "To not allow it, decline.",
                    "oneOf": [
                        { "const": "once", "title": "once" },
                        { "const": "always", "title": "always, with the same arguments" },
                    ],
                    "default": "once",
                },
            },
            "required": ["scope"],
        });
        let schema = serde_json::from_value(schema)
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        Ok(ElicitRequest::new(
            ElicitRequestParams::FormElicitationParams {
                meta: None,
                message: self.message.clone(),
                requested_schema: schema,
            },
        ))
    }

    /// The answer that wants a person's word; `None` where no state can be sealed.
    pub(super) fn round(
        &self,
        server: &Server,
        request: &CallToolRequestParams,
    ) -> Result<Option<InputRequiredResult>, ErrorData> {
        let Some(codec) = &server.codec else {
            return Ok(None);
        };
        let call = call(request);
        let options = SealOptions::new()
            .associated_data(call.as_bytes())
            .ttl(PATIENCE);
        let state = codec.seal_with(self.id.as_bytes(), &options);
        let open = BTreeMap::from([(KEY.to_owned(), InputRequest::Elicitation(self.form()?))]);
        Ok(Some(InputRequiredResult::new(Some(open), Some(state))))
    }

    /// Asks by a request; answers whether a person said something, which is then written down.
    pub(super) async fn ask(
        &self,
        server: &Server,
        context: &RequestContext<RoleServer>,
    ) -> Result<bool, ErrorData> {
        let request = ServerRequest::ElicitRequest(self.form()?);
        let options = PeerRequestOptions::with_timeout(PATIENCE);
        let sent = context.peer.send_request_with_option(request, options);
        let Ok(handle) = sent.await else {
            return Ok(false);
        };
        tokio::select! {
            // Nobody waits for the call any more.
            () = context.ct.cancelled() => Ok(false),
            answer = handle.await_response() => match answer {
                Ok(ClientResult::ElicitResult(answer)) => said(server, context, &self.id, &answer).await,
                // It could not, or the person took too long.
                _ => Ok(false),
            },
        }
    }
}

/// Takes what a person answered in an earlier round; answers whether they were asked then.
///
/// # Errors
/// The answer isn't one, or is to a question that wasn't asked about this call.
pub(super) async fn taken(
    server: &Server,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<bool, ErrorData> {
    let given = request.input_responses.as_ref();
    let Some(given) = given.and_then(|given| given.get(KEY)) else {
        return Ok(false);
    };
    let state = request.request_state.as_deref();
    let state = state.ok_or_else(|| wrong("requestState", "is missing"))?;
    let codec = server.codec.as_ref();
    let codec = codec.ok_or_else(|| wrong("requestState", "was not given by this server"))?;
    let opened = codec.open_with(state, call(request).as_bytes());
    let opened = opened.map_err(|error| {
        let why = format!("{error}; call again without it and without `inputResponses`");
        wrong("requestState", &why)
    })?;
    let answer = ElicitResult::deserialize(given)
        .map_err(|error| wrong(&format!("inputResponses.{KEY}"), &error.to_string()))?;
    said(server, context, &String::from_utf8_lossy(&opened), &answer).await?;
    Ok(true)
}

/// Writes down what a person said; answers whether they said anything.
async fn said(
    server: &Server,
    context: &RequestContext<RoleServer>,
    id: &str,
    answer: &ElicitResult,
) -> Result<bool, ErrorData> {
    let scope = || answer.content.as_ref()?.get("scope")?.as_str();
    let said = match (&answer.action, scope()) {
        (ElicitationAction::Accept, Some("once")) => Said::Once,
        (ElicitationAction::Accept, Some("always")) => Said::Always,
        (ElicitationAction::Accept, _) => {
            return Err(wrong("scope", "must be `once` or `always`"));
        }
        (ElicitationAction::Decline, _) => Said::No,
        // Closed without a word, as kinds of answers that are not known yet.
        _ => return Ok(false),
    };
    let approval = id.to_owned();
    let written = server
        .operate(ApprovalAnswer { approval, said }, context)
        .await;
    written.map_err(|error| wire::refused(&error))
}

/// What a question is about: it is valid for this call alone.
fn call(request: &CallToolRequestParams) -> String {
    let arguments = json!(request.arguments);
    let digest = Digest::of(arguments.to_string().as_bytes());
    format!("tools/call\n{}\n{digest}", request.name)
}

fn wrong(field: &str, what: &str) -> ErrorData {
    ErrorData::invalid_params(format!("`{field}`: {what}"), None::<Value>)
}
