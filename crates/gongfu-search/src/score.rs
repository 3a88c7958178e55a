//! Ranking a view's texts for a query, term by term.

use std::collections::BTreeMap;
use std::io;

use gongfu_core::search::pair::{self, Place};
use gongfu_core::search::query::{Filter, Query};
use gongfu_core::search::rank;
use gongfu_core::search::word::{Kind, Words, composed, squashed};
use tantivy::Term;
use tantivy::postings::TermInfo;
use tantivy::schema::IndexRecordOption;

use super::view::View;
use super::{index, terms};

/// The most terms of each kind in a query: the rarest ones count.
const MAX_TERMS: usize = 48;
/// The number of texts in which pairs of words are searched: the best ones by their words.
const PAIR_TEXTS: usize = 64;

/// A term of a query.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct QueryTerm {
    /// The term as it stands in the index.
    pub(super) key: String,
    /// Its kind.
    pub(super) kind: Kind,
    /// Its weight.
    pub(super) importance: f32,
    /// True if it is a stop word.
    stop: bool,
}

/// The parts of a query.
#[derive(Debug, Clone, Default)]
pub(super) struct QueryParts {
    /// Its words, each once.
    pub(super) terms: Vec<QueryTerm>,
    /// The hashes of its pairs of words, with their weights.
    pairs: BTreeMap<u32, f32>,
}

/// The terms that a query asks for, each once. A single character of a dense script counts only
/// where it stands alone.
pub(super) fn wanted(query: &Query, words: &mut Words) -> QueryParts {
    let mut all: BTreeMap<(String, Kind), QueryTerm> = BTreeMap::new();
    let mut pairs: BTreeMap<u32, f32> = BTreeMap::new();
    let mut add = |text: &str, kind: Kind, stop: bool| {
        let mut key = String::new();
        terms::push(&mut key, kind, text);
        key.truncate(key.trim_end().len());
        let entry = all.entry((key.clone(), kind)).or_insert(QueryTerm {
            key,
            kind,
            importance: 0.0,
            stop,
        });
        entry.importance += rank::importance(kind);
    };
    let mut characters: Vec<(String, usize, usize)> = Vec::new();
    let mut covered: Vec<(usize, usize)> = Vec::new();
    words.each(&composed(query.read()), &mut |term| match term.kind {
        Kind::Character => characters.push((term.text.to_owned(), term.start, term.end)),
        kind @ (Kind::Pair | Kind::WidePair) => {
            let pair = Place::new(term.text, 0).pair();
            *pairs.entry(pair).or_default() += rank::importance(kind);
        }
        kind => {
            if kind == Kind::Dense {
                covered.push((term.start, term.end));
            }
            add(term.text, kind, term.stop);
        }
    });
    // Both lists are in the order of the text.
    let mut covered = covered.into_iter().peekable();
    for (text, start, end) in characters {
        while covered.next_if(|(_, until)| *until <= start).is_some() {}
        if covered.peek().is_none_or(|(from, _)| *from >= end) {
            add(&text, Kind::Character, false);
        }
    }
    let terms = all.into_values().collect();
    QueryParts { terms, pairs }
}

/// The texts that have any of the terms, best first, with their scores; and the weight of each term.
pub(super) struct Ranking {
    /// Numbers of texts in the view.
    pub(super) texts: Vec<(u32, f32)>,
    /// The terms that occur, with their weights.
    pub(super) terms: Vec<(QueryTerm, f32)>,
}

/// Ranks the texts of a view.
pub(super) fn rank(view: &View, asked: QueryParts, query: &Query) -> io::Result<Ranking> {
    view.begin();
    let fields = rank::fields_of(query.scope);
    let mut scores = vec![0.0_f32; view.texts.len()];
    let mut weights = vec![0.0_f32; view.texts.len()];
    let mut terms = Vec::new();
    for found in rarest(view, asked.terms, fields)? {
        let having = found.weigh(view, &mut weights)?;
        let rarity = rank::rarity(having, view.count);
        let most = rarity * found.wanted.importance;
        for (score, sum) in scores.iter_mut().zip(&mut weights) {
            *score += most * rank::saturated(*sum);
            *sum = 0.0;
        }
        if having > 0 {
            terms.push((found.wanted, rarity));
        }
    }
    favour(view, query, &mut scores);
    let numbered = scores.into_iter().enumerate();
    let found = numbered.filter(|(_, score)| *score > 0.0);
    let mut texts: Vec<(u32, f32)> = found
        .filter_map(|(number, score)| Some((u32::try_from(number).ok()?, score)))
        .collect();
    // The end of the list matters only to a filter that lets few pass.
    let front = if query.filter == Filter::default() {
        PAIR_TEXTS.max(query.limit)
    } else {
        texts.len()
    };
    sort(view, &mut texts, front);
    if !asked.pairs.is_empty() {
        let rarity = rank::rarity_of_pairs(view.count);
        for (text, score) in texts.iter_mut().take(PAIR_TEXTS) {
            *score += rarity * pairs(view, *text, &asked.pairs, fields)?;
        }
        sort(view, &mut texts, front);
    }
    Ok(Ranking { texts, terms })
}

