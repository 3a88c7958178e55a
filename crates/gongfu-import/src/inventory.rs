//! The skills of a machine: where they are, where they come from as far as anything says so, and which are the same.
//!
//! Reads files and writes none. Locks and manifests of other programs may be of any form: what can't be understood is a
//! problem, and the rest is listed all the same.

mod clone;
mod copy;
mod folder;
mod origin;
mod place;
mod plugin;
mod provenance;
mod reading;
mod standing;
mod unlocked;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use gongfu_core::skill::{Digest, SkillPath};
use gongfu_files::disk::Root;

use crate::agents::Machine;
use crate::lock::own::LockedFile;
use crate::scope::{Scope, ScopeKind};
use copy::SkillFolder;
use place::SkillPlace;

pub(crate) use clone::CLONE;
pub use origin::KnownOrigin;
pub use standing::Standing;
pub use unlocked::{UnlockedSkill, unlocked};

/// The most skills that are listed.
const MAX_SKILLS: usize = 20_000;

/// The skills of a machine, and what is known of them.
#[derive(Debug, Default)]
pub struct Inventory {
    /// The skills, in the order of the places where they are.
    pub skills: Vec<FoundCopy>,
    /// The files that say where skills come from.
    pub sources: Vec<KnownSource>,
    /// Files and folders that couldn't be understood, read, or found.
    pub problems: Vec<InventoryProblem>,
}

/// A skill's folder on this machine.
#[derive(Debug, Clone)]
pub struct FoundCopy {
    /// The name that it declares, else its folder's.
    pub name: String,
    /// The place of the lock that it belongs to: the person's or the project's.
    pub scope: ScopeKind,
    /// Its key in gongfu's lock.
    pub key: String,
    /// Its folder, as it is reached in the place.
    pub folder: PathBuf,
    /// The folders that lead to it, its own first.
    pub places: Vec<PathBuf>,
    /// The folder of skills that it is in.
    pub root: PathBuf,
    /// The plugin that brought it.
    pub plugin: Option<PluginCopy>,
    /// The folder that it really is, where a link leads to one that no client reads.
    pub target: Option<PathBuf>,
    /// The source, where anything says so.
    pub origin: Option<KnownOrigin>,
    /// Its files; none where they can't be read, or are more than a lock should have.
    pub content: Option<CopyContent>,
    /// The links in it.
    pub links: Vec<String>,
    /// True if gongfu's lock has it.
    pub is_locked: bool,
    /// The agreement with what its lock says.
    pub change: LockAgreement,
    /// Its rank among skills of its name or content.
    pub standing: Standing,
}

impl FoundCopy {
    /// Returns true if a program uses it: a plugin's cache may have others.
    pub fn is_in_use(&self) -> bool {
        let plugin = self.plugin.as_ref();
        plugin.is_none_or(|plugin| plugin.state != PluginState::Cached)
    }
}

/// A plugin, as its client has it.
#[derive(Debug, Clone)]
pub struct PluginCopy {
    /// Its name, with that of its marketplace: `NAME@MARKETPLACE`.
    pub name: String,
    /// Its state.
    pub state: PluginState,
    /// The source, where the marketplace says it.
    pub origin: Option<KnownOrigin>,
}

/// The state of a plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PluginState {
    /// Its client has it installed.
    Installed,
    /// It is installed, and disabled in the client's settings.
    Disabled,
    /// It lies in a cache, and nothing says that it is installed: another version, or a rest.
    Cached,
    /// The project itself has it, for others to install.
    Own,
}

/// The files of a copy.
#[derive(Debug, Clone)]
pub struct CopyContent {
    /// The files.
    pub files: BTreeMap<SkillPath, LockedFile>,
    /// Their digest together.
    pub digest: Digest,
}

/// The agreement of a copy with its lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockAgreement {
    /// Nothing says what was installed, or it can't be made again.
    Unknown,
    /// It is what was installed.
    Same,
    /// It differs. That alone proves no change: other line endings or ignored files do it, too.
    Differs,
}

/// A file that says where skills come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownSource {
    /// The kind: `lock`, `marketplace`, `plugins` or `package`.
    pub kind: &'static str,
    /// The name, where it has one.
    pub name: Option<String>,
    /// The file.
    pub path: PathBuf,
    /// The place that it comes from, where it says so.
    pub from: Option<String>,
    /// The number of its entries.
    pub entries: usize,
}

/// Something of a machine that isn't as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InventoryProblem {
    /// The file or folder.
    pub path: PathBuf,
    /// The line of the file, from 1.
    pub line: Option<usize>,
    /// A description. Parts of it may come from a stranger.
    pub what: String,
    /// True if the description has the path already.
    is_whole: bool,
}

impl InventoryProblem {
    fn of(path: &Path, what: String) -> Self {
        Self {
            path: path.to_owned(),
            line: None,
            what,
            is_whole: false,
        }
    }

    fn at(path: &Path, line: usize, what: String) -> Self {
        Self {
            line: Some(line),
            ..Self::of(path, what)
        }
    }

    fn whole(path: &Path, what: String) -> Self {
        Self {
            is_whole: true,
            ..Self::of(path, what)
        }
    }

    /// One sentence with the file and the line.
    pub fn text(&self) -> String {
        match (self.is_whole, self.line) {
            (true, _) => self.what.clone(),
            (_, Some(line)) => format!("{}, line {line}: {}", self.path.display(), self.what),
            (_, None) => format!("{}: {}", self.path.display(), self.what),
        }
    }
}

