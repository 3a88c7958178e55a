//! TOML: a new entry is a table at the end of the file, or one of an inline table.
//!
//! `toml_edit` says where everything is; the text is changed only where it must be, so that line
//! breaks and comments stay (its own writing makes one kind of line break of all).

use std::ops::Range;

use serde_json::{Map, Value};
use toml_edit::{Document, Item, Key, Table, TableLike};

use super::format::{Added, cut_with};
use super::problem::Problem;
use super::splice::{Edit, line_end, line_start, newline, part, position, spliced};

#[cfg(test)]
mod tests;

fn tree(text: &str) -> Result<Document<&str>, Problem> {
    Document::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        Problem::unparsable("TOML", error.message(), position(text, at))
    })
}

/// The whole document as a value.
pub(super) fn read(text: &str) -> Result<Value, Problem> {
    Ok(value_of(tree(text)?.as_item()))
}

fn value_of(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Table(table) => object_of(table),
        Item::ArrayOfTables(tables) => {
            Value::Array(tables.iter().map(|table| object_of(table)).collect())
        }
        Item::Value(value) => plain_of(value),
    }
}

fn object_of(table: &dyn TableLike) -> Value {
    let fields = table
        .iter()
        .map(|(name, item)| (name.to_owned(), value_of(item)));
    Value::Object(fields.collect::<Map<_, _>>())
}

fn plain_of(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => Value::String(text.value().clone()),
        toml_edit::Value::Integer(number) => Value::from(*number.value()),
        toml_edit::Value::Float(number) => serde_json::Number::from_f64(*number.value())
            .map_or_else(|| Value::String(number.value().to_string()), Value::Number),
        toml_edit::Value::Boolean(truth) => Value::Bool(*truth.value()),
        toml_edit::Value::Datetime(moment) => Value::String(moment.value().to_string()),
        toml_edit::Value::Array(items) => Value::Array(items.iter().map(plain_of).collect()),
        toml_edit::Value::InlineTable(table) => object_of(table),
    }
}

/// The table at a path as far as it is there.
fn table<'d>(
    text: &str,
    document: &'d Document<&str>,
    path: &[&str],
) -> Result<Option<&'d Item>, Problem> {
    let mut item = document.as_item();
    for (level, name) in path.iter().enumerate() {
        let Some(next) = item.get(name) else {
            return Ok(None);
        };
        if !next.is_table_like() {
            let at = next.span().map_or(0, |span| span.start);
            let shown = path.get(..=level).unwrap_or_default();
            return Err(Problem::shape(shown, kind(next), position(text, at).0));
        }
        item = next;
    }
    Ok(Some(item))
}

fn kind(item: &Item) -> &'static str {
    match item {
        Item::ArrayOfTables(_) => "a list of tables",
        Item::Value(toml_edit::Value::Array(_)) => "a list",
        Item::Value(toml_edit::Value::String(_)) => "a text",
        _ => "a single value",
    }
}

/// Whether whatever is on the way is a table.
pub(super) fn check(text: &str, path: &[&str]) -> Result<(), Problem> {
    table(text, &tree(text)?, path).map(|_| ())
}

/// Puts an entry in: a table of its own at the end, a line of a table, or a part of an inline table.
pub(super) fn insert(
    text: &str,
    path: &[&str],
    name: &str,
    value: &Value,
) -> Result<(String, Added), Problem> {
    let document = tree(text)?;
    let container = table(text, &document, path)?;
    let unusual = || Problem::unusual(&format!("`{}`", path.join(".")));
    match container {
        Some(Item::Value(toml_edit::Value::InlineTable(inline))) => {
            let entry = format!("{} = {}", key(name), inline_value(value));
            let last = inline
                .iter()
                .filter_map(|(_, item)| item.span())
                .map(|span| span.end)
                .max();
            let edit = match (last, inline.span()) {
                (Some(end), _) => Edit::insert(end, format!(", {entry}")),
                (None, Some(span)) => Edit::insert(span.start + 1, format!(" {entry} ")),
                (None, None) => return Err(unusual()),
            };
            let inside = match (last, inline.span()) {
                (None, Some(span)) => Some(part(text, span.start + 1..span.end - 1).to_owned()),
                _ => None,
            };
            let added = Added {
                inside,
                ..Added::default()
            };
            Ok((spliced(text, vec![edit]), added))
        }
        Some(Item::Table(table)) if !value.is_object() => {
            let at = own_end(text, table).ok_or_else(unusual)?;
            let line = format!("{}{} = {}", newline(text), key(name), inline_value(value));
            Ok((
                spliced(text, vec![Edit::insert(at, line)]),
                Added::default(),
            ))
        }
        _ => Ok(block(text, path, name, value)),
    }
}

