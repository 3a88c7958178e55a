//! The commands of the chat: each is a row of the table.

use std::pin::Pin;

use gongfu_agent::{Agent, SessionCompact, SessionShow};
use gongfu_core::near;
use gongfu_hub::Request;
use gongfu_hub::agent::ChatInput;
use serde_json::{Map, Value};

use super::Chat;
use crate::command::chat::{project_sessions, session_id};
use crate::table::{clip, count, pad, width};
use crate::terminal::{Paint, plain};

/// The sessions that a list shows.
const MAX_SESSIONS: usize = 10;

type Work<'a> = Pin<Box<dyn Future<Output = anyhow::Result<()>> + 'a>>;

/// A command.
pub(super) struct Slash {
    name: &'static str,
    words: &'static str,
    about: &'static str,
    pub(super) run: for<'a, 't> fn(&'a mut Chat<'t>, &'a str) -> Work<'a>,
}

#[rustfmt::skip]
const COMMANDS: [Slash; 11] = [
    Slash { name: "help", words: "", about: "show this", run: |chat, _| Box::pin(async { chat.help() }) },
    Slash { name: "skills", words: "[WORDS]", about: "list the skills, or find some", run: |chat, words| Box::pin(chat.skills(words)) },
    Slash { name: "tools", words: "", about: "list the tools", run: |chat, _| Box::pin(chat.tools()) },
    Slash { name: "model", words: "[NAME]", about: "show the model, or ask another one from now on", run: |chat, name| Box::pin(async { chat.switch(name) }) },
    Slash { name: "usage", words: "", about: "show the tokens and the cost of the last turn and of the session", run: |chat, _| Box::pin(chat.show_usage()) },
    Slash { name: "compact", words: "", about: "summarise the conversation but for its last turn", run: |chat, _| Box::pin(chat.compact()) },
    Slash { name: "resume", words: "[ID]", about: "list the sessions, or continue one", run: |chat, id| Box::pin(chat.resume(id)) },
    Slash { name: "retry", words: "", about: "finish a turn that failed", run: |chat, _| Box::pin(chat.retry()) },
    Slash { name: "new", words: "", about: "start a new session", run: |chat, _| Box::pin(async { chat.renew() }) },
    Slash { name: "expand", words: "[N]", about: "show the whole result of the last call, or of the Nth last", run: |chat, back| Box::pin(async { chat.expand(back) }) },
    Slash { name: "quit", words: "", about: "end the chat, as Ctrl-D does", run: |chat, _| Box::pin(async { chat.is_over = true; Ok(()) }) },
];
/// Other names.
const ALIASES: [(&str, &str); 4] = [
    ("cost", "usage"),
    ("last", "expand"),
    ("exit", "quit"),
    ("clear", "new"),
];

/// The commands as they are typed.
pub(super) fn names() -> Vec<String> {
    let names = COMMANDS.iter().map(|command| format!("/{}", command.name));
    names.collect()
}

/// A name that no command has.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unknown {
    pub(super) name: String,
}

impl Unknown {
    /// The next step.
    pub(super) fn hint(&self) -> String {
        let names = COMMANDS.iter().map(|command| command.name);
        match near::meant(self.name.trim_start_matches('/'), names) {
            Some(name) => format!("did you mean /{name}?"),
            None => "/help shows the commands".to_owned(),
        }
    }
}

/// The command of a line, and the words after it; `None` for a prompt, such as one that begins with a path, or has several lines.
pub(super) fn parse(line: &str) -> Option<Result<(&'static Slash, &str), Unknown>> {
    // A text of several lines was pasted, or is one.
    if line.contains('\n') {
        return None;
    }
    let (name, words) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let word = name.strip_prefix('/')?;
    if word.is_empty()
        || !word
            .chars()
            .all(|letter| letter.is_alphanumeric() || letter == '-')
    {
        return None;
    }
    let word = word.to_lowercase();
    let aliased = ALIASES.iter().find(|(alias, _)| *alias == word);
    let wanted = aliased.map_or(word.as_str(), |(_, name)| name);
    let found = COMMANDS.iter().find(|command| command.name == wanted);
    Some(match found {
        Some(command) => Ok((command, words.trim())),
        None => Err(Unknown {
            name: name.to_owned(),
        }),
    })
}

