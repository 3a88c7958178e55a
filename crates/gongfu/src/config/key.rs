//! The settings by their keys, such as `sandbox.memory_mib`: from the schema, so that none is forgotten.

use gongfu_core::near;
use schemars::schema_for;
use serde_json::Value;

use super::Config;
use crate::failure::Failure;

/// Names that other programs have for settings.
const SYNONYMS: [(&str, &str); 9] = [
    ("port", "server.listen"),
    ("host", "server.listen"),
    ("bind", "server.listen"),
    ("address", "server.listen"),
    ("url", "server.public_url"),
    ("memory", "sandbox.memory_mib"),
    ("disk", "sandbox.disk_mib"),
    ("skills", "skills_dirs"),
    ("skills-dir", "skills_dirs"),
];

/// Names of what is no setting, with the way there is.
const NO_SETTINGS: [(&str, &str); 3] = [
    (
        "timeout",
        "a time limit belongs to a run: `gongfu run --timeout 30 SKILL COMMAND`",
    ),
    (
        "workspace",
        "the workspace is an option: `gongfu run --workspace DIR SKILL COMMAND`",
    ),
    (
        "profile",
        "the profile is an option: `gongfu mcp --profile NAME`",
    ),
];

/// An example of prices.
pub(super) const PRICES: &str =
    r#"{ "PROVIDER/NAME" = { input = 0.25, cached = 0.025, output = 2.0 } }"#;

/// A setting.
#[derive(Debug, Clone)]
pub(crate) struct Setting {
    /// Its key, with dots.
    pub(crate) key: String,
    /// The kind of its values.
    pub(crate) kind: Kind,
}

/// The kind of a setting's values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `true` or `false`.
    Truth,
    /// A whole number from this one on.
    Number(i64),
    /// A text.
    Text,
    /// One of these texts.
    Choice(Vec<String>),
    /// A list of texts.
    List,
    /// A table from texts to texts.
    Table,
    /// A table from texts to lists of texts.
    Lists,
    /// A table from models to their prices.
    Prices,
}

impl Kind {
    /// The kind in words, with an article.
    pub(crate) fn about(&self) -> String {
        match self {
            Self::Truth => "true or false".to_owned(),
            Self::Number(least) => format!("a whole number of at least {least}"),
            Self::Text => "a string".to_owned(),
            Self::Choice(choices) => {
                let choices: Vec<String> = choices.iter().map(|one| format!("{one:?}")).collect();
                format!("one of {}", choices.join(", "))
            }
            Self::List => "a list of strings".to_owned(),
            Self::Table => "a table of strings".to_owned(),
            Self::Lists => "a table of lists of strings".to_owned(),
            Self::Prices => "a table of prices".to_owned(),
        }
    }
}

impl Setting {
    /// The command that gives it a value that it can have.
    pub(crate) fn hint(&self) -> String {
        let key = &self.key;
        let example = match (&self.kind, key.as_str()) {
            (_, "server.listen") => Some("127.0.0.1:8080".to_owned()),
            (_, "server.public_url") => Some("https://skills.example.com".to_owned()),
            (Kind::Truth, _) => Some("true".to_owned()),
            (Kind::Number(least), _) => Some((*least).max(1_024).to_string()),
            (Kind::Choice(choices), _) => choices.first().cloned(),
            (Kind::Table, _) => Some("'{ \"NAME\" = \"VALUE\" }'".to_owned()),
            (Kind::Lists, _) => Some("'{ \"NAME\" = [\"VALUE\"] }'".to_owned()),
            (Kind::Prices, _) => Some(format!("'{PRICES}'")),
            (Kind::Text | Kind::List, _) => None,
        };
        match example {
            Some(example) => format!("such as `gongfu config set {key} {example}`"),
            None => format!("see it with `gongfu config get {key}`"),
        }
    }
}

/// Every setting, in the order of the schema.
pub(crate) fn settings() -> Vec<Setting> {
    let schema = schema_for!(Config).to_value();
    let mut all = Vec::new();
    collect(&schema, &schema, "", &mut all);
    all
}

