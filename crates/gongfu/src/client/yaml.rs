//! YAML: a new entry is put in below the name that it belongs to, line by line.
//!
//! The parser of the core says where everything is. What it can't say, the end of a block, follows
//! from the indentation.

use gongfu_core::skill::yaml::{Kind, Node, parse};
use serde_json::{Map, Value};

use super::format::{Added, cut_with, nested};
use super::json::on_one_line;
use super::problem::Problem;
use super::splice::{
    Edit, begins_line, break_at, break_before, indent, line_end, line_start, newline, part,
    position, spliced,
};

#[cfg(test)]
mod tests;

const UNIT: &str = "  ";

type Pair = (Node, Node);

fn tree(text: &str) -> Result<Option<Node>, Problem> {
    let whole = parse(text).map_err(|error| {
        Problem::unparsable("YAML", &error.to_string(), position(text, error.offset()))
    })?;
    let ends = |line: &str| {
        ["---", "..."].iter().any(|mark| {
            line.strip_prefix(mark)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r']))
        })
    };
    // A second document, or an end that nothing may be put behind.
    let mut seen = false;
    for line in text.lines() {
        let content = !line.trim_start().is_empty() && !line.trim_start().starts_with(['#', '%']);
        if ends(line) && (seen || line.starts_with("...")) {
            return Err(Problem::unusual("the file, which has several documents,"));
        }
        seen |= content;
    }
    Ok(whole.filter(|node| !(node.is_null() && node.span.is_empty())))
}

/// The whole document as a value.
pub(super) fn read(text: &str) -> Result<Value, Problem> {
    Ok(tree(text)?.map_or_else(|| Value::Object(Map::new()), |node| node.to_json()))
}

fn line(text: &str, node: &Node) -> usize {
    position(text, node.span.start).0
}

/// The entry of a mapping that must not be there twice.
fn pair<'n>(
    text: &str,
    pairs: &'n [Pair],
    path: &[&str],
    name: &str,
) -> Result<Option<&'n Pair>, Problem> {
    let mut all = pairs.iter().filter(|(key, _)| key.as_text() == Some(name));
    match (all.next(), all.next()) {
        (Some((first, _)), Some((second, _))) => {
            let path: Vec<&str> = path.iter().copied().chain([name]).collect();
            Err(Problem::twice(&path, line(text, first), line(text, second)))
        }
        (first, _) => Ok(first),
    }
}

/// What a path leads to.
struct Place<'n> {
    /// The entry whose value the place is; none for the root.
    key: Option<&'n Node>,
    value: &'n Node,
    /// What is in it; none where nothing is written.
    pairs: &'n [Pair],
    /// How many names of the path led here.
    found: usize,
}

fn place<'n>(text: &str, root: &'n Node, path: &[&str]) -> Result<Place<'n>, Problem> {
    let mut place = Place {
        key: None,
        value: root,
        pairs: &[],
        found: 0,
    };
    loop {
        let shown = path.get(..place.found).unwrap_or_default();
        place.pairs = match &place.value.kind {
            Kind::Mapping(pairs) => pairs,
            // A name with nothing behind it, or null, holds no entries yet.
            Kind::Scalar { .. } if place.found > 0 && place.value.is_null() => &[],
            Kind::Scalar { text, plain: true } if text.is_empty() => &[],
            Kind::Scalar { .. } => {
                return Err(Problem::shape(
                    shown,
                    "a single value",
                    line(text, place.value),
                ));
            }
            Kind::Sequence(_) => {
                return Err(Problem::shape(shown, "a list", line(text, place.value)));
            }
        };
        let Some(name) = path.get(place.found) else {
            return Ok(place);
        };
        let Some((key, value)) = pair(text, place.pairs, shown, name)? else {
            return Ok(place);
        };
        place.key = Some(key);
        place.value = value;
        place.found += 1;
    }
}

