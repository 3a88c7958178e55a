//! Finds the folders with a document of a skill in folders of skills.

use std::path::{Path, PathBuf};

use gongfu_core::skill::SkillPath;
use gongfu_files::disk::{self, EntryKind, Root};

use super::copy::document_in;
use super::place::SkillPlace;
use super::reading::unreadable;
use super::{InventoryProblem, Territory};
use crate::scope::ScopeKind;

/// The most levels of folders above a skill.
const MAX_DEPTH: usize = 4;
/// The most folders of a place that are listed.
const MAX_FOLDERS: usize = 20_000;
/// Folders that are searched no further.
const SKIPPED: [&str; 3] = ["node_modules", ".git", "__pycache__"];

/// A folder with a document.
#[derive(Debug, Clone)]
pub(super) struct FoundFolder {
    /// Its path, as the place has it.
    pub(super) path: PathBuf,
    /// Its real path.
    pub(super) real: PathBuf,
    /// The place, by its number.
    pub(super) place: usize,
    /// True if it is a link itself.
    pub(super) is_link: bool,
}

impl FoundFolder {
    /// The order of the paths of one folder: its own, one below a folder that is a link, a link.
    pub(super) fn rank(&self) -> u8 {
        match (self.is_link, self.path == self.real) {
            (false, true) => 0,
            (false, false) => 1,
            (true, _) => 2,
        }
    }
}

/// The folders with a document in all places.
pub(super) fn find(
    places: &[SkillPlace],
    territory: Territory<'_>,
    problems: &mut Vec<InventoryProblem>,
) -> Vec<FoundFolder> {
    let home = disk::real_outside(territory.machine.home);
    let project = territory.project.map(disk::real_outside);
    let mut found = Vec::new();
    for (number, place) in places.iter().enumerate() {
        if disk::kind_outside(&place.path) != Some(EntryKind::Folder) {
            continue;
        }
        let root = match Root::open(&place.path) {
            Ok(root) => root,
            Err(error) => {
                problems.push(InventoryProblem::of(&place.path, unreadable(&error)));
                continue;
            }
        };
        if let Some(why) = refusal(root.path(), place.scope, &home, project.as_deref()) {
            problems.push(InventoryProblem::of(&place.path, why.to_owned()));
            continue;
        }
        let mut search = Search {
            root: &root,
            place,
            number,
            found: &mut found,
            problems,
            listed: 0,
        };
        search.folder(&SkillPath::root(), 0);
    }
    found
}

/// The reason why a place isn't searched: a link makes it another one.
fn refusal(
    real: &Path,
    scope: ScopeKind,
    home: &Path,
    project: Option<&Path>,
) -> Option<&'static str> {
    if home.starts_with(real) {
        return Some("a link makes it the whole home or more; it is not searched");
    }
    let is_outside = project.is_some_and(|project| !real.starts_with(project));
    let leads_out = scope == ScopeKind::Project && is_outside;
    leads_out.then_some("a link leads outside the project; its skills aren't listed")
}

struct Search<'a> {
    root: &'a Root,
    place: &'a SkillPlace,
    number: usize,
    found: &'a mut Vec<FoundFolder>,
    problems: &'a mut Vec<InventoryProblem>,
    listed: usize,
}

impl Search<'_> {
    /// Searches a folder; nothing is searched inside of a skill.
    fn folder(&mut self, path: &SkillPath, depth: usize) {
        let may_be_skill = depth > 0 || self.place.is_skill;
        if may_be_skill && document_in(self.root, path).is_some() {
            let real = self.root.path().join(path.as_str());
            self.add(path, real.components().collect(), false);
            return;
        }
        if depth == MAX_DEPTH {
            return;
        }
        self.listed += 1;
        if self.listed > MAX_FOLDERS {
            if self.listed == MAX_FOLDERS + 1 {
                let what = format!("more than {MAX_FOLDERS} folders; the rest was not searched");
                let problem = InventoryProblem::of(&self.place.path, what);
                self.problems.push(problem);
            }
            return;
        }
        let entries = match self.root.list(path) {
            Ok(entries) => entries,
            Err(error) => {
                let folder = self.place.path.join(path.as_str());
                self.problems
                    .push(InventoryProblem::of(&folder, unreadable(&error)));
                return;
            }
        };
        for entry in entries {
            if SKIPPED.contains(&entry.name.as_str()) {
                continue;
            }
            let child = path.join(&entry.name).ok();
            let Some(child) = child.filter(|_| entry.kind != EntryKind::Unnameable) else {
                let folder = self.place.path.join(path.as_str());
                let what = format!("{:?} is not a name that a lock can have", entry.name);
                self.problems.push(InventoryProblem::of(&folder, what));
                continue;
            };
            match entry.kind {
                EntryKind::Folder => self.folder(&child, depth + 1),
                EntryKind::Link => self.link(&child, depth),
                EntryKind::File | EntryKind::Special(_) | EntryKind::Unnameable => {}
            }
        }
    }

    /// Looks at what a link leads to, and no further.
    fn link(&mut self, path: &SkillPath, depth: usize) {
        let shown = self.place.path.join(path.as_str());
        let Some(real) = self.root.real(path) else {
            // Deeper, it needn't have been meant as a skill.
            if depth == 0 {
                let what = "this link leads nowhere".to_owned();
                self.problems.push(InventoryProblem::of(&shown, what));
            }
            return;
        };
        if disk::kind_outside(&real) != Some(EntryKind::Folder) {
            return;
        }
        let root = Root::open(&real);
        if root.is_ok_and(|root| document_in(&root, &SkillPath::root()).is_some()) {
            self.add(path, real, true);
        }
    }

    fn add(&mut self, path: &SkillPath, real: PathBuf, is_link: bool) {
        let place = self.place.path.join(path.as_str());
        self.found.push(FoundFolder {
            path: place.components().collect(),
            real,
            place: self.number,
            is_link,
        });
    }
}
