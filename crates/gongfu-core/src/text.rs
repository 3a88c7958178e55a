//! The words for people, one table a language, keyed by code and parameters.
//!
//! Messages are lower-case fragments without a full stop: what is wrong. Hints say what to do.

mod english;
mod explanation;
mod visible;

pub use english::finding;
pub use explanation::{Explanation, explanation, explanations};
pub use visible::{marked, visible, visible_lines};

/// The text about one problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// The problem.
    pub message: String,
    /// The advice.
    pub hint: String,
}

impl Text {
    fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: hint.into(),
        }
    }
}

/// The first `most` characters of a text, with `…` when there are more, and `mark` in place of
/// control characters.
pub fn clipped(text: &str, most: usize, mark: char) -> String {
    let clean = |c: char| if c.is_control() { mark } else { c };
    let mut short: String = text.chars().take(most).map(clean).collect();
    if text.chars().nth(most).is_some() {
        short.push('…');
    }
    short
}

/// The first sentence of a text in one line, or as much of it as `most` characters hold.
///
/// A full stop ends a sentence only before a blank that no lower-case letter follows, so that
/// `e.g. this` does not.
pub fn first_sentence(text: &str, most: usize) -> String {
    let line: Vec<char> = text
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
        .take(most + 1)
        .collect();
    let ends = |at: usize| match line.get(at) {
        Some('。' | '！' | '？') => true,
        Some('.' | '!' | '?') => match (line.get(at + 1), line.get(at + 2)) {
            (None, _) => true,
            (Some(' '), next) => next.is_none_or(|next| !next.is_lowercase()),
            _ => false,
        },
        _ => false,
    };
    let end = (0..line.len())
        .find(|&at| ends(at))
        .map_or(line.len(), |at| at + 1);
    let mut sentence: String = line.iter().take(end.min(most)).collect();
    if end > most {
        sentence.push('…');
    }
    sentence
}

#[cfg(test)]
mod tests {
    use super::first_sentence;

    #[test]
    fn a_sentence_ends_where_people_think_it_does() {
        for (text, wanted) in [
            ("One. Two.", "One."),
            (
                "Use it, e.g. for\n  this. Then that.",
                "Use it, e.g. for this.",
            ),
            ("Version 1.2 of it", "Version 1.2 of it"),
            ("处理文件。再处理。", "处理文件。"),
            ("", ""),
        ] {
            assert_eq!(first_sentence(text, 40), wanted, "{text}");
        }
        assert_eq!(first_sentence("No end that is near", 6), "No end…");
        assert_eq!(first_sentence("Exact.", 6), "Exact.");
    }
}
