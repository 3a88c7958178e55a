//! Writing files below a root: always beside the old one, then renamed over it.

use std::hash::{BuildHasher as _, Hasher as _};
use std::io::{self, Write as _};
use std::time::Duration;

use cap_std::fs::{File, Metadata, OpenOptions};
use gongfu_core::port::Change;
use gongfu_core::skill::SkillPath;

use super::{Root, described, kind_of};

/// How long a name may be of which a temporary one is made, in bytes: both fit in 255.
const MAX_STEM: usize = 200;
/// How often, and how long each time, a writer waits for another one of the same folder.
const TURNS: u32 = 100;
const TURN: Duration = Duration::from_millis(20);

/// A name beside `name` that no other writer of any process uses, not even one whose process id
/// comes again: as it does in containers.
pub fn temporary_name(name: &str) -> String {
    let random = std::hash::RandomState::new().build_hasher().finish();
    let stem = name.get(..name.floor_char_boundary(MAX_STEM));
    format!(".{}.{random:016x}", stem.unwrap_or_default())
}

/// Why a file can't be put in its place.
#[derive(Debug)]
pub enum PutError {
    /// It doesn't hold what the change expects, or another writer holds the folder for too long.
    Conflict(String),
    /// A folder stands there.
    IsAFolder,
    /// The file's own permissions let nobody write.
    ReadOnly,
    /// The system says no.
    Io(io::Error),
}

