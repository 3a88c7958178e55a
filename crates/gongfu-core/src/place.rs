//! The place of a file in a workspace: a client's path, normalised so that it leads nowhere else.
//!
//! Pure text: whether a mount is declared or a file exists is checked elsewhere.

use std::fmt;

use unicode_normalization::UnicodeNormalization as _;

use crate::skill::path::PathError;
use crate::skill::{SkillName, SkillPath};

/// The path under which a workspace is seen inside of commands.
const GUEST_WORKSPACE: &str = "workspace";
/// The name under which all skills are seen.
const SKILLS: &str = "skills";
/// The number of times that a name is decoded to see whether it is `..` in disguise.
const DECODINGS: usize = 3;

/// A file or folder that somebody works on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// Below the workspace; the empty path is the workspace itself.
    Workspace(SkillPath),
    /// An absolute path, without its first `/`: only below a mount is there anything.
    Absolute(SkillPath),
}

/// Why a text is no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// It can't be a path.
    #[error("{0}")]
    Path(#[from] PathError),
    /// A component means `..` once it is decoded.
    #[error("the path contains `..` in another spelling")]
    Disguised,
}

impl Location {
    /// A place by a path that is relative to the workspace, or absolute.
    ///
    /// `/workspace` is the workspace, as it is inside of commands.
    ///
    /// # Errors
    /// The path climbs, or can't be one.
    pub fn parse(path: &str) -> Result<Self, PlaceError> {
        let Some(absolute) = path.strip_prefix('/') else {
            return Ok(Self::Workspace(checked(path)?));
        };
        let path = checked(absolute.trim_start_matches('/'))?;
        match split(&path) {
            (GUEST_WORKSPACE, rest) => Ok(Self::Workspace(SkillPath::new(rest)?)),
            _ => Ok(Self::Absolute(path)),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Workspace(path) => write!(formatter, "{path}"),
            Self::Absolute(path) => write!(formatter, "/{path}"),
        }
    }
}

/// A path of seed 002: the workspace, the skills and the mounts in one tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VirtualPath {
    /// All skills: `skills`.
    Skills,
    /// A skill, or a file of it: `skills/<name>/…`.
    Skill {
        /// The skill's name.
        name: SkillName,
        /// The path in it; empty for the skill itself.
        path: SkillPath,
    },
    /// Everything else.
    File(Location),
}

impl VirtualPath {
    /// Reads a path: `""` and `workspace` are the workspace, `skills` and what is below it the
    /// skills, `workspace/…`, `./x` and `x` the workspace, `/x` a mount.
    ///
    /// A folder of the workspace that is really called `skills` or `workspace` is `./skills` and
    /// `workspace/workspace`.
    ///
    /// # Errors
    /// The path climbs, or can't be one.
    pub fn parse(path: &str) -> Result<Self, PlaceError> {
        if path.starts_with('/') || path.starts_with("./") {
            return Ok(Self::File(Location::parse(path)?));
        }
        let path = checked(path)?;
        match split(&path) {
            (SKILLS, "") => Ok(Self::Skills),
            (SKILLS, rest) => {
                let (name, rest) = rest.split_once('/').unwrap_or((rest, ""));
                // A component of a path is never anything that no name may hold, but too long.
                let name = SkillName::new(name).map_err(|_| PathError::TooLong)?;
                let path = SkillPath::new(rest)?;
                Ok(Self::Skill { name, path })
            }
            (GUEST_WORKSPACE, rest) => Ok(Self::File(Location::Workspace(SkillPath::new(rest)?))),
            _ => Ok(Self::File(Location::Workspace(path))),
        }
    }
}

/// The first component and the rest.
fn split(path: &SkillPath) -> (&str, &str) {
    let path = path.as_str();
    path.split_once('/').unwrap_or((path, ""))
}

/// A path below some folder that nobody can take for one that leads out of it.
///
/// # Errors
/// The path climbs, in whatever spelling, or can't be one.
pub fn checked(path: &str) -> Result<SkillPath, PlaceError> {
    let path = SkillPath::new(path)?;
    if path.as_str().split('/').any(is_disguised) {
        return Err(PlaceError::Disguised);
    }
    Ok(path)
}

/// Returns true if a name becomes a way up when it is decoded: `%2e%2e`, `..%2f`, full-width dots.
///
/// For gongfu such a name is like any other; but what is written under it may be read by somebody
/// else, and nobody means it.
fn is_disguised(name: &str) -> bool {
    let mut name = name.to_owned();
    for _ in 0..DECODINGS {
        let plain: String = name.nfkc().map(slash).collect();
        let climbs = plain.split(['/', '\\']).any(|part| part.trim() == "..");
        if climbs || plain.contains('\0') {
            return true;
        }
        let decoded = decoded(&name);
        if decoded == name {
            break;
        }
        name = decoded;
    }
    false
}

