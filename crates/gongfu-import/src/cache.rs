//! The files of installed skills, by the digests of their locks, so that a lock can be installed without a network.
//!
//! Each skill is one tar archive: it is written faster than a folder, and takes less room. Nothing in it is trusted: what
//! is taken from it is compared with the lock, file by file.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read as _, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use gongfu_core::skill::{Digest, SkillPath};
use gongfu_files::Home;
use gongfu_files::disk::Root;

use crate::candidate::{StagedSkill, write_file};
use crate::content::ContentFile;
use crate::lock::own::LockedSkill;

/// The folder of the cache in gongfu's home.
const FOLDER: &str = "imports/skills";
/// The most skills that are kept; the oldest are removed.
const MAX_SKILLS: usize = 10_000;
/// The most bytes that an archive has for a file beside its content: heads, and a long path.
const MAX_HEAD: u64 = 8 * 1024;

/// The files of installed skills.
pub struct Cache {
    root: Root,
}

/// The contents of a skill's files, by their paths in it.
pub type CachedFiles = BTreeMap<SkillPath, Vec<u8>>;

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
            let name = name(skill.digest);
            pack(
                skill,
                temporary.create_exact(Path::new(&name), ContentFile::PLAIN)?,
            )?;
            if self.root.dir().is_dir(&name) {
                self.root.dir().remove_dir_all(&name)?;
            }
            temporary.dir().rename(&name, self.root.dir(), &name)?;
        }
        self.prune();
        Ok(())
    }

    /// The files of a locked skill; none where the cache doesn't have it, or not as it is locked.
    pub fn files(&self, locked: &LockedSkill) -> Option<CachedFiles> {
        // Opens nothing but a file: a pipe would be waited for.
        let path = SkillPath::new(&name(locked.digest?)).ok()?;
        let (file, size) = self.root.open_file(&path).ok()?;
        let most: u64 = locked.files.values().map(|file| file.size + MAX_HEAD).sum();
        if size > most + MAX_HEAD {
            return None;
        }
        let mut archive = tar::Archive::new(BufReader::new(file));
        let mut files = CachedFiles::new();
        for entry in archive.entries().ok()? {
            let entry = entry.ok()?;
            let path = SkillPath::new(str::from_utf8(&entry.path_bytes()).ok()?).ok()?;
            let expected = locked.files.get(&path)?;
            let executable = entry.header().mode().ok()? & 0o111 != 0;
            let mut bytes = Vec::new();
            entry.take(expected.size + 1).read_to_end(&mut bytes).ok()?;
            let is_same = executable == expected.executable
                && bytes.len() as u64 == expected.size
                && Digest::of(&bytes) == expected.digest;
            if !is_same || files.insert(path, bytes).is_some() {
                return None;
            }
        }
        (files.len() == locked.files.len()).then_some(files)
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
        for (path, file) in &locked.files {
            let bytes = files.get(path).map(Vec::as_slice).unwrap_or_default();
            write_file(&root, path, ContentFile::mode(file.executable), bytes)?;
        }
        Ok(Some(staged))
    }

    /// Removes the oldest skills above the limit, as far as it can: another process may do the same.
    fn prune(&self) {
        let entries = self.root.dir().entries();
        let entries: Vec<_> = entries.into_iter().flatten().flatten().collect();
        let above = entries.len().saturating_sub(MAX_SKILLS);
        if above == 0 {
            return;
        }
        let mut found: Vec<(SystemTime, OsString)> = entries
            .iter()
            .filter_map(|entry| {
                let modified = entry.metadata().ok()?.modified().ok()?;
                Some((modified.into_std(), entry.file_name()))
            })
            .collect();
        found.sort_unstable();
        for (_, name) in found.into_iter().take(above) {
            let _ = self.root.dir().remove_file(&name);
        }
    }
}

/// Writes the files of a skill as a tar archive.
fn pack(skill: &StagedSkill, to: File) -> io::Result<()> {
    let staged = Root::open(&skill.staged)?;
    let mut archive = tar::Builder::new(BufWriter::new(to));
    for (path, file) in &skill.files {
        let content = staged.read(path, file.size)?;
        let mut header = tar::Header::new_gnu();
        header.set_size(content.bytes.len() as u64);
        header.set_mode(ContentFile::mode(file.executable));
        archive.append_data(&mut header, path.as_str(), &content.bytes[..])?;
    }
    archive.into_inner()?.flush()
}

/// The name of a skill's file in the cache.
fn name(digest: Digest) -> String {
    format!("{}.tar", digest.to_string().replace(':', "-"))
}

#[cfg(test)]
mod tests;
