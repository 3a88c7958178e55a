//! Reads a log while other processes write and rotate it.

use std::io;
use std::path::PathBuf;

use cap_fs_ext::MetadataExt as _;
use cap_std::fs::{File, FileExt as _};
use gongfu_core::skill::SkillPath;
use gongfu_files::disk::Root;

use super::{MAX_ROTATED, file_name};

/// The size of the pieces in which a file is read, in bytes.
const PIECE: usize = 64 * 1024;
/// The longest line that is reported, in bytes.
const MAX_LINE: usize = 1024 * 1024;

/// A reader of a log, from its oldest line on; it goes on with the lines that are added.
///
/// Takes no lock and writes nothing: files only move to higher numbers, so that one who looks at them in that order
/// misses none.
#[derive(Debug)]
pub struct LogReader {
    folder: PathBuf,
    name: String,
    current: Option<Position>,
}

/// A place in a file.
#[derive(Debug)]
struct Position {
    file: File,
    id: (u64, u64),
    offset: u64,
    /// A line whose end isn't written yet.
    line: Vec<u8>,
}

impl LogReader {
    pub(crate) fn new(folder: PathBuf, name: &str) -> Self {
        Self {
            folder,
            name: name.to_owned(),
            current: None,
        }
    }

    /// Reports every line that wasn't reported yet.
    ///
    /// # Errors
    /// A file is there and can't be read, or `line` fails.
    pub fn read(&mut self, mut line: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        if let Some(current) = &mut self.current {
            current.read(&mut line)?;
        }
        let folder = match Root::open(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            folder => folder?,
        };
        for mut newer in self.newer(&folder)?.into_iter().rev() {
            // The last lines of a file that was rotated just now.
            if let Some(current) = &mut self.current {
                current.read(&mut line)?;
            }
            newer.read(&mut line)?;
            self.current = Some(newer);
        }
        Ok(())
    }

    /// The files that are newer than the current one, the newest first.
    fn newer(&self, folder: &Root) -> io::Result<Vec<Position>> {
        let mut newer: Vec<Position> = Vec::new();
        for number in 0..=MAX_ROTATED {
            let name = SkillPath::new(&file_name(&self.name, number)).map_err(io::Error::other)?;
            let file = match folder.open_file(&name) {
                Ok((file, _)) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            let metadata = file.metadata()?;
            let id = (metadata.dev(), metadata.ino());
            let is_current = self
                .current
                .as_ref()
                .is_some_and(|current| current.id == id);
            if is_current {
                break;
            }
            // One that was rotated since the last step comes twice.
            if newer.iter().all(|known| known.id != id) {
                newer.push(Position {
                    file,
                    id,
                    offset: 0,
                    line: Vec::new(),
                });
            }
            // After the current file was removed, what is left of older ones was read.
            if self.current.is_some() && number == 0 && !self.is_rotated(folder)? {
                break;
            }
        }
        Ok(newer)
    }

    /// Returns whether the current file is still there under another number.
    fn is_rotated(&self, folder: &Root) -> io::Result<bool> {
        for number in 1..=MAX_ROTATED {
            let metadata = match folder.dir().metadata(file_name(&self.name, number)) {
                Ok(metadata) => metadata,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            let id = (metadata.dev(), metadata.ino());
            if self
                .current
                .as_ref()
                .is_some_and(|current| current.id == id)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Position {
    fn read(&mut self, line: &mut impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        if self.file.metadata()?.len() < self.offset {
            // Somebody emptied it.
            self.offset = 0;
            self.line.clear();
        }
        let mut piece = vec![0; PIECE];
        loop {
            let read = self.file.read_at(&mut piece, self.offset)?;
            if read == 0 {
                return Ok(());
            }
            self.offset += read as u64;
            for part in piece
                .get(..read)
                .unwrap_or_default()
                .split_inclusive(|byte| *byte == b'\n')
            {
                if self.line.len() + part.len() <= MAX_LINE {
                    self.line.extend_from_slice(part);
                }
                if part.ends_with(b"\n") {
                    let whole = std::mem::take(&mut self.line);
                    let whole = whole.strip_suffix(b"\n").unwrap_or(&whole);
                    if !whole.is_empty() {
                        line(whole)?;
                    }
                }
            }
        }
    }
}