/// A table at the end of the file.
fn block(text: &str, path: &[&str], name: &str, value: &Value) -> (String, Added) {
    let line_break = newline(text);
    let ends = text.ends_with('\n');
    let blank = text.trim().is_empty() || text.ends_with("\n\n") || text.ends_with("\r\n\r\n");
    let lead = match (text.is_empty(), ends) {
        (true, _) => String::new(),
        (false, true) if blank => String::new(),
        (false, true) => line_break.to_owned(),
        (false, false) => line_break.repeat(2),
    };
    let trail = if text.is_empty() || ends {
        line_break
    } else {
        ""
    };
    let names: Vec<String> = path.iter().chain([&name]).map(|name| key(name)).collect();
    let mut lines = vec![format!("[{}]", names.join("."))];
    if let Value::Object(fields) = value {
        lines.extend(
            fields
                .iter()
                .map(|(name, value)| format!("{} = {}", key(name), inline_value(value))),
        );
    }
    let new = format!("{text}{lead}{}{trail}", lines.join(line_break));
    let added = Added {
        lead,
        trail: trail.to_owned(),
        ..Added::default()
    };
    (new, added)
}

fn key(name: &str) -> String {
    Key::new(name).display_repr().into_owned()
}

fn inline_value(value: &Value) -> String {
    match value {
        Value::String(text) => toml_edit::Value::from(text.as_str())
            .to_string()
            .trim()
            .to_owned(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(inline_value).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{} = {}", key(name), inline_value(value)))
                .collect();
            format!("{{ {} }}", fields.join(", "))
        }
        other => other.to_string(),
    }
}

/// Where the last line of a table's header and own values ends.
fn own_end(text: &str, table: &Table) -> Option<usize> {
    let header = table.span().filter(|_| has_header(table))?;
    let mut end = header_end(text, header.start);
    let mut open: Vec<&Item> = table.iter().map(|(_, item)| item).collect();
    while let Some(item) = open.pop() {
        match item {
            Item::Value(value) => end = end.max(value.span()?.end),
            Item::Table(table) if table.is_dotted() => {
                open.extend(table.iter().map(|(_, item)| item));
            }
            _ => {}
        }
    }
    Some(line_end(text, end))
}

fn header_end(text: &str, start: usize) -> usize {
    line_end(text, start)
}

fn has_header(table: &Table) -> bool {
    !table.is_implicit() && !table.is_dotted()
}

/// Takes an entry out, whichever way it is written.
pub(super) fn remove(
    text: &str,
    path: &[&str],
    name: &str,
    added: &Added,
) -> Result<String, Problem> {
    let document = tree(text)?;
    let Some(container) = table(text, &document, path)? else {
        return Ok(text.to_owned());
    };
    let Some(entry) = container.get(name) else {
        return Ok(text.to_owned());
    };
    if let Item::Value(toml_edit::Value::InlineTable(inline)) = container {
        return without(text, inline, name, added);
    }
    let unusual = || Problem::unusual(&format!("`{}.{name}`", path.join(".")));
    let mut blocks = Vec::new();
    match entry {
        Item::Table(table) => collect(text, table, &mut blocks).ok_or_else(unusual)?,
        Item::Value(value) => {
            let container = container.as_table_like().ok_or_else(unusual)?;
            blocks.push(lines(text, container, name, value).ok_or_else(unusual)?);
        }
        _ => return Err(unusual()),
    }
    blocks.sort_by_key(|block| block.start);
    let mut text = text.to_owned();
    // From the last one up, so that the places of the others stay.
    let first = blocks.first().cloned();
    for block in blocks.into_iter().rev() {
        text = if first.as_ref() == Some(&block) && matches!(entry, Item::Table(_)) {
            cut_with(&text, block, added)
        } else {
            cut_with(&text, block, &Added::default())
        };
    }
    Ok(text)
}

