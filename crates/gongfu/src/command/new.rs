//! `gongfu skill new`.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use gongfu_core::skill::name::{self, NameFault};
use gongfu_core::skill::{Finding, SkillName, draft, placeholder};
use gongfu_core::text;
use gongfu_files::disk;
use gongfu_library::scaffold::{self, CreatedSkill, ScaffoldError};
use serde_json::json;

use super::Outcome;
use crate::cli::{NewArguments, NewTarget};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::terminal::{Terminal, plain};
use crate::{project, wiring};

/// Clients that read `.agents/skills` of a project.
const PROJECT_CLIENTS: [&str; 6] = [
    "Codex",
    "Cursor",
    "Gemini CLI",
    "GitHub Copilot",
    "opencode",
    "Zed",
];
/// Clients that read `~/.agents/skills`.
const USER_CLIENTS: [&str; 4] = ["Codex", "Gemini CLI", "opencode", "Zed"];
const CLAUDE_CODE: &str = "Claude Code";

pub(super) fn run(
    arguments: &NewArguments,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let wanted = arguments.name.trim();
    let faults = faults(wanted);
    if !faults.is_empty() {
        let near = valid_name(wanted);
        let mut failures = faults.into_iter().map(|finding| {
            let text = text::finding(&finding);
            // There is no folder yet whose name could be used.
            let hint = text.hint.split("; until then").next().unwrap_or_default();
            let hint = match &near {
                Some(near) => format!("{hint}: `gongfu skill new {near}`"),
                None => hint.to_owned(),
            };
            let message = match &finding {
                Finding::NameUnusable { reason } => reason.clone(),
                _ => text.message,
            };
            Failure::usage(finding.code(), plain(&message), hint)
        });
        // JSON has room for one.
        for failure in failures
            .by_ref()
            .take(if arguments.json { 1 } else { usize::MAX })
        {
            terminal.failure(&failure);
        }
        return Ok(Outcome::WrongUse);
    }
    let description = arguments.description.as_deref();
    let description = description.unwrap_or(placeholder::DESCRIPTION);
    let text = draft::document(wanted, description, "");
    let created = match create(arguments, wanted, &text, environment) {
        Ok(created) => created,
        Err(error) => match error.downcast::<ScaffoldError>()? {
            error @ ScaffoldError::Exists(_) => {
                let message = plain(&error.to_string());
                let hint = "edit it, or choose another name";
                return Err(Failure::new("SKILL_EXISTS", message, hint).into());
            }
            ScaffoldError::Io(folder, why) => {
                let shown = plain(&folder.to_string_lossy());
                let message = format!("{shown} can't be created: {}", disk::write_reason(&why));
                let user = match arguments.target {
                    NewTarget::User => "--in home",
                    NewTarget::Project | NewTarget::Home => "--in user",
                };
                let hint = format!(
                    "go to a folder that you may write to, or use your own: `gongfu skill new {wanted} {user}`"
                );
                return Err(Failure::new("FOLDER_UNWRITABLE", message, hint).into());
            }
        },
    };
    let clients = clients(arguments.target, &created);
    if arguments.json {
        terminal.json(&json!({
            "name": wanted,
            "path": created.folder.to_string_lossy(),
            "link": created.link.as_ref().map(|link| link.to_string_lossy()),
            "clients": clients,
        }))?;
        return Ok(Outcome::Good);
    }
    let shown = |path: &Path| plain(&path.to_string_lossy());
    let folder = shown(&created.folder);
    terminal.line(&folder)?;
    if let Some(link) = &created.link {
        terminal.note(&format!("linked for Claude Code: {}", shown(link)));
    }
    terminal.note(&if clients.is_empty() {
        "clients see it through gongfu only: gongfu client install".to_owned()
    } else {
        format!(
            "seen by {}, and through gongfu by every other client",
            clients.join(", ")
        )
    });
    if created.link.is_none() && arguments.target != NewTarget::Home {
        terminal.note("Claude Code reads only .claude/skills, and there is no .claude here");
    }
    terminal.note(&format!(
        "next: write {folder}/SKILL.md, then run gongfu skill check {folder}"
    ));
    Ok(Outcome::Good)
}

/// The reasons why a text can't be the name of a new skill.
fn faults(wanted: &str) -> Vec<Finding> {
    if let Err(error) = SkillName::new(wanted) {
        let reason = error.to_string();
        return vec![Finding::NameUnusable { reason }];
    }
    let breaks = |fault: NameFault| Finding::NameBreaksRule {
        name: wanted.to_owned(),
        fault,
    };
    let mut faults: Vec<Finding> = name::faults(wanted).into_iter().map(breaks).collect();
    faults.extend(
        name::mixed_script(wanted).map(|odd| Finding::NameMixedScript {
            name: wanted.to_owned(),
            odd,
        }),
    );
    faults
}

/// The valid name that is nearest to a text, if there is one.
fn valid_name(wanted: &str) -> Option<String> {
    let lower = wanted.to_lowercase();
    let words: Vec<&str> = lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let name = words.join("-");
    (!name.is_empty() && faults(&name).is_empty()).then_some(name)
}

fn create(
    arguments: &NewArguments,
    name: &str,
    text: &str,
    environment: &Environment,
) -> anyhow::Result<CreatedSkill> {
    let user = environment.user.as_deref();
    let base: PathBuf = match arguments.target {
        NewTarget::Home => {
            let home = wiring::home(environment)?;
            home.open()
                .with_context(|| format!("{} can't be used", home.path().display()))?;
            let folder = scaffold::create_in(&home.skills(), name, text)?;
            return Ok(CreatedSkill { folder, link: None });
        }
        NewTarget::User => user
            .context("there is no home folder; use --in project or --in home")?
            .to_owned(),
        NewTarget::Project => project::root(
            arguments.workspace.as_deref(),
            environment,
            &wiring::home(environment)?,
        )?,
    };
    Ok(scaffold::create(&base, name, text)?)
}

/// The clients that see the skill without gongfu.
fn clients(target: NewTarget, created: &CreatedSkill) -> Vec<&'static str> {
    let others: &[&str] = match target {
        NewTarget::Home => &[],
        NewTarget::User => &USER_CLIENTS,
        NewTarget::Project => &PROJECT_CLIENTS,
    };
    let claude = created.link.as_ref().map(|_| CLAUDE_CODE);
    claude.into_iter().chain(others.iter().copied()).collect()
}
