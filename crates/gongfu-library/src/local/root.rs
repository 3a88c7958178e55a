//! One root of the library: its skills as they were read, and looking at it again, whole or in part.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use gongfu_core::library::{SourceKind, Unloadable};
use gongfu_core::port::Timestamp;
use gongfu_core::skill::{Diagnostic, Finding, SkillPath};
use rayon::prelude::*;

use super::cached_skill::{CachedSkill, FoundSkill, Outcome, Scene};
use super::listings;
use super::tree::{Part, Tree};
use crate::index;
use crate::left_out;
use crate::scoped_pool::{self, Pace};
use crate::source::{LeadsOut, Place};
use crate::walk::{self, Walk};
use crate::watch::{self, Mark, RootNumber, Unwatchable, Watches};
use gongfu_files::Home;
use gongfu_files::disk::{self, Listings, Root};

/// The most walks of one look: new folders come while watches are made. The next look does the rest.
const MAX_WALKS: usize = 8;

/// The number of skills, and the size of their index in bytes, from which a root is large.
const LARGE: usize = 1_000;
const LARGE_INDEX: u64 = 1024 * 1024;

/// The state of a root.
#[derive(Default)]
pub(super) struct RootState {
    /// Its number for the watches.
    pub(super) number: RootNumber,
    /// Its handle, while it exists.
    pub(super) root: Option<Arc<Root>>,
    /// Its skills, by their folder below it.
    pub(super) skills: HashMap<SkillPath, CachedSkill>,
    /// Folders that can't be loaded or were left out, by the folder that they lie in.
    pub(super) unloadable: BTreeMap<SkillPath, Vec<Unloadable>>,
    /// Its folders, once it is watched.
    pub(super) tree: Option<Tree>,
    /// The parts that changed since the last look.
    pub(super) dirty: Dirty,
    /// The reason why it isn't watched, though it should be.
    pub(super) unwatched: Option<Unwatchable>,
    /// True if its skills in the index are out of date.
    pub(super) unsaved: bool,
    /// True if its listings in the index are out of date.
    unlisted: bool,
    remote: bool,
}

/// The parts of a root that have to be looked at.
#[derive(Debug, Default)]
pub(super) struct Dirty {
    /// Everything.
    pub(super) whole: bool,
    /// These parts.
    pub(super) parts: BTreeSet<Part>,
}

impl Dirty {
    /// Returns whether there is nothing to look at.
    pub(super) fn is_empty(&self) -> bool {
        !self.whole && self.parts.is_empty()
    }
}

/// The circumstances of a look.
pub(super) struct Look<'a> {
    pub(super) place: &'a Place,
    /// The folders of all places.
    pub(super) places: &'a [PathBuf],
    pub(super) home: &'a Home,
    pub(super) now: Timestamp,
    /// The watches, when folders are to be watched.
    pub(super) watches: Option<&'a mut Watches>,
    /// True if the watch thread writes the index later.
    pub(super) saves_later: bool,
}

impl<'a> Look<'a> {
    fn scene(&self, root: &'a Root, remote: bool) -> Scene<'a> {
        Scene {
            place: self.place,
            places: self.places,
            root,
            now: self.now,
            remote,
        }
    }
}

/// The effects of a look.
#[derive(Clone, Copy, Default)]
struct Effects {
    /// True if the library changed.
    changed: bool,
    /// True if the index is out of date.
    unsaved: bool,
}

impl RootState {
    /// A root that wasn't looked at yet.
    pub(super) fn new(number: RootNumber, unwatched: Option<Unwatchable>) -> Self {
        Self {
            number,
            unwatched,
            ..Self::default()
        }
    }

    /// Looks at everything, or at the parts that changed; answers whether the library changed.
    pub(super) fn look(&mut self, mut look: Look<'_>, first: bool) -> bool {
        let dirty = std::mem::take(&mut self.dirty);
        let part = if dirty.whole || first {
            None
        } else {
            self.look_at(dirty.parts, &mut look)
        };
        match part {
            Some(changed) => changed,
            None if self.is_large(&look, first) => {
                // While watches are made, answers come from the first look.
                let waits = first || look.watches.is_none();
                let pace = if waits {
                    Pace::Foreground
                } else {
                    Pace::Background
                };
                scoped_pool::run(pace, || self.look_whole(&mut look, first))
            }
            None => self.look_whole(&mut look, first),
        }
    }