/// A cost in billionths of a dollar as dollars.
fn dollars(cost: u64) -> String {
    const SHOWN: u64 = 100_000;
    match cost.saturating_add(SHOWN / 2) / SHOWN {
        0 => "less than $0.0001".to_owned(),
        parts => format!("${}.{:04}", parts / 10_000, parts % 10_000),
    }
}

impl Chat<'_> {
    fn help(&mut self) -> anyhow::Result<()> {
        let rows = COMMANDS.iter().map(|command| {
            let usage = format!("/{} {}", command.name, command.words);
            (usage, command.about.to_owned())
        });
        self.rows(&rows.collect::<Vec<_>>())?;
        let keys = "\\ at the end of a line, or Alt-Enter, begins another one; Ctrl-C stops a turn";
        Ok(self.view.dim(keys)?)
    }

    /// Writes names with what they are about.
    fn rows(&mut self, rows: &[(String, String)]) -> anyhow::Result<()> {
        const MAX_NAME: usize = 24;
        let widths = rows.iter().map(|(name, _)| width(name).min(MAX_NAME));
        let columns = widths.max().unwrap_or(0);
        let room = self.view.terminal.width();
        for (name, about) in rows {
            let line = format!("{}  {}", pad(&plain(name), columns), plain(about));
            self.view.terminal.line(&clip(&line, room))?;
        }
        Ok(())
    }

    async fn skills(&mut self, words: &str) -> anyhow::Result<()> {
        let rows: Vec<(String, String)> = if words.is_empty() {
            let library = self.parts.library()?;
            let skills = library.skills().iter().filter(|skill| skill.enabled);
            let row = |name: String, about: &str| (name, about.to_owned());
            skills
                .map(|skill| row(skill.name.to_string(), &skill.description))
                .collect()
        } else {
            let mut arguments = Map::new();
            arguments.insert("query".to_owned(), Value::from(words));
            let request = Request::new(Agent::profiles(), "skill_search", arguments, &self.person);
            let found = self.parts.catalog.call(request).await;
            let Some(found) = self.told(found)? else {
                return Ok(());
            };
            let found = found.structured_content.unwrap_or_default();
            let found = found.get("results").and_then(Value::as_array);
            let text = |hit: &Value, member: &str| {
                let text = hit.get(member).and_then(Value::as_str);
                text.unwrap_or_default().to_owned()
            };
            let mut rows: Vec<(String, String)> = Vec::new();
            for hit in found.into_iter().flatten() {
                let name = text(hit, "name");
                let is_taken = rows.iter().any(|(other, _)| *other == name);
                let name = if is_taken {
                    text(hit, "full_name")
                } else {
                    name
                };
                rows.push((name, text(hit, "description")));
            }
            rows
        };
        if rows.is_empty() {
            let hint = "other words, or /skills alone";
            return Ok(self.view.dim(&format!("no skill matches: try {hint}"))?);
        }
        self.rows(&rows)
    }

    async fn tools(&mut self) -> anyhow::Result<()> {
        let actor = Agent::actor(&self.person, self.session.as_deref().unwrap_or_default());
        let specs = self
            .parts
            .catalog
            .list(Agent::profiles(), &actor, None)
            .await;
        let row = |name: &str, about: &str| {
            let first = about.split(". ").next().unwrap_or_default();
            (name.to_owned(), first.to_owned())
        };
        let rows = specs.iter().map(|spec| row(&spec.name, &spec.description));
        self.rows(&rows.collect::<Vec<_>>())
    }

    fn switch(&mut self, name: &str) -> anyhow::Result<()> {
        let wanted = if name.is_empty() {
            self.model().map(str::to_owned)
        } else {
            Some(name.to_owned())
        };
        let found = self.agent.model_name(wanted.as_deref());
        let Some(model) = self.told(found)? else {
            return Ok(());
        };
        self.model = wanted;
        self.view.terminal.line(&plain(&model))?;
        let others = gongfu_hub::agent::ChatAgent::models(&*self.agent);
        if name.is_empty() && !others.is_empty() {
            let others = plain(&others.join(", "));
            self.view.dim(&format!("also configured: {others}"))?;
        }
        Ok(())
    }

    async fn show_usage(&mut self) -> anyhow::Result<()> {
        let mut session = self.usage;
        if let Some(id) = self.session.clone() {
            let shown = self.operate(SessionShow { id }).await;
            let Some(shown) = self.told(shown)? else {
                return Ok(());
            };
            session = shown.session.usage();
        }
        for (what, usage) in [("last turn", self.usage), ("session", session)] {
            let cached = match usage.cached {
                0 => String::new(),
                cached => format!(" ({cached} of them cached)"),
            };
            let (what, input, output) = (pad(what, 9), usage.input, usage.output);
            let cost = match usage.cost {
                0 => String::new(),
                cost => format!(", {}", dollars(cost)),
            };
            let line = format!("{what}  {input} tokens in{cached}, {output} out{cost}");
            self.view.terminal.line(&line)?;
        }
        Ok(())
    }

    async fn compact(&mut self) -> anyhow::Result<()> {
        let compacted = match self.session.clone() {
            Some(id) => {
                let compacted = self.operate(SessionCompact { id }).await;
                let Some(compacted) = self.told(compacted)? else {
                    return Ok(());
                };
                compacted
            }
            None => None,
        };
        let said = match compacted {
            Some((before, after)) => format!("about {before} tokens before, {after} now"),
            None => "the conversation is already short".to_owned(),
        };
        Ok(self.view.dim(&said)?)
    }

    async fn resume(&mut self, id: &str) -> anyhow::Result<()> {
        let listed = project_sessions(self.parts, &self.person).await;
        let Some(sessions) = self.told(listed)? else {
            return Ok(());
        };
        if id.is_empty() {
            let rows = sessions
                .iter()
                .take(MAX_SESSIONS)
                .enumerate()
                .map(|(index, info)| {
                    let open = if info.is_open { ", unfinished" } else { "" };
                    let about = format!("{}{open}: {}", count(info.turns, "turn"), info.title);
                    (
                        format!("{} {}", pad(&(index + 1).to_string(), 2), info.id),
                        about,
                    )
                });
            let rows: Vec<_> = rows.collect();
            self.rows(&rows)?;
            let note = if rows.is_empty() {
                "there is no session yet"
            } else {
                "/resume NUMBER or /resume ID continues one"
            };
            return Ok(self.view.dim(note)?);
        }
        let number = id.parse::<usize>().ok();
        let chosen = number.and_then(|number| sessions.get(number.checked_sub(1)?));
        let id = chosen.map_or(id, |info| &info.id).to_owned();
        match session_id(id, self.parts, &self.person).await {
            Ok(id) => self.enter(id, true).await,
            Err(error) => {
                self.view.terminal.error(&error);
                Ok(())
            }
        }
    }

    async fn retry(&mut self) -> anyhow::Result<()> {
        if !self.is_open {
            return Ok(self.view.dim("the last turn is finished")?);
        }
        self.turn(ChatInput::Resume).await
    }

    fn renew(&mut self) -> anyhow::Result<()> {
        self.session = None;
        self.session_model = None;
        self.is_open = false;
        self.usage = gongfu_core::port::Usage::default();
        let line = self.view.terminal.paint(Paint::Dim, "new session");
        Ok(self.view.terminal.line(&line)?)
    }

    fn expand(&mut self, back: &str) -> anyhow::Result<()> {
        let back = if back.is_empty() { Ok(1) } else { back.parse() };
        let is_shown = match back {
            Ok(back) => self.view.expand(back)?,
            Err(_) => false,
        };
        if !is_shown {
            self.view.dim("there is no such result")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
