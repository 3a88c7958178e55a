//! `gongfu chat --print`: one turn, for a person or a script.

use std::io::{self, Read as _};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use gongfu_agent::{MAX_PROMPT, SessionShow};
use gongfu_core::account::Actor;
use gongfu_core::agent::block;
use gongfu_hub::ToolError;
use gongfu_hub::agent::{AgentEvents, CallEvents, ChatInput, ChatRequest, ChatResult, TurnEvent};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{agent_of, project, project_sessions, session_id};
use crate::cli::TurnArguments;
use crate::command::Outcome;
use crate::command::call_error::{outcome_of, print_error};
use crate::command::operate::{INTERRUPTED, person};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::signal::Signals;
use crate::terminal::Terminal;
use crate::wiring::Parts;
use crate::{sets, wiring};

/// The time after which a person reads what is waited for.
const PATIENCE: Duration = Duration::from_secs(1);

pub(super) fn run(
    turn: TurnArguments,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let actor = sets::working_with(person(), turn.set.as_deref(), &wiring::home(environment)?)?;
    let input = input(&turn, terminal)?;
    let (parts, agent) = agent_of(environment, &turn.places)?;
    let runtime = wiring::runtime()?;
    let events = Arc::new(PrintEvents::default());
    let cancel = CancellationToken::new();
    let (ended, open) = runtime.block_on(async {
        parts.provide_servers().await?;
        let session = match turn.session {
            None if turn.resume => Some(last_session(&parts, &actor).await?),
            Some(id) => Some(session_id(id, &parts, &actor).await?),
            None => None,
        };
        let request = ChatRequest {
            session,
            input,
            model: turn.model,
            project: Some(project(&parts)),
            events: Arc::clone(&events) as Arc<dyn AgentEvents>,
            cancel: cancel.clone(),
            ..ChatRequest::new("")
        };
        let mut signals = Signals::listen();
        let chatting = agent.chat(request, &actor);
        tokio::pin!(chatting);
        let ended = tokio::select! {
            ended = &mut chatting => ended,
            () = signals.next() => {
                cancel.cancel();
                chatting.await
            }
        };
        let open = match &ended {
            Ok(_) => None,
            Err(_) => events.open_session(&parts, &actor).await,
        };
        anyhow::Ok((ended, open))
    })?;
    drop(runtime);
    parts.sandbox.end();
    let outcome = show(ended, &events, cancel.is_cancelled(), turn.json, terminal)?;
    if let Some(id) = open.filter(|_| !turn.json) {
        let next = format!("gongfu chat --print - --resume --session {id}");
        terminal.note(&format!("to finish the turn: `{next}`"));
    }
    Ok(outcome)
}

/// The prompt with what standard input holds, or the wish to finish what was begun.
fn input(turn: &TurnArguments, terminal: &mut Terminal) -> anyhow::Result<ChatInput> {
    let prompt = turn.print.as_deref().unwrap_or_default();
    if turn.resume && prompt == "-" {
        return Ok(ChatInput::Resume);
    }
    if prompt != "-" && !is_piped() {
        return Ok(ChatInput::Prompt(prompt.to_owned()));
    }
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // One byte more than a prompt may have: it is refused for its length then.
        let read = io::stdin()
            .take(MAX_PROMPT as u64 + 1)
            .read_to_end(&mut bytes);
        let _ = sender.send(read.map(|_| bytes));
    });
    let read = receiver.recv_timeout(PATIENCE).or_else(|_| {
        terminal.note("reading standard input, up to its end…");
        receiver.recv()
    });
    let bytes = read?.map_err(|error| {
        let message = format!("can't read standard input: {error}");
        let hint = "pass the prompt: gongfu chat --print PROMPT < /dev/null";
        Failure::new("INVALID_ARGUMENT", message, hint)
    })?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(ChatInput::Prompt(if prompt == "-" {
        text.into_owned()
    } else {
        joined(prompt, &text)
    }))
}

/// Returns true if standard input is a pipe or a file, and not what happens to be there, such as a terminal, a socket or
/// `/dev/null`.
fn is_piped() -> bool {
    #[cfg(unix)]
    {
        use rustix::fs::{FileType, fstat};
        let kind = fstat(io::stdin()).map(|stat| FileType::from_raw_mode(stat.st_mode));
        matches!(kind, Ok(FileType::Fifo | FileType::RegularFile))
    }
    #[cfg(not(unix))]
    false
}

/// A prompt, and after it a text in a fence that the text doesn't close.
fn joined(prompt: &str, text: &str) -> String {
    let text = text.trim_end();
    if text.is_empty() {
        return prompt.to_owned();
    }
    format!("{prompt}\n\n{}", block("", text))
}

/// The id of the session of this folder with the latest turn.
pub(super) async fn last_session(parts: &Parts, actor: &Actor) -> anyhow::Result<String> {
    let sessions = project_sessions(parts, actor).await?;
    let last = sessions.into_iter().next();
    let last = last.ok_or_else(|| {
        Failure::new(
            "SESSION_NOT_FOUND",
            "there is no session of this folder yet",
            "start one: gongfu chat; `gongfu chat list` lists those of others",
        )
    })?;
    Ok(last.id)
}

fn show(
    ended: Result<ChatResult, ToolError>,
    events: &PrintEvents,
    is_stopped: bool,
    json: bool,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    match ended {
        Ok(result) if json => {
            terminal.json(&result)?;
            Ok(Outcome::Good)
        }
        Ok(result) => {
            terminal.text(&format!("{}\n", result.reply.trim_end()))?;
            Ok(Outcome::Good)
        }
        Err(error) => {
            if json {
                let session = events.session();
                terminal.json(&json!({ "error": error.to_json(), "session": session }))?;
            }
            print_error(&error, terminal);
            Ok(if is_stopped {
                Outcome::Code(INTERRUPTED)
            } else {
                outcome_of(&error)
            })
        }
    }
}

/// Notes the session, and says what takes long.
#[derive(Default)]
struct PrintEvents {
    session: Mutex<Option<String>>,
}

impl PrintEvents {
    fn session(&self) -> Option<String> {
        let session = self.session.lock();
        session.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The session, if its last turn can be finished.
    async fn open_session(&self, parts: &Parts, actor: &Actor) -> Option<String> {
        let id = self.session()?;
        let shown = SessionShow { id: id.clone() };
        let shown = parts.catalog.operate(shown, actor).await.ok()?;
        shown.session.is_open().then_some(id)
    }
}

impl CallEvents for PrintEvents {}

impl AgentEvents for PrintEvents {
    fn event(&self, event: TurnEvent) {
        match event {
            TurnEvent::Session(id) => {
                let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
                *session = Some(id);
            }
            TurnEvent::Retry {
                attempt,
                wait_ms,
                message,
            } => tracing::warn!(
                attempt,
                wait_ms,
                error = message,
                "the model is asked again"
            ),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
