//! One root of the library: what was read of it, and looking at it again.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use gongfu_core::library::{FindingCount, Skill, SourceKind, Unloadable};
use gongfu_core::port::Timestamp;
use gongfu_core::skill::{Diagnostic, Finding, SkillName, SkillPath};
use rayon::prelude::*;

use crate::disk::{self, Root, Stamp};
use crate::home::Home;
use crate::index::{self, Stored};
use crate::reading::{self, Inventory};
use crate::source::Place;
use crate::walk::{self, Walk};

/// How long after a change a stamp can't be trusted yet, in nanoseconds: file systems keep times as
/// coarse as two seconds, so a second change could leave the same stamp.
const SETTLED: i64 = 2_000_000_000;

/// What is known of a root.
#[derive(Default)]
pub(super) struct RootState {
    /// Its handle, while it is there.
    pub(super) root: Option<Arc<Root>>,
    /// Its skills, by their folder below it.
    pub(super) known: HashMap<SkillPath, Known>,
    /// What can't be loaded or was left out.
    pub(super) unloadable: Vec<Unloadable>,
}

/// A skill as it was last read, with what tells whether it changed.
pub(super) struct Known {
    /// The skill, switched on.
    pub(super) skill: Arc<Skill>,
    stamps: Box<[Stamp]>,
    odd: usize,
    settled: bool,
}

impl RootState {
    /// Looks at the root; answers whether anything about it changed.
    pub(super) fn look(&mut self, place: &Place, home: &Home, first: bool, now: Timestamp) -> bool {
        let root = match Root::open(&place.path) {
            Ok(root) => Arc::new(root),
            Err(error) => return self.vanish(place, &error),
        };
        // Two things that wait for the disk in different ways: at once they take half the time.
        let (walk, kept) = rayon::join(
            || walk::walk(&root, place.limits),
            || {
                if first {
                    index::load(home, root.path())
                } else {
                    Vec::new()
                }
            },
        );
        let revive = |stored: Stored| (stored.below.clone(), revived(stored, &place.id, &root));
        self.known.extend(kept.into_iter().map(revive));
        let mut before = std::mem::take(&mut self.known);
        let inventories: Vec<(usize, Inventory)> = walk
            .skills
            .par_iter()
            .map(|&at| (at, reading::inventory(&root, &walk, at)))
            .collect();
        let looked: Vec<Looked> = inventories
            .into_iter()
            .filter_map(|(at, inventory)| {
                let path = walk.folders.get(at)?.path.clone();
                let known = before.remove(&path);
                Some(Looked {
                    at,
                    path,
                    inventory,
                    known,
                })
            })
            .collect();
        let outcomes: Vec<(SkillPath, Outcome)> = looked
            .into_par_iter()
            .map(|looked| looked.outcome(place, &root, &walk, now))
            .collect();
        // What is left has gone.
        let mut changed = !before.is_empty();
        let mut settled = false;
        // What a person linked into their own folders is a place of its own.
        let links = place.kind != SourceKind::User;
        let mut unloadable = walk::left_out(&root, &walk, links);
        for (path, outcome) in outcomes {
            match outcome {
                Outcome::Same(known) => drop(self.known.insert(path, known)),
                Outcome::Settled(known) => {
                    settled = true;
                    self.known.insert(path, known);
                }
                Outcome::Read(known) => {
                    changed = true;
                    self.known.insert(path, known);
                }
                Outcome::Unloadable(skill) => unloadable.push(skill),
            }
        }
        if (changed || settled) && !(first && self.known.is_empty()) {
            self.keep(home, &root);
        }
        changed |= unloadable != self.unloadable || self.root.is_none();
        self.unloadable = unloadable;
        self.root = Some(root);
        changed
    }

    fn keep(&self, home: &Home, root: &Root) {
        let mut kept: Vec<Stored> = self
            .known
            .iter()
            .map(|(below, known)| stored(below, known))
            .collect();
        kept.sort_by(|left, right| left.below.cmp(&right.below));
        if let Err(error) = index::save(home, root.path(), &kept) {
            tracing::debug!(root = %root.path().display(), %error, "the index can't be kept");
        }
    }

    /// The root can't be opened; answers whether that is news.
    fn vanish(&mut self, place: &Place, error: &io::Error) -> bool {
        let mut unloadable = Vec::new();
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
            unloadable.push(Unloadable { path, diagnostics });
        }
        let news = self.root.is_some() || unloadable != self.unloadable;
        *self = Self {
            unloadable,
            ..Self::default()
        };
        news
    }
}

/// A skill that was found, with what was known of it.
struct Looked {
    at: usize,
    path: SkillPath,
    inventory: Inventory,
    known: Option<Known>,
}

/// What came of looking at a skill.
enum Outcome {
    /// Nothing changed and nothing was read.
    Same(Known),
    /// It was read once more and is the same; from now on its stamps can be trusted.
    Settled(Known),
    /// It is new, or changed.
    Read(Known),
    /// It can't be loaded.
    Unloadable(Unloadable),
}

impl Looked {
    fn outcome(
        self,
        place: &Place,
        root: &Root,
        walk: &Walk,
        now: Timestamp,
    ) -> (SkillPath, Outcome) {
        let known = match self.known {
            Some(known) if known.settled && is_same(&known, &self.inventory) => {
                return (self.path, Outcome::Same(known));
            }
            other => other,
        };
        let outcome = match (read(place, root, walk, self.at, self.inventory, now), known) {
            (Ok(read), Some(known))
                if *read.skill == *known.skill && read.stamps == known.stamps =>
            {
                let news = read.settled;
                let same = Known {
                    skill: known.skill,
                    ..read
                };
                if news {
                    Outcome::Settled(same)
                } else {
                    Outcome::Same(same)
                }
            }
            (Ok(read), _) => Outcome::Read(read),
            (Err(unloadable), _) => Outcome::Unloadable(unloadable),
        };
        (self.path, outcome)
    }
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
) -> Result<Known, Unloadable> {
    let below = walk
        .folders
        .get(at)
        .map_or_else(SkillPath::root, |folder| folder.path.clone());
    let path = shown(root, &below);
    let stamps: Box<[Stamp]> = inventory.files.iter().map(|(_, stamp)| *stamp).collect();
    let odd = inventory.odd.len();
    let reading = reading::read(root, walk, at, inventory, false);
    let Some(document) = reading.document else {
        return Err(Unloadable {
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
    Ok(Known {
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