/// Whether whatever is on the way to a name is there once and holds names.
pub(super) fn check(text: &str, path: &[&str], name: &str) -> Result<(), Problem> {
    if let Some(root) = tree(text)? {
        let place = place(text, &root, path)?;
        if place.found == path.len() {
            pair(text, place.pairs, path, name)?;
        }
    }
    Ok(())
}

fn is_flow(text: &str, node: &Node) -> bool {
    part(text, node.span.start..text.len()).starts_with('{')
}

/// Puts an entry in: below the name that it belongs to, or at the end of the file with that name.
pub(super) fn insert(
    text: &str,
    path: &[&str],
    name: &str,
    value: &Value,
) -> Result<(String, Added), Problem> {
    let root = tree(text)?;
    let Some(root) = root else {
        return Ok(appended(text, path, name, value, true));
    };
    let place = place(text, &root, path)?;
    let missing = path.get(place.found..).unwrap_or_default();
    let (name, value) = match missing.split_first() {
        None => (name.to_owned(), value.clone()),
        Some((first, rest)) => ((*first).to_owned(), nested(rest, name, value)),
    };
    let mut added = Added {
        names: missing.iter().map(|&name| name.to_owned()).collect(),
        ..Added::default()
    };
    if is_flow(text, place.value) {
        let entry = format!("{}: {}", Value::from(name), on_one_line(&value));
        let start = place.value.span.start + 1;
        let edit = match place.pairs.last() {
            Some((_, last)) => Edit::insert(flow_end(text, last), format!(", {entry}")),
            None => Edit::insert(start, entry),
        };
        return Ok((spliced(text, vec![edit]), added));
    }
    let line_break = newline(text);
    let Some(key) = place.key else {
        let (new, at_end) = appended(text, &[], &name, &value, false);
        added.lead = at_end.lead;
        added.trail = at_end.trail;
        return Ok((new, added));
    };
    // Right below the name, so that a comment above the first entry stays with that entry.
    let outer = indent(text, key.span.start);
    let within = match place.pairs.first() {
        Some((first, _)) if begins_line(text, first.span.start) => {
            indent(text, first.span.start).to_owned()
        }
        Some(_) => return Err(Problem::unusual(&format!("`{}`", path.join(".")))),
        None => format!("{outer}{}", unit(text, &root)),
    };
    let lines = block(&name, &value, &within, unit(text, &root), line_break);
    let at = line_end(text, key.span.end);
    let mut edits = vec![Edit::insert(at, format!("{line_break}{lines}"))];
    let null = &place.value.span;
    if place.pairs.is_empty() && !null.is_empty() {
        if null.end > at {
            return Err(Problem::unusual(&format!("`{}`", path.join("."))));
        }
        edits.push(Edit::cut(null.clone()));
        added.null = Some(part(text, key.span.end..null.end).to_owned());
    }
    Ok((spliced(text, edits), added))
}

/// Gives a name that holds nothing again the null that stood behind it.
fn restore(text: String, path: &[&str], null: &str) -> Result<String, Problem> {
    let Some(root) = tree(&text)? else {
        return Ok(text);
    };
    let place = place(&text, &root, path)?;
    let Some(key) = place.key.filter(|_| place.found == path.len()) else {
        return Ok(text);
    };
    let word = null.rfind([' ', '\t', ':']).map_or(0, |before| before + 1);
    let (between, word) = (part(null, 0..word), part(null, word..null.len()));
    let rest = part(&text, key.span.end..text.len());
    if !place.pairs.is_empty() || !place.value.span.is_empty() || !rest.starts_with(between) {
        return Ok(text);
    }
    let edit = Edit::insert(key.span.end + between.len(), word);
    Ok(spliced(&text, vec![edit]))
}

