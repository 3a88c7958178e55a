//! A skill as it was last read, and reading it again when it changed.

use std::path::PathBuf;
use std::sync::Arc;

use gongfu_core::library::{FindingCount, Skill, Unloadable};
use gongfu_core::port::Timestamp;
use gongfu_core::skill::path::PathError;
use gongfu_core::skill::{FileEntry, SkillName, SkillPath};
use gongfu_files::disk::{Root, Stamp};

use crate::index::Row;
use crate::reading::{self, Inventory};
use crate::source::Place;
use crate::walk::Walk;

/// The age from which a stamp is trusted, in nanoseconds: file systems keep times as coarse as two
/// seconds, so a second change could leave the same stamp.
const SETTLED: i64 = 2_000_000_000;

/// The same where another machine keeps the times: its clock may be wrong by hours.
const SETTLED_REMOTE: i64 = 26 * 3_600 * 1_000_000_000;

/// A skill as it was last read, with the stamps that show a change.
pub(super) struct CachedSkill {
    /// The skill, enabled.
    pub(super) skill: Arc<Skill>,
    stamps: Box<[Stamp]>,
    odd: usize,
    /// True if it was read long enough after its last change to trust the stamps.
    pub(super) settled: bool,
}

impl CachedSkill {
    /// Its row in the index.
    pub(super) fn row(&self) -> Row<'_> {
        Row::new(&self.skill, &self.stamps, self.odd, self.settled)
    }

    /// A skill from its row in the index.
    pub(super) fn revive(
        row: &Row<'_>,
        files: Arc<[FileEntry]>,
        place: &Place,
        root: &Root,
    ) -> Result<Self, PathError> {
        let folder = SkillPath::new(row.folder)?;
        let skill = Skill {
            name: SkillName::new(row.name).unwrap_or_else(|_| SkillName::from_folder(row.name)),
            full_name: place.full_name(&folder),
            description: row.description.to_owned(),
            frontmatter: row.frontmatter.into(),
            source: Arc::clone(&place.id),
            path: shown(root, &folder),
            folder,
            files,
            unlisted: Arc::default(),
            findings: row.findings,
            enabled: true,
        };
        Ok(Self {
            skill: Arc::new(skill),
            stamps: row.stamps(),
            odd: row.odd,
            settled: row.settled,
        })
    }
}

/// The circumstances in which skills are read.
#[derive(Clone, Copy)]
pub(super) struct Scene<'a> {
    pub(super) place: &'a Place,
    pub(super) root: &'a Root,
    pub(super) now: Timestamp,
    /// The folders of all places.
    pub(super) places: &'a [PathBuf],
    /// True if another machine keeps the times of the files, by its own clock.
    pub(super) remote: bool,
}

/// A skill that a walk found, with the last reading of it.
pub(super) struct FoundSkill<'a> {
    pub(super) walk: &'a Walk,
    pub(super) at: usize,
    pub(super) path: SkillPath,
    pub(super) cached: Option<CachedSkill>,
}

/// The outcome of looking at a skill.
pub(super) enum Outcome {
    /// It is unchanged, and nothing was read.
    Same(CachedSkill),
    /// It was read again and is unchanged; its stamps may be others, or trusted from now on.
    Confirmed(CachedSkill),
    /// It is new, or changed.
    Changed(CachedSkill),
    /// It can't be loaded.
    Unloadable(Unloadable),
}

/// Returns whether a change is old enough to trust the stamp that shows it.
pub(super) fn is_settled(now: Timestamp, remote: bool, changed: i64) -> bool {
    let trusted = if remote { SETTLED_REMOTE } else { SETTLED };
    // A time in the future is never trusted: the difference is negative.
    now.0.saturating_mul(1_000_000).saturating_sub(changed) > trusted
}

impl FoundSkill<'_> {
    /// Reads the skill, unless it is certainly unchanged.
    pub(super) fn outcome(self, scene: Scene<'_>) -> (SkillPath, Outcome) {
        let cached = match self.cached {
            Some(cached) if cached.settled && is_unchanged(&cached, self.walk, self.at) => {
                return (self.path, Outcome::Same(cached));
            }
            other => other,
        };
        let inventory = reading::inventory(scene.root, self.walk, self.at);
        let cached = match cached {
            Some(cached) if cached.settled && is_same(&cached, &inventory) => {
                return (self.path, Outcome::Same(cached));
            }
            other => other,
        };
        let outcome = match (read(scene, self.walk, self.at, inventory), cached) {
            (Ok(read), Some(cached)) if *read.skill == *cached.skill => {
                let is_confirmed = read.stamps != cached.stamps || read.settled != cached.settled;
                let read = CachedSkill {
                    skill: cached.skill,
                    ..read
                };
                if is_confirmed {
                    Outcome::Confirmed(read)
                } else {
                    Outcome::Same(read)
                }
            }
            (Ok(read), _) => Outcome::Changed(read),
            (Err(unloadable), _) => Outcome::Unloadable(unloadable),
        };
        (self.path, outcome)
    }
}

fn is_unchanged(cached: &CachedSkill, walk: &Walk, at: usize) -> bool {
    cached.odd == 0 && reading::is_unchanged(walk, at, &cached.skill.files, &cached.stamps)
}

fn is_same(cached: &CachedSkill, inventory: &Inventory) -> bool {
    cached.odd == inventory.odd.len()
        && cached.stamps.len() == inventory.files.len()
        && cached
            .stamps
            .iter()
            .zip(cached.skill.files.iter())
            .zip(&inventory.files)
            .all(|((stamp, file), (path, now))| stamp == now && file.path == *path)
}

fn read(
    scene: Scene<'_>,
    walk: &Walk,
    at: usize,
    inventory: Inventory,
) -> Result<CachedSkill, Unloadable> {
    let Scene { place, root, .. } = scene;
    let folder = walk
        .folders
        .get(at)
        .map_or_else(SkillPath::root, |folder| folder.path.clone());
    let path = shown(root, &folder);
    let stamps: Box<[Stamp]> = inventory.files.iter().map(|(_, stamp)| *stamp).collect();
    let odd = inventory.odd.len();
    let reading = reading::read(root, walk, at, inventory, false);
    let Some(document) = reading.document else {
        return Err(Unloadable {
            path,
            diagnostics: reading.diagnostics,
        });
    };
    let latest = stamps.iter().map(|stamp| stamp.changed).max();
    let settled = is_settled(scene.now, scene.remote, latest.unwrap_or(0));
    let skill = Skill {
        name: document.name,
        full_name: place.full_name(&folder),
        description: document.description,
        frontmatter: serde_json::Value::Object(document.frontmatter)
            .to_string()
            .into(),
        source: Arc::clone(&place.id),
        folder,
        path,
        files: reading.folder.files.into(),
        unlisted: Arc::default(),
        findings: FindingCount::of(&reading.diagnostics),
        enabled: true,
    };
    Ok(CachedSkill {
        skill: Arc::new(skill),
        stamps,
        odd,
        settled,
    })
}

fn shown(root: &Root, folder: &SkillPath) -> String {
    let path = if folder.is_root() {
        root.path().to_owned()
    } else {
        root.path().join(folder.as_str())
    };
    path.to_string_lossy().into_owned()
}