    /// Returns whether a look at everything takes much memory.
    fn is_large(&self, look: &Look<'_>, first: bool) -> bool {
        let stored = || {
            look.place
                .open()
                .map(|root| index::size(look.home, root.path()))
        };
        self.skills.len() > LARGE || (first && stored().is_ok_and(|size| size > LARGE_INDEX))
    }

    fn look_whole(&mut self, look: &mut Look<'_>, first: bool) -> bool {
        let (place, home) = (look.place, look.home);
        let root = match place.open() {
            Ok(root) => Arc::new(root),
            Err(error) => {
                if let Some(watches) = &mut look.watches {
                    self.forget(watches, "");
                }
                return self.vanish(place, &error);
            }
        };
        self.remote = watch::is_remote(root.path());
        // Known folders are watched before they are walked: then one walk sees every change.
        if let Some(watches) = look.watches.as_deref_mut() {
            self.watch_known(&root, "", watches);
        }
        let watched = look.watches.is_some() && self.unwatched.is_none();
        let scene = look.scene(&root, self.remote);
        let revive = |row: &index::Row<'_>, files| {
            let skill = CachedSkill::revive(row, files, place, &root)?;
            Ok((skill.skill.folder.clone(), skill))
        };
        // Both wait for the disk in different ways: in parallel they take half the time.
        let ((mut walk, is_stale), stored) = rayon::join(
            || {
                if first || watched {
                    listings::walk(scene, home)
                } else {
                    (walk::walk(&root, place.limits), false)
                }
            },
            || {
                if first {
                    index::load(home, root.path(), revive)
                } else {
                    HashMap::new()
                }
            },
        );
        self.unlisted |= is_stale;
        for round in 1.. {
            let Some(watches) = look.watches.as_deref_mut() else {
                break;
            };
            if !self.watch(&root, &SkillPath::root(), &walk, watches) {
                break;
            }
            // Changes before a folder was watched were reported to nobody. Two walks at once would
            // take more memory than anything else.
            drop(std::mem::take(&mut walk));
            walk = walk::walk(&root, place.limits);
            if round == MAX_WALKS {
                self.dirty.whole = true;
                break;
            }
        }
        if look.watches.is_none() && look.saves_later && self.unwatched.is_none() {
            // The folders will be watched soon.
            self.plant(&SkillPath::root(), &walk);
        }
        let mut cached = std::mem::take(&mut self.skills);
        if cached.is_empty() {
            cached = stored;
        }
        let before = std::mem::take(&mut self.unloadable);
        let effects = self.compare(scene, std::slice::from_ref(&walk), cached, before);
        if self.unlisted && !(first && look.saves_later) {
            self.unlisted = false;
            listings::save(scene, home, &walk);
        }
        // A hundred thousand names are freed in the background.
        rayon::spawn(move || drop(walk));
        let changed = effects.changed || self.root.is_none();
        self.root = Some(root);
        if effects.unsaved && !(first && self.skills.is_empty()) {
            self.unsaved = true;
            if !look.saves_later {
                self.save(home);
            }
        }
        changed
    }

    /// Looks at some parts; `None` when a look at everything is needed.
    fn look_at(&mut self, parts: BTreeSet<Part>, look: &mut Look<'_>) -> Option<bool> {
        let root = Arc::clone(self.root.as_ref()?);
        let limits = look.place.limits;
        if self.tree.as_ref()?.cut || look.watches.is_none() {
            return None;
        }
        let (below, alone) = separate(parts);
        let mut walks: Vec<Walk> = below
            .par_iter()
            .map(|path| walk_below(&root, path, limits))
            .collect();
        for (path, walk) in below.iter().zip(&mut walks) {
            for round in 1.. {
                let watches = look.watches.as_deref_mut()?;
                if round > MAX_WALKS || !self.watch(&root, path, walk, watches) {
                    break;
                }
                *walk = walk_below(&root, path, limits);
            }
        }
        let tree = self.tree.as_mut()?;
        for path in &alone {
            let walk = walk::alone(&root, path.clone());
            if let Some(walked) = walk.folders.first() {
                tree.replace_alone(walked);
            }
            walks.push(walk);
        }
        if tree.exceeds(limits) || walks.iter().any(|walk| !walk.left_out.is_empty()) {
            return None;
        }
        let touched = |path: &SkillPath| {
            alone.contains(path)
                || if below.len() < 16 {
                    below.iter().any(|part| path.is_within(part))
                } else {
                    above(path).any(|above| below.contains(&above))
                }
        };
        let cached = self.skills.extract_if(|path, _| touched(path)).collect();
        let before = self.unloadable.extract_if(.., |path, _| touched(path));
        let before = before.collect();
        let scene = look.scene(&root, self.remote);
        let effects = self.compare(scene, &walks, cached, before);
        self.unsaved |= effects.unsaved;
        Some(effects.changed)
    }

