//! Watches the ancestors of the places: paths that decide whether a place exists at all.
//!
//! Each is watched as an entry of the folder above it, and so is every folder above that, because any
//! of them may be renamed or removed, or come only later.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use gongfu_core::project::MARKERS;
use gongfu_files::disk::{Root, real_outside};

use super::LocalSkills;
use super::root::RootState;
use super::state::State;
use crate::source::Place;
use crate::trust::TrustRecord;
use crate::watch::Unwatchable;

/// The most folders above a project in which a repository is looked for.
const MAX_LEVELS: usize = 64;

impl LocalSkills {
    /// Watches the ancestors of the places, and checks whether one changed before.
    pub(super) fn watch_ancestors(&self, state: &mut State) {
        state.watch.places_changed = false;
        let Some(watches) = &mut state.watch.watches else {
            return;
        };
        let mut all = true;
        let mut entries = HashSet::new();
        let ends = self.ends(&state.roots);
        let paths: BTreeSet<&Path> = ends.iter().flat_map(|end| end.ancestors()).collect();
        for path in paths {
            let Some(folder) = path.parent() else {
                continue;
            };
            let mut records = state
                .watch
                .switch_file
                .iter()
                .chain(&state.watch.trust_file);
            let is_record = records.any(|record| record == path);
            match watches.entry(folder, path.to_owned(), is_record) {
                Ok(mark) => drop(entries.insert((mark, path.to_owned()))),
                Err(Unwatchable::Gone) => {}
                // Not everybody may read every folder above their own. That one is renamed is then
                // reported to nobody.
                Err(Unwatchable::Other(_)) if !ends.contains(path) => {}
                Err(why) => {
                    tracing::debug!(path = %path.display(), reason = %why, "it can't be watched");
                    all = false;
                }
            }
        }
        // The earlier ones were watched until now: no change is missed.
        watches.retain_entries(&entries);
        state.watch.ancestors_watched = all;
        let places = self.places();
        state.watch.places_changed = !places.iter().eq(state.roots.iter().map(|(place, _)| place));
        for (place, root) in &mut state.roots {
            let now = place.open().ok();
            let known = root.root.as_ref().map(|root| root.path());
            if now.as_ref().map(Root::path) != known {
                root.forget(watches, "");
                root.dirty.whole = true;
                state.watch.places_changed = true;
            }
        }
    }

    /// The paths that decide about a place; everything above them matters as well.
    fn ends(&self, roots: &[(Place, RootState)]) -> BTreeSet<PathBuf> {
        let settings = self.settings();
        let records = self.switches.file().into_iter();
        let records = records.chain(self.trusts.as_ref().map(TrustRecord::file));
        let mut ends: Vec<PathBuf> = records.map(Path::to_owned).collect();
        for (place, state) in roots {
            ends.push(place.path.clone());
            // Its path, and its real path: either may be renamed.
            ends.extend(state.root.as_ref().map(|root| root.path().to_owned()));
        }
        let environment = settings.environment.iter();
        ends.extend(environment.map(|folder| folder.join("skills")));
        if let Some(project) = settings
            .project
            .as_deref()
            .filter(|_| settings.default_dirs)
        {
            let start = real_outside(project);
            let above = start.ancestors().take(MAX_LEVELS);
            ends.extend(above.flat_map(|folder| MARKERS.map(|marker| folder.join(marker))));
        }
        let absolute = |end: &PathBuf| std::path::absolute(end).unwrap_or_else(|_| end.clone());
        ends.iter().map(absolute).collect()
    }
}
