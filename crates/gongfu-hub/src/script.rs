//! `tool_script`: Python in the sandbox that calls tools through the gate.
//!
//! Its handle to the gate is its own standard input and output: made for this call, ended with it, and no path or token
//! that could be taken elsewhere. It knows no catalog; a [`Caller`] makes the calls.

mod channel;
mod clock;

use std::pin::pin;
use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use gongfu_core::capability::{Access, Safety};
use gongfu_core::sandbox::{Command, Dialogue};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use channel::Line;
pub(crate) use channel::ScriptCall;
use clock::Clock;

use crate::call::{Asking, Call, Elicitation, Event, EventSink, Events, Form, Proposal, Question};
use crate::entry;
use crate::error::ToolError;
use crate::gate::{Answer, Review};
use crate::output::ToolResult;
use crate::problem::Problem;
use crate::run::{self, Conversation, RunRequest, SHOWN};
use crate::tool::ToolSpec;

/// The name.
pub(crate) const NAME: &str = "tool_script";
/// The default time limit, in seconds.
const SECONDS: u32 = 120;
/// The most calls of one script.
const MAX_CALLS: usize = 200;
/// The most of them at once.
const CALLS_AT_ONCE: usize = 8;
/// The program that runs a script.
const SHIM: &str = include_str!("script/gongfu.py");
/// The exit codes of shells for a program that isn't there, or can't be executed.
const NO_PROGRAM: [i32; 2] = [126, 127];

/// Run a Python script that calls tools: their answers stay in the script, and only what it prints comes back. After
/// `from gongfu import tools, ToolError`, `tools.SERVER.TOOL(argument=…)` or `tools.call("NAME", {…})` returns the
/// structured answer of a tool, or else its text, and raises `ToolError` (`.code`). It calls every tool that you can,
/// gongfu's own as well: at most 200 times, 8 at once from threads. It runs in a sandbox, without network, in
/// `/workspace`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToolScript {
    /// The Python code.
    code: String,
    /// Timeout in seconds (default 120). Waiting for a person doesn't count.
    #[schemars(range(min = 1, max = 3600))]
    timeout: Option<u32>,
}

/// The description: the tools that it calls may do anything.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        access: Access::Execute,
        destructive: true,
        safety: Safety::Medium,
        ..entry::spec::<ToolScript>(NAME, "Run a script that calls tools")
    }
}

/// Calls tools for a script, as its caller.
pub(crate) trait Caller: Sync {
    /// Makes a call.
    fn call(
        &self,
        call: ScriptCall,
        events: Events,
        cancel: CancellationToken,
    ) -> Answer<'_, ToolResult>;
}

/// The sandbox is the boundary, as of every run; each call of a script is reviewed by itself.
pub(crate) struct ScriptReview;

impl Review for ScriptReview {
    fn review<'a>(&'a self, call: &'a Call) -> Answer<'a, Option<Proposal>> {
        if let Some(Value::String(code)) = call.arguments.get("code") {
            call.events.send(Event::Command(code));
        }
        let reviewed = match call.form {
            Form::Scripted => Err(Problem::NestedScript.error()),
            Form::Direct | Form::Indirect => Ok(None),
        };
        Box::pin(std::future::ready(reviewed))
    }
}

/// Runs a script to its end, with the calls that it makes.
///
/// # Errors
/// No sandbox or no Python works here, or a part of gongfu fails. A script that fails is no error.
pub(crate) async fn run(call: &Call, caller: &dyn Caller) -> Result<ToolResult, ToolError> {
    let script: ToolScript = entry::input(NAME, &call.arguments)?;
    let clock = Arc::new(Clock::default());
    let (listener, mut lines) = channel::listener(call.events.clone());
    let (input, answers) = channel::input(&script.code);
    let service = Service {
        caller,
        events: Events::new(Arc::new(ScriptEvents {
            events: call.events.clone(),
            clock: Arc::clone(&clock),
        })),
        answers,
        over: call.cancel.child_token(),
    };
    let words = ["python3", "-X", "utf8", "-I", "-c", SHIM];
    let request = RunRequest {
        programs: None,
        skill: None,
        command: Command::Program(words.map(str::to_owned).into()),
        folder: None,
        seconds: script.timeout.unwrap_or(SECONDS),
        input,
        shown: SHOWN,
        holds_all: false,
        conversation: Some(Conversation {
            dialogue: Dialogue {
                paused: Arc::new(move || clock.paused()),
            },
            listener,
            about: format!("{NAME}: {}", script.code),
        }),
    };
    let mut running = pin!(run::run(call, request));
    let (mut has_begun, mut count) = (false, 0);
    let mut calls = FuturesUnordered::new();
    let report = loop {
        tokio::select! {
            report = &mut running => break report,
            Some(line) = lines.next(), if calls.len() < CALLS_AT_ONCE => match Line::read(&line) {
                Some(Line::Hello) => has_begun = true,
                Some(Line::Call(number, call)) => {
                    count += 1;
                    let too_many = || Problem::TooManyCalls { limit: MAX_CALLS }.error();
                    let call = call.and_then(|call| (count <= MAX_CALLS).then_some(call).ok_or_else(too_many));
                    calls.push(service.answer(number, call));
                }
                None => {}
            },
            Some(()) = calls.next(), if !calls.is_empty() => {}
        }
    };
    // The calls that it left without waiting for them end, and are recorded.
    service.over.cancel();
    while calls.next().await.is_some() {}
    let report = report?;
    let has_begun = has_begun || lines.is_waiting();
    if !has_begun
        && report
            .exit_code
            .is_some_and(|code| NO_PROGRAM.contains(&code))
    {
        let reason = report.stdout.trim_end().to_owned();
        return Err(Problem::PythonMissing { reason }.error());
    }
    Ok(ToolResult::text(report.text()))
}

/// Answers the calls of a script.
struct Service<'a> {
    caller: &'a dyn Caller,
    events: Events,
    answers: mpsc::Sender<Vec<u8>>,
    /// Ends the calls with the script.
    over: CancellationToken,
}

impl Service<'_> {
    async fn answer(&self, number: u64, call: Result<ScriptCall, ToolError>) {
        let outcome = match call {
            Ok(call) => {
                let calling = self
                    .caller
                    .call(call, self.events.clone(), self.over.clone());
                calling.await
            }
            Err(error) => Err(error),
        };
        // Until it is sent it counts as one of those at once, so that answers don't pile up.
        tokio::select! {
            _ = self.answers.send(channel::answer(number, outcome)) => {}
            () = self.over.cancelled() => {}
        }
    }
}

/// The events of the calls of a script: its caller is asked, and learns nothing else of them.
struct ScriptEvents {
    events: Events,
    clock: Arc<Clock>,
}

impl EventSink for ScriptEvents {
    fn ask<'a>(&'a self, question: &'a Question) -> Asking<'a> {
        Box::pin(async move {
            let _pause = self.clock.pause();
            self.events.ask(question).await
        })
    }

    fn elicit(&self, question: Value) -> Elicitation<'_> {
        Box::pin(async move {
            let _pause = self.clock.pause();
            self.events.elicit(question).await
        })
    }
}
