//! A file of records with a digest at its end, written and read one record at a time.
//!
//! The index of ten thousand skills has many megabytes: only one record at a time is in memory.

use std::io::{self, BufReader, BufWriter, Read, Write};

use gongfu_core::skill::digest::Hasher;
use serde::Serialize;

/// The size of a record's length, in bytes.
const LENGTH: usize = 4;
/// The size of the digest, in bytes.
const DIGEST: usize = 32;
/// The size of the buffers, in bytes.
const PIECE: usize = 64 * 1024;

/// Writes records.
pub(super) struct Writer<W: Write> {
    to: BufWriter<W>,
    hasher: Hasher,
    record: Vec<u8>,
}

impl<W: Write> Writer<W> {
    pub(super) fn new(to: W) -> Self {
        Self {
            to: BufWriter::with_capacity(PIECE, to),
            hasher: Hasher::default(),
            record: Vec::new(),
        }
    }

    /// Adds a record.
    ///
    /// # Errors
    /// It is larger than 4 GiB, or can't be written.
    pub(super) fn put(&mut self, record: &impl Serialize) -> io::Result<()> {
        self.record.clear();
        let empty = std::mem::take(&mut self.record);
        self.record = postcard::to_extend(record, empty).map_err(io::Error::other)?;
        let length = u32::try_from(self.record.len()).map_err(io::Error::other)?;
        for bytes in [&length.to_le_bytes()[..], &self.record] {
            self.hasher.update(bytes);
            self.to.write_all(bytes)?;
        }
        Ok(())
    }

    /// Writes the digest of all records behind them.
    ///
    /// # Errors
    /// It can't be written.
    pub(super) fn end(mut self) -> io::Result<()> {
        self.to.write_all(self.hasher.finish().as_bytes())?;
        self.to.flush()
    }
}

/// Reads what a [`Writer`] wrote.
///
/// No record may be used before [`Reader::next`] has answered `None`: only then the digest is checked.
pub(super) struct Reader<R: Read> {
    from: BufReader<R>,
    /// The number of bytes of records ahead.
    left: u64,
    hasher: Hasher,
    record: Vec<u8>,
}

impl<R: Read> Reader<R> {
    /// Reads a file of this length.
    ///
    /// # Errors
    /// It is too short for a digest.
    pub(super) fn new(from: R, length: u64) -> io::Result<Self> {
        let left = length.checked_sub(DIGEST as u64);
        Ok(Self {
            from: BufReader::with_capacity(PIECE, from),
            left: left.ok_or_else(|| damaged("it is too short"))?,
            hasher: Hasher::default(),
            record: Vec::new(),
        })
    }

    /// The next record; `None` behind the last one.
    ///
    /// # Errors
    /// The file is damaged or can't be read.
    pub(super) fn next(&mut self) -> io::Result<Option<&[u8]>> {
        if self.left == 0 {
            let mut digest = [0; DIGEST];
            self.from.read_exact(&mut digest)?;
            let wanted = std::mem::take(&mut self.hasher).finish();
            return if wanted.to_bytes() == digest {
                Ok(None)
            } else {
                Err(damaged("the digest differs"))
            };
        }
        let too_long = || damaged("a record is longer than the file");
        let mut length = [0; LENGTH];
        self.left = self.left.checked_sub(LENGTH as u64).ok_or_else(too_long)?;
        self.from.read_exact(&mut length)?;
        self.hasher.update(&length);
        let length = u32::from_le_bytes(length);
        self.left = self
            .left
            .checked_sub(u64::from(length))
            .ok_or_else(too_long)?;
        self.record.clear();
        // A damaged length must not reserve memory.
        let record = (&mut self.from).take(u64::from(length));
        let read = { record }.read_to_end(&mut self.record)?;
        if read as u64 != u64::from(length) {
            return Err(damaged("it ends within a record"));
        }
        self.hasher.update(&self.record);
        Ok(Some(&self.record))
    }
}

pub(super) fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}
