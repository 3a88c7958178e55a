//! TOML: an entry is a table at the end of the file, or a part of an inline table.

use serde::Serialize as _;
use serde_json::Value;
use toml_edit::ser::ValueSerializer;
use toml_edit::{Document as Spanned, DocumentMut, Item, Table, TableLike};

use super::document::Document;
use super::problem::{self, position};
use crate::failure::Failure;

pub(super) struct Toml(DocumentMut);

pub(super) fn parse(text: &str) -> Result<Toml, Failure> {
    let parsed = Spanned::parse(text.to_owned()).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        problem::unparsable("TOML", error.message(), position(text, start))
    })?;
    Ok(Toml(parsed.into_mut()))
}

impl Toml {
    /// The comments above the header of a table, and where they start.
    fn comments_above(&self, path: &[&str]) -> Option<(String, usize)> {
        let text = self.text();
        let spanned = Spanned::parse(&*text).ok()?;
        let range = item(&spanned, path)?.as_table()?.decor().prefix()?.span()?;
        let comments = text.get(range.clone())?.trim_end().to_owned();
        (!comments.is_empty()).then_some((comments, range.start))
    }
}

impl Document for Toml {
    fn value(&self) -> Value {
        toml_edit::de::from_str(&self.0.to_string()).unwrap_or_default()
    }

    fn lines(&self, path: &[&str]) -> Vec<usize> {
        let text = self.text();
        let spanned = Spanned::parse(&*text).ok();
        let span = spanned.and_then(|spanned| item(&spanned, path)?.span());
        let line = span.map(|span| position(&text, span.start).0);
        line.into_iter().collect()
    }

    fn set(&mut self, path: &[&str], value: &Value) -> Option<()> {
        let (name, above) = path.split_last()?;
        let trailing = self.0.trailing().as_str().unwrap_or_default().to_owned();
        let mut table: &mut dyn TableLike = self.0.as_table_mut();
        let mut is_inline = false;
        for name in above {
            let item = table.entry(name).or_insert_with(|| {
                let mut table = Table::new();
                table.set_implicit(true);
                Item::Table(table)
            });
            is_inline |= item.is_inline_table();
            table = item.as_table_like_mut()?;
        }
        if let Some(Item::Value(old)) = table.get_mut(name) {
            let mut new = inline(value)?;
            *new.decor_mut() = old.decor().clone();
            *old = new;
        } else if let (Value::Object(fields), false) = (value, is_inline) {
            let mut new = Table::new();
            for (name, value) in fields {
                new.insert(name, Item::Value(inline(value)?));
            }
            // Last in the file, with the comments at its end above it: what somebody uncomments
            // there must not become a part of this table.
            new.set_position(Some(isize::MAX));
            if !trailing.trim().is_empty() {
                let comments = trailing.trim_end();
                new.decor_mut().set_prefix(format!("{comments}\n\n"));
            }
            table.insert(name, Item::Table(new));
            self.0.set_trailing("");
        } else {
            table.insert(name, Item::Value(inline(value)?));
        }
        Some(())
    }

    fn remove(&mut self, path: &[&str]) -> Option<()> {
        let comments = self.comments_above(path);
        let (name, above) = path.split_last()?;
        let root: &mut dyn TableLike = self.0.as_table_mut();
        let table = above
            .iter()
            .try_fold(root, |table, name| table.get_mut(name)?.as_table_like_mut());
        table?.remove(name)?;
        // They may be about anything, so they stay.
        if let Some((comments, start)) = comments {
            let mut text = self.text();
            text.insert_str(start, &format!("{comments}\n"));
            self.0 = text.parse().ok()?;
        }
        Some(())
    }

    fn text(&self) -> String {
        self.0.to_string()
    }
}

fn item<'d>(document: &'d Spanned<&str>, path: &[&str]) -> Option<&'d Item> {
    path.iter()
        .try_fold(document.as_item(), |item, name| item.get(name))
}

/// A value on one line; none for null, which TOML doesn't have.
fn inline(value: &Value) -> Option<toml_edit::Value> {
    value.serialize(ValueSerializer::new()).ok()
}
