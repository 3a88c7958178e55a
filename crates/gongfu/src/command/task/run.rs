//! `gongfu task run`: a run with its progress, and its outcome.

use std::sync::Arc;

use gongfu_agent::pipeline::{TaskInput, TaskRequest};
use gongfu_core::pipeline::{Event, Status};
use gongfu_hub::ToolError;
use gongfu_hub::agent::{CallEvents, TaskEvent, TaskEvents, TaskResult};
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::files;
use crate::agent::agent;
use crate::cli::TaskRunArguments;
use crate::command::Outcome;
use crate::command::call_error::{outcome_of, report_error};
use crate::command::operate::{INTERRUPTED, person};
use crate::config::Config;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::signal::Signals;
use crate::terminal::{Paint, Terminal, plain};
use crate::{sets, wiring};

pub(super) fn run(
    arguments: TaskRunArguments,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let home = wiring::home(environment)?;
    let actor = sets::working_with(person(), arguments.set.as_deref(), &home)?;
    let parts = wiring::parts(environment, &arguments.places)?;
    let input = input(&arguments, &parts, home.path())?;
    let agent = agent(&parts.catalog, &Config::read(&home)?, environment);
    let (sender, mut lines) = mpsc::unbounded_channel();
    let cancel = CancellationToken::new();
    let request = TaskRequest {
        parallel: usize::from(arguments.parallel),
        events: Arc::new(Progress(sender)),
        cancel: cancel.clone(),
        ..TaskRequest::new(input)
    };
    let runtime = wiring::runtime()?;
    let ended = runtime.block_on(async {
        parts.provide_servers().await?;
        let mut signals = Signals::listen();
        let running = agent.run_task(request, &actor);
        tokio::pin!(running);
        let ended = loop {
            tokio::select! {
                biased;
                Some(line) = lines.recv() => terminal.note(&line),
                ended = &mut running => break ended,
                () = signals.next() => cancel.cancel(),
            }
        };
        while let Ok(line) = lines.try_recv() {
            terminal.note(&line);
        }
        anyhow::Ok(ended)
    })?;
    drop(runtime);
    parts.sandbox.end();
    show(ended, cancel.is_cancelled(), arguments.json, terminal)
}

fn input(
    arguments: &TaskRunArguments,
    parts: &wiring::Parts,
    home: &std::path::Path,
) -> anyhow::Result<TaskInput> {
    if let Some(run) = &arguments.resume {
        let (run, pipeline) = (run.clone(), None);
        return Ok(TaskInput::Resume { run, pipeline });
    }
    let word = arguments.pipeline.as_deref().unwrap_or_default();
    let pipeline = files::find(word, parts, home)?.good()?;
    let input = Value::Object(parsed(&arguments.input)?);
    Ok(TaskInput::Start { pipeline, input })
}

/// The inputs of the command line: pairs, and JSON objects.
fn parsed(inputs: &[String]) -> Result<Map<String, Value>, Failure> {
    let mut parsed = Map::new();
    for input in inputs {
        let wrong = |why: String| {
            let hint = "write --input KEY=VALUE, or one JSON object";
            Failure::usage("INVALID_ARGUMENT", why, hint)
        };
        if input.trim_start().starts_with('{') {
            let object: Map<String, Value> = serde_json::from_str(input)
                .map_err(|error| wrong(format!("the input is not a JSON object: {error}")))?;
            parsed.extend(object);
            continue;
        }
        let pair = input.split_once('=').filter(|(key, _)| !key.is_empty());
        let Some((key, value)) = pair else {
            return Err(wrong(format!("`{input}` is not a KEY=VALUE pair")));
        };
        // A number that isn't printed back as it was written is a text, such as a version or a long id.
        let read = serde_json::from_str(value).ok();
        let read = read.filter(|read: &Value| {
            let shown = read.to_string();
            !read.is_number() || shown == value
        });
        let value = read.unwrap_or_else(|| Value::String(value.to_owned()));
        parsed.insert(key.to_owned(), value);
    }
    Ok(parsed)
}

