//! The folders of a root as they were last walked: they tell what an event concerns.
//!
//! Every folder of a watched root has an entry, so it is small: the path, shared with the watches, and
//! a few numbers.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use gongfu_core::skill::{SKILL_FILE, SKILL_FILE_LOWER, SkillPath};

use crate::walk::{Counts, Limits, Walk, WalkFolder, is_ignored};
use crate::watch::Mark;
use gongfu_files::disk::EntryKind;

/// Every folder below a root.
#[derive(Debug, Default)]
pub(super) struct Tree {
    folders: BTreeMap<Arc<str>, Folder>,
    /// The use of the limits.
    counts: Counts,
    /// The number of folders with links.
    linked: usize,
    /// True if a limit cut something off.
    pub(super) cut: bool,
}

#[derive(Debug, Clone, Copy)]
struct Folder {
    mark: Option<Mark>,
    entries: u32,
    is_skill: bool,
    in_skill: bool,
    linked: bool,
}

/// A part of a root that has to be looked at again.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// A folder with everything below it.
    Below(SkillPath),
    /// A folder outside of skills alone.
    Alone(SkillPath),
}

impl Folder {
    fn new(walked: &WalkFolder, mark: Option<Mark>) -> Self {
        let is_link = |kind: EntryKind| kind == EntryKind::Link;
        Self {
            mark,
            entries: u32::try_from(walked.entries.len()).unwrap_or(u32::MAX),
            is_skill: walked.skill_file().is_some(),
            in_skill: walked.in_skill,
            linked: walked.entries.iter().any(|entry| is_link(entry.kind)),
        }
    }

    /// Its use of the limits.
    fn counts(self) -> Counts {
        // A skill counts as a folder outside of skills, even inside of another one: the count is
        // high rather than low.
        Counts {
            folders: usize::from(!self.in_skill || self.is_skill),
            entries: self.entries as usize,
        }
    }
}

impl Tree {
    fn insert(&mut self, path: Arc<str>, folder: Folder) {
        let counts = folder.counts();
        self.counts.folders += counts.folders;
        self.counts.entries += counts.entries;
        self.linked += usize::from(folder.linked);
        if let Some(before) = self.folders.insert(path, folder) {
            self.subtract(before);
        }
    }

    fn subtract(&mut self, folder: Folder) {
        let counts = folder.counts();
        self.counts.folders -= counts.folders;
        self.counts.entries -= counts.entries;
        self.linked -= usize::from(folder.linked);
    }

    /// The folders at and below a path.
    fn below(&self, path: &str) -> impl Iterator<Item = (&Arc<str>, &Folder)> {
        let (from, to) = (format!("{path}/"), format!("{path}0"));
        let itself = self.folders.get_key_value(path);
        let all = path.is_empty();
        let range = if all {
            (Bound::Excluded(""), Bound::Unbounded)
        } else {
            // `0` is the character behind `/`.
            (Bound::Included(from.as_str()), Bound::Excluded(to.as_str()))
        };
        itself
            .into_iter()
            .chain(self.folders.range::<str, _>(range))
    }

    /// Replaces everything at and below a path by a walk; answers the marks of folders that are gone.
    pub(super) fn replace(&mut self, path: &str, walk: &Walk) -> Vec<(Arc<str>, Mark)> {
        let before: Vec<Arc<str>> = self.below(path).map(|(key, _)| Arc::clone(key)).collect();
        let mut old: BTreeMap<Arc<str>, Folder> = BTreeMap::new();
        for key in before {
            if let Some(folder) = self.folders.remove(&*key) {
                self.subtract(folder);
                old.insert(key, folder);
            }
        }
        let (was, is) = (old.contains_key(path), !walk.folders.is_empty());
        if was != is
            && let Some((above, _)) = path
                .rsplit_once('/')
                .or_else(|| (!path.is_empty()).then_some(("", "")))
            && let Some(parent) = self.folders.get_mut(above)
        {
            let (entries, total) = (&mut parent.entries, &mut self.counts.entries);
            (*entries, *total) = if is {
                (entries.saturating_add(1), *total + 1)
            } else {
                (entries.saturating_sub(1), total.saturating_sub(1))
            };
        }
        for walked in &walk.folders {
            let (key, mark) = match old.remove_entry(walked.path.as_str()) {
                Some((key, folder)) => (key, folder.mark),
                None => (walked.path.as_str().into(), None),
            };
            self.insert(key, Folder::new(walked, mark));
        }
        old.into_iter()
            .filter_map(|(key, folder)| Some((key, folder.mark?)))
            .collect()
    }

