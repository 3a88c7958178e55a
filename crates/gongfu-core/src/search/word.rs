//! The words of a text: what an index is made of and what a query asks for.
//!
//! - Identifiers are split (`camelCase`, `snake_case`, `kebab-case`, `dotted.name`), and a number
//!   comes off (`python3`); what is written in one piece is kept whole as well.
//! - A word is told as it stands and without its English ending (Snowball); accents, width and
//!   letter case don't count.
//! - Chinese, Japanese, Korean and other scripts without spaces become pairs of neighbouring
//!   characters, which need no dictionary; single characters are told as well, for queries that are
//!   no longer.
//! - Words of substance near each other form pairs, because "pull request" says more than its words.
//!   Their order doesn't count: who looks for "reviewing code" wants "code review".

use std::borrow::Cow;
use std::sync::Arc;

use frostem::{Algorithm, Stemmer};
use rustc_hash::FxHashMap;
use unicode_normalization::{IsNormalized, UnicodeNormalization as _, is_nfc_quick};

use super::script::{Class, class};
use super::stop;

mod start;

pub use start::Starts;

/// The longest word that is kept, in bytes; what is longer was not written by a person.
pub const MAX_WORD: usize = 64;
/// The limit of stems that are remembered.
const MAX_REMEMBERED: usize = 20_000;

/// The kind of a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A word without its ending.
    Stem,
    /// A word as it stands, in small letters.
    Surface,
    /// Two neighbours of a script without spaces; or a picture.
    Dense,
    /// A single character of a script without spaces.
    Character,
    /// Two words of substance that follow each other.
    Pair,
    /// Two words of substance with a third one between them.
    WidePair,
}

/// A term of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Term<'a> {
    /// The term itself, folded and stemmed.
    pub text: &'a str,
    /// Its kind.
    pub kind: Kind,
    /// True if it says nothing about the subject of a text.
    pub stop: bool,
    /// Offset of its first byte in the text.
    pub start: usize,
    /// Offset behind its last byte.
    pub end: usize,
}

/// The number of bytes that are checked for ASCII in one step.
const PIECE: usize = 64;

/// A text as [`Words`] reads it: composed (NFC) and with kana of full width, so that offsets mean
/// the same everywhere.
pub fn composed(text: &str) -> Cow<'_, str> {
    let half_width = |character: char| matches!(character, '\u{ff61}'..='\u{ff9f}');
    let is_composed =
        |text: &str| beyond_ascii(text).all(|part| is_nfc_quick(part.chars()) == IsNormalized::Yes);
    let is_wide = beyond_ascii(text).any(|part| part.contains(half_width));
    if !is_wide && is_composed(text) {
        return Cow::Borrowed(text);
    }
    // Nothing is composed with the end of a line.
    let mut all = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        if line.is_ascii() || !is_wide && is_composed(line) {
            all.push_str(line);
        } else if is_wide {
            all.extend(line.nfkc());
        } else {
            all.extend(line.nfc());
        }
    }
    Cow::Owned(all)
}

/// The stretches of a text that have nothing of ASCII. What lies between is composed with nothing but
/// a mark, and of a stretch that starts with one nobody can say at once that it is composed.
fn beyond_ascii(text: &str) -> impl Iterator<Item = &str> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        // Hardly any text has much of it, and many bytes are looked at in one step.
        while let Some(piece) = bytes.get(at..at + PIECE).filter(|piece| piece.is_ascii()) {
            at += piece.len();
        }
        let from = at + bytes.get(at..)?.iter().position(|byte| !byte.is_ascii())?;
        let rest = bytes.get(from..)?;
        let length = rest.iter().position(u8::is_ascii).unwrap_or(rest.len());
        at = from + length;
        text.get(from..at)
    })
}

/// Finds the terms of texts; remembers the stems of words, so keep one for many texts.
pub struct Words {
    stemmer: Stemmer,
    stems: FxHashMap<Box<str>, Stem>,
    /// The identifier that is being read, folded.
    word: String,
    /// Its parts: where they begin in `word`, and where they stand in the text.
    parts: Vec<Part>,
    /// The last two words of substance on this line, the later one first, with their starts.
    before: [Option<(Arc<str>, usize)>; 2],
    /// The only words that are told, and those by their stems alone.
    only: Option<Starts>,
    pair: String,
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
            stems: FxHashMap::default(),
            word: String::new(),
            parts: Vec::new(),
            before: [None, None],
            only: None,
            pair: String::new(),
        }
    }
}

/// The class of the last letter, for telling where a part of an identifier ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Nothing,
    Lower,
    Upper,
    Digit,
}

