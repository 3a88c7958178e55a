//! The answers of `gongfu skill add`, for people and programs.

use std::collections::BTreeMap;
use std::path::PathBuf;

use gongfu_core::skill::SkillPath;
use gongfu_import::candidate::StagedSkill;
use gongfu_import::fetch::any::Delivery;
use gongfu_import::place::Outcome;
use gongfu_import::scope::Scope;
use gongfu_import::source::shown;
use gongfu_import::target::Targets;
use serde_json::{Value, json};

use super::super::import::kept;
use super::namesakes::Namesakes;
use crate::table::{clip, count};
use crate::terminal::{Paint, Terminal, plain};

/// The other skills, by the name that a new one shares with them.
type OfNames = BTreeMap<String, Namesakes>;

/// The most names of one kind that are shown.
const MAX_NAMES: usize = 8;
/// The most characters of a description.
const MAX_DESCRIPTION: usize = 100;

/// Lists the skills of a source.
pub(super) fn list(
    delivery: &Delivery,
    json: bool,
    terminal: &mut Terminal,
) -> anyhow::Result<Value> {
    let skills = &delivery.discovery.skills;
    let described = skills.iter().map(|skill| {
        json!({ "name": skill.name, "description": skill.description, "folder": skill.folder.as_str(), "plugin": skill.plugin, "internal": skill.is_internal })
    });
    let others = delivery.discovery.others.iter().map(SkillPath::as_str);
    let document = json!({
        "source": shown(&delivery.origin.source),
        "commit": delivery.origin.commit,
        "skills": described.collect::<Vec<_>>(),
        "others": others.collect::<Vec<_>>(),
        "plugins_elsewhere": delivery.discovery.elsewhere,
    });
    if json {
        return Ok(document);
    }
    for skill in skills {
        terminal.line(&terminal.paint(Paint::Bold, &plain(&skill.name)))?;
        terminal.line(&format!(
            "  {}",
            clip(&plain(&skill.description), Some(MAX_DESCRIPTION))
        ))?;
    }
    left_out(delivery, terminal);
    Ok(document)
}

/// Shows what would be added.
pub(super) fn show(
    delivery: &Delivery,
    staged: &[StagedSkill],
    namesakes: &OfNames,
    targets: &Targets,
    terminal: &mut Terminal,
) -> anyhow::Result<()> {
    for skill in staged {
        terminal.line(&terminal.paint(Paint::Bold, &plain(&skill.folder)))?;
        terminal.line(&format!(
            "  {}",
            clip(&plain(&skill.found.description), Some(MAX_DESCRIPTION))
        ))?;
        let files = count(skill.files.len(), "file");
        terminal.line(&format!("  {files}, {} bytes", skill.bytes()))?;
        let scripts = skill.survey.scripts.iter().map(SkillPath::as_str);
        named("scripts", scripts, terminal)?;
        named(
            "packages",
            skill.survey.packages.iter().map(String::as_str),
            terminal,
        )?;
        named(
            "hosts",
            skill.survey.hosts.iter().map(String::as_str),
            terminal,
        )?;
        named(
            "findings",
            skill.findings.iter().map(String::as_str),
            terminal,
        )?;
        if let Some(others) = namesakes.get(&skill.found.name) {
            let hidden = if others.is_distrusted {
                "hidden, until the project is trusted (gongfu trust), by"
            } else {
                "hidden by"
            };
            for (label, names) in [("hides", &others.hides), (hidden, &others.hidden_by)] {
                named(label, names.iter().map(String::as_str), terminal)?;
            }
        }
    }
    let commit = delivery
        .origin
        .commit
        .as_deref()
        .and_then(|commit| commit.get(..12));
    let at = commit.map_or_else(String::new, |commit| format!(" at {commit}"));
    let source = plain(shown(&delivery.origin.source));
    let skills = count(staged.len(), "skill");
    let shown = |folder: &PathBuf| plain(&folder.to_string_lossy());
    let folders: Vec<String> = targets.folders.iter().map(shown).collect();
    let folders = folders.join(", ");
    terminal.note(&format!("{skills} from {source}{at}, for {folders}"));
    for client in targets.links.iter().take(MAX_NAMES) {
        terminal.note(&format!("with links in {}", shown(client)));
    }
    if let Some(more) = targets.links.len().checked_sub(MAX_NAMES + 1) {
        terminal.note(&format!("and in {} more", more + 1));
    }
    left_out(delivery, terminal);
    Ok(())
}

