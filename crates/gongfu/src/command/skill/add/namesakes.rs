//! Skills of the library that have the name of a new one: an agent that asks for the name gets one of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gongfu_core::library::Skill;
use gongfu_files::disk;
use gongfu_import::candidate::StagedSkill;
use gongfu_import::scope::ScopeKind;
use gongfu_library::source::Place;

use super::Goal;
use crate::cli::Places;
use crate::environment::Environment;
use crate::wiring;

/// The full names of the other skills of a name.
#[derive(Debug, Default)]
pub(super) struct Namesakes {
    /// Those that the new skill hides.
    pub(super) hides: Vec<String>,
    /// Those that hide the new skill.
    pub(super) hidden_by: Vec<String>,
    /// True if the new skill takes no name because its project isn't trusted.
    pub(super) is_distrusted: bool,
}

/// The other skills, by the name that a new one shares with them.
pub(super) fn of(
    staged: &[StagedSkill],
    goal: &Goal,
    environment: &Environment,
) -> BTreeMap<String, Namesakes> {
    let places = Places {
        workspace: (goal.scope.kind == ScopeKind::Project).then(|| goal.scope.base.clone()),
        ..Places::default()
    };
    let Ok(parts) = wiring::unwarned_parts(environment, &places, &[]) else {
        return BTreeMap::new();
    };
    let Ok(library) = parts.library() else {
        return BTreeMap::new();
    };
    let places = parts.skills.places();
    // A project needs trust only once it has skills.
    let is_distrusted =
        goal.scope.kind == ScopeKind::Project && !parts.skills.trusts(&goal.scope.base);
    let found = staged.iter().filter_map(|skill| {
        let own = folders(goal, skill);
        // Where gongfu doesn't look, the new skill hides nothing.
        let (at, path) = own
            .iter()
            .filter_map(|folder| rank(folder, &places))
            .min()?;
        let rank = (if is_distrusted { places.len() } else { at }, path);
        let mut namesakes = Namesakes {
            is_distrusted,
            ..Namesakes::default()
        };
        for other in library.named(&skill.found.name) {
            let folder = disk::real_outside(Path::new(&other.path));
            if !other.enabled || own.contains(&folder) {
                continue;
            }
            let is_hidden = rank < rank_of(other, &folder, &places);
            let list = if is_hidden {
                &mut namesakes.hides
            } else {
                &mut namesakes.hidden_by
            };
            list.push(other.full_name.to_string());
        }
        let is_alone = namesakes.hides.is_empty() && namesakes.hidden_by.is_empty();
        (!is_alone).then(|| (skill.found.name.clone(), namesakes))
    });
    found.collect()
}

/// A skill's rank: the number of its place, and its path, which counts within a place. The lowest one holds the name.
type Rank = (usize, PathBuf);

fn rank(folder: &Path, places: &[Place]) -> Option<Rank> {
    let mut places = places.iter();
    let at = places.position(|place| folder.starts_with(disk::real_outside(&place.path)))?;
    Some((at, folder.to_owned()))
}

/// The rank of a skill of the library. Those of other servers come last.
fn rank_of(skill: &Skill, folder: &Path, places: &[Place]) -> Rank {
    let mut list = places.iter();
    let at = list.position(|place| place.id.as_ref() == &*skill.source);
    (at.unwrap_or(usize::MAX), folder.to_owned())
}

/// The folders that a skill goes to.
fn folders(goal: &Goal, skill: &StagedSkill) -> Vec<PathBuf> {
    let folders = goal.targets.folders.iter().chain(&goal.targets.links);
    let folders = folders.map(|folder| disk::real_outside(&folder.join(&skill.folder)));
    folders.collect()
}
