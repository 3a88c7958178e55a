//! Words as programs get them, as far as that is known before they run.

use crate::shell::{Part, Word};

/// Stands for text of which nothing is known. No shell text contains it.
const UNKNOWN: char = '\0';
/// Its stand-in in text that is read again.
const EXPANSION: &str = "${_}";

/// An argument, in which parts may be unknown.
#[derive(Debug, Clone)]
pub(super) struct Field(String);

impl Field {
    pub(super) fn known(text: &str) -> Self {
        Self(text.to_owned())
    }

    pub(super) fn unknown() -> Self {
        Self(UNKNOWN.to_string())
    }

    /// The argument that a word becomes. Expansions, patterns, braces and `~` are unknown.
    pub(super) fn of(word: &Word) -> Self {
        let mut field = String::new();
        for part in word {
            match part {
                Part::Quoted(text) => field.push_str(text),
                Part::Dynamic(_) => field.push(UNKNOWN),
                Part::Text(text) => {
                    let is_start = field.is_empty();
                    for (index, c) in text.char_indices() {
                        let is_unknown = match c {
                            '*' | '?' => true,
                            // `[` is a program and `{}` a placeholder.
                            '[' => text != "[",
                            '{' => text.get(index..index + 2) != Some("{}"),
                            '~' => is_start && index == 0,
                            _ => false,
                        };
                        field.push(if is_unknown { UNKNOWN } else { c });
                    }
                }
            }
        }
        Self(field)
    }

    /// All of it, if it is known.
    pub(super) fn text(&self) -> Option<&str> {
        (!self.0.contains(UNKNOWN)).then_some(&self.0)
    }

    /// The text before anything unknown.
    pub(super) fn head(&self) -> &str {
        self.0.split(UNKNOWN).next().unwrap_or_default()
    }

    /// The path, or the folder in it up to which it is known.
    pub(super) fn path(&self) -> Option<&str> {
        let known = match self.text() {
            Some(text) => text.len(),
            None => self.head().rfind('/')? + 1,
        };
        self.0.get(..known).filter(|path| !path.is_empty())
    }

    /// The last name of the path, if that is known.
    pub(super) fn file_name(&self) -> Option<&str> {
        let name = self.0.rsplit('/').next().unwrap_or_default();
        (!name.contains(UNKNOWN)).then_some(name)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Text that a shell can read.
    pub(super) fn line(&self) -> String {
        self.0.replace(UNKNOWN, EXPANSION)
    }

    /// Text for people.
    pub(super) fn shown(&self) -> String {
        self.0.replace(UNKNOWN, "…")
    }
}
