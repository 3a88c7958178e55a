//! The part of a source that says which version is meant: `#REF` and `#REF@SKILL`.

/// The part of a source after its `#`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Fragment {
    /// The branch, tag or commit.
    pub(super) reference: Option<String>,
    /// The skill.
    pub(super) skill: Option<String>,
}

/// Splits a source at its `#`.
pub(super) fn split(text: &str) -> (&str, Option<Fragment>) {
    let Some((address, fragment)) = text.split_once('#') else {
        return (text, None);
    };
    let (reference, skill) = match fragment.split_once('@') {
        Some((reference, skill)) => (reference, Some(skill)),
        None => (fragment, None),
    };
    let named = |word: &str| (!word.is_empty()).then(|| word.to_owned());
    let fragment = Fragment {
        reference: named(reference),
        skill: skill.and_then(named),
    };
    (address, Some(fragment))
}

/// Returns true if git takes a text for the name of a branch, a tag or a commit, and for nothing else: no option, no
/// revision with operators. By the rules of `git check-ref-format`.
pub fn is_ref(name: &str) -> bool {
    let is_plain = |part: &str| {
        !part.is_empty()
            && !part.starts_with(['.', '-'])
            && !part.to_ascii_lowercase().ends_with(".lock")
            && !part.ends_with('.')
    };
    name.len() <= 255
        && name != "@"
        && !name.contains("..")
        && !name.contains("@{")
        && name.split('/').all(is_plain)
        && !name.chars().any(|character| {
            character.is_control()
                || character.is_whitespace()
                || matches!(character, '~' | '^' | ':' | '?' | '*' | '[' | '\\')
        })
}
