//! Putting the roots together: precedence, nothing twice, switches.

use std::collections::HashSet;
use std::sync::Arc;

use gongfu_core::library::{Library, Skill, Source, SourceKind};
use gongfu_core::skill::SkillPath;
use rayon::prelude::*;

use super::known::Known;
use super::root::RootState;
use crate::copy::{self, Candidate};
use crate::source::Place;
use crate::switches::Switches;

/// Puts the roots together: precedence, no real path twice, no copy twice, switches.
pub(super) fn library(roots: &[(Place, RootState)], switches: &Switches) -> Library {
    let mut sources = Vec::new();
    let mut skills: Vec<Arc<Skill>> = Vec::new();
    let mut unloadable = Vec::new();
    let mut seen: HashSet<&str> = HashSet::new();
    for (place, state) in roots {
        unloadable.extend(state.unloadable.values().flatten().cloned());
        let Some(root) = &state.root else { continue };
        sources.push(Source {
            id: Arc::clone(&place.id),
            kind: place.kind,
            root: root.path().to_string_lossy().into_owned(),
        });
        let mut known: Vec<(&SkillPath, &Known)> = state.known.iter().collect();
        known.par_sort_unstable_by_key(|(below, _)| *below);
        let candidates: Vec<Candidate<'_>> = known
            .iter()
            .map(|(below, known)| (*below, &*known.skill.files))
            .collect();
        let keep = copy::keep(&candidates);
        for ((_, known), _) in known.into_iter().zip(keep).filter(|(_, keep)| *keep) {
            let copy = place.kind == SourceKind::BuiltIn && is_copy(&known.skill, &skills);
            // Within one root no path comes twice.
            if copy || (roots.len() > 1 && !seen.insert(&known.skill.path)) {
                continue;
            }
            let key = switch_key(Some(place.kind), &known.skill);
            let enabled = !switches.disabled.contains(key);
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

/// What the switches know a skill by; a built-in one by its full name, because its folder moves
/// with every version.
pub(super) fn switch_key(kind: Option<SourceKind>, skill: &Skill) -> &str {
    if kind == Some(SourceKind::BuiltIn) {
        &skill.full_name
    } else {
        &skill.path
    }
}

/// Whether a built-in skill is there already, the same to the byte: as in gongfu's own repository.
fn is_copy(skill: &Skill, others: &[Arc<Skill>]) -> bool {
    others
        .iter()
        .any(|other| other.name == skill.name && other.files == skill.files)
}
