//! The parts of Python's `str` that the rules for fields rest on. Nothing here knows about skills.
//!
//! They follow the Unicode version of the crates that are used; the reference follows that of the
//! Python it runs on. The two differ only for characters that are newer than the older of them.

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// Python's `str.isalnum` for one character: letters and every kind of number. Unlike Rust's
/// `is_alphanumeric` it has no vowel signs and no circled letters.
pub(crate) fn is_alphanumeric(character: char) -> bool {
    matches!(
        character.general_category_group(),
        GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number
    )
}

/// True for the code points that Python counts as white space: Rust's, and the four separators of
/// ASCII.
pub(crate) fn is_space(code: u32) -> bool {
    (0x1c..=0x1f).contains(&code) || char::from_u32(code).is_some_and(char::is_whitespace)
}

/// Python's `str.strip` without arguments.
pub(crate) fn strip(text: &[u32]) -> &[u32] {
    let is_text = |code: &u32| !is_space(*code);
    let Some(first) = text.iter().position(is_text) else {
        return &[];
    };
    let last = text.iter().rposition(is_text).unwrap_or(first);
    text.get(first..=last).unwrap_or_default()
}
