//! `gongfu skills list`: the skills in the folders of agents, and where they come from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gongfu_core::skill::{SKILL_FILE, SkillPath, document};
use gongfu_files::disk::Root;
use gongfu_import::agents::AGENTS;
use gongfu_import::candidate::folder_name;
use gongfu_import::lock::npx::NpxEntry;
use gongfu_import::lock::own::OwnLock;
use gongfu_import::scope::ScopeKind;
use gongfu_import::target::folder;
use serde_json::{Value, json};

use super::Place;
use crate::cli::SkillsListArguments;
use crate::command::Outcome;
use crate::command::skill::import::failure;
use crate::environment::Environment;
use crate::table::count;
use crate::terminal::{Paint, Terminal, plain};
use crate::wiring;

/// The longest SKILL.md that is read, in bytes.
const MAX_DOCUMENT: u64 = 4 * 1024 * 1024;
/// The most agents that are named.
const MAX_AGENTS: usize = 5;

/// A skill in one or more folders.
struct ListEntry {
    path: PathBuf,
    agents: Vec<&'static str>,
}

pub(super) fn run(
    arguments: &SkillsListArguments,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let home = wiring::home(environment)?;
    let place = Place::of(&arguments.agents, environment, &home)?;
    let scope = &place.scope;
    let mut listed: BTreeMap<String, ListEntry> = BTreeMap::new();
    let is_all = arguments.agents.agents.is_empty();
    let mut add = |folder: &Path, agent: Option<&'static str>| {
        for (name, path) in skills(folder) {
            let one = listed.entry(name).or_insert_with(|| ListEntry {
                path,
                agents: Vec::new(),
            });
            one.agents.extend(agent);
        }
    };
    if is_all {
        add(&scope.skills, None);
    }
    for agent in AGENTS
        .iter()
        .filter(|agent| is_all || place.choice.has(agent))
    {
        // Many agents read the shared folder: those that are installed are named.
        let is_used = !is_all || !agent.is_shared();
        if let Some(folder) = folder(agent, scope, place.machine)
            && (is_used || agent.is_installed(place.machine, place.current))
        {
            add(&folder, Some(agent.title));
        }
    }
    let sources = sources(&place)?;
    let is_global = scope.kind == ScopeKind::User;
    if arguments.json {
        let entries = listed.iter().map(|(name, one)| {
            let source = sources.get(&folder_name(name));
            json!({
                "name": name,
                "path": one.path.to_string_lossy(),
                "scope": if is_global { "global" } else { "project" },
                "agents": one.agents,
                "source": source.map(|source| &source.source),
                "sourceUrl": source.and_then(|source| source.source_url.as_ref()),
                "sourceType": source.map(|source| &source.source_type),
            })
        });
        terminal.json(&entries.collect::<Vec<Value>>())?;
        return Ok(Outcome::Good);
    }
    for (name, one) in &listed {
        let path = terminal.paint(Paint::Dim, &plain(&one.path.to_string_lossy()));
        let name_shown = terminal.paint(Paint::Bold, &plain(name));
        terminal.line(&format!("{name_shown}  {path}"))?;
        let mut agents = one
            .agents
            .iter()
            .take(MAX_AGENTS)
            .copied()
            .collect::<Vec<_>>()
            .join(", ");
        if let Some(more) = one.agents.len().checked_sub(MAX_AGENTS + 1) {
            agents = format!("{agents} and {} more", more + 1);
        }
        let source = sources.get(&folder_name(name));
        let source = source.map_or_else(|| "unknown".to_owned(), |source| plain(&source.source));
        let agents = if agents.is_empty() {
            "none installed"
        } else {
            &agents
        };
        terminal.line(&format!("  source: {source}; agents: {agents}"))?;
    }
    let place = if is_global { "home" } else { "folder" };
    let other = if is_global { "without -g" } else { "with -g" };
    terminal.note(&format!(
        "{} in this {place}; {other} the others are listed",
        count(listed.len(), "skill")
    ));
    Ok(Outcome::Good)
}

/// The skills of a folder: their names and paths.
fn skills(folder: &Path) -> Vec<(String, PathBuf)> {
    let Ok(root) = Root::open(folder) else {
        return Vec::new();
    };
    let entries = root.dir().entries().into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut found: Vec<(String, PathBuf)> = names
        .filter_map(|name| {
            let path = folder.join(&name);
            let file = SkillPath::new(SKILL_FILE).ok()?;
            let content = Root::open(&path).ok()?.read(&file, MAX_DOCUMENT).ok()?;
            let document = document::parse(&content.bytes, &name)?;
            let declared = document.frontmatter.get("name").and_then(Value::as_str);
            let called = declared.map_or(name, str::to_owned);
            Some((called, path))
        })
        .collect();
    found.sort();
    found
}

/// The sources that the locks name, by the folders of the skills.
fn sources(place: &Place<'_>) -> anyhow::Result<BTreeMap<String, NpxEntry>> {
    let scope = &place.scope;
    let own = OwnLock::read(&scope.own_lock).map_err(failure)?;
    let own = own.skills.into_iter().map(|(key, locked)| {
        let name = key.rsplit('/').next().unwrap_or_default().to_owned();
        let entry = NpxEntry {
            source: locked.source,
            source_type: json!(locked.kind).as_str().unwrap_or_default().to_owned(),
            ..NpxEntry::default()
        };
        (name, entry)
    });
    let mut sources: BTreeMap<String, NpxEntry> = own.collect();
    if let Some((kind, path)) = &scope.npx_lock {
        let lock = kind.read(path).map_err(failure)?;
        let entries = kind.entries(&lock).map_err(failure)?.into_iter();
        sources.extend(entries.map(|(name, entry)| (folder_name(&name), entry)));
    }
    Ok(sources)
}
