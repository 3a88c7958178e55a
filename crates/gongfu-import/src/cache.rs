//! The files of installed skills, by the digests of their locks, so that a lock can be installed without a network.
//!
//! Each skill is one file: it is written faster than a folder, and takes less room. Nothing in it is trusted: what is
//! taken from it is compared with the lock, file by file.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use gongfu_core::skill::{Digest, SkillPath};
use gongfu_files::Home;
use gongfu_files::disk::Root;
use serde::{Deserialize, Serialize};

use crate::candidate::{StagedSkill, write_file};
use crate::content::ContentFile;
use crate::lock::own::{LockedFile, LockedSkill};

/// The folder of the cache in gongfu's home.
const FOLDER: &str = "imports/skills";
/// The most skills that are kept; the oldest are removed.
const MAX_SKILLS: usize = 2_000;
/// The longest file of the cache, in bytes: more than the longest skill with all its paths.
const MAX_BYTES: u64 = 80 * 1024 * 1024;

/// The files of installed skills.
pub struct Cache {
    root: Root,
}

/// A file of a skill that is cached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachedFile {
    /// True if it is a program.
    pub executable: bool,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// The files of a skill, by their paths in it.
pub type CachedFiles = BTreeMap<SkillPath, CachedFile>;

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

    /// Copies staged skills into it. They are written below `temporary` first, so that nothing is there by half.
    ///
    /// # Errors
    /// A file can't be read or written.
    pub fn put(&self, skills: &[StagedSkill], temporary: &Root) -> io::Result<()> {
        for skill in skills {
            let staged = Root::open(&skill.staged)?;
            let files = skill.files.iter().map(|(path, file)| {
                let cached = CachedFile {
                    executable: file.executable,
                    bytes: staged.read(path, file.size)?.bytes,
                };
                Ok((path, cached))
            });
            let files = files.collect::<io::Result<BTreeMap<_, _>>>()?;
            let bytes = postcard::to_stdvec(&files).map_err(io::Error::other)?;
            let name = name(skill.digest);
            let there = self.root.dir().metadata(&name);
            if there.is_ok_and(|file| file.len() == bytes.len() as u64) {
                continue;
            }
            let own = SkillPath::new(&name).map_err(io::Error::other)?;
            write_file(temporary, &own, ContentFile::PLAIN, &bytes)?;
            temporary.dir().rename(&name, self.root.dir(), &name)?;
        }
        self.prune()
    }

    /// The files of a locked skill; none where the cache doesn't have it, or not as it is locked.
    pub fn files(&self, locked: &LockedSkill) -> Option<CachedFiles> {
        let path = SkillPath::new(&name(locked.digest?)).ok()?;
        let content = self.root.read(&path, MAX_BYTES).ok()?;
        let files: CachedFiles = postcard::from_bytes(&content.bytes).ok()?;
        let as_locked = files.iter().map(|(path, file)| {
            let file = LockedFile {
                digest: Digest::of(&file.bytes),
                size: file.bytes.len() as u64,
                executable: file.executable,
            };
            (path.clone(), file)
        });
        as_locked.eq(locked.files.clone()).then_some(files)
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
        let Some(files) = self.files(locked) else {
            return Ok(None);
        };
        into.dir().create_dir_all(below)?;
        let staged = into.path().join(below);
        let root = Root::open(&staged)?;
        for (path, file) in files {
            let mode = if file.executable {
                ContentFile::PROGRAM
            } else {
                ContentFile::PLAIN
            };
            write_file(&root, &path, mode, &file.bytes)?;
        }
        Ok(Some(staged))
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
            self.root.dir().remove_file(&name)?;
        }
        Ok(())
    }
}

/// The name of a skill's file in the cache.
fn name(digest: Digest) -> String {
    digest.to_string().replace(':', "-")
}

#[cfg(test)]
mod tests;
