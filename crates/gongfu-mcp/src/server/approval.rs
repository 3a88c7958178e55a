//! Asks the person at the client about a call that needs one: in 2026-07-28 by an answer that requires
//! input (SEP-2322), in the older revisions by a request to the client.
//!
//! A person who can't be asked is told how to allow the call at the command line.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use gongfu_core::account::Actor;
use gongfu_core::approval::AnswerTarget;
use gongfu_core::skill::Digest;
use gongfu_hub::call::Question;
use gongfu_hub::surface::approval::{ApprovalAnswer, Reply};
use gongfu_hub::{Catalog, Problem, ToolError};
use rmcp::model::{
    CallToolRequestParams, ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult,
    ElicitationAction, ErrorData, InputRequest, InputRequiredResult, RequestStateCodec,
    SealOptions, ServerRequest,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestContext, RoleServer};
use serde::Deserialize as _;
use serde_json::{Value, json};

use super::Server;
use super::person::Person;
use crate::wire;

/// The key of the question in an answer that requires input.
const KEY: &str = "approval";
/// The field of a form by which an answer is for any arguments.
const ANY: &str = "any_arguments";
/// The time that a person has for an answer.
const ELICIT_TIMEOUT: Duration = Duration::from_mins(10);

/// Seals the states that clients keep between two rounds; `None` where the system has no random
/// numbers.
pub(super) fn codec() -> Option<RequestStateCodec> {
    let mut key = [0; RequestStateCodec::MIN_KEY_LENGTH];
    getrandom::fill(&mut key).ok()?;
    RequestStateCodec::try_new(key).ok()
}

/// The question that a person must answer, if that is why a call failed.
pub(super) fn question(error: &ToolError) -> Option<&Question> {
    match &error.problem {
        Problem::ApprovalWaiting { question, .. } => question.as_deref(),
        _ => None,
    }
}

fn form(question: &Question) -> Result<ElicitRequest, ErrorData> {
    let mut scopes = vec![json!({ "const": "once", "title": "once" })];
    if question.has_session {
        scopes.push(json!({ "const": "session", "title": "until this session ends" }));
    }
    scopes.push(json!({ "const": "always", "title": question.always }));
    let mut properties = json!({
        "scope": {
            "type": "string",
            "title": "Allow it",
            "description": "Decline to refuse it.",
            "oneOf": scopes,
            "default": "once",
        },
    });
    if question.has_any {
        properties[ANY] = json!({
            "type": "boolean",
            "title": "With any arguments",
            "default": false,
        });
    }
    let schema = json!({ "type": "object", "properties": properties, "required": ["scope"] });
    let schema = serde_json::from_value(schema)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    Ok(ElicitRequest::new(
        ElicitRequestParams::FormElicitationParams {
            meta: None,
            message: question.text(),
            requested_schema: schema,
        },
    ))
}

/// The answer that requires a person's input; `None` where no state can be sealed.
pub(super) fn round(
    question: &Question,
    server: &Server,
    request: &CallToolRequestParams,
) -> Result<Option<InputRequiredResult>, ErrorData> {
    let Some(codec) = &server.codec else {
        return Ok(None);
    };
    let call = call(request);
    let options = SealOptions::new()
        .associated_data(call.as_bytes())
        .ttl(ELICIT_TIMEOUT);
    let asked = format!("{} {}", question.id, question.serial);
    let state = codec.seal_with(asked.as_bytes(), &options);
    let open = BTreeMap::from([(KEY.to_owned(), InputRequest::Elicitation(form(question)?))]);
    Ok(Some(InputRequiredResult::new(Some(open), Some(state))))
}

/// Asks the person at one client by requests.
pub(super) struct Asker {
    catalog: Arc<Catalog>,
    actor: Actor,
    person: Person,
    peer: Peer<RoleServer>,
}

impl Asker {
    pub(super) fn new(
        server: &Server,
        person: Person,
        context: &RequestContext<RoleServer>,
    ) -> Self {
        Self {
            catalog: Arc::clone(&server.catalog),
            actor: server.person(context),
            person,
            peer: context.peer.clone(),
        }
    }

