//! A person's answers about calls that need one.

use gongfu_core::approval::{
    Answer, AnswerTarget, Approval, Approvals, Ruling, RulingError, Scope,
};
use gongfu_core::port::{PortError, Timestamp};
use gongfu_core::trust::Trusts;
use schemars::JsonSchema;
use serde::Serialize;

use super::operation::{self, Operation, specified};
use crate::call::Call;
use crate::error::ToolError;
use crate::problem::Problem;
use crate::tool::ToolSpec;

/// The time for which a call that was declined over a client is refused without a question, in
/// milliseconds.
const DECLINE_TIME: i64 = 60 * 60 * 1000;
/// Milliseconds of an hour.
const HOUR: i64 = 60 * 60 * 1000;

/// A person's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// Allow the next such call.
    Once,
    /// Allow every call with the same arguments in the session that asked, or in the one that answers.
    Session,
    /// Allow every call with the same arguments; for a skill of a project that isn't trusted, trust the project.
    Always,
    /// Deny it for now: for an hour.
    No,
    /// Deny it.
    Never,
}

/// Records a person's answer about a call that waits; answers the record, or `None` for an unknown
/// id.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ApprovalAnswer {
    /// The id of the approval, or at least its first eight digits.
    pub approval: String,
    /// The records that it is for.
    #[schemars(with = "serde_json::Value")]
    pub target: AnswerTarget,
    /// The person's answer.
    pub reply: Reply,
    /// Allow it with any arguments.
    pub any_arguments: bool,
    /// The time for which it is valid, in hours; without an end where it is missing.
    pub hours: Option<u32>,
}

impl Operation for ApprovalAnswer {
    const NAME: &'static str = "approval/answer";
    type Output = Option<Approval>;
    specified!(operation::person_spec::<Self>());

    async fn run(self, call: &Call) -> Result<Option<Approval>, ToolError> {
        let now = call.space.now();
        let after = |milliseconds: i64| Timestamp(now.0.saturating_add(milliseconds));
        let until = self.hours.map(|hours| after(i64::from(hours) * HOUR));
        let (answer, until) = match self.reply {
            Reply::Session => (Answer::Allowed(Scope::Session), until),
            Reply::Once => (Answer::Allowed(Scope::Once), until),
            Reply::Always => (Answer::Allowed(Scope::Always), until),
            Reply::No => (Answer::Denied, Some(after(DECLINE_TIME))),
            Reply::Never => (Answer::Denied, until),
        };
        let ruling = Ruling {
            answer,
            is_for_any: self.any_arguments,
            session: call.actor.session.as_deref().map(str::to_owned),
            until,
        };
        let answering = Approvals::update(call.space.records(), now, |approvals| {
            approvals.answer(&self.approval, self.target, &ruling, now)
        });
        let answered = found(answering.await, &self.approval)?;
        if let Some(Approval {
            trust: Some(project),
            ..
        }) = &answered
            && (self.reply, self.hours) == (Reply::Always, None)
        {
            let trusting = Trusts::add(call.space.records(), project, now);
            trusting.await.map_err(|error| broken(&error))?;
        }
        Ok(answered)
    }
}

/// Forgets a call that waits, or a person's answer: the next such call asks again. Answers the record, or `None` for an
/// unknown id.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ApprovalRevoke {
    /// The id of the approval, or at least its first eight digits.
    pub approval: String,
}

impl Operation for ApprovalRevoke {
    const NAME: &'static str = "approval/revoke";
    type Output = Option<Approval>;
    specified!(operation::person_spec::<Self>());

    async fn run(self, call: &Call) -> Result<Option<Approval>, ToolError> {
        let revoking = Approvals::update(call.space.records(), call.space.now(), |approvals| {
            approvals.revoke(&self.approval)
        });
        found(revoking.await, &self.approval)
    }
}

/// The record that was changed; `None` where there is no such record.
fn found(
    changed: Result<Result<Approval, RulingError>, PortError>,
    id: &str,
) -> Result<Option<Approval>, ToolError> {
    let (name, reason, hint) = match changed.map_err(|error| broken(&error))? {
        Ok(approval) => return Ok(Some(approval)),
        Err(RulingError::Unknown) => return Ok(None),
        Err(RulingError::Ambiguous) => (
            "approval",
            format!("`{id}` matches several approvals"),
            "use more digits of the id (`gongfu approve list --json` shows them all)",
        ),
        Err(RulingError::NoSession) => (
            "scope",
            "the client that asked has no session".to_owned(),
            "allow it once, or always with an end",
        ),
        Err(RulingError::NotForAny) => (
            "any_arguments",
            "each command and each change is decided by itself".to_owned(),
            "allow it with the same arguments",
        ),
    };
    Err(Problem::wrong_value(name, reason, hint).error())
}

/// Lists the calls that wait for a person, and the answers that are still valid, the oldest first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ApprovalList {}

impl Operation for ApprovalList {
    const NAME: &'static str = "approval/list";
    type Output = Vec<Approval>;
    specified!(ToolSpec {
        person_only: true,
        ..operation::spec::<Self>()
    });

    async fn run(self, call: &Call) -> Result<Vec<Approval>, ToolError> {
        let now = call.space.now();
        let reading = Approvals::read(call.space.records());
        let mut approvals = reading.await.map_err(|error| broken(&error))?;
        approvals.expire(now);
        Ok(approvals.all)
    }
}

fn broken(error: &PortError) -> ToolError {
    Problem::broken("what people approved", error).error()
}
