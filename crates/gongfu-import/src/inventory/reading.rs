//! Files of other programs: read with a limit, and what can't be understood is a problem with its file and line.

use std::io;
use std::path::Path;

use gongfu_core::skill::{SkillPath, yaml};
use gongfu_files::disk::{self, Root};
use serde_json::Value;

use super::InventoryProblem;
use crate::lock::LockDocument;

/// The longest file that is read, in bytes.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The form of a file.
#[derive(Clone, Copy)]
pub(super) enum Form {
    Json,
    Toml,
    Yaml,
}

/// The value in a file; none where there is no file, or it can't be understood.
pub(super) fn value(
    path: &Path,
    form: Form,
    problems: &mut Vec<InventoryProblem>,
) -> Option<Value> {
    let text = text(path, problems)?;
    match parse(&text, form) {
        Ok(value) => Some(value),
        Err((offset, why)) => {
            problems.push(InventoryProblem::at(path, line_of(&text, offset), why));
            None
        }
    }
}

/// The text of a file; none where there is no file, or it can't be read.
pub(super) fn text(path: &Path, problems: &mut Vec<InventoryProblem>) -> Option<String> {
    match bytes(path) {
        Ok(bytes) => {
            let text = String::from_utf8(bytes?);
            let wrong = |error: std::string::FromUtf8Error| {
                let valid = error.utf8_error().valid_up_to();
                let before = error.as_bytes().get(..valid).unwrap_or_default();
                let line = String::from_utf8_lossy(before).matches('\n').count() + 1;
                problems.push(InventoryProblem::at(
                    path,
                    line,
                    "it is not UTF-8".to_owned(),
                ));
            };
            let text = text.map_err(wrong).ok()?;
            Some(
                text.strip_prefix('\u{feff}')
                    .map(str::to_owned)
                    .unwrap_or(text),
            )
        }
        Err(error) => {
            problems.push(InventoryProblem::of(path, unreadable(&error)));
            None
        }
    }
}

/// Words for a file or folder that can't be read.
pub(super) fn unreadable(error: &io::Error) -> String {
    format!("it can't be read: {}", disk::reason(error))
}

/// The bytes of a file, where there is one.
fn bytes(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(None);
    };
    let Ok(name) = SkillPath::new(&name.to_string_lossy()) else {
        return Ok(None);
    };
    let root = match Root::open(folder) {
        Ok(root) => root,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let read = match root.read(&name, MAX_BYTES) {
        // A person's link to their own file elsewhere, as in a folder of settings that a repository has.
        Err(error) if disk::is_escape(&error) => {
            let Some(real) = root.real(&name) else {
                return Ok(None);
            };
            let (folder, name) = (real.parent(), real.file_name());
            let name = name.and_then(|name| SkillPath::new(&name.to_string_lossy()).ok());
            match folder.zip(name) {
                Some((folder, name)) => Root::open(folder)?.read(&name, MAX_BYTES),
                None => return Ok(None),
            }
        }
        read => read,
    };
    match read {
        Ok(content) if content.is_cut() => Err(io::Error::other("it is longer than 16 MiB")),
        Ok(content) => Ok(Some(content.bytes)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// The value of a text, or the byte where it can't be understood and why.
fn parse(text: &str, form: Form) -> Result<Value, (usize, String)> {
    match form {
        Form::Json => serde_json::from_str(text).map_err(|why| {
            let line = why.line().saturating_sub(1);
            let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
            let text = why.to_string();
            // The line is told beside it.
            let text = text.split(" at line ").next().unwrap_or_default();
            (start, text.to_owned())
        }),
        Form::Toml => toml::from_str::<Value>(text).map_err(|why| {
            let offset = why.span().map_or(0, |span| span.start);
            (offset, why.message().to_owned())
        }),
        Form::Yaml => match yaml::parse(text) {
            Ok(node) => Ok(node.map_or(Value::Null, |node| node.to_json())),
            Err(why) => Err((why.offset(), why.to_string())),
        },
    }
}

fn line_of(text: &str, offset: usize) -> usize {
    let before = text.get(..text.floor_char_boundary(offset));
    before.unwrap_or_default().matches('\n').count() + 1
}

/// The text of a member.
pub(super) fn member(value: &Value, key: &str) -> Option<String> {
    let text = value.get(key)?.as_str()?;
    (!text.is_empty()).then(|| text.to_owned())
}

/// A lock that its own reader reads; what that can't understand is a problem.
pub(super) fn lock(
    read: Result<LockDocument, crate::error::ImportError>,
    path: &Path,
    problems: &mut Vec<InventoryProblem>,
) -> Option<LockDocument> {
    match read {
        Ok(lock) => Some(lock),
        Err(error) => {
            problems.push(InventoryProblem::whole(path, error.message));
            None
        }
    }
}
