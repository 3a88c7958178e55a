//! A client's file: read once, and written only over what was read.
//!
//! A link is followed and stays: many people keep their configuration elsewhere.

use std::io;
use std::path::{Path, PathBuf};

use gongfu_core::port::Change;
use gongfu_core::skill::SkillPath;
use gongfu_files::disk::{self, PutError, Root};

use crate::failure::Failure;

#[cfg(test)]
mod tests;

pub(super) const MAX_SIZE: u64 = 16 * 1024 * 1024;

/// A file as it was read.
#[derive(Debug)]
pub(crate) struct Snapshot {
    /// The file behind any links.
    pub(crate) real: PathBuf,
    /// Its content; none where there is no file.
    pub(crate) text: Option<String>,
}

impl Snapshot {
    /// Reads a file, which may be missing.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let real = match std::fs::canonicalize(path) {
            Ok(real) => real,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if std::fs::symlink_metadata(path).is_ok() {
                    return Err(Failure::new(
                        "FILE_UNREADABLE",
                        "it is a broken symlink",
                        "fix the link, or remove it; nothing was written",
                    ));
                }
                return Ok(Self {
                    real: path.to_owned(),
                    text: None,
                });
            }
            Err(error) => return Err(unreadable(&error)),
        };
        let content = open_parent(&real)
            .and_then(|(root, name)| root.read(&name, MAX_SIZE))
            .map_err(|error| unreadable(&error))?;
        if content.size > MAX_SIZE {
            let message = format!("it is larger than {} MiB", MAX_SIZE >> 20);
            return Err(Failure::new(
                "FILE_UNREADABLE",
                message,
                "nothing was written",
            ));
        }
        let text = String::from_utf8(content.bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let hint = "save it as UTF-8, then try again; nothing was written";
            Failure::new("FILE_INVALID", format!("it is not UTF-8 (byte {at})"), hint)
        })?;
        Ok(Self {
            real,
            text: Some(text),
        })
    }

    /// True if the file still holds what was read.
    pub(super) fn is_current(&self) -> bool {
        Self::read(&self.real).is_ok_and(|now| now.text == self.text)
    }

    /// Writes new content as a whole, as long as the file still holds what was read. With `is_private`
    /// only the file's owner may read it then.
    pub(crate) fn write(&self, text: &str, is_private: bool) -> Result<(), Failure> {
        let change = Change {
            bytes: text.as_bytes(),
            expected: self.text.as_deref().map(str::as_bytes),
        };
        if self.text.is_none() {
            let folder = self.real.parent().unwrap_or(Path::new("/"));
            Root::create(folder).map_err(|error| unwritable(&error))?;
        }
        let (root, name) = open_parent(&self.real).map_err(|error| unwritable(&error))?;
        if is_private && self.text.is_none() {
            let created = root.create_private_file(name.as_str(), text.as_bytes());
            return created.map_err(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => conflict(),
                _ => unwritable(&error),
            });
        }
        if is_private {
            self.close_to_others().map_err(|error| unwritable(&error))?;
        }
        match root.put(&name, change) {
            Ok(_) => Ok(()),
            Err(PutError::Conflict(_)) => Err(conflict()),
            Err(PutError::ReadOnly) => Err(Failure::new(
                "FILE_READ_ONLY",
                "the file is read-only",
                "make it writable, then try again; nothing was written",
            )),
            Err(PutError::IsAFolder) => Err(unwritable(&io::ErrorKind::IsADirectory.into())),
            Err(PutError::Io(error)) => Err(unwritable(&error)),
        }
    }

    /// Takes the permissions of the file from all but its owner; the new content inherits them.
    fn close_to_others(&self) -> io::Result<()> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = std::fs::metadata(&self.real)?.permissions().mode() & 0o700;
            std::fs::set_permissions(&self.real, std::fs::Permissions::from_mode(mode))?;
        }
        Ok(())
    }

    pub(super) fn delete(&self) -> Result<(), Failure> {
        std::fs::remove_file(&self.real).map_err(|error| unwritable(&error))
    }
}

fn open_parent(path: &Path) -> io::Result<(Root, SkillPath)> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = SkillPath::new(&name).map_err(io::Error::other)?;
    Ok((Root::open(path.parent().unwrap_or(Path::new("/")))?, name))
}

/// The file is not what it was when it was read.
pub(super) fn conflict() -> Failure {
    Failure::new(
        "FILE_CHANGED",
        "another program changed it at the same time",
        "try again; nothing was written",
    )
}

fn unreadable(error: &io::Error) -> Failure {
    let hint = "make it readable, then try again; nothing was written";
    Failure::new(
        "FILE_UNREADABLE",
        format!("it can't be read: {error}"),
        hint,
    )
}

fn unwritable(error: &io::Error) -> Failure {
    let hint = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space, then try again; nothing was written"
        }
        _ => "make its folder writable, then try again; nothing was written",
    };
    let why = disk::reason(error);
    Failure::new(
        "FILE_UNWRITABLE",
        format!("it can't be written: {why}"),
        hint,
    )
}
