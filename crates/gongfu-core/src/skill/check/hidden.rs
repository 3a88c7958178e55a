//! Characters that a reader doesn't see but a model does: zero width, bidirectional controls, tags.

use crate::skill::diagnostic::Diagnostic;
use crate::skill::finding::Finding;
use crate::skill::source_text::SourceText;

/// Finds the first hidden character and counts them all.
pub fn check(source: &SourceText, diagnostics: &mut Vec<Diagnostic>) {
    if source.text.is_ascii() {
        return;
    }
    let mut count = 0;
    let mut first = None;
    let mut before = ' ';
    let mut in_flag = false;
    for (offset, character) in source.text.char_indices() {
        // A black flag and tag letters spell a flag of a region, up to a cancel tag.
        in_flag = character == '\u{1F3F4}' || (in_flag && is_tag(character));
        if is_hidden(character) && !in_flag && !joins(before, character) {
            count += 1;
            first = first.or(Some((offset, character)));
        }
        before = character;
    }
    if let Some((offset, first)) = first {
        diagnostics.push(source.found(
            Finding::HiddenCharacters { count, first },
            offset,
            offset + first.len_utf8(),
        ));
    }
}

/// Whether a reader doesn't see a character, or sees others turned round by it.
pub fn is_hidden(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}'
        | '\u{2066}'..='\u{206f}' | '\u{feff}' | '\u{180e}' | '\u{fff9}'..='\u{fffb}' | '\u{e0100}'..='\u{e01ef}')
        || is_tag(character)
}

fn is_tag(character: char) -> bool {
    matches!(character, '\u{e0000}'..='\u{e007f}')
}

/// Joiners shape emoji and many scripts; behind an ASCII character they only hide.
fn joins(before: char, character: char) -> bool {
    matches!(character, '\u{200c}' | '\u{200d}') && !before.is_ascii()
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
    fn what_hides_and_what_joins() {
        assert_eq!(hidden("plain\u{200b} text\u{202e}"), Some((2, '\u{200b}')));
        assert_eq!(
            hidden("ignore \u{e0049}\u{e0047} this"),
            Some((2, '\u{e0049}'))
        );
        assert_eq!(hidden("a\u{200d}b"), Some((1, '\u{200d}')));
        assert_eq!(hidden("family 👨\u{200d}👩, نمی\u{200c}خواهم"), None);
        assert_eq!(
            hidden("\u{1F3F4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}"),
            None
        );
        assert_eq!(hidden("中文 é"), None);
    }
}
