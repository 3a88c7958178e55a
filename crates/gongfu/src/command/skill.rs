//! `gongfu skill show|read`, and the rest of `gongfu skill`.

pub(super) mod add;
mod examination;
pub(super) mod import;
mod install;
pub(super) mod publish;
pub(super) mod remove;
mod stats;
pub(super) mod update;
mod verify;

use std::sync::Arc;

use gongfu_core::library::{Library, Skill};
use gongfu_core::port::{FileContent, PortError};
use gongfu_core::skill::{SKILL_FILE, SKILL_FILE_LOWER, SkillPath};
use gongfu_hub::{Content, Problem, Profile, Request};
use gongfu_library::walk::NAMED;
use serde_json::{Map, Value, json};

use super::call_error::reported;
use super::list::{entry, library, named, without_skill_file};
use super::operate::person;
use super::{Outcome, check, layer, list, new, search, switch};
use crate::cli::{Common, SkillCommand};
use crate::environment::Environment;
use crate::terminal::{Paint, Terminal, plain};
use crate::wiring::{self, Parts};

/// The most shadowed skills that are named.
const MAX_SHADOWED: usize = 10;
/// The largest file that is printed, in bytes.
const MAX_SHOWN: u64 = 1024 * 1024 * 1024;

pub(crate) fn run(
    command: SkillCommand,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    match command {
        SkillCommand::List(arguments) => list::run(arguments, environment, terminal),
        SkillCommand::Search(arguments) => search::run(arguments, environment, terminal),
        SkillCommand::Show { name, common } => show(&name, &common, environment, terminal),
        SkillCommand::Read {
            name,
            path,
            section,
            body,
            common,
        } => {
            let parts = wiring::parts(environment, &common.places)?;
            if common.json || section.is_some() || body {
                return read_by_tool(&parts, &name, path, section, body, common.json, terminal);
            }
            read(&parts, &name, path.as_deref(), terminal)
        }
        SkillCommand::Stats { name, common } => {
            stats::run(name.as_deref(), &common, environment, terminal)
        }
        SkillCommand::Enable(arguments) => switch::run(&arguments, true, environment, terminal),
        SkillCommand::Disable(arguments) => switch::run(&arguments, false, environment, terminal),
        SkillCommand::Add(arguments) => add::run(&arguments, environment, terminal),
        SkillCommand::Remove(arguments) => remove::run(&arguments, environment, terminal),
        SkillCommand::Install(arguments) => install::run(&arguments, environment, terminal),
        SkillCommand::Update(arguments) => update::run(&arguments, environment, terminal),
        SkillCommand::Outdated(arguments) => update::outdated(&arguments, environment, terminal),
        SkillCommand::Diff(arguments) => update::diff(&arguments, environment, terminal),
        SkillCommand::Verify(arguments) => verify::run(&arguments, environment, terminal),
        SkillCommand::Publish(arguments) => publish::run(&arguments, environment, terminal),
        SkillCommand::Check(arguments) => check::run(&arguments, environment, terminal),
        SkillCommand::New(arguments) => new::run(&arguments, environment, terminal),
    }
}

