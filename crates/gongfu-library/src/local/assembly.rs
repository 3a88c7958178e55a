//! Puts the roots together as a library: precedence, no duplicates, switches.

use std::collections::HashSet;
use std::sync::Arc;

use gongfu_core::library::{Library, Skill, Source, SourceKind};
use gongfu_core::skill::SkillPath;
use gongfu_core::switches::Switches;
use rayon::prelude::*;

use super::cached_skill::CachedSkill;
use super::root::RootState;
use crate::copy::{self, Candidate};
use crate::source::Place;

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
            project: place.project.clone(),
        });
        let mut cached: Vec<(&SkillPath, &CachedSkill)> = state.skills.iter().collect();
        cached.par_sort_unstable_by_key(|(below, _)| *below);
        let candidates: Vec<Candidate<'_>> = cached
            .iter()
            .map(|(below, cached)| (*below, &*cached.skill.files))
            .collect();
        let keep = copy::keep(&candidates);
        for ((_, cached), _) in cached.into_iter().zip(keep).filter(|(_, keep)| *keep) {
            let copy = place.kind == SourceKind::BuiltIn && is_copy(&cached.skill, &skills);
            // Within one root no path occurs twice.
            if copy || (roots.len() > 1 && !seen.insert(&cached.skill.path)) {
                continue;
            }
            let identity = cached.skill.identity(Some(place.kind));
            let enabled = !switches.disabled.contains(identity);
            skills.push(if enabled {
                Arc::clone(&cached.skill)
            } else {
                Arc::new(Skill {
                    enabled,
                    ..(*cached.skill).clone()
                })
            });
        }
    }
    Library::new(sources, skills, unloadable)
}

/// Returns whether a built-in skill is in the library already, byte by byte: as in gongfu's own repository.
fn is_copy(skill: &Skill, others: &[Arc<Skill>]) -> bool {
    others
        .iter()
        .any(|other| other.name == skill.name && other.files == skill.files)
}
