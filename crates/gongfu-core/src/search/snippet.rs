//! The passage of a text that matches a query best.

use rustc_hash::FxHashMap;

use super::word::{Kind, Starts, Words};

/// The length of a snippet, in characters.
pub const LENGTH: usize = 240;

/// The stretch of a [`composed`](super::word::composed) text that holds the most weight of the
/// terms, in one line; `None` when it holds none of them.
///
/// A term counts once in a stretch, so that a place with all the words wins over one that repeats
/// a single one.
pub fn best(text: &str, terms: &[(&str, f32)], words: &mut Words) -> Option<String> {
    let mut found: Vec<Match> = Vec::new();
    let numbered = terms.iter().enumerate();
    let known: FxHashMap<&str, (usize, f32)> = numbered
        .map(|(number, (term, weight))| (*term, (number, *weight)))
        .collect();
    let starts = Starts::of(terms.iter().map(|(term, _)| *term));
    words.stems(text, starts, &mut |term| {
        if term.kind != Kind::Surface
            && let Some((number, weight)) = known.get(term.text)
        {
            found.push(Match {
                number: *number,
                weight: *weight,
                start: term.start,
                end: term.end,
            });
        }
    });
    let window = densest(&found, terms.len())?;
    Some(cut(text, window.0, window.1))
}

#[derive(Debug, Clone, Copy)]
struct Match {
    number: usize,
    weight: f32,
    start: usize,
    end: usize,
}

/// The matches of most weight that fit into a snippet: from the first one's start to the last
/// one's end.
fn densest(found: &[Match], terms: usize) -> Option<(usize, usize)> {
    let mut counts = vec![0_u32; terms];
    let mut weight = 0.0_f32;
    let mut best: Option<(f32, usize, usize)> = None;
    let mut from = 0;
    for last in found {
        if let Some(count) = counts.get_mut(last.number) {
            *count += 1;
            if *count == 1 {
                weight += last.weight;
            }
        }
        // Bytes stand for characters here: a window of wide characters is a little shorter.
        while let Some(first) = found.get(from)
            && last.end.saturating_sub(first.start) > LENGTH
            && first.start < last.start
        {
            if let Some(count) = counts.get_mut(first.number) {
                *count -= 1;
                if *count == 0 {
                    weight -= first.weight;
                }
            }
            from += 1;
        }
        let first = found.get(from).map_or(last.start, |first| first.start);
        if best.is_none_or(|(most, _, _)| weight > most + f32::EPSILON) {
            best = Some((weight, first, last.end));
        }
    }
    best.map(|(_, start, end)| (start, end))
}

/// The surroundings of a stretch, as one line of at most [`LENGTH`] characters, from a word's start
/// to a word's end.
fn cut(text: &str, start: usize, end: usize) -> String {
    let before = text.get(..start).unwrap_or_default();
    let inside = text.get(start..end).unwrap_or_default().chars().count();
    let room = LENGTH.saturating_sub(inside);
    // A third of what is left goes before the match, but never beyond its paragraph.
    let paragraph = before.rfind("\n\n").map_or(0, |at| at + 2);
    let lead = before
        .char_indices()
        .rev()
        .nth((room / 3).saturating_sub(1))
        .map_or(0, |(at, _)| at);
    let from = if lead <= paragraph {
        paragraph
    } else {
        word_start(text, lead, start)
    };
    let rest = text.get(from..).unwrap_or_default();
    let length = rest
        .char_indices()
        .nth(LENGTH)
        .map_or(rest.len(), |(at, _)| at);
    let to = if length == rest.len() {
        text.len()
    } else {
        word_end(text, end.max(from), from + length)
    };
    let mut line = one_line(text.get(from..to).unwrap_or_default());
    if from > 0 && from != paragraph {
        line.insert_str(0, "… ");
    }
    if to < text.trim_end().len() {
        line.push_str(" …");
    }
    line
}

/// The first start of a word at or behind `at`, before `limit`.
fn word_start(text: &str, at: usize, limit: usize) -> usize {
    let part = text.get(at..limit).unwrap_or_default();
    part.find(char::is_whitespace).map_or(at, |space| {
        let rest = part.get(space..).unwrap_or_default();
        at + space + (rest.len() - rest.trim_start().len())
    })
}

/// The last end of a word before `at`, but not before `limit`.
fn word_end(text: &str, limit: usize, at: usize) -> usize {
    let part = text.get(limit..at).unwrap_or_default();
    part.rfind(char::is_whitespace)
        .map_or(at, |space| limit + space)
}

/// A text in one line, without control characters.
fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ")
}
