//! `gongfu trust [list|remove]`: the projects whose skills may run scripts and take names.

use std::path::{Path, PathBuf};

use gongfu_core::library::SourceKind;
use gongfu_core::port::Timestamp;
use gongfu_core::project::NoProject;
use gongfu_files::project_of;
use gongfu_hub::surface::trust::{TrustAdd, TrustList, TrustRemove};
use serde_json::{Value, json};

use super::Outcome;
use super::list::library;
use super::operate::operate;
use crate::cli::{Places, TrustArguments, TrustCommand, clone_commands};
use crate::client;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::terminal::{Paint, Terminal, plain};
use crate::wiring::{self, Parts};

/// The most skills that are named.
const NAMED: usize = 10;

pub(crate) fn run(
    arguments: TrustArguments,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    match arguments.command {
        None => add(arguments.folder, environment, terminal),
        Some(TrustCommand::Add { folder }) => add(folder, environment, terminal),
        Some(TrustCommand::List { json }) => list(json, environment, terminal),
        Some(TrustCommand::Remove { folder }) => remove(folder, environment, terminal),
    }
}

fn add(
    folder: Option<PathBuf>,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let (folder, project) = folder_and_project(folder, environment)?;
    let project = project.map_err(|why| {
        let word = plain(&folder.to_string_lossy());
        if let Some(clone) = clone_commands(&word, "trust").filter(|_| word.contains(':')) {
            let message = format!("{word} is an address, not a folder");
            let hint = format!("clone it, review its skills, then trust the folder: {clone}");
            return Failure::new("NO_PROJECT", message, hint);
        }
        let message = format!("{} is not a project: {why}", shown(&folder));
        let hint =
            "`gongfu trust` trusts the project that you are in, and `gongfu trust DIR` another; `gongfu trust list` shows the trusted ones";
        Failure::new("NO_PROJECT", message, hint)
    })?;
    if project.to_str().is_none() {
        let message = format!("{}: the folder's name is not valid UTF-8", shown(&project));
        return Err(Failure::new("NO_PROJECT", message, "rename it first").into());
    }
    let places = Places {
        workspace: Some(project.clone()),
        ..Places::default()
    };
    let parts = wiring::parts(environment, &places)?;
    let skills = skills_of(&project, &parts)?;
    let trust = TrustAdd {
        project: project.to_string_lossy().into_owned(),
    };
    let is_new = operate(trust, &parts, false, terminal)?;
    let what = if is_new { "trusted" } else { "already trusted" };
    terminal.line(&format!("{what}: {}", shown(&project)))?;
    let named: Vec<String> = skills.iter().take(NAMED).map(|name| plain(name)).collect();
    let more = skills.len().saturating_sub(NAMED);
    let rest = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    terminal.line(&match skills.len() {
        0 => "  it has no skills yet".to_owned(),
        1 => format!("  1 skill: {}", named.join(", ")),
        count => format!("  {count} skills: {}{rest}", named.join(", ")),
    })?;
    terminal.line(&format!("  undo: gongfu trust remove {}", shown(&project)))?;
    Ok(Outcome::Good)
}

fn remove(
    folder: Option<PathBuf>,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let (folder, project) = folder_and_project(folder, environment)?;
    // A project that is gone is known by its path alone.
    let project = project.or_else(|_| std::path::absolute(&folder))?;
    let parts = wiring::parts(environment, &Places::default())?;
    let trust = TrustRemove {
        project: project.to_string_lossy().into_owned(),
    };
    if !operate(trust, &parts, false, terminal)? {
        let message = format!("{} isn't trusted", shown(&project));
        let hint = "`gongfu trust list` shows the trusted projects";
        return Err(Failure::new("NOT_TRUSTED", message, hint).into());
    }
    terminal.line(&format!("no longer trusted: {}", shown(&project)))?;
    if let Some(client) = client::answers(&project, environment).trusting() {
        terminal.note(&format!(
            "note: {client} trusts it as well, which counts; remove it there, too"
        ));
    }
    Ok(Outcome::Good)
}

fn list(json: bool, environment: &Environment, terminal: &mut Terminal) -> anyhow::Result<Outcome> {
    let parts = wiring::parts(environment, &Places::default())?;
    let trusts = operate(TrustList {}, &parts, json, terminal)?;
    let current = current(&parts, environment)?;
    let current = current.filter(|(project, _, _)| !trusts.is_trusted(project));
    if json {
        let own = trusts.projects.iter().map(|(project, since)| {
            json!({ "project": project, "trusted": true, "by": "you", "since": Timestamp(*since) })
        });
        let current = current.map(|(project, by, skills)| {
            json!({ "project": project, "trusted": by.is_some(), "by": by, "skills": skills })
        });
        terminal.json(&own.chain(current).collect::<Vec<Value>>())?;
        return Ok(Outcome::Good);
    }
    for (project, since) in &trusts.projects {
        let since = terminal.paint(Paint::Dim, &Timestamp(*since).to_seconds());
        terminal.line(&format!("{}  by you, {since}", plain(project)))?;
    }
    match &current {
        Some((project, Some(client), _)) => {
            terminal.line(&format!("{}  by {client}", plain(project)))?;
        }
        Some((project, None, skills)) => {
            let refused = client::answers(Path::new(project), environment).refused;
            let by = refused.map_or_else(String::new, |client| format!(" ({client} doesn't)"));
            terminal.note(&format!(
                "not trusted: {}{by}. Review its skills ({skills}), then: gongfu trust",
                plain(project)
            ));
        }
        None if trusts.projects.is_empty() => terminal.note("no trusted projects"),
        None => {}
    }
    Ok(Outcome::Good)
}

/// The current project where it has skills: its folder, the client that trusts it, the number of its skills.
fn current(
    parts: &Parts,
    environment: &Environment,
) -> anyhow::Result<Option<(String, Option<&'static str>, usize)>> {
    let library = library(parts)?;
    let source = library.sources().iter().find_map(|source| {
        let project = source.project.as_ref()?;
        Some((project, source.kind == SourceKind::Untrusted))
    });
    let Some((project, is_untrusted)) = source else {
        return Ok(None);
    };
    let client = client::answers(Path::new(&**project), environment).trusting();
    let skills = skills_of(Path::new(&**project), parts)?.len();
    let client = client.filter(|_| !is_untrusted);
    Ok((skills > 0).then(|| (project.to_string(), client, skills)))
}

/// The names of the skills of a project.
fn skills_of(project: &Path, parts: &Parts) -> anyhow::Result<Vec<String>> {
    let library = library(parts)?;
    let project = project.to_string_lossy();
    let is_of = |id: &str| {
        let mut sources = library.sources().iter();
        sources.any(|source| &*source.id == id && source.project.as_deref() == Some(&*project))
    };
    let skills = library.skills().iter();
    let skills = skills.filter(|skill| is_of(&skill.source));
    Ok(skills.map(|skill| skill.name.to_string()).collect())
}

/// The folder that a person means, else the current one, and the project that it belongs to.
fn folder_and_project(
    folder: Option<PathBuf>,
    environment: &Environment,
) -> anyhow::Result<(PathBuf, Result<PathBuf, NoProject>)> {
    let user = environment.user.as_deref();
    let folder = folder.map(|folder| wiring::expanded(&folder, user));
    let folder = folder.or_else(|| environment.directory.clone());
    let folder = folder.unwrap_or_default();
    let project = project_of(&folder, user, &wiring::home(environment)?);
    Ok((folder, project))
}

fn shown(path: &Path) -> String {
    if path.as_os_str().is_empty() {
        return "the current folder".to_owned();
    }
    plain(&path.to_string_lossy())
}
