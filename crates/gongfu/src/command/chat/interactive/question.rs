//! Questions to the person in the middle of a turn: about a call that needs an answer, and those of other servers.

use gongfu_core::account::Actor;
use gongfu_core::approval::AnswerTarget;
use gongfu_hub::call::Question;
use gongfu_hub::surface::approval::{ApprovalAnswer, Reply};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::Chat;
use super::editor::Input;
use crate::table::pad;
use crate::terminal::{Paint, plain};

/// The longest question of another server, in bytes of JSON; a longer one is not asked.
const MAX_QUESTION: usize = 64 * 1024;
/// Refuses a question of another server.
const DECLINE: &str = "/decline";

impl Chat<'_> {
    /// Asks about a call, and records the answer as the person's; true once it is recorded.
    pub(super) async fn approve(
        &mut self,
        question: &Question,
        cancel: &CancellationToken,
    ) -> anyhow::Result<bool> {
        self.view.clear()?;
        let title = self
            .view
            .terminal
            .paint(Paint::Yellow, "? your answer is needed");
        self.view.terminal.line(&title)?;
        for line in question.text.lines() {
            self.view.terminal.text(&format!("  {line}\n"))?;
        }
        let keys = keys(question);
        let Some(reply) = self.chosen(&keys, cancel).await? else {
            return Ok(false);
        };
        let is_lasting = matches!(reply, Reply::Session | Reply::Always);
        let mut any_arguments = false;
        if is_lasting && question.has_any {
            let Some(any) = self.yes_or_no("with any arguments? [y/N] ", cancel).await? else {
                return Ok(false);
            };
            any_arguments = any;
        }
        let answer = ApprovalAnswer {
            approval: question.id.clone(),
            target: AnswerTarget::Waiting,
            reply,
            any_arguments,
            hours: None,
        };
        // An answer for the session is for that of the chat.
        let person = Actor {
            session: self.session.as_deref().map(Into::into),
            ..self.person.clone()
        };
        let recorded = self.parts.catalog.operate(answer, &person).await;
        Ok(self.told(recorded)?.flatten().is_some())
    }

    /// The person's choice; `None` where they leave the question.
    async fn chosen(
        &mut self,
        keys: &[Key],
        cancel: &CancellationToken,
    ) -> anyhow::Result<Option<Reply>> {
        self.view.terminal.line("")?;
        for key in keys {
            let letter = self.view.terminal.paint(Paint::Bold, &pad(key.letter, 5));
            let line = format!("  {letter}  {}", plain(&key.about));
            self.view.terminal.line(&line)?;
        }
        loop {
            let Some(answer) = self.answered("allow it? ", cancel).await? else {
                return Ok(None);
            };
            if let Some(key) = Key::meant(keys, &answer) {
                return Ok(Some(key.reply));
            }
            let letters: Vec<&str> = keys.iter().map(|key| key.letter).collect();
            let note = format!("answer with one of {}", letters.join(", "));
            self.view.dim(&note)?;
        }
    }

    async fn yes_or_no(
        &mut self,
        question: &str,
        cancel: &CancellationToken,
    ) -> anyhow::Result<Option<bool>> {
        let answer = self.answered(question, cancel).await?;
        Ok(answer.map(|answer| ["y", "yes"].contains(&answer.to_lowercase().as_str())))
    }

    /// A line of the person; `None` where they leave the question. Ctrl-C stops the turn as well.
    async fn answered(
        &mut self,
        question: &str,
        cancel: &CancellationToken,
    ) -> anyhow::Result<Option<String>> {
        match self.question(question).await {
            Input::Line(line) => Ok(Some(line)),
            Input::Interrupt => {
                cancel.cancel();
                Ok(None)
            }
            Input::End if self.is_over => {
                cancel.cancel();
                Ok(None)
            }
            Input::End => {
                self.view.dim("not answered")?;
                Ok(None)
            }
        }
    }

    /// Shows a question of another server, field by field; `None` where it can't be asked here.
    pub(super) async fn fill_in(
        &mut self,
        question: &Value,
        cancel: &CancellationToken,
    ) -> anyhow::Result<Option<Value>> {
        let Some(form) = Form::read(question) else {
            return Ok(None);
        };
        self.view.clear()?;
        let title = self
            .view
            .terminal
            .paint(Paint::Yellow, "? another server asks");
        self.view.terminal.line(&title)?;
        for line in form.message.lines() {
            self.view.terminal.text(&format!("  {line}\n"))?;
        }
        if let Some(url) = &form.page {
            self.view.terminal.text(&format!("  {}\n", plain(url)))?;
            let question = "open this page yourself; is it done? [y/N] ";
            let answer = self.yes_or_no(question, cancel).await?;
            return Ok(Some(match answer {
                Some(true) => json!({ "action": "accept" }),
                Some(false) => json!({ "action": "decline" }),
                None => json!({ "action": "cancel" }),
            }));
        }
        self.view.dim(&format!(
            "an empty line takes the default; {DECLINE} refuses"
        ))?;
        let mut content = Map::new();
        for field in &form.fields {
            loop {
                let Some(answer) = self.answered(&field.question(), cancel).await? else {
                    return Ok(Some(json!({ "action": "cancel" })));
                };
                if answer == DECLINE {
                    return Ok(Some(json!({ "action": "decline" })));
                }
                match field.value(&answer) {
                    Ok(Some(value)) => {
                        content.insert(field.name.clone(), value);
                        break;
                    }
                    Ok(None) => break,
                    Err(wrong) => self.view.dim(&wrong)?,
                }
            }
        }
        if form.fields.is_empty() && self.yes_or_no("confirm? [y/N] ", cancel).await? != Some(true)
        {
            return Ok(Some(json!({ "action": "decline" })));
        }
        Ok(Some(json!({ "action": "accept", "content": content })))
    }
}

/// An answer that can be chosen.
struct Key {
    letter: &'static str,
    word: &'static str,
    about: String,
    reply: Reply,
}

impl Key {
    fn meant<'a>(keys: &'a [Self], answer: &str) -> Option<&'a Self> {
        let answer = answer.to_lowercase();
        let mut keys = keys.iter();
        keys.find(|key| answer == key.letter || answer == key.word)
    }
}

/// The answers to a question.
fn keys(question: &Question) -> Vec<Key> {
    let key = |letter, word, about: &str, reply| Key {
        letter,
        word,
        about: about.to_owned(),
        reply,
    };
    let mut keys = vec![key("o", "once", "allow it once", Reply::Once)];
    if question.has_session {
        keys.push(key(
            "s",
            "session",
            "allow it in this session",
            Reply::Session,
        ));
    }
    let always = format!("allow it: {}", question.always);
    keys.push(key("a", "always", &always, Reply::Always));
    keys.push(key("n", "no", "refuse it, for an hour", Reply::No));
    keys.push(key("never", "never", "refuse it permanently", Reply::Never));
    keys
}

/// A question of another server.
struct Form {
    message: String,
    /// The page that it is about, in place of fields.
    page: Option<String>,
    fields: Vec<Field>,
}

impl Form {
    /// Reads a question; `None` where it has a form that can't be asked by lines.
    fn read(question: &Value) -> Option<Self> {
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
struct Field {
    name: String,
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
    fn question(&self) -> String {
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
    fn value(&self, line: &str) -> Result<Option<Value>, String> {
        if line.is_empty() {
            return match &self.default {
                Some(default) => Ok(Some(default.clone())),
                None if self.is_required => Err("this one is needed".to_owned()),
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
