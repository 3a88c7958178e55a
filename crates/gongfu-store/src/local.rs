//! The skills of a local installation: many roots on disk as one library.
//!
//! Every answer about the library is at most a second old: a look at the stamps of all files tells
//! what has to be read again, and only that is read.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use gongfu_core::account::Owner;
use gongfu_core::library::{FindingCount, Library, Skill, Source, Unloadable};
use gongfu_core::port::{Clock, FileContent, Pending, PortError, SkillStore, Timestamp};
use gongfu_core::skill::{
    Diagnostic, Digest, Finding, SKILL_FILE, SKILL_FILE_LOWER, SkillName, SkillPath,
};
use rayon::prelude::*;

use crate::disk::{self, Root, Stamp};
use crate::home::Home;
use crate::index::{self, Stored};
use crate::reading::{self, Inventory};
use crate::source::{self, Place, Settings};
use crate::switches::Switches;
use crate::walk::{self, Walk};

/// How long an answer about the library is taken for current, in milliseconds.
const FRESH: i64 = 1_000;
/// How long after a change a stamp can't be trusted yet, in nanoseconds: file systems keep times as
/// coarse as two seconds, so a second change could leave the same stamp.
const SETTLED: i64 = 2_000_000_000;

/// The skills on this machine, as one library.
pub struct LocalSkills {
    home: Home,
    places: Vec<Place>,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    looked: Option<Timestamp>,
    roots: Vec<RootState>,
    switches: Switches,
    library: Arc<Library>,
}

#[derive(Default)]
struct RootState {
    root: Option<Arc<Root>>,
    known: HashMap<SkillPath, Known>,
    unloadable: Vec<Unloadable>,
}

/// A skill as it was last read, with what tells whether it changed.
struct Known {
    skill: Arc<Skill>,
    stamps: Box<[Stamp]>,
    odd: usize,
    settled: bool,
}

impl LocalSkills {
    /// The skills that `settings` lead to, with the index and the switches of `home`.
    pub fn new(home: Home, settings: &Settings, clock: Arc<dyn Clock>) -> Self {
        let places = source::places(settings, &home);
        Self {
            home,
            places,
            clock,
            state: Mutex::default(),
        }
    }

    /// The places that are looked at, in order of precedence.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// The library as it is on disk now.
    ///
    /// # Errors
    /// The switches can't be read.
    pub fn current(&self) -> io::Result<Arc<Library>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.clock.now();
        let fresh = state
            .looked
            .is_some_and(|looked| (0..FRESH).contains(&(now.0 - looked.0)));
        if !fresh {
            self.look(&mut state, now)?;
        }
        Ok(Arc::clone(&state.library))
    }

    fn look(&self, state: &mut State, now: Timestamp) -> io::Result<()> {
        let switches = Switches::read(&self.home)?;
        let first = state.roots.is_empty();
        if first {
            state
                .roots
                .resize_with(self.places.len(), RootState::default);
        }
        let mut changed = first || switches != state.switches;
        for (place, root) in self.places.iter().zip(&mut state.roots) {
            changed |= self.look_at(place, root, first, now);
        }
        state.switches = switches;
        if changed {
            state.library = Arc::new(assemble(&self.places, &state.roots, &state.switches));
        }
        // Taken after the look, so that a slow look isn't stale at once.
        state.looked = Some(self.clock.now());
        Ok(())
    }

    /// Looks at one root; answers whether anything about it changed.
    fn look_at(&self, place: &Place, state: &mut RootState, first: bool, now: Timestamp) -> bool {
        let root = match Root::open(&place.path) {
            Ok(root) => Arc::new(root),
            Err(error) => return vanished(place, state, &error),
        };
        if first {
            let source = &place.id;
            state.known = index::load(&self.home, root.path())
                .into_iter()
                .map(|stored| (stored.below.clone(), revived(stored, source, &root)))
                .collect();
        }
        let walk = walk::walk(&root, place.limits);
        let mut left = std::mem::take(&mut state.known);
        let before = left.len();
        let looked: Vec<(usize, SkillPath, Inventory, Option<Known>)> = walk
            .skills
            .par_iter()
            .filter_map(|&at| {
                walk.folders.get(at).map(|folder| {
                    (
                        at,
                        folder.path.clone(),
                        reading::inventory(&root, &walk, at),
                    )
                })
            })
            .collect::<Vec<_>>()
            .into_iter()
            .map(|(at, path, inventory)| {
                let known = left.remove(&path);
                (at, path, inventory, known)
            })
            .collect();
        let seen = looked.len();
        let outcomes: Vec<(SkillPath, Outcome)> = looked
            .into_par_iter()
            .map(|(at, path, inventory, known)| match known {
                Some(known) if known.settled && is_same(&known, &inventory) => {
                    (path, Outcome::Same(known))
                }
                _ => (path, read(place, &root, &walk, at, inventory, now)),
            })
            .collect();
        let mut changed = seen != before || !left.is_empty();
        let mut unloadable = left_out(&root, &walk);
        for (path, outcome) in outcomes {
            match outcome {
                Outcome::Same(known) => {
                    state.known.insert(path, known);
                }
                Outcome::Read(known) => {
                    changed = true;
                    state.known.insert(path, known);
                }
                Outcome::Unloadable(skill) => unloadable.push(skill),
            }
        }
        changed |= unloadable != state.unloadable;
        state.unloadable = unloadable;
        if changed && !state.known.is_empty() {
            self.keep(&root, &state.known);
        }
        state.root = Some(root);
        changed
    }

    fn keep(&self, root: &Root, known: &HashMap<SkillPath, Known>) {
        let mut stored: Vec<Stored> = known
            .iter()
            .map(|(below, known)| stored(below, known))
            .collect();
        stored.sort_by(|left, right| left.below.cmp(&right.below));
        if let Err(error) = index::save(&self.home, root.path(), &stored) {
            tracing::debug!(root = %root.path().display(), %error, "the index can't be kept");
        }
    }

    fn root_of(&self, skill: &Skill) -> Result<Root, PortError> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let at = self
            .places
            .iter()
            .position(|place| place.id == skill.source)
            .ok_or(PortError::NotFound)?;
        let root = state
            .roots
            .get(at)
            .and_then(|root| root.root.clone())
            .ok_or(PortError::NotFound)?;
        drop(state);
        let below = skill
            .full_name
            .strip_prefix(&*skill.source)
            .and_then(|rest| rest.strip_prefix('/'))
            .unwrap_or_default();
        let below = SkillPath::new(below).map_err(|error| PortError::Other(Box::new(error)))?;
        root.below(&below).map_err(disk::port_error)
    }
}

