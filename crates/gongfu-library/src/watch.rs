//! Watches: the system reports changes of folders, so that nobody has to look.
//!
//! Maps the kernel's marks to folders, and its events to paths; knows nothing of skills. On Linux
//! this calls inotify without a library in between: an answer must include every change before its
//! question, so the queue is read in the middle of the question. Other systems report nothing.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

mod event;
#[cfg(target_os = "linux")]
mod inotify;
#[cfg(not(target_os = "linux"))]
mod unsupported;

use event::Interest;
#[cfg(target_os = "linux")]
use inotify as system;
#[cfg(not(target_os = "linux"))]
use unsupported as system;

pub(crate) use event::Mark;
pub use event::Unwatchable;
pub(crate) use system::{Waiter, is_remote};

/// The number of a root.
pub(crate) type RootNumber = u32;

/// The reason why a folder is watched.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Target {
    /// A folder of a root, by its path below it.
    Folder(RootNumber, Arc<str>),
    /// A folder of which one entry matters: the whole path of the entry.
    Entry(PathBuf),
}

/// A change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    /// In a folder of a root.
    Folder {
        /// The root.
        root: RootNumber,
        /// The folder below it.
        folder: Arc<str>,
        /// The entry that changed; `None` for the folder itself.
        name: Option<String>,
        /// True if the entry is a folder.
        is_folder: bool,
        /// True if it came or went, so that everything below it is stale.
        moved: bool,
    },
    /// A single watched entry came, went or changed.
    Entry(PathBuf),
    /// Events were lost.
    Everything,
}

/// The most folders that a process may watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit(pub usize);

impl Default for Limit {
    fn default() -> Self {
        Self(usize::MAX)
    }
}

/// The watched folders.
#[derive(Debug)]
pub(crate) struct Watches {
    system: system::Queue,
    targets: HashMap<Mark, Vec<Target>>,
    limit: Limit,
}

impl Watches {
    /// An empty set of watches.
    ///
    /// # Errors
    /// This system has no watches, or no room for another queue.
    pub(crate) fn new(limit: Limit) -> Result<Self, Unwatchable> {
        Ok(Self {
            system: system::Queue::new()?,
            targets: HashMap::new(),
            limit,
        })
    }

    /// The number of watched folders.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.targets.len()
    }

    /// Lets a waiter end its pauses with the next event.
    pub(crate) fn attach(&self, waiter: &mut Waiter) {
        waiter.attach(&self.system);
    }

    /// Watches a folder of a root; a link in its place is not followed.
    ///
    /// # Errors
    /// It can't be watched.
    pub(crate) fn folder(
        &mut self,
        path: &Path,
        root: RootNumber,
        below: &Arc<str>,
    ) -> Result<Mark, Unwatchable> {
        self.add(
            path,
            Target::Folder(root, Arc::clone(below)),
            Interest::Folder,
        )
    }

    /// Watches one entry of a folder, whether it exists or not; with `content` its content, too.
    ///
    /// # Errors
    /// The folder can't be watched.
    pub(crate) fn entry(
        &mut self,
        folder: &Path,
        entry: PathBuf,
        content: bool,
    ) -> Result<Mark, Unwatchable> {
        let wanted = if content {
            Interest::Content
        } else {
            Interest::Names
        };
        self.add(folder, Target::Entry(entry), wanted)
    }

    fn add(&mut self, path: &Path, target: Target, wanted: Interest) -> Result<Mark, Unwatchable> {
        let full = self.targets.len() >= self.limit.0;
        let mark = self.system.add(path, wanted)?;
        if full && !self.targets.contains_key(&mark) {
            self.system.remove(mark);
            return Err(Unwatchable::Exhausted);
        }
        // Nearly every folder has one target, and there are many folders.
        let targets = self
            .targets
            .entry(mark)
            .or_insert_with(|| Vec::with_capacity(1));
        if !targets.contains(&target) {
            targets.push(target);
        }
        Ok(mark)
    }

    /// Stops watching a folder of a root.
    pub(crate) fn forget(&mut self, mark: Mark, root: RootNumber, below: &str) {
        self.retain(
            mark,
            |target| !matches!(target, Target::Folder(number, path) if *number == root && **path == *below),
        );
    }

    /// Stops watching single entries, except for these.
    pub(crate) fn retain_entries(&mut self, kept: &HashSet<(Mark, PathBuf)>) {
        let is_entry = |target: &Target| matches!(target, Target::Entry(_));
        let marks: Vec<Mark> = self
            .targets
            .iter()
            .filter(|(_, targets)| targets.iter().any(is_entry))
            .map(|(mark, _)| *mark)
            .collect();
        for mark in marks {
            self.retain(mark, |target| match target {
                Target::Entry(path) => kept.contains(&(mark, path.clone())),
                Target::Folder(..) => true,
            });
        }
    }

    fn retain(&mut self, mark: Mark, keep: impl FnMut(&Target) -> bool) {
        if let Some(targets) = self.targets.get_mut(&mark) {
            targets.retain(keep);
            if targets.is_empty() {
                self.targets.remove(&mark);
                self.system.remove(mark);
            }
        }
    }

    /// Takes the events that came since the last call; never waits.
    pub(crate) fn drain(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        let targets = &mut self.targets;
        self.system.drain(|raw| {
            let Some(mark) = raw.mark else {
                events.push(Event::Everything);
                return;
            };
            for target in targets.get(&mark).into_iter().flatten() {
                match target {
                    Target::Folder(root, folder) => events.push(Event::Folder {
                        root: *root,
                        folder: Arc::clone(folder),
                        name: raw.name.map(str::to_owned),
                        is_folder: raw.is_folder,
                        moved: raw.moved,
                    }),
                    Target::Entry(path) => {
                        let name = path.file_name().and_then(|name| name.to_str());
                        // Without a name the folder itself went.
                        if raw.name.is_none() || raw.name == name {
                            events.push(Event::Entry(path.clone()));
                        }
                    }
                }
            }
            if raw.ended {
                targets.remove(&mark);
            }
        });
        // A file that is written in pieces causes many equal events.
        events.dedup();
        events
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;