/// Where a value inside of a flow collection ends; of a collection only the last item is known.
fn flow_end(text: &str, node: &Node) -> usize {
    let inner = match &node.kind {
        Kind::Mapping(pairs) => pairs.last().map(|(_, value)| value),
        Kind::Sequence(items) => items.last(),
        Kind::Scalar { .. } => return node.span.end,
    };
    let from = inner.map_or(node.span.start + 1, |inner| flow_end(text, inner));
    let close = if matches!(node.kind, Kind::Mapping(_)) {
        '}'
    } else {
        ']'
    };
    let rest = part(text, from..text.len());
    rest.find(close).map_or(from, |at| from + at + 1)
}

/// What stands before the first nested line of a file.
fn unit<'t>(text: &'t str, root: &Node) -> &'t str {
    let Kind::Mapping(pairs) = &root.kind else {
        return UNIT;
    };
    pairs
        .iter()
        .filter_map(|(_, value)| match &value.kind {
            Kind::Mapping(inner) if !is_flow(text, value) => inner.first(),
            _ => None,
        })
        .map(|(key, _)| indent(text, key.span.start))
        .find(|unit| !unit.is_empty())
        .unwrap_or(UNIT)
}

/// The text with an entry at its end.
fn appended(text: &str, path: &[&str], name: &str, value: &Value, root: bool) -> (String, Added) {
    let line_break = newline(text);
    let ends = text.is_empty() || text.ends_with('\n');
    let (lead, trail) = if ends {
        ("", line_break)
    } else {
        (line_break, "")
    };
    let (name, value) = match path.split_first() {
        None => (name, value.clone()),
        Some((first, rest)) => (*first, nested(rest, name, value)),
    };
    let lines = block(name, &value, "", UNIT, line_break);
    let added = Added {
        names: path.iter().map(|&name| name.to_owned()).collect(),
        root,
        lead: lead.to_owned(),
        trail: trail.to_owned(),
        ..Added::default()
    };
    (format!("{text}{lead}{lines}{trail}"), added)
}

/// An entry as lines, without the last line break.
fn block(name: &str, value: &Value, indent: &str, unit: &str, line_break: &str) -> String {
    let name = scalar(name);
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let within = format!("{indent}{unit}");
            let lines: Vec<String> = fields
                .iter()
                .map(|(name, value)| block(name, value, &within, unit, line_break))
                .collect();
            format!("{indent}{name}:{line_break}{}", lines.join(line_break))
        }
        Value::Array(items) if !items.is_empty() => {
            let lines: Vec<String> = items
                .iter()
                .map(|item| format!("{line_break}{indent}{unit}- {}", inline(item)))
                .collect();
            format!("{indent}{name}:{}", lines.concat())
        }
        other => format!("{indent}{name}: {}", inline(other)),
    }
}

fn inline(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        other => on_one_line(other),
    }
}

/// A text without quotes where nothing could take it for something else.
fn scalar(text: &str) -> String {
    let words = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let begins =
        text.starts_with(|first: char| first.is_ascii_alphabetic() || "/_".contains(first));
    let plain = begins
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"/_.-".contains(&byte))
        && !words.iter().any(|word| text.eq_ignore_ascii_case(word));
    if plain {
        text.to_owned()
    } else {
        Value::from(text).to_string()
    }
}

/// Takes an entry out, and the names that were put in for it and hold nothing any more.
pub(super) fn remove(
    text: &str,
    path: &[&str],
    name: &str,
    added: &Added,
) -> Result<String, Problem> {
    let kept = path.len().saturating_sub(added.names.len());
    let mut text = text.to_owned();
    let mut name = name;
    let mut level = path.len();
    loop {
        let Some(root) = tree(&text)? else {
            return Ok(text);
        };
        let outer = path.get(..level).unwrap_or_default();
        let place = place(&text, &root, outer)?;
        let found = pair(&text, place.pairs, outer, name)?;
        let Some(found) = found.filter(|_| place.found == outer.len()) else {
            return Ok(text);
        };
        let top = level == kept;
        text = if is_flow(&text, place.value) {
            without(&text, &place, found)
        } else {
            let ends = if top { added } else { &Added::default() };
            let (start, end) = lines(&text, &found.0);
            if place.key.is_some() {
                // It was put behind the line of its name, line break first.
                let before = break_before(&text, start);
                spliced(&text, vec![Edit::cut(start - before..end)])
            } else {
                cut_with(&text, start..end, ends)
            }
        };
        if top {
            return match &added.null {
                Some(null) => restore(text, outer, null),
                None => Ok(text),
            };
        }
        level -= 1;
        name = path.get(level).copied().unwrap_or_default();
        if !holds_nothing(&text, path.get(..level).unwrap_or_default(), name)? {
            return Ok(text);
        }
    }
}

