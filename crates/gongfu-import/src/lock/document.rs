//! A lock as a JSON document, of which parts are changed and the rest is kept.

use std::io;
use std::path::{Path, PathBuf};

use gongfu_core::skill::SkillPath;
use gongfu_files::disk::{self, Root};
use serde_json::{Map, Value};

use crate::error::{ImportCode, ImportError};

/// The longest lock that is read, in bytes.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// A lock that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct LockDocument {
    /// The path of its file.
    pub path: PathBuf,
    /// Its members; `None` where there is no file.
    pub members: Option<Map<String, Value>>,
}

impl LockDocument {
    /// Reads a lock.
    ///
    /// # Errors
    /// It can't be read, isn't a JSON object, or has the marks of an unfinished merge.
    pub fn read(path: &Path) -> Result<Self, ImportError> {
        let members = match bytes(path) {
            Ok(None) => None,
            Ok(Some(bytes)) => Some(parse(path, &bytes)?),
            Err(error) => {
                let message = format!("{} can't be read: {}", path.display(), disk::reason(&error));
                return Err(unreadable(message, "check its permissions"));
            }
        };
        Ok(Self {
            path: path.to_owned(),
            members,
        })
    }

    /// The version, where there is a file.
    ///
    /// # Errors
    /// It has none that is a whole number, or it is higher than what is understood.
    pub fn version(&self, highest: u64) -> Result<Option<u64>, ImportError> {
        let Some(members) = &self.members else {
            return Ok(None);
        };
        let shown = self.path.display();
        let version = members.get("version").and_then(Value::as_u64);
        let Some(version) = version else {
            let message = format!("{shown}: `version` is missing, or no whole number");
            return Err(unreadable(
                message,
                "restore the file from your repository, or move it away",
            ));
        };
        if version > highest {
            let message = format!("{shown} has version {version}, which is newer than {highest}");
            let hint = "update gongfu; nothing was changed";
            return Err(ImportError::new(ImportCode::LockNewer, message, hint));
        }
        Ok(Some(version))
    }

    /// The entries of the skills.
    ///
    /// # Errors
    /// `skills` is no object, or one of its members isn't.
    pub fn skills(&self) -> Result<Map<String, Value>, ImportError> {
        let skills = self
            .members
            .as_ref()
            .and_then(|members| members.get("skills"));
        let shown = self.path.display();
        let hint = "restore the file from your repository, or fix this member";
        let skills = match skills {
            None => return Ok(Map::new()),
            Some(Value::Object(skills)) => skills,
            Some(_) => {
                return Err(unreadable(
                    format!("{shown}: `skills` is not an object"),
                    hint,
                ));
            }
        };
        if let Some((name, _)) = skills.iter().find(|(_, entry)| !entry.is_object()) {
            let message = format!("{shown}: the entry of `{name}` is not an object");
            return Err(unreadable(message, hint));
        }
        Ok(skills.clone())
    }
}

pub(super) fn unreadable(message: impl Into<String>, hint: &str) -> ImportError {
    ImportError::new(ImportCode::LockUnreadable, message, hint)
}

fn bytes(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let name = SkillPath::new(&name.to_string_lossy()).map_err(io::Error::other)?;
    let read = Root::open(folder).and_then(|root| root.read(&name, MAX_BYTES));
    match read {
        Ok(content) if content.is_cut() => Err(io::Error::other("it is longer than 64 MiB")),
        Ok(content) => Ok(Some(content.bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn parse(path: &Path, bytes: &[u8]) -> Result<Map<String, Value>, ImportError> {
    let shown = path.display();
    let why = match serde_json::from_slice(bytes) {
        Ok(Value::Object(members)) => return Ok(members),
        Ok(_) => {
            let message = format!("{shown} is not a JSON object");
            return Err(unreadable(
                message,
                "restore it from your repository, or move it away",
            ));
        }
        Err(why) => why,
    };
    let text = String::from_utf8_lossy(bytes);
    let marks = ["<<<<<<<", "=======", ">>>>>>>"];
    let mark = text
        .lines()
        .position(|line| marks.iter().any(|mark| line.starts_with(mark)));
    Err(match mark {
        Some(line) => unreadable(
            format!(
                "{shown}, line {}: two versions of the lock were not merged",
                line + 1
            ),
            "keep the entries of both sides, remove the marks, then run `gongfu skill verify`",
        ),
        None => unreadable(
            format!("{shown}, line {}: {why}", why.line()),
            "restore it from your repository, or fix this line; nothing was changed",
        ),
    })
}
