//! Paths into JSON values: `name.other[0]["odd name"]`.

use std::fmt;

use serde_json::Value;

use crate::text::clipped;

/// The names that an error lists.
const MAX_LISTED: usize = 8;
/// The deepest path.
const MAX_SEGMENTS: usize = 64;

/// A path into a value; the empty one means the whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Path(pub(super) Vec<Segment>);

/// A step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Segment {
    /// The member of an object.
    Name(String),
    /// The item of a list, from 0.
    Index(usize),
}

impl Path {
    /// Reads a path; `None` for a text that isn't one.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut segments = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            if segments.len() == MAX_SEGMENTS {
                return None;
            }
            if let Some(quoted) = rest.strip_prefix("[\"") {
                let (name, after) = quoted.split_once("\"]")?;
                segments.push(Segment::Name(name.to_owned()));
                rest = after;
            } else if let Some(index) = rest.strip_prefix('[') {
                let (index, after) = index.split_once(']')?;
                let is_number = index.bytes().all(|byte| byte.is_ascii_digit());
                let index = is_number.then(|| index.parse().ok()).flatten()?;
                segments.push(Segment::Index(index));
                rest = after;
            } else {
                let name = match rest.strip_prefix('.') {
                    Some(name) if !segments.is_empty() => name,
                    None if segments.is_empty() => rest,
                    _ => return None,
                };
                let end = name.find(['.', '[']).unwrap_or(name.len());
                let (name, after) = name.split_at_checked(end)?;
                let is_odd = |c: char| c.is_whitespace() || c.is_control() || "]\"'/\\".contains(c);
                if name.is_empty() || name.contains(is_odd) {
                    return None;
                }
                segments.push(Segment::Name(name.to_owned()));
                rest = after;
            }
        }
        Some(Self(segments))
    }

    /// The same path, and this member.
    pub(super) fn name(&self, name: &str) -> Self {
        self.with(Segment::Name(name.to_owned()))
    }

    /// The same path, and this item.
    pub(super) fn index(&self, index: usize) -> Self {
        self.with(Segment::Index(index))
    }

    fn with(&self, segment: Segment) -> Self {
        let mut path = self.clone();
        path.0.push(segment);
        path
    }

    /// The value at this path; else where it ends, and what is there.
    pub(super) fn get<'v>(&self, value: &'v Value) -> Result<&'v Value, String> {
        let mut found = value;
        for (at, segment) in self.0.iter().enumerate() {
            let next = match segment {
                Segment::Name(name) => found.as_object().and_then(|fields| fields.get(name)),
                Segment::Index(index) => found.as_array().and_then(|items| items.get(*index)),
            };
            found = next.ok_or_else(|| {
                let above = Self(self.0.iter().take(at).cloned().collect());
                let place = if at == 0 {
                    "it".to_owned()
                } else {
                    format!("`{above}`")
                };
                let missing = Self(vec![segment.clone()]);
                format!("{place} has no `{missing}`: {}", contents(found))
            })?;
        }
        Ok(found)
    }
}

/// The kind of a value and what can be found in it, for people.
fn contents(value: &Value) -> String {
    match value {
        Value::Null => "it is null".to_owned(),
        Value::Bool(_) => "it is true or false".to_owned(),
        Value::Number(_) => "it is a number".to_owned(),
        Value::String(_) => "it is a text".to_owned(),
        Value::Array(items) => format!("it is a list of {}", items.len()),
        Value::Object(fields) if fields.is_empty() => "it is empty".to_owned(),
        Value::Object(fields) => {
            let names = fields.keys().take(MAX_LISTED);
            let names: Vec<String> = names
                .map(|name| format!("`{}`", clipped(name, 40, '?')))
                .collect();
            let more = if fields.len() > MAX_LISTED {
                ", …"
            } else {
                ""
            };
            format!("it has {}{more}", names.join(", "))
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Index(index) => write!(formatter, "[{index}]")?,
                Segment::Name(name) => {
                    let alone = Self::parse(name);
                    let is_plain = alone
                        .is_some_and(|path| path.0.len() == 1 && path.0.first() == Some(segment));
                    match (is_plain, at) {
                        (false, _) => write!(formatter, "[\"{name}\"]")?,
                        (true, 0) => write!(formatter, "{name}")?,
                        (true, _) => write!(formatter, ".{name}")?,
                    }
                }
            }
        }
        Ok(())
    }
}
