//! The output of a run: its beginning and its end in memory, and the whole of it in a log once it is longer.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use gongfu_core::sandbox::CapturedOutput;

/// One output while the run goes on.
pub(crate) struct Capture {
    max_head: usize,
    max_tail: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    left_out: u64,
    /// The path of the log, until it is made.
    path: Option<PathBuf>,
    log: Option<(PathBuf, File)>,
}

impl Capture {
    /// Captures at most so many bytes in memory, and more in a log at this path.
    pub(crate) fn new(shown: usize, path: Option<PathBuf>) -> Self {
        Self {
            max_head: shown / 2,
            max_tail: shown - shown / 2,
            head: Vec::new(),
            tail: VecDeque::new(),
            left_out: 0,
            path,
            log: None,
        }
    }

    /// Takes output.
    ///
    /// # Errors
    /// The log can't be written.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        let length = self.head.len() + self.tail.len() + bytes.len();
        if length > self.max_head + self.max_tail
            && let Some(path) = self.path.take()
        {
            let mut log = create(&path)?;
            let (first, second) = self.tail.as_slices();
            for part in [self.head.as_slice(), first, second] {
                log.write_all(part)?;
            }
            self.log = Some((path, log));
        }
        if let Some((_, log)) = &mut self.log {
            log.write_all(bytes)?;
        }
        let room = self.max_head - self.head.len();
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(self.max_tail);
        self.tail.drain(..over);
        self.left_out += over as u64;
        Ok(())
    }

    /// Ends the capture.
    pub(crate) fn finish(self) -> CapturedOutput {
        let mut said = CapturedOutput {
            head: self.head,
            tail: self.tail.into(),
            left_out: self.left_out,
            log: self.log.map(|(path, _)| path),
        };
        if said.left_out == 0 {
            said.head.append(&mut said.tail);
        }
        said
    }
}

/// Creates a log that only its owner reads.
fn create(path: &PathBuf) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.open(path)
}

#[cfg(test)]
mod tests {
    use super::Capture;

    /// Captures a text in pieces; returns its head, what is left out, its tail and the log.
    fn capture(
        text: &[u8],
        piece: usize,
        shown: usize,
    ) -> (Vec<u8>, u64, Vec<u8>, Option<Vec<u8>>) {
        let folder = tempfile::tempdir().unwrap();
        let mut capture = Capture::new(shown, Some(folder.path().join("log")));
        for piece in text.chunks(piece) {
            capture.take(piece).unwrap();
        }
        let said = capture.finish();
        let log = said.log.map(|path| std::fs::read(path).unwrap());
        (said.head, said.left_out, said.tail, log)
    }

    #[test]
    fn keeps_head_and_tail_in_memory_and_the_whole_in_a_log() {
        let text: Vec<u8> = (0..=255).collect();
        for piece in [1, 3, 10, 100, 300] {
            for shown in [256, 300] {
                assert_eq!(
                    capture(&text, piece, shown),
                    (text.clone(), 0, vec![], None)
                );
            }
            for shown in [0, 1, 2, 99, 255] {
                let (head, left_out, tail, log) = capture(&text, piece, shown);
                assert_eq!(head, text[..shown / 2], "{piece} {shown}");
                assert_eq!(tail, text[256 - (shown - shown / 2)..], "{piece} {shown}");
                assert_eq!(left_out, 256 - shown as u64);
                assert_eq!(log.as_deref(), Some(&*text));
            }
        }
    }
}
