//! The ledger of skills, for their person.

use std::collections::BTreeMap;

use gongfu_core::audit;
use gongfu_core::ledger::{Outcomes, ledger};
use gongfu_core::port::PortError;
use schemars::JsonSchema;
use serde::Serialize;

use super::operation::{self, Operation, specified};
use crate::call::Call;
use crate::error::ToolError;
use crate::problem::Problem;
use crate::profile::Profile;
use crate::tool::ToolSpec;

/// The entries of the audit that are counted, the latest ones.
const MAX_COUNTED: usize = 50_000;

/// Lists how often each skill was found, loaded and run, and how the runs ended.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SkillLedger {}

impl Operation for SkillLedger {
    const NAME: &'static str = "skill/ledger";
    /// By full name.
    type Output = BTreeMap<String, Outcomes>;
    specified!(ToolSpec {
        person_only: true,
        ..operation::spec::<Self>()
    });

    async fn run(self, call: &Call) -> Result<Self::Output, ToolError> {
        let broken = |error: &PortError| Problem::broken("the audit", error).error();
        let log = audit::key().map_err(|error| broken(&error))?;
        let entries = call.space.records().entries(&log, MAX_COUNTED).await;
        let entries = entries.map_err(|error| broken(&error))?;
        let profiles = Profile::every().into_iter();
        let loads: Vec<&str> = profiles.map(|profile| profile.reading().1).collect();
        Ok(ledger(entries.iter().map(Vec::as_slice), &loads))
    }
}
