//! Logs whose entries form a hash chain, so that a change of an old entry is found.

use super::{Pending, RecordKey};
use crate::skill::Digest;
use crate::skill::digest::Hasher;

/// The end of a chain: everything before it follows from its hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainHead {
    /// The number of the last entry, and so the number of all; 0 before the first.
    pub number: u64,
    /// The hash of the last entry.
    pub hash: Digest,
}

impl ChainHead {
    /// The head of an empty log. It depends on the log, so that no chain can be passed off as another one's.
    pub fn of_empty(scope: &str, log: &RecordKey) -> Self {
        Self {
            number: 0,
            hash: Digest::of(format!("{scope}\n{log}").as_bytes()),
        }
    }

    /// The head after one more entry: SHA-256 of the hash before, the number as 8 bytes (the highest first), and the entry.
    #[must_use]
    pub fn after(self, entry: &[u8]) -> Self {
        let number = self.number.saturating_add(1);
        let mut hasher = Hasher::default();
        hasher.update(self.hash.as_bytes());
        hasher.update(&number.to_be_bytes());
        hasher.update(entry);
        Self {
            number,
            hash: hasher.finish(),
        }
    }
}

/// An entry of a log, with its place in the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainEntry {
    /// Its number; the first entry has 1.
    pub number: u64,
    /// The entry.
    pub entry: Vec<u8>,
    /// Its hash.
    pub hash: Digest,
}

/// The first entry that doesn't fit the chain: it, or what was before it, was changed or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("entry {number} doesn't fit the entries before it: one of them was changed or removed")]
pub struct ChainBreak {
    /// The number that the entry has or should have.
    pub number: u64,
}

/// Logs that are kept whole, as hash chains.
///
/// A program that can write to the storage can also compute a chain of other entries, and a chain that lost its last
/// entries is still one. Both show when the head is compared with one that was stored elsewhere.
pub trait LogChain: Send + Sync {
    /// Reads a whole log and computes its hashes again: answers its head, or the first entry that doesn't fit.
    fn verify<'a>(&'a self, log: &'a RecordKey) -> Pending<'a, Result<ChainHead, ChainBreak>>;

    /// The entries of a log after a number (0: from the first on), at most `limit`, the oldest first.
    fn entries_after<'a>(
        &'a self,
        log: &'a RecordKey,
        number: u64,
        limit: usize,
    ) -> Pending<'a, Vec<ChainEntry>>;
}

#[cfg(test)]
mod tests {
    use super::{ChainHead, RecordKey};

    #[test]
    fn chain_depends_on_everything() {
        let audit = RecordKey::new("audit").unwrap();
        let start = ChainHead::of_empty("local", &audit);
        assert_eq!(start.number, 0);
        let one = start.after(b"one");
        // Computed by `printf 'local\naudit' | sha256sum`, and the same over its 32 bytes, 0000000000000001 and `one`.
        assert_eq!(start.hash.hex(16), "1bbfed45950b9ef1");
        assert_eq!(
            (one.number, one.hash.hex(16)),
            (1, "0c25e8024011a486".to_owned())
        );
        let other = ChainHead::of_empty("user/ann", &audit).after(b"one");
        assert_ne!(other, one);
        assert_ne!(start.after(b"two").hash, one.hash);
        assert_ne!(one.after(b"one").hash, one.hash);
    }
}
