//! What is better than what: BM25F over words and pairs of words.
//!
//! A term counts in every part of a text at once, each with its own weight and its own judgement of
//! length, and saturates over all of them together (Robertson and Zaragoza, "The Probabilistic
//! Relevance Framework: BM25 and Beyond", 2009, section 3.5).

use super::query::Scope;
use super::word::Kind;

/// A part of a text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// How much a term in it counts.
    pub weight: f32,
    /// How much its length is held against it, from 0 to 1.
    pub length: f32,
}

/// The parts of a text, those that say most about it first.
pub const FIELDS: [Field; 4] = [
    Field {
        name: "name",
        weight: 5.0,
        length: 0.3,
    },
    Field {
        name: "description",
        weight: 3.0,
        length: 0.5,
    },
    Field {
        name: "headings",
        weight: 1.5,
        length: 0.5,
    },
    Field {
        name: "body",
        weight: 1.0,
        length: 0.75,
    },
];
/// How soon more of the same term stops to count.
const SATURATION: f32 = 1.2;
/// How much a pair counts beside a word.
const PAIR: f32 = 0.5;

/// How many parts of a text a scope reads.
pub fn fields_of(scope: Scope) -> usize {
    match scope {
        Scope::Name => 1,
        Scope::Description => 2,
        Scope::Everything => FIELDS.len(),
    }
}

/// How much a term that occurs in a part adds there.
///
/// `field` is the part's place in [`FIELDS`], `length` and `average` are in words.
pub fn weight(field: usize, frequency: f32, length: f32, average: f32) -> f32 {
    FIELDS.get(field).map_or(0.0, |field| {
        let relative = if average > 0.0 { length / average } else { 1.0 };
        let held = 1.0 - field.length + field.length * relative;
        field.weight * frequency / held
    })
}

/// How much a term counts that `having` of `all` texts have.
pub fn rarity(kind: Kind, having: usize, all: usize) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "counts of texts")]
    let (having, all) = (having as f32, all as f32);
    let rarity = (1.0 + (all - having + 0.5) / (having + 0.5)).ln();
    match kind {
        Kind::Pair => PAIR * rarity,
        Kind::Word | Kind::Character => rarity,
    }
}

/// What all parts of a text together add for a term of this rarity.
pub fn score(weights: f32, rarity: f32) -> f32 {
    rarity * weights * (SATURATION + 1.0) / (SATURATION + weights)
}
