//! Writing files below a root: always beside the old one, then renamed over it.

use std::hash::{BuildHasher as _, Hasher as _};
use std::io::{self, Write as _};

use cap_std::fs::{File, Metadata, OpenOptions};
use gongfu_core::skill::SkillPath;

use super::{Root, described, kind_of};

/// A name beside `name` that no other writer of any process uses, not even one whose process id
/// comes again: as it does in containers.
pub fn temporary_name(name: &str) -> String {
    let random = std::hash::RandomState::new().build_hasher().finish();
    format!(".{name}.{random:016x}")
}

impl Root {
    /// Replaces a file as a whole: written beside it, then renamed over it.
    ///
    /// With `durable` the content is on the disk before this returns.
    ///
    /// # Errors
    /// It can't be written.
    pub fn replace(&self, name: &str, bytes: &[u8], durable: bool) -> io::Result<()> {
        self.write_beside(name, bytes, None, durable)
    }

    /// Writes new content into a file that must still hold `expected`; its permissions stay.
    ///
    /// # Errors
    /// It changed meanwhile, is a link, or can't be written; then it is as it was.
    pub fn rewrite(&self, path: &SkillPath, expected: &[u8], bytes: &[u8]) -> io::Result<()> {
        let folder = self.below(&path.parent())?;
        let name = path.file_name();
        let metadata = folder.dir.symlink_metadata(name)?;
        if !metadata.is_file() {
            return Err(io::Error::other(format!(
                "{} is never written through",
                described(kind_of(metadata.file_type()))
            )));
        }
        if self.read(path, metadata.len().saturating_add(1))?.bytes != expected {
            return Err(io::Error::other("it changed meanwhile"));
        }
        if metadata.permissions().readonly() {
            return Err(io::Error::from(io::ErrorKind::PermissionDenied));
        }
        if other_names(&metadata) {
            return Err(io::Error::other(
                "it has other names (hard links) that would be left behind",
            ));
        }
        folder.write_beside(name, bytes, Some(&metadata), true)
    }

    fn write_beside(
        &self,
        name: &str,
        bytes: &[u8],
        like: Option<&Metadata>,
        durable: bool,
    ) -> io::Result<()> {
        let temporary = temporary_name(name);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        let written = self
            .dir
            .open_with(&temporary, &options)
            .and_then(|mut file| {
                file.write_all(bytes)?;
                if let Some(like) = like {
                    keep_owner(&file, like)?;
                    file.set_permissions(like.permissions())?;
                }
                if durable { file.sync_all() } else { Ok(()) }
            });
        let renamed = written.and_then(|()| self.dir.rename(&temporary, &self.dir, name));
        if renamed.is_err() {
            // The error that matters is the one above.
            let _ = self.dir.remove_file(&temporary);
        }
        renamed?;
        // The handle itself may be one that can't be synced, so the folder is opened anew.
        if durable {
            self.dir.open(".")?.sync_all()
        } else {
            Ok(())
        }
    }
}

#[cfg(unix)]
fn other_names(metadata: &Metadata) -> bool {
    use cap_std::fs::MetadataExt as _;
    metadata.nlink() > 1
}

#[cfg(not(unix))]
fn other_names(_: &Metadata) -> bool {
    false
}

/// Gives a new file the owner of the one that it will replace.
#[cfg(unix)]
fn keep_owner(file: &File, like: &Metadata) -> io::Result<()> {
    use cap_std::fs::MetadataExt as _;
    let own = file.metadata()?;
    if (own.uid(), own.gid()) == (like.uid(), like.gid()) {
        return Ok(());
    }
    let kept = std::os::unix::fs::fchown(file, Some(like.uid()), Some(like.gid()));
    kept.map_err(|error| io::Error::other(format!("its owner can't be kept: {error}")))
}

#[cfg(not(unix))]
fn keep_owner(_: &File, _: &Metadata) -> io::Result<()> {
    Ok(())
}
