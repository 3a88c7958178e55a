//! Tools that only pipeline steps can call, for work that no tool of the catalog does.
//!
//! They run as a part of the run's own call, which has passed the gate, and only read.

mod skill_check;
mod value;

use std::pin::Pin;

use gongfu_core::pipeline::StepError;
use gongfu_hub::Call;
use serde_json::{Map, Value};

/// The tools of steps alone.
pub(super) const STEP_TOOLS: &[&dyn StepTool] = &[&skill_check::SkillCheck, &value::Echo];

/// A tool that only steps of pipelines can call.
pub(super) trait StepTool: Send + Sync {
    /// Its name.
    fn name(&self) -> &'static str;

    /// Does it, in the space of the run's caller.
    fn run<'a>(&'a self, params: Map<String, Value>, call: &'a Call) -> Running<'a>;
}

/// The output of a step, in the future.
pub(super) type Running<'a> = Pin<Box<dyn Future<Output = Result<Value, StepError>> + Send + 'a>>;

/// The tool of this name.
pub(super) fn find(name: &str) -> Option<&'static dyn StepTool> {
    let mut tools = STEP_TOOLS.iter().copied();
    tools.find(|tool| tool.name() == name)
}