fn vanished(place: &Place, state: &mut RootState, error: &io::Error) -> bool {
    let mut unloadable = Vec::new();
    if place.is_named() || error.kind() != io::ErrorKind::NotFound {
        let path = place.path.display().to_string();
        let finding = match error.kind() {
            io::ErrorKind::NotFound => Finding::PathMissing { path: path.clone() },
            io::ErrorKind::NotADirectory => Finding::PathNotAFolder { path: path.clone() },
            _ => Finding::FileUnreadable {
                reason: disk::reason(error),
            },
        };
        unloadable.push(Unloadable {
            path,
            diagnostics: vec![Diagnostic::about_folder(finding)],
        });
    }
    let changed = !state.known.is_empty() || unloadable != state.unloadable;
    *state = RootState {
        unloadable,
        ..RootState::default()
    };
    changed
}

enum Outcome {
    Same(Known),
    Read(Known),
    Unloadable(Unloadable),
}

fn is_same(known: &Known, inventory: &Inventory) -> bool {
    known.odd == inventory.odd.len()
        && known.stamps.len() == inventory.files.len()
        && known
            .stamps
            .iter()
            .zip(known.skill.files.iter())
            .zip(&inventory.files)
            .all(|((stamp, file), (path, now))| stamp == now && file.path == *path)
}

fn read(
    place: &Place,
    root: &Root,
    walk: &Walk,
    at: usize,
    inventory: Inventory,
    now: Timestamp,
) -> Outcome {
    let below = walk
        .folders
        .get(at)
        .map_or_else(SkillPath::root, |folder| folder.path.clone());
    let path = shown(root, &below);
    let stamps: Box<[Stamp]> = inventory.files.iter().map(|(_, stamp)| *stamp).collect();
    let odd = inventory.odd.len();
    let reading = reading::read(root, walk, at, inventory, false);
    let Some(document) = reading.document else {
        return Outcome::Unloadable(Unloadable {
            path,
            diagnostics: reading.diagnostics,
        });
    };
    let latest = stamps
        .iter()
        .map(|stamp| {
            if stamp.changed == 0 {
                stamp.modified
            } else {
                stamp.changed
            }
        })
        .max()
        .unwrap_or(0);
    let settled = now.0.saturating_mul(1_000_000).saturating_sub(latest) > SETTLED;
    let skill = Skill {
        name: document.name,
        full_name: full_name(&place.id, &below),
        description: document.description,
        frontmatter: serde_json::Value::Object(document.frontmatter)
            .to_string()
            .into(),
        source: Arc::clone(&place.id),
        path,
        files: reading.folder.files.into(),
        findings: FindingCount::of(&reading.diagnostics),
        enabled: true,
    };
    Outcome::Read(Known {
        skill: Arc::new(skill),
        stamps,
        odd,
        settled,
    })
}

fn full_name(source: &Arc<str>, below: &SkillPath) -> Arc<str> {
    if below.is_root() {
        format!("{source}/.").into()
    } else {
        format!("{source}/{below}").into()
    }
}

fn shown(root: &Root, below: &SkillPath) -> String {
    let path = if below.is_root() {
        root.path().to_owned()
    } else {
        root.path().join(below.as_str())
    };
    path.to_string_lossy().into_owned()
}

