//! The words of a text: what an index is made of and what a query asks for.
//!
//! - Identifiers are split (`camelCase`, `snake_case`, `kebab-case`, `dotted.name`, `v2`) and kept
//!   whole as well where their parts hang together without a sign between them.
//! - English words lose their endings (Snowball), accents their marks, all letters their case.
//! - Chinese, Japanese, Korean and other scripts without spaces become pairs of neighbours, which
//!   need no dictionary; single characters are told as well, for queries that are no longer.
//! - Neighbouring words of substance form a pair, because "pull request" says more than its words.

use std::borrow::Cow;
use std::collections::HashMap;

use frostem::{Algorithm, Stemmer};
use unicode_normalization::{IsNormalized, UnicodeNormalization as _, is_nfc_quick};

use super::script::{Class, class};
use super::stop;

/// The longest word that is kept, in bytes; what is longer was not written by a person.
pub const MAX_WORD: usize = 64;
/// How many stems are remembered.
const MAX_REMEMBERED: usize = 50_000;

/// What a term is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A word, or two neighbours of a script without spaces.
    Word,
    /// Two words of substance that follow each other.
    Pair,
    /// A single character of a script without spaces.
    Character,
}

/// A term of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Term<'a> {
    /// The term itself, folded and stemmed.
    pub text: &'a str,
    /// What it is.
    pub kind: Kind,
    /// Whether it says nothing about what a text is about.
    pub stop: bool,
    /// Offset of its first byte in the text.
    pub start: usize,
    /// Offset behind its last byte.
    pub end: usize,
}

/// A text as [`Words`] reads it: composed (NFC) and with kana of full width, so that offsets mean
/// the same everywhere.
pub fn composed(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let half_width = |character: char| matches!(character, '\u{ff61}'..='\u{ff9f}');
    match is_nfc_quick(text.chars()) {
        _ if text.contains(half_width) => Cow::Owned(text.nfkc().collect()),
        IsNormalized::Yes => Cow::Borrowed(text),
        _ => Cow::Owned(text.nfc().collect()),
    }
}

/// Finds the terms of texts; remembers the stems of words, so keep one for many texts.
pub struct Words {
    stemmer: Stemmer,
    stems: HashMap<Box<str>, Box<str>>,
    /// The identifier that is being read, as written, and the same folded.
    word: String,
    /// Its parts: where they begin in `word`, and in the text.
    parts: Vec<Part>,
    pair: String,
    /// The last word of substance, for pairs.
    before: String,
    before_start: usize,
}

#[derive(Debug, Clone, Copy)]
struct Part {
    from: usize,
    start: usize,
    end: usize,
}

impl Default for Words {
    fn default() -> Self {
        Self {
            stemmer: Stemmer::new(Algorithm::English),
            stems: HashMap::new(),
            word: String::new(),
            parts: Vec::new(),
            pair: String::new(),
            before: String::new(),
            before_start: 0,
        }
    }
}

/// What the last character was, for telling where a part of an identifier ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Nothing,
    Lower,
    Upper,
    Digit,
}

