//! JSON with comments and trailing commas, as people and editors write it.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::{Value, json};

use super::document::Document;
use super::problem;
use crate::failure::Failure;

pub(super) struct Json(CstRootNode);

pub(super) fn parse(text: &str) -> Result<Json, Failure> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    CstRootNode::parse(text, &options)
        .map(Json)
        .map_err(|error| {
            if let Some((bracket, at)) = unclosed(text) {
                return problem::unclosed("JSON", bracket, problem::position(text, at));
            }
            let place = (error.line_display(), error.column_display());
            problem::unparsable("JSON", &error.kind().to_string(), place)
        })
}

impl Json {
    /// The object at a path.
    fn object(&self, path: &[&str]) -> Option<CstObject> {
        let root = self.0.object_value()?;
        path.iter()
            .try_fold(root, |object, name| object.object_value(name))
    }
}

impl Document for Json {
    fn value(&self) -> Value {
        self.0.to_serde_value().unwrap_or_else(|| json!({}))
    }

    fn lines(&self, path: &[&str]) -> Vec<usize> {
        let Some((name, above)) = path.split_last() else {
            return self.0.value().map(line).into_iter().collect();
        };
        let properties = self.object(above).map(|object| object.properties());
        properties
            .into_iter()
            .flatten()
            .filter(|property| property.decoded_name().as_deref() == Some(name))
            .map(|property| line(property.into()))
            .collect()
    }

    fn set(&mut self, path: &[&str], value: &Value) -> Option<()> {
        let (name, above) = path.split_last()?;
        let root = self.0.object_value_or_create()?;
        let object = above
            .iter()
            .fold(root, |object, name| object.object_value_or_set(name));
        match object.get(name) {
            Some(property) => property.set_value(input(value)),
            None => drop(object.append(name, input(value))),
        }
        Some(())
    }

    fn remove(&mut self, path: &[&str]) -> Option<()> {
        let (name, above) = path.split_last()?;
        self.object(above)?.get(name)?.remove();
        Some(())
    }

    fn text(&self) -> String {
        self.0.to_string()
    }
}

/// The line of a node: the tree keeps no places, so the line breaks before it are counted.
fn line(node: CstNode) -> usize {
    let mut line = 1;
    let mut node = Some(node);
    while let Some(inner) = node {
        let before = inner.previous_siblings();
        line += before
            .map(|node| node.to_string().matches('\n').count())
            .sum::<usize>();
        node = inner.parent().map(CstNode::from);
    }
    line
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(truth) => CstInputValue::Bool(*truth),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(fields) => {
            let fields = fields.iter();
            let fields = fields.map(|(name, value)| (name.clone(), input(value)));
            CstInputValue::Object(fields.collect())
        }
    }
}

/// The opening bracket that nothing closes, and its place in bytes. The line of a closing bracket that is indented
/// less tells that the one before it is missing.
fn unclosed(text: &str) -> Option<(char, usize)> {
    let mut open: Vec<(char, usize)> = Vec::new();
    let mut doubtful = None;
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => {
                while let Some((_, inner)) = letters.next() {
                    match inner {
                        '"' | '\n' => break,
                        '\\' => drop(letters.next()),
                        _ => {}
                    }
                }
            }
            '/' if letters.peek().is_some_and(|(_, next)| *next == '/') => {
                while letters.next_if(|(_, inner)| *inner != '\n').is_some() {}
            }
            '/' if letters.peek().is_some_and(|(_, next)| *next == '*') => {
                let mut before = ' ';
                for (_, inner) in letters.by_ref().skip(1) {
                    if before == '*' && inner == '/' {
                        break;
                    }
                    before = inner;
                }
            }
            '{' | '[' => open.push((letter, at)),
            '}' | ']' => {
                let (bracket, start) = open.pop()?;
                if (bracket == '{') != (letter == '}') {
                    return Some((bracket, start));
                }
                let (before, indent) = line_start(text, at);
                let is_less = before.trim().is_empty() && indent < line_start(text, start).1;
                if is_less && doubtful.is_none() {
                    doubtful = Some((bracket, start));
                }
            }
            _ => {}
        }
    }
    let last = open.pop()?;
    Some(doubtful.unwrap_or(last))
}

/// The part of a line before a place, and the number of its blanks.
fn line_start(text: &str, at: usize) -> (&str, usize) {
    let before = text.get(..at).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    (line, line.len() - line.trim_start().len())
}

#[cfg(test)]
mod tests {
    use super::unclosed;

    #[test]
    fn the_bracket_that_is_never_closed_is_found() {
        for (text, found) in [
            ("{}", None),
            ("{ \"a\": [1, {\"}\": 2}] } // {", None),
            ("/* { */ {\"\\\"{\": 1}", None),
            ("{ \"a\": {", Some(('{', 7))),
            ("{ \"a\": [1, 2 }", Some(('[', 7))),
            ("{\n  \"a\": {\n    \"b\": 1\n}\n", Some(('{', 9))),
            ("{\n  \"a\": {\n    \"b\": 1\n  }\n", Some(('{', 0))),
            ("}", None),
        ] {
            assert_eq!(unclosed(text), found, "{text}");
        }
    }
}