fn named<'a>(
    label: &str,
    names: impl ExactSizeIterator<Item = &'a str>,
    terminal: &mut Terminal,
) -> anyhow::Result<()> {
    let total = names.len();
    if total == 0 {
        return Ok(());
    }
    let shown: Vec<String> = names.take(MAX_NAMES).map(plain).collect();
    let more = total.saturating_sub(MAX_NAMES);
    let rest = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    terminal.line(&format!("  {label}: {}{rest}", shown.join(", ")))?;
    Ok(())
}

fn left_out(delivery: &Delivery, terminal: &mut Terminal) {
    let others = delivery.discovery.others.len();
    if others > 0 {
        let skills = count(others, "folder");
        terminal.note(&format!(
            "{skills} with a SKILL.md elsewhere in the source, or of a name that is taken: --full-depth, --json"
        ));
    }
    let elsewhere = &delivery.discovery.elsewhere;
    for plugin in elsewhere.iter().take(MAX_NAMES) {
        let (name, source) = (plain(&plugin.name), &plugin.source);
        terminal.note(&format!(
            "plugin {name} is in another place: gongfu skill add {source}"
        ));
    }
    if let Some(more) = elsewhere.len().checked_sub(MAX_NAMES + 1) {
        terminal.note(&format!(
            "and {} more plugins in other places: --list --json",
            more + 1
        ));
    }
    for (name, why) in &delivery.refused {
        terminal.note(&format!("not taken: {}: {}", plain(name), plain(why)));
    }
}

/// Shows what was added.
pub(super) fn done(
    staged: &[StagedSkill],
    scope: &Scope,
    outcome: &Outcome,
    terminal: &mut Terminal,
) -> anyhow::Result<()> {
    kept(outcome, terminal);
    let skills = count(staged.len(), "skill");
    let lock = plain(&scope.own_lock.to_string_lossy());
    terminal.line(&format!("added {skills}; locked in {lock}"))?;
    Ok(())
}

/// The answer for programs.
pub(super) fn document(
    delivery: &Delivery,
    staged: &[StagedSkill],
    namesakes: &OfNames,
    scope: &Scope,
    outcome: Option<&Outcome>,
) -> Value {
    let alone = Namesakes::default();
    let skills = staged.iter().map(|skill| {
        let namesakes = namesakes.get(&skill.found.name).unwrap_or(&alone);
        json!({
            "name": skill.found.name,
            "folder": scope.folder(&skill.folder).to_string_lossy(),
            "files": skill.files.len(),
            "bytes": skill.bytes(),
            "digest": skill.digest.to_string(),
            "scripts": skill.survey.scripts,
            "packages": skill.survey.packages,
            "hosts": skill.survey.hosts,
            "findings": skill.findings,
            "hides": namesakes.hides,
            "hidden_by": namesakes.hidden_by,
        })
    });
    let kept = outcome.into_iter().flat_map(|outcome| &outcome.kept);
    let kept = kept.map(|(_, kept)| kept.to_string_lossy());
    json!({
        "source": shown(&delivery.origin.source),
        "commit": delivery.origin.commit,
        "scope": scope.kind.as_str(),
        "lock": scope.own_lock.to_string_lossy(),
        "added": outcome.is_some(),
        "skills": skills.collect::<Vec<_>>(),
        "kept": kept.collect::<Vec<_>>(),
    })
}
