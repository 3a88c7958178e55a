//! The texts of a library in its indexes, with numbers.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::ops::Range;
use std::sync::Arc;

use gongfu_core::library::Library;
use gongfu_core::search::rank::{self, FIELDS};
use gongfu_core::search::word::squashed;
use tantivy::index::InvertedIndexReader;
use tantivy::store::StoreReader;

use super::group::{Group, skill};
use super::index::{Index, unpacked};

/// Stands for the length of a text that doesn't count.
const UNCOUNTED: f32 = -1.0;
/// The number of cached blocks of packed pairs; the system caches them, too.
const STORE_BLOCKS: usize = 1;

/// Everything that ranking needs.
pub(super) struct View {
    /// The indexes by their keys, to be updated next time.
    indexes: BTreeMap<String, Arc<Index>>,
    /// The segments of all indexes.
    pub(super) segments: Vec<Segment>,
    /// The texts of all segments in order, each as the skills that have it, by precedence. A text that
    /// doesn't count has none: an earlier segment has it, too, or its skills are disabled or not of
    /// this library.
    pub(super) texts: Vec<Vec<u32>>,
    /// The number of texts that count.
    pub(super) count: usize,
    /// The texts whose skill has a name, by that name [`squashed`].
    names: HashMap<String, Vec<u32>>,
    /// The weight of a word in each part of each text, by the length of the part; 0 in a text that
    /// doesn't count.
    pub(super) factors: [Vec<f32>; FIELDS.len()],
}

/// The texts that aren't numbered yet, and the lengths of the others.
#[derive(Default)]
struct Numbering {
    /// The skills that have each text, or its own place in a list, until it is numbered: a text in two indexes counts
    /// once.
    skills: BTreeMap<u64, Vec<u32>>,
    /// The length of each part of each text in words; negative for a text that doesn't count.
    lengths: [Vec<f32>; FIELDS.len()],
}

/// A part of an index.
pub(super) struct Segment {
    /// The terms of each field of [`FIELDS`].
    pub(super) terms: Vec<Arc<InvertedIndexReader>>,
    /// The fields themselves.
    pub(super) fields: Vec<tantivy::schema::Field>,
    /// The numbers of its texts in the view.
    pub(super) texts: Range<usize>,
    /// The stored documents.
    pub(super) store: StoreReader,
}

impl View {
    /// Numbers the texts of the library.
    pub(super) fn new(library: &Library, indexes: Vec<(Group, Arc<Index>)>) -> io::Result<Self> {
        let mut seen = Numbering::default();
        for (group, _) in &indexes {
            for (identity, places) in &group.texts {
                let enabled = places
                    .iter()
                    .filter(|at| skill(library, **at).is_some_and(|skill| skill.enabled));
                let places = enabled.filter_map(|at| u32::try_from(*at).ok());
                seen.skills.entry(*identity).or_default().extend(places);
            }
        }
        let indexes = indexes.into_iter();
        let mut view = Self::over(indexes.map(|(group, index)| (group.key, index)), seen)?;
        view.name_texts(|at| {
            let skill = skill(library, at as usize);
            skill.map_or_else(Vec::new, |skill| {
                vec![skill.name.as_str(), &*skill.full_name]
            })
        });
        Ok(view)
    }