fn show(
    name: &str,
    common: &Common,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let parts = wiring::parts(environment, &common.places)?;
    let library = library(&parts)?;
    let skill = found(&library, name, common.json, terminal)?;
    let frontmatter: Value = serde_json::from_str(&skill.frontmatter).unwrap_or_default();
    // A skill of another server has no folder, which could be checked, or have something beside it.
    let connection = library.connection(&skill);
    let layers = match connection {
        None => wiring::runtime()?.block_on(parts.space.layers().all(Some(&skill)))?,
        Some(_) => Vec::new(),
    };
    let left = layers.iter().find(|layer| layer.is_current);
    let checked = match connection {
        None => gongfu_library::check::check(skill.path.as_ref(), &[], NAMED, false),
        Some(_) => Vec::new(),
    };
    let mine: Vec<_> = checked
        .into_iter()
        .filter(|checked| checked.path.to_string_lossy() == skill.path)
        .collect();
    if common.json {
        let files: Vec<Value> = skill
            .files
            .iter()
            .map(|file| json!({ "path": file.path.as_str(), "size": file.size, "kind": file.kind, "digest": file.digest.map(|digest| digest.to_string()) }))
            .collect();
        let mut shown = entry(&library, &skill);
        if let Value::Object(members) = &mut shown {
            members.insert("files".to_owned(), files.into());
            let shadows = library.shadows(&skill).into_iter();
            let shadows: Vec<&str> = shadows.map(|other| &*other.full_name).collect();
            members.insert("shadows".to_owned(), shadows.into());
            let left = left.map(|left| json!({ "files": left.files, "bytes": left.bytes }));
            members.insert("left_by_runs".to_owned(), left.into());
            members.insert("frontmatter".to_owned(), frontmatter);
            let diagnostics = mine
                .first()
                .map(|checked| check::diagnostics_json(&checked.diagnostics))
                .unwrap_or_default();
            members.insert("diagnostics".to_owned(), diagnostics.into());
        }
        terminal.json(&shown)?;
        return Ok(Outcome::Good);
    }
    terminal.line(&terminal.paint(Paint::Bold, &plain(skill.name.as_str())))?;
    terminal.line(&plain(&skill.description))?;
    terminal.line("")?;
    terminal.line(&format!("full name  {}", plain(&skill.full_name)))?;
    terminal.line(&match connection {
        None => format!("folder     {}", plain(&skill.path)),
        Some(connection) => format!("server     {connection}"),
    })?;
    terminal.line(&format!(
        "state      {}",
        if skill.enabled { "enabled" } else { "disabled" }
    ))?;
    if let Some(project) = library.untrusted_project(&skill) {
        terminal.line(&format!(
            "trust      its project isn't trusted, so no script runs: gongfu trust {}",
            plain(project)
        ))?;
    }
    show_rivals(&library, &skill, terminal)?;
    let more = frontmatter
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(key, _)| !matches!(key.as_str(), "name" | "description"));
    for (key, value) in more {
        let value = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        terminal.line(&format!("{:<10} {}", plain(key), plain(&value)))?;
    }
    show_files(&skill, terminal)?;
    if let Some(left) = left.filter(|left| left.files > 0) {
        terminal.line(&format!(
            "run files  {}: gongfu layer show {}",
            layer::amount(left),
            plain(&skill.full_name)
        ))?;
    }
    if skill.findings.total() > 0 {
        let count = skill.findings;
        terminal.line(&format!(
            "findings   {} errors, {} warnings, {} notes: gongfu skill check {}",
            count.errors,
            count.warnings,
            count.infos,
            plain(&skill.path)
        ))?;
    }
    Ok(Outcome::Good)
}

/// Lists the files of a skill.
fn show_files(skill: &Skill, terminal: &mut Terminal) -> anyhow::Result<()> {
    terminal.line(&format!(
        "files      {} ({} bytes)",
        skill.files.len(),
        skill.bytes()
    ))?;
    for file in skill.files.iter().take(50) {
        terminal.line(&format!(
            "  {}  {}",
            file.path,
            terminal.paint(Paint::Dim, &format!("{} bytes", file.size))
        ))?;
    }
    if skill.files.len() > 50 {
        terminal.line(&format!(
            "  … and {} more: gongfu skill show --json",
            skill.files.len() - 50
        ))?;
    }
    Ok(())
}

/// Names the skill that has the name of this one, or those whose name this one has.
fn show_rivals(library: &Library, skill: &Skill, terminal: &mut Terminal) -> anyhow::Result<()> {
    if let Some(winner) = library.shadowed_by(skill) {
        terminal.line(&format!(
            "shadowed   by {}; use the full name to reach this one",
            plain(&winner.full_name)
        ))?;
    }
    let shadows = library.shadows(skill);
    for (at, other) in shadows.iter().take(MAX_SHADOWED).enumerate() {
        let label = if at == 0 { "shadows" } else { "" };
        terminal.line(&format!("{label:<10} {}", plain(&other.full_name)))?;
    }
    if let Some(more) = shadows.len().checked_sub(MAX_SHADOWED + 1) {
        terminal.line(&format!("{:<10} and {} more", "", more + 1))?;
    }
    Ok(())
}