    async fn answer(&self, form: ElicitRequest) -> Option<ElicitResult> {
        let request = ServerRequest::ElicitRequest(form);
        let options = PeerRequestOptions::with_timeout(ELICIT_TIMEOUT);
        let handle = self.peer.send_request_with_option(request, options);
        match handle.await.ok()?.await_response().await {
            Ok(ClientResult::ElicitResult(answer)) => Some(answer),
            _ => None,
        }
    }

    /// Passes a question of another server on, and the answer back.
    pub(super) async fn elicit(&self, question: Value) -> Option<Value> {
        let question = self.person.asked(question)?;
        let answer = self.answer(ElicitRequest::new(question)).await?;
        serde_json::to_value(answer).ok()
    }

    /// Asks, and records the answer; false without one.
    pub(super) async fn ask(&self, question: &Question) -> bool {
        let Ok(form) = form(question) else {
            return false;
        };
        if !self.person.has_forms {
            return false;
        }
        let Some(answer) = self.answer(form).await else {
            return false;
        };
        match reply(&answer) {
            Ok(Some(reply)) => {
                let answer = answer_of(&question.id, AnswerTarget::Waiting, reply);
                let recorded = self.catalog.operate(answer, &self.actor).await;
                // An answer that came too late may have been given elsewhere.
                recorded.is_ok()
            }
            _ => false,
        }
    }
}

/// A person's reply to the question about the record with an id.
fn answer_of(
    id: &str,
    target: AnswerTarget,
    (reply, any_arguments): (Reply, bool),
) -> ApprovalAnswer {
    ApprovalAnswer {
        approval: id.to_owned(),
        target,
        reply,
        any_arguments,
        hours: None,
    }
}

/// Takes the person's answer of an earlier round; whether there was one. An answer that was taken before counts
/// as none: a state is good for one answer.
///
/// # Errors
/// The answer is malformed, or belongs to a question about another call.
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
    let opened = opened.map_err(|error| wrong("requestState", &error.to_string()))?;
    let answer = ElicitResult::deserialize(given)
        .map_err(|error| wrong(&format!("inputResponses.{KEY}"), &error.to_string()))?;
    let Some(reply) = reply(&answer)? else {
        return Ok(true);
    };
    let asked = String::from_utf8_lossy(&opened);
    let asked = asked
        .split_once(' ')
        .and_then(|(id, serial)| Some((id, serial.parse().ok()?)));
    let asked = asked.ok_or_else(|| wrong("requestState", "was not given by this server"))?;
    let (id, serial) = asked;
    let answer = answer_of(id, AnswerTarget::Record(serial), reply);
    let recorded = server
        .catalog
        .operate(answer, &server.person(context))
        .await;
    let recorded = recorded.map_err(|error| wire::refused(&error))?;
    Ok(recorded.is_some())
}

/// The person's reply, and whether it is for any arguments; `None` where the question was closed without one.
fn reply(answer: &ElicitResult) -> Result<Option<(Reply, bool)>, ErrorData> {
    let field = |name: &str| answer.content.as_ref()?.get(name);
    let reply = match (&answer.action, field("scope").and_then(Value::as_str)) {
        (ElicitationAction::Accept, Some("once")) => Reply::Once,
        (ElicitationAction::Accept, Some("session")) => Reply::Session,
        (ElicitationAction::Accept, Some("always")) => Reply::Always,
        (ElicitationAction::Accept, _) => {
            return Err(wrong("scope", "must be `once`, `session` or `always`"));
        }
        (ElicitationAction::Decline, _) => Reply::No,
        _ => return Ok(None),
    };
    let is_for_any = field(ANY).and_then(Value::as_bool).unwrap_or(false);
    Ok(Some((reply, is_for_any)))
}

/// Binds a question to this call.
pub(super) fn call(request: &CallToolRequestParams) -> String {
    let arguments = json!(request.arguments);
    let digest = Digest::of(arguments.to_string().as_bytes());
    format!("tools/call\n{}\n{digest}", request.name)
}

/// A refusal of an answer.
pub(super) fn wrong(field: &str, what: &str) -> ErrorData {
    let hint = "call again without `requestState` and `inputResponses`";
    wire::refused(&Problem::wrong_value(field, what, hint).error())
}