impl From<io::Error> for PutError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Root {
    /// Writes a file as a whole, with the folders above it; answers whether it is new.
    ///
    /// Folders above it may be links that stay below this root. The file itself may be none: what
    /// is written lies where its path says. Permissions and owner of a file that is replaced stay;
    /// another name of it (a hard link) keeps the old content. The folder that it is written in is
    /// opened once, so that nothing that is swapped meanwhile leads the content elsewhere.
    ///
    /// # Errors
    /// As [`PutError`] says; then the file is as it was, and nothing temporary is left.
    pub fn put(&self, path: &SkillPath, change: Change<'_>) -> Result<bool, PutError> {
        if path.is_root() {
            return Err(PutError::IsAFolder);
        }
        let parent = path.parent();
        let folder = match self.below(&parent) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.dir.create_dir_all(parent.as_str())?;
                self.settle(&parent)?;
                self.below(&parent)?
            }
            there => there?,
        };
        // Held until the end: whoever else writes here through gongfu waits for it.
        let _turn = folder.turn()?;
        let name = path.file_name();
        let before = match folder.dir.symlink_metadata(name) {
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error.into()),
        };
        if let Some(metadata) = &before {
            if metadata.is_dir() {
                return Err(PutError::IsAFolder);
            }
            if !metadata.is_file() {
                let hint = if metadata.is_symlink() {
                    "; write to where it leads"
                } else {
                    ""
                };
                return Err(PutError::Io(io::Error::other(format!(
                    "{} is never written through{hint}",
                    described(kind_of(metadata.file_type()))
                ))));
            }
            if metadata.permissions().readonly() {
                return Err(PutError::ReadOnly);
            }
        }
        let holds_still = || -> Result<(), PutError> {
            let Some(expected) = change.expected else {
                return Ok(());
            };
            let limit = (expected.len() as u64).saturating_add(1);
            let now = SkillPath::new(name).map_err(io::Error::other)?;
            if folder.read(&now, limit)?.bytes == expected {
                Ok(())
            } else {
                Err(PutError::Conflict("it changed meanwhile".to_owned()))
            }
        };
        holds_still()?;
        let write = |file: &mut File| file.write_all(change.bytes);
        let temporary = folder.prepare(name, before.as_ref(), true, write)?;
        // Programs that know nothing of turns write, too: asked again at the last moment.
        if let Err(error) = holds_still() {
            // The error that matters is the one above.
            let _ = folder.dir.remove_file(&temporary);
            return Err(error);
        }
        folder.place(&temporary, name, true)?;
        Ok(before.is_none())
    }

    /// Has folders that were just made on the disk, with all above them.
    fn settle(&self, folder: &SkillPath) -> io::Result<()> {
        let mut folder = folder.clone();
        while !folder.is_root() {
            folder = folder.parent();
            self.below(&folder)?.dir.open(".")?.sync_all()?;
        }
        Ok(())
    }

    /// Makes a folder with one file in it, in place as a whole by one rename.
    ///
    /// # Errors
    /// Something of that name is there already (`AlreadyExists`), or it can't be made; then nothing
    /// is left of it.
    pub fn put_folder(&self, name: &str, file: &str, bytes: &[u8]) -> io::Result<()> {
        if self.dir.symlink_metadata(name).is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let temporary = temporary_name(name);
        self.dir.create_dir(&temporary)?;
        let made = SkillPath::new(&temporary)
            .map_err(io::Error::other)
            .and_then(|path| self.below(&path))
            .and_then(|folder| folder.replace(file, bytes, true))
            .and_then(|()| self.rename_new(&temporary, name));
        if made.is_err() {
            // The error that matters is the one above.
            let _ = self.dir.remove_dir_all(&temporary);
        }
        made?;
        self.dir.open(".")?.sync_all()
    }

    /// Renames without replacing anything, where the system can promise that.
    #[cfg(target_os = "linux")]
    fn rename_new(&self, from: &str, to: &str) -> io::Result<()> {
        use rustix::fs::{RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(&self.dir, from, &self.dir, to, RenameFlags::NOREPLACE) {
            // Not every file system can.
            Err(Errno::INVAL | Errno::NOSYS) => self.dir.rename(from, &self.dir, to),
            outcome => Ok(outcome?),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn rename_new(&self, from: &str, to: &str) -> io::Result<()> {
        self.dir.rename(from, &self.dir, to)
    }

    /// The right to change this folder, among all processes of gongfu; given back when dropped.
    fn turn(&self) -> Result<Option<std::fs::File>, PutError> {
        // A system where a folder can't be opened or locked has no such right.
        let Ok(handle) = self.dir.open(".") else {
            return Ok(None);
        };
        let handle = handle.into_std();
        for _ in 0..TURNS {
            match handle.try_lock() {
                Ok(()) => return Ok(Some(handle)),
                Err(std::fs::TryLockError::WouldBlock) => std::thread::sleep(TURN),
                Err(std::fs::TryLockError::Error(_)) => return Ok(None),
            }
        }
        let text = "somebody else holds its folder for long";
        Err(PutError::Conflict(text.to_owned()))
    }

    /// Replaces a file as a whole: written beside it, then renamed over it.
    ///
    /// With `durable` the content is on the disk before this returns.
    ///
    /// # Errors
    /// It can't be written.
    pub fn replace(&self, name: &str, bytes: &[u8], durable: bool) -> io::Result<()> {
        self.replace_by(name, durable, |file| file.write_all(bytes))
    }

    /// The same with what `write` puts into the file, for a content that isn't in memory.
    ///
    /// # Errors
    /// It can't be written; then the file is as it was.
    pub fn replace_by(
        &self,
        name: &str,
        durable: bool,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<()> {
        let temporary = self.prepare(name, None, durable, write)?;
        self.place(&temporary, name, durable)
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
            return Err(io::Error::other("it is read-only"));
        }
        if other_names(&metadata) {
            return Err(io::Error::other(
                "it has other names (hard links) that would be left behind",
            ));
        }
        let write = |file: &mut File| file.write_all(bytes);
        let temporary = folder.prepare(name, Some(&metadata), true, write)?;
        folder.place(&temporary, name, true)
    }

    /// Writes a temporary file beside `name`; answers what it is called.
    fn prepare(
        &self,
        name: &str,
        like: Option<&Metadata>,
        durable: bool,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<String> {
        let temporary = temporary_name(name);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        // What nobody else may read of the old file must not be readable in the new one for a moment.
        #[cfg(unix)]
        if like.is_some() {
            use cap_std::fs::OpenOptionsExt as _;
            options.mode(0o600);
        }
        let written = self
            .dir
            .open_with(&temporary, &options)
            .and_then(|mut file| {
                write(&mut file)?;
                if let Some(like) = like {
                    keep_owner(&file, like)?;
                    file.set_permissions(like.permissions())?;
                }
                if durable { file.sync_all() } else { Ok(()) }
            });
        match written {
            Ok(()) => Ok(temporary),
            Err(error) => {
                // The error that matters is this one.
                let _ = self.dir.remove_file(&temporary);
                Err(error)
            }
        }
    }

    /// Renames a temporary file over `name`.
    fn place(&self, temporary: &str, name: &str, durable: bool) -> io::Result<()> {
        let renamed = self.dir.rename(temporary, &self.dir, name);
        if renamed.is_err() {
            // The error that matters is the one above.
            let _ = self.dir.remove_file(temporary);
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
