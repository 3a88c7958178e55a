//! Operations at the command line: a person's own, through the same gate as every call.

use gongfu_core::account::{Actor, Role};
use gongfu_hub::Events;
use gongfu_hub::surface::Operation;

use tokio::runtime::Runtime;

use super::Outcome;
use super::call_error::{ReportedFailure, reported};
use crate::signal::Signals;
use crate::terminal::Terminal;
use crate::wiring::{self, Parts};

/// The exit code of a command that a person interrupted.
pub(super) const INTERRUPTED: u8 = 130;

/// The person at the command line.
pub(super) fn person() -> Actor {
    Actor::local(Role::Developer, "cli")
}

/// Runs an operation, and reports its failure.
pub(super) fn operate<O: Operation>(
    operation: O,
    parts: &Parts,
    json: bool,
    terminal: &mut Terminal,
) -> anyhow::Result<O::Output> {
    operate_with(operation, Events::default(), parts, json, terminal)
}

/// The same, with the events of the operation.
pub(super) fn operate_with<O: Operation>(
    operation: O,
    events: Events,
    parts: &Parts,
    json: bool,
    terminal: &mut Terminal,
) -> anyhow::Result<O::Output> {
    Operations::new(parts)?.run(operation, events, json, terminal)
}

/// Runs operations that answer nothing, one after the other. Reports the failure of each, and fails if one did.
pub(super) fn operate_all<O: Operation<Output = ()>>(
    operations: impl Iterator<Item = O>,
    parts: &Parts,
    json: bool,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let running = Operations::new(parts)?;
    let mut outcome = Outcome::Good;
    for operation in operations {
        match running.operate(operation, json, terminal) {
            Ok(()) => {}
            Err(error) => outcome = error.downcast::<ReportedFailure>()?.0,
        }
    }
    Ok(outcome)
}

/// Several operations one after the other: what one of them started, such as another server, goes on for the next.
pub(super) struct Operations<'a> {
    parts: &'a Parts,
    /// `None` once it is shut down.
    runtime: Option<Runtime>,
}

impl<'a> Operations<'a> {
    /// Operations with these parts.
    pub(super) fn new(parts: &'a Parts) -> anyhow::Result<Self> {
        let runtime = Some(wiring::runtime()?);
        Ok(Self { parts, runtime })
    }

    /// Runs an operation, and reports its failure.
    pub(super) fn operate<O: Operation>(
        &self,
        operation: O,
        json: bool,
        terminal: &mut Terminal,
    ) -> anyhow::Result<O::Output> {
        self.run(operation, Events::default(), json, terminal)
    }

    /// Waits for an answer, or for a person who interrupts that; `None` then.
    pub(super) fn wait<T>(&self, answer: impl Future<Output = T>) -> Option<T> {
        self.runtime.as_ref()?.block_on(async {
            let mut signals = Signals::listen();
            tokio::select! {
                answer = answer => Some(answer),
                () = signals.next() => None,
            }
        })
    }

    fn run<O: Operation>(
        &self,
        operation: O,
        events: Events,
        json: bool,
        terminal: &mut Terminal,
    ) -> anyhow::Result<O::Output> {
        let (person, parts) = (person(), self.parts);
        let answer = self.wait(async {
            let answer = parts.catalog.operate_with(operation, &person, events).await;
            parts.environments.finish().await;
            answer
        });
        match answer {
            Some(Ok(answer)) => Ok(answer),
            Some(Err(error)) => Err(reported(&error, Outcome::Findings, json, terminal)),
            None => Err(ReportedFailure(Outcome::Code(INTERRUPTED)).into()),
        }
    }
}

impl Drop for Operations<'_> {
    fn drop(&mut self) {
        drop(self.runtime.take());
        self.parts.sandbox.end();
    }
}
