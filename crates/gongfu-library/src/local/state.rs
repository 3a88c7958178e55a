//! The state of the library between two looks: its roots, and the changes that the watches reported.

use std::path::PathBuf;
use std::sync::Arc;

use gongfu_core::library::{Library, UseCounts};
use gongfu_core::port::Timestamp;
use gongfu_core::switches::Switches;
use gongfu_core::trust::Trusts;

use super::root::RootState;
use crate::source::Place;
use crate::watch::{Event, RootNumber, Unwatchable, Waiter, Watches};

/// Everything that a look changes.
#[derive(Default)]
pub(super) struct State {
    /// The time of the last look.
    pub(super) looked: Option<Timestamp>,
    pub(super) roots: Vec<(Place, RootState)>,
    pub(super) switches: Switches,
    /// The trusted projects of the last look.
    pub(super) trusts: Trusts,
    /// The uses of skills before the first look.
    pub(super) uses: Arc<UseCounts>,
    pub(super) library: Arc<Library>,
    pub(super) watch: WatchState,
}

/// The progress of the watching.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Stage {
    /// Not wanted.
    #[default]
    Off,
    /// The watches are being made.
    Starting,
    /// Every folder that can be watched is watched.
    Ready,
}

/// The watches, and the changes that they reported.
#[derive(Default)]
pub(super) struct WatchState {
    pub(super) watches: Option<Watches>,
    /// True if the switches changed.
    pub(super) switches_changed: bool,
    /// True if an ancestor of a place changed, so that there may be other places.
    pub(super) places_changed: bool,
    /// True if all ancestors of the places are watched.
    pub(super) ancestors_watched: bool,
    /// The file of the switches.
    pub(super) switch_file: Option<PathBuf>,
    /// The file of the trusted projects, which decide about the places.
    pub(super) trust_file: Option<PathBuf>,
    pub(super) stage: Stage,
    pub(super) waiter: Option<Waiter>,
    /// The reason why nothing at all can be watched.
    pub(super) unwatchable: Option<Unwatchable>,
    roots: RootNumber,
}

/// The watching of a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchStatus {
    /// The id of the place.
    pub id: Arc<str>,
    /// The folder.
    pub path: PathBuf,
    /// The number of its watched folders.
    pub folders: usize,
    /// The reason why it is polled instead.
    pub unwatched: Option<Unwatchable>,
}

impl WatchState {
    pub(super) fn is_ready(&self) -> bool {
        self.stage == Stage::Ready
    }

    pub(super) fn is_starting(&self) -> bool {
        self.stage == Stage::Starting
    }

    /// Returns whether a thread writes the index and reports changes.
    pub(super) fn has_thread(&self) -> bool {
        self.waiter.is_some()
    }

    pub(super) fn wake(&self) {
        if let Some(waiter) = &self.waiter {
            waiter.wake();
        }
    }

    /// A root that wasn't looked at yet.
    pub(super) fn new_root(&mut self) -> RootState {
        self.roots = self.roots.wrapping_add(1);
        RootState::new(self.roots, self.unwatchable.clone())
    }
}

impl State {
    /// Takes the events that came since the last time.
    pub(super) fn absorb(&mut self) {
        let Some(watches) = &mut self.watch.watches else {
            return;
        };
        for event in watches.drain() {
            match event {
                Event::Folder {
                    root,
                    folder,
                    name,
                    is_folder,
                    moved,
                } => {
                    let mut roots = self.roots.iter_mut().map(|(_, root)| root);
                    let Some(root) = roots.find(|known| known.number == root) else {
                        continue;
                    };
                    match &name {
                        None if moved => root.forget(watches, &folder),
                        Some(name) if moved && is_folder && folder.is_empty() => {
                            root.forget(watches, name);
                        }
                        Some(name) if moved && is_folder => {
                            root.forget(watches, &format!("{folder}/{name}"));
                        }
                        _ => {}
                    }
                    root.dirty.whole |= folder.is_empty() && name.is_none();
                    if let Some(tree) = root.tree.as_ref().filter(|_| !root.dirty.whole) {
                        let parts = tree.parts(&folder, name.as_deref(), is_folder, moved);
                        root.dirty.parts.extend(parts);
                    }
                }
                Event::Entry(path) if Some(&path) == self.watch.switch_file.as_ref() => {
                    self.watch.switches_changed = true;
                }
                Event::Entry(path) => {
                    self.watch.places_changed = true;
                    for (place, root) in &mut self.roots {
                        let mut opened = root.root.iter();
                        if opened.any(|root| root.path().starts_with(&path))
                            || place.path.starts_with(&path)
                        {
                            root.forget(watches, "");
                            root.dirty.whole = true;
                        }
                    }
                }
                Event::Everything => {
                    (self.watch.switches_changed, self.watch.places_changed) = (true, true);
                    for (_, root) in &mut self.roots {
                        root.forget(watches, "");
                        root.dirty.whole = true;
                    }
                }
            }
        }
    }

    /// Marks everything dirty whose changes nobody reports.
    pub(super) fn doubt(&mut self) {
        let unwatched = !self.watch.ancestors_watched;
        self.watch.switches_changed |= unwatched || self.watch.switch_file.is_none();
        self.watch.places_changed |= unwatched;
        for (_, root) in &mut self.roots {
            root.dirty.whole |= root.unwatched.is_some() || unwatched;
            if let Some(tree) = &root.tree {
                root.dirty.parts.extend(tree.linked());
            }
        }
    }

    /// Returns whether nothing has to be looked at.
    pub(super) fn is_clean(&self) -> bool {
        let mut roots = self.roots.iter();
        !self.watch.switches_changed
            && !self.watch.places_changed
            && roots.all(|(_, root)| root.dirty.is_empty())
    }

    /// The number of skills whose stamps can't be trusted yet.
    pub(super) fn unsettled(&self) -> usize {
        let roots = self.roots.iter();
        roots.map(|(_, root)| root.unsettled().count()).sum()
    }
}
