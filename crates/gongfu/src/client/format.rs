//! What the three formats have in common: entries at a path of names, put in and taken out by small
//! edits, each change proven by reading the result again.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::problem::Problem;
use super::splice::{Edit, break_at, break_before, spliced};
use super::{json, toml, yaml};

/// What a configuration is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Json,
    Toml,
    Yaml,
}

/// What had to be made around an entry, so that it can be taken away with it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Added {
    /// The names that lead to the entry and weren't there, outermost first.
    pub(super) names: Vec<String>,
    /// There was nothing but comments.
    pub(super) root: bool,
    /// What stood between the brackets that were empty before.
    pub(super) inside: Option<String>,
    /// The null that stood where the innermost of the other names now has entries; in YAML with what
    /// stands between the name and it.
    pub(super) null: Option<String>,
    /// White space that was put before what was added.
    pub(super) lead: String,
    /// White space that was put behind it.
    pub(super) trail: String,
}

impl Format {
    /// The whole document as a value; an empty object when nothing is in it.
    pub(super) fn read(self, text: &str) -> Result<Value, Problem> {
        match self {
            Self::Json => json::read(text),
            Self::Toml => toml::read(text),
            Self::Yaml => yaml::read(text),
        }
    }

    /// The value at a path, looked at closely: whatever is on the way must be there once and hold
    /// names.
    pub(super) fn find(
        self,
        text: &str,
        path: &[&str],
        name: &str,
    ) -> Result<Option<Value>, Problem> {
        let whole = self.read(text)?;
        match self {
            Self::Json => json::check(text, path, name)?,
            Self::Toml => toml::check(text, path)?,
            Self::Yaml => yaml::check(text, path, name)?,
        }
        let object = path.iter().try_fold(&whole, |value, name| value.get(name));
        Ok(object.and_then(|object| object.get(name)).cloned())
    }

    /// Puts a new entry in.
    pub(super) fn insert(
        self,
        text: &str,
        path: &[&str],
        name: &str,
        value: &Value,
    ) -> Result<(String, Added), Problem> {
        let (new, added) = self.inserted(text, path, name, value)?;
        let mut expected = self.read(text)?;
        put(&mut expected, path, name, value);
        self.prove(&new, expected, path)?;
        Ok((new, added))
    }

    /// Changes an entry: single fields where only they differ, so that comments stay.
    pub(super) fn update(
        self,
        text: &str,
        path: &[&str],
        name: &str,
        (old, new): (&Value, &Value),
    ) -> Result<String, Problem> {
        let mut expected = self.read(text)?;
        put(&mut expected, path, name, new);
        let changed = match (old, new) {
            (Value::Object(old), Value::Object(new)) => {
                let below: Vec<&str> = path.iter().copied().chain([name]).collect();
                self.fields(text, &below, old, new)
            }
            _ => self.replaced(text, path, name, new),
        };
        // By fields first; as a whole where that doesn't come out right.
        let proven =
            changed.and_then(|text| self.prove(&text, expected.clone(), path).map(|()| text));
        if let Ok(text) = proven {
            return Ok(text);
        }
        let text = self.replaced(text, path, name, new);
        // What can't be read any more is of our making, and nothing that a person could mend.
        let text = text.map_err(|_| Problem::unusual(&format!("`{}`", path.join("."))))?;
        self.prove(&text, expected, path)?;
        Ok(text)
    }

    fn fields(
        self,
        text: &str,
        path: &[&str],
        old: &Map<String, Value>,
        new: &Map<String, Value>,
    ) -> Result<String, Problem> {
        let mut text = text.to_owned();
        for name in old.keys().filter(|name| !new.contains_key(*name)) {
            text = self.removed(&text, path, name, &Added::default())?;
        }
        for (name, value) in new {
            text = match old.get(name) {
                Some(same) if same == value => continue,
                Some(_) => self.replaced(&text, path, name, value)?,
                None => self.inserted(&text, path, name, value)?.0,
            };
        }
        Ok(text)
    }

