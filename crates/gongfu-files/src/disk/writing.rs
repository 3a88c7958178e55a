//! Writes files below a root: beside the old one, then renamed over it.

use std::hash::{BuildHasher as _, Hasher as _};
use std::io::{self, Write as _};
use std::time::Duration;

use cap_std::fs::{File, Metadata, MetadataExt as _, OpenOptions, OpenOptionsExt as _};
use gongfu_core::port::Change;
use gongfu_core::skill::SkillPath;

use super::entry::{described, kind_of};
use super::root::Root;

/// The most of a name that a temporary one begins with, in bytes: a name has at most 255.
const MAX_STEM: usize = 200;
/// The attempts of a writer to lock a folder, and the pause between two.
const LOCK_ATTEMPTS: u32 = 100;
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// The end of a temporary name: no other program's file has it.
const TEMPORARY: &str = ".gongfu-new";
/// The age at which a temporary entry belongs to no writer any more.
const MAX_AGE: Duration = Duration::from_mins(1);
/// The most entries of a folder among which temporary ones are looked for.
const MAX_SWEPT: usize = 10_000;

/// A name that no other process chooses: a beginning, and random digits.
pub fn random_name(beginning: &str) -> String {
    let random = std::hash::RandomState::new().build_hasher().finish();
    format!("{beginning}{random:016x}")
}

/// A random name beside `name`. A process id would not do: it comes again in containers.
pub fn temporary_name(name: &str) -> String {
    let stem = name.get(..name.floor_char_boundary(MAX_STEM));
    let random = random_name(&format!(".{}.", stem.unwrap_or_default()));
    format!("{random}{TEMPORARY}")
}

/// Returns whether a name is a temporary one.
pub fn is_temporary(name: &str) -> bool {
    let name = name
        .strip_prefix('.')
        .and_then(|name| name.strip_suffix(TEMPORARY));
    let random = name.and_then(|name| name.rsplit_once('.'));
    random.is_some_and(|(_, random)| {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        random.len() == 16 && random.bytes().all(is_digit)
    })
}

/// The reason why a file can't be written.
#[derive(Debug)]
pub enum PutError {
    /// It doesn't hold what the change expects, or another writer holds the folder for too long.
    Conflict(String),
    /// A folder stands there.
    IsAFolder,
    /// The file's own permissions let nobody write.
    ReadOnly,
    /// The system refuses.
    Io(io::Error),
}

