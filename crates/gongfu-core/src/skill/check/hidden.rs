//! Characters that a reader doesn't see but a model does: zero width, bidirectional controls, tags.

use crate::skill::diagnostic::Diagnostic;
use crate::skill::finding::Finding;
use crate::skill::source_text::SourceText;

/// The most tag characters of a flag: those of a subdivision, and the one that ends it.
const MAX_FLAG_TAGS: usize = 7;

/// Finds the first hidden character of a SKILL.md and counts them all.
pub fn check(source: &SourceText, diagnostics: &mut Vec<Diagnostic>) {
    if let Some(found) = find(&source.text) {
        let (offset, first) = (found.offset, found.first);
        let finding = Finding::HiddenCharacters {
            count: found.count,
            first,
        };
        diagnostics.push(source.found(finding, offset, offset + first.len_utf8()));
    }
}

/// The hidden characters of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HiddenCharacters {
    /// The number of them.
    pub count: usize,
    /// The offset of the first one, in bytes.
    pub offset: usize,
    /// The first one.
    pub first: char,
}

/// Looks for hidden characters; those that shape emoji, flags and joining scripts don't count.
pub fn find(text: &str) -> Option<HiddenCharacters> {
    let mut all = all(text);
    let (offset, first) = all.next()?;
    Some(HiddenCharacters {
        count: 1 + all.count(),
        offset,
        first,
    })
}

/// The hidden characters of a text with their offsets; those that shape emoji, flags and joining scripts don't
/// count.
pub fn all(text: &str) -> impl Iterator<Item = (usize, char)> {
    let text = if text.is_ascii() { "" } else { text };
    let mut before = ' ';
    // How many more tag characters the flag that was begun may have.
    let mut flag = 0;
    let mut characters = text.char_indices().peekable();
    std::iter::from_fn(move || {
        while let Some((offset, character)) = characters.next() {
            flag = match character {
                '\u{1F3F4}' => MAX_FLAG_TAGS,
                tag if is_tag(tag) && flag > 0 => flag - 1,
                _ => 0,
            };
            let in_flag =
                is_tag(character) && flag > 0 || character == '\u{e007f}' && is_tag(before);
            let after = characters.peek().map_or(' ', |&(_, after)| after);
            let is_plain = in_flag || shapes(before, character, after);
            before = character;
            if is_hidden(character) && !is_plain {
                return Some((offset, character));
            }
        }
        None
    })
}

/// Returns true if a reader doesn't see a character, or sees others turned round by it.
pub fn is_hidden(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff9}'..='\u{fffb}' | '\u{e0100}'..='\u{e01ef}')
        || is_tag(character)
}

fn is_tag(character: char) -> bool {
    matches!(character, '\u{e0000}'..='\u{e007f}')
}

/// One joiner or variation selector between two characters that are seen, the first of them no
/// letter of plain ASCII, shapes them; a run of such characters only hides something.
fn shapes(before: char, character: char, after: char) -> bool {
    match character {
        '\u{200c}' | '\u{200d}' => {
            let seen = |c: char| !c.is_ascii() && (!is_hidden(c) || c == '\u{fe0f}');
            seen(before) && seen(after)
        }
        // Text or emoji presentation, also of a digit (a keycap) and of signs like ©.
        '\u{fe0e}' | '\u{fe0f}' => {
            !is_hidden(before) && !before.is_ascii_alphabetic() && !before.is_whitespace()
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::skill::Finding;
    use crate::skill::source_text::SourceText;

    fn hidden(text: &str) -> Option<(usize, char)> {
        let mut diagnostics = Vec::new();
        let source = SourceText::decode(text.as_bytes(), "SKILL.md", &mut diagnostics)?;
        super::check(&source, &mut diagnostics);
        match diagnostics.first()?.finding {
            Finding::HiddenCharacters { count, first } => Some((count, first)),
            _ => None,
        }
    }

    #[test]
    fn hidden_characters_differ_from_joiners() {
        assert_eq!(hidden("plain\u{200b} text\u{202e}"), Some((2, '\u{200b}')));
        assert_eq!(
            hidden("ignore \u{e0049}\u{e0047} this"),
            Some((2, '\u{e0049}'))
        );
        assert_eq!(hidden("a\u{200d}b"), Some((1, '\u{200d}')));
        assert_eq!(hidden("family 👨\u{200d}👩, نمی\u{200c}خواهم"), None);
        assert_eq!(
            hidden(&format!("\u{1F3F4}{}", "\u{e0061}".repeat(30))).map(|found| found.0),
            Some(24)
        );
        assert_eq!(
            hidden("é\u{200c}\u{200d}\u{200c}é").map(|found| found.0),
            Some(3)
        );
        assert_eq!(hidden("x\u{fe01}\u{3164}"), Some((2, '\u{fe01}')));
        assert_eq!(hidden("❤\u{fe0f} 1\u{fe0f}\u{20e3} ©\u{fe0f}"), None);
        assert_eq!(
            hidden("\u{1F3F4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}"),
            None
        );
        assert_eq!(hidden("中文 é"), None);
    }
}
