//! What a run says: its beginning and its end for whoever asked, and the whole of it in a file once it
//! is more than that.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::PathBuf;

use gongfu_core::sandbox::Said;

/// One output while it is listened to.
pub(crate) struct Capture<F> {
    /// How many bytes of the beginning are given back, and how many of the end.
    most: (usize, usize),
    head: Vec<u8>,
    tail: VecDeque<u8>,
    left_out: u64,
    /// Makes the file for the whole.
    make: Option<F>,
    whole: Option<(PathBuf, File)>,
}

impl<F: FnOnce() -> io::Result<(PathBuf, File)>> Capture<F> {
    /// Nothing yet; at most `shown` bytes are given back. `make` makes the file for the whole, where
    /// there is a place for it.
    pub(crate) fn new(shown: usize, make: Option<F>) -> Self {
        Self {
            most: (shown / 2, shown - shown / 2),
            head: Vec::new(),
            tail: VecDeque::new(),
            left_out: 0,
            make,
            whole: None,
        }
    }

    /// Takes what was said.
    ///
    /// # Errors
    /// The file can't be written.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        let known = self.head.len() + self.tail.len();
        if known + bytes.len() > self.most.0 + self.most.1
            && let Some(make) = self.make.take()
        {
            let (path, mut file) = make()?;
            let (first, second) = self.tail.as_slices();
            for part in [self.head.as_slice(), first, second] {
                file.write_all(part)?;
            }
            self.whole = Some((path, file));
        }
        if let Some((_, file)) = &mut self.whole {
            file.write_all(bytes)?;
        }
        let room = self.most.0 - self.head.len();
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(self.most.1);
        self.tail.drain(..over);
        self.left_out += over as u64;
        Ok(())
    }

    /// What is given back.
    pub(crate) fn said(self) -> Said {
        let mut said = Said {
            head: self.head,
            tail: self.tail.into(),
            left_out: self.left_out,
            log: self.whole.map(|(path, _)| path),
        };
        if said.left_out == 0 {
            said.head.append(&mut said.tail);
        }
        said
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read as _;

    use super::Capture;

    /// Says it in pieces of this size; answers what is given back and what the file holds.
    fn said(text: &[u8], piece: usize, shown: usize) -> (Vec<u8>, u64, Vec<u8>, Option<Vec<u8>>) {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_owned();
        let made = std::cell::Cell::new(false);
        let make = || {
            made.set(true);
            Ok((path.clone(), File::create(&path)?))
        };
        let mut capture = Capture::new(shown, Some(make));
        for piece in text.chunks(piece) {
            capture.take(piece).unwrap();
        }
        let shown = capture.said();
        assert_eq!(shown.log.is_some(), made.get());
        let mut whole = Vec::new();
        File::open(file.path())
            .unwrap()
            .read_to_end(&mut whole)
            .unwrap();
        let whole = made.get().then_some(whole);
        (shown.head, shown.left_out, shown.tail, whole)
    }

    #[test]
    fn what_fits_is_given_back_whole_and_the_rest_is_kept() {
        let text: Vec<u8> = (0..=255).collect();
        for piece in [1, 3, 10, 100, 300] {
            for shown in [256, 300] {
                assert_eq!(said(&text, piece, shown), (text.clone(), 0, vec![], None));
            }
            for shown in [0, 1, 2, 99, 255] {
                let (head, left_out, tail, whole) = said(&text, piece, shown);
                assert_eq!(head, text[..shown / 2], "{piece} {shown}");
                assert_eq!(tail, text[256 - (shown - shown / 2)..], "{piece} {shown}");
                assert_eq!(left_out, 256 - shown as u64);
                assert_eq!(whole.as_deref(), Some(&*text));
            }
        }
    }
}
