//! `gongfu capability list|context`: everything that agents can use, and what a plan must heed.

use gongfu_core::account::Actor;
use gongfu_hub::capability::{HealthHint, PlanningHint};
use gongfu_hub::{Capability, CapabilityContext, CapabilityKind, CapabilityQuery, ToolError};

use super::Outcome;
use super::call_error::reported;
use super::operate::person;
use crate::cli::{CapabilityCommand, Common, Profiles};
use crate::environment::Environment;
use crate::sets;
use crate::table::{clip, count, pad, width};
use crate::terminal::{Paint, Terminal, plain};
use crate::wiring::{self, Parts};

/// The widest column of ids.
const MAX_ID: usize = 44;

pub(crate) fn run(
    command: CapabilityCommand,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    match command {
        CapabilityCommand::List {
            kind,
            profiles,
            common,
        } => {
            let query = CapabilityQuery {
                kind: kind.as_deref().and_then(CapabilityKind::from_name),
                ..CapabilityQuery::default()
            };
            let actor = caller(&profiles, environment)?;
            let list = asked(&profiles, &common, environment, terminal, async |parts| {
                let all = parts.catalog.capabilities(query, &profiles.list, &actor);
                Ok(all.await?.items)
            })?;
            if common.json {
                terminal.json(&list)?;
            } else {
                print(&list, terminal)?;
            }
        }
        CapabilityCommand::Context { profiles, common } => {
            let actor = caller(&profiles, environment)?;
            let context = asked(&profiles, &common, environment, terminal, async |parts| {
                let asking = parts.catalog.capability_context(&profiles.list, &actor);
                asking.await
            })?;
            if common.json {
                terminal.json(&context)?;
            } else {
                print_context(&context, terminal)?;
            }
        }
    }
    Ok(Outcome::Good)
}

/// The person, working with the set that was chosen.
fn caller(profiles: &Profiles, environment: &Environment) -> anyhow::Result<Actor> {
    let home = wiring::home(environment)?;
    let caller = sets::working_with(person(), profiles.set.as_deref(), &home)?;
    Ok(caller)
}

/// Asks the catalog, once it has the tools of other servers.
fn asked<T>(
    profiles: &Profiles,
    common: &Common,
    environment: &Environment,
    terminal: &mut Terminal,
    ask: impl AsyncFnOnce(&Parts) -> Result<T, ToolError>,
) -> anyhow::Result<T> {
    let parts = wiring::parts_with(environment, &common.places, &profiles.mounts)?;
    let runtime = wiring::runtime()?;
    let answer = runtime.block_on(async {
        parts.provide_servers().await?;
        anyhow::Ok(ask(&parts).await)
    })?;
    answer.map_err(|error| reported(&error, Outcome::Findings, common.json, terminal))
}

fn print(list: &[Capability], terminal: &mut Terminal) -> anyhow::Result<()> {
    let widths = list.iter().map(|one| width(&one.id));
    let widest = widths.filter(|width| *width <= MAX_ID).max().unwrap_or(0);
    for one in list {
        let id = plain(&one.id);
        let level = one.safety_level.as_str();
        let before = format!("{}  {level:<8} ", pad(&id, widest));
        let mark = if one.requires_approval {
            "[needs approval] "
        } else {
            ""
        };
        let used = width(&before) + width(mark);
        let room = terminal.width().map(|total| total.saturating_sub(used));
        let about = clip(&plain(&one.description).replace('\n', " "), room);
        let bold = terminal.paint(Paint::Bold, &id);
        let rest = before.strip_prefix(id.as_str()).unwrap_or_default();
        let mark = terminal.paint(Paint::Yellow, mark);
        terminal.line(&format!("{bold}{rest}{mark}{about}"))?;
        if let Some(trouble) = trouble(&one.health) {
            terminal.line(&format!("    {}", plain(&trouble)))?;
        }
    }
    terminal.note(&count_of_kinds(list));
    Ok(())
}

/// The number of capabilities of each kind.
fn count_of_kinds(list: &[Capability]) -> String {
    let of = |kind| list.iter().filter(|one| one.kind == kind).count();
    format!(
        "{}, {}, {} of other servers",
        count(of(CapabilityKind::Tool), "tool"),
        count(of(CapabilityKind::Skill), "skill"),
        count(of(CapabilityKind::Mcp), "tool")
    )
}

/// The state and its reason, for one that doesn't work, or only in part.
fn trouble(health: &HealthHint) -> Option<String> {
    let reason = health.reason.as_deref().filter(|_| health.is_unwell())?;
    Some(format!("{}: {reason}", health.state.as_str()))
}

fn print_context(context: &CapabilityContext, terminal: &mut Terminal) -> anyhow::Result<()> {
    let CapabilityContext {
        available_skills,
        available_mcp_tools,
        capabilities,
        planning_hints,
    } = context;
    for (name, items) in [
        ("skills", available_skills),
        ("tools of other servers", available_mcp_tools),
    ] {
        terminal.line(&format!("{name}: {}", plain(&items.join(", "))))?;
    }
    terminal.line("planning hints:")?;
    for (id, hint) in planning_hints {
        let id = terminal.paint(Paint::Bold, &plain(id));
        terminal.line(&format!("  {id}: {}", plain(&words(hint))))?;
    }
    terminal.note(&count_of_kinds(capabilities));
    Ok(())
}

/// A hint in one line.
fn words(hint: &PlanningHint) -> String {
    let mut words = vec![hint.safety_level.as_str().to_owned()];
    if hint.requires_approval {
        words.push("needs approval".to_owned());
    }
    words.push(format!("about {} tokens", hint.cost_hint.tokens));
    if let Some(took) = &hint.latency_hint {
        let calls = count(took.calls, "call");
        words.push(format!("{} ms ({calls})", took.milliseconds));
    }
    words.extend(trouble(&hint.health));
    words.extend(hint.fallback.iter().map(|id| format!("else {id}")));
    words.join(", ")
}