    /// Takes an entry out, with what had to be made for it.
    pub(super) fn remove(
        self,
        text: &str,
        path: &[&str],
        name: &str,
        added: &Added,
    ) -> Result<String, Problem> {
        let new = self.removed(text, path, name, added)?;
        let mut expected = self.read(text)?;
        if let Some(object) = object_at(&mut expected, path) {
            object.shift_remove(name);
        }
        self.prove(&new, expected, path)?;
        Ok(new)
    }

    fn inserted(
        self,
        text: &str,
        path: &[&str],
        name: &str,
        value: &Value,
    ) -> Result<(String, Added), Problem> {
        match self {
            Self::Json => json::insert(text, path, name, value),
            Self::Toml => toml::insert(text, path, name, value),
            Self::Yaml => yaml::insert(text, path, name, value),
        }
    }

    fn removed(
        self,
        text: &str,
        path: &[&str],
        name: &str,
        added: &Added,
    ) -> Result<String, Problem> {
        match self {
            Self::Json => json::remove(text, path, name, added),
            Self::Toml => toml::remove(text, path, name, added),
            Self::Yaml => yaml::remove(text, path, name, added),
        }
    }

    fn replaced(
        self,
        text: &str,
        path: &[&str],
        name: &str,
        value: &Value,
    ) -> Result<String, Problem> {
        match self {
            Self::Json => json::replace(text, path, name, value),
            Self::Toml => toml::replace(text, path, name, value),
            Self::Yaml => yaml::replace(text, path, name, value),
        }
    }

    /// Whether a changed text says what it is meant to; containers that are empty count as absent.
    fn prove(self, text: &str, mut expected: Value, path: &[&str]) -> Result<(), Problem> {
        let unusual = || Problem::unusual(&format!("`{}`", path.join(".")));
        let mut is = self.read(text).map_err(|_| unusual())?;
        prune(&mut is, path);
        prune(&mut expected, path);
        if is == expected {
            Ok(())
        } else {
            Err(unusual())
        }
    }
}

/// The object at a path, made where it is missing.
fn object_at<'v>(value: &'v mut Value, path: &[&str]) -> Option<&'v mut Map<String, Value>> {
    if value.is_null() {
        *value = Value::Object(Map::new());
    }
    let object = value.as_object_mut()?;
    match path.split_first() {
        None => Some(object),
        Some((name, rest)) => object_at(object.entry(*name).or_insert(Value::Null), rest),
    }
}

fn put(value: &mut Value, path: &[&str], name: &str, new: &Value) {
    if let Some(object) = object_at(value, path) {
        object.insert(name.to_owned(), new.clone());
    }
}

/// Drops the objects of a path that hold nothing, innermost first.
fn prune(value: &mut Value, path: &[&str]) {
    let Some((name, rest)) = path.split_first() else {
        return;
    };
    let Some(object) = value.as_object_mut() else {
        return;
    };
    if let Some(inner) = object.get_mut(*name) {
        prune(inner, rest);
        if inner.is_null() || inner.as_object().is_some_and(Map::is_empty) {
            object.shift_remove(*name);
        }
    }
}

/// A value inside of objects, one for each name.
pub(super) fn nested(path: &[&str], name: &str, value: &Value) -> Value {
    let inner = Value::Object([(name.to_owned(), value.clone())].into_iter().collect());
    path.iter().rev().fold(inner, |inner, name| {
        Value::Object([((*name).to_owned(), inner)].into_iter().collect())
    })
}

/// Takes a range out of a text, with the white space that was put around it as far as it is there
/// still: what stands before and behind it keeps its own lines.
///
/// The range ends before its last line break. Without a record a whole line goes.
pub(super) fn cut_with(text: &str, range: Range<usize>, added: &Added) -> String {
    let Range { mut start, mut end } = range;
    let own = break_at(text, end);
    end += own;
    // A text that had no line break at its end was given one first.
    let was_open = added.trail.is_empty();
    let breaks = added.lead.matches('\n').count();
    let blank_lines = breaks.saturating_sub(usize::from(was_open));
    for _ in 0..blank_lines {
        let blank = break_before(text, start);
        let above = start - blank;
        if blank == 0 || above > 0 && break_before(text, above) == 0 {
            break;
        }
        start = above;
    }
    if own == 0 && was_open {
        start -= break_before(text, start);
    }
    spliced(text, vec![Edit::cut(start..end)])
}
