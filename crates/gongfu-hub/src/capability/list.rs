//! The list of capabilities, put together from the catalog, the library, connections, approvals and the audit.

use std::collections::HashMap;
use std::sync::Arc;

use gongfu_core::approval::Approvals;
use gongfu_core::capability::{Origin, Safety};
use gongfu_core::connection::State;
use gongfu_core::library::{Library, Skill};
use gongfu_core::skill::check::script;
use gongfu_core::skill::{SKILL_FILE, SKILL_FILE_LOWER};

use super::latency::Durations;
use super::{Capability, CapabilityKind, CostHint, HealthHint, fallback, purpose};
use crate::call::Call;
use crate::error::ToolError;
use crate::gate::permission_digest;
use crate::problem::Problem;
use crate::shelf;
use crate::tool::ToolSpec;

/// The levels of loading a skill and of running its scripts.
const LOADING: Safety = Safety::Low;
const RUNNING: Safety = Safety::Medium;
/// The bytes of instructions that are counted as one token.
const BYTES_PER_TOKEN: u64 = 4;

/// Everything that the caller can use, by id: these tools, and the skills that it reaches.
///
/// # Errors
/// The library, the connections, what people approved or the audit can't be read.
pub(crate) async fn all(
    call: &Call,
    tools: &[ToolSpec],
    threshold: Safety,
) -> Result<Vec<Capability>, ToolError> {
    let known = Knowledge::read(call, tools, threshold).await?;
    let library = shelf::library(call).await?;
    let skills = library
        .reachable()
        .map(|skill| known.skill(skill, &library));
    let tools_of = tools.iter().map(|spec| known.tool(spec));
    let mut all: Vec<Capability> = tools_of.chain(skills).collect();
    fallback::name(&mut all, tools);
    all.sort_by(|one, other| one.id.cmp(&other.id));
    // Two profiles may show one tool.
    all.dedup_by(|one, other| one.id == other.id);
    Ok(all)
}

/// The facts about the caller's capabilities that their definitions don't have.
struct Knowledge<'a> {
    call: &'a Call,
    threshold: Safety,
    approvals: Approvals,
    connections: HashMap<String, HealthHint>,
    durations: Durations,
}

impl<'a> Knowledge<'a> {
    async fn read(
        call: &'a Call,
        tools: &[ToolSpec],
        threshold: Safety,
    ) -> Result<Self, ToolError> {
        let approvals = Approvals::read(call.space.records()).await;
        let approvals =
            approvals.map_err(|error| Problem::broken("what people approved", &error).error())?;
        let statuses = if tools.iter().any(ToolSpec::is_foreign) {
            call.space.servers().statuses().await
        } else {
            Ok(Vec::new())
        };
        let statuses =
            statuses.map_err(|error| Problem::broken("the connections", &error).error())?;
        let connections = statuses.into_iter().map(|status| {
            let health = HealthHint {
                state: status.state,
                reason: status.reason,
            };
            (status.connection.name.to_string(), health)
        });
        Ok(Self {
            call,
            threshold,
            approvals,
            connections: connections.collect(),
            durations: Durations::read(call).await?,
        })
    }

    fn tool(&self, spec: &ToolSpec) -> Capability {
        let (kind, id, origin, health) = match &spec.origin {
            Origin::Server(server) => (
                CapabilityKind::Mcp,
                spec.permission.to_string(),
                server.clone(),
                self.connections.get(server).cloned(),
            ),
            Origin::Native | Origin::Skill => {
                let id = spec.name.to_string();
                (CapabilityKind::Tool, id, "gongfu".to_owned(), None)
            }
        };
        let tokens = u64::try_from(spec.tokens()).unwrap_or(u64::MAX);
        Capability {
            id,
            kind,
            name: spec.name.to_string(),
            description: spec.description.clone(),
            input_schema: Some(Arc::clone(&spec.input_schema)),
            output_schema: spec.output_schema.clone(),
            safety_level: spec.safety,
            permission: spec.permission.to_string(),
            requires_approval: spec.safety >= self.threshold && !self.is_allowed(spec),
            when_to_use: purpose::of_description(&spec.description),
            cost_hint: CostHint { tokens },
            latency_hint: self.durations.of_tool(&spec.name),
            health: health.unwrap_or_else(ready),
            fallback: None,
            origin,
        }
    }

    /// Returns true if a person allowed every call of a tool, and not only the next one.
    fn is_allowed(&self, spec: &ToolSpec) -> bool {
        let any = permission_digest(spec, None);
        let session = self.call.actor.session.as_deref();
        let now = self.call.space.now();
        self.approvals.allows_any(&spec.name, any, session, now)
    }

    fn skill(&self, skill: &Skill, library: &Library) -> Capability {
        let has_scripts = skill.files.iter().any(|file| script::is_script(&file.path));
        let safety_level = if has_scripts { RUNNING } else { LOADING };
        let is_untrusted = library.untrusted_project(skill).is_some();
        let id = format!("skill.{}", skill.name);
        Capability {
            kind: CapabilityKind::Skill,
            name: skill.name.to_string(),
            description: skill.description.clone(),
            input_schema: None,
            output_schema: None,
            safety_level,
            permission: id.clone(),
            id,
            requires_approval: safety_level >= self.threshold || (has_scripts && is_untrusted),
            when_to_use: purpose::of_skill(skill),
            cost_hint: CostHint {
                tokens: instructions(skill).div_ceil(BYTES_PER_TOKEN),
            },
            latency_hint: self.durations.of_skill(&skill.full_name),
            health: health(skill),
            fallback: None,
            origin: skill.source.to_string(),
        }
    }
}

fn ready() -> HealthHint {
    HealthHint {
        state: State::Ready,
        reason: None,
    }
}

/// A skill with errors is loaded, and may not do what it says.
fn health(skill: &Skill) -> HealthHint {
    match skill.findings.errors {
        0 => ready(),
        1 => degraded("a check finds 1 error".to_owned()),
        errors => degraded(format!("a check finds {errors} errors")),
    }
}

fn degraded(reason: String) -> HealthHint {
    HealthHint {
        state: State::Degraded,
        reason: Some(reason),
    }
}

/// The length of a skill's instructions in bytes.
fn instructions(skill: &Skill) -> u64 {
    let is_instructions = |path: &str| path == SKILL_FILE || path == SKILL_FILE_LOWER;
    let mut files = skill.files.iter();
    let file = files.find(|file| is_instructions(file.path.as_str()));
    file.map_or(0, |file| file.size)
}