    /// Watches the folders of a walk; answers whether some of them are new.
    fn watch(&mut self, root: &Root, from: &SkillPath, walk: &Walk, watches: &mut Watches) -> bool {
        if self.unwatched.is_some() {
            return false;
        }
        for (folder, mark) in self.plant(from, walk) {
            watches.forget(mark, self.number, &folder);
        }
        self.watch_known(root, from.as_str(), watches)
    }

    /// Replaces the folders of the tree; answers the marks of those that are gone.
    fn plant(&mut self, from: &SkillPath, walk: &Walk) -> Vec<(Arc<str>, Mark)> {
        let tree = self.tree.get_or_insert_default();
        if from.is_root() {
            tree.cut = !walk.left_out.is_empty();
        }
        tree.replace(from.as_str(), walk)
    }

    /// Watches the folders of the tree at and below a path; answers whether some of them are new.
    fn watch_known(&mut self, root: &Root, from: &str, watches: &mut Watches) -> bool {
        let Some(tree) = self.tree.as_mut().filter(|_| self.unwatched.is_none()) else {
            return false;
        };
        let new = tree.unwatched(from);
        for folder in &new {
            match watches.folder(&root.path().join(&**folder), self.number, folder) {
                Ok(mark) => tree.mark(folder, mark),
                // The next walk will not find it either.
                Err(Unwatchable::Gone) => {}
                Err(why) => {
                    tracing::warn!(root = %root.path().display(), reason = %why, "polling for changes once a second");
                    self.unwatched = Some(why);
                    self.forget(watches, "");
                    self.tree = None;
                    return false;
                }
            }
        }
        !new.is_empty()
    }

    /// Stops watching everything at and below a folder.
    pub(super) fn forget(&mut self, watches: &mut Watches, folder: &str) {
        let marked = self.tree.as_mut().map(|tree| tree.unmark(folder));
        for (path, mark) in marked.into_iter().flatten() {
            watches.forget(mark, self.number, &path);
        }
    }

    /// Compares walks with the last reading of the same parts.
    fn compare(
        &mut self,
        scene: Scene<'_>,
        walks: &[Walk],
        mut cached: HashMap<SkillPath, CachedSkill>,
        before: BTreeMap<SkillPath, Vec<Unloadable>>,
    ) -> Effects {
        let found = walks
            .iter()
            .flat_map(|walk| walk.skills.iter().map(move |&at| (walk, at)));
        let found: Vec<FoundSkill<'_>> = found
            .filter_map(|(walk, at)| {
                let path = walk.folders.get(at)?.path.clone();
                let cached = cached.remove(&path);
                Some(FoundSkill {
                    walk,
                    at,
                    path,
                    cached,
                })
            })
            .collect();
        let outcomes: Vec<(SkillPath, Outcome)> = found
            .into_par_iter()
            .map(|found| found.outcome(scene))
            .collect();
        // The rest is gone.
        let mut effects = Effects {
            changed: !cached.is_empty(),
            unsaved: !cached.is_empty(),
        };
        // A link in a person's own folders is a place of its own.
        let places = (scene.place.kind != SourceKind::User).then_some(scene.places);
        let mut unloadable: BTreeMap<SkillPath, Vec<Unloadable>> = BTreeMap::new();
        for walk in walks {
            for (folder, left) in left_out::left_out(scene.root, walk, places) {
                unloadable.entry(folder).or_default().push(left);
            }
        }
        self.skills.reserve(outcomes.len());
        for (path, outcome) in outcomes {
            match outcome {
                Outcome::Same(skill) => drop(self.skills.insert(path, skill)),
                Outcome::Confirmed(skill) => {
                    effects.unsaved = true;
                    self.skills.insert(path, skill);
                }
                Outcome::Changed(skill) => {
                    (effects.changed, effects.unsaved) = (true, true);
                    self.skills.insert(path, skill);
                }
                Outcome::Unloadable(left) => unloadable.entry(path).or_default().push(left),
            }
        }
        effects.changed |= unloadable != before;
        self.unloadable.append(&mut unloadable);
        effects
    }

