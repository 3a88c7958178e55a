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
    while let Some(word) = waiting.pop() {
        if waiting.len() + done.len() > BRACES {
            return None;
        }
        match first_brace(&word) {
            None => done.push(word),
            Some((open, commas, close)) => {
                if commas.is_empty() {
                    // From one to another.
                    return None;
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
