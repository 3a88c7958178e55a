//! `gongfu run`: a command in the folder of a skill, through the same gate as every tool.

mod hint;
mod summary;

use std::io::{IsTerminal as _, Write as _};
use std::sync::{Arc, Mutex, PoisonError};

use gongfu_core::library::Skill;
use gongfu_core::sandbox::{Input, Stream};
use gongfu_core::text::visible_lines;
use gongfu_hub::run::Plain;
use gongfu_hub::{Event, EventSink, Events, Profile, Request, ToolResult};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use self::hint::FailedCommand;
use self::summary::HostFolders;
use super::Outcome;
use super::call_error::{outcome_of, reported};
use super::list::{named, without_skill_file};
use super::operate::person;
use crate::cli::{RunArguments, command_line, quoted};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::signal::Signals;
use crate::terminal::{Terminal, plain};
use crate::wiring::{self, Parts};

/// The exit code of a run that took too long, by the convention of `timeout(1)`.
const TIMEOUT: u8 = 124;
/// The exit code of a program that a signal ended, by the convention of shells: this and its number.
const SIGNAL: i64 = 128;
/// The exit code of a run that a person interrupted.
const INTERRUPTED: u8 = 130;
/// The most files that are named.
const NAMED: usize = 20;
/// The bytes of each output that JSON holds.
const SHOWN: usize = 1024 * 1024;

pub(crate) fn run(
    arguments: RunArguments,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let parts = parts(&arguments, environment, terminal)?;
    let mut command = arguments.command.into_iter();
    let program = command.next().unwrap_or_default();
    let words: Vec<String> = command.collect();
    // One word with blanks is a whole command line that was quoted.
    let is_line = words.is_empty() && program.trim().contains(char::is_whitespace);
    let call = json!({
        "skill_name": arguments.skill,
        "command": program,
        "arguments": (!is_line).then_some(&words),
        "timeout": arguments.timeout,
        "output_limit": SHOWN,
        "hold": arguments.hold,
    });
    let Value::Object(call) = call else {
        return Ok(Outcome::WrongUse);
    };
    let about = About {
        json: arguments.json,
        seconds: arguments.timeout,
        skill: arguments.skill,
        program,
    };
    let events = Events::new(Arc::new(TerminalSink {
        output: (!arguments.json).then(Output::new),
        // What a person types belongs to the shell: a script that asks would wait unseen.
        reads_input: !std::io::stdin().is_terminal(),
    }));
    let person = person();
    let cancel = CancellationToken::new();
    let runtime = wiring::runtime()?;
    let outcome = runtime.block_on(async {
        let mut signals = Signals::listen();
        let request = Request {
            events,
            cancel: cancel.clone(),
            ..Request::new(&[Profile::Standard], "skill_run", call, &person)
        };
        let calling = parts.catalog.call(request);
        tokio::pin!(calling);
        tokio::select! {
            outcome = &mut calling => Some(outcome),
            () = signals.next() => {
                cancel.cancel();
                let _ = calling.await;
                None
            }
        }
    });
    let error = match outcome {
        Some(Ok(result)) => {
            let library = parts.library()?;
            let skill = library.resolve(&about.skill).ok();
            let folders = HostFolders::of(skill.map(|skill| &**skill), &parts, environment);
            let folders = runtime.block_on(folders);
            let ran = result.structured_content.as_ref();
            let ran = ran.and_then(Value::as_object).and_then(outcome_of_run);
            let hints = match (ran, skill) {
                (Some(Outcome::Code(code)), Some(skill)) => {
                    let failed = FailedCommand {
                        code,
                        program: &about.program,
                        arguments: &words,
                        is_line,
                    };
                    hint::all(&failed, skill, &folders, environment)
                }
                _ => Vec::new(),
            };
            let ended = ended(result, &folders, &about, hints, terminal);
            runtime.block_on(async {
                let mut signals = Signals::listen();
                tokio::select! {
                    () = parts.environments.finish() => {}
                    () = signals.next() => {}
                }
            });
            drop(runtime);
            parts.sandbox.end();
            return ended;
        }
        Some(Err(error)) => Some(error),
        None => None,
    };
    // What it was ended with is over before anything is said about it.
    drop(runtime);
    parts.sandbox.end();
    match error {
        None if arguments.json => {
            terminal.json(&cancelled())?;
            Ok(Outcome::Code(INTERRUPTED))
        }
        None => Ok(Outcome::Code(INTERRUPTED)),
        Some(error) => {
            let outcome = outcome_of(&error);
            Err(reported(&error, outcome, arguments.json, terminal))
        }
    }
}

