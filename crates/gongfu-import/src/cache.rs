//! The files of installed skills, by the digests of their locks, so that a lock can be installed without a network.
//!
//! Nothing in it is trusted: what is taken from it is compared with the lock, file by file.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use gongfu_core::skill::Digest;
use gongfu_files::Home;
use gongfu_files::disk::Root;
use gongfu_files::transaction::copy_tree;

use crate::candidate::StagedSkill;
use crate::lock::own::LockedSkill;
use crate::verify::verify;

/// The folder of the cache in gongfu's home.
const FOLDER: &str = "imports/skills";
/// The most skills that are kept; the oldest are removed.
const MAX_SKILLS: usize = 2_000;

/// The files of installed skills.
pub struct Cache {
    root: Root,
}

impl Cache {
    /// The cache of gongfu's home.
    ///
    /// # Errors
    /// The home can't be written.
    pub fn open(home: &Home) -> io::Result<Self> {
        home.folder("imports")?;
        Ok(Self {
            root: home.folder(FOLDER)?,
        })
    }

    /// Copies staged skills into it. They are copied below `temporary` first, so that nothing is there by half.
    ///
    /// # Errors
    /// A file can't be read or written.
    pub fn put(&self, skills: &[StagedSkill], temporary: &Root) -> io::Result<()> {
        for skill in skills {
            let name = name(skill.digest);
            if self.root.dir().is_dir(&name) {
                continue;
            }
            let own = format!("cached-{name}");
            temporary.dir().create_dir(&own)?;
            let folder = Root::open(&temporary.path().join(&own))?;
            copy_tree(&Root::open(&skill.staged)?, &folder)?;
            match temporary.dir().rename(&own, self.root.dir(), &name) {
                // Another process was faster.
                Err(_) if self.root.dir().is_dir(&name) => {}
                renamed => renamed?,
            }
        }
        self.prune()
    }

    /// The files of a locked skill; none where the cache doesn't have it, or not as it is locked.
    pub fn folder(&self, locked: &LockedSkill) -> Option<Root> {
        let cached = self.root.path().join(name(locked.digest?));
        let is_same = verify(&cached, locked).is_empty();
        is_same.then(|| Root::open(&cached).ok()).flatten()
    }

    /// Copies a locked skill to a path below `into`; none where the cache doesn't have it, or not as it is locked.
    ///
    /// # Errors
    /// A file can't be written.
    pub fn stage(
        &self,
        locked: &LockedSkill,
        into: &Root,
        below: &Path,
    ) -> io::Result<Option<PathBuf>> {
        let Some(cached) = self.folder(locked) else {
            return Ok(None);
        };
        into.dir().create_dir_all(below)?;
        let staged = into.path().join(below);
        copy_tree(&cached, &Root::open(&staged)?)?;
        // Compared again: another process could have changed it meanwhile.
        Ok(verify(&staged, locked).is_empty().then_some(staged))
    }

    /// Removes the oldest skills above the limit.
    fn prune(&self) -> io::Result<()> {
        let mut found = Vec::new();
        for entry in self.root.dir().entries()? {
            let entry = entry?;
            let modified = entry.metadata()?.modified()?.into_std();
            found.push((modified, entry.file_name()));
        }
        let above = found.len().saturating_sub(MAX_SKILLS);
        found.sort_unstable_by_key(|(modified, _): &(SystemTime, _)| *modified);
        for (_, name) in found.into_iter().take(above) {
            self.root.dir().remove_dir_all(&name)?;
        }
        Ok(())
    }
}

/// The name of a skill's folder in the cache.
fn name(digest: Digest) -> String {
    digest.to_string().replace(':', "-")
}

#[cfg(test)]
mod tests;
