//! Text as a person sees it: every character that a screen would hide or obey is shown by its number.

use gongfu_core::skill::check::hidden;

/// The text with line breaks and tabs as they are, and every other hidden character as `\u{…}`.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => shown.push(character),
            hidden if hidden.is_control() || hidden::is_hidden(hidden) => {
                shown.extend(hidden.escape_unicode());
            }
            visible => shown.push(visible),
        }
    }
    shown
}
