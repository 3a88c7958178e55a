//! Being told by the system what changes in folders, instead of looking.
//!
//! Holds which folder each mark of the kernel stands for, and turns events into places; knows
//! nothing of skills. On Linux these are inotify's own calls and no library around them: what
//! happened before a question must be known to its answer, and for that the queue has to be read in
//! the middle of the question itself. Elsewhere nothing is told, and whoever asks must look.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(not(target_os = "linux"))]
mod absent;
#[cfg(target_os = "linux")]
mod inotify;

#[cfg(not(target_os = "linux"))]
use absent as system;
#[cfg(target_os = "linux")]
use inotify as system;

pub use system::{Waiter, is_remote};

/// What the kernel knows a watched folder by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mark(i32);

/// A number that a root is known by here.
pub type RootNumber = u32;

/// What a watched folder is to whoever watches it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Target {
    /// A folder of a root, by its path below it.
    Folder(RootNumber, Arc<str>),
    /// A folder of which one entry alone matters: the whole path of that.
    Hinge(PathBuf),
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// In a folder of a root.
    Folder {
        /// The root.
        root: RootNumber,
        /// The folder below it.
        folder: Arc<str>,
        /// The entry that it happened to; none when it is the folder itself.
        name: Option<String>,
        /// Whether that is a folder.
        is_folder: bool,
        /// Whether it came or went, so that what was known below it is stale.
        moved: bool,
    },
    /// A path that places hang on came, went or changed.
    Hinge(PathBuf),
    /// So much that nobody counted.
    Everything,
}

/// How many folders a process may watch at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit(pub usize);

impl Default for Limit {
    fn default() -> Self {
        Self(usize::MAX)
    }
}

/// Why a folder can't be watched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unwatchable {
    /// It isn't there, or is no folder any more.
    #[error("it is gone")]
    Gone,
    /// The system allows no more of them.
    #[error("the system allows no more watches")]
    Exhausted,
    /// It lies on a file system that others change without this system hearing of it.
    #[error("it lies on a network file system")]
    Remote,
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

/// The folders that are watched.
#[derive(Debug)]
pub struct Watches {
    system: system::Queue,
    targets: HashMap<Mark, Vec<Target>>,
    limit: Limit,
}

impl Watches {
    /// Begins to watch, with nothing watched yet.
    ///
    /// # Errors
    /// This system tells nothing, or has no room for one more that is told.
    pub fn new(limit: Limit) -> Result<Self, Unwatchable> {
        Ok(Self {
            system: system::Queue::new()?,
            targets: HashMap::new(),
            limit,
        })
    }

    /// How many folders are watched.
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// Whether nothing is watched.
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// Watches a folder of a root; a link in its place is not followed.
    ///
    /// # Errors
    /// It can't be watched.
    pub fn folder(
        &mut self,
        path: &Path,
        root: RootNumber,
        below: &Arc<str>,
    ) -> Result<Mark, Unwatchable> {
        self.add(
            path,
            Target::Folder(root, Arc::clone(below)),
            Wanted::Folder,
        )
    }

    /// Watches one entry of a folder, whether it is there or not; with `content` what is in it, too.
    ///
    /// # Errors
    /// The folder can't be watched.
    pub fn hinge(
        &mut self,
        folder: &Path,
        entry: PathBuf,
        content: bool,
    ) -> Result<Mark, Unwatchable> {
        let wanted = if content {
            Wanted::Content
        } else {
            Wanted::Names
        };
        self.add(folder, Target::Hinge(entry), wanted)
    }

    fn add(&mut self, path: &Path, target: Target, wanted: Wanted) -> Result<Mark, Unwatchable> {
        let full = self.targets.len() >= self.limit.0;
        let mark = self.system.add(path, wanted)?;
        if full && !self.targets.contains_key(&mark) {
            self.system.remove(mark);
            return Err(Unwatchable::Exhausted);
        }
        // Nearly every folder has one, and there are many folders.
        let targets = self
            .targets
            .entry(mark)
            .or_insert_with(|| Vec::with_capacity(1));
        if !targets.contains(&target) {
            targets.push(target);
        }
        Ok(mark)
    }

    /// Forgets a folder of a root.
    pub fn forget(&mut self, mark: Mark, root: RootNumber, below: &str) {
        self.retain(
            mark,
            |target| !matches!(target, Target::Folder(number, path) if *number == root && **path == *below),
        );
    }

    /// Forgets every single entry that is watched, but for these.
    pub fn keep_hinges(&mut self, kept: &HashSet<(Mark, PathBuf)>) {
        let is_hinge = |target: &Target| matches!(target, Target::Hinge(_));
        let hinged: Vec<Mark> = self
            .targets
            .iter()
            .filter(|(_, targets)| targets.iter().any(is_hinge))
            .map(|(mark, _)| *mark)
            .collect();
        for mark in hinged {
            self.retain(mark, |target| match target {
                Target::Hinge(path) => kept.contains(&(mark, path.clone())),
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

    /// Everything that happened and was not told before; never waits.
    pub fn drain(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        let targets = &mut self.targets;
        self.system.drain(|happened| {
            let Some(mark) = happened.mark else {
                events.push(Event::Everything);
                return;
            };
            for target in targets.get(&mark).into_iter().flatten() {
                match target {
                    Target::Folder(root, folder) => events.push(Event::Folder {
                        root: *root,
                        folder: Arc::clone(folder),
                        name: happened.name.map(str::to_owned),
                        is_folder: happened.is_folder,
                        moved: happened.moved,
                    }),
                    Target::Hinge(path) => {
                        let name = path.file_name().and_then(|name| name.to_str());
                        // Without a name it is the folder itself that went.
                        if happened.name.is_none() || happened.name == name {
                            events.push(Event::Hinge(path.clone()));
                        }
                    }
                }
            }
            if happened.ended {
                targets.remove(&mark);
            }
        });
        // A file that is written piece by piece says the same many times.
        events.dedup();
        events
    }
}

/// What is wanted to be told of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// Everything about a folder itself; nothing where a link is in its place.
    Folder,
    /// Everything about a folder, wherever it is.
    Content,
    /// What comes, goes and may be opened in a folder, wherever it is.
    Names,
}

/// One event as the system tells it.
struct Happened<'a> {
    /// Which folder; none when the system lost count.
    mark: Option<Mark>,
    /// The entry of the folder; none for the folder itself.
    name: Option<&'a str>,
    /// Whether that entry is a folder.
    is_folder: bool,
    /// Whether something came or went under that name, or the folder itself did.
    moved: bool,
    /// Whether the folder is not watched any more.
    ended: bool,
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;