/// Sends the progress of a run to the terminal, a line each.
struct Progress(mpsc::UnboundedSender<String>);

impl CallEvents for Progress {}

impl TaskEvents for Progress {
    fn event(&self, event: TaskEvent) {
        let event = match event {
            TaskEvent::Run(id) => return self.say(&format!("run {id}")),
            TaskEvent::Logged(event) => event,
        };
        let line = match event {
            Event::Started { .. } | Event::Resumed {} | Event::Ended { .. } => return,
            Event::StepStarted { step, attempt: 1 } => format!("{step}: started"),
            Event::StepStarted { step, attempt } => format!("{step}: attempt {attempt}"),
            Event::StepSkipped { step } => format!("{step}: skipped"),
            Event::StepFinished {
                step, duration_ms, ..
            } => format!("{step}: done in {duration_ms} ms"),
            Event::StepFailed { step, error, .. } => {
                let first = error.lines().next().unwrap_or_default();
                format!("{step}: failed: {first}")
            }
        };
        self.say(&line);
    }
}

impl Progress {
    fn say(&self, line: &str) {
        // Nobody reads it any more when the command ends.
        let _ = self.0.send(plain(line));
    }
}

fn show(
    ended: Result<TaskResult, ToolError>,
    is_stopped: bool,
    json: bool,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let result = match ended {
        Ok(result) => result,
        Err(error) => {
            report_error(&error, json, terminal)?;
            return Ok(outcome_of(&error));
        }
    };
    if json {
        terminal.json(&result)?;
    } else {
        show_outcome(&result, terminal)?;
    }
    let Some(error) = &result.outcome.error else {
        return Ok(Outcome::Good);
    };
    let hint = format!("gongfu task run --resume {}", result.run);
    terminal.problem("", error, &format!("continue it: {hint}"));
    Ok(if is_stopped {
        Outcome::Code(INTERRUPTED)
    } else {
        Outcome::Findings
    })
}

fn show_outcome(result: &TaskResult, terminal: &mut Terminal) -> anyhow::Result<()> {
    for entry in &result.outcome.trace {
        let status = match entry.status {
            Status::Ok => "ok",
            Status::Failed => "failed",
            Status::Skipped => "skipped",
        };
        let line = format!("{} {status} ({} ms)", entry.step, entry.duration_ms);
        terminal.line(&terminal.paint(Paint::Bold, &line))?;
        let output = result.outcome.outputs.get(&entry.step);
        if entry.status != Status::Ok {
            continue;
        }
        let text = match output {
            Some(Value::String(text)) => text.clone(),
            // What a pipeline says in words is for people.
            Some(Value::Object(fields)) if fields.get("text").is_some_and(Value::is_string) => {
                let text = fields.get("text").and_then(Value::as_str);
                text.unwrap_or_default().to_owned()
            }
            Some(value) => value.to_string(),
            None => continue,
        };
        for line in text.lines() {
            let line = gongfu_core::text::clipped(line, MAX_LINE, ' ');
            terminal.line(&format!("    {}", plain(&line)))?;
        }
    }
    Ok(())
}

/// The longest line of an output, in characters; `--json` has all of it.
const MAX_LINE: usize = 500;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::parsed;

    #[test]
    fn inputs_are_json_where_they_can_be_and_else_text() {
        let inputs = [
            "a=1",
            "b=x y",
            "c={\"d\":[2]}",
            "{\"e\":null,\"a\":2}",
            "f=",
            "g=h=i",
            "ver=1.10",
            "id=12345678901234567890123",
            "n=-1.5",
        ];
        let parsed_all = parsed(&inputs.map(str::to_owned)).unwrap();
        let wanted = json!({"a": 2, "b": "x y", "c": {"d": [2]}, "e": null, "f": "", "g": "h=i", "ver": "1.10", "id": "12345678901234567890123", "n": -1.5});
        assert_eq!(json!(parsed_all), wanted);
        for wrong in ["a", "=1", "{a"] {
            assert!(parsed(&[wrong.to_owned()]).is_err(), "{wrong}");
        }
    }
}
