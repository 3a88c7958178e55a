//! What a person said over a client about a call that waits for one.

use std::sync::OnceLock;

use gongfu_core::approval::{Ruling, Scope};
use gongfu_core::capability::Access;
use gongfu_core::port::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::operation::{self, Operation};
use crate::error::ToolError;
use crate::problem::Problem;
use crate::tool::{Context, ToolSpec};

/// For how long nobody is asked again about what was declined, in milliseconds: whoever calls again at once
/// is answered without a person.
const DECLINED: i64 = 60 * 60 * 1000;

/// What a person says to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    /// It may be done, this once.
    Once,
    /// It may be done whenever it is called with the same arguments.
    Always,
    /// It may not.
    No,
}

/// Writes down what a person said about a call that waits; answers whether there is such a call.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ApprovalAnswer {
    /// What the call is known by.
    pub approval: String,
    /// What the person said.
    pub said: Said,
}

impl Operation for ApprovalAnswer {
    const NAME: &'static str = "approval/answer";
    type Output = bool;

    fn spec() -> &'static ToolSpec {
        static SPEC: OnceLock<ToolSpec> = OnceLock::new();
        // Something is run by it, so nothing is without being in the audit.
        SPEC.get_or_init(|| ToolSpec {
            access: Access::Execute,
            ..operation::spec::<Self>()
        })
    }

    async fn run(self, context: &Context) -> Result<bool, ToolError> {
        let now = context.clock.now();
        let (ruling, until) = match self.said {
            Said::Once => (Ruling::Allowed(Scope::Once), None),
            Said::Always => (Ruling::Allowed(Scope::Always), None),
            Said::No => (
                Ruling::Denied,
                Some(Timestamp(now.0.saturating_add(DECLINED))),
            ),
        };
        let owner = &context.actor.owner;
        let answered = context
            .approvals
            .answer(owner, &self.approval, ruling, until, now)
            .await;
        let known =
            answered.map_err(|error| Problem::broken("what people approved", &error).error())?;
        Ok(known.is_some())
    }
}
