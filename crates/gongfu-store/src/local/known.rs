//! A skill as it was last read, and reading it again when something about it changed.

use std::sync::Arc;

use gongfu_core::library::{FindingCount, Skill, Unloadable};
use gongfu_core::port::Timestamp;
use gongfu_core::skill::{SkillName, SkillPath};

use crate::disk::{Root, Stamp};
use crate::index::{Keeping, Stored};
use crate::reading::{self, Inventory};
use crate::source::Place;
use crate::walk::Walk;

/// How long after a change a stamp can't be trusted yet, in nanoseconds: file systems keep times as
/// coarse as two seconds, so a second change could leave the same stamp.
const SETTLED: i64 = 2_000_000_000;

/// The same where another machine keeps the times: its clock may be wrong by hours.
const SETTLED_REMOTE: i64 = 26 * 3_600 * 1_000_000_000;

/// A skill as it was last read, with what tells whether it changed.
pub(super) struct Known {
    /// The skill, switched on.
    pub(super) skill: Arc<Skill>,
    stamps: Box<[Stamp]>,
    odd: usize,
    /// Whether it was read long enough after its last change to trust the stamps.
    pub(super) settled: bool,
}

impl Known {
    /// What of it is kept in the index.
    pub(super) fn keeping<'a>(&'a self, below: &'a SkillPath) -> Keeping<'a> {
        Keeping {
            below,
            skill: &self.skill,
            stamps: &self.stamps,
            odd: self.odd,
            settled: self.settled,
        }
    }
}

/// Where and when skills are read.
#[derive(Clone, Copy)]
pub(super) struct Scene<'a> {
    pub(super) place: &'a Place,
    pub(super) root: &'a Root,
    pub(super) now: Timestamp,
    /// Whether another machine keeps the times of its files, by a clock of its own.
    pub(super) remote: bool,
}

/// A skill that was found, with what was known of it.
pub(super) struct Looked<'a> {
    pub(super) walk: &'a Walk,
    pub(super) at: usize,
    pub(super) path: SkillPath,
    pub(super) known: Option<Known>,
}

/// What came of looking at a skill.
pub(super) enum Outcome {
    /// Nothing changed and nothing was read.
    Same(Known),
    /// It was read once more and says the same; its stamps may be others, or trusted from now on.
    Again(Known),
    /// It is new, or changed.
    Read(Known),
    /// It can't be loaded.
    Unloadable(Unloadable),
}

/// Whether a change was made long enough before a look to trust a stamp that tells of it.
pub(super) fn is_settled(now: Timestamp, remote: bool, changed: i64) -> bool {
    let trusted = if remote { SETTLED_REMOTE } else { SETTLED };
    // A time in the future is never trusted: the difference is negative.
    now.0.saturating_mul(1_000_000).saturating_sub(changed) > trusted
}

impl Looked<'_> {
    /// Reads the skill unless it is known to be unchanged.
    pub(super) fn outcome(self, scene: Scene<'_>) -> (SkillPath, Outcome) {
        let known = match self.known {
            Some(known) if known.settled && is_unchanged(&known, self.walk, self.at) => {
                return (self.path, Outcome::Same(known));
            }
            other => other,
        };
        let inventory = reading::inventory(scene.root, self.walk, self.at);
        let known = match known {
            Some(known) if known.settled && is_same(&known, &inventory) => {
                return (self.path, Outcome::Same(known));
            }
            other => other,
        };
        let outcome = match (read(scene, self.walk, self.at, inventory), known) {
            (Ok(read), Some(known)) if *read.skill == *known.skill => {
                let news = read.stamps != known.stamps || read.settled != known.settled;
                let again = Known {
                    skill: known.skill,
                    ..read
                };
                if news {
                    Outcome::Again(again)
                } else {
                    Outcome::Same(again)
                }
            }
            (Ok(read), _) => Outcome::Read(read),
            (Err(unloadable), _) => Outcome::Unloadable(unloadable),
        };
        (self.path, outcome)
    }
}

fn is_unchanged(known: &Known, walk: &Walk, at: usize) -> bool {
    known.odd == 0 && reading::is_unchanged(walk, at, &known.skill.files, &known.stamps)
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
    scene: Scene<'_>,
    walk: &Walk,
    at: usize,
    inventory: Inventory,
) -> Result<Known, Unloadable> {
    let Scene { place, root, .. } = scene;
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
    let settled = is_settled(scene.now, scene.remote, latest);
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

/// A skill as it was kept in the index.
pub(super) fn revived(stored: Stored, source: &Arc<str>, root: &Root) -> Known {
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