/// The parts of a run, once its words are what they seem.
fn parts(
    arguments: &RunArguments,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Parts> {
    check_volume(arguments)?;
    let parts = wiring::parts_with(environment, &arguments.places, &arguments.mounts)?;
    parts.warn();
    if let Some(note) = parts.workspace.note().filter(|_| !arguments.json) {
        terminal.note(&format!("gongfu: {note}"));
    }
    check_name(arguments, &parts)?;
    Ok(parts)
}

/// Checks that the skill isn't a folder to mount: `-v HOST:GUEST`, as other programs have it.
fn check_volume(arguments: &RunArguments) -> Result<(), Failure> {
    let word = &arguments.skill;
    if !word.contains(':') || !word.contains(['/', '~']) {
        return Ok(());
    }
    let words = std::iter::once(word).chain(&arguments.command);
    let hint = format!(
        "to mount a folder: `gongfu run --mount {}`",
        command_line(words)
    );
    let message = format!("`{}` is not the name of a skill", plain(word));
    Err(Failure::usage("INVALID_SKILL_NAME", message, hint))
}

/// Checks that a name that no skill has isn't something else: the path of a skill, a script before its skill, or a
/// folder without a SKILL.md.
fn check_name(arguments: &RunArguments, parts: &Parts) -> anyhow::Result<()> {
    let library = parts.library()?;
    if library.resolve(&arguments.skill).is_ok() {
        return Ok(());
    }
    if let Some((other, rest)) = arguments.command.split_first()
        && library.resolve(other).is_ok()
    {
        let script = hint::started(&arguments.skill, rest);
        let message = format!("there is no skill `{}`", plain(&arguments.skill));
        let hint = format!(
            "the skill comes first: `gongfu run {} {script}`",
            quoted(other)
        );
        return Err(Failure::new("SKILL_NOT_FOUND", message, hint).into());
    }
    if hint::PROGRAMS.contains(&arguments.skill.as_str()) {
        let file = arguments.command.first();
        let has = |skill: &&Arc<Skill>| {
            skill
                .files
                .iter()
                .any(|one| Some(one.path.as_str()) == file.map(String::as_str))
        };
        let mut skills = library.skills().iter().filter(has);
        let skill = skills.next().filter(|_| skills.next().is_none());
        let skill = skill.map_or("SKILL", |skill| library.name_of(skill));
        let words = std::iter::once(&arguments.skill).chain(&arguments.command);
        let message = format!("there is no skill `{}`", plain(&arguments.skill));
        let hint = format!(
            "the skill comes first: `gongfu run {skill} {}`; `gongfu list` shows the names",
            command_line(words)
        );
        return Err(Failure::new("SKILL_NOT_FOUND", message, hint).into());
    }
    if let Some(failure) =
        without_skill_file(&library, &arguments.skill).filter(|_| !arguments.json)
    {
        return Err(failure.into());
    }
    if !arguments.skill.contains(['/', '\\']) {
        return Ok(());
    }
    let Ok(skill) = named(&library, &arguments.skill) else {
        return Ok(());
    };
    let words = std::iter::once(library.name_of(&skill));
    let words = words.chain(arguments.command.iter().map(String::as_str));
    let message = format!(
        "`{}` is a path, and a run needs the name",
        plain(&arguments.skill)
    );
    let hint = format!("did you mean `gongfu run {}`?", command_line(words));
    Err(Failure::new("INVALID_SKILL_NAME", message, hint).into())
}

/// Passes output on to the terminal, and reads standard input.
struct TerminalSink {
    output: Option<Output>,
    reads_input: bool,
}

impl EventSink for TerminalSink {
    fn event(&self, event: Event<'_>) {
        if let (Event::Output(stream, bytes), Some(output)) = (event, &self.output) {
            output.write(stream, bytes);
        }
    }

    fn input(&self) -> Input {
        if self.reads_input {
            Input::Reader(Arc::new(Mutex::new(std::io::stdin())))
        } else {
            Input::Nothing
        }
    }
}

/// Standard output and standard error; a terminal gets nothing that it would obey.
struct Output {
    plain: [Option<Mutex<Plain>>; 2],
}

impl Output {
    fn new() -> Self {
        let terminals = [
            std::io::stdout().is_terminal(),
            std::io::stderr().is_terminal(),
        ];
        Self {
            plain: terminals.map(|is_terminal| is_terminal.then(|| Mutex::new(Plain::default()))),
        }
    }

    fn write(&self, stream: Stream, bytes: &[u8]) {
        let [out, error] = &self.plain;
        let plain = match stream {
            Stream::Stdout => out,
            Stream::Stderr => error,
        };
        let text = plain.as_ref().map(|plain| {
            let mut plain = plain.lock().unwrap_or_else(PoisonError::into_inner);
            visible_lines(&plain.take(bytes)).into_owned()
        });
        let bytes = text.as_ref().map_or(bytes, String::as_bytes);
        // A reader that has gone doesn't stop the run.
        let _ = match stream {
            Stream::Stdout => {
                let mut out = std::io::stdout().lock();
                out.write_all(bytes).and_then(|()| out.flush())
            }
            Stream::Stderr => std::io::stderr().lock().write_all(bytes),
        };
    }
}

/// Events whose output goes to the terminal.
pub(super) fn streaming() -> Events {
    Events::new(Arc::new(TerminalSink {
        output: Some(Output::new()),
        reads_input: false,
    }))
}

/// The request of a person, for the words about its end.
struct About {
    json: bool,
    seconds: u32,
    skill: String,
    program: String,
}

/// The outcome of what a tool ran; `None` for data that is no report of a run.
pub(super) fn outcome_of_run(data: &Map<String, Value>) -> Option<Outcome> {
    let is_run = data.contains_key("reason") && data.contains_key("duration_ms");
    is_run.then(|| match code(data) {
        0 => Outcome::Good,
        code => Outcome::Code(code),
    })
}

fn ended(
    result: ToolResult,
    folders: &HostFolders,
    about: &About,
    hints: Vec<String>,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let Some(Value::Object(mut ran)) = result.structured_content else {
        anyhow::bail!("the run reported nothing about its end");
    };
    let outcome = outcome_of_run(&ran).unwrap_or(Outcome::Findings);
    let reason = ran
        .get("reason")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if about.json {
        if !hints.is_empty() {
            ran.insert("hints".to_owned(), hints.into());
        }
        terminal.json(&told(summary::with_host_paths(ran, folders)))?;
        return Ok(outcome);
    }
    for (list, member, what) in [
        ("network", "refused", "not reached"),
        ("stale_grants", "advice", "not reached"),
        ("lacks", "advice", "packages are missing"),
    ] {
        let told = ran.get(list).and_then(Value::as_array);
        for why in told
            .into_iter()
            .flatten()
            .filter_map(|one| one.get(member)?.as_str())
        {
            terminal.note(&format!("gongfu: {what}: {}", plain(&to_person(why))));
        }
    }
    let network = ran.get("no_network").and_then(|one| one.get("advice"));
    if let Some(advice) = network.and_then(Value::as_str) {
        terminal.note(&format!("gongfu: {}", plain(&to_person(advice))));
    }
    let lines = summary::written(&ran, folders).into_iter();
    let lines = lines.chain(left_behind(&ran)).chain(summary::waiting(&ran));
    for line in lines {
        terminal.note(&format!("gongfu: {line}"));
    }
    if let Some(why) = stopped(reason, about) {
        terminal.complain(&format!("gongfu: {why}"));
    }
    for hint in hints {
        terminal.note(&format!("gongfu: {hint}"));
    }
    Ok(outcome)
}

/// Advice for an agent, said to the person who has to follow it.
fn to_person(advice: &str) -> String {
    advice.replace("a person can ", "")
}

/// Names the files that couldn't be changed as the run wanted, a line each.
fn left_behind(ran: &Map<String, Value>) -> Vec<String> {
    let artifacts = ran.get("artifacts").and_then(Value::as_array);
    let mut lines: Vec<String> = artifacts
        .into_iter()
        .flatten()
        .filter_map(|one| {
            let text = |member: &str| one.get(member)?.as_str();
            let waits = if text("change") == Some("held") {
                "waits for your approval: "
            } else {
                ""
            };
            Some(format!(
                "{}: {waits}{}",
                plain(text("path")?),
                plain(text("why")?)
            ))
        })
        .collect();
    let more = lines.len().saturating_sub(NAMED);
    if more > 0 {
        lines.truncate(NAMED);
        lines.push(format!("… and {more} more; --json lists them"));
    }
    lines
}

/// The exit code that tells a shell how it ended.
fn code(ran: &Map<String, Value>) -> u8 {
    let number = |name: &str| ran.get(name).and_then(Value::as_i64);
    if ran.get("reason").and_then(Value::as_str) == Some("timeout") {
        return TIMEOUT;
    }
    let code = number("exit_code").or_else(|| Some(SIGNAL + number("signal")?));
    code.and_then(|code| u8::try_from(code).ok())
        .unwrap_or(u8::MAX)
}

/// Says why it was stopped, and what to do.
fn stopped(reason: &str, about: &About) -> Option<String> {
    Some(match reason {
        "timeout" => format!("timed out after {} s; raise --timeout", about.seconds),
        "oom" => limit("memory", "memory_mib"),
        "pids" => limit("process", "processes"),
        "disk" => limit("disk", "disk_mib"),
        "output" => "killed: too much output; write to a file in /workspace instead".to_owned(),
        "denied" => "killed: it made a system call that the sandbox forbids".to_owned(),
        _ => return None,
    })
}

fn limit(what: &str, setting: &str) -> String {
    format!("killed: it exceeded the {what} limit (`{setting}` below [sandbox] in the settings)")
}

/// Adds the members that say nothing, so that JSON holds every one.
fn told(mut ran: Map<String, Value>) -> Map<String, Value> {
    let mut told = Map::new();
    for name in ["exit_code", "signal"] {
        told.insert(
            name.to_owned(),
            ran.shift_remove(name).unwrap_or(Value::Null),
        );
    }
    told.extend(ran);
    told
}

fn cancelled() -> Value {
    json!({ "exit_code": null, "signal": null, "reason": "cancelled" })
}
