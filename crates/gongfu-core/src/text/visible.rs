//! Text in which a person sees all that a model reads.

use std::borrow::Cow;

use crate::skill::check::hidden;

/// The text with every control character and every hidden one as `\u{…}`: escapes, tags, zero width, bidirectional
/// controls, the line and paragraph separators of Unicode. Line feeds, tabs, and what shapes emoji and joining scripts stay as they are.
pub fn visible(text: &str) -> Cow<'_, str> {
    shown(text, &['\n', '\t'], char::escape_unicode)
}

/// The same with U+FFFD in place of each of them, for a terminal.
pub fn marked(text: &str) -> Cow<'_, str> {
    shown(text, &['\n', '\t'], |_| [char::REPLACEMENT_CHARACTER])
}

/// The same with line ends of every kind as they are, for readers without a terminal.
pub fn visible_lines(text: &str) -> Cow<'_, str> {
    shown(text, &['\n', '\t', '\r'], char::escape_unicode)
}

fn shown<'a, Mark: IntoIterator<Item = char>>(
    text: &'a str,
    plain: &[char],
    mark: impl Fn(char) -> Mark,
) -> Cow<'a, str> {
    // Most texts are plain, and looking at bytes is many times faster than at characters.
    let suspect = |any, byte: u8| any | !matches!(byte, b'\n' | b'\t' | b' '..=b'~');
    if !text.bytes().fold(false, suspect) {
        return Cow::Borrowed(text);
    }
    let is_control = |character: char| {
        let ends_line = matches!(character, '\u{2028}' | '\u{2029}');
        (character.is_control() || ends_line) && !plain.contains(&character)
    };
    let controls = text
        .char_indices()
        .filter(|(_, character)| is_control(*character));
    let mut found: Vec<(usize, char)> = controls.chain(hidden::all(text)).collect();
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    found.sort_unstable();
    let mut shown = String::with_capacity(text.len() + 8 * found.len());
    let mut end = 0;
    for (offset, character) in found {
        shown.push_str(text.get(end..offset).unwrap_or_default());
        shown.extend(mark(character));
        end = offset + character.len_utf8();
    }
    shown.push_str(text.get(end..).unwrap_or_default());
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::{marked, visible, visible_lines};

    #[test]
    fn what_a_screen_hides_or_obeys_is_shown() {
        let text =
            "a\u{1b}]0;x\u{7}b\r\n\tc\rd\u{200b}\u{202e}e\u{e0041}\u{9b}f\0\u{feff}\u{2028}g";
        let expected = "a\\u{1b}]0;x\\u{7}b\\u{d}\n\tc\\u{d}d\\u{200b}\\u{202e}e\\u{e0041}\\u{9b}f\\u{0}\\u{feff}\\u{2028}g";
        assert_eq!(visible(text), expected);
        assert_eq!(visible_lines(text), expected.replace("\\u{d}", "\r"));
        assert_eq!(
            marked("\u{fe0f}a\u{1b}\r\n\u{202e}"),
            "\u{fffd}a\u{fffd}\u{fffd}\n\u{fffd}"
        );
    }

    #[test]
    fn languages_and_emoji_stay_as_they_are() {
        for text in [
            "",
            "plain",
            "日本語 — “quoted” …",
            "👩\u{200d}💻 ❤\u{fe0f} 1\u{fe0f}\u{20e3}",
            "می\u{200c}خواهم",
        ] {
            assert_eq!(visible(text), text);
            assert_eq!(marked(text), text);
        }
    }
}