fn revived(stored: Stored, source: &Arc<str>, root: &Root) -> Known {
    let skill = Skill {
        name: SkillName::new(&stored.name).unwrap_or_else(|_| SkillName::from_folder(&stored.name)),
        full_name: full_name(source, &stored.below),
        description: stored.description,
        frontmatter: stored.frontmatter,
        source: Arc::clone(source),
        path: shown(root, &stored.below),
        files: stored.files,
        findings: stored.findings,
        enabled: true,
    };
    Known {
        skill: Arc::new(skill),
        stamps: stored.stamps,
        odd: stored.odd,
        settled: stored.settled,
    }
}

fn stored(below: &SkillPath, known: &Known) -> Stored {
    Stored {
        below: below.clone(),
        name: known.skill.name.to_string(),
        description: known.skill.description.clone(),
        frontmatter: known.skill.frontmatter.clone(),
        findings: known.skill.findings,
        files: Arc::clone(&known.skill.files),
        stamps: known.stamps.clone(),
        odd: known.odd,
        settled: known.settled,
    }
}

/// What a walk left out, and folders that define a skill in code only.
fn left_out(root: &Root, walk: &Walk) -> Vec<Unloadable> {
    let mut unloadable = Vec::new();
    if !walk.left_out.is_empty() {
        unloadable.push(Unloadable {
            path: shown(root, &SkillPath::root()),
            diagnostics: walk.left_out.clone(),
        });
    }
    for folder in walk.folders.iter().filter(|folder| !folder.in_skill) {
        let finding = match &folder.unreadable {
            Some(reason) => Some(Finding::FileUnreadable {
                reason: reason.clone(),
            }),
            None if folder.level > 1 => None,
            None => {
                walk::code_marker(root, folder).map(|marker| Finding::SkillFileIsCode { marker })
            }
        };
        if let Some(finding) = finding {
            unloadable.push(Unloadable {
                path: shown(root, &folder.path),
                diagnostics: vec![Diagnostic::about_folder(finding)],
            });
        }
    }
    unloadable
}

/// Puts the roots together: precedence, no real path twice, no copy twice, switches.
fn assemble(places: &[Place], roots: &[RootState], switches: &Switches) -> Library {
    let mut sources = Vec::new();
    let mut skills: Vec<Arc<Skill>> = Vec::new();
    let mut unloadable = Vec::new();
    let mut seen: HashSet<String> = HashSet::new();
    for (place, state) in places.iter().zip(roots) {
        unloadable.extend(state.unloadable.iter().cloned());
        let Some(root) = &state.root else { continue };
        sources.push(Source {
            id: Arc::clone(&place.id),
            kind: place.kind,
            root: root.path().to_string_lossy().into_owned(),
        });
        let mut known: Vec<(&SkillPath, &Known)> = state.known.iter().collect();
        known.sort_by_key(|(below, _)| *below);
        let keys: Vec<(&SkillPath, Option<Digest>)> = known
            .iter()
            .map(|(below, known)| (*below, document_digest(&known.skill)))
            .collect();
        let keep = reading::without_copies(&keys);
        for ((_, known), _) in known.into_iter().zip(keep).filter(|(_, keep)| *keep) {
            if !seen.insert(known.skill.path.clone()) {
                continue;
            }
            let enabled = !switches.disabled.contains(&known.skill.path);
            skills.push(if enabled {
                Arc::clone(&known.skill)
            } else {
                Arc::new(Skill {
                    enabled,
                    ..(*known.skill).clone()
                })
            });
        }
    }
    Library::new(sources, skills, unloadable)
}

fn document_digest(skill: &Skill) -> Option<Digest> {
    let named = |name: &str| skill.files.iter().find(|file| file.path.as_str() == name);
    named(SKILL_FILE)
        .or_else(|| named(SKILL_FILE_LOWER))
        .and_then(|file| file.digest)
}

impl SkillStore for LocalSkills {
    fn library<'a>(&'a self, _owner: &'a Owner) -> Pending<'a, Arc<Library>> {
        let library = self
            .current()
            .map_err(|error| PortError::Unavailable(error.to_string()));
        Box::pin(std::future::ready(library))
    }

    fn read<'a>(
        &'a self,
        _owner: &'a Owner,
        skill: &'a Skill,
        path: &'a SkillPath,
        limit: u64,
    ) -> Pending<'a, FileContent> {
        let content = self
            .root_of(skill)
            .and_then(|root| root.read(path, limit).map_err(disk::port_error));
        Box::pin(std::future::ready(content))
    }

    fn set_enabled<'a>(
        &'a self,
        _owner: &'a Owner,
        skill: &'a Skill,
        enabled: bool,
    ) -> Pending<'a, bool> {
        let changed = Switches::set(&self.home, &skill.path, enabled)
            .map_err(|error| PortError::Unavailable(error.to_string()));
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .looked = None;
        Box::pin(std::future::ready(changed))
    }
}

#[cfg(test)]
mod tests;
