//! The folder of an index, without memory maps.
//!
//! A mapped file that somebody truncates kills the process, and every page that was ever read counts
//! as memory of the process: in the end the whole index. Posting lists and packed pairs are read in
//! pieces, one system call for each question; small files are read whole.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tantivy::HasLen as _;
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::footer::Footer;
use tantivy::directory::{
    Directory, DirectoryLock, FileHandle, FileSlice, Lock, MmapDirectory, WatchCallback,
    WatchHandle, WritePtr,
};

/// The size of the pieces in which a file is checked, in bytes.
const PIECE: usize = 256 * 1024;

/// A folder of files that are written once.
#[derive(Debug, Clone)]
pub(super) struct Folder {
    mapped: MmapDirectory,
    path: PathBuf,
    turn: Turn,
}

/// The number of the search: each search checks a file once for a change.
#[derive(Debug, Clone, Default)]
pub(super) struct Turn(Arc<AtomicU64>);

impl Turn {
    /// Begins a search.
    pub(super) fn begin(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// The current number.
    fn now(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Folder {
    pub(super) fn open(path: &Path) -> tantivy::Result<Self> {
        Ok(Self {
            mapped: MmapDirectory::open(path)?,
            path: path.to_owned(),
            turn: Turn::default(),
        })
    }

    /// The number of the search, shared with the files of this folder.
    pub(super) fn turn(&self) -> Turn {
        self.turn.clone()
    }
}

impl Folder {
    /// Returns whether a file has the checksum of its footer. Reads in pieces: tantivy's own check takes as
    /// much memory as the file is long.
    pub(super) fn is_sound(&self, path: &Path) -> tantivy::Result<bool> {
        let file = FileSlice::new(self.get_file_handle(path)?);
        let (footer, body) = Footer::extract_footer(file)?;
        let mut hasher = crc32fast::Hasher::new();
        for from in (0..body.len()).step_by(PIECE) {
            let to = body.len().min(from.saturating_add(PIECE));
            hasher.update(&body.read_bytes_slice(from..to)?);
        }
        Ok(hasher.finalize() == footer.crc)
    }
}

impl Directory for Folder {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        let ending = path.extension().and_then(|ending| ending.to_str());
        let large = matches!(ending, Some("idx" | "store"));
        match piecewise::File::open(&self.path.join(path), self.turn()) {
            Ok(file) if large => Ok(Arc::new(file)),
            Ok(file) => match file.read_bytes(0..file.len()) {
                Ok(bytes) => Ok(Arc::new(bytes)),
                Err(error) => Err(OpenReadError::wrap_io_error(error, path.to_owned())),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(OpenReadError::FileDoesNotExist(path.to_owned()))
            }
            Err(error) => Err(OpenReadError::wrap_io_error(error, path.to_owned())),
        }
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.mapped.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.mapped.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        self.mapped.open_write(path)
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.mapped.atomic_read(path)
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        self.mapped.atomic_write(path, data)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.mapped.sync_directory()
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        self.mapped.acquire_lock(lock)
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.mapped.watch(callback)
    }
}

mod piecewise {
    //! A file that is read in pieces.

    use std::io;
    use std::ops::Range;
    use std::os::unix::fs::FileExt as _;
    use std::path::Path;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::SystemTime;

    use tantivy::HasLen;
    use tantivy::directory::{FileHandle, OwnedBytes};

    use super::Turn;

    #[derive(Debug)]
    pub(super) struct File {
        inner: std::fs::File,
        length: usize,
        modified: Option<SystemTime>,
        turn: Turn,
        /// The number of the last search that found it unchanged, plus one.
        sound: AtomicU64,
    }

    impl File {
        #[expect(
            clippy::disallowed_methods,
            reason = "the folder is gongfu's own, below its home, and tantivy opens it by its path as well"
        )]
        pub(super) fn open(path: &Path, turn: Turn) -> io::Result<Self> {
            let file = std::fs::File::open(path)?;
            let metadata = file.metadata()?;
            let length = usize::try_from(metadata.len()).map_err(io::Error::other)?;
            let modified = metadata.modified().ok();
            Ok(Self {
                inner: file,
                length,
                modified,
                turn,
                sound: AtomicU64::new(0),
            })
        }

        /// Fails for a file that changed: files of an index are written once.
        fn check(&self) -> io::Result<()> {
            let turn = self.turn.now().saturating_add(1);
            if self.sound.load(Ordering::Relaxed) == turn {
                return Ok(());
            }
            let now = self.inner.metadata()?;
            if now.len() != self.length as u64 || now.modified().ok() != self.modified {
                let text = "a file of the search index was changed";
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
            self.sound.store(turn, Ordering::Relaxed);
            Ok(())
        }
    }

    impl FileHandle for File {
        fn read_bytes(&self, range: Range<usize>) -> io::Result<OwnedBytes> {
            let wanted = range.end.checked_sub(range.start);
            let wanted = wanted.filter(|_| range.end <= self.length);
            let wanted = wanted.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
            self.check()?;
            let mut bytes = vec![0; wanted];
            self.inner.read_exact_at(&mut bytes, range.start as u64)?;
            Ok(OwnedBytes::new(bytes))
        }
    }

    impl HasLen for File {
        fn len(&self) -> usize {
            self.length
        }
    }
}
