//! One index of texts, by tantivy: on disk or in memory.
//!
//! Knows terms and counts, no skills and no ranking. A damaged one is made again.

use std::collections::BTreeSet;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use gongfu_core::search::rank::FIELDS;
use tantivy::directory::RamDirectory;
use tantivy::index::SegmentReader;
use tantivy::indexer::{IndexWriterOptions, LogMergePolicy, NoMergePolicy};
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::{
    IndexReader, IndexSettings, IndexWriter, ReloadPolicy, TantivyDocument, TantivyError, Term,
};

use super::directory::{Folder, Turn};
use super::terms::Terms;

/// The memory of the thread that writes, in bytes: the least that tantivy allows.
const WRITER_MEMORY: usize = 15_000_000;
/// The same for an index in memory, which has few texts.
const SMALL_WRITER_MEMORY: usize = 1_000_000;
/// The amount of text that is written at once, in bytes.
const CHUNK: usize = 6 * 1024 * 1024;
/// The number of new texts from which all are merged into one segment: a search asks each segment
/// for each of its words.
const MANY: usize = 256;
/// The number of texts up to which a segment is small; eight small ones are merged.
const SMALL_SEGMENT: u32 = 256;
/// The share of deleted texts from which a segment is merged.
const MAX_DELETED: f32 = 0.25;
/// The number of segments from which all are merged.
const MAX_SEGMENTS: usize = 16;
/// The attempts to write while another process does, and the pause between two.
const WRITE_ATTEMPTS: u32 = 600;
const WRITE_PAUSE: Duration = Duration::from_millis(50);

/// The fields of the index.
#[derive(Debug, Clone)]
pub(super) struct Fields {
    /// The identity of the text.
    identity: Field,
    /// The lengths of its parts, packed.
    lengths: Field,
    /// The terms of each part, in the order of [`FIELDS`].
    pub(super) terms: Vec<Field>,
    /// The pairs of words, packed.
    pairs: Field,
}

/// Reads the terms of texts by their identities, as far as they can be read.
pub(super) type Reading<'a> = dyn FnMut(&[u64]) -> Vec<(u64, Terms)> + 'a;

/// An index that can be read and written.
pub(super) struct Index {
    inner: tantivy::Index,
    reader: IndexReader,
    fields: Fields,
    /// The memory that it takes by itself, in bytes.
    memory: usize,
    /// The number of the search, for the files of an index on disk.
    turn: Turn,
}

impl Index {
    /// Opens the index in a folder, or creates it there; a damaged one is made again.
    pub(super) fn on_disk(folder: &Path) -> io::Result<Self> {
        let open = || -> tantivy::Result<Self> {
            let directory = Folder::open(folder)?;
            let (schema, fields) = schema();
            let index = tantivy::Index::builder()
                .schema(schema)
                .settings(settings())
                .open_or_create(directory.clone())?;
            let managed = index.directory().list_managed_files();
            for file in index
                .load_metas()?
                .list_segment_files()
                .intersection(&managed)
            {
                if !directory.is_sound(file)? {
                    let text = format!("{} is damaged", file.display());
                    return Err(io::Error::new(io::ErrorKind::InvalidData, text).into());
                }
            }
            Self::over(index, fields, 0, directory.turn())
        };
        guarded(open).or_else(|error| {
            tracing::debug!(folder = %folder.display(), %error, "rebuilding the search index");
            clear(folder)?;
            guarded(open)
        })
    }

    /// An index in memory of these texts and no others.
    pub(super) fn in_memory(texts: &mut dyn Iterator<Item = (u64, Terms)>) -> io::Result<Self> {
        guarded(|| {
            let directory = RamDirectory::create();
            let (schema, fields) = schema();
            let mut writer = tantivy::Index::builder()
                .schema(schema)
                .settings(settings())
                .single_segment_index_writer(directory.clone(), SMALL_WRITER_MEMORY)?;
            for (identity, terms) in texts {
                writer.add_document(fields.document(identity, &terms))?;
            }
            let index = writer.finalize()?;
            Self::over(index, fields, directory.total_mem_usage(), Turn::default())
        })
    }

    fn over(
        index: tantivy::Index,
        fields: Fields,
        memory: usize,
        turn: Turn,
    ) -> tantivy::Result<Self> {
        let reader = index.reader_builder();
        let reader = reader.reload_policy(ReloadPolicy::Manual).try_into()?;
        Ok(Self {
            inner: index,
            reader,
            fields,
            memory,
            turn,
        })
    }

