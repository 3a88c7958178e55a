//! Paths inside a skill: relative, normalised, never leading out.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The longest path that is looked at, in bytes.
const MAX_PATH: usize = 4096;
/// The longest component of a path, in bytes (the limit of common file systems).
const MAX_COMPONENT: usize = 255;

/// A path below a skill's folder, with `/` between its components.
///
/// Can't hold `..`, an absolute path, an empty component, a backslash or a control character, so
/// that its holder needs no check of its own. The empty path is the folder itself.
///
/// Shared when it is cloned: in a large library most files are called like those of other skills.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SkillPath(Arc<str>);

/// Why a text is not a path inside a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// Starts with `/`, a drive letter, `~` or a URL's scheme.
    #[error("the path is absolute")]
    Absolute,
    /// Holds `..`.
    #[error("the path contains `..`")]
    Climbs,
    /// Holds NUL or another control character.
    #[error("the path contains a control character")]
    Control,
    /// Holds `\`, which some systems take for a separator.
    #[error("the path contains a backslash")]
    Backslash,
    /// Longer than any file system takes.
    #[error("the path is too long")]
    TooLong,
}

impl SkillPath {
    /// Checks and normalises a path: `./` and doubled or trailing slashes are dropped.
    pub fn new(path: &str) -> Result<Self, PathError> {
        if is_normal(path) {
            return Ok(Self(path.into()));
        }
        if path.len() > MAX_PATH {
            return Err(PathError::TooLong);
        }
        if path.chars().any(char::is_control) {
            return Err(PathError::Control);
        }
        if path.contains('\\') {
            return Err(PathError::Backslash);
        }
        if path.starts_with('/') || path.contains("://") {
            return Err(PathError::Absolute);
        }
        let mut normal = String::with_capacity(path.len());
        for component in path.split('/') {
            match component {
                "" | "." => {}
                ".." => return Err(PathError::Climbs),
                long if long.len() > MAX_COMPONENT => return Err(PathError::TooLong),
                plain => {
                    if !normal.is_empty() {
                        normal.push('/');
                    }
                    normal.push_str(plain);
                }
            }
        }
        // Asked of the normal form, so that `./~` is no way round it.
        let drive = matches!(normal.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
        if drive || normal == "~" || normal.starts_with("~/") {
            return Err(PathError::Absolute);
        }
        Ok(Self(normal.into()))
    }

    /// Returns true if a text is a path, exactly as it stands.
    pub fn is_exact(path: &str) -> bool {
        is_normal(path) || Self::new(path).is_ok_and(|own| *own.0 == *path)
    }

    /// The skill's folder itself.
    pub fn root() -> Self {
        Self("".into())
    }

    /// Returns true if this is the skill's folder itself.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The path as text, `/` between components, empty for the folder itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The last component; empty for the folder itself.
    pub fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// The last component's ending without its dot, in lower case; empty without one.
    pub fn extension(&self) -> String {
        match self.file_name().rsplit_once('.') {
            Some((stem, ending)) if !stem.is_empty() => ending.to_ascii_lowercase(),
            _ => String::new(),
        }
    }

    /// The folder that holds it; the skill's folder for a top-level path.
    #[must_use]
    pub fn parent(&self) -> Self {
        let parent = self.0.rsplit_once('/').map(|(parent, _)| parent);
        Self(parent.unwrap_or_default().into())
    }

    /// The path of something below it.
    ///
    /// # Errors
    /// As [`SkillPath::new`].
    pub fn join(&self, below: &str) -> Result<Self, PathError> {
        if self.is_root() {
            Self::new(below)
        } else {
            Self::new(&format!("{self}/{below}"))
        }
    }

    /// Returns true if it lies below `folder` (or is it).
    pub fn is_within(&self, folder: &Self) -> bool {
        folder.is_root()
            || self
                .0
                .strip_prefix(&*folder.0)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// Returns true if a text needs no second look to be a path as it stands: a start of a large library asks
/// this of a hundred thousand names. `false` says nothing.
fn is_normal(path: &str) -> bool {
    let bytes = path.as_bytes();
    // Control characters, and the byte that those behind ASCII begin with.
    let odd = |byte: &u8| matches!(byte, 0..=0x1F | 0x7F | 0xC2 | b'\\' | b':' | b'~');
    let plain = |part: &[u8]| !matches!(part, b"" | b"." | b"..") && part.len() <= MAX_COMPONENT;
    bytes.len() <= MAX_PATH
        && !bytes.iter().any(odd)
        && bytes.split(|byte| *byte == b'/').all(plain)
}

impl std::borrow::Borrow<str> for SkillPath {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SkillPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl TryFrom<String> for SkillPath {
    type Error = PathError;

    fn try_from(path: String) -> Result<Self, Self::Error> {
        if is_normal(&path) {
            return Ok(Self(path.into()));
        }
        Self::new(&path)
    }
}

impl From<SkillPath> for String {
    fn from(path: SkillPath) -> Self {
        path.as_str().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::{PathError, SkillPath, is_normal};

    #[test]
    fn normal_path_stays_as_it_is() {
        let parts = [
            "a", "b.md", ".", "..", "", "~", "c:", "\u{85}", "\u{a0}", "é", "\n", "x\\y", "://",
            "日本",
        ];
        let mut normal = 0;
        for first in parts {
            for second in parts {
                for third in parts {
                    for path in [
                        format!("{first}/{second}/{third}"),
                        format!("{first}{second}"),
                    ] {
                        if is_normal(&path) {
                            normal += 1;
                            assert!(path.split('/').all(|part| !part.is_empty() && part != ".."));
                            assert!(!path.chars().any(char::is_control), "{path:?}");
                            assert!(!path.contains(['\\', ':', '~']), "{path:?}");
                            assert_eq!(SkillPath::new(&path).unwrap().as_str(), path);
                        }
                    }
                }
            }
        }
        assert!(normal > 60, "{normal}");
        assert!(!is_normal(&"x".repeat(256)) && !is_normal(&"x/".repeat(3_000)));
    }

    #[test]
    fn every_way_out_is_refused() {
        for (bad, why) in [
            ("/etc/passwd", PathError::Absolute),
            ("../x", PathError::Climbs),
            ("a/../../x", PathError::Climbs),
            ("a/..", PathError::Climbs),
            ("..\\x", PathError::Backslash),
            ("C:/x", PathError::Absolute),
            ("~/x", PathError::Absolute),
            ("./~", PathError::Absolute),
            (".//C:/x", PathError::Absolute),
            ("file:///x", PathError::Absolute),
            ("a\0b", PathError::Control),
            (&"x".repeat(256), PathError::TooLong),
            (&"x/".repeat(4000), PathError::TooLong),
        ] {
            assert_eq!(SkillPath::new(bad), Err(why), "{bad:?}");
        }
    }

    #[test]
    fn a_path_is_normalised() {
        for (given, normal) in [
            ("./a//b/", "a/b"),
            ("", ""),
            (".", ""),
            ("a/./b.md", "a/b.md"),
            ("..a/b..", "..a/b.."),
        ] {
            assert_eq!(
                SkillPath::new(given).map(String::from),
                Ok(normal.to_owned()),
                "{given:?}"
            );
        }
    }

    #[test]
    fn parts_of_a_path() -> Result<(), PathError> {
        let path = SkillPath::new("scripts/run.TAR.GZ")?;
        assert_eq!(path.file_name(), "run.TAR.GZ");
        assert_eq!(path.extension(), "gz");
        assert_eq!(SkillPath::new(".env")?.extension(), "");
        assert!(path.is_within(&path.parent()));
        assert!(!SkillPath::new("scripts2/x")?.is_within(&SkillPath::new("scripts")?));
        Ok(())
    }
}
