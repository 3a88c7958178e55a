//! Folders that one process holds by a lock, for what is on its way.
//!
//! One without a lock was left by a process that was killed, and the next process removes it.

use std::fs::File;
use std::io;
use std::path::Path;

use gongfu_core::skill::SkillPath;

use crate::disk::{self, EntryKind, Root};
use crate::transaction::remove_tree;

/// A private folder that is held. Dropped, it is removed.
#[derive(Debug)]
pub struct HeldFolder {
    root: Root,
    _lock: File,
}

impl HeldFolder {
    /// Creates a folder whose name starts with `prefix`, and removes those that killed processes left.
    ///
    /// # Errors
    /// The folder can't be written.
    pub fn new(parent: &Root, prefix: &str) -> io::Result<Self> {
        // Otherwise one that is made and not yet held would look like one that was left.
        let _others = disk::lock(parent, &format!("{prefix}.lock"))?;
        remove_left_behind(parent, prefix);
        let name = disk::random_name(prefix);
        let root = Root::create_private(&parent.path().join(name))?;
        let lock = held(&root).ok_or_else(|| io::Error::other("another process holds it"))?;
        Ok(Self { root, _lock: lock })
    }

    /// The folder.
    pub fn root(&self) -> &Root {
        &self.root
    }
}

impl Drop for HeldFolder {
    fn drop(&mut self) {
        let _ = remove_tree(self.root.path());
    }
}

/// The lock of a folder, unless another process holds it. It is of the folder itself, so that it can't be removed alone.
fn held(folder: &Root) -> Option<File> {
    let file = folder.dir().open(Path::new(".")).ok()?.into_std();
    file.try_lock().is_ok().then_some(file)
}

/// Removes the folders of processes that ended. What can't be removed now is left to the next process.
fn remove_left_behind(parent: &Root, prefix: &str) {
    for entry in parent.list(&SkillPath::root()).unwrap_or_default() {
        if entry.kind != EntryKind::Folder || !entry.name.starts_with(prefix) {
            continue;
        }
        let path = parent.path().join(&entry.name);
        if let Ok(folder) = Root::open(&path)
            && let Some(_lock) = held(&folder)
        {
            let _ = remove_tree(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::HeldFolder;
    use crate::disk::Root;

    #[test]
    fn removes_only_what_nobody_holds() {
        let folder = tempfile::tempdir().unwrap();
        let parent = Root::open(folder.path()).unwrap();
        let names = || {
            let entries = parent.dir().entries().unwrap();
            let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            let mut names: Vec<String> = names.collect();
            names.sort();
            names
        };
        for path in ["some-1/inside", "other-1"] {
            parent.dir().create_dir_all(path).unwrap();
        }
        parent.dir().symlink("other-1", "some-link").unwrap();
        let first = HeldFolder::new(&parent, "some-").unwrap();
        let second = HeldFolder::new(&parent, "some-").unwrap();
        assert_eq!(names().len(), 5, "{:?}", names());
        assert!(first.root().is_linked() && second.root().is_linked());
        drop((first, second));
        assert_eq!(names(), ["other-1", "some-.lock", "some-link"]);
    }

    #[test]
    fn nobody_takes_a_new_one_for_one_that_was_left() {
        let folder = tempfile::tempdir().unwrap();
        let parent = Root::open(folder.path()).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        let held = HeldFolder::new(&parent, "some-").unwrap();
                        held.root().dir().create_dir("inside").unwrap();
                    }
                });
            }
        });
    }
}