/// Finds a skill, disabled or not, or reports why it isn't found.
fn found(
    library: &Library,
    name: &str,
    json: bool,
    terminal: &mut Terminal,
) -> anyhow::Result<Arc<Skill>> {
    named(library, name).map_err(|unresolved| {
        if let Some(failure) = without_skill_file(library, name).filter(|_| !json) {
            return failure.into();
        }
        let error = Problem::unresolved(name, unresolved).error();
        reported(&error, Outcome::Findings, json, terminal)
    })
}

fn read(
    parts: &Parts,
    name: &str,
    path: Option<&str>,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let library = library(parts)?;
    let skill = found(&library, name, false, terminal)?;
    let has = |name: &str| skill.files.iter().any(|file| file.path.as_str() == name);
    let wanted = path.unwrap_or(if has(SKILL_FILE) || !has(SKILL_FILE_LOWER) {
        SKILL_FILE
    } else {
        SKILL_FILE_LOWER
    });
    let problem = match SkillPath::new(wanted) {
        Err(why) => Problem::bad_path(wanted, why),
        Ok(path) => match wiring::runtime()?.block_on(content(parts, &skill, &path)) {
            Ok(content) if content.is_cut() => Problem::FileTooLarge {
                path: wanted.to_owned(),
                bytes: content.size,
                limit: MAX_SHOWN,
            },
            Ok(content) => {
                terminal.file(&content.bytes)?;
                return Ok(Outcome::Good);
            }
            Err(PortError::NotFound) => {
                let left = wiring::runtime()?.block_on(parts.space.layers().list(&skill));
                let left = left.unwrap_or_default();
                let own = skill.files.iter().map(|file| &file.path);
                let all = own.chain(left.iter().map(|(path, _)| path));
                let nearest = gongfu_core::near::nearest_first(wanted, all.map(SkillPath::as_str));
                Problem::FileUnknown {
                    skill: skill.name.to_string(),
                    path: wanted.to_owned(),
                    nearest: nearest.into_iter().map(str::to_owned).collect(),
                }
            }
            Err(error) if library.connection(&skill).is_some() => {
                Problem::unreadable(&library, &skill, &error)
            }
            Err(error) => Problem::FilePath {
                path: wanted.to_owned(),
                reason: error.to_string(),
            },
        },
    };
    let error = problem.error();
    Err(reported(&error, Outcome::Findings, false, terminal))
}

/// A file as the tools for agents read it: what a run left comes before the skill's own, except for the
/// instructions.
async fn content(parts: &Parts, skill: &Skill, path: &SkillPath) -> Result<FileContent, PortError> {
    if !matches!(path.as_str(), SKILL_FILE | SKILL_FILE_LOWER) {
        let left = parts.space.layers().read(skill, path, MAX_SHOWN).await;
        if left.is_ok() {
            return left;
        }
    }
    parts.space.skills().read(skill, path, MAX_SHOWN).await
}

/// Reading parts, or as JSON, is what the tools do for agents.
fn read_by_tool(
    parts: &Parts,
    name: &str,
    path: Option<String>,
    section: Option<String>,
    body: bool,
    json: bool,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let mut arguments = Map::new();
    arguments.insert("skill_name".to_owned(), name.into());
    let tool_name = if let Some(path) = path {
        arguments.insert("path".to_owned(), path.into());
        "skill_read"
    } else {
        if let Some(section) = section {
            arguments.insert("section".to_owned(), section.into());
        }
        if body {
            arguments.insert("part".to_owned(), "body".into());
        }
        "skill_load"
    };
    let actor = person();
    let request = Request::new(&[Profile::Standard], tool_name, arguments, &actor);
    let outcome = wiring::runtime()?.block_on(parts.catalog.call(request));
    let result = outcome.map_err(|error| reported(&error, Outcome::Findings, json, terminal))?;
    if json {
        terminal.json(&result)?;
        return Ok(Outcome::Good);
    }
    for content in result.content {
        if let Content::Text { text } = content {
            terminal.file(text.as_bytes())?;
        }
    }
    Ok(Outcome::Good)
}
