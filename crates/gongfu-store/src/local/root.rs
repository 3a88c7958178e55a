//! One root of the library: what was read of it, and looking at it again, whole or in part.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::sync::Arc;

use gongfu_core::library::{SourceKind, Unloadable};
use gongfu_core::port::Timestamp;
use gongfu_core::skill::{Diagnostic, Finding, SkillPath};
use rayon::prelude::*;

use super::folders;
use super::known::{Known, Looked, Outcome, Scene, revived};
use super::tree::{Part, Tree};
use crate::disk::{self, Listings, Root};
use crate::home::Home;
use crate::index::{self, Stored};
use crate::passing::{Pace, on_passing_threads};
use crate::source::Place;
use crate::walk::{self, Walk};
use crate::watch::{self, Mark, RootNumber, Unwatchable, Watches};

/// How often folders that came while watches were made are walked before that is left to the next
/// look.
const ROUNDS: usize = 8;

/// More skills than these, or a larger index of them in bytes, are much to look at.
const MANY: usize = 1_000;
const MUCH: u64 = 1024 * 1024;

/// What is known of a root.
#[derive(Default)]
pub(super) struct RootState {
    /// What the watches know it by.
    pub(super) number: RootNumber,
    /// Its handle, while it is there.
    pub(super) root: Option<Arc<Root>>,
    /// Its skills, by their folder below it.
    pub(super) known: HashMap<SkillPath, Known>,
    /// What can't be loaded or was left out, by the folder that it lies in.
    pub(super) unloadable: BTreeMap<SkillPath, Vec<Unloadable>>,
    /// Its folders, once it is watched.
    pub(super) tree: Option<Tree>,
    /// What happened to it since the last look.
    pub(super) dirt: Dirt,
    /// Why it isn't watched, though it should be.
    pub(super) unwatched: Option<Unwatchable>,
    /// Whether the index doesn't have it yet as it is here.
    pub(super) unsaved: bool,
    /// Whether the index doesn't have its folders yet.
    unlisted: bool,
    remote: bool,
}

/// What has to be looked at.
#[derive(Debug, Default)]
pub(super) struct Dirt {
    /// Everything.
    pub(super) whole: bool,
    /// These parts.
    pub(super) parts: BTreeSet<Part>,
}

impl Dirt {
    /// Whether there is nothing to look at.
    pub(super) fn is_none(&self) -> bool {
        !self.whole && self.parts.is_empty()
    }
}

/// What a look takes place with.
pub(super) struct Look<'a> {
    pub(super) place: &'a Place,
    pub(super) home: &'a Home,
    pub(super) now: Timestamp,
    /// The watches, when folders are to be watched.
    pub(super) watches: Option<&'a mut Watches>,
    /// Whether somebody else keeps the index later on.
    pub(super) keeps_later: bool,
}

/// What came of a look.
#[derive(Clone, Copy, Default)]
struct News {
    /// The library is another.
    changed: bool,
    /// The index would be another.
    unsaved: bool,
}

impl RootState {
    /// A root that nothing is known of yet.
    pub(super) fn new(number: RootNumber, unwatched: Option<Unwatchable>) -> Self {
        Self {
            number,
            unwatched,
            ..Self::default()
        }
    }

    /// Looks at everything, or at what happened; answers whether anything about it changed.
    pub(super) fn look(&mut self, mut look: Look<'_>, first: bool) -> bool {
        let dirt = std::mem::take(&mut self.dirt);
        let part = if dirt.whole || first {
            None
        } else {
            self.look_at(dirt.parts, &mut look)
        };
        match part {
            Some(changed) => changed,
            None if self.is_large(&look, first) => {
                // While folders come to be watched, the first look stands for the library.
                let waits = first || look.watches.is_none();
                let pace = if waits { Pace::Prompt } else { Pace::Calm };
                on_passing_threads(pace, || self.look_whole(&mut look, first))
            }
            None => self.look_whole(&mut look, first),
        }
    }

    /// Whether a look at everything takes much memory for a while.
    fn is_large(&self, look: &Look<'_>, first: bool) -> bool {
        let kept = || Root::open(&look.place.path).map(|root| index::size(look.home, root.path()));
        self.known.len() > MANY || (first && kept().is_ok_and(|size| size > MUCH))
    }

