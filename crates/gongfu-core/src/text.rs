//! The words for people, one table a language, keyed by code and parameters.
//!
//! Messages are lower-case fragments without a full stop: what is wrong. Hints say what to do.

mod english;

pub use english::finding;

/// What is said about one problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// What is wrong.
    pub message: String,
    /// What to do about it.
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
