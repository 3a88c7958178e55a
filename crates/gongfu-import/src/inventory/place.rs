//! The folders of skills of a machine.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::{PluginCopy, Territory};
use crate::agents::{AGENTS, SHARED, expanded};
use crate::scope::ScopeKind;

/// Folders in a home that are read besides those of the agents' table.
const HOME: [&str; 7] = [
    "~/.codex/skills",
    "~/.cursor/skills",
    "~/.gemini/skills",
    "~/.copilot/skills",
    "$CODEX_HOME/skills",
    "$XDG_CONFIG_HOME/opencode/skill",
    "$XDG_CONFIG_HOME/opencode/skills",
];
/// The same in a project.
const PROJECT: [&str; 5] = [
    ".github/skills",
    ".codex/skills",
    ".cursor/skills",
    ".opencode/skill",
    ".opencode/skills",
];

/// A folder of skills.
#[derive(Debug, Clone)]
pub(super) struct SkillPlace {
    pub(super) path: PathBuf,
    pub(super) scope: ScopeKind,
    /// The plugin that has it.
    pub(super) plugin: Option<PluginCopy>,
    /// True if the folder may be a skill itself.
    pub(super) is_skill: bool,
}

/// The folders that clients read, the shared ones first.
pub(super) fn places(territory: Territory<'_>) -> Vec<SkillPlace> {
    let machine = territory.machine;
    let mut known = HashSet::new();
    let mut places = Vec::new();
    let mut add = |path: PathBuf, scope| {
        if known.insert(path.clone()) {
            places.push(SkillPlace {
                path,
                scope,
                plugin: None,
                is_skill: false,
            });
        }
    };
    // The folders that gongfu reads by itself: of equal copies, that one counts.
    for folder in ["~/.agents/skills", "$CLAUDE_CONFIG_DIR/skills"] {
        add(expanded(folder, machine, Path::new("")), ScopeKind::User);
    }
    for agent in &AGENTS {
        if let Some(folder) = agent.user_folder(machine) {
            add(folder, ScopeKind::User);
        }
    }
    for folder in HOME {
        let folder = expanded(folder, machine, Path::new(""));
        add(folder, ScopeKind::User);
    }
    if let Some(project) = territory.project {
        for folder in [SHARED, ".claude/skills"] {
            add(project.join(folder), ScopeKind::Project);
        }
        let agents = AGENTS.iter().map(|agent| agent.project);
        for folder in agents.chain(PROJECT) {
            add(project.join(folder), ScopeKind::Project);
        }
    }
    places
}