    /// Numbers the texts of an index whose identities are their places in a list, by these names.
    pub(super) fn of_list<'a>(
        index: Index,
        count: u32,
        names: impl Fn(u32) -> Vec<&'a str>,
    ) -> io::Result<Self> {
        let seen = Numbering {
            skills: (0..count).map(|at| (at.into(), vec![at])).collect(),
            ..Numbering::default()
        };
        let indexes = [(String::new(), Arc::new(index))];
        let mut view = Self::over(indexes.into_iter(), seen)?;
        view.name_texts(names);
        Ok(view)
    }

    /// Gives each text the names of the first that has it.
    fn name_texts<'a>(&mut self, names: impl Fn(u32) -> Vec<&'a str>) {
        for (number, places) in (0_u32..).zip(&self.texts) {
            for name in places.first().map(|at| names(*at)).unwrap_or_default() {
                let named = self.names.entry(squashed(name)).or_default();
                named.push(number);
            }
        }
    }

    fn over(
        indexes: impl Iterator<Item = (String, Arc<Index>)>,
        mut seen: Numbering,
    ) -> io::Result<Self> {
        let mut view = Self {
            indexes: BTreeMap::new(),
            segments: Vec::new(),
            texts: Vec::new(),
            count: 0,
            names: HashMap::new(),
            factors: Default::default(),
        };
        for (key, index) in indexes {
            for segment in index.segments() {
                let segment = view.add(&segment, &index, &mut seen);
                view.segments.push(segment.map_err(io::Error::other)?);
            }
            view.indexes.insert(key, index);
        }
        #[expect(clippy::cast_precision_loss, reason = "an average needs no more")]
        let count = view.count.max(1) as f64;
        view.factors = std::array::from_fn(|field| {
            let lengths = seen.lengths.get(field).map_or(&[][..], Vec::as_slice);
            let counted = lengths.iter().filter(|length| **length >= 0.0);
            let sum: f64 = counted.map(|length| f64::from(*length)).sum();
            #[expect(clippy::cast_possible_truncation, reason = "an average needs no more")]
            let average = (sum / count) as f32;
            let factor = |length: &f32| {
                if *length >= 0.0 {
                    rank::factor(field, *length, average)
                } else {
                    0.0
                }
            };
            lengths.iter().map(factor).collect()
        });
        Ok(view)
    }

    fn add(
        &mut self,
        segment: &tantivy::SegmentReader,
        index: &Index,
        seen: &mut Numbering,
    ) -> tantivy::Result<Segment> {
        let identities = segment.fast_fields().u64("identity")?;
        let lengths = segment.fast_fields().u64("lengths")?;
        let from = self.texts.len();
        let texts = from..from + segment.max_doc() as usize;
        self.texts.resize_with(texts.end, Vec::new);
        for all in &mut seen.lengths {
            all.resize(texts.end, UNCOUNTED);
        }
        for document in segment.doc_ids_alive() {
            let Some(identity) = identities.first(document) else {
                continue;
            };
            let number = from + document as usize;
            let places = seen.skills.get_mut(&identity).map(std::mem::take);
            let (Some(mut places), Some(text)) = (
                places.filter(|places| !places.is_empty()),
                self.texts.get_mut(number),
            ) else {
                continue;
            };
            places.sort_unstable();
            *text = places;
            self.count += 1;
            let own = unpacked(lengths.first(document).unwrap_or(0));
            for (all, own) in seen.lengths.iter_mut().zip(own) {
                if let Some(length) = all.get_mut(number) {
                    *length = own;
                }
            }
        }
        let fields = index.fields().terms.clone();
        let terms: tantivy::Result<Vec<_>> = fields
            .iter()
            .map(|field| segment.inverted_index(*field))
            .collect();
        Ok(Segment {
            terms: terms?,
            fields,
            texts,
            store: segment.get_store_reader(STORE_BLOCKS)?,
        })
    }

    /// The index of a group, if it is part of this view.
    pub(super) fn index(&self, key: &str) -> Option<Arc<Index>> {
        self.indexes.get(key).map(Arc::clone)
    }

    /// Begins a search.
    pub(super) fn begin(&self) {
        for index in self.indexes.values() {
            index.begin();
        }
    }

    /// The texts of skills with this name, [`squashed`].
    pub(super) fn named(&self, name: &str) -> &[u32] {
        self.names.get(name).map_or(&[], Vec::as_slice)
    }

    /// The segment of a text, and its number there.
    pub(super) fn place(&self, text: u32) -> Option<(&Segment, u32)> {
        let number = text as usize;
        let at = self
            .segments
            .partition_point(|segment| segment.texts.end <= number);
        let segment = self.segments.get(at)?;
        let document = number.checked_sub(segment.texts.start)?;
        Some((segment, u32::try_from(document).ok()?))
    }

    /// The memory that it takes, in bytes, as far as known.
    pub(super) fn memory(&self) -> usize {
        let indexes: usize = self.indexes.values().map(|index| index.memory()).sum();
        // The memory of tantivy for each open segment, by measurement.
        indexes + self.texts.len() * 48 + self.segments.len() * 16 * 1024
    }
}
