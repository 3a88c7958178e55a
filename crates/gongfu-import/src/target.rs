//! The folders that an installation, a list or a removal is about, by the rules of `npx skills`.
//!
//! Looks at which folders are there, and changes nothing.

use std::path::{Path, PathBuf};

use crate::agents::{AGENTS, Agent, Machine};
use crate::candidate::folder_name;
use crate::lock::own::OwnLock;
use crate::place::{is_there, leads_to};
use crate::scope::{Scope, ScopeKind};

/// The agent whose folder in a project is made although the project doesn't use it yet.
pub const ALWAYS: &str = "claude-code";

/// The folders that get a skill.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Targets {
    /// Folders that get its files.
    pub folders: Vec<PathBuf>,
    /// Folders that get a link to the shared one.
    pub links: Vec<PathBuf>,
}

/// The agents that a person chose.
#[derive(Debug, Clone)]
pub struct AgentChoice {
    agents: Vec<&'static Agent>,
    /// True if a person named them, so that their folders are made where they are missing.
    is_named: bool,
}

impl AgentChoice {
    /// The agents of these names; `*` means all. Without a name those that are installed, else all.
    pub fn of(names: &[String], machine: Machine<'_>, project: &Path) -> Self {
        let is_all = names.iter().any(|name| name == "*");
        let mut agents: Vec<&Agent> = if names.is_empty() {
            installed(machine, project)
        } else {
            let named = |agent: &&Agent| is_all || names.iter().any(|name| name == agent.id);
            AGENTS.iter().filter(named).collect()
        };
        if names.is_empty() {
            let is_any = !agents.is_empty();
            let more = AGENTS.iter().filter(|agent| !is_any || agent.is_shared());
            agents.extend(more);
        }
        Self {
            agents,
            is_named: !is_all && !names.is_empty(),
        }
    }

    /// Returns true for a chosen agent.
    pub fn has(&self, agent: &Agent) -> bool {
        self.agents.iter().any(|chosen| chosen.id == agent.id)
    }
}

/// The agents that seem to be installed.
fn installed(machine: Machine<'_>, project: &Path) -> Vec<&'static Agent> {
    let agents = AGENTS.iter();
    agents
        .filter(|agent| agent.is_installed(machine, project))
        .collect()
}

impl Targets {
    /// The shared folder of a scope, with links in the folders of agents.
    pub fn shared(scope: &Scope, links: Vec<PathBuf>) -> Self {
        Self {
            folders: vec![scope.skills.clone()],
            links,
        }
    }

    /// The folders of agents: links, or copies where a person wants them or all agents have one folder.
    pub fn of(scope: &Scope, choice: &AgentChoice, copy: bool, machine: Machine<'_>) -> Self {
        let agents = &choice.agents;
        let is_one = agents
            .iter()
            .all(|agent| Some(agent.project) == agents.first().map(|first| first.project));
        if copy || is_one {
            let folders = agents
                .iter()
                .copied()
                .filter_map(|agent| folder(agent, scope, machine));
            return Self {
                folders: unique(folders),
                links: Vec::new(),
            };
        }
        let is_linked = |agent: &&Agent| {
            let is_made = choice.is_named || agent.id == ALWAYS || scope.kind != ScopeKind::Project;
            !agent.is_shared() && (is_made || agent.is_used_in(&scope.base))
        };
        let linked = agents.iter().copied().filter(is_linked);
        Self::shared(
            scope,
            unique(linked.filter_map(|agent| folder(agent, scope, machine))),
        )
    }
}

fn unique(folders: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut unique = Vec::new();
    for folder in folders {
        if !unique.contains(&folder) {
            unique.push(folder);
        }
    }
    unique
}

/// The folder of an agent in a project or a home, where it has one there.
pub fn folder(agent: &Agent, scope: &Scope, machine: Machine<'_>) -> Option<PathBuf> {
    match scope.kind {
        ScopeKind::Project => Some(scope.base.join(agent.project)),
        ScopeKind::User => {
            let own = agent.user_folder(machine)?;
            Some(if agent.is_shared() {
                scope.skills.clone()
            } else {
                own
            })
        }
        ScopeKind::Home => None,
    }
}

/// The parts of a skill that a removal takes away.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Removal {
    /// Keys of gongfu's lock.
    pub keys: Vec<String>,
    /// Links: the key of the skill, and the folder of an agent.
    pub links: Vec<(String, PathBuf)>,
    /// False if an agent that isn't meant has it still.
    pub is_whole: bool,
}

impl Removal {
    /// Removes a skill from the chosen agents. The shared folder goes, too, unless another installed agent has the skill.
    pub fn of(
        name: &str,
        scope: &Scope,
        lock: &OwnLock,
        choice: &AgentChoice,
        machine: Machine<'_>,
        project: &Path,
    ) -> Self {
        let name = folder_name(name);
        let shared = scope.skills.join(&name);
        let mut removal = Self::default();
        let folders = choice.agents.iter();
        let folders = folders.filter_map(|agent| folder(agent, scope, machine));
        for folder in unique(folders) {
            let place = folder.join(&name);
            if place == shared || !is_there(&place) {
                continue;
            }
            if leads_to(&place, &shared) {
                removal.links.push((name.clone(), folder));
            } else {
                removal.keys.push(scope.key(&folder, &name));
            }
        }
        let others = installed(machine, project).into_iter();
        let mut others = others.filter(|agent| !choice.has(agent));
        removal.is_whole = !others.any(|agent| {
            folder(agent, scope, machine).is_some_and(|folder| is_there(&folder.join(&name)))
        });
        if removal.is_whole && (is_there(&shared) || lock.skills.contains_key(&name)) {
            removal.keys.push(name);
        }
        removal
    }
}

#[cfg(test)]
mod tests;