    /// Replaces one folder.
    pub(super) fn replace_alone(&mut self, walked: &WalkFolder) {
        if let Some((key, folder)) = self.folders.get_key_value(walked.path.as_str()) {
            let (key, mark) = (Arc::clone(key), folder.mark);
            self.insert(key, Folder::new(walked, mark));
        }
    }

    /// The folders at and below a path that aren't watched.
    pub(super) fn unwatched(&self, path: &str) -> Vec<Arc<str>> {
        self.below(path)
            .filter(|(_, folder)| folder.mark.is_none())
            .map(|(key, _)| Arc::clone(key))
            .collect()
    }

    /// Sets the mark of a folder that is watched now.
    pub(super) fn mark(&mut self, path: &str, mark: Mark) {
        if let Some(folder) = self.folders.get_mut(path) {
            folder.mark = Some(mark);
        }
    }

    /// Removes the marks at and below a path; answers them.
    pub(super) fn unmark(&mut self, path: &str) -> Vec<(Arc<str>, Mark)> {
        let marked: Vec<(Arc<str>, Mark)> = self
            .below(path)
            .filter_map(|(key, folder)| Some((Arc::clone(key), folder.mark?)))
            .collect();
        for (key, _) in &marked {
            if let Some(folder) = self.folders.get_mut(key) {
                folder.mark = None;
            }
        }
        marked
    }

    /// The number of watched folders.
    pub(super) fn marked(&self) -> usize {
        self.folders
            .values()
            .filter(|folder| folder.mark.is_some())
            .count()
    }

    /// Returns whether a limit is reached, so that only a whole walk can count.
    pub(super) fn exceeds(&self, limits: Limits) -> bool {
        self.counts.folders >= limits.folders || self.counts.entries >= limits.entries
    }

    /// The outermost skill that a folder is or lies in.
    fn skill_of(&self, folder: &str) -> Option<SkillPath> {
        let is_skill = |path: &str| self.folders.get(path).is_some_and(|folder| folder.is_skill);
        let ends = folder.match_indices('/').map(|(at, _)| at);
        let above = std::iter::once(0).chain(ends).chain([folder.len()]);
        above
            .filter_map(|end| folder.get(..end))
            .find(|path| is_skill(path))
            .and_then(|path| SkillPath::new(path).ok())
    }

    /// The parts that an event in a folder concerns.
    pub(super) fn parts(
        &self,
        folder: &str,
        name: Option<&str>,
        is_folder: bool,
        moved: bool,
    ) -> Vec<Part> {
        if let Some(skill) = self.skill_of(folder) {
            return vec![Part::Below(skill)];
        }
        let Ok(here) = SkillPath::new(folder) else {
            return Vec::new();
        };
        let Some(name) = name.filter(|name| *name != SKILL_FILE && *name != SKILL_FILE_LOWER)
        else {
            return vec![Part::Below(here)];
        };
        let child = here.join(name).ok();
        let known = child.filter(|child| {
            let is_known = self.folders.contains_key(child.as_str());
            is_known || (is_folder && moved && !is_ignored(name))
        });
        let below = known.map(Part::Below);
        let alone = (!is_folder).then_some(Part::Alone(here));
        below.into_iter().chain(alone).collect()
    }

    /// The parts that depend on the target of a link, which nothing reports.
    pub(super) fn linked(&self) -> Vec<Part> {
        if self.linked == 0 {
            return Vec::new();
        }
        let linked = self.folders.iter().filter(|(_, folder)| folder.linked);
        linked
            .filter_map(|(key, _)| match self.skill_of(key) {
                Some(skill) => Some(Part::Below(skill)),
                None => SkillPath::new(key).ok().map(Part::Alone),
            })
            .collect()
    }
}
