//! Braces, which make several words of one.

use crate::shell::{Part, Word};

/// How many words one word with braces may become.
const BRACES: usize = 64;
/// The longest word with braces that is expanded, in characters.
const LONGEST: usize = 4096;

/// A character outside of quotes, or a part that braces leave alone.
#[derive(Clone)]
pub(super) enum Token<'a> {
    Character(char),
    Part(&'a Part),
}

/// What a word is made of.
pub(super) fn tokens(word: &Word) -> Vec<Token<'_>> {
    word.iter().flat_map(of_part).collect()
}

fn of_part(part: &Part) -> Vec<Token<'_>> {
    match part {
        Part::Text(text) => text.chars().map(Token::Character).collect(),
        part => vec![Token::Part(part)],
    }
}

/// The words that braces make of one; `None` where that are too many, or isn't known.
pub(super) fn words<'a>(tokens: &[Token<'a>]) -> Option<Vec<Vec<Token<'a>>>> {
    let has_brace = |token: &Token<'_>| matches!(token, Token::Character('{'));
    if tokens.len() > LONGEST && tokens.iter().any(has_brace) {
        return None;
    }
    let mut waiting = vec![tokens.to_vec()];
    let mut done = Vec::new();
    let mut from_range: Vec<Vec<Token<'a>>> = Vec::new();
    while let Some(word) = waiting.pop() {
        if waiting.len() + done.len() > BRACES {
            return None;
        }
        match first_brace(&word) {
            None => done.push(word),
            Some((open, commas, close)) => {
                if commas.is_empty() {
                    let inner = word.get(open + 1..close).unwrap_or_default();
                    for text in range(inner)? {
                        let mut made = word.get(..open).unwrap_or_default().to_vec();
                        made.extend(text.chars().map(Token::Character));
                        made.extend(word.get(close + 1..).unwrap_or_default().iter().cloned());
                        from_range.push(made);
                    }
                    waiting.extend(from_range.drain(..).rev());
                    continue;
                }
                let mut from = open + 1;
                let mut made = Vec::new();
                for end in commas.into_iter().chain([close]) {
                    let parts = [word.get(..open), word.get(from..end), word.get(close + 1..)];
                    let parts = parts.into_iter().flatten();
                    made.push(parts.flatten().cloned().collect());
                    from = end + 1;
                }
                waiting.extend(made.into_iter().rev());
            }
        }
    }
    Some(done)
}

/// The first braces that make several words of one: where they begin, the commas in them, where they end.
/// No commas stand for a range.
fn first_brace(tokens: &[Token<'_>]) -> Option<(usize, Vec<usize>, usize)> {
    let is = |index: usize, wanted: char| matches!(tokens.get(index), Some(Token::Character(character)) if *character == wanted);
    // Each is looked at once: where they end is remembered while they are open.
    let mut open: Vec<(usize, Vec<usize>, bool)> = Vec::new();
    let mut found: Option<(usize, Vec<usize>, usize)> = None;
    for index in 0..tokens.len() {
        if is(index, '{') {
            open.push((index, Vec::new(), false));
        } else if is(index, ',') {
            if let Some((_, commas, _)) = open.last_mut() {
                commas.push(index);
            }
        } else if is(index, '.') && is(index + 1, '.') {
            if let Some((_, _, is_range)) = open.last_mut() {
                *is_range = true;
            }
        } else if is(index, '}')
            && let Some((from, commas, is_range)) = open.pop()
            && (!commas.is_empty() || is_range)
            && found.as_ref().is_none_or(|(first, ..)| from < *first)
        {
            found = Some((from, commas, index));
        }
    }
    found
}

/// The texts from one to another; `None` where they aren't plain.
fn range(tokens: &[Token<'_>]) -> Option<Vec<String>> {
    let mut text = String::new();
    for token in tokens {
        match token {
            Token::Character(character) => text.push(*character),
            Token::Part(_) => return None,
        }
    }
    let (from, to) = text.split_once("..")?;
    let fits = |number: u32| usize::try_from(number).is_ok_and(|number| number < BRACES);
    let mut letters = (from.chars(), to.chars());
    let ends = (letters.0.next()?, letters.1.next()?);
    let are_letters = ends.0.is_ascii_alphabetic() && ends.1.is_ascii_alphabetic();
    if are_letters && letters.0.as_str().is_empty() && letters.1.as_str().is_empty() {
        let (least, most) = (ends.0.min(ends.1), ends.0.max(ends.1));
        return Some((least..=most).map(String::from).collect());
    }
    let is_plain = |text: &str| text == "0" || !text.starts_with(['0', '+']);
    let numbers = (from.parse::<u32>().ok()?, to.parse::<u32>().ok()?);
    let (least, most) = (numbers.0.min(numbers.1), numbers.0.max(numbers.1));
    let is_short = is_plain(from) && is_plain(to) && fits(most - least);
    is_short.then(|| (least..=most).map(|number| number.to_string()).collect())
}
