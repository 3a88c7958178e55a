//! JSON, and what people and editors make of it: comments and trailing commas stay.
//!
//! `jsonc-parser` says where everything is; the text is changed only where it must be.

use jsonc_parser::ast::{Object, ObjectProp, Value as Node};
use jsonc_parser::common::Ranged;
use jsonc_parser::tokens::{Token, TokenAndRange};
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};
use serde_json::{Map, Number, Value};

use super::format::{Added, cut_with, nested};
use super::problem::Problem;
use super::splice::{Edit, begins_line, indent, newline, part, position, spliced};

mod render;
#[cfg(test)]
mod tests;

pub(super) use render::on_one_line;
use render::{Layout, rendered};

/// What a file without any indentation of its own is indented with.
const UNIT: &str = "  ";

/// A text with the places of everything in it.
struct Tree<'t> {
    text: &'t str,
    root: Option<Node<'t>>,
    tokens: Vec<TokenAndRange<'t>>,
}

impl<'t> Tree<'t> {
    fn new(text: &'t str) -> Result<Self, Problem> {
        let collect = CollectOptions {
            comments: CommentCollectionStrategy::AsTokens,
            tokens: true,
        };
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
        let parsed = parse_to_ast(text, &collect, &options).map_err(|error| {
            let place = position(text, error.range().start);
            Problem::unparsable("JSON", &error.kind().to_string(), place)
        })?;
        Ok(Self {
            text,
            root: parsed.value,
            tokens: parsed.tokens.unwrap_or_default(),
        })
    }

    fn line(&self, at: usize) -> usize {
        position(self.text, at).0
    }

    /// The object at a path as far as it is there, and how many names of the path lead to it.
    fn object(&self, path: &[&str]) -> Result<Option<(&Object<'t>, usize)>, Problem> {
        let Some(mut node) = self.root.as_ref() else {
            return Ok(None);
        };
        let mut found = 0;
        loop {
            let shown = path.get(..found).unwrap_or_default();
            let Node::Object(object) = node else {
                return Err(Problem::shape(shown, kind(node), self.line(node.start())));
            };
            let Some(name) = path.get(found) else {
                return Ok(Some((object, found)));
            };
            match self.property(object, shown, name)? {
                // Null holds no entries yet.
                Some(property) if is_null(property) => return Ok(Some((object, found))),
                Some(property) => node = &property.value,
                None => return Ok(Some((object, found))),
            }
            found += 1;
        }
    }

    /// A property that must not be there twice.
    fn property<'o>(
        &self,
        object: &'o Object<'t>,
        path: &[&str],
        name: &str,
    ) -> Result<Option<&'o ObjectProp<'t>>, Problem> {
        let mut all = object
            .properties
            .iter()
            .filter(|property| property.name.as_str() == name);
        match (all.next(), all.next()) {
            (Some(first), Some(second)) => {
                let path: Vec<&str> = path.iter().copied().chain([name]).collect();
                let lines = (self.line(first.start()), self.line(second.start()));
                Err(Problem::twice(&path, lines.0, lines.1))
            }
            (first, _) => Ok(first),
        }
    }

    /// The property at the end of a path, with the object that it is in.
    fn entry(
        &self,
        path: &[&str],
        name: &str,
    ) -> Result<Option<(&Object<'t>, &ObjectProp<'t>)>, Problem> {
        match self.object(path)? {
            Some((object, found)) if found == path.len() => {
                let property = self.property(object, path, name)?;
                Ok(property.map(|property| (object, property)))
            }
            _ => Ok(None),
        }
    }

    /// The last token, comments included, that ends before a place.
    fn before(&self, at: usize) -> Option<&TokenAndRange<'t>> {
        let index = self.tokens.partition_point(|token| token.range.end <= at);
        self.tokens.get(index.checked_sub(1)?)
    }

    /// The same without comments.
    fn significant_before(&self, at: usize) -> Option<&TokenAndRange<'t>> {
        let index = self.tokens.partition_point(|token| token.range.end <= at);
        let before = self.tokens.get(..index)?;
        before.iter().rev().find(|token| !is_comment(token))
    }

    /// The first token behind a place that is no comment.
    fn significant_after(&self, at: usize) -> Option<&TokenAndRange<'t>> {
        let index = self.tokens.partition_point(|token| token.range.start < at);
        let after = self.tokens.get(index..)?;
        after.iter().find(|token| !is_comment(token))
    }

    /// What the file indents one level with.
    fn unit(&self) -> &'t str {
        let first = match &self.root {
            Some(Node::Object(object)) => object.properties.first(),
            _ => None,
        };
        first
            .filter(|first| begins_line(self.text, first.start()))
            .map(|first| indent(self.text, first.start()))
            .filter(|unit| !unit.is_empty())
            .unwrap_or(UNIT)
    }

    /// What stands between the braces of an object.
    fn inside(&self, object: &Object<'t>) -> &'t str {
        part(
            self.text,
            object.start() + 1..object.end().saturating_sub(1),
        )
    }

    fn has_comment(&self, object: &Object<'t>) -> bool {
        self.tokens.iter().any(|token| {
            is_comment(token)
                && token.range.start > object.start()
                && token.range.end < object.end()
        })
    }
}

