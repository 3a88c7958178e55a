//! A client's file as it was read, and the way back: written only over what was read.
//!
//! A link is followed and stays: many people keep their configuration elsewhere. Knows no format.

use std::io;
use std::path::{Path, PathBuf};

use gongfu_core::port::Change;
use gongfu_core::skill::SkillPath;
use gongfu_store::disk::{PutError, Root};

use super::problem::Problem;

#[cfg(test)]
mod tests;

/// The largest file that is read.
const LIMIT: u64 = 16 * 1024 * 1024;
const BOM: &str = "\u{feff}";

/// What a file held when it was read.
#[derive(Debug)]
pub(super) struct Snapshot {
    /// Where it really is, links followed.
    real: PathBuf,
    /// Its content; none where there is no file.
    text: Option<String>,
}

impl Snapshot {
    /// Reads a file; one that isn't there is no error.
    pub(super) fn read(path: &Path) -> Result<Self, Problem> {
        let real = match std::fs::canonicalize(path) {
            Ok(real) => real,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if std::fs::symlink_metadata(path).is_ok() {
                    let hint = "mend the link, or remove it; nothing was written";
                    return Err(Problem::new(
                        "unreadable",
                        "it is a link that leads nowhere",
                        hint,
                    ));
                }
                return Ok(Self {
                    real: real_place(path),
                    text: None,
                });
            }
            Err(error) => return Err(unreadable(&error)),
        };
        let (root, name) = opened(&real).map_err(|error| unreadable(&error))?;
        let content = root
            .read(&name, LIMIT)
            .map_err(|error| unreadable(&error))?;
        if content.size > LIMIT {
            let message = format!("it is larger than {} MiB", LIMIT >> 20);
            return Err(Problem::new("unreadable", message, "nothing was written"));
        }
        let text = String::from_utf8(content.bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let hint = "save it as UTF-8, then try again; nothing was written";
            Problem::new("unparsable", format!("it is not UTF-8 (byte {at})"), hint)
        })?;
        Ok(Self {
            real,
            text: Some(text),
        })
    }

    /// Where it really is.
    pub(super) fn real(&self) -> &Path {
        &self.real
    }

    /// Its whole content, when it is there.
    pub(super) fn whole(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// Its text without the mark that some editors begin a file with.
    pub(super) fn text(&self) -> &str {
        let text = self.text.as_deref().unwrap_or_default();
        text.strip_prefix(BOM).unwrap_or(text)
    }

    /// A new text with that mark, where the file had it.
    pub(super) fn marked(&self, text: String) -> String {
        match &self.text {
            Some(old) if old.starts_with(BOM) => format!("{BOM}{text}"),
            _ => text,
        }
    }

    /// The folders that have to be made for it, outermost first.
    pub(super) fn missing_folders(&self) -> Vec<PathBuf> {
        let above = self.real.ancestors().skip(1);
        let mut missing: Vec<PathBuf> = above
            .take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists())
            .map(Path::to_owned)
            .collect();
        missing.reverse();
        missing
    }

    /// Whether the file still holds what was read.
    pub(super) fn is_current(&self) -> bool {
        Self::read(&self.real).is_ok_and(|now| now.text == self.text)
    }

    /// Writes another content, as long as the file still holds what was read.
    pub(super) fn write(&self, text: &str) -> Result<(), Problem> {
        let name = self.name().map_err(|error| unwritable(&error))?;
        let folder = self.real.parent().unwrap_or(Path::new("/"));
        let root = match &self.text {
            None => Root::create(folder),
            Some(_) => Root::open(folder),
        };
        let root = root.map_err(|error| unwritable(&error))?;
        if self.text.is_none() && std::fs::symlink_metadata(&self.real).is_ok() {
            return Err(changed());
        }
        let change = Change {
            bytes: text.as_bytes(),
            expected: self.text.as_deref().map(str::as_bytes),
        };
        match root.put(&name, change) {
            Ok(_) => Ok(()),
            Err(PutError::Conflict(_)) => Err(changed()),
            Err(PutError::IsAFolder) => Err(unwritable(&io::ErrorKind::IsADirectory.into())),
            Err(PutError::ReadOnly) => Err(Problem::new(
                "read-only",
                "the file is read-only",
                "make it writable, then try again; nothing was written",
            )),
            Err(PutError::Io(error)) => Err(unwritable(&error)),
        }
    }

    /// Removes the file, as long as it still holds what was read, and folders that are empty then.
    pub(super) fn delete(&self, folders: &[PathBuf]) -> Result<(), Problem> {
        if !self.is_current() {
            return Err(changed());
        }
        std::fs::remove_file(&self.real).map_err(|error| unwritable(&error))?;
        for folder in folders.iter().rev() {
            // One that somebody put something into stays.
            if std::fs::remove_dir(folder).is_err() {
                break;
            }
        }
        Ok(())
    }

    fn name(&self) -> io::Result<SkillPath> {
        file_name(&self.real)
    }
}

/// Where a file will be that isn't there yet: links on the way to it are followed, so that it has the
/// same name afterwards.
fn real_place(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let real = absolute.ancestors().find_map(|above| {
        let real = std::fs::canonicalize(above).ok()?;
        Some(real.join(absolute.strip_prefix(above).ok()?))
    });
    real.unwrap_or(absolute)
}

fn opened(path: &Path) -> io::Result<(Root, SkillPath)> {
    let name = file_name(path)?;
    Ok((Root::open(path.parent().unwrap_or(Path::new("/")))?, name))
}

fn file_name(path: &Path) -> io::Result<SkillPath> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    SkillPath::new(&name).map_err(io::Error::other)
}

pub(super) fn changed() -> Problem {
    Problem::new(
        "changed-meanwhile",
        "another program changed it at the same moment",
        "try again; nothing was written",
    )
}

fn unreadable(error: &io::Error) -> Problem {
    let hint = "make it readable, then try again; nothing was written";
    Problem::new("unreadable", format!("it can't be read: {error}"), hint)
}

fn unwritable(error: &io::Error) -> Problem {
    let hint = "make its folder writable, then try again; nothing was written";
    Problem::new("unwritable", format!("it can't be written: {error}"), hint)
}