impl Words {
    /// Tells, of a [`composed`] text, the stems of words that start like one of these, and dense
    /// characters; in order.
    pub fn stems(&mut self, text: &str, only: Starts, tell: &mut impl FnMut(Term<'_>)) {
        self.only = Some(only);
        self.each(text, tell);
        self.only = None;
    }

    /// Tells every term of a [`composed`] text, in order.
    pub fn each(&mut self, text: &str, tell: &mut impl FnMut(Term<'_>)) {
        self.before = [None, None];
        let mut shape = Shape::Nothing;
        let mut dense: Option<(char, usize)> = None;
        let mut next = 0;
        loop {
            if let Some(only) = self.only.as_ref().filter(|_| self.parts.is_empty()) {
                let passed = only.pass(text.as_bytes().get(next..).unwrap_or(&[]));
                if passed > 0 {
                    next += passed;
                    (shape, dense) = (Shape::Nothing, None);
                }
                if let Some(end) = Starts::plain(text.as_bytes(), next) {
                    self.plain(text, next, end, tell);
                    next = end;
                    (shape, dense) = (Shape::Nothing, None);
                    continue;
                }
            }
            let Some(character) = text.get(next..).and_then(|rest| rest.chars().next()) else {
                break;
            };
            let at = next;
            let end = at + character.len_utf8();
            let rest = text.get(end..).unwrap_or_default();
            next = end;
            match class(character) {
                class @ (Class::Letter | Class::Digit) => {
                    dense = None;
                    let now = shape_of(class, character);
                    if self.parts.is_empty() || splits(shape, now, rest) {
                        let from = self.word.len();
                        self.parts.push(Part {
                            from,
                            start: at,
                            end,
                        });
                    }
                    fold(character, &mut self.word);
                    if let Some(part) = self.parts.last_mut() {
                        part.end = end;
                    }
                    shape = now;
                    continue;
                }
                Class::Mark => continue,
                Class::Other => {
                    let open = !self.parts.is_empty();
                    if let Some(sign) = sign(character, rest).filter(|_| self.word.len() == 1) {
                        // `C#` and `C++` are words of their own.
                        self.word.push_str(sign);
                        next = at + sign.len();
                        if let Some(part) = self.parts.last_mut() {
                            part.end = next;
                        }
                    } else if open && matches!(character, '\'' | '\u{2019}') {
                        next = end + ending(rest);
                    }
                    self.finish(tell);
                    if character == '\n' {
                        self.before = [None, None];
                    }
                    dense = None;
                }
                Class::Dense => {
                    self.finish(tell);
                    dense_terms(dense, character, at, tell);
                    dense = Some((character, at));
                }
                Class::Picture => {
                    self.finish(tell);
                    let mut buffer = [0; 4];
                    let picture = character.encode_utf8(&mut buffer);
                    tell(term(picture, Kind::Dense, at, end));
                    dense = None;
                }
            }
            shape = Shape::Nothing;
        }
        self.finish(tell);
    }

    /// Tells a word that is an identifier by itself, as [`Words::finish`] would.
    fn plain(&mut self, text: &str, start: usize, end: usize, tell: &mut impl FnMut(Term<'_>)) {
        let word = text.get(start..end).unwrap_or_default();
        if word.len() > MAX_WORD {
            return;
        }
        let mut folded = std::mem::take(&mut self.word);
        folded.push_str(word);
        folded.make_ascii_lowercase();
        let Stem { stem, stop } = self.stem(&folded);
        folded.clear();
        self.word = folded;
        tell(Term {
            stop,
            ..term(&stem, Kind::Stem, start, end)
        });
    }

    /// Tells the identifier that ends here.
    fn finish(&mut self, tell: &mut impl FnMut(Term<'_>)) {
        if self.parts.is_empty() {
            return;
        }
        let mut word = std::mem::take(&mut self.word);
        let mut parts = std::mem::take(&mut self.parts);
        let ends = parts.iter().skip(1).map(|part| part.from);
        for (part, to) in parts.iter().zip(ends.chain([word.len()])) {
            let surface = word.get(part.from..to).unwrap_or_default();
            if surface.is_empty() || surface.len() > MAX_WORD {
                continue;
            }
            if self
                .only
                .as_ref()
                .is_some_and(|only| !only.have_word(surface))
            {
                continue;
            }
            let Stem { stem, stop } = self.stem(surface);
            let told = [(&*stem, Kind::Stem), (surface, Kind::Surface)];
            for (text, kind) in told
                .into_iter()
                .take(if self.only.is_some() { 1 } else { 2 })
            {
                tell(Term {
                    stop,
                    ..term(text, kind, part.start, part.end)
                });
            }
            if let Some(letters) = letters(surface) {
                let stem = self.stem(letters).stem;
                tell(term(&stem, Kind::Stem, part.start, part.end));
                tell(term(letters, Kind::Surface, part.start, part.end));
            }
            if !stop && self.only.is_none() {
                self.pairs(stem, *part, tell);
            }
        }
        if let [first, .., last] = parts.as_slice()
            && word.len() <= MAX_WORD
        {
            let stem = self.stem(&word).stem;
            tell(term(&stem, Kind::Stem, first.start, last.end));
            tell(term(&word, Kind::Surface, first.start, last.end));
        }
        // The memory is kept for the next one.
        word.clear();
        parts.clear();
        self.word = word;
        self.parts = parts;
    }

    /// Tells the pairs that a word of substance forms with those before it.
    fn pairs(&mut self, stem: Arc<str>, part: Part, tell: &mut impl FnMut(Term<'_>)) {
        let before = self.before.iter().flatten();
        for ((other, start), kind) in before.zip([Kind::Pair, Kind::WidePair]) {
            if *other == stem {
                continue;
            }
            let (first, second) = if *other < stem {
                (&**other, &*stem)
            } else {
                (&*stem, &**other)
            };
            self.pair.clear();
            self.pair.push_str(first);
            self.pair.push('_');
            self.pair.push_str(second);
            tell(term(&self.pair, kind, *start, part.end));
        }
        self.before.swap(0, 1);
        if let Some(last) = self.before.first_mut() {
            *last = Some((stem, part.start));
        }
    }

    /// A folded word without its English ending.
    fn stem(&mut self, word: &str) -> Stem {
        if let Some(stem) = self.stems.get(word) {
            return stem.clone();
        }
        let english = word.len() > 2 && word.bytes().all(|byte| byte.is_ascii_lowercase());
        let stem: Arc<str> = if english {
            self.stemmer.stem(word).into()
        } else {
            word.into()
        };
        let stop = stop::is_stop_word(word);
        let stem = Stem { stem, stop };
        if self.stems.len() < MAX_REMEMBERED {
            self.stems.insert(word.into(), stem.clone());
        }
        stem
    }
}

/// A word without its ending, and whether it says nothing.
#[derive(Debug, Clone)]
struct Stem {
    stem: Arc<str>,
    stop: bool,
}

/// The word that a number is attached to: `python3` is a python. Shorter ones mean nothing alone.
fn letters(word: &str) -> Option<&str> {
    let end = word.find(|character: char| class(character) == Class::Digit)?;
    word.get(..end)
        .filter(|letters| letters.chars().count() > 2)
}

fn shape_of(class: Class, character: char) -> Shape {
    match class {
        Class::Digit => Shape::Digit,
        _ if character.is_uppercase() => Shape::Upper,
        _ => Shape::Lower,
    }
}

/// Returns true if a new part of an identifier begins: `fileName` is file and name, `HTTPServer` http and
/// server, but `PDFs` is one word. Digits belong to the letters before them, as in `k8s`.
fn splits(before: Shape, now: Shape, rest: &str) -> bool {
    match (before, now) {
        (Shape::Lower, Shape::Upper) => true,
        (Shape::Upper, Shape::Upper) => {
            let mut next = rest.chars();
            let mut lower = || next.next().is_some_and(char::is_lowercase);
            lower() && lower()
        }
        _ => false,
    }
}

/// The sign behind a letter that makes a name of a language of it.
fn sign(character: char, rest: &str) -> Option<&'static str> {
    let (sign, behind) = match character {
        '#' => ("#", rest),
        '+' => ("++", rest.strip_prefix('+')?),
        _ => return None,
    };
    let ends = behind
        .chars()
        .next()
        .is_none_or(|next| !next.is_alphanumeric());
    ends.then_some(sign)
}

/// Returns the length of the English ending behind an apostrophe, in bytes; it is no word.
fn ending(rest: &str) -> usize {
    let letters = rest
        .find(|character: char| !character.is_alphanumeric())
        .unwrap_or(rest.len());
    match rest.get(..letters) {
        Some("s" | "t" | "re" | "ve" | "ll" | "d" | "m") => letters,
        _ => 0,
    }
}

/// Tells a character of a dense script, and the pair that it forms with the one before it.
fn dense_terms(
    before: Option<(char, usize)>,
    character: char,
    at: usize,
    tell: &mut impl FnMut(Term<'_>),
) {
    let end = at + character.len_utf8();
    let mut folded = String::with_capacity(8);
    if let Some((last, start)) = before {
        fold(last, &mut folded);
        fold(character, &mut folded);
        tell(term(&folded, Kind::Dense, start, end));
        folded.clear();
    }
    fold(character, &mut folded);
    tell(term(&folded, Kind::Character, at, end));
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
        // Compatibility forms; marks of these scripts belong to the letter.
        to.extend(character.nfkc());
        return;
    }
    let plain = character.nfkd().filter(|c| class(*c) != Class::Mark);
    for part in plain {
        to.extend(part.to_lowercase());
    }
}

/// A name by its letters and digits alone: `scikit-learn` and `Scikit Learn` are one.
pub fn squashed(name: &str) -> String {
    let mut squashed = String::with_capacity(name.len());
    for character in composed(name).chars() {
        if !matches!(class(character), Class::Other | Class::Mark) {
            fold(character, &mut squashed);
        }
    }
    squashed
}

#[cfg(test)]
mod tests;