/// Whether a name is there with nothing behind or below it, no comment either.
fn holds_nothing(text: &str, path: &[&str], name: &str) -> Result<bool, Problem> {
    let Some(root) = tree(text)? else {
        return Ok(false);
    };
    let place = place(text, &root, path)?;
    let Some((key, value)) = pair(text, place.pairs, path, name)? else {
        return Ok(false);
    };
    let empty = match &value.kind {
        Kind::Mapping(pairs) => pairs.is_empty(),
        Kind::Scalar { text, plain: true } => text.is_empty(),
        _ => false,
    };
    let rest = part(text, key.span.end..line_end(text, key.span.end));
    let below = part(text, line_end(text, key.span.end)..text.len());
    let own = indent(text, key.span.start).len();
    let comment_below = below
        .trim_start_matches(['\r', '\n'])
        .lines()
        .next()
        .is_some_and(|line| {
            let deep = line.len() - line.trim_start().len();
            deep > own && line.trim_start().starts_with('#')
        });
    Ok(empty && !rest.contains('#') && !comment_below)
}

/// From the line of a key to the last line of what it holds, without its line break.
fn lines(text: &str, key: &Node) -> (usize, usize) {
    let start = line_start(text, key.span.start);
    let own = indent(text, key.span.start).len();
    let mut end = line_end(text, key.span.start);
    let mut at = end + break_at(text, end);
    while at < text.len() {
        let stop = line_end(text, at);
        let line = part(text, at..stop);
        let content = line.trim_start();
        let deep = line.len() - content.len();
        if !content.is_empty() && !content.starts_with('#') {
            if deep <= own {
                break;
            }
            end = stop;
        }
        let next = stop + break_at(text, stop);
        if next == at {
            break;
        }
        at = next;
    }
    (start, end)
}

/// Takes an entry out of a collection in braces, with the comma that it needed.
fn without(text: &str, place: &Place<'_>, found: &Pair) -> String {
    let (key, value) = found;
    let end = flow_end(text, value);
    let before = place
        .pairs
        .iter()
        .filter(|(other, _)| other.span.start < key.span.start)
        .map(|(_, value)| flow_end(text, value))
        .max();
    let cut = if let Some(before) = before {
        before..end
    } else {
        let rest = part(text, end..text.len());
        let blank = rest.len() - rest.trim_start().len();
        let comma = rest.trim_start().starts_with(',');
        key.span.start..if comma { end + blank + 1 } else { end }
    };
    spliced(text, vec![Edit::cut(cut)])
}

/// Writes another value for an entry that is there.
pub(super) fn replace(
    text: &str,
    path: &[&str],
    name: &str,
    value: &Value,
) -> Result<String, Problem> {
    let Some(root) = tree(text)? else {
        return Ok(text.to_owned());
    };
    let place = place(text, &root, path)?;
    let old = pair(text, place.pairs, path, name)?.map(|(_, old)| old);
    if let Some(old) = old
        && matches!(old.kind, Kind::Scalar { .. })
        && !value.is_object()
        && !value.is_array()
        && !old.span.is_empty()
        && !part(text, old.span.clone()).contains('\n')
    {
        let edit = Edit {
            range: old.span.clone(),
            text: inline(value),
        };
        return Ok(spliced(text, vec![edit]));
    }
    let without = remove(text, path, name, &Added::default())?;
    Ok(insert(&without, path, name, value)?.0)
}
