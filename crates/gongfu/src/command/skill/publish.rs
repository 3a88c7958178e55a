//! `gongfu skill publish`: checks skills, and writes them as a site.

use std::path::{Path, PathBuf};

use gongfu_core::library::Library;
use gongfu_core::skill::{Finding, Severity};
use gongfu_core::text;
use gongfu_files::Home;
use gongfu_files::disk::{EntryKind, kind_outside};
use gongfu_import::candidate::StagedSkill;
use gongfu_import::publication::{PublishedSkill, check_marketplace, site, write};
use gongfu_import::scope::Scope;
use gongfu_import::source::Source;
use gongfu_library::check;
use gongfu_library::walk::NAMED;
use serde_json::json;

use super::add::chosen;
use super::found;
use super::import::{Importer, failure, temporary};
use crate::cli::PublishArguments;
use crate::command::Outcome;
use crate::command::list::library;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::table::count;
use crate::terminal::{Terminal, plain};
use crate::wiring;

pub(super) fn run(
    arguments: &PublishArguments,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let home = wiring::home(environment)?;
    let out = std::path::absolute(&arguments.out)?;
    let name = marketplace(arguments.name.as_deref(), &out)?;
    let mut skills = Vec::new();
    let mut known = None;
    for text in &arguments.skills {
        let folder = if let Some(folder) = folder(text, environment) {
            folder
        } else {
            let library = if let Some(library) = &known {
                library
            } else {
                let parts = wiring::parts(environment, &arguments.places)?;
                known.insert(library(&parts)?)
            };
            of_library(library, text, arguments.json, terminal)?
        };
        let read = read(&folder, &home, environment)?;
        if !arguments.json {
            for skill in &read {
                terminal.line(&plain(skill.name()))?;
            }
        }
        skills.extend(read);
    }
    let site = site(&skills, &name).map_err(failure)?;
    let temporary = temporary(&home).map_err(failure)?;
    write(&home, temporary.root(), &out, &site).map_err(failure)?;
    let shown = out.to_string_lossy();
    if arguments.json {
        let names: Vec<&str> = skills.iter().map(PublishedSkill::name).collect();
        terminal
            .json(&json!({ "out": shown, "name": name, "skills": names, "files": site.len() }))?;
        return Ok(Outcome::Good);
    }
    terminal.note(&format!(
        "{} as the plugin {name} and a site: {}",
        count(skills.len(), "skill"),
        plain(&shown)
    ));
    Ok(Outcome::Good)
}

/// The name of the marketplace: what a person says, else that of the folder.
fn marketplace(named: Option<&str>, out: &Path) -> anyhow::Result<String> {
    let name = named.map_or_else(
        || {
            let own = out.file_name().unwrap_or_default().to_string_lossy();
            let lower = own.to_lowercase();
            let words = lower.split(|one: char| !one.is_ascii_alphanumeric());
            let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
            words.join("-")
        },
        str::to_owned,
    );
    check_marketplace(&name).map_err(failure)?;
    Ok(name)
}

/// The folder that a text means, unless it is the name of a skill.
fn folder(text: &str, environment: &Environment) -> Option<PathBuf> {
    let current = environment.directory.as_deref()?;
    let folder = current.join(text);
    let is_path = text.contains('/') || text.starts_with('.');
    (is_path || kind_outside(&folder) == Some(EntryKind::Folder)).then_some(folder)
}

/// The folder of a skill of the library.
fn of_library(
    library: &Library,
    name: &str,
    json: bool,
    terminal: &mut Terminal,
) -> anyhow::Result<PathBuf> {
    let skill = found(library, name, json, terminal)?;
    if let Some(connection) = library.connection(&skill) {
        let message = format!("{} is a skill of the server {connection}", plain(name));
        let hint = "publish skills that are on this machine";
        return Err(Failure::new("SOURCE_REFUSED", message, hint).into());
    }
    Ok(PathBuf::from(&skill.path))
}

/// Reads the skills of a folder, and refuses those that have errors.
pub(in crate::command) fn read(
    folder: &Path,
    home: &Home,
    environment: &Environment,
) -> anyhow::Result<Vec<PublishedSkill>> {
    let source = Source::Local(folder.to_owned());
    let scope = Scope::project(folder);
    let importer = Importer::new(environment, home, &scope)?;
    let mut download = importer.fetch(&source, &[], false).map_err(failure)?;
    let chosen = chosen(&download.delivery, &[], false).map_err(failure)?;
    let staged = download.stage(chosen).map_err(failure)?;
    let skills = staged.iter().map(|skill| {
        check_errors(skill)?;
        Ok(PublishedSkill::of(skill).map_err(failure)?)
    });
    skills.collect()
}

fn check_errors(skill: &StagedSkill) -> Result<(), Failure> {
    let verdicts = check::check(&skill.staged, &[], NAMED, false);
    let found = verdicts.iter().flat_map(|verdict| &verdict.diagnostics);
    let errors: Vec<&Finding> = found
        .filter(|found| found.severity() == Severity::Error)
        .map(|found| &found.finding)
        .collect();
    if errors.is_empty() {
        return Ok(());
    }
    let errors = errors.iter().map(|finding| {
        let text = text::finding(finding);
        format!("{} ({})", plain(&text.message), finding.code())
    });
    let errors = errors.collect::<Vec<_>>().join("; ");
    let message = format!("{}: {errors}", plain(&skill.found.name));
    let hint = "`gongfu skill check` shows where, and how to fix it; nothing was published";
    Err(Failure::new("SKILL_INVALID", message, hint))
}
