//! `gongfu chat` in a terminal: reads what a person says, and shows what comes of it.

mod blocks;
mod editor;
mod event;
mod form;
mod markdown;
mod question;
mod quote;
mod slash;
mod tty;
mod turn;
mod view;

use std::io::{self, IsTerminal as _};
use std::sync::Arc;

use gongfu_agent::{Agent, SessionShow, SessionStop};
use gongfu_core::account::Actor;
use gongfu_core::port::Usage;
use gongfu_hub::ToolError;
use gongfu_hub::agent::{ChatInput, ShownSession};
use gongfu_hub::surface::Operation;
use tokio::runtime::Runtime;

use self::editor::{Input, LineEditor};
use self::tty::Tty;
use self::view::View;
use super::print::last_session;
use super::{agent_of, project_sessions, session_id};
use crate::cli::TurnArguments;
use crate::command::Outcome;
use crate::command::call_error::{print_error, report_error};
use crate::command::operate::person;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::signal::{Signals, Wish};
use crate::table::{clip, count};
use crate::terminal::{Paint, Terminal, plain};
use crate::wiring::{self, Parts};
use crate::{progress, sets};

/// The exit code of a program that SIGTERM ended.
const TERMINATED: u8 = 143;
/// The prompt.
const PROMPT: &str = "> ";

pub(super) fn run(
    arguments: TurnArguments,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let wrong = if arguments.json {
        Some("--json is for --print")
    } else if io::stdin().is_terminal() {
        None
    } else {
        Some("there is no prompt, and standard input isn't a terminal")
    };
    if let Some(wrong) = wrong {
        let hint = "gongfu chat --print \"PROMPT\"";
        return Err(Failure::usage("MISSING_ARGUMENT", wrong, hint).into());
    }
    let home = wiring::home(environment)?;
    let person = sets::working_with(person(), arguments.set.as_deref(), &home)?;
    let (parts, agent) = agent_of(environment, &arguments.places)?;
    let is_new = arguments.session.is_none() && !arguments.resume;
    if let Err(error) = agent.model_name(arguments.model.as_deref())
        && (is_new || arguments.model.is_some())
    {
        print_error(&error, terminal);
        return Ok(Outcome::Findings);
    }
    let runtime = wiring::runtime()?;
    let tty = Tty::save();
    let ended = runtime.block_on(async {
        tty.restore_at_quit();
        parts.provide_servers().await?;
        let mut chat = Chat {
            view: View::new(terminal),
            agent,
            parts: &parts,
            person,
            session: None,
            model: arguments.model,
            session_model: None,
            is_open: false,
            usage: Usage::default(),
            signals: Signals::listen(),
            tty: &tty,
            editor: LineEditor::new(slash::names(), Some(home.chat_history()))?,
            is_over: false,
            is_terminated: false,
        };
        let wanted = match arguments.session {
            None if arguments.resume => Some(last_session(chat.parts, &chat.person).await?),
            Some(id) => Some(session_id(id, chat.parts, &chat.person).await?),
            None => None,
        };
        chat.run(wanted, arguments.resume).await
    });
    end(runtime, &parts);
    ended
}

/// Ends what the chat started; what still reads or runs isn't waited for.
fn end(runtime: Runtime, parts: &Parts) {
    runtime.shutdown_background();
    parts.sandbox.end();
}

/// Waits until the program is to end. The editor sees Ctrl-C by itself; one of a turn that is over counts no more.
async fn ended(signals: &mut Signals) {
    while signals.wish().await == Wish::Interrupt {}
}

/// A chat that runs.
struct Chat<'t> {
    view: View<'t>,
    agent: Arc<Agent>,
    parts: &'t Parts,
    person: Actor,
    /// The session; `None` until the first prompt of a new one.
    session: Option<String>,
    /// The name of the model; `None` for that of the session, or the configured one.
    model: Option<String>,
    /// The model of the session that was continued.
    session_model: Option<String>,
    /// True if the last turn isn't at its end.
    is_open: bool,
    /// The tokens of the last turn.
    usage: Usage,
    signals: Signals,
    tty: &'t Tty,
    editor: LineEditor,
    is_over: bool,
    is_terminated: bool,
}

