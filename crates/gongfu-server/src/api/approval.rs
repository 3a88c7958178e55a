//! Approvals: the calls of agents that wait for the caller.

use gongfu_core::approval::{Answer as Given, AnswerTarget, Approval, Scope as Validity};
use gongfu_core::port::Timestamp;
use gongfu_hub::surface::approval::{ApprovalAnswer, ApprovalList, ApprovalRevoke, Reply};
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::context::Context;
use super::endpoint::{Access, Answer, Endpoint, Refusal};
use crate::problem::Problem;

/// The record of a call that needs a person.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ApprovalItem {
    /// The id.
    id: String,
    /// The tool.
    tool: String,
    /// The action.
    what: String,
    /// Everything else that decides what the call does.
    details: Vec<String>,
    /// The reason why a person is asked.
    reason: String,
    /// The project that an answer for always trusts, instead of this one call.
    trust: Option<String>,
    /// The time of the last such call (RFC 3339).
    asked_at: String,
    /// `waiting`, `allowed_once`, `allowed_session`, `allowed_always` or `denied`.
    state: &'static str,
    /// True if the answer is for any arguments.
    any_arguments: bool,
    /// The deadline of the question or the end of the answer (RFC 3339); null for an answer without an end.
    until: Option<String>,
}

impl From<Approval> for ApprovalItem {
    fn from(approval: Approval) -> Self {
        Self {
            id: approval.id,
            tool: approval.tool,
            what: approval.what,
            details: approval.details,
            reason: approval.reason,
            trust: approval.trust,
            asked_at: Timestamp(approval.asked).to_string(),
            state: match approval.answer {
                Given::Waiting => "waiting",
                Given::Allowed(Validity::Once) => "allowed_once",
                Given::Allowed(Validity::Session) => "allowed_session",
                Given::Allowed(Validity::Always) => "allowed_always",
                Given::Denied => "denied",
            },
            any_arguments: approval.is_for_any,
            until: approval.until.map(|until| Timestamp(until).to_string()),
        }
    }
}

/// Approvals.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ApprovalPage {
    /// The approvals, the oldest first.
    items: Vec<ApprovalItem>,
    /// The number of all.
    total: usize,
}

/// List the calls of agents that wait for you, and your answers that are still valid.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ApprovalRead {}

impl Endpoint for ApprovalRead {
    const NAME: &'static str = "approval_list";
    const METHOD: Method = Method::GET;
    const PATH: &'static str = "/api/v1/approvals";
    const ACCESS: Access = Access::Person;
    type Reply = ApprovalPage;

    async fn answer(self, context: &Context) -> Result<Answer<ApprovalPage>, Problem> {
        let approvals = context.operate(ApprovalList {}).await?;
        let items: Vec<ApprovalItem> = approvals.into_iter().map(ApprovalItem::from).collect();
        let total = items.len();
        Ok(Answer::from(ApprovalPage { items, total }))
    }
}

/// A person's decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Decision {
    Allow,
    Deny,
}

/// The calls that a decision is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum For {
    #[default]
    Once,
    Session,
    Always,
}

/// Allow or deny a call of an agent.
///
/// Allowing it once is for the next such call; always is for every call with the same arguments; session is for those of
/// the MCP session that asked. A tool of another server may be allowed with any arguments. Denying it once is for an
/// hour. The id of an answer for a session or for any arguments is a new one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ApprovalReply {
    /// The id of the approval, or at least its first eight digits.
    #[schemars(length(min = 8, max = 64))]
    id: String,
    /// The decision.
    decision: Decision,
    /// The calls that it is for: `once`, `session` or `always`; a refusal is for `once` or `always`.
    #[serde(default)]
    scope: For,
    /// True to allow it with any arguments.
    #[serde(default)]
    any_arguments: bool,
    /// The time for which it is valid, in hours; without it, without an end.
    #[schemars(range(min = 1, max = 87_600))]
    hours: Option<u32>,
}

impl Endpoint for ApprovalReply {
    const NAME: &'static str = "approval_answer";
    const METHOD: Method = Method::POST;
    const PATH: &'static str = "/api/v1/approvals/{id}";
    const ACCESS: Access = Access::Person;
    const REFUSALS: &'static [Refusal] = &[Refusal::NOT_FOUND];
    type Reply = ApprovalItem;

    async fn answer(self, context: &Context) -> Result<Answer<ApprovalItem>, Problem> {
        let answer = ApprovalAnswer {
            approval: self.id,
            target: AnswerTarget::Any,
            reply: match (self.decision, self.scope) {
                (Decision::Allow, For::Once) => Reply::Once,
                (Decision::Allow, For::Always) => Reply::Always,
                (Decision::Deny, For::Once) => Reply::No,
                (Decision::Allow, For::Session) => Reply::Session,
                (Decision::Deny, For::Session | For::Always) => Reply::Never,
            },
            any_arguments: self.any_arguments,
            hours: self.hours,
        };
        let answered = context.operate(answer).await?;
        let approval = answered.ok_or(Problem::NotFound("approval"))?;
        Ok(Answer::from(ApprovalItem::from(approval)))
    }
}

/// Forget a call that waits, or an answer: the next such call asks again.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ApprovalDelete {
    /// The id of the approval, or at least its first eight digits.
    #[schemars(length(min = 8, max = 64))]
    id: String,
}

impl Endpoint for ApprovalDelete {
    const NAME: &'static str = "approval_revoke";
    const METHOD: Method = Method::DELETE;
    const PATH: &'static str = "/api/v1/approvals/{id}";
    const ACCESS: Access = Access::Person;
    const REFUSALS: &'static [Refusal] = &[Refusal::NOT_FOUND];
    type Reply = ApprovalItem;

    async fn answer(self, context: &Context) -> Result<Answer<ApprovalItem>, Problem> {
        let revoke = ApprovalRevoke { approval: self.id };
        let revoked = context.operate(revoke).await?;
        let approval = revoked.ok_or(Problem::NotFound("approval"))?;
        Ok(Answer::from(ApprovalItem::from(approval)))
    }
}
