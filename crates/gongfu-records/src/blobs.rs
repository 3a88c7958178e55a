//! Content by digest: each blob is a file whose name is its digest.

use std::io::{self, Read as _};
use std::path::PathBuf;

use gongfu_core::port::{Blobs, Change, FileContent, Pending, PortError, ready};
use gongfu_core::skill::digest::Hasher;
use gongfu_core::skill::{Digest, SkillPath};
use gongfu_files::Home;
use gongfu_files::disk::{self, Root};

const FOLDER: &str = "blobs";
/// The size of the pieces in which a blob is read, in bytes.
const PIECE: usize = 64 * 1024;

/// The blobs of one owner, below a home.
#[derive(Debug)]
pub struct FileBlobs {
    home: Home,
    /// The file that a backup holds locked: until its end, nothing is removed.
    backup: Option<PathBuf>,
}

impl FileBlobs {
    /// Blobs below a home; their folder is created with the first of them.
    pub fn new(home: Home) -> Self {
        Self { home, backup: None }
    }

    /// The same blobs, of which none is removed while a backup holds this file locked.
    #[must_use]
    pub fn kept_while_locked(self, backup: PathBuf) -> Self {
        let backup = Some(backup);
        Self { backup, ..self }
    }

    /// Takes the lock of a removal, where a backup was ever made; `None` while one is made.
    fn removing(&self) -> Option<Vec<std::fs::File>> {
        let Some(file) = &self.backup else {
            return Some(Vec::new());
        };
        let root = Root::open(file.parent()?).ok()?;
        let name = file.file_name()?.to_str()?;
        let Ok((file, _)) = root.open_file(&SkillPath::new(name).ok()?) else {
            return Some(Vec::new());
        };
        let file = file.into_std();
        file.try_lock_shared().ok()?;
        Some(vec![file])
    }

    fn keep(&self, bytes: &[u8]) -> Result<Digest, PortError> {
        let digest = Digest::of(bytes);
        // A damaged file is written again.
        if self.read(&digest, 0).is_err() {
            let folder = self.home.folder(FOLDER).map_err(disk::write_error)?;
            let change = Change {
                bytes,
                expected: None,
            };
            folder
                .put(&path(&digest)?, change)
                .map_err(disk::put_error)?;
        }
        Ok(digest)
    }

    /// Reads a blob whole, and keeps at most `limit` bytes of it.
    fn read(&self, digest: &Digest, limit: u64) -> Result<FileContent, PortError> {
        let path = path(digest)?;
        let folder = self.open().map_err(disk::port_error)?;
        let (mut file, _) = folder.open_file(&path).map_err(disk::port_error)?;
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let (mut bytes, mut size) = (Vec::new(), 0);
        let (mut hasher, mut piece) = (Hasher::default(), vec![0; PIECE]);
        loop {
            let read = match file.read(&mut piece) {
                Ok(0) => break,
                Ok(read) => piece.get(..read).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(disk::port_error(error)),
            };
            hasher.update(read);
            size += read.len() as u64;
            let room = limit.saturating_sub(bytes.len()).min(read.len());
            bytes.extend_from_slice(read.get(..room).unwrap_or_default());
        }
        if hasher.finish() != *digest {
            let place = folder.path().join(path.as_str());
            let why = format!("{} is damaged: it has another digest", place.display());
            return Err(PortError::Unavailable(why));
        }
        Ok(FileContent { bytes, size })
    }

    fn delete(&self, digest: &Digest) -> Result<bool, PortError> {
        let path = path(digest)?;
        let Some(_removing) = self.removing() else {
            return Ok(false);
        };
        let removed = self
            .open()
            .and_then(|folder| folder.below(&path.parent()))
            .and_then(|folder| folder.remove(path.file_name()));
        match removed {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            removed => removed.map_err(disk::write_error),
        }
    }

    fn open(&self) -> io::Result<Root> {
        Root::open(&self.home.path().join(FOLDER))
    }
}

/// The path of a blob; few of them lie in one folder.
fn path(digest: &Digest) -> Result<SkillPath, PortError> {
    let hex = digest.hex(64);
    let (first, rest) = hex.split_at(2);
    SkillPath::new(&format!("{first}/{rest}")).map_err(|error| PortError::Other(error.into()))
}

impl Blobs for FileBlobs {
    fn put<'a>(&'a self, bytes: &'a [u8]) -> Pending<'a, Digest> {
        ready(self.keep(bytes))
    }

    fn get<'a>(&'a self, digest: &'a Digest, limit: u64) -> Pending<'a, FileContent> {
        ready(self.read(digest, limit))
    }

    fn remove<'a>(&'a self, digest: &'a Digest) -> Pending<'a, bool> {
        ready(self.delete(digest))
    }
}