    /// Writes the skills to the index.
    pub(super) fn save(&mut self, home: &Home) {
        let Some(root) = &self.root else { return };
        self.unsaved = false;
        let mut all: Vec<(&SkillPath, &CachedSkill)> = self.skills.iter().collect();
        all.sort_unstable_by_key(|(folder, _)| *folder);
        let rows = all.into_iter().map(|(_, skill)| skill.row());
        if let Err(error) = index::save(home, root.path(), rows) {
            tracing::debug!(root = %root.path().display(), %error, "the index can't be written");
        }
    }

    /// The skills whose stamps can't be trusted yet.
    pub(super) fn unsettled(&self) -> impl Iterator<Item = &SkillPath> {
        let unsettled = self.skills.iter().filter(|(_, skill)| !skill.settled);
        unsettled.map(|(path, _)| path)
    }

    /// Clears a root that can't be opened; answers whether the library changed.
    fn vanish(&mut self, place: &Place, error: &io::Error) -> bool {
        let mut unloadable = BTreeMap::new();
        if place.is_named || error.kind() != io::ErrorKind::NotFound {
            let path = place.path.display().to_string();
            let leads_out = matches!(error.get_ref(), Some(why) if why.is::<LeadsOut>());
            let finding = match error.kind() {
                _ if leads_out => Finding::SkillsLinkOutside,
                io::ErrorKind::NotFound => Finding::PathMissing { path: path.clone() },
                io::ErrorKind::NotADirectory => Finding::PathNotAFolder { path: path.clone() },
                _ => Finding::FolderUnreadable {
                    reason: disk::reason(error),
                },
            };
            let diagnostics = vec![Diagnostic::about_folder(finding)];
            unloadable.insert(SkillPath::root(), vec![Unloadable { path, diagnostics }]);
        }
        let changed = self.root.is_some() || unloadable != self.unloadable;
        *self = Self {
            unloadable,
            ..Self::new(self.number, self.unwatched.take())
        };
        changed
    }
}

/// The folders to walk and the folders to list alone; a part inside of another one is dropped.
fn separate(parts: BTreeSet<Part>) -> (BTreeSet<SkillPath>, BTreeSet<SkillPath>) {
    let (mut below, mut alone) = (BTreeSet::new(), BTreeSet::new());
    for part in parts {
        match part {
            Part::Below(path) => below.insert(path),
            Part::Alone(path) => alone.insert(path),
        };
    }
    let covered = |path: &SkillPath| above(path).skip(1).any(|above| below.contains(&above));
    let outer: BTreeSet<SkillPath> = below
        .iter()
        .filter(|path| !covered(path))
        .cloned()
        .collect();
    alone.retain(|path| !covered(path) && !below.contains(path));
    (outer, alone)
}

/// A path and everything above it.
fn above(path: &SkillPath) -> impl Iterator<Item = SkillPath> {
    std::iter::successors(Some(path.clone()), |path| {
        (!path.is_root()).then(|| path.parent())
    })
}

/// Walks a part of a root; an empty walk where the folder is gone.
fn walk_below(root: &Root, path: &SkillPath, limits: walk::Limits) -> Walk {
    let is_folder = path.is_root() || {
        let metadata = root.dir().symlink_metadata(path.as_str());
        metadata.is_ok_and(|metadata| metadata.is_dir())
    };
    if is_folder {
        walk::walk_from(root, path.clone(), limits, &Listings::default())
    } else {
        Walk::default()
    }
}
