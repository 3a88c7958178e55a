//! Text in the columns of a terminal: a wide letter takes two, and what doesn't fit is cut with `…`.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// The columns that a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// A text in at most so many columns; `None` is no limit.
pub(crate) fn clip(text: &str, most: Option<usize>) -> String {
    let Some(most) = most.filter(|most| text.width() > *most) else {
        return text.to_owned();
    };
    let (mut clipped, mut columns) = (String::new(), 1);
    for letter in text.chars() {
        // It makes the letter before it an emoji, which is a column wider.
        let is_emoji = letter == '\u{fe0f}';
        columns += letter.width().unwrap_or(0) + usize::from(is_emoji);
        if columns > most {
            break;
        }
        clipped.push(letter);
    }
    let mut clipped = clipped.trim_end().to_owned();
    if most > 0 {
        clipped.push('…');
    }
    clipped
}

/// A text with blanks after it, up to so many columns.
pub(crate) fn pad(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(text.width())))
}

/// Lines of at most so many columns, broken between words; without a limit the text as it is.
pub(crate) fn wrap(text: &str, most: Option<usize>) -> Vec<String> {
    let Some(most) = most else {
        let text = Some(text.to_owned());
        return text.into_iter().filter(|text| !text.is_empty()).collect();
    };
    let (mut lines, mut held) = (Vec::<String>::new(), String::new());
    for word in text.split_whitespace() {
        held.push_str(word);
        // A command between backticks stays on one line, to be copied.
        if !held.matches('`').count().is_multiple_of(2) && held.width() < most {
            held.push(' ');
            continue;
        }
        match lines.last_mut() {
            Some(line) if line.width() + 1 + held.width() <= most => {
                line.push(' ');
                line.push_str(&held);
            }
            _ => lines.push(std::mem::take(&mut held)),
        }
        held.clear();
    }
    if !held.is_empty() {
        lines.push(held.trim_end().to_owned());
    }
    lines
}

/// A number with its noun, such as `1 skill` and `2 skills`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::{clip, count, pad, width, wrap};

    #[test]
    fn text_fits_its_columns() {
        assert_eq!(clip("abcdef", Some(6)), "abcdef");
        assert_eq!(clip("abcdef", Some(5)), "abcd…");
        assert_eq!(clip("ab cdef", Some(4)), "ab…");
        assert_eq!(clip("合并文件", Some(6)), "合并…");
        assert_eq!(clip("abc", Some(1)), "…");
        assert_eq!(clip("abc", Some(0)), "");
        assert_eq!(clip("abc", None), "abc");
        assert_eq!(pad("功", 4), "功  ");
        for most in 0..12 {
            for text in [
                "a 合并 pdf 文件 b",
                "⚠\u{fe0f}1\u{fe0f}\u{20e3}❤\u{fe0f}👩\u{200d}💻ab⚠\u{fe0f}⚠\u{fe0f}",
            ] {
                assert!(width(&clip(text, Some(most))) <= most, "{text} {most}");
            }
        }
    }

    #[test]
    fn text_is_broken_between_words() {
        assert_eq!(wrap("one two three", Some(7)), ["one two", "three"]);
        assert_eq!(wrap("one two", None), ["one two"]);
        assert_eq!(wrap("longer than", Some(2)), ["longer", "than"]);
        assert_eq!(wrap("see `a b` now", Some(6)), ["see", "`a b`", "now"]);
        assert_eq!(wrap("see `a b", Some(20)), ["see", "`a b"]);
        assert!(wrap(" ", Some(3)).is_empty());
        assert_eq!(wrap("two\n lines", None), ["two\n lines"]);
        assert_eq!(count(1, "skill") + &count(0, " error"), "1 skill0  errors");
    }
}
