//! The file of a database: found, created and copied without following links or replacing anything.
//!
//! SQLite opens the file by its path, so that what is checked here is checked just before. Nothing here opens the file
//! of an open database: closing another handle of it would end the locks that SQLite holds.

use std::io;
use std::path::{Path, PathBuf};

use cap_std::fs::{Metadata, OpenOptions};
use gongfu_core::port::PortError;
use gongfu_files::disk::{self, Root};

/// The endings of the files that SQLite makes beside a database.
const SUFFIXES: [&str; 3] = ["-wal", "-shm", "-journal"];

/// The length of the shortest database, one page, in bytes.
const MIN_LENGTH: u64 = 512;

/// The file of a database that exists.
#[derive(Debug)]
pub(super) struct DatabaseFile {
    path: PathBuf,
    metadata: Metadata,
}

impl DatabaseFile {
    /// Looks for the file of a database; `None` where nothing is yet.
    ///
    /// # Errors
    /// Something else is there, or only a part of a database.
    pub(super) fn find(path: &Path) -> Result<Option<Self>, PortError> {
        let (folder, name) = open_folder(path)?;
        let path = folder.path().join(&name);
        let wrong = |why: &str| {
            let why = format!("{}: {why}", path.display());
            Err(PortError::Unavailable(why))
        };
        let look = |name: &str| match folder.dir().symlink_metadata(name) {
            Ok(metadata) => Ok(Some(metadata)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(&path, &error)),
        };
        // First: it is created after the database.
        let wal = look(&format!("{name}-wal"))?;
        let has_wal = wal.is_some_and(|wal| wal.len() > 0);
        let Some(metadata) = look(&name)? else {
            if has_wal {
                return wrong(
                    "the file is missing, but its `-wal` is there; restore both from a backup, or remove the `-wal`",
                );
            }
            return Ok(None);
        };
        if !metadata.is_file() {
            let what = if metadata.is_symlink() {
                "it is a link; use the path that it points to"
            } else if metadata.is_dir() {
                "it is a folder; use the path of a file"
            } else {
                "it is not a regular file; use the path of a file"
            };
            return wrong(what);
        }
        // SQLite would take it for an empty database.
        if metadata.len() < MIN_LENGTH {
            return wrong("the file is empty or cut off; restore a backup or remove it");
        }
        Ok(Some(Self { path, metadata }))
    }

    /// Its real path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether the file is still at its path. What is written to one that was moved away would be lost.
    pub(super) fn is_in_place(&self) -> bool {
        disk::is_at(&self.path, &self.metadata)
    }
}

/// A file that gets its name when it is complete; until then it is removed again.
pub(super) struct NewFile {
    folder: Root,
    name: String,
    temporary: String,
}

impl NewFile {
    /// Creates the empty file beside its later place, for its owner alone; folders that are missing, too.
    ///
    /// # Errors
    /// It can't be created, or its place is taken.
    pub(super) fn create(path: &Path) -> Result<Self, PortError> {
        let (folder, name) = open_folder(path)?;
        if folder.dir().symlink_metadata(&name).is_ok() {
            return Err(taken(&folder.path().join(&name)));
        }
        let temporary = disk::temporary_name(&name);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        {
            use cap_std::fs::OpenOptionsExt as _;
            options.mode(0o600);
        }
        let created = folder.dir().open_with(&temporary, &options);
        created.map_err(|error| failed(&folder.path().join(&name), &error))?;
        Ok(Self {
            folder,
            name,
            temporary,
        })
    }

    /// The path of the file until it has its name.
    pub(super) fn temporary_path(&self) -> PathBuf {
        self.folder.path().join(&self.temporary)
    }

    /// Syncs the file and gives it its name; answers whether the name was free.
    ///
    /// # Errors
    /// The system refuses; then nothing is left of it.
    pub(super) fn place(self) -> Result<bool, PortError> {
        let place = || {
            let file = self.folder.dir().open(&self.temporary)?;
            file.sync_all()?;
            drop(file);
            self.folder.rename_file(&self.temporary, &self.name)
        };
        match place() {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(failed(&self.folder.path().join(&self.name), &error)),
        }
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        // After a rename there is nothing to remove.
        let _ = self.folder.dir().remove_file(&self.temporary);
        for suffix in SUFFIXES {
            let beside = format!("{}{suffix}", self.temporary);
            let _ = self.folder.dir().remove_file(beside);
        }
    }
}

/// The refusal to replace a file.
pub(super) fn taken(path: &Path) -> PortError {
    let why = format!("{} exists; choose another name", path.display());
    PortError::Denied(why)
}

/// The folder of a path, which is created where it is missing, and the name in it.
fn open_folder(path: &Path) -> Result<(Root, String), PortError> {
    let name = path.file_name().and_then(|name| name.to_str());
    let Some(name) = name else {
        let why = format!("{} is not the path of a file", path.display());
        return Err(PortError::Unavailable(why));
    };
    let parent = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let folder = Root::create_private(parent).map_err(|error| failed(path, &error))?;
    Ok((folder, name.to_owned()))
}

fn failed(path: &Path, error: &io::Error) -> PortError {
    PortError::Unavailable(disk::error_at(path, error).to_string())
}
