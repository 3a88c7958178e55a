//! Cuts the frontmatter out of a file. It knows nothing of YAML.

use crate::reason::{CrashCause, Reason};

const FENCE: &str = "---";

/// The frontmatter of a file, with its line breaks made uniform.
#[derive(Debug)]
pub(crate) struct Frontmatter<'file> {
    /// The characters, every line break as `\n`.
    pub(crate) text: Vec<char>,
    source: &'file str,
    start: usize,
}

impl<'file> Frontmatter<'file> {
    /// Takes the text between the first two `---` of `file`, even within a line. Fails with
    /// a reason and a byte offset.
    pub(crate) fn of(file: &'file str) -> Result<Self, (Reason, usize)> {
        let Some(rest) = file.strip_prefix(FENCE) else {
            return Err((Reason::MissingFrontmatter, 0));
        };
        let Some((source, _)) = rest.split_once(FENCE) else {
            return Err((Reason::UnclosedFrontmatter, 0));
        };
        let mut text = Vec::with_capacity(source.len());
        let mut characters = source.chars().peekable();
        while let Some(character) = characters.next() {
            if character == '\r' {
                characters.next_if_eq(&'\n');
                text.push('\n');
            } else {
                text.push(character);
            }
        }
        let start = FENCE.len();
        let frontmatter = Self {
            text,
            source,
            start,
        };
        match frontmatter.forbidden() {
            None => Ok(frontmatter),
            Some((index, character)) => {
                let cause = CrashCause::ForbiddenCharacter { character };
                Err((Reason::Crash { cause }, frontmatter.offset(index)))
            }
        }
    }

    /// The byte offset in the file of the character with this index.
    pub(crate) fn offset(&self, index: usize) -> usize {
        let mut seen = 0;
        let mut after_return = false;
        for (offset, character) in self.source.char_indices() {
            let second_half = after_return && character == '\n';
            after_return = character == '\r';
            if second_half {
                continue;
            }
            if seen == index {
                return self.start + offset;
            }
            seen += 1;
        }
        self.start + self.source.len()
    }

    fn forbidden(&self) -> Option<(usize, char)> {
        let found = self
            .text
            .iter()
            .position(|&character| !is_allowed(character))?;
        self.text.get(found).map(|&character| (found, character))
    }
}

/// True for a character that YAML allows. `\r` is gone by now.
const fn is_allowed(character: char) -> bool {
    matches!(
        character,
        '\t' | '\n'
            | ' '..='~'
            | '\u{85}'
            | '\u{a0}'..='\u{d7ff}'
            | '\u{e000}'..='\u{fffd}'
            | '\u{10000}'..='\u{10ffff}'
    )
}
