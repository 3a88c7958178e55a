//! Capabilities: the one form of everything that an agent can use, with what a plan must know of it.
//!
//! A tool of gongfu's own, a skill and a tool of another server are told apart by their kind alone. Hints are measured
//! or declared; what nobody knows is left out.

mod fallback;
mod latency;
mod list;
mod purpose;

use std::collections::BTreeMap;
use std::sync::Arc;

use gongfu_core::capability::Safety;
use gongfu_core::connection::State;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

pub(crate) use list::all;

/// The level from which a plan must know of a capability, whatever else there is to say.
const NOTABLE: Safety = Safety::Medium;

/// The kind of a capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CapabilityKind {
    /// A tool of gongfu's own.
    Tool,
    /// A skill of the library.
    Skill,
    /// A tool of another MCP server.
    Mcp,
}

impl CapabilityKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Tool, Self::Skill, Self::Mcp];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Skill => "skill",
            Self::Mcp => "mcp",
        }
    }

    /// The kind of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// Something that an agent can use.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Capability {
    /// `skill.<name>`, `mcp.<server>.<tool>`, or the plain name of a tool of gongfu's own.
    pub id: String,
    /// The kind.
    pub kind: CapabilityKind,
    /// The name by which a client calls the tool or loads the skill.
    pub name: String,
    /// Its purpose.
    pub description: String,
    /// The schema of a tool's arguments (JSON Schema).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Arc<Map<String, Value>>>,
    /// The schema of a tool's structured answer, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Arc<Map<String, Value>>>,
    /// The harm that it can do: `SAFE`, `LOW`, `MEDIUM`, `HIGH` or `CRITICAL`.
    #[schemars(with = "String")]
    pub safety_level: Safety,
    /// The name under which it is permitted.
    pub permission: String,
    /// True if an agent's call waits for a person: its level is at or above the threshold, or its project isn't trusted,
    /// and no answer that lasts allows all such calls.
    pub requires_approval: bool,
    /// The situations that it is for, where its author says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when_to_use: Option<String>,
    /// Its cost.
    pub cost_hint: CostHint,
    /// The duration of past calls, where there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_hint: Option<LatencyHint>,
    /// Its state.
    pub health: HealthHint,
    /// The id of another capability that does the same, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
    /// `gongfu`, the source of a skill, or the name of a connection.
    pub origin: String,
}

/// The cost of a capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CostHint {
    /// The tokens that the definition of a tool or the instructions of a skill take in a context, about.
    pub tokens: u64,
}

/// The duration of past calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LatencyHint {
    /// Their median, in milliseconds, without the time that a person took to answer.
    pub milliseconds: u64,
    /// The number of calls that were measured.
    pub calls: usize,
}

/// The state of a capability.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HealthHint {
    /// `READY`; `INIT` for a server that wasn't started yet; `DEGRADED` or `DEAD`.
    #[schemars(with = "String")]
    pub state: State,
    /// The reason why it isn't ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A hint about a capability, for a plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanningHint {
    /// The harm that it can do.
    pub safety_level: Safety,
    /// True if a call waits for a person.
    pub requires_approval: bool,
    /// Its cost.
    pub cost_hint: CostHint,
    /// The duration of past calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_hint: Option<LatencyHint>,
    /// Its state.
    pub health: HealthHint,
    /// Another capability that does the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
}

/// The context of an agent: what it can use, and what its plan must heed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CapabilityContext {
    /// The names of the skills.
    pub available_skills: Vec<String>,
    /// The ids of the tools of other servers.
    pub available_mcp_tools: Vec<String>,
    /// Everything, by id.
    pub capabilities: Vec<Capability>,
    /// The hints about what isn't harmless, ready and unmeasured, by id.
    pub planning_hints: BTreeMap<String, PlanningHint>,
}

impl HealthHint {
    /// Returns true if it doesn't work, or only in part.
    pub fn is_unwell(&self) -> bool {
        matches!(self.state, State::Degraded | State::Dead)
    }
}

impl Capability {
    /// The hint about it; `None` where a plan has nothing to heed.
    pub fn planning_hint(&self) -> Option<PlanningHint> {
        let is_notable = self.safety_level >= NOTABLE
            || self.requires_approval
            || self.health.is_unwell()
            || self.latency_hint.is_some()
            || self.fallback.is_some();
        is_notable.then(|| PlanningHint {
            safety_level: self.safety_level,
            requires_approval: self.requires_approval,
            cost_hint: self.cost_hint,
            latency_hint: self.latency_hint,
            health: self.health.clone(),
            fallback: self.fallback.clone(),
        })
    }
}

impl From<Vec<Capability>> for CapabilityContext {
    fn from(capabilities: Vec<Capability>) -> Self {
        let of = |kind: CapabilityKind| capabilities.iter().filter(move |one| one.kind == kind);
        let hinted = |one: &Capability| Some((one.id.clone(), one.planning_hint()?));
        Self {
            available_skills: of(CapabilityKind::Skill)
                .map(|one| one.name.clone())
                .collect(),
            available_mcp_tools: of(CapabilityKind::Mcp).map(|one| one.id.clone()).collect(),
            planning_hints: capabilities.iter().filter_map(hinted).collect(),
            capabilities,
        }
    }
}
