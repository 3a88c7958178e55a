//! Splits input into lines of limited length.

use std::io;

use memchr::memchr;
use tokio_util::bytes::{Buf as _, BytesMut};
use tokio_util::codec::Decoder;

/// The buffer is not kept for the next line when the last one had more bytes than this.
const MAX_KEPT_BUFFER: usize = 1 << 20;

/// A line of input, without its line end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A whole line.
    Whole(BytesMut),
    /// The beginning of a line over the limit; the rest is skipped.
    TooLong(BytesMut),
    /// The end of the input, without a line end.
    Unterminated(BytesMut),
}

/// Decodes lines of at most `limit` bytes.
#[derive(Debug)]
pub(super) struct LineDecoder {
    limit: usize,
    /// The length of the part of the buffer that has no line end.
    searched: usize,
    /// True behind the beginning of a line that was too long.
    skipping: bool,
}

impl LineDecoder {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            searched: 0,
            skipping: false,
        }
    }
}

impl Decoder for LineDecoder {
    type Item = Line;
    type Error = io::Error;

    fn decode(&mut self, buffer: &mut BytesMut) -> io::Result<Option<Line>> {
        loop {
            let unsearched = buffer.get(self.searched..).unwrap_or_default();
            let end = memchr(b'\n', unsearched).map(|at| self.searched + at);
            self.searched = 0;
            if self.skipping {
                buffer.advance(end.map_or(buffer.len(), |end| end + 1));
                if end.is_none() {
                    return Ok(None);
                }
                self.skipping = false;
            } else if end.unwrap_or(buffer.len()) > self.limit {
                self.skipping = true;
                let start = buffer.split_to(self.limit);
                *buffer = BytesMut::from(&buffer[..]);
                return Ok(Some(Line::TooLong(start)));
            } else if let Some(end) = end {
                let line = buffer.split_to(end);
                buffer.advance(1);
                if line.len() > MAX_KEPT_BUFFER {
                    *buffer = BytesMut::from(&buffer[..]);
                }
                return Ok(Some(Line::Whole(line)));
            } else {
                self.searched = buffer.len();
                return Ok(None);
            }
        }
    }

    fn decode_eof(&mut self, buffer: &mut BytesMut) -> io::Result<Option<Line>> {
        Ok(match self.decode(buffer)? {
            None if !buffer.is_empty() => {
                self.searched = 0;
                Some(Line::Unterminated(buffer.split()))
            }
            line => line,
        })
    }
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt as _;
    use tokio_util::bytes::BytesMut;
    use tokio_util::codec::FramedRead;

    use super::{Line, LineDecoder};

    async fn lines(input: &[u8], limit: usize) -> Vec<Line> {
        let lines = FramedRead::new(input, LineDecoder::new(limit));
        lines.map(Result::unwrap).collect().await
    }

    fn whole(line: &[u8]) -> Line {
        Line::Whole(BytesMut::from(line))
    }

    #[tokio::test]
    async fn splits_at_line_ends() {
        let expected = [
            whole(b"a"),
            whole(b"bc\r"),
            whole(b""),
            Line::Unterminated(BytesMut::from(&b"\0\xff"[..])),
        ];
        assert_eq!(lines(b"a\nbc\r\n\n\0\xff", 100).await, expected);
        assert_eq!(lines(b"a\n", 1).await, [whole(b"a")]);
    }

    #[tokio::test]
    async fn skips_the_rest_of_a_line_over_the_limit() {
        let long = "1".repeat(300_000);
        for text in [
            "12345\n1234\n",
            "123456789\n1234\n",
            &format!("{long}\n1234\n"),
        ] {
            let start = BytesMut::from(&text.as_bytes()[..4]);
            let expected = [Line::TooLong(start), whole(b"1234")];
            assert_eq!(lines(text.as_bytes(), 4).await, expected);
        }
        let start = BytesMut::from(&b"1234"[..]);
        assert_eq!(lines(b"123456789", 4).await, [Line::TooLong(start)]);
    }
}
