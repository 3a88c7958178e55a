//! A log of lines in a file, which is rotated by size.

mod reader;

use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::path::PathBuf;

use cap_fs_ext::OpenOptionsSyncExt as _;
use cap_std::fs::FileExt as _;
use cap_std::fs::{File, OpenOptions};
use gongfu_core::port::LogHold;
use gongfu_core::skill::SkillPath;
use gongfu_files::disk::{self, FileStatus, Root};

pub use reader::LogReader;

/// The size at which the file is rotated, in bytes.
const MAX_BYTES: u64 = 8 * 1024 * 1024;
/// The number of rotated files.
const MAX_ROTATED: usize = 4;
/// The file that is locked while a log is rotated.
const LOCK: &str = "rotate.lock";
/// The file that the only writer of a log locks.
const WRITER_LOCK: &str = "writer.lock";

/// A log in a folder of its own, which several processes append to.
#[derive(Debug)]
pub(crate) struct Log {
    folder: PathBuf,
    name: String,
    open: Option<OpenLog>,
}

/// The file that is written to.
#[derive(Debug)]
struct OpenLog {
    file: File,
    /// Its device and inode.
    id: (u64, u64),
    /// Its length after the last line of this process.
    end: u64,
}

impl Log {
    /// The log `NAME.jsonl` in a folder; both are created with the first entry.
    pub(crate) fn new(folder: PathBuf, name: &str) -> Self {
        Self {
            folder,
            name: name.to_owned(),
            open: None,
        }
    }

    /// Adds a line.
    ///
    /// # Errors
    /// The file can't be written.
    pub(crate) fn append(&mut self, entry: &[u8]) -> io::Result<()> {
        let path = self.folder.join(self.file_name(0));
        // A person may have removed or replaced the file, and another process may have rotated it: an entry in one that
        // was moved away would be lost.
        let found = disk::status_at(&path).filter(|found| found.length < MAX_BYTES);
        let (mut open, length) = match (self.open.take(), found) {
            (Some(open), Some(found)) if open.id == found.id => (open, found.length),
            _ => {
                let file = self.open()?;
                let FileStatus { id, length } = (&file.metadata()?).into();
                (OpenLog { file, id, end: 0 }, length)
            }
        };
        // A line that a crash cut short ends here, so that it costs only itself.
        let start: &[u8] = if length == open.end || has_whole_lines(&open.file, length)? {
            b""
        } else {
            b"\n"
        };
        // One write a line: lines of several processes don't mix.
        let line = [start, entry, b"\n"].concat();
        let written = open.file.write_all(&line);
        written.map_err(|error| disk::error_at(&path, &error))?;
        open.end = length + line.len() as u64;
        self.open = Some(open);
        Ok(())
    }

    /// The last lines, at most `limit`, the oldest first.
    ///
    /// # Errors
    /// A file is there and can't be read.
    pub(crate) fn entries(&self, limit: usize) -> io::Result<Vec<Vec<u8>>> {
        let folder = match Root::open(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            folder => folder?,
        };
        // Otherwise a file that is rotated meanwhile would be read twice.
        let _lock = lock(&folder)?;
        let mut entries = VecDeque::new();
        for number in 0..=MAX_ROTATED {
            let name = SkillPath::new(&self.file_name(number)).map_err(io::Error::other)?;
            let bytes = match folder.read(&name, u64::MAX) {
                Ok(content) => content.bytes,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            // A line without an end was never written whole.
            let end = bytes.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
            let lines = bytes.get(..end).unwrap_or_default();
            let lines = lines.rsplit(|byte| *byte == b'\n');
            for line in lines.filter(|line| !line.is_empty()) {
                if entries.len() == limit {
                    return Ok(entries.into());
                }
                entries.push_front(line.to_vec());
            }
        }
        Ok(entries.into())
    }

    /// Takes it for a writer, unless there is one.
    ///
    /// # Errors
    /// The file of the lock can't be written.
    pub(crate) fn hold(&self) -> io::Result<Option<LogHold>> {
        let folder = Root::create_private(&self.folder)?;
        match disk::lock_at_once(&folder, WRITER_LOCK) {
            Ok(held) => Ok(Some(Box::new(held))),
            Err(error) if error.kind() == io::ErrorKind::TimedOut => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Removes all its files.
    ///
    /// # Errors
    /// A file can't be removed.
    pub(crate) fn remove(&mut self) -> io::Result<()> {
        self.open = None;
        let folder = match Root::open(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            folder => folder?,
        };
        let _lock = lock(&folder)?;
        // The newest last: a removal that is cut short leaves no gap.
        for number in (0..=MAX_ROTATED).rev() {
            let removed = folder.remove(&self.file_name(number));
            removed.map_err(|error| disk::error_at(&self.folder, &error))?;
        }
        // There may be more in the folder, such as other logs.
        folder.remove(WRITER_LOCK)?;
        folder.remove(LOCK)?;
        let _ = folder.dir().try_clone()?.remove_open_dir();
        Ok(())
    }

    fn open(&self) -> io::Result<File> {
        let folder = Root::create_private(&self.folder);
        let folder = folder.map_err(|error| disk::error_at(&self.folder, &error))?;
        if self.is_full(&folder) {
            let _lock = lock(&folder)?;
            // Another process may have rotated it while this one waited.
            if self.is_full(&folder) {
                let rename = |from, to| {
                    let (from, to) = (self.file_name(from), self.file_name(to));
                    folder.dir().rename(from, folder.dir(), to)
                };
                for number in (1..MAX_ROTATED).rev() {
                    // Most of them aren't there yet.
                    let _ = rename(number, number + 1);
                }
                rename(0, 1)?;
            }
        }
        let mut options = OpenOptions::new();
        // Opening a pipe doesn't wait for its reader.
        options.create(true).append(true).read(true).nonblock(true);
        #[cfg(unix)]
        {
            use cap_std::fs::OpenOptionsExt as _;
            // Calls and their arguments are private.
            options.mode(0o600);
        }
        let open = || {
            let file = folder.dir().open_with(self.file_name(0), &options)?;
            if !file.metadata()?.is_file() {
                return Err(io::Error::other("it is not a regular file"));
            }
            Ok(file)
        };
        open().map_err(|error| disk::error_at(&self.folder.join(self.file_name(0)), &error))
    }

    fn is_full(&self, folder: &Root) -> bool {
        let metadata = folder.dir().metadata(self.file_name(0));
        metadata.is_ok_and(|metadata| metadata.len() >= MAX_BYTES)
    }

    fn file_name(&self, number: usize) -> String {
        file_name(&self.name, number)
    }
}

/// The name of the current file of a log (0) or of a rotated one.
fn file_name(log: &str, number: usize) -> String {
    match number {
        0 => format!("{log}.jsonl"),
        number => format!("{log}.{number}.jsonl"),
    }
}

/// Returns whether the last line of a file of this length has its end.
fn has_whole_lines(file: &File, length: u64) -> io::Result<bool> {
    let Some(last) = length.checked_sub(1) else {
        return Ok(true);
    };
    let mut byte = [0];
    Ok(file.read_at(&mut byte, last)? == 0 || byte == *b"\n")
}

/// Waits until no other process rotates the log; the lock ends with the handle.
fn lock(folder: &Root) -> io::Result<std::fs::File> {
    disk::lock(folder, LOCK)
}

#[cfg(test)]
mod tests;
