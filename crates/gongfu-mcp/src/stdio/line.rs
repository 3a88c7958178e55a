//! Lines of bytes with a limit.
//!
//! Knows nothing of what they say.

use std::io;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

/// How much is read at once, in bytes: as much as a pipe holds.
const READ: usize = 64 << 10;
/// Above this many bytes the room of a line isn't kept for the next.
const KEPT: usize = 1 << 20;

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Read {
    /// A line is whole.
    Line,
    /// A line has more bytes than the limit; its beginning is at hand, the rest is passed over.
    TooLong,
    /// The input ended, without a line's end where there is still something at hand.
    End,
}

/// Input that is read line by line.
pub(super) struct Lines<R> {
    from: BufReader<R>,
    limit: usize,
    line: Vec<u8>,
    /// What is at hand was looked at.
    done: bool,
    /// What follows belongs to a line that is too long.
    skipping: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Lines of at most this many bytes.
    pub(super) fn new(from: R, limit: usize) -> Self {
        Self {
            from: BufReader::with_capacity(READ, from),
            limit,
            line: Vec::new(),
            done: false,
            skipping: false,
        }
    }

    /// Reads on. Who stops waiting loses nothing: all that was read is kept for the next time.
    pub(super) async fn next(&mut self) -> Read {
        if self.done {
            self.done = false;
            self.line.clear();
            if self.line.capacity() > KEPT {
                self.line = Vec::new();
            }
        }
        loop {
            let part = match self.from.fill_buf().await {
                // An input that fails gives nothing more, like one that ended.
                Ok([]) => return self.shown(Read::End),
                Ok(part) => part,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return self.shown(Read::End),
            };
            let end = part.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(part.len(), |end| end + 1);
            let text = part.get(..end.unwrap_or(part.len())).unwrap_or_default();
            let skipped = self.skipping;
            self.skipping = end.is_none() && skipped;
            if skipped {
                self.from.consume(taken);
                continue;
            }
            let room = self.limit.saturating_sub(self.line.len());
            let fits = text.len() <= room;
            self.line
                .extend_from_slice(text.get(..room).unwrap_or(text));
            self.from.consume(taken);
            if !fits {
                self.skipping = end.is_none();
                return self.shown(Read::TooLong);
            }
            if end.is_some() {
                return self.shown(Read::Line);
            }
        }
    }

    /// What is at hand, without white space around it.
    pub(super) fn line(&self) -> &[u8] {
        self.line.trim_ascii()
    }

    fn shown(&mut self, read: Read) -> Read {
        self.done = true;
        read
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::AsyncWriteExt as _;

    use super::{Lines, Read};

    async fn all(text: &[u8], limit: usize) -> Vec<(Read, String)> {
        let mut lines = Lines::new(text, limit);
        let mut all = Vec::new();
        while all.last().is_none_or(|(read, _)| *read != Read::End) {
            let read = lines.next().await;
            all.push((read, String::from_utf8_lossy(lines.line()).into_owned()));
        }
        all
    }

    #[tokio::test]
    async fn lines_end_as_they_like() {
        let read = all(b"a\nbc\r\n\n  d \n\0\xff", 100).await;
        let text: Vec<&str> = read.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(text, ["a", "bc", "", "d", "\0\u{fffd}"]);
        assert_eq!(
            all(b"a\n", 9).await.last().unwrap(),
            &(Read::End, String::new())
        );
    }

    #[tokio::test]
    async fn a_line_above_the_limit_is_told_once_and_passed_over() {
        for (text, begins) in [
            ("12345\n1234\n", "1234"),
            ("123456789\n1234\n", "1234"),
            (&*format!("{}\n1234\n", "1".repeat(300_000)), "1111"),
        ] {
            let read = all(text.as_bytes(), 4).await;
            let expected = [
                (Read::TooLong, begins.to_owned()),
                (Read::Line, "1234".to_owned()),
                (Read::End, String::new()),
            ];
            assert_eq!(read, expected);
        }
        // Without an end, the rest is nothing.
        let read = all(b"123456789", 4).await;
        assert_eq!(read[0], (Read::TooLong, "1234".to_owned()));
        assert_eq!(read[1], (Read::End, String::new()));
    }

    #[tokio::test]
    async fn who_stops_waiting_loses_nothing() {
        let (mut client, server) = tokio::io::duplex(64);
        let mut lines = Lines::new(server, 100);
        for part in ["ab", "cd", "\nx"] {
            client.write_all(part.as_bytes()).await.unwrap();
            if part.starts_with('\n') {
                assert_eq!(lines.next().await, Read::Line);
                assert_eq!(lines.line(), b"abcd");
            } else {
                let waited = tokio::time::timeout(Duration::from_millis(5), lines.next()).await;
                assert!(waited.is_err());
            }
        }
        drop(client);
        assert_eq!(lines.next().await, Read::End);
        assert_eq!(lines.line(), b"x");
    }
}
