//! A turn in the terminal: runs it, shows what happens, and stops it at Ctrl-C.

use std::sync::Arc;
use std::time::Duration;

use gongfu_agent::SessionShow;
use gongfu_core::port::ModelErrorKind;
use gongfu_hub::agent::{ChatInput, ChatRequest, ChatResult, TurnEvent};
use gongfu_hub::{ErrorCode, Problem, ToolError};
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use super::super::project;
use super::event::{EventSender, Message};
use super::{Chat, Wish};

/// The time between two pictures of the last line.
const TICK: Duration = Duration::from_millis(150);

/// The next step after a failure: the same request to the same model may fail again.
fn next_step(problem: &Problem) -> &'static str {
    match problem {
        Problem::Model { error, .. }
            if !error.kind.is_worth_a_retry() && error.kind != ModelErrorKind::Malformed =>
        {
            "/model NAME and /retry ask another model"
        }
        _ => "/retry asks again",
    }
}

impl Chat<'_> {
    /// Runs a turn to its end.
    pub(super) async fn turn(&mut self, input: ChatInput) -> anyhow::Result<()> {
        self.view.begin();
        self.tty.hide_typing();
        let ended = self.run_turn(input).await;
        self.tty.restore();
        self.view.clear()?;
        match ended? {
            Ok(result) => {
                self.is_open = false;
                self.usage = result.usage;
                self.view.reply(&result.reply)?;
            }
            Err(error) => {
                let is_stopped = error.code() == ErrorCode::Cancelled;
                let next = next_step(&error.problem);
                self.view.answered()?;
                self.view.interrupted()?;
                if is_stopped {
                    self.view.dim("stopped")?;
                } else {
                    self.told::<()>(Err(error))?;
                }
                self.look().await?;
                if self.is_open && !is_stopped {
                    self.view
                        .dim(&format!("{next}; another prompt ends this turn as it is"))?;
                }
            }
        }
        Ok(())
    }

    async fn run_turn(
        &mut self,
        input: ChatInput,
    ) -> anyhow::Result<Result<ChatResult, ToolError>> {
        let (sender, mut messages) = mpsc::unbounded_channel();
        let cancel = CancellationToken::new();
        let request = ChatRequest {
            session: self.session.clone(),
            input,
            model: self.model().map(str::to_owned),
            project: Some(project(self.parts)),
            events: Arc::new(EventSender(sender)),
            cancel: cancel.clone(),
            ..ChatRequest::new("")
        };
        let (agent, person) = (Arc::clone(&self.agent), self.person.clone());
        let mut chatting = tokio::spawn(async move { agent.chat(request, &person).await });
        let mut ticks = tokio::time::interval(TICK);
        // A question may take minutes.
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let ended = loop {
            tokio::select! {
                biased;
                wish = self.signals.wish() => {
                    if wish == Wish::End {
                        self.terminated();
                    }
                    cancel.cancel();
                }
                Some(message) = messages.recv() => self.receive(message, &cancel).await?,
                ended = &mut chatting => break ended,
                _ = ticks.tick() => self.view.tick()?,
            }
        };
        while let Ok(message) = messages.try_recv() {
            self.receive(message, &cancel).await?;
        }
        Ok(ended.unwrap_or_else(|error| {
            let reason = error.to_string();
            Err(Problem::Fault { reason }.error())
        }))
    }

    async fn receive(
        &mut self,
        message: Message,
        cancel: &CancellationToken,
    ) -> anyhow::Result<()> {
        match message {
            Message::Event(TurnEvent::Session(id)) => self.session = Some(id),
            Message::Event(event) => self.view.event(event)?,
            Message::Progress(call, said) => self.view.progress(&call, &said),
            Message::Ask(question, answer) => {
                let answered = !cancel.is_cancelled() && self.approve(&question, cancel).await?;
                let _ = answer.send(answered);
                self.tty.hide_typing();
            }
            Message::Elicit(question, answer) => {
                let answered = if cancel.is_cancelled() {
                    None
                } else {
                    self.fill_in(&question, cancel).await?
                };
                let _ = answer.send(answered);
                self.tty.hide_typing();
            }
        }
        Ok(())
    }

    /// Looks up whether the last turn is open, and what it used.
    async fn look(&mut self) -> anyhow::Result<()> {
        let Some(id) = self.session.clone() else {
            return Ok(());
        };
        let shown = self.operate(SessionShow { id }).await;
        if let Some(shown) = self.told(shown)? {
            self.is_open = shown.session.is_open();
            let last = shown.session.turns().last();
            self.usage = last.map(|turn| turn.usage).unwrap_or_default();
        }
        Ok(())
    }
}