    /// Begins a search: each file is checked once for a change.
    pub(super) fn begin(&self) {
        self.turn.begin();
    }

    pub(super) fn fields(&self) -> &Fields {
        &self.fields
    }

    pub(super) fn memory(&self) -> usize {
        self.memory
    }

    /// The current segments.
    pub(super) fn segments(&self) -> Vec<SegmentReader> {
        self.reader.searcher().segment_readers().to_vec()
    }

    /// Loads the writes of other processes; answers the identities of all texts.
    pub(super) fn identities(&self) -> io::Result<BTreeSet<u64>> {
        guarded(|| {
            self.reader.reload()?;
            let mut identities = BTreeSet::new();
            for segment in self.reader.searcher().segment_readers() {
                let column = segment.fast_fields().u64("identity")?;
                for document in segment.doc_ids_alive() {
                    identities.extend(column.first(document));
                }
            }
            Ok(identities)
        })
    }

    /// The number of wanted texts that it lacks.
    pub(super) fn missing(&self, wanted: &BTreeSet<u64>) -> io::Result<usize> {
        let known = self.identities()?;
        Ok(wanted.difference(&known).count())
    }

    /// Makes the index hold exactly the wanted texts.
    ///
    /// `read` gives the terms of missing texts; a text that it leaves out stays missing.
    pub(super) fn update(&self, wanted: &BTreeSet<u64>, read: &mut Reading<'_>) -> io::Result<()> {
        let Some(mut writer) = self.writer_for(wanted)? else {
            return Ok(());
        };
        // Another process may have written them meanwhile.
        let known = self.identities()?;
        let mut many = self.is_scattered();
        guarded(|| {
            for gone in known.difference(wanted) {
                writer.delete_term(Term::from_field_u64(self.fields.identity, *gone));
            }
            let missing: Vec<u64> = wanted.difference(&known).copied().collect();
            many |= missing.len() > MANY;
            let mut size = 0;
            for some in missing.chunks(64) {
                for (identity, terms) in read(some) {
                    size += terms.size();
                    writer.add_document(self.fields.document(identity, &terms))?;
                }
                if size > CHUNK {
                    writer.commit()?;
                    size = 0;
                }
            }
            writer.commit()?;
            writer.wait_merging_threads()?;
            if many {
                self.merge_all()?;
            }
            self.reader.reload()
        })
    }

    /// Merges all segments into one.
    fn merge_all(&self) -> tantivy::Result<()> {
        let mut writer = match self.writer() {
            // Another process writes: searching is slower, and nothing worse.
            Err(TantivyError::LockFailure(..)) => return Ok(()),
            writer => writer?,
        };
        writer.set_merge_policy(Box::new(NoMergePolicy));
        let segments = self.inner.searchable_segment_ids()?;
        if segments.len() > 1 {
            writer.merge(&segments).wait()?;
        }
        writer.wait_merging_threads()
    }

    /// Returns whether there are so many segments that searching is slow: an indexing was interrupted.
    fn is_scattered(&self) -> bool {
        self.reader.searcher().segment_readers().len() > MAX_SEGMENTS
    }

    fn writer(&self) -> tantivy::Result<IndexWriter> {
        let options = IndexWriterOptions::builder()
            // Every core finds words; a second writer would only double the memory.
            .num_worker_threads(1)
            .num_merge_threads(1)
            .memory_budget_per_thread(WRITER_MEMORY)
            .build();
        self.inner.writer_with_options(options)
    }

