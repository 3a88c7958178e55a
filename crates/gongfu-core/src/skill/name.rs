//! Names of skills: what can be addressed, and what the format allows.

use std::fmt;

use unicode_normalization::UnicodeNormalization as _;
use unicode_security::{MixedScript as _, RestrictionLevel, RestrictionLevelDetection as _};

/// The longest name of the format, in characters.
pub const MAX_NAME: usize = 64;
/// The longest name that can be addressed, in characters; the format's own limit is [`MAX_NAME`].
const MAX_ADDRESSABLE: usize = 256;

/// A name that a skill can be addressed by: never empty, never a path.
///
/// Wider than the format (real skills are called `My Skill`), narrower than any text: no `/`, no
/// `\`, no control characters, not `.` or `..`, at most 256 characters, no blanks around it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SkillName(String);

/// Why a text can't name a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Nothing but blanks.
    #[error("the name is empty")]
    Empty,
    /// Longer than 256 characters.
    #[error("the name is longer than {MAX_ADDRESSABLE} characters")]
    TooLong,
    /// `/`, `\`, `.`, `..` or a control character.
    #[error("the name contains a path separator or a control character")]
    NotAName,
}

impl SkillName {
    /// Checks and wraps a name; blanks around it are dropped.
    pub fn new(name: &str) -> Result<Self, NameError> {
        let name = name.trim();
        if name.is_empty() {
            return Err(NameError::Empty);
        }
        if name.chars().nth(MAX_ADDRESSABLE).is_some() {
            return Err(NameError::TooLong);
        }
        let separator = |c: char| c == '/' || c == '\\' || c.is_control();
        if name == "." || name == ".." || name.contains(separator) {
            return Err(NameError::NotAName);
        }
        Ok(Self(name.to_owned()))
    }

    /// The name that stands in when only a folder is known: characters that no name may hold
    /// become `-`.
    pub fn from_folder(folder: &str) -> Self {
        Self::new(folder).unwrap_or_else(|_| {
            let fixed: String = folder
                .chars()
                .take(MAX_ADDRESSABLE)
                .map(|c| {
                    if c == '/' || c == '\\' || c.is_control() {
                        '-'
                    } else {
                        c
                    }
                })
                .collect();
            Self::new(&fixed).unwrap_or_else(|_| Self("skill".to_owned()))
        })
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns true if it stands in a URI as it is (RFC 3986, unreserved characters alone): hosts of the
    /// Skills extension compare the two without decoding.
    pub fn is_plain_in_uri(&self) -> bool {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        self.0.bytes().all(plain)
    }
}

impl fmt::Display for SkillName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A rule of the format that a name breaks (agentskills.io, `name`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameFault {
    /// More than 64 characters.
    TooLong(usize),
    /// An upper-case letter.
    Uppercase,
    /// A hyphen at either end.
    EdgeHyphen,
    /// Two hyphens in a row.
    DoubleHyphen,
    /// Something that is neither letter, digit nor hyphen.
    Character(char),
}

/// Lists the rules of the format that `name` breaks, in the order of the reference.
///
/// Letters of every script are allowed (as the reference does after NFKC normalisation), not only
/// `a-z` as the text of the format says.
pub fn faults(name: &str) -> Vec<NameFault> {
    let name: String = name.trim().nfkc().collect();
    let mut faults = Vec::new();
    let length = name.chars().count();
    if length > MAX_NAME {
        faults.push(NameFault::TooLong(length));
    }
    if name.to_lowercase() != name {
        faults.push(NameFault::Uppercase);
    }
    if name.starts_with('-') || name.ends_with('-') {
        faults.push(NameFault::EdgeHyphen);
    }
    if name.contains("--") {
        faults.push(NameFault::DoubleHyphen);
    }
    if let Some(odd) = name.chars().find(|&c| c != '-' && !c.is_alphanumeric()) {
        faults.push(NameFault::Character(odd));
    }
    faults
}

/// The first letter beyond ASCII of a name that mixes scripts as only a name does that is to pass for another one, such
/// as Cyrillic among Latin; `None` for every other name.
///
/// The rule is that of identifiers, "moderately restrictive" (Unicode Technical Standard 39): one script, or Latin with
/// those of Chinese, Japanese or Korean, or with one other that has no letters like Latin ones.
pub fn mixed_script(name: &str) -> Option<char> {
    let letters: String = name.nfkc().filter(|c| c.is_alphabetic()).collect();
    let level = RestrictionLevel::ModeratelyRestrictive;
    if letters.is_single_script() || letters.check_restriction_level(level) {
        return None;
    }
    letters.chars().find(|c| !c.is_ascii())
}

/// Returns true if two names are the same to the format: equal after NFKC normalisation.
pub fn same(left: &str, right: &str) -> bool {
    left.trim().nfkc().eq(right.trim().nfkc())
}

#[cfg(test)]
mod tests {
    use super::{NameError, NameFault, SkillName, faults, mixed_script};

    #[test]
    fn a_name_is_never_a_path() {
        for bad in [
            "..",
            ".",
            "a/b",
            "../x",
            "a\\b",
            "a\0b",
            "a\nb",
            "/etc/passwd",
        ] {
            assert_eq!(SkillName::new(bad), Err(NameError::NotAName), "{bad:?}");
            assert!(SkillName::new(SkillName::from_folder(bad).as_str()).is_ok());
        }
        assert_eq!(SkillName::new("  "), Err(NameError::Empty));
        assert_eq!(SkillName::new(&"x".repeat(257)), Err(NameError::TooLong));
        assert_eq!(
            SkillName::new(" My Skill ").map(|name| name.to_string()),
            Ok("My Skill".to_owned())
        );
    }

    #[test]
    fn a_name_of_plain_characters_stands_in_a_uri() {
        for (name, plain) in [
            ("pdf-tools", true),
            ("My_Skill.v2~", true),
            ("my skill", false),
            ("技能", false),
            ("c++", false),
            ("a%41", false),
        ] {
            assert_eq!(SkillName::new(name).unwrap().is_plain_in_uri(), plain);
        }
    }

    #[test]
    fn a_name_that_mixes_scripts_to_look_like_another_is_found() {
        for (name, odd) in [
            ("\u{430}pple", Some('\u{430}')),
            ("appl\u{435}-2", Some('\u{435}')),
            ("p\u{3b1}y", Some('\u{3b1}')),
            ("\u{430}\u{5d0}", Some('\u{430}')),
            ("apple", None),
            ("My Skill_2", None),
            ("яблоко-2", None),
            ("μέτρα", None),
            ("résumé-naïve", None),
            ("pdf-技能", None),
            ("pdf-スキル-技", None),
            ("pdf-기술", None),
            ("pdf-ทักษะ", None),
            ("\u{ff41}pple", None),
            ("", None),
        ] {
            assert_eq!(mixed_script(name), odd, "{name}");
        }
    }

    #[test]
    fn each_rule_of_the_format_is_named() {
        assert_eq!(faults("pdf-tools"), []);
        assert_eq!(faults("技能"), []);
        assert_eq!(faults("Pdf"), [NameFault::Uppercase]);
        assert_eq!(faults("-pdf"), [NameFault::EdgeHyphen]);
        assert_eq!(faults("a--b"), [NameFault::DoubleHyphen]);
        assert_eq!(faults("a_b"), [NameFault::Character('_')]);
        assert_eq!(faults(&"a".repeat(65)), [NameFault::TooLong(65)]);
    }
}