    fn look_whole(&mut self, look: &mut Look<'_>, first: bool) -> bool {
        let (place, home) = (look.place, look.home);
        let root = match Root::open(&place.path) {
            Ok(root) => Arc::new(root),
            Err(error) => {
                if let Some(watches) = &mut look.watches {
                    self.forget(watches, "");
                }
                return self.vanish(place, &error);
            }
        };
        self.remote = watch::is_remote(root.path());
        // Folders that are known already are watched before they are looked at: then one walk tells
        // everything.
        if let Some(watches) = look.watches.as_deref_mut() {
            self.watch_known(&root, "", watches);
        }
        let watched = look.watches.is_some() && self.unwatched.is_none();
        let revive = |stored: Stored| (stored.below.clone(), revived(stored, &place.id, &root));
        // Two things that wait for the disk in different ways: at once they take half the time.
        let ((mut walk, news), kept) = rayon::join(
            || {
                if first || watched {
                    folders::recalling(&root, look, self.remote)
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
        self.unlisted |= news;
        for round in 1.. {
            let Some(watches) = look.watches.as_deref_mut() else {
                break;
            };
            if !self.watch(&root, &SkillPath::root(), &walk, watches) {
                break;
            }
            // What changed before its folder was watched was told to nobody. Two walks at once would
            // be the most that is ever held in memory.
            drop(std::mem::take(&mut walk));
            walk = walk::walk(&root, place.limits);
            if round == ROUNDS {
                self.dirt.whole = true;
                break;
            }
        }
        if look.watches.is_none() && look.keeps_later && self.unwatched.is_none() {
            // They will be watched soon.
            self.plant(&SkillPath::root(), &walk);
        }
        let mut known = std::mem::take(&mut self.known);
        if known.is_empty() {
            known = kept;
        }
        let before = std::mem::take(&mut self.unloadable);
        let news = self.judge(look, &root, std::slice::from_ref(&walk), known, before);
        if self.unlisted && !(first && look.keeps_later) {
            self.unlisted = false;
            folders::keep(&root, look, self.remote, &walk);
        }
        // A hundred thousand names are given back while the answer is made.
        rayon::spawn(move || drop(walk));
        let changed = news.changed || self.root.is_none();
        self.root = Some(root);
        if news.unsaved && !(first && self.known.is_empty()) {
            self.unsaved = true;
            if !look.keeps_later {
                self.keep(home);
            }
        }
        changed
    }

    /// Looks at some parts; `None` when only the whole can tell.
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
                if round > ROUNDS || !self.watch(&root, path, walk, watches) {
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
        let mut known = HashMap::new();
        let touched = |path: &SkillPath| {
            alone.contains(path)
                || if below.len() < 16 {
                    below.iter().any(|part| path.is_within(part))
                } else {
                    above(path).any(|above| below.contains(&above))
                }
        };
        // Whatever was known there, whether it is a skill still or not.
        let gone: Vec<SkillPath> = self
            .known
            .keys()
            .filter(|path| touched(path))
            .cloned()
            .collect();
        for path in gone {
            known.extend(self.known.remove_entry(&path));
        }
        let told: Vec<SkillPath> = self
            .unloadable
            .keys()
            .filter(|path| touched(path))
            .cloned()
            .collect();
        let mut before = BTreeMap::new();
        for path in told {
            before.extend(self.unloadable.remove_entry(&path));
        }
        let news = self.judge(look, &root, &walks, known, before);
        self.unsaved |= news.unsaved;
        Some(news.changed)
    }

    /// Watches the folders of a walk; answers whether some of them were not watched before.
    fn watch(&mut self, root: &Root, from: &SkillPath, walk: &Walk, watches: &mut Watches) -> bool {
        if self.unwatched.is_some() {
            return false;
        }
        for (folder, mark) in self.plant(from, walk) {
            watches.forget(mark, self.number, &folder);
        }
        self.watch_known(root, from.as_str(), watches)
    }

    /// Takes over which folders there are; answers the marks of those that are no more.
    fn plant(&mut self, from: &SkillPath, walk: &Walk) -> Vec<(Arc<str>, Mark)> {
        let tree = self.tree.get_or_insert_default();
        if from.is_root() {
            tree.cut = !walk.left_out.is_empty();
        }
        tree.replace(from.as_str(), walk)
    }

    /// Watches the folders that are known at and below a path; answers whether some of them were not
    /// watched before.
    fn watch_known(&mut self, root: &Root, from: &str, watches: &mut Watches) -> bool {
        let Some(tree) = self.tree.as_mut().filter(|_| self.unwatched.is_none()) else {
            return false;
        };
        let new = tree.unwatched(from);
        for folder in &new {
            match watches.folder(&root.path().join(&**folder), self.number, folder) {
                Ok(mark) => tree.mark(folder, mark),
                // The next walk doesn't find it either.
                Err(Unwatchable::Gone) => {}
                Err(why) => {
                    tracing::warn!(root = %root.path().display(), reason = %why, "changes are looked for once a second");
                    self.unwatched = Some(why);
                    self.forget(watches, "");
                    self.tree = None;
                    return false;
                }
            }
        }
        !new.is_empty()
    }

    /// Watches nothing at and below a folder any more.
    pub(super) fn forget(&mut self, watches: &mut Watches, folder: &str) {
        let marked = self.tree.as_mut().map(|tree| tree.unmark(folder));
        for (path, mark) in marked.into_iter().flatten() {
            watches.forget(mark, self.number, &path);
        }
    }

    /// Compares what walks found with what was known there.
    fn judge(
        &mut self,
        look: &Look<'_>,
        root: &Root,
        walks: &[Walk],
        mut known: HashMap<SkillPath, Known>,
        told: BTreeMap<SkillPath, Vec<Unloadable>>,
    ) -> News {
        let scene = Scene {
            place: look.place,
            root,
            now: look.now,
            remote: self.remote,
        };
        let found = walks
            .iter()
            .flat_map(|walk| walk.skills.iter().map(move |&at| (walk, at)));
        let looked: Vec<Looked<'_>> = found
            .filter_map(|(walk, at)| {
                let path = walk.folders.get(at)?.path.clone();
                let known = known.remove(&path);
                Some(Looked {
                    walk,
                    at,
                    path,
                    known,
                })
            })
            .collect();
        let outcomes: Vec<(SkillPath, Outcome)> = looked
            .into_par_iter()
            .map(|looked| looked.outcome(scene))
            .collect();
        // What is left has gone.
        let mut news = News {
            changed: !known.is_empty(),
            unsaved: !known.is_empty(),
        };
        // What a person linked into their own folders is a place of its own.
        let links = look.place.kind != SourceKind::User;
        let mut unloadable: BTreeMap<SkillPath, Vec<Unloadable>> = BTreeMap::new();
        for walk in walks {
            for (folder, left) in walk::left_out(root, walk, links) {
                unloadable.entry(folder).or_default().push(left);
            }
        }
        self.known.reserve(outcomes.len());
        for (path, outcome) in outcomes {
            match outcome {
                Outcome::Same(known) => drop(self.known.insert(path, known)),
                Outcome::Again(known) => {
                    news.unsaved = true;
                    self.known.insert(path, known);
                }
                Outcome::Read(known) => {
                    (news.changed, news.unsaved) = (true, true);
                    self.known.insert(path, known);
                }
                Outcome::Unloadable(left) => unloadable.entry(path).or_default().push(left),
            }
        }
        news.changed |= unloadable != told;
        self.unloadable.append(&mut unloadable);
        news
    }

    /// Keeps what was read in the index.
    pub(super) fn keep(&mut self, home: &Home) {
        let Some(root) = &self.root else { return };
        self.unsaved = false;
        let mut all: Vec<(&SkillPath, &Known)> = self.known.iter().collect();
        all.sort_unstable_by_key(|(below, _)| *below);
        let kept = all.into_iter().map(|(below, known)| known.keeping(below));
        if let Err(error) = index::save(home, root.path(), kept) {
            tracing::debug!(root = %root.path().display(), %error, "the index can't be kept");
        }
    }

    /// The skills whose stamps can't be trusted yet.
    pub(super) fn unsettled(&self) -> impl Iterator<Item = &SkillPath> {
        let known = self.known.iter().filter(|(_, known)| !known.settled);
        known.map(|(path, _)| path)
    }

    /// The root can't be opened; answers whether that is news.
    fn vanish(&mut self, place: &Place, error: &io::Error) -> bool {
        let mut unloadable = BTreeMap::new();
        if place.is_named() || error.kind() != io::ErrorKind::NotFound {
            let path = place.path.display().to_string();
            let finding = match error.kind() {
                io::ErrorKind::NotFound => Finding::PathMissing { path: path.clone() },
                io::ErrorKind::NotADirectory => Finding::PathNotAFolder { path: path.clone() },
                _ => Finding::FolderUnreadable {
                    reason: disk::reason(error),
                },
            };
            let diagnostics = vec![Diagnostic::about_folder(finding)];
            unloadable.insert(SkillPath::root(), vec![Unloadable { path, diagnostics }]);
        }
        let news = self.root.is_some() || unloadable != self.unloadable;
        *self = Self {
            unloadable,
            ..Self::new(self.number, self.unwatched.take())
        };
        news
    }
}

/// What lies below others of them is looked at with those.
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

/// Walks a part of a root; nothing where there is no folder now.
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
