//! Changes one setting in the text of a settings file; everything else stays, comments included.

use serde_json::Value as Json;
use toml_edit::{Array, Document, DocumentMut, Item, Table, TableLike, Value};

use super::check::Mistake;
use super::key::{Kind, Setting};
use crate::failure::Failure;

/// The value that words of a command line mean for a setting.
///
/// # Errors
/// They mean none.
pub(crate) fn value(setting: &Setting, words: &[String]) -> Result<Value, Failure> {
    let key = &setting.key;
    let wrong = || {
        let message = format!("`{key}` must be {}", setting.kind.about());
        let hint = setting.hint();
        Failure::new("CONFIG_VALUE", message, hint)
    };
    if let (Kind::List, [list]) = (&setting.kind, words)
        && list.trim_start().starts_with('[')
    {
        let list: Value = list.parse().map_err(|_| wrong())?;
        return Ok(list);
    }
    if let (Kind::Table | Kind::Lists | Kind::Prices, [table]) = (&setting.kind, words) {
        let table: Value = table.parse().map_err(|_| wrong())?;
        return table.is_inline_table().then_some(table).ok_or_else(wrong);
    }
    match (&setting.kind, words) {
        (Kind::List, words) => Ok(Value::Array(
            words.iter().map(String::as_str).collect::<Array>(),
        )),
        (Kind::Truth, [word]) => word.parse::<bool>().map(Value::from).map_err(|_| wrong()),
        (Kind::Number(_), [word]) => word.parse::<i64>().map(Value::from).map_err(|_| wrong()),
        (Kind::Text | Kind::Choice(_), [word]) => Ok(Value::from(word.as_str())),
        _ => Err(wrong()),
    }
}

/// A value as it is written in the file.
pub(crate) fn shown(value: &Json) -> String {
    let value = serde::Serialize::serialize(value, toml_edit::ser::ValueSerializer::new());
    value.map_or_else(
        |_| String::new(),
        |value| value.to_string().trim().to_owned(),
    )
}

/// The text with another value of a setting, or without it.
///
/// # Errors
/// The text isn't TOML, or something else is where the setting's section belongs.
pub(super) fn edited(text: &str, key: &str, value: Option<&Value>) -> Result<String, Mistake> {
    let broken = |error: toml_edit::TomlError| {
        Mistake::of_format(error.message(), error.span().unwrap_or_default())
    };
    let path: Vec<&str> = key.split('.').collect();
    let Some(value) = value else {
        return removed(text, &path).map_err(broken);
    };
    let mut document: DocumentMut = text.parse().map_err(broken)?;
    put(&mut document, &path, value).ok_or_else(|| {
        let message = format!("something else is written where `{key}` belongs");
        Mistake::of_format(&message, 0..0)
    })?;
    Ok(document.to_string())
}

fn put(document: &mut DocumentMut, path: &[&str], value: &Value) -> Option<()> {
    let (name, above) = path.split_last()?;
    let is_empty = document.as_table().is_empty();
    let trailing = document.trailing().as_str().unwrap_or_default().to_owned();
    let mut is_new = false;
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for (depth, name) in above.iter().enumerate() {
        let item = table.entry(name).or_insert_with(|| {
            is_new = true;
            let mut section = Table::new();
            section.set_implicit(depth + 1 < above.len());
            // Last in the file, below the comments at its end: what somebody uncomments there must not become a
            // part of this section.
            section.set_position(Some(isize::MAX));
            let space = if is_empty && trailing.trim().is_empty() {
                ""
            } else {
                "\n"
            };
            section.decor_mut().set_prefix(format!("{trailing}{space}"));
            Item::Table(section)
        });
        table = item.as_table_like_mut()?;
    }
    match table.get_mut(name) {
        Some(Item::Value(old)) => {
            let mut new = value.clone();
            *new.decor_mut() = old.decor().clone();
            *old = new;
        }
        Some(_) => return None,
        None => {
            table.insert(name, Item::Value(value.clone()));
        }
    }
    if is_new {
        document.set_trailing("");
    }
    Some(())
}

/// The text without the lines of a setting.
fn removed(text: &str, path: &[&str]) -> Result<String, toml_edit::TomlError> {
    let document = Document::parse(text)?;
    let Some((name, above)) = path.split_last() else {
        return Ok(text.to_owned());
    };
    let root: Option<&dyn TableLike> = Some(document.as_table());
    let section = above
        .iter()
        .fold(root, |table, name| table?.get(name)?.as_table_like());
    let Some((key, item)) = section.and_then(|section| section.get_key_value(name)) else {
        return Ok(text.to_owned());
    };
    let is_inline = above
        .iter()
        .try_fold(document.as_item(), |item, name| item.get(name));
    let is_inline = is_inline.is_some_and(Item::is_inline_table);
    if let (Some(key), Some(value), false) = (key.span(), item.span(), is_inline) {
        let start = text.get(..key.start).and_then(|before| before.rfind('\n'));
        let end = text.get(value.end..).and_then(|after| after.find('\n'));
        let start = start.map_or(0, |at| at + 1);
        let end = end.map_or(text.len(), |at| value.end + at + 1);
        let (before, after) = (text.get(..start), text.get(end..));
        return Ok([before, after].into_iter().flatten().collect());
    }
    let mut document: DocumentMut = text.parse()?;
    let root: &mut dyn TableLike = document.as_table_mut();
    let section = above
        .iter()
        .try_fold(root, |table, name| table.get_mut(name)?.as_table_like_mut());
    section.and_then(|section| section.remove(name));
    Ok(document.to_string())
}