/// The lines of a table and of those below it, each without its last line break.
fn collect(text: &str, table: &Table, blocks: &mut Vec<Range<usize>>) -> Option<()> {
    if has_header(table) {
        let start = line_start(text, table.span()?.start);
        blocks.push(start..own_end(text, table)?);
    }
    for (name, item) in table {
        match item {
            Item::Table(below) => collect(text, below, blocks)?,
            Item::ArrayOfTables(tables) => {
                for below in tables {
                    collect(text, below, blocks)?;
                }
            }
            // The values of a table with a header are in its block.
            Item::Value(value) if !has_header(table) => {
                blocks.push(lines(text, table, name, value)?);
            }
            _ => {}
        }
    }
    Some(())
}

/// The lines of one value of a table.
fn lines(
    text: &str,
    table: &dyn TableLike,
    name: &str,
    value: &toml_edit::Value,
) -> Option<Range<usize>> {
    let start = table.key(name)?.span()?.start;
    Some(line_start(text, start)..line_end(text, value.span()?.end))
}

/// Takes an entry out of an inline table, with the comma that it needed.
fn without(
    text: &str,
    inline: &toml_edit::InlineTable,
    name: &str,
    added: &Added,
) -> Result<String, Problem> {
    let unusual = || Problem::unusual(&format!("`{name}`"));
    let key = inline.key(name).and_then(Key::span).ok_or_else(unusual)?;
    let value = inline
        .get(name)
        .and_then(toml_edit::Value::span)
        .ok_or_else(unusual)?;
    let whole = inline.span().ok_or_else(unusual)?;
    if inline.len() == 1
        && let Some(inside) = &added.inside
    {
        let edit = Edit {
            range: whole.start + 1..whole.end - 1,
            text: inside.clone(),
        };
        return Ok(spliced(text, vec![edit]));
    }
    let before = inline
        .iter()
        .filter_map(|(_, item)| item.span())
        .map(|span| span.end)
        .filter(|end| *end <= key.start)
        .max();
    let cut = if let Some(end) = before {
        end..value.end
    } else {
        let rest = part(text, value.end..whole.end);
        let after = rest.len() - rest.trim_start().len();
        let comma = part(text, value.end + after..whole.end).starts_with(',');
        key.start..value.end + if comma { after + 1 } else { 0 }
    };
    // Between two values stands a comma; anything else, such as a comment, is somebody's.
    let gap = part(text, cut.start..key.start);
    if before.is_some() && gap.trim() != "," {
        return Err(unusual());
    }
    Ok(spliced(text, vec![Edit::cut(cut)]))
}

/// Writes another value for an entry that is there.
pub(super) fn replace(
    text: &str,
    path: &[&str],
    name: &str,
    value: &Value,
) -> Result<String, Problem> {
    let document = tree(text)?;
    let entry = table(text, &document, path)?.and_then(|container| container.get(name));
    if let Some(Item::Value(old)) = entry
        && let Some(range) = old.span()
    {
        let text_of = inline_value(value);
        return Ok(spliced(
            text,
            vec![Edit {
                range,
                text: text_of,
            }],
        ));
    }
    let without = remove(text, path, name, &Added::default())?;
    Ok(insert(&without, path, name, value)?.0)
}