/// Characters that look like a slash are taken for one.
fn slash(c: char) -> char {
    match c {
        '\u{2044}' | '\u{2215}' | '\u{29f8}' | '\u{2571}' => '/',
        '\u{2216}' | '\u{29f5}' | '\u{29f9}' => '\\',
        other => other,
    }
}

/// A text with its percent signs decoded, once.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let code = digits.and_then(|two| u8::from_str_radix(two, 16).ok());
        if let (b'%', Some(code), Some(behind)) = (byte, code, after.get(2..)) {
            bytes.push(code);
            rest = behind;
        } else {
            bytes.push(byte);
            rest = after;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::{Location, VirtualPath};
    use crate::skill::{SkillName, SkillPath};

    fn inside(path: &str) -> Location {
        Location::Workspace(SkillPath::new(path).unwrap())
    }

    fn skill(name: &str, path: &str) -> VirtualPath {
        VirtualPath::Skill {
            name: SkillName::new(name).unwrap(),
            path: SkillPath::new(path).unwrap(),
        }
    }

    #[test]
    fn paths_follow_every_rule_of_the_source() {
        for (given, wanted) in [
            ("", VirtualPath::File(inside(""))),
            (".", VirtualPath::File(inside(""))),
            ("./", VirtualPath::File(inside(""))),
            ("workspace", VirtualPath::File(inside(""))),
            ("workspace/", VirtualPath::File(inside(""))),
            ("workspace/a/b", VirtualPath::File(inside("a/b"))),
            (
                "workspace/workspace",
                VirtualPath::File(inside("workspace")),
            ),
            ("workspace/skills/x", VirtualPath::File(inside("skills/x"))),
            ("./skills/x", VirtualPath::File(inside("skills/x"))),
            ("./workspace", VirtualPath::File(inside("workspace"))),
            ("a//b/", VirtualPath::File(inside("a/b"))),
            ("skillset", VirtualPath::File(inside("skillset"))),
            ("skills", VirtualPath::Skills),
            ("skills/", VirtualPath::Skills),
            ("skills/pdf", skill("pdf", "")),
            ("skills/pdf/scripts//x.py", skill("pdf", "scripts/x.py")),
            ("skills/My Skill/a", skill("My Skill", "a")),
            ("/workspace/x", VirtualPath::File(inside("x"))),
            ("/workspace", VirtualPath::File(inside(""))),
            (
                "/Users/me/x",
                VirtualPath::File(Location::Absolute(SkillPath::new("Users/me/x").unwrap())),
            ),
            (
                "//etc",
                VirtualPath::File(Location::Absolute(SkillPath::new("etc").unwrap())),
            ),
        ] {
            assert_eq!(VirtualPath::parse(given), Ok(wanted), "{given:?}");
        }
        assert_eq!(Location::parse("skills/x"), Ok(inside("skills/x")));
        assert_eq!(Location::parse("workspace/x"), Ok(inside("workspace/x")));
    }

    #[test]
    fn path_never_climbs_in_any_spelling() {
        for path in [
            "..",
            "../x",
            "./../x",
            "workspace/../x",
            "workspace/..",
            "skills/..",
            "skills/../x",
            "skills/pdf/../../x",
            "skills/pdf/..",
            "/..",
            "/workspace/../etc",
            "/a/../../etc",
            "a\\..\\b",
            "C:/x",
            "~/x",
            "./~/x",
            "file:///etc/passwd",
            "a\0b",
            "a\nb",
            "%2e%2e/x",
            "%2E%2e%2fx",
            "..%2fx",
            "..%5cx",
            "%252e%252e%252fx",
            "skills/pdf/%2e%2e/x",
            "\u{ff0e}\u{ff0e}/x",
            "..\u{2215}x",
            "..%00/x",
            "a%00b",
            " ../x",
            "a/.. /x",
            &"x".repeat(256),
            &"x/".repeat(4_000),
        ] {
            assert!(VirtualPath::parse(path).is_err(), "{path:?}");
            assert!(Location::parse(path).is_err(), "{path:?}");
        }
        for fine in ["..a", "a..", "...", "100%", "a%2Fb", "a%zz", "%", "技能/…"] {
            assert!(VirtualPath::parse(fine).is_ok(), "{fine:?}");
        }
    }
}