impl Words {
    /// Tells every term of a [`composed`] text, in order.
    pub fn each(&mut self, text: &str, tell: &mut impl FnMut(Term<'_>)) {
        self.before.clear();
        let mut shape = Shape::Nothing;
        // The last dense character, whether a pair began with it, and where it stands.
        let mut dense: Option<(char, usize)> = None;
        let mut characters = text.char_indices().peekable();
        while let Some((at, character)) = characters.next() {
            let end = at + character.len_utf8();
            let class = class(character);
            if !matches!(class, Class::Letter | Class::Digit | Class::Mark) {
                self.finish(tell);
                shape = Shape::Nothing;
            }
            if class != Class::Dense {
                dense = None;
            }
            match class {
                Class::Letter | Class::Digit => {
                    let now = match class {
                        Class::Digit => Shape::Digit,
                        _ if character.is_uppercase() => Shape::Upper,
                        _ => Shape::Lower,
                    };
                    let next = characters.peek().map(|(_, next)| *next);
                    let next_lower = next.is_some_and(char::is_lowercase);
                    // `HTTPServer` is http and server, `pdfFile` pdf and file, `v2` v and 2.
                    let splits = match (shape, now) {
                        (Shape::Nothing, _) => true,
                        (Shape::Lower, Shape::Upper) => true,
                        (Shape::Upper, Shape::Upper) => next_lower,
                        (Shape::Digit, now) => now != Shape::Digit,
                        (_, Shape::Digit) => true,
                        _ => false,
                    };
                    if splits {
                        let from = self.word.len();
                        let start = at;
                        self.parts.push(Part { from, start, end });
                    }
                    fold(character, &mut self.word);
                    if let Some(part) = self.parts.last_mut() {
                        part.end = end;
                    }
                    shape = now;
                }
                Class::Mark | Class::Other => {
                    // The end of a sentence ends what belongs together.
                    if matches!(character, '.' | ':' | ';' | '!' | '?' | '\n' | '|')
                        && characters.peek().is_none_or(|(_, next)| !next.is_alphanumeric())
                    {
                        self.before.clear();
                    }
                }
                Class::Dense => {
                    self.before.clear();
                    let mut buffer = String::new();
                    if let Some((last, start)) = dense {
                        fold(last, &mut buffer);
                        fold(character, &mut buffer);
                        tell(term(&buffer, Kind::Word, start, end));
                        buffer.clear();
                    }
                    fold(character, &mut buffer);
                    tell(term(&buffer, Kind::Character, at, end));
                    dense = Some((character, at));
                }
                Class::Picture => {
                    let mut buffer = [0; 4];
                    tell(term(character.encode_utf8(&mut buffer), Kind::Word, at, end));
                }
            }
        }
        self.finish(tell);
    }

    /// Tells the identifier that ends here.
    fn finish(&mut self, tell: &mut impl FnMut(Term<'_>)) {
        if self.parts.is_empty() {
            return;
        }
        let word = std::mem::take(&mut self.word);
        let parts = std::mem::take(&mut self.parts);
        let ends = parts.iter().skip(1).map(|part| part.from).chain([word.len()]);
        for (part, to) in parts.iter().zip(ends) {
            let text = word.get(part.from..to).unwrap_or_default();
            if text.is_empty() || text.len() > MAX_WORD {
                self.before.clear();
                continue;
            }
            let stem = self.stem(text);
            let stop = stop::is_stop_word(text);
            tell(Term {
                stop,
                ..term(&stem, Kind::Word, part.start, part.end)
            });
            if stop {
                continue;
            }
            if !self.before.is_empty() {
                self.pair.clear();
                self.pair.push_str(&self.before);
                self.pair.push('_');
                self.pair.push_str(&stem);
                tell(term(&self.pair, Kind::Pair, self.before_start, part.end));
            }
            self.before.clear();
            self.before.push_str(&stem);
            self.before_start = part.start;
        }
        if let [first, .., last] = parts.as_slice()
            && word.len() <= MAX_WORD
        {
            tell(term(&word, Kind::Word, first.start, last.end));
        }
        // The memory is kept for the next one.
        self.word = word;
        self.word.clear();
        self.parts = parts;
        self.parts.clear();
    }

    /// A folded word without its English ending.
    fn stem(&mut self, word: &str) -> Box<str> {
        if word.len() < 3 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
            return word.into();
        }
        if let Some(stem) = self.stems.get(word) {
            return stem.clone();
        }
        let stem: Box<str> = self.stemmer.stem(word).into();
        if self.stems.len() < MAX_REMEMBERED {
            self.stems.insert(word.into(), stem.clone());
        }
        stem
    }
}

fn term(text: &str, kind: Kind, start: usize, end: usize) -> Term<'_> {
    Term {
        text,
        kind,
        stop: false,
        start,
        end,
    }
}

/// Adds a character without case, accent or width.
fn fold(character: char, to: &mut String) {
    if character.is_ascii() {
        to.push(character.to_ascii_lowercase());
        return;
    }
    if class(character) == Class::Dense {
        // Full and half width, compatibility forms; marks of these scripts belong to the letter.
        to.extend(character.nfkc());
        return;
    }
    let plain = character.nfkd().filter(|c| class(*c) != Class::Mark);
    for part in plain {
        to.extend(part.to_lowercase());
    }
}