impl From<io::Error> for PutError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Root {
    /// Writes a whole file durably, with the folders above it; answers whether it is new.
    ///
    /// A folder above it may be a link that stays below this root; the file itself may not be a
    /// link. A file that is replaced keeps its permissions and owner; another name of it (a hard
    /// link) keeps the old content. Its folder is opened once, so that a link that is swapped in
    /// meanwhile leads nowhere.
    ///
    /// # Errors
    /// See [`PutError`]; the file is as it was then, and nothing temporary is left.
    pub fn put(&self, path: &SkillPath, change: Change<'_>) -> Result<bool, PutError> {
        if path.is_root() {
            return Err(PutError::IsAFolder);
        }
        let parent = path.parent();
        let folder = match self.below(&parent) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.dir().create_dir_all(parent.as_str())?;
                self.sync_above(&parent)?;
                self.below(&parent)?
            }
            there => there?,
        };
        // Other writers of gongfu wait until the end.
        let _lock = folder.lock()?;
        let name = path.file_name();
        let before = match folder.dir().symlink_metadata(name) {
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
                    "; write to its target instead"
                } else {
                    ""
                };
                return Err(PutError::Io(io::Error::other(format!(
                    "gongfu doesn't write through {}{hint}",
                    described(kind_of(metadata.file_type()))
                ))));
            }
            if metadata.permissions().readonly() {
                return Err(PutError::ReadOnly);
            }
        }
        let check_expected = || -> Result<(), PutError> {
            let Some(expected) = change.expected else {
                return Ok(());
            };
            let limit = (expected.len() as u64).saturating_add(1);
            let now = SkillPath::new(name).map_err(io::Error::other)?;
            if folder.read(&now, limit)?.bytes == expected {
                Ok(())
            } else {
                Err(PutError::Conflict("it changed in the meantime".to_owned()))
            }
        };
        check_expected()?;
        let write = |file: &mut File| file.write_all(change.bytes);
        let temporary = folder.prepare(name, before.as_ref(), true, write)?;
        // Other programs write without this lock: checked again at the last moment.
        if let Err(error) = check_expected() {
            let _ = folder.dir().remove_file(&temporary);
            return Err(error);
        }
        folder.place(&temporary, name, true)?;
        Ok(before.is_none())
    }

    /// Makes new folders durable: syncs the folder itself and all above it.
    fn sync_above(&self, folder: &SkillPath) -> io::Result<()> {
        let mut folder = folder.clone();
        while !folder.is_root() {
            folder = folder.parent();
            self.below(&folder)?.dir().open(".")?.sync_all()?;
        }
        Ok(())
    }

    /// Creates a folder with these files in it, by one rename.
    ///
    /// # Errors
    /// An entry of that name exists (`AlreadyExists`), or the folder can't be created; then nothing
    /// is left of it.
    pub fn put_folder(&self, name: &str, files: &[(&str, &[u8])]) -> io::Result<()> {
        if self.dir().symlink_metadata(name).is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let temporary = temporary_name(name);
        self.dir().create_dir(&temporary)?;
        self.sweep(&temporary);
        let created = SkillPath::new(&temporary)
            .map_err(io::Error::other)
            .and_then(|path| self.below(&path))
            .and_then(|folder| folder.fill(files))
            .and_then(|()| self.rename_new(&temporary, name));
        if created.is_err() {
            let _ = self.dir().remove_dir_all(&temporary);
        }
        created?;
        self.dir().open(".")?.sync_all()
    }

    /// Gives a file of this folder another name.
    ///
    /// # Errors
    /// An entry of that name exists (`AlreadyExists`), or the file can't be renamed; then nothing changed.
    pub fn rename_file(&self, from: &str, to: &str) -> io::Result<()> {
        let entries = self.list(&SkillPath::root())?;
        if entries.iter().any(|entry| entry.name == to) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        match self.rename_new(from, to) {
            // Without letter case, both names mean the file itself.
            Err(error)
                if error.kind() == io::ErrorKind::AlreadyExists
                    && from.eq_ignore_ascii_case(to) =>
            {
                self.dir().rename(from, self.dir(), to)?;
            }
            renamed => renamed?,
        }
        self.dir().open(".")?.sync_all()
    }

    fn fill(&self, files: &[(&str, &[u8])]) -> io::Result<()> {
        for (path, bytes) in files {
            let path = SkillPath::new(path).map_err(io::Error::other)?;
            if !path.parent().is_root() {
                self.dir().create_dir_all(path.parent().as_str())?;
            }
            let folder = self.below(&path.parent())?;
            folder.replace(path.file_name(), bytes, true)?;
        }
        Ok(())
    }

    /// Renames without replacing anything, where the system can promise that.
    #[cfg(target_os = "linux")]
    fn rename_new(&self, from: &str, to: &str) -> io::Result<()> {
        use rustix::fs::{RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(self.dir(), from, self.dir(), to, RenameFlags::NOREPLACE) {
            // Not every file system can.
            Err(Errno::INVAL | Errno::NOSYS) => self.dir().rename(from, self.dir(), to),
            outcome => Ok(outcome?),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn rename_new(&self, from: &str, to: &str) -> io::Result<()> {
        self.dir().rename(from, self.dir(), to)
    }

    /// Locks this folder among all processes of gongfu; the lock ends with the handle.
    fn lock(&self) -> Result<Option<std::fs::File>, PutError> {
        // Not every file system locks folders.
        let Ok(handle) = self.dir().open(".") else {
            return Ok(None);
        };
        let handle = handle.into_std();
        for _ in 0..LOCK_ATTEMPTS {
            match handle.try_lock() {
                Ok(()) => return Ok(Some(handle)),
                Err(std::fs::TryLockError::WouldBlock) => std::thread::sleep(LOCK_PAUSE),
                Err(std::fs::TryLockError::Error(_)) => return Ok(None),
            }
        }
        let text = "another writer holds the lock of its folder";
        Err(PutError::Conflict(text.to_owned()))
    }

    /// Replaces a whole file; with `durable` it is on the disk before this returns.
    ///
    /// # Errors
    /// It can't be written.
    pub fn replace(&self, name: &str, bytes: &[u8], durable: bool) -> io::Result<()> {
        self.replace_by(name, durable, |file| file.write_all(bytes))
    }

    /// Replaces a whole file with content that isn't in memory.
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

    /// Creates a file that only its owner may read or write, durably and by one rename.
    ///
    /// # Errors
    /// An entry of that name exists (`AlreadyExists`), or the file can't be created.
    pub fn create_private_file(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        if self.dir().symlink_metadata(name).is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let temporary = temporary_name(name);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let created = self
            .dir()
            .open_with(&temporary, &options)
            .and_then(|mut file| {
                file.write_all(bytes)?;
                file.sync_all()
            })
            .and_then(|()| self.rename_new(&temporary, name));
        if created.is_err() {
            let _ = self.dir().remove_file(&temporary);
        }
        created?;
        self.dir().open(".")?.sync_all()
    }

    /// Removes a file durably; answers whether there was one.
    ///
    /// # Errors
    /// It can't be removed.
    pub fn remove(&self, name: &str) -> io::Result<bool> {
        match self.dir().remove_file(name) {
            Ok(()) => self.dir().open(".")?.sync_all().map(|()| true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Writes a temporary file beside `name`; answers its name.
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
        // A private file must not be readable for others for a moment.
        if like.is_some() {
            options.mode(0o600);
        }
        let written = self
            .dir()
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
            Ok(()) => {
                self.sweep(&temporary);
                Ok(temporary)
            }
            Err(error) => {
                let _ = self.dir().remove_file(&temporary);
                Err(error)
            }
        }
    }

    /// Removes what writers left here that were killed. A temporary entry that was just made tells the time of the file
    /// system. What can't be removed stays for the next write.
    fn sweep(&self, temporary: &str) {
        let modified = |name: &str| {
            let metadata = self.dir().symlink_metadata(name).ok()?;
            Some((metadata.modified().ok()?, metadata.is_dir()))
        };
        let (Some((now, _)), Ok(entries)) = (modified(temporary), self.dir().entries()) else {
            return;
        };
        for entry in entries.flatten().take(MAX_SWEPT) {
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| is_temporary(name)) else {
                continue;
            };
            let Some((then, is_folder)) = modified(name) else {
                continue;
            };
            if now.duration_since(then).is_ok_and(|age| age > MAX_AGE) {
                let _ = if is_folder {
                    self.dir().remove_dir_all(name)
                } else {
                    self.dir().remove_file(name)
                };
            }
        }
    }

    /// Renames a temporary file over `name`.
    fn place(&self, temporary: &str, name: &str, durable: bool) -> io::Result<()> {
        let renamed = self.dir().rename(temporary, self.dir(), name);
        if renamed.is_err() {
            let _ = self.dir().remove_file(temporary);
        }
        renamed?;
        // This handle itself may not allow a sync.
        if durable {
            self.dir().open(".")?.sync_all()
        } else {
            Ok(())
        }
    }
}

/// Gives a new file the owner of the one that it will replace.
fn keep_owner(file: &File, like: &Metadata) -> io::Result<()> {
    let own = file.metadata()?;
    if (own.uid(), own.gid()) == (like.uid(), like.gid()) {
        return Ok(());
    }
    let kept = std::os::unix::fs::fchown(file, Some(like.uid()), Some(like.gid()));
    kept.map_err(|error| io::Error::other(format!("can't preserve its owner: {error}")))
}
