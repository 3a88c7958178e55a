//! The terms of a text, as the index stores them.

use gongfu_core::search::SearchText;
use gongfu_core::search::pair;
use gongfu_core::search::rank::FIELDS;
use gongfu_core::search::word::{Kind, Words};

/// The terms of a text, part by part.
#[derive(Debug, Clone, Default)]
pub(super) struct Terms {
    /// The terms of each part, with spaces between them.
    pub(super) texts: [String; FIELDS.len()],
    /// The number of words of each part.
    pub(super) lengths: [usize; FIELDS.len()],
    /// The pairs of words, packed.
    pub(super) pairs: Vec<u8>,
}

impl Terms {
    /// The terms of a text.
    pub(super) fn of(text: &SearchText, words: &mut Words) -> Self {
        let mut terms = Self::default();
        let mut pairs = Vec::new();
        for (number, ((part, joined), length)) in text
            .parts()
            .into_iter()
            .zip(&mut terms.texts)
            .zip(&mut terms.lengths)
            .enumerate()
        {
            words.each(part, &mut |term| {
                let frequency = match term.kind {
                    Kind::Pair => pair::NEAR,
                    Kind::WidePair => pair::NEAR / 2,
                    kind => {
                        *length += usize::from(matches!(kind, Kind::Stem | Kind::Dense));
                        return push(joined, kind, term.text);
                    }
                };
                if number < pair::PARTS {
                    pairs.push((pair::Place::new(term.text, number), frequency));
                }
            });
        }
        terms.pairs = pair::pack(pairs);
        terms
    }

    /// The memory that they take, in bytes.
    pub(super) fn size(&self) -> usize {
        self.texts.iter().map(String::len).sum::<usize>() + self.pairs.len()
    }
}

/// Adds a term as it stands in the index, with a space behind it: no term has one.
///
/// A `=`, which no word has, tells a word as written from a stem.
pub(super) fn push(to: &mut String, kind: Kind, text: &str) {
    if kind == Kind::Surface {
        to.push('=');
    }
    to.push_str(text);
    to.push(' ');
}
