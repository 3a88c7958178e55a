//! `gongfu chat --print`: one turn, for a person or a script.

use std::io::Read as _;
use std::sync::{Arc, Mutex, PoisonError};

use gongfu_agent::MAX_PROMPT;
use gongfu_core::account::Actor;
use gongfu_hub::ToolError;
use gongfu_hub::agent::{AgentEvents, CallEvents, ChatInput, ChatRequest, ChatResult, TurnEvent};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{agent_of, project, project_sessions};
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

/// The bytes of standard input that are read: one more than a prompt may have.
const MAX_INPUT: u64 = MAX_PROMPT as u64 + 1;

pub(super) fn run(
    turn: TurnArguments,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let actor = sets::working_with(person(), turn.set.as_deref(), &wiring::home(environment)?)?;
    let input = input(&turn)?;
    let (parts, agent) = agent_of(environment, &turn.places)?;
    let runtime = wiring::runtime()?;
    let events = Arc::new(PrintEvents::default());
    let cancel = CancellationToken::new();
    let ended = runtime.block_on(async {
        parts.provide_servers().await?;
        let session = match turn.session {
            None if turn.resume => Some(last_session(&parts, &actor).await?),
            session => session,
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
        anyhow::Ok(tokio::select! {
            ended = &mut chatting => ended,
            () = signals.next() => {
                cancel.cancel();
                chatting.await
            }
        })
    })?;
    drop(runtime);
    parts.sandbox.end();
    show(ended, &events, cancel.is_cancelled(), turn.json, terminal)
}

/// The prompt, or the wish to finish what was begun.
fn input(turn: &TurnArguments) -> anyhow::Result<ChatInput> {
    let prompt = turn.print.as_deref().unwrap_or_default();
    if turn.resume && prompt == "-" {
        return Ok(ChatInput::Resume);
    }
    if prompt != "-" {
        return Ok(ChatInput::Prompt(prompt.to_owned()));
    }
    let wrong = |why: String| {
        let message = format!("can't read standard input: {why}");
        let hint = "pass the prompt: gongfu chat --print PROMPT";
        Failure::new("INVALID_ARGUMENT", message, hint)
    };
    let mut bytes = Vec::new();
    let read = std::io::stdin().take(MAX_INPUT).read_to_end(&mut bytes);
    read.map_err(|error| wrong(error.to_string()))?;
    if bytes.len() > MAX_PROMPT {
        return Err(wrong(format!("it is longer than {MAX_PROMPT} bytes")).into());
    }
    let text = String::from_utf8(bytes).map_err(|error| wrong(error.to_string()))?;
    Ok(ChatInput::Prompt(text))
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
                let session = events.session.lock();
                let session = session.unwrap_or_else(PoisonError::into_inner);
                terminal.json(&json!({ "error": error.to_json(), "session": *session }))?;
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
