//! Every mistake in the text of a settings file, each with its place and its fix.
//!
//! Each value is read alone, by the code that reads the whole file: both accept the same.

use std::ops::Range;
use std::str::FromStr as _;

use gongfu_core::set::CapabilitySet;
use gongfu_server::{Address, PublicUrl};
use serde::{Deserialize as _, Serialize};
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::key::{self, Kind, Setting};
use super::{Config, ModelPrice};
use crate::terminal::plain;

/// A mistake in a settings file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Mistake {
    /// The setting that it is about; none where the text isn't TOML.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
    /// The fault.
    pub(crate) message: String,
    /// Advice.
    pub(crate) hint: String,
    /// Its place, in bytes.
    #[serde(skip)]
    pub(crate) span: Range<usize>,
}

impl Mistake {
    /// The text isn't TOML.
    pub(super) fn of_format(message: &str, span: Range<usize>) -> Self {
        Self {
            key: None,
            message: format!("not valid TOML: {}", plain(message)),
            hint: if message.contains("quoted") {
                "put the text in quotes: NAME = \"VALUE\"".to_owned()
            } else {
                "fix this line; each setting has a line of its own: NAME = VALUE".to_owned()
            },
            span,
        }
    }

    /// An array that isn't closed is found where the next line can't belong to it: it is to blame, not that line.
    fn blame_open_array(&mut self, text: &str) {
        if !self.message.contains("array") {
            return;
        }
        let before = text.get(..text.floor_char_boundary(self.span.start));
        let before = before.unwrap_or_default();
        let open = before
            .rfind('[')
            .filter(|open| !before[*open..].contains(']'));
        if let Some(open) = open.filter(|open| before[*open..].contains('\n')) {
            self.span = open..open + 1;
            "not valid TOML: the array is not closed".clone_into(&mut self.message);
            "close it with ] at the end of its line".clone_into(&mut self.hint);
        }
    }

    fn of(key: &str, span: Range<usize>, message: String, hint: String) -> Self {
        let (message, hint) = (plain(&message), plain(&hint));
        Self {
            key: Some(key.to_owned()),
            message,
            hint,
            span,
        }
    }

    /// The line that it begins in, from 1.
    pub(crate) fn line(&self, text: &str) -> usize {
        let before = text.get(..text.floor_char_boundary(self.span.start));
        before.unwrap_or_default().matches('\n').count() + 1
    }
}

/// Every mistake in a text, in its order.
pub(crate) fn mistakes(text: &str) -> Vec<Mistake> {
    let (table, errors) = DeTable::parse_recoverable(text);
    let errors = errors.iter();
    let mut found: Vec<Mistake> = errors
        .map(|error| Mistake::of_format(error.message(), error.span().unwrap_or_default()))
        .collect();
    // What follows on the same line follows from the first.
    found.sort_by_key(|mistake| mistake.span.start);
    found.dedup_by_key(|mistake| mistake.line(text));
    for mistake in &mut found {
        mistake.blame_open_array(text);
    }
    let broken: Vec<usize> = found.iter().map(|mistake| mistake.line(text)).collect();
    let mut walk = Walk {
        text,
        settings: key::settings(),
        found: Vec::new(),
    };
    walk.table(table.get_ref(), "");
    // What is read from a line that isn't TOML is a guess.
    found.extend(
        walk.found
            .into_iter()
            .filter(|one| !broken.contains(&one.line(text))),
    );
    found.sort_by_key(|mistake| mistake.span.start);
    found
}

struct Walk<'t> {
    text: &'t str,
    settings: Vec<Setting>,
    found: Vec<Mistake>,
}