/// Sorts the best to the front; equals by precedence, so that the order is always the same.
fn sort(view: &View, texts: &mut [(u32, f32)], front: usize) {
    let precedence = |number: u32| {
        view.texts
            .get(number as usize)
            .and_then(|skills| skills.first())
    };
    let better = |(left, left_score): &(u32, f32), (right, right_score): &(u32, f32)| {
        right_score
            .total_cmp(left_score)
            .then_with(|| precedence(*left).cmp(&precedence(*right)))
    };
    if front < texts.len() {
        texts.select_nth_unstable_by(front, better);
    }
    let front = front.min(texts.len());
    if let Some(best) = texts.get_mut(..front) {
        best.sort_unstable_by(better);
    }
}

/// The score that the pairs of a query add to a text.
fn pairs(view: &View, text: u32, asked: &BTreeMap<u32, f32>, fields: usize) -> io::Result<f32> {
    let Some((segment, document)) = view.place(text) else {
        return Ok(0.0);
    };
    let kept = segment.store.get_document_bytes(document);
    let kept = kept.map_err(io::Error::other)?;
    let kept = index::pairs(&kept);
    let mut added = 0.0;
    for (wanted, importance) in asked {
        let mut sum = 0.0;
        pair::find(kept, *wanted, |place, frequency| {
            let field = place.part();
            if field < fields {
                let factors = view.factors.get(field);
                let factor = factors.and_then(|factors| factors.get(text as usize));
                let frequency = f32::from(frequency) / f32::from(pair::NEAR);
                sum += factor.map_or(0.0, |factor| factor * frequency);
            }
        });
        added += importance * rank::saturated_pair(sum);
    }
    Ok(added)
}

/// Puts a skill whose name is the query before all others.
fn favour(view: &View, query: &Query, scores: &mut [f32]) {
    let name = squashed(query.read());
    let named = view.named(&name);
    let best = scores.iter().copied().fold(0.0, f32::max);
    for text in named {
        if let Some(score) = scores.get_mut(*text as usize) {
            *score += best + 1.0;
        }
    }
}

/// A term of a query that occurs.
struct Occurring {
    wanted: QueryTerm,
    /// The number of texts that have it, roughly: in the part where most have it.
    having: usize,
    /// Its lists of texts.
    lists: Vec<List>,
}

impl Occurring {
    /// Adds the weight of the term in each text; answers the number of texts that have it.
    fn weigh(&self, view: &View, weights: &mut [f32]) -> io::Result<usize> {
        for List { part, field, info } in &self.lists {
            let factors = view.factors.get(*field);
            let Some((segment, factors)) = view.segments.get(*part).zip(factors) else {
                continue;
            };
            let own = (
                segment.terms.get(*field),
                factors.get(segment.texts.clone()),
                weights.get_mut(segment.texts.clone()),
            );
            let (Some(reader), Some(factors), Some(weights)) = own else {
                continue;
            };
            let mut block =
                reader.read_block_postings_from_terminfo(info, IndexRecordOption::WithFreqs)?;
            while !block.docs().is_empty() {
                for (document, frequency) in block.docs().iter().zip(block.freqs()) {
                    let at = *document as usize;
                    if let (Some(sum), Some(factor)) = (weights.get_mut(at), factors.get(at)) {
                        #[expect(clippy::cast_precision_loss, reason = "counts of words")]
                        let frequency = *frequency as f32;
                        *sum += factor * frequency;
                    }
                }
                block.advance();
            }
        }
        Ok(weights.iter().filter(|weight| **weight > 0.0).count())
    }
}

/// The list of the texts that have a term, in one segment and field.
struct List {
    /// The segment, by its number in the view.
    part: usize,
    /// The part of a text, by its number in [`rank::FIELDS`].
    field: usize,
    info: TermInfo,
}

/// The terms that occur; of very many, the rarest. A stop word counts if at most half of the texts
/// have it, or if no other word occurs.
fn rarest(view: &View, wanted: Vec<QueryTerm>, fields: usize) -> io::Result<Vec<Occurring>> {
    let mut all: Vec<Occurring> = Vec::with_capacity(wanted.len());
    for wanted in wanted {
        all.extend(found(view, wanted, fields)?);
    }
    if all.iter().any(|found| !found.wanted.stop) {
        let half = view.count / 2;
        all.retain(|found| !found.wanted.stop || found.having <= half);
        for found in all.iter_mut().filter(|found| found.wanted.stop) {
            found.wanted.importance *= rank::STOP;
        }
    }
    if all.len() > MAX_TERMS {
        all.sort_by(|left, right| {
            let rarer = left.having.cmp(&right.having);
            rarer.then_with(|| left.wanted.key.cmp(&right.wanted.key))
        });
        let mut room: BTreeMap<Kind, usize> = BTreeMap::new();
        all.retain(|found| {
            let taken = room.entry(found.wanted.kind).or_default();
            *taken += 1;
            *taken <= MAX_TERMS
        });
    }
    Ok(all)
}

/// Looks up a term in all segments.
fn found(view: &View, wanted: QueryTerm, fields: usize) -> io::Result<Option<Occurring>> {
    let (mut lists, mut having) = (Vec::new(), 0);
    for (part, segment) in view.segments.iter().enumerate() {
        let mut most = 0;
        let readers = segment.terms.iter().zip(&segment.fields).take(fields);
        for (field, (reader, name)) in readers.enumerate() {
            let term = Term::from_field_text(*name, &wanted.key);
            if let Some(info) = reader.get_term_info(&term)? {
                most = info.doc_freq.max(most);
                lists.push(List { part, field, info });
            }
        }
        having += most as usize;
    }
    let found = Occurring {
        wanted,
        having,
        lists,
    };
    Ok((having > 0).then_some(found))
}