impl Chat<'_> {
    async fn run(&mut self, wanted: Option<String>, finishes: bool) -> anyhow::Result<Outcome> {
        if let Some(id) = &wanted {
            let shown = self.operate(SessionShow { id: id.clone() }).await;
            if let Err(error) = shown {
                print_error(&error, self.view.terminal);
                return Ok(Outcome::Findings);
            }
        }
        self.greet(wanted.as_deref())?;
        match wanted {
            Some(id) => self.enter(id, finishes).await?,
            None => self.offer().await?,
        }
        let mut was_interrupted = false;
        while !self.is_over {
            self.view.terminal.measure();
            let painted = self.view.terminal.paint(Paint::Bold, PROMPT);
            let typed = tokio::select! {
                typed = self.editor.read(PROMPT, &painted) => typed,
                () = ended(&mut self.signals) => self.terminated(),
            };
            let is_interrupt = typed == Input::Interrupt;
            match typed {
                Input::Line(line) => self.take(line.trim()).await?,
                Input::Interrupt if was_interrupted => break,
                Input::Interrupt => self
                    .view
                    .dim("Ctrl-C again, Ctrl-D or /quit ends the chat")?,
                Input::End => break,
            }
            was_interrupted = is_interrupt;
        }
        self.leave()
    }

    /// The name of the model that is asked; `None` for the configured one.
    fn model(&self) -> Option<&str> {
        self.model.as_deref().or(self.session_model.as_deref())
    }

    /// One line about what is used here.
    fn greet(&mut self, session: Option<&str>) -> anyhow::Result<()> {
        let parts = self.parts;
        let library = progress::during("reading skills", || parts.library())?;
        let skills = library
            .skills()
            .iter()
            .filter(|skill| skill.enabled)
            .count();
        let model = self.agent.model_name(self.model());
        let facts = [
            format!("gongfu {}", env!("CARGO_PKG_VERSION")),
            plain(&model.unwrap_or_default()),
            session.unwrap_or("new session").to_owned(),
            count(skills, "skill"),
            "/help".to_owned(),
        ];
        let line = clip(&facts.join(" · "), self.view.terminal.width());
        Ok(self.view.dim(&line)?)
    }

    /// Takes a line of the person: a command, or a prompt.
    async fn take(&mut self, line: &str) -> anyhow::Result<()> {
        if line.is_empty() {
            return Ok(());
        }
        match slash::parse(line) {
            None => self.prompt(line).await,
            Some(Ok((command, words))) => (command.run)(self, words).await,
            Some(Err(unknown)) => {
                let message = format!("there is no command `{}`", plain(&unknown.name));
                let hint = unknown.hint();
                self.view.terminal.problem("", &message, &hint);
                Ok(())
            }
        }
    }

    /// Answers a prompt. A turn that a failure left open ends as it is.
    async fn prompt(&mut self, line: &str) -> anyhow::Result<()> {
        if let (true, Some(id)) = (self.is_open, self.session.clone()) {
            let stopped = self.operate(SessionStop { id }).await;
            if self.told(stopped)?.is_none() {
                return Ok(());
            }
        }
        self.turn(ChatInput::Prompt(line.to_owned())).await
    }

    /// Continues a session: shows its last turn, and finishes an open one, after a question unless that was asked for.
    async fn enter(&mut self, id: String, finishes: bool) -> anyhow::Result<()> {
        let shown = self.operate(SessionShow { id: id.clone() }).await;
        let Some(ShownSession { session, .. }) = self.told(shown)? else {
            return Ok(());
        };
        self.session = Some(id);
        self.is_open = session.is_open();
        self.session_model = session.model().map(str::to_owned);
        self.usage = session
            .turns()
            .last()
            .map(|turn| turn.usage)
            .unwrap_or_default();
        if let Some(turn) = session.turns().last() {
            let prompt = self.view.terminal.paint(Paint::Bold, PROMPT);
            let said = plain(&turn.prompt);
            let said = clip(
                &said,
                self.view
                    .terminal
                    .width()
                    .map(|width| width.saturating_sub(2)),
            );
            self.view.terminal.line(&format!("{prompt}{said}"))?;
            if let Some((reply, _)) = &turn.reply {
                self.view.begin();
                self.view.reply(reply)?;
            }
        }
        if self.is_open {
            let question = "the last turn isn't finished: finish it now? [Y/n] ";
            let answer = if finishes {
                Input::Line(String::new())
            } else {
                self.question(question).await
            };
            match answer {
                Input::Line(answer)
                    if ["", "y", "yes"].contains(&answer.to_lowercase().as_str()) =>
                {
                    self.turn(ChatInput::Resume).await?;
                }
                _ => self
                    .view
                    .dim("/retry finishes it; another prompt ends it as it is")?,
            }
        }
        Ok(())
    }

    /// Offers a session that a crash left open.
    async fn offer(&mut self) -> anyhow::Result<()> {
        let listed = project_sessions(self.parts, &self.person).await;
        let last = self
            .told(listed)?
            .and_then(|sessions| sessions.into_iter().next());
        if let Some(last) = last.filter(|last| last.is_open && !last.is_running) {
            let title = clip(&plain(&last.title), Some(40));
            let note = format!("unfinished: \"{title}\"; to finish it: /resume {}", last.id);
            self.view.dim(&note)?;
        }
        Ok(())
    }

    /// Asks a question in place; the answer has no blanks around it.
    async fn question(&mut self, question: &str) -> Input {
        self.tty.restore();
        Tty::forget_typed();
        // A new one knows nothing that was typed before the question.
        let Ok(mut asker) = LineEditor::new(Vec::new(), None) else {
            return Input::End;
        };
        let typed = tokio::select! {
            typed = asker.read(question, question) => typed,
            () = ended(&mut self.signals) => self.terminated(),
        };
        match typed {
            Input::Line(line) => Input::Line(line.trim().to_owned()),
            other => other,
        }
    }

    /// The program is to end.
    fn terminated(&mut self) -> Input {
        self.is_over = true;
        self.is_terminated = true;
        Input::End
    }

    async fn operate<O: Operation>(&self, operation: O) -> Result<O::Output, ToolError> {
        self.parts.catalog.operate(operation, &self.person).await
    }

    /// The answer; its failure is shown, and the chat continues.
    fn told<T>(&mut self, answer: Result<T, ToolError>) -> anyhow::Result<Option<T>> {
        match answer {
            Ok(answer) => Ok(Some(answer)),
            Err(error) => {
                self.view.clear()?;
                report_error(&error, false, self.view.terminal)?;
                Ok(None)
            }
        }
    }

    fn leave(&mut self) -> anyhow::Result<Outcome> {
        self.view.clear()?;
        if self.is_terminated && self.view.terminal.is_live() {
            // The editor didn't come to its end: pasted text is text again, on a line of its own.
            self.view.terminal.bytes(b"\x1b[?2004l\r\n")?;
        }
        if let Some(id) = &self.session {
            let note = format!("to continue: gongfu chat --session {id}");
            self.view.dim(&note)?;
        }
        Ok(if self.is_terminated {
            Outcome::Code(TERMINATED)
        } else {
            Outcome::Good
        })
    }
}