/// The setting of a key.
///
/// # Errors
/// No setting has the key; the error names the nearest.
pub(crate) fn setting<'s>(all: &'s [Setting], key: &str) -> Result<&'s Setting, Failure> {
    all.iter().find(|one| one.key == key).ok_or_else(|| {
        let section = all.iter().filter(|one| is_below(&one.key, key));
        let section: Vec<&str> = section.map(|one| one.key.as_str()).collect();
        let list = "`gongfu config show` lists every setting";
        let hint = match meant(all, key) {
            Some("server.listen") if section.is_empty() => {
                format!("did you mean `gongfu config set server.listen 127.0.0.1:8080`? {list}")
            }
            _ if !section.is_empty() => {
                format!("it is a section: name one of {}", section.join(", "))
            }
            _ if all.iter().any(|one| is_below(key, &one.key)) => {
                let mut tables = all.iter().filter(|one| is_below(key, &one.key));
                let hints = tables.next().map(Setting::hint);
                format!("write the whole table, {}", hints.unwrap_or_default())
            }
            Some(near) => format!("did you mean `{near}`? {list}"),
            None => {
                let name = near::folded(name_of(key));
                let other = NO_SETTINGS.iter().find(|(word, _)| *word == name);
                other.map_or(list.to_owned(), |(_, way)| format!("{way}; {list}"))
            }
        };
        Failure::new(
            "CONFIG_UNKNOWN_KEY",
            format!("there is no setting `{key}`"),
            hint,
        )
    })
}

/// The setting that somebody who wrote an unknown key probably meant: one of the same name in another section, else
/// one with a similar name.
pub(crate) fn meant<'s>(all: &'s [Setting], key: &str) -> Option<&'s str> {
    let name = name_of(key);
    let keys = || all.iter().map(|one| one.key.as_str());
    let section = key.strip_suffix(name).unwrap_or_default();
    let beside = || keys().filter(|one| one.starts_with(section));
    let synonym = || {
        let (_, meant) = SYNONYMS
            .iter()
            .find(|(word, _)| *word == near::folded(name))?;
        keys().find(|one| one == meant)
    };
    keys()
        .find(|one| name_of(one) == name)
        .or_else(synonym)
        .or_else(|| {
            let near = near::meant(name, beside().map(name_of))?;
            beside().find(|one| name_of(one) == near)
        })
}

/// The last part of a key.
fn name_of(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}

/// Returns whether a key is in a section.
pub(crate) fn is_below(key: &str, section: &str) -> bool {
    key.strip_prefix(section)
        .is_some_and(|rest| rest.starts_with('.'))
}

fn collect(root: &Value, schema: &Value, above: &str, all: &mut Vec<Setting>) {
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        let key = if above.is_empty() {
            name.clone()
        } else {
            format!("{above}.{name}")
        };
        let schema = resolved(root, property);
        if schema.get("properties").is_some() {
            collect(root, schema, &key, all);
        } else {
            let kind = kind(schema);
            all.push(Setting { key, kind });
        }
    }
}

/// A schema without references, and without the `null` of a value that may be missing.
fn resolved<'v>(root: &'v Value, schema: &'v Value) -> &'v Value {
    let options = schema.get("anyOf").and_then(Value::as_array);
    let first = options.and_then(|all| {
        all.iter()
            .find(|one| one.get("type") != Some(&"null".into()))
    });
    let schema = first.unwrap_or(schema);
    let name = schema.get("$ref").and_then(Value::as_str);
    let found = name.and_then(|name| root.pointer(name.strip_prefix('#')?));
    found.unwrap_or(schema)
}

fn kind(schema: &Value) -> Kind {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    if let Some(one_of) = schema.get("oneOf").and_then(Value::as_array) {
        let constants = one_of
            .iter()
            .filter_map(|one| one.get("const").and_then(text));
        return Kind::Choice(constants.collect());
    }
    let of_type = schema.get("type");
    let of_type = of_type.and_then(|of_type| of_type.get(0)).or(of_type);
    match of_type.and_then(Value::as_str) {
        Some("boolean") => Kind::Truth,
        Some("integer") => Kind::Number(schema.get("minimum").and_then(Value::as_i64).unwrap_or(0)),
        Some("array") => Kind::List,
        Some("object") => match schema.pointer("/additionalProperties/type") {
            Some(of_value) if of_value == "array" => Kind::Lists,
            None if schema.pointer("/additionalProperties/$ref").is_some() => Kind::Prices,
            _ => Kind::Table,
        },
        _ => Kind::Text,
    }
}
