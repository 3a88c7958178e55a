//! Relevance: BM25F over words, their stems and pairs of words.
//!
//! A term counts in every part of a text at once, each with its own weight, and saturates over all
//! of them together (Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and
//! Beyond", 2009, section 3.5). `just bench-search` prints what that is worth.

use super::query::Scope;
use super::word::Kind;

/// A part of a text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// The weight of a term in it.
    pub weight: f32,
}

/// The parts of a text, those that say most about it first.
pub const FIELDS: [Field; 5] = [
    Field {
        name: "name",
        weight: 6.0,
    },
    Field {
        name: "description",
        weight: 5.0,
    },
    Field {
        name: "headings",
        weight: 1.5,
    },
    Field {
        name: "prose",
        weight: 1.0,
    },
    Field {
        name: "code",
        weight: 0.5,
    },
];
/// The penalty for the length of a part, from 0 to 1.
const LENGTH: f32 = 0.6;
/// The saturation: how soon more of the same word stops to count.
const SATURATION: f32 = 2.0;
/// The same for pairs.
const PAIR_SATURATION: f32 = 0.8;
/// The weight of a word that says nothing about the subject of a text.
pub const STOP: f32 = 0.5;

/// Returns the number of parts of a text that a scope reads.
pub fn fields_of(scope: Scope) -> usize {
    match scope {
        Scope::Name => 1,
        Scope::Description => 2,
        Scope::Everything => FIELDS.len(),
    }
}

/// Returns the weight of a term of a query for each of its occurrences there.
pub fn importance(kind: Kind) -> f32 {
    match kind {
        Kind::Stem => 0.65,
        Kind::Surface => 0.45,
        Kind::Dense | Kind::Character => 1.1,
        Kind::Pair => 0.25,
        Kind::WidePair => 0.125,
    }
}

/// Returns the weight of a term for each of its occurrences in a part.
///
/// `field` is the part's place in [`FIELDS`], `length` and `average` are in words.
pub fn factor(field: usize, length: f32, average: f32) -> f32 {
    FIELDS.get(field).map_or(0.0, |field| {
        let relative = if average > 0.0 { length / average } else { 1.0 };
        field.weight / (1.0 - LENGTH + LENGTH * relative)
    })
}

/// Returns the significance of a term that `having` of `all` texts have.
pub fn rarity(having: usize, all: usize) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "counts of texts")]
    let (having, all) = (having as f32, all as f32);
    (1.0 + (all - having + 0.5) / (having + 0.5)).ln()
}

/// Returns the significance of a pair among so many texts: it needs no count of its own, because most pairs stand
/// in few texts.
pub fn rarity_of_pairs(all: usize) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "counts of texts")]
    let all = all as f32;
    all.ln_1p()
}

/// Returns the score that a word adds to a text, by the weights of its occurrences; at most 1.
pub fn saturated(weights: f32) -> f32 {
    weights / (weights + SATURATION)
}

/// Returns the score that a pair adds to a text, by the weights of its occurrences; at most 1.
pub fn saturated_pair(weights: f32) -> f32 {
    weights / (weights + PAIR_SATURATION)
}

#[cfg(test)]
mod tests {
    use super::{factor, rarity, saturated, saturated_pair};

    #[test]
    fn weights_grow_within_their_limits() {
        assert!(rarity(1, 100) > rarity(50, 100));
        assert!(
            rarity(100, 100) > 0.0,
            "what all have still counts a little"
        );
        assert!(saturated(5.0) > saturated(1.0));
        assert!(saturated(1e9) <= 1.0 && saturated_pair(1e9) <= 1.0);
        assert!(factor(0, 3.0, 3.0) > factor(3, 3.0, 3.0));
        assert!(factor(3, 100.0, 10.0) < factor(3, 10.0, 10.0));
        assert!(factor(3, 0.0, 0.0).is_finite());
        assert!(factor(9, 1.0, 1.0).abs() < f32::EPSILON);
    }
}
