//! A question of another server as lines: its fields, and the values that a person's lines stand for.

use serde_json::Value;

use crate::terminal::plain;

/// The longest question of another server, in bytes of JSON; a longer one is not asked.
const MAX_QUESTION: usize = 64 * 1024;

/// A question of another server.
pub(super) struct Form {
    pub(super) message: String,
    /// The page that it is about, in place of fields.
    pub(super) page: Option<String>,
    pub(super) fields: Vec<Field>,
}

impl Form {
    /// Reads a question; `None` where it has a form that can't be asked by lines.
    pub(super) fn read(question: &Value) -> Option<Self> {
        if question.to_string().len() > MAX_QUESTION {
            return None;
        }
        let message = question.get("message")?.as_str()?.to_owned();
        let mut form = Self {
            message,
            page: None,
            fields: Vec::new(),
        };
        if let Some(url) = question.get("url").and_then(Value::as_str) {
            let is_page = url.starts_with("https://") || url.starts_with("http://");
            form.page = Some(url.to_owned());
            return is_page.then_some(form);
        }
        let schema = question.get("requestedSchema")?;
        let required = schema.get("required").and_then(Value::as_array);
        let is_required =
            |name: &str| required.is_some_and(|names| names.iter().any(|n| n == name));
        for (name, schema) in schema.get("properties")?.as_object()? {
            if plain(name) != *name {
                return None;
            }
            form.fields
                .push(Field::read(name, schema, is_required(name))?);
        }
        Some(form)
    }
}

/// A field of a form.
pub(super) struct Field {
    pub(super) name: String,
    title: String,
    kind: FieldKind,
    default: Option<Value>,
    is_required: bool,
}

enum FieldKind {
    Text,
    Number,
    Integer,
    Boolean,
    /// Values with their titles.
    Choice(Vec<(String, String)>),
}

impl Field {
    fn read(name: &str, schema: &Value, is_required: bool) -> Option<Self> {
        let word = |member: &str| schema.get(member).and_then(Value::as_str);
        let list = |member: &str| schema.get(member).and_then(Value::as_array);
        let kind = match (word("type")?, list("enum"), list("oneOf")) {
            ("string", Some(values), _) => {
                let titles = list("enumNames");
                let choice = |(index, value): (usize, &Value)| {
                    let value = value.as_str()?.to_owned();
                    let title = titles.and_then(|titles| titles.get(index)?.as_str());
                    Some((value.clone(), title.map_or(value, str::to_owned)))
                };
                FieldKind::Choice(
                    values
                        .iter()
                        .enumerate()
                        .map(choice)
                        .collect::<Option<_>>()?,
                )
            }
            ("string", _, Some(values)) => {
                let choice = |value: &Value| {
                    let constant = value.get("const")?.as_str()?.to_owned();
                    let title = value.get("title").and_then(Value::as_str);
                    Some((constant.clone(), title.map_or(constant, str::to_owned)))
                };
                FieldKind::Choice(values.iter().map(choice).collect::<Option<_>>()?)
            }
            ("string", ..) => FieldKind::Text,
            ("number", ..) => FieldKind::Number,
            ("integer", ..) => FieldKind::Integer,
            ("boolean", ..) => FieldKind::Boolean,
            _ => return None,
        };
        let title = word("title").unwrap_or(name);
        let about = word("description").map(|about| format!(", {about}"));
        Some(Self {
            name: name.to_owned(),
            title: plain(&format!("{title}{}", about.unwrap_or_default())),
            kind,
            default: schema.get("default").cloned(),
            is_required,
        })
    }

    /// The question for this field.
    pub(super) fn question(&self) -> String {
        let form = match &self.kind {
            FieldKind::Text => String::new(),
            FieldKind::Number => " (a number)".to_owned(),
            FieldKind::Integer => " (a whole number)".to_owned(),
            FieldKind::Boolean => " (yes or no)".to_owned(),
            FieldKind::Choice(values) => {
                let titles = values.iter().enumerate();
                let titles = titles.map(|(index, (_, title))| format!("{} {title}", index + 1));
                format!(" ({})", plain(&titles.collect::<Vec<_>>().join(", ")))
            }
        };
        let default = match &self.default {
            Some(Value::String(text)) => format!(" [{}]", plain(text)),
            Some(other) => format!(" [{}]", plain(&other.to_string())),
            None if self.is_required => String::new(),
            None => " [nothing]".to_owned(),
        };
        format!("{}{form}{default}: ", self.title)
    }

    /// The value that a line stands for; `None` leaves the field out.
    pub(super) fn value(&self, line: &str) -> Result<Option<Value>, String> {
        if line.is_empty() {
            return match &self.default {
                Some(default) => Ok(Some(default.clone())),
                None if self.is_required => Err("this field is required".to_owned()),
                None => Ok(None),
            };
        }
        let value = match &self.kind {
            FieldKind::Text => Some(Value::from(line)),
            FieldKind::Number => line
                .parse::<f64>()
                .ok()
                .filter(|n| n.is_finite())
                .map(Value::from),
            FieldKind::Integer => line.parse::<i64>().ok().map(Value::from),
            FieldKind::Boolean => match line.to_lowercase().as_str() {
                "y" | "yes" | "true" => Some(Value::Bool(true)),
                "n" | "no" | "false" => Some(Value::Bool(false)),
                _ => None,
            },
            FieldKind::Choice(values) => {
                let number = line.parse::<usize>().ok();
                let chosen = number.and_then(|number| values.get(number.checked_sub(1)?));
                let named = values
                    .iter()
                    .find(|(value, title)| value == line || title == line);
                named
                    .or(chosen)
                    .map(|(value, _)| Value::from(value.as_str()))
            }
        };
        value
            .map(Some)
            .ok_or_else(|| "that isn't one of the values".to_owned())
    }
}

#[cfg(test)]
mod tests;