    /// The writer, if there is anything to write. While another process has it, that one may be
    /// writing the very texts that are missing.
    fn writer_for(&self, wanted: &BTreeSet<u64>) -> io::Result<Option<IndexWriter>> {
        for _ in 0..WRITE_ATTEMPTS {
            let known = self.identities()?;
            let gone = known.difference(wanted).count();
            // Texts that are no longer wanted cost little; the next write removes them.
            let few = gone <= 64.max(wanted.len() / 4);
            if few && wanted.is_subset(&known) && !self.is_scattered() {
                return Ok(None);
            }
            match self.writer() {
                Ok(writer) => {
                    let mut policy = LogMergePolicy::default();
                    // A few changed texts are merged without all others.
                    policy.set_min_layer_size(SMALL_SEGMENT);
                    policy.set_del_docs_ratio_before_merge(MAX_DELETED);
                    writer.set_merge_policy(Box::new(policy));
                    return Ok(Some(writer));
                }
                Err(TantivyError::LockFailure(..)) => std::thread::sleep(WRITE_PAUSE),
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        Err(io::Error::other(
            "another process has been writing the search index for too long",
        ))
    }
}

/// The packed pairs at the end of a stored document.
pub(super) fn pairs(kept: &[u8]) -> &[u8] {
    let found = kept.split_last_chunk::<4>().and_then(|(packed, length)| {
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        packed.get(packed.len().checked_sub(length)?..)
    });
    found.unwrap_or_default()
}

/// The lengths of a text's parts in words, from one number.
pub(super) fn unpacked(lengths: u64) -> [f32; FIELDS.len()] {
    let mut unpacked = [0.0; FIELDS.len()];
    let mut rest = lengths;
    for (length, bits) in unpacked.iter_mut().zip(BITS) {
        #[expect(
            clippy::cast_precision_loss,
            reason = "below 2^24, where floats are exact"
        )]
        let value = (rest & ((1 << bits) - 1)) as f32;
        *length = value;
        rest >>= bits;
    }
    unpacked
}

/// The bits of the length of each part; 64 together.
const BITS: [u32; FIELDS.len()] = [6, 12, 12, 18, 16];

fn packed(lengths: [usize; FIELDS.len()]) -> u64 {
    let mut packed = 0;
    let mut shift = 0;
    for (length, bits) in lengths.into_iter().zip(BITS) {
        packed |= (length as u64).min((1 << bits) - 1) << shift;
        shift += bits;
    }
    packed
}

impl Fields {
    fn document(&self, identity: u64, terms: &Terms) -> TantivyDocument {
        let mut document = TantivyDocument::default();
        document.add_u64(self.identity, identity);
        document.add_u64(self.lengths, packed(terms.lengths));
        for (field, text) in self.terms.iter().zip(&terms.texts) {
            document.add_text(*field, text);
        }
        // With the length behind them, they are found at the end of the stored document without a look
        // at each byte.
        let mut packed = terms.pairs.clone();
        let length = u32::try_from(packed.len()).unwrap_or(0);
        packed.extend_from_slice(&length.to_le_bytes());
        document.add_bytes(self.pairs, &packed);
        document
    }
}

/// Terms with their counts, without positions; joined by spaces, so that tantivy needs no tokenizer.
fn schema() -> (Schema, Fields) {
    let mut schema = Schema::builder();
    let indexing = TextFieldIndexing::default()
        .set_tokenizer("whitespace")
        .set_index_option(IndexRecordOption::WithFreqs)
        .set_fieldnorms(false);
    let terms = TextOptions::default().set_indexing_options(indexing);
    let fields = Fields {
        identity: schema.add_u64_field("identity", FAST | INDEXED),
        lengths: schema.add_u64_field("lengths", FAST),
        terms: FIELDS
            .iter()
            .map(|field| schema.add_text_field(field.name, terms.clone()))
            .collect(),
        pairs: schema.add_bytes_field("pairs", STORED),
    };
    (schema.build(), fields)
}

fn settings() -> IndexSettings {
    IndexSettings {
        docstore_compression: tantivy::store::Compressor::None,
        // Packed pairs are read for one text at a time.
        docstore_blocksize: 4 * 1024,
        ..IndexSettings::default()
    }
}

/// Removes everything of a damaged index but its locks.
#[expect(
    clippy::disallowed_methods,
    reason = "the folder is gongfu's own, below its home, and tantivy opens it by its path as well"
)]
fn clear(folder: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path: PathBuf = entry?.path();
        if path.extension().is_none_or(|ending| ending != "lock") {
            std::fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// Calls tantivy, which may panic over a damaged file.
pub(super) fn guarded<T>(run: impl FnOnce() -> tantivy::Result<T>) -> io::Result<T> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(outcome) => outcome.map_err(io::Error::other),
        Err(_) => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "the search index is damaged",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::{packed, unpacked};

    #[test]
    fn lengths_survive_packing() {
        assert_eq!(
            unpacked(packed([3, 70, 900, 150_000, 7])).map(f32::to_bits),
            [3.0_f32, 70.0, 900.0, 150_000.0, 7.0].map(f32::to_bits)
        );
        let most = packed([usize::MAX; 5]);
        assert_eq!(most, u64::MAX);
        assert!(unpacked(most).iter().all(|length| *length >= 63.0));
    }
}