/// A machine and a project whose skills are wanted.
#[derive(Clone, Copy)]
pub struct Territory<'a> {
    /// The machine.
    pub machine: Machine<'a>,
    /// The folder of `XDG_STATE_HOME`.
    pub state: Option<&'a Path>,
    /// The root of the project.
    pub project: Option<&'a Path>,
}

impl Territory<'_> {
    /// The place of a lock: the person's home, or the project.
    pub fn scope(&self, kind: ScopeKind) -> Scope {
        match (kind, self.project) {
            (ScopeKind::Project, Some(project)) => Scope::project(project),
            _ => Scope::user(self.machine.home, self.state),
        }
    }
}

impl Inventory {
    /// Lists the skills of a machine, and those of a project where one is named.
    pub fn of(territory: Territory<'_>) -> Self {
        let mut inventory = Self::default();
        let (plugins, marketplaces) = plugin::plugins(territory, &mut inventory.problems);
        inventory.sources.extend(marketplaces);
        let mut places = place::places(territory);
        for plugin in plugins {
            places.extend(plugin.places(&mut inventory.problems));
        }
        let found = folder::find(&places, territory, &mut inventory.problems);
        let mut witnesses = provenance::Witnesses::read(
            territory,
            &places,
            &mut inventory.problems,
            &mut inventory.sources,
        );
        for group in groups(found) {
            if inventory.skills.len() == MAX_SKILLS {
                let what = format!("there are more than {MAX_SKILLS} skills; the rest is left out");
                let home = territory.machine.home;
                inventory.problems.push(InventoryProblem::of(home, what));
                break;
            }
            let copy = copy_of(
                &group,
                &places,
                territory,
                &mut witnesses,
                &mut inventory.problems,
            );
            inventory.skills.extend(copy);
        }
        witnesses.report_absent(&mut inventory.problems);
        standing::rank(&mut inventory.skills);
        inventory
    }
}

/// The paths of one folder, the one that is no link first.
struct Group {
    real: PathBuf,
    paths: Vec<folder::FoundFolder>,
}

/// Puts the paths of one folder together.
fn groups(found: Vec<folder::FoundFolder>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut known: HashMap<PathBuf, usize> = HashMap::new();
    for path in found {
        if let Some(group) = known.get(&path.real).and_then(|at| groups.get_mut(*at)) {
            group.paths.push(path);
            continue;
        }
        known.insert(path.real.clone(), groups.len());
        groups.push(Group {
            real: path.real.clone(),
            paths: vec![path],
        });
    }
    for group in &mut groups {
        // The sort keeps the order of the places.
        group.paths.sort_by_key(folder::FoundFolder::rank);
    }
    groups
}

fn copy_of(
    group: &Group,
    places: &[SkillPlace],
    territory: Territory<'_>,
    witnesses: &mut provenance::Witnesses,
    problems: &mut Vec<InventoryProblem>,
) -> Option<FoundCopy> {
    let first = group.paths.first()?;
    let place = places.get(first.place)?;
    let scope = territory.scope(place.scope);
    let Some(key) = key(&first.path, &scope) else {
        let what = "its path is not UTF-8, so that a lock can't have it".to_owned();
        problems.push(InventoryProblem::of(&first.path, what));
        return None;
    };
    let mut paths: Vec<PathBuf> = Vec::new();
    for path in &group.paths {
        if !paths.contains(&path.path) {
            paths.push(path.path.clone());
        }
    }
    let read = Root::open(&group.real)
        .map_err(|error| reading::unreadable(&error))
        .and_then(|root| SkillFolder::read(&root));
    let folder = match read {
        Ok(folder) => Some(folder),
        Err(why) => {
            problems.push(InventoryProblem::of(&first.path, why));
            None
        }
    };
    let own_name = first.path.file_name().unwrap_or_default().to_string_lossy();
    let declared = folder.as_ref().and_then(|folder| folder.name.clone());
    let mut copy = FoundCopy {
        name: declared.unwrap_or_else(|| own_name.into_owned()),
        scope: place.scope,
        key,
        folder: first.path.clone(),
        places: paths,
        root: place.path.clone(),
        plugin: place.plugin.clone(),
        target: first.is_link.then(|| group.real.clone()),
        origin: None,
        content: folder.as_ref().map(|folder| CopyContent {
            digest: folder.digest(),
            files: folder.files.clone(),
        }),
        links: folder
            .as_ref()
            .map(|folder| folder.links.clone())
            .unwrap_or_default(),
        is_locked: false,
        change: LockAgreement::Unknown,
        standing: Standing::Only,
    };
    if let (Some(link), None) = (copy.links.first(), &copy.target) {
        let what =
            format!("the link `{link}` in it can't be locked; `gongfu skill verify` names it");
        problems.push(InventoryProblem::of(&copy.folder, what));
    }
    witnesses.ask(&mut copy, folder.as_ref(), &group.real, place);
    Some(copy)
}

/// The key of a folder in a lock: its name among the installed ones, its path below the base, or its whole path.
fn key(folder: &Path, scope: &Scope) -> Option<String> {
    let name = folder.file_name()?.to_str()?;
    if folder.parent() == Some(scope.skills.as_path()) && !name.starts_with('.') {
        return Some(name.to_owned());
    }
    let below = folder.strip_prefix(&scope.base);
    below.unwrap_or(folder).to_str().map(str::to_owned)
}

#[cfg(test)]
mod tests;
