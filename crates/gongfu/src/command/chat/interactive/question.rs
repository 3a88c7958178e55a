//! Questions to the person in the middle of a turn: about a call that needs an answer, and those of other servers.

use gongfu_core::account::Actor;
use gongfu_core::approval::AnswerTarget;
use gongfu_hub::call::Question;
use gongfu_hub::surface::approval::{ApprovalAnswer, Reply};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::Chat;
use super::editor::Input;
use super::form::Form;
use super::quote::{length, quoted};
use crate::table::pad;
use crate::terminal::{Paint, plain};

/// Refuses a question of another server.
const DECLINE: &str = "/decline";
/// The rows of a text that surely fit on a screen with the keys.
const MAX_ROWS: usize = 10;

impl Chat<'_> {
    /// Asks about a call, and records the answer as the person's; true once it is recorded.
    pub(super) async fn approve(
        &mut self,
        question: &Question,
        cancel: &CancellationToken,
    ) -> anyhow::Result<bool> {
        self.view.clear()?;
        self.view.terminal.measure();
        let asked = "? your answer is needed";
        let title = self.view.terminal.paint(Paint::Yellow, asked);
        self.view.terminal.line(&title)?;
        self.view
            .terminal
            .text(&format!("  {}:\n\n", question.title))?;
        let details = question.details.join("\n");
        let mut rows = 0;
        for text in [&question.what, &details] {
            rows += self.quote(text)?;
            self.view.terminal.line("")?;
        }
        let reason = plain(&question.reason);
        self.view.terminal.line(&format!("  {reason}"))?;
        if rows > MAX_ROWS {
            let length = length(&format!("{}\n{details}", question.what));
            let note = format!("  The question has {length}: all of it is above.");
            let note = self.view.terminal.paint(Paint::Yellow, &note);
            self.view.terminal.line(&note)?;
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

    /// Shows somebody else's text so that none of it looks like gongfu's; answers the number of rows.
    fn quote(&mut self, text: &str) -> anyhow::Result<usize> {
        let rows = quoted(text, self.view.terminal.width());
        for row in &rows {
            self.view.terminal.line(row)?;
        }
        Ok(rows.len())
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
        self.quote(&form.message)?;
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

#[cfg(test)]
mod tests;
