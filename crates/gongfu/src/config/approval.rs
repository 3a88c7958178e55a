//! The settings of approvals.

use gongfu_core::capability::Safety;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The calls of agents that wait for a person.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ApprovalSection {
    /// The safety level from which a person is asked about each call of an agent: `safe`, `low`, `medium`, `high` or
    /// `critical`. A lower one asks about gongfu's own tools as well, by their level. A higher one asks less; an
    /// unknown command and the script of an untrusted project are asked about all the same.
    pub(crate) threshold: ThresholdSetting,
}

/// The safety level from which a person is asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ThresholdSetting {
    /// Every call.
    Safe,
    /// Also calls that read skills.
    Low,
    /// Also calls that read or write files, or run something in the sandbox.
    Medium,
    /// Calls that run something without a sandbox or write elsewhere, and those that delete.
    #[default]
    High,
    /// Only calls that delete.
    Critical,
}

impl From<ThresholdSetting> for Safety {
    fn from(setting: ThresholdSetting) -> Self {
        match setting {
            ThresholdSetting::Safe => Self::Safe,
            ThresholdSetting::Low => Self::Low,
            ThresholdSetting::Medium => Self::Medium,
            ThresholdSetting::High => Self::High,
            ThresholdSetting::Critical => Self::Critical,
        }
    }
}

#[cfg(test)]
mod tests {
    use gongfu_core::capability::Safety;

    use super::ThresholdSetting;

    #[test]
    fn default_is_that_of_the_gate() {
        let setting = ThresholdSetting::default();
        assert_eq!(Safety::from(setting), gongfu_hub::gate::THRESHOLD);
    }
}