fn is_comment(token: &TokenAndRange<'_>) -> bool {
    matches!(token.token, Token::CommentLine(_) | Token::CommentBlock(_))
}

fn is_null(property: &ObjectProp<'_>) -> bool {
    matches!(property.value, Node::NullKeyword(_))
}

fn kind(node: &Node<'_>) -> &'static str {
    match node {
        Node::Object(_) => "an object",
        Node::Array(_) => "a list",
        Node::StringLit(_) => "a text",
        Node::NumberLit(_) => "a number",
        Node::BooleanLit(_) => "true or false",
        Node::NullKeyword(_) => "null",
    }
}

/// The whole document as a value.
pub(super) fn read(text: &str) -> Result<Value, Problem> {
    let tree = Tree::new(text)?;
    Ok(tree
        .root
        .as_ref()
        .map_or_else(|| Value::Object(Map::new()), value_of))
}

fn value_of(node: &Node<'_>) -> Value {
    match node {
        Node::Object(object) => Value::Object(
            object
                .properties
                .iter()
                .map(|property| (property.name.as_str().to_owned(), value_of(&property.value)))
                .collect(),
        ),
        Node::Array(array) => Value::Array(array.elements.iter().map(value_of).collect()),
        Node::StringLit(text) => Value::String(text.value.to_string()),
        // A number beyond what can be told is compared as it is written.
        Node::NumberLit(number) => number
            .value
            .parse::<Number>()
            .map_or_else(|_| Value::String(number.value.to_owned()), Value::Number),
        Node::BooleanLit(truth) => Value::Bool(truth.value),
        Node::NullKeyword(_) => Value::Null,
    }
}

/// Whether whatever is on the way to a name is there once and an object.
pub(super) fn check(text: &str, path: &[&str], name: &str) -> Result<(), Problem> {
    Tree::new(text)?.entry(path, name).map(|_| ())
}

/// Puts a property in, as the last one of its object.
pub(super) fn insert(
    text: &str,
    path: &[&str],
    name: &str,
    value: &Value,
) -> Result<(String, Added), Problem> {
    let tree = Tree::new(text)?;
    let line_break = newline(text);
    let Some((object, found)) = tree.object(path)? else {
        let ends = text.is_empty() || text.ends_with('\n');
        let (lead, trail) = if ends {
            ("", line_break)
        } else {
            (line_break, "")
        };
        let whole = nested(path, name, value);
        let shown = rendered(
            &whole,
            &Layout {
                line_break,
                unit: UNIT,
                indent: "",
            },
        );
        let added = Added {
            names: path.iter().map(|&name| name.to_owned()).collect(),
            root: true,
            lead: lead.to_owned(),
            trail: trail.to_owned(),
            ..Added::default()
        };
        return Ok((format!("{text}{lead}{shown}{trail}"), added));
    };
    let missing = path.get(found..).unwrap_or_default();
    if let Some((first, rest)) = missing.split_first()
        && let Some(null) = tree.property(object, path.get(..found).unwrap_or_default(), first)?
    {
        let added = Added {
            names: rest.iter().map(|&name| name.to_owned()).collect(),
            null: Some(part(text, null.value.start()..null.value.end()).to_owned()),
            ..Added::default()
        };
        let edit = tree.rewritten(object, null, &nested(rest, name, value));
        return Ok((spliced(text, vec![edit]), added));
    }
    let empty = object.properties.is_empty();
    let added = Added {
        names: missing.iter().map(|&name| name.to_owned()).collect(),
        inside: empty.then(|| tree.inside(object).to_owned()),
        ..Added::default()
    };
    let edits = match missing.split_first() {
        None => tree.appended(object, name, value),
        Some((first, rest)) => tree.appended(object, first, &nested(rest, name, value)),
    };
    Ok((spliced(text, edits), added))
}

impl Tree<'_> {
    /// The edits that put a property behind the last one of an object.
    fn appended(&self, object: &Object<'_>, name: &str, value: &Value) -> Vec<Edit> {
        let text = self.text;
        let line_break = newline(text);
        let close = object.end().saturating_sub(1);
        let last = object.properties.last();
        // Behind the last comment, so that it stays with what it is about.
        let at = self.before(close).map_or(close, |token| token.range.end);
        let outer = indent(text, object.start()).to_owned();
        let within = match last {
            Some(last) if begins_line(text, last.start()) => indent(text, last.start()).to_owned(),
            _ => format!("{outer}{}", self.unit()),
        };
        let name = Value::from(name);
        let lines = last.is_none() || self.inside(object).contains('\n');
        if !lines {
            let trailing = self.trailing_comma(close);
            let (before, behind) = if trailing { ("", ",") } else { (",", "") };
            let place = last.map_or(at, Ranged::end);
            let entry = format!(" {name}: {}{behind}", on_one_line(value));
            return vec![Edit::insert(place, before), Edit::insert(at, entry)];
        }
        let layout = Layout {
            line_break,
            unit: self.unit(),
            indent: &within,
        };
        let entry = format!("{line_break}{within}{name}: {}", rendered(value, &layout));
        let Some(last) = last else {
            let closing = if part(text, at..close).contains('\n') {
                String::new()
            } else {
                format!("{line_break}{outer}")
            };
            return vec![Edit::insert(at, entry + &closing)];
        };
        if self.trailing_comma(close) {
            vec![Edit::insert(at, entry + ",")]
        } else {
            vec![Edit::insert(last.end(), ","), Edit::insert(at, entry)]
        }
    }

    /// The edit that gives a property of an object another value.
    fn rewritten(&self, object: &Object<'_>, property: &ObjectProp<'_>, value: &Value) -> Edit {
        let flat = !self.inside(object).contains('\n');
        let text = if flat {
            on_one_line(value)
        } else {
            let layout = Layout {
                line_break: newline(self.text),
                unit: self.unit(),
                indent: indent(self.text, property.start()),
            };
            rendered(value, &layout)
        };
        Edit {
            range: property.value.start()..property.value.end(),
            text,
        }
    }

    fn trailing_comma(&self, close: usize) -> bool {
        self.significant_before(close)
            .is_some_and(|token| token.token == Token::Comma)
    }

    /// The edits that take a property out, with the comma that it needed.
    fn without(&self, property: &ObjectProp<'_>) -> Vec<Edit> {
        let text = self.text;
        let (start, end) = (property.start(), property.end());
        let before = self.before(start);
        let mut cut = before.map_or(start, |token| token.range.end)..end;
        let after = self.significant_after(end);
        let mut edits = Vec::new();
        match after {
            Some(comma) if comma.token == Token::Comma => {
                if part(text, end..comma.range.start).trim().is_empty() {
                    cut.end = comma.range.end;
                } else {
                    edits.push(Edit::cut(comma.range.start..comma.range.end));
                }
            }
            _ => {
                if let Some(comma) = self.significant_before(start)
                    && comma.token == Token::Comma
                {
                    edits.push(Edit::cut(comma.range.start..comma.range.end));
                }
            }
        }
        // What follows in the same line must not become a part of a comment before it.
        let rest = part(text, cut.end..text.len());
        let rest = part(rest, 0..rest.find('\n').unwrap_or(rest.len()));
        if before.is_some_and(|token| matches!(token.token, Token::CommentLine(_)))
            && !rest.trim().is_empty()
        {
            let blank = rest.len() - rest.trim_start().len();
            cut = start..cut.end + blank;
        }
        edits.push(Edit::cut(cut));
        edits
    }
}