impl Walk<'_> {
    fn table(&mut self, table: &DeTable<'_>, above: &str) {
        for (name, value) in table {
            let key = if above.is_empty() {
                name.get_ref().to_string()
            } else {
                format!("{above}.{}", name.get_ref())
            };
            let setting = self.settings.iter().find(|one| one.key == key).cloned();
            let is_section = self
                .settings
                .iter()
                .any(|one| key::is_below(&one.key, &key));
            match (setting, value.get_ref()) {
                (Some(setting), _) => self.value(&setting, value),
                (None, DeValue::Table(table)) if is_section => self.table(table, &key),
                (None, _) if is_section => {
                    let message = format!("`{key}` is a section, not a setting");
                    let hint =
                        format!("write [{key}] on a line of its own, and its settings below");
                    self.add(&key, name.span(), message, hint);
                }
                (None, _) => self.unknown(&key, name),
            }
        }
    }

    fn unknown(&mut self, key: &str, name: &Spanned<toml::de::DeString<'_>>) {
        let meant = key::meant(&self.settings, key);
        let hint = meant.map_or_else(String::new, |near| format!("did you mean `{near}`? "));
        let message = format!("there is no setting `{key}`");
        let hint = format!("{hint}remove it, or update gongfu if a newer version wrote it");
        self.add(key, name.span(), message, hint);
    }

    fn value(&mut self, setting: &Setting, value: &Spanned<DeValue<'_>>) {
        let key = &setting.key;
        let expects = || format!("write {key} = {}", example(&setting.kind));
        let is_of_kind = match (&setting.kind, value.get_ref()) {
            (Kind::Truth, DeValue::Boolean(_))
            | (Kind::Number(_), DeValue::Integer(_))
            | (Kind::Text | Kind::Choice(_), DeValue::String(_))
            | (Kind::Prices, DeValue::Table(_)) => true,
            (Kind::List, value) => is_list(value),
            (Kind::Table, DeValue::Table(items)) => {
                let mut values = items.values();
                values.all(|value| matches!(value.get_ref(), DeValue::String(_)))
            }
            (Kind::Lists, DeValue::Table(items)) => {
                let mut values = items.values();
                values.all(|value| is_list(value.get_ref()))
            }
            _ => false,
        };
        if !is_of_kind {
            let message = format!("`{key}` must be {}", setting.kind.about());
            return self.add(key, value.span(), message, expects());
        }
        // A table may have a header of its own, and can't be anything but strings.
        if setting.kind == Kind::Table {
            return;
        }
        if let (Kind::Lists, DeValue::Table(sets)) = (&setting.kind, value.get_ref()) {
            for (name, members) in sets {
                let members = texts(members.get_ref());
                if let Err(why) = CapabilitySet::new(members) {
                    let name = (name.get_ref(), name.span());
                    let hint = format!("write {} = [\"mcp.github\", \"skill.*\"]", name.0);
                    self.add(key, name.1, format!("`{key}.{}`: {why}", name.0), hint);
                }
            }
            return;
        }
        if let (Kind::Prices, DeValue::Table(prices)) = (&setting.kind, value.get_ref()) {
            for (name, price) in prices {
                let price = ModelPrice::deserialize(ValueDeserializer::from(price.clone()));
                if let Err(error) = price {
                    let message = format!("`{key}.{}`: {}", name.get_ref(), error.message());
                    self.add(key, name.span(), message, expects());
                }
            }
            return;
        }
        let written = self.text.get(value.span()).unwrap_or_default();
        let alone = toml::from_str::<Config>(&format!("{key} = {written}"));
        if let Err(error) = alone {
            let message = match &setting.kind {
                Kind::Choice(_) | Kind::Number(_) => {
                    format!("`{key}` must be {}", setting.kind.about())
                }
                _ => format!("`{key}` can't be used: {}", error.message()),
            };
            return self.add(key, value.span(), message, expects());
        }
        match (&setting.kind, value.get_ref()) {
            (Kind::Number(least), DeValue::Integer(number))
                if i64::from_str_radix(number.as_str(), number.radix())
                    .is_ok_and(|n| n < *least) =>
            {
                let message = format!("`{key}` must be {}", setting.kind.about());
                self.add(key, value.span(), message, expects());
            }
            (Kind::Text, DeValue::String(text)) => {
                let reason = match key.as_str() {
                    "server.listen" => Address::from_str(text).err().map(|why| why.to_string()),
                    "server.public_url" => {
                        PublicUrl::from_str(text).err().map(|why| why.to_string())
                    }
                    _ => None,
                };
                if let Some(reason) = reason {
                    let message = format!("`{key}` can't be used: {reason}");
                    self.add(key, value.span(), message, expects());
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, key: &str, span: Range<usize>, message: String, hint: String) {
        self.found.push(Mistake::of(key, span, message, hint));
    }
}

/// Returns true for a list of texts.
fn is_list(value: &DeValue<'_>) -> bool {
    let DeValue::Array(items) = value else {
        return false;
    };
    let mut items = items.iter();
    items.all(|item| matches!(item.get_ref(), DeValue::String(_)))
}

/// The texts of a list.
fn texts(list: &DeValue<'_>) -> Vec<String> {
    let DeValue::Array(items) = list else {
        return Vec::new();
    };
    let items = items.iter();
    let texts = items.filter_map(|item| match item.get_ref() {
        DeValue::String(text) => Some(text.to_string()),
        _ => None,
    });
    texts.collect()
}

fn example(kind: &Kind) -> String {
    match kind {
        Kind::Truth => "true".to_owned(),
        Kind::Number(least) => least.max(&1).to_string(),
        Kind::Text => "\"…\"".to_owned(),
        Kind::Choice(choices) => format!("{:?}", choices.first().map_or("", String::as_str)),
        Kind::List => "[\"…\"]".to_owned(),
        Kind::Table => "{ \"…\" = \"…\" }".to_owned(),
        Kind::Lists => "{ \"…\" = [\"…\"] }".to_owned(),
        Kind::Prices => key::PRICES.to_owned(),
    }
}
