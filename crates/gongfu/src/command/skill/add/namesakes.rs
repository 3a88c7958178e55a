//! Skills of the library that have the name of a new one: an agent that asks for the name gets one of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
    let roots = places.iter().map(|place| disk::real_outside(&place.path));
    let roots: Vec<PathBuf> = roots.collect();
    // A project needs trust only once it has skills.
    let is_distrusted =
        goal.scope.kind == ScopeKind::Project && !parts.skills.trusts(&goal.scope.base);
    let found = staged.iter().filter_map(|skill| {
        let mut named = library.named(&skill.found.name);
        if named.is_empty() {
            return None;
        }
        let own = folders(goal, skill);
        let real = |other: &Skill| disk::real_outside(Path::new(&other.path));
        let is_disabled = |other: &&Arc<Skill>| !other.enabled && own.contains(&real(other));
        if named.iter().any(is_disabled) {
            // It stays disabled, and takes no name.
            return None;
        }
        named.retain(|other| other.enabled && !own.contains(&real(other)));
        // Where gongfu doesn't look, the new skill hides nothing.
        let ranks = own.iter().filter_map(|folder| rank(folder, &roots));
        let (mut at, path) = ranks.min()?;
        let is_last = places
            .get(at)
            .is_some_and(|place| place.confined_to.is_some());
        if is_distrusted && !is_last {
            at = places.len();
        }
        let rank = (at, path);
        let mut namesakes = Namesakes {
            is_distrusted,
            ..Namesakes::default()
        };
        for other in named {
            let is_hidden = rank < rank_of(other, &real(other), &places);
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

/// A skill's rank: the number of its place, and its path as a text, which counts within a place. The lowest one holds the
/// name.
type Rank = (usize, String);

fn rank(folder: &Path, roots: &[PathBuf]) -> Option<Rank> {
    let at = roots.iter().position(|root| folder.starts_with(root))?;
    Some((at, text(folder)))
}

/// The rank of a skill of the library. Those of other servers come last.
fn rank_of(skill: &Skill, folder: &Path, places: &[Place]) -> Rank {
    let mut list = places.iter();
    let at = list.position(|place| place.id.as_ref() == &*skill.source);
    (at.unwrap_or(usize::MAX), text(folder))
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The folders that a skill goes to.
fn folders(goal: &Goal, skill: &StagedSkill) -> Vec<PathBuf> {
    let folders = goal.targets.folders.iter().chain(&goal.targets.links);
    let folders = folders.map(|folder| disk::real_outside(&folder.join(&skill.folder)));
    folders.collect()
}