/// Takes a property out, and the objects that were made for it and hold nothing any more.
pub(super) fn remove(
    text: &str,
    path: &[&str],
    name: &str,
    added: &Added,
) -> Result<String, Problem> {
    let tree = Tree::new(text)?;
    let Some((_, property)) = tree.entry(path, name)? else {
        return Ok(text.to_owned());
    };
    let mut text = spliced(text, tree.without(property));
    let kept = path.len().saturating_sub(added.names.len());
    let mut level = path.len();
    while level > kept {
        let tree = Tree::new(&text)?;
        let (outer, inner) = (path.get(..level - 1), path.get(level - 1));
        let (Some(outer), Some(inner)) = (outer, inner) else {
            break;
        };
        let Some((_, property)) = tree.entry(outer, inner)? else {
            break;
        };
        let Node::Object(object) = &property.value else {
            break;
        };
        if !object.properties.is_empty() || tree.has_comment(object) {
            return Ok(text);
        }
        let edits = tree.without(property);
        text = spliced(&text, edits);
        level -= 1;
    }
    restore(text, path.get(..kept).unwrap_or_default(), added)
}

/// Gives an object that is empty again what stood between its braces, or in its place; takes away a
/// root that was made.
fn restore(text: String, path: &[&str], added: &Added) -> Result<String, Problem> {
    let tree = Tree::new(&text)?;
    let Some((object, found)) = tree.object(path)? else {
        return Ok(text);
    };
    if found < path.len() || !object.properties.is_empty() {
        return Ok(text);
    }
    if added.root {
        if tree.has_comment(object) {
            return Ok(text);
        }
        return Ok(cut_with(&text, object.start()..object.end(), added));
    }
    if let Some(null) = &added.null {
        if tree.has_comment(object) {
            return Ok(text);
        }
        let edit = Edit {
            range: object.start()..object.end(),
            text: null.clone(),
        };
        return Ok(spliced(&text, vec![edit]));
    }
    let Some(inside) = &added.inside else {
        return Ok(text);
    };
    let is = tree.inside(object);
    let same = is.split_whitespace().eq(inside.split_whitespace());
    if !same {
        return Ok(text);
    }
    let edit = Edit {
        range: object.start() + 1..object.end().saturating_sub(1),
        text: inside.clone(),
    };
    Ok(spliced(&text, vec![edit]))
}

/// Writes another value for a property that is there.
pub(super) fn replace(
    text: &str,
    path: &[&str],
    name: &str,
    value: &Value,
) -> Result<String, Problem> {
    let tree = Tree::new(text)?;
    let Some((object, property)) = tree.entry(path, name)? else {
        return Ok(text.to_owned());
    };
    let edit = tree.rewritten(object, property, value);
    Ok(spliced(text, vec![edit]))
}
