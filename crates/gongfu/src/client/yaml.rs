//! YAML in block style, as goose writes it: whole lines are put in and taken out.
//!
//! Names are found by their indentation alone. What is written in another style comes out wrong
//! here, which the check of every edit notices.

use std::ops::Range;

use gongfu_core::skill::yaml;
use serde_json::{Value, json};

use super::document::Document;
use super::problem::{self, position};
use crate::failure::Failure;

const INDENT: usize = 2;

pub(super) struct Yaml {
    value: Value,
    /// The lines with their line breaks.
    lines: Vec<String>,
}

pub(super) fn parse(text: &str) -> Result<Yaml, Failure> {
    let root = yaml::parse(text).map_err(|error| {
        problem::unparsable("YAML", &error.to_string(), position(text, error.offset()))
    })?;
    let root = root.filter(|root| !root.span.is_empty());
    Ok(Yaml {
        value: root.map_or_else(|| json!({}), |root| root.to_json()),
        lines: split(text),
    })
}

fn split(text: &str) -> Vec<String> {
    text.split_inclusive('\n').map(str::to_owned).collect()
}

/// The indentation of a line; none for a blank line or a comment.
fn indent(line: &str) -> Option<usize> {
    let content = line.trim_start();
    let is_content = !content.is_empty() && !content.starts_with('#');
    is_content.then(|| line.len() - content.len())
}

fn is_key(line: &str, name: &str) -> bool {
    let key = line.split_once(':').map(|(key, _)| key.trim());
    key.is_some_and(|key| key.trim_matches(['"', '\'']) == name)
}

impl Yaml {
    /// The lines at a path: the one with the name, and those that are indented below it.
    fn block(&self, path: &[&str]) -> Option<Range<usize>> {
        let Some((name, above)) = path.split_last() else {
            return Some(0..self.lines.len());
        };
        let start = *self.keys(above, name).first()?;
        let own = indent(&self.lines[start])?;
        let mut end = start + 1;
        for (number, line) in self.lines.iter().enumerate().skip(end) {
            match indent(line) {
                None => {}
                // The items of a list may be as deep as its name.
                Some(deep) if deep > own || deep == own && line[own..].starts_with("- ") => {
                    end = number + 1;
                }
                Some(_) => break,
            }
        }
        Some(start..end)
    }

    /// The lines that have a name below a path.
    fn keys(&self, above: &[&str], name: &str) -> Vec<usize> {
        let Some(block) = self.block(above) else {
            return Vec::new();
        };
        let depth = self.depth(above, &block);
        block
            .filter(|line| indent(&self.lines[*line]) == depth)
            .filter(|line| is_key(&self.lines[*line], name))
            .collect()
    }

    /// The indentation of the names below a path; none where there are none.
    fn depth(&self, path: &[&str], block: &Range<usize>) -> Option<usize> {
        let inner = block.start + usize::from(!path.is_empty())..block.end;
        self.lines[inner].iter().find_map(|line| indent(line))
    }

    /// Replaces the value beside a name.
    fn set_beside(&mut self, line: usize, value: &str) -> Option<()> {
        let line = self.lines.get_mut(line)?;
        let (key, rest) = line.split_once(':')?;
        let end = rest.find(" #").unwrap_or(rest.trim_end().len());
        *line = [key, ":", value, &rest[end..]].concat();
        Some(())
    }
}

impl Document for Yaml {
    fn value(&self) -> Value {
        self.value.clone()
    }

    fn lines(&self, path: &[&str]) -> Vec<usize> {
        let keys = path.split_last();
        let keys = keys.map(|(name, above)| self.keys(above, name));
        keys.into_iter().flatten().map(|line| line + 1).collect()
    }

    fn set(&mut self, path: &[&str], value: &Value) -> Option<()> {
        let (name, above) = path.split_last()?;
        let (place, depth) = match (self.block(path), self.block(above)) {
            (Some(block), _) => (block.clone(), indent(&self.lines[block.start])?),
            (None, None) => return self.set(above, &json!({ *name: value })),
            (None, Some(whole)) if above.is_empty() => (whole.end..whole.end, 0),
            (None, Some(holder)) => {
                let depth = self.depth(above, &holder);
                if depth.is_none() {
                    self.set_beside(holder.start, "")?;
                }
                // Right below the name: a comment above the first of the others stays there.
                let at = holder.start + 1;
                let own = indent(&self.lines[holder.start])?;
                (at..at, depth.unwrap_or(own + INDENT))
            }
        };
        if let Some(before) = place.start.checked_sub(1)
            && !self.lines[before].ends_with('\n')
        {
            self.lines[before].push('\n');
        }
        self.lines.splice(place, [render(name, value, depth)]);
        self.lines = split(&self.text());
        Some(())
    }

    fn remove(&mut self, path: &[&str]) -> Option<()> {
        let (_, above) = path.split_last()?;
        self.lines.drain(self.block(path)?);
        let holder = self.block(above)?;
        if !above.is_empty() && self.depth(above, &holder).is_none() {
            self.set_beside(holder.start, " {}")?;
        }
        Some(())
    }

    fn text(&self) -> String {
        self.lines.concat()
    }
}

/// A name and its value as lines. What is not an object is written as JSON, which YAML contains.
fn render(name: &str, value: &Value, depth: usize) -> String {
    let indent = " ".repeat(depth);
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let fields = fields.iter();
            let fields = fields.map(|(name, value)| render(name, value, depth + INDENT));
            format!("{indent}{name}:\n{}", fields.collect::<String>())
        }
        other => format!("{indent}{name}: {other}\n"),
    }
}
