//! What the places hang on: paths that decide whether there is a place at all.
//!
//! Each is watched as an entry of the folder above it, and so is everything above that, because any
//! of these may be renamed, removed, or come only later.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use super::root::RootState;
use super::{LocalSkills, State};
use crate::disk::Root;
use crate::source::Place;
use crate::switches;
use crate::watch::Unwatchable;

impl LocalSkills {
    /// Watches what the places hang on, and asks whether that changed before it was watched.
    pub(super) fn hang(&self, state: &mut State) {
        state.live.unhinged = false;
        let Some(watches) = &mut state.live.watches else {
            return;
        };
        let mut all = true;
        let mut hinged = HashSet::new();
        let ends = self.ends(&state.roots);
        let paths: BTreeSet<&Path> = ends.iter().flat_map(|end| end.ancestors()).collect();
        for path in paths {
            let Some(folder) = path.parent() else {
                continue;
            };
            match watches.hinge(folder, path.to_owned(), Self::is_switches(path)) {
                Ok(mark) => drop(hinged.insert((mark, path.to_owned()))),
                Err(Unwatchable::Gone) => {}
                // Not everybody may read every folder above their own: only that these are renamed is
                // told to nobody then.
                Err(Unwatchable::Other(_)) if !ends.contains(path) => {}
                Err(why) => {
                    tracing::debug!(path = %path.display(), reason = %why, "it can't be watched");
                    all = false;
                }
            }
        }
        // What was watched before stays so all the while: nothing slips through.
        watches.keep_hinges(&hinged);
        state.live.hinged = all;
        let places = self.places();
        state.live.unhinged = !places.iter().eq(state.roots.iter().map(|(place, _)| place));
        for (place, root) in &mut state.roots {
            let now = Root::open(&place.path).ok();
            let known = root.root.as_ref().map(|root| root.path());
            if now.as_ref().map(Root::path) != known {
                root.forget(watches, "");
                root.dirt.whole = true;
                state.live.unhinged = true;
            }
        }
    }

    /// Every path that a place hangs on; what lies above them matters as well.
    fn ends(&self, roots: &[(Place, RootState)]) -> BTreeSet<PathBuf> {
        let mut ends: Vec<PathBuf> = vec![self.home.path().join(switches::FILE)];
        for (place, state) in roots {
            ends.push(place.path.clone());
            // The path that a place has, and where it really is: either may be renamed.
            ends.extend(state.root.as_ref().map(|root| root.path().to_owned()));
        }
        let environment = self.settings.environment.iter();
        ends.extend(environment.map(|folder| folder.join("skills")));
        if let Some(project) = self
            .settings
            .project
            .as_deref()
            .filter(|_| self.settings.default_dirs)
        {
            let start = std::path::absolute(project).unwrap_or_else(|_| project.to_owned());
            ends.extend(start.ancestors().take(64).map(|folder| folder.join(".git")));
        }
        let absolute = |end: &PathBuf| std::path::absolute(end).unwrap_or_else(|_| end.clone());
        ends.iter().map(absolute).collect()
    }

    /// The path of the switches, as an event names it.
    pub(super) fn is_switches(path: &Path) -> bool {
        path.file_name().is_some_and(|name| name == switches::FILE)
    }
}
