//! Edits one entry of a configuration, whatever its format.
//!
//! The formats do the editing. Each result is parsed again before anybody writes it: the entry must
//! be the new one, and everything else must read as before.

use std::path::Path;

use serde_json::{Map, Value};

use super::document::Document;
use super::problem;
use super::{json, toml, yaml};
use crate::failure::Failure;

#[cfg(test)]
mod tests;

const BOM: &str = "\u{feff}";

/// The format of a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Json,
    Toml,
    Yaml,
}

impl Format {
    fn parse(self, text: &str) -> Result<Box<dyn Document>, Failure> {
        let text = text.strip_prefix(BOM).unwrap_or(text);
        Ok(match self {
            Self::Json => Box::new(json::parse(text)?),
            Self::Toml => Box::new(toml::parse(text)?),
            Self::Yaml => Box::new(yaml::parse(text)?),
        })
    }

    /// The format of a file, by its name.
    pub(crate) fn of(file: &Path) -> Option<Self> {
        let extension = file.extension()?.to_str()?.to_ascii_lowercase();
        match &*extension {
            "json" | "jsonc" => Some(Self::Json),
            "toml" => Some(Self::Toml),
            "yaml" | "yml" => Some(Self::Yaml),
            _ => None,
        }
    }

    /// The line of a place in a text, or of the nearest place above it.
    pub(crate) fn line(self, text: &str, place: &[String]) -> Option<usize> {
        let document = self.parse(text).ok()?;
        let path: Vec<&str> = place.iter().map(String::as_str).collect();
        let mut above = (0..=path.len()).rev().filter_map(|end| path.get(..end));
        above.find_map(|path| document.lines(path).first().copied())
    }

    /// The whole document as a value.
    pub(crate) fn read(self, text: &str) -> Result<Value, Failure> {
        Ok(self.parse(text)?.value())
    }

    /// The value at a path. Each name on the way must be there once and hold an object.
    pub(crate) fn get(self, text: &str, path: &[&str]) -> Result<Option<Value>, Failure> {
        let document = self.parse(text)?;
        let whole = document.value();
        let mut value = &whole;
        for (depth, name) in path.iter().enumerate() {
            let (above, with_name) = (&path[..depth], &path[..=depth]);
            let object = match value {
                Value::Object(object) => object,
                // As good as an empty object.
                Value::Null if depth > 0 => return Ok(None),
                other => {
                    let line = document.lines(above).first().copied().unwrap_or(1);
                    return Err(problem::shape(above, other, line));
                }
            };
            if let [first, second, ..] = document.lines(with_name)[..] {
                return Err(problem::duplicate(with_name, first, second));
            }
            match object.get(*name) {
                Some(next) => value = next,
                None => return Ok(None),
            }
        }
        Ok(Some(value.clone()))
    }

    /// The text with another entry at a path; without one, where there is no new entry.
    ///
    /// An object is updated field by field, so that comments in it survive.
    pub(crate) fn edit(
        self,
        text: &str,
        path: &[&str],
        entry: Option<&Value>,
    ) -> Result<String, Failure> {
        let refused = || problem::unusual(path);
        // Formats see one kind of line break; a file that mixes them is theirs to handle.
        let crlf = text.contains('\n') && !text.replace("\r\n", "").contains('\n');
        let body = if crlf {
            text.replace("\r\n", "\n")
        } else {
            text.to_owned()
        };
        let mut document = self.parse(&body)?;
        let before = document.value();
        let edited = match (lookup(&before, path), entry) {
            (_, None) => document.remove(path),
            (Some(Value::Object(old)), Some(Value::Object(new))) => {
                update(document.as_mut(), path, old, new)
            }
            (_, Some(new)) => document.set(path, new),
        };
        edited.ok_or_else(refused)?;
        let mut new = document.text();
        let after = self.read(&new).map_err(|_| refused())?;
        if lookup(&after, path) != entry || without(&after, path) != without(&before, path) {
            return Err(refused());
        }
        if !body.is_empty() && !body.ends_with('\n') && new.ends_with('\n') {
            new.pop();
        }
        if crlf {
            new = new.replace('\n', "\r\n");
        }
        if text.starts_with(BOM) {
            new.insert_str(0, BOM);
        }
        Ok(new)
    }
}

fn update(
    document: &mut dyn Document,
    path: &[&str],
    old: &Map<String, Value>,
    new: &Map<String, Value>,
) -> Option<()> {
    let at = |name| [path, &[name]].concat();
    for (name, value) in new {
        if old.get(name) != Some(value) {
            document.set(&at(name.as_str()), value)?;
        }
    }
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        document.remove(&at(name.as_str()))?;
    }
    Some(())
}

/// The value at a path.
pub(super) fn lookup<'v>(value: &'v Value, path: &[&str]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, name| value.get(name))
}

/// A value without what is at a path, nor the objects above it that hold nothing else.
pub(super) fn without(value: &Value, path: &[&str]) -> Value {
    let (Value::Object(object), Some((name, below))) = (value, path.split_first()) else {
        return value.clone();
    };
    let mut object = object.clone();
    if let Some(inner) = object.shift_remove(*name)
        && !below.is_empty()
    {
        let inner = without(&inner, below);
        let is_empty = inner.is_null() || inner.as_object().is_some_and(Map::is_empty);
        if !is_empty {
            object.insert((*name).to_owned(), inner);
        }
    }
    Value::Object(object)
}
