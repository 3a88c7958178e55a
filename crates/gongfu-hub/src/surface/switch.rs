//! Switches: a person enables or disables a skill.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use super::operation::{self, Operation, specified};
use crate::call::Call;
use crate::error::ToolError;
use crate::problem::Problem;
use crate::shelf;

/// Enables or disables a skill.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SkillSwitch {
    /// The name of the skill.
    pub skill: String,
    /// True to enable it.
    pub enabled: bool,
}

/// The result of a switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchChange {
    /// The full name of the skill.
    pub skill: Arc<str>,
    /// True if anything changed.
    pub is_changed: bool,
}

impl Operation for SkillSwitch {
    const NAME: &'static str = "skill/switch";
    type Output = SwitchChange;
    specified!(operation::person_spec::<Self>());

    async fn run(self, call: &Call) -> Result<SwitchChange, ToolError> {
        let library = shelf::library(call).await?;
        let skill = library
            .resolve_switch(&self.skill, self.enabled)
            .map_err(|why| Problem::unresolved(&self.skill, why).error())?;
        let switching = call.space.skills().set_enabled(skill, self.enabled);
        let is_changed = switching
            .await
            .map_err(|error| Problem::broken("the switches", &error).error())?;
        Ok(SwitchChange {
            skill: Arc::clone(&skill.full_name),
            is_changed,
        })
    }
}
