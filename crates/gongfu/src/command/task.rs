//! `gongfu task`: pipelines of tools, without a model.

mod files;
mod run;

use gongfu_agent::pipeline::{TaskRunList, TaskRunRemove};
use gongfu_core::pipeline::{Pipeline, SCHEMA};
use serde_json::{Value, json};

use self::files::PipelineFile;
use super::Outcome;
use super::operate::{operate, operate_all, person};
use crate::agent::agent;
use crate::cli::{Places, TaskCommand};
use crate::config::Config;
use crate::environment::Environment;
use crate::table::{clip, pad};
use crate::terminal::{Paint, Terminal, plain};
use crate::wiring;

/// The width of a name in a list.
const NAME: usize = 24;

pub(crate) fn run(
    command: TaskCommand,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    match command {
        TaskCommand::List { common } => list(&common.places, common.json, environment, terminal),
        TaskCommand::Show { pipeline, common } => show(
            &pipeline,
            &common.places,
            common.json,
            environment,
            terminal,
        ),
        TaskCommand::Check { pipeline, common } => check(
            &pipeline,
            &common.places,
            common.json,
            environment,
            terminal,
        ),
        TaskCommand::Run(arguments) => run::run(arguments, environment, terminal),
        TaskCommand::Runs { json } => runs(json, environment, terminal),
        TaskCommand::Remove { runs, json } => {
            let parts = wiring::parts(environment, &Places::default())?;
            let removals = runs.into_iter().map(|run| TaskRunRemove { run });
            operate_all(removals, &parts, json, terminal)
        }
        TaskCommand::Schema => {
            terminal.text(SCHEMA)?;
            Ok(Outcome::Good)
        }
    }
}

fn list(
    places: &Places,
    json: bool,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let parts = wiring::parts(environment, places)?;
    let files = files::all(&parts, wiring::home(environment)?.path());
    if json {
        let all: Vec<Value> = files.iter().map(in_list).collect();
        terminal.json(&all)?;
        return Ok(Outcome::Good);
    }
    for file in &files {
        let about = match file.pipeline() {
            Ok(pipeline) => pipeline.description.unwrap_or_default(),
            Err(mistakes) => {
                format!(
                    "({} mistakes: gongfu task check {})",
                    mistakes.len(),
                    file.name
                )
            }
        };
        let name = pad(&plain(&file.name), NAME);
        let line = format!("{name}  {}", plain(&about));
        terminal.line(&clip(&line, terminal.width()))?;
    }
    Ok(Outcome::Good)
}

fn in_list(file: &PipelineFile) -> Value {
    let pipeline = file.pipeline();
    let mistakes = pipeline.as_ref().err().map_or(0, Vec::len);
    let pipeline = pipeline.ok();
    json!({
        "name": file.name,
        "origin": file.origin,
        "description": pipeline.as_ref().and_then(|pipeline| pipeline.description.as_ref()),
        "steps": pipeline.as_ref().map(|pipeline| pipeline.steps.len()),
        "mistakes": mistakes,
    })
}

fn show(
    word: &str,
    places: &Places,
    json: bool,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let parts = wiring::parts(environment, places)?;
    let file = files::find(word, &parts, wiring::home(environment)?.path())?;
    let pipeline = file.good()?;
    if json {
        terminal.json(&pipeline)?;
        return Ok(Outcome::Good);
    }
    let name = terminal.paint(Paint::Bold, &plain(&pipeline.name));
    let about = pipeline.description.as_deref().unwrap_or_default();
    terminal.line(&format!("{name}  {}", plain(about)))?;
    terminal.line(&format!("from {}", plain(&file.origin)))?;
    for (name, input) in pipeline.inputs.iter().flatten() {
        let default = input.default.as_ref();
        let fact = match default {
            Some(default) => format!(" [default: {default}]"),
            None if input.required => " [required]".to_owned(),
            None => String::new(),
        };
        let about = input.description.as_deref().unwrap_or_default();
        let line = format!("--input {name}=…{fact} {about}");
        terminal.line(&format!("  {}", plain(&line)))?;
    }
    show_steps(&pipeline, terminal)?;
    Ok(Outcome::Good)
}

fn show_steps(pipeline: &Pipeline, terminal: &mut Terminal) -> anyhow::Result<()> {
    for step in &pipeline.steps {
        let after = if step.depends_on.is_empty() {
            String::new()
        } else {
            format!(" after {}", step.depends_on.join(", "))
        };
        let line = format!("{}: {}{after}", step.name, step.tool);
        terminal.line(&format!("  {}", plain(&line)))?;
    }
    Ok(())
}

fn check(
    word: &str,
    places: &Places,
    json: bool,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let home = wiring::home(environment)?;
    let parts = wiring::parts(environment, places)?;
    let file = files::find(word, &parts, home.path())?;
    let agent = agent(&parts.catalog, &Config::read(&home)?, environment);
    let mut mistakes = Vec::new();
    let mut layers = Value::Null;
    match file.pipeline() {
        Err(found) => mistakes.extend(found.iter().map(ToString::to_string)),
        Ok(pipeline) => {
            let checked = wiring::runtime()?.block_on(async {
                parts.provide_servers().await?;
                anyhow::Ok(agent.check_task(&pipeline, &person()).await)
            })?;
            match checked {
                Ok(plan) => layers = json!(plan.layers()),
                Err(found) => mistakes.extend(found.iter().map(ToString::to_string)),
            }
        }
    }
    if json {
        terminal.json(&json!({ "mistakes": mistakes, "layers": layers }))?;
    } else {
        for mistake in &mistakes {
            terminal.line(&plain(&format!("{}: {mistake}", file.origin)))?;
        }
        if mistakes.is_empty() {
            terminal.line("nothing is wrong")?;
        }
    }
    Ok(Outcome::of(mistakes.is_empty()))
}

fn runs(json: bool, environment: &Environment, terminal: &mut Terminal) -> anyhow::Result<Outcome> {
    let parts = wiring::parts(environment, &Places::default())?;
    let runs = operate(TaskRunList {}, &parts, json, terminal)?;
    let state = |success| match success {
        Some(true) => "ok",
        Some(false) => "failed",
        None => "open",
    };
    if json {
        let runs: Vec<Value> = runs
            .iter()
            .map(|run| {
                json!({
                    "id": run.id,
                    "pipeline": run.pipeline,
                    "started": run.started,
                    "updated": run.updated,
                    "status": state(run.success),
                })
            })
            .collect();
        terminal.json(&runs)?;
        return Ok(Outcome::Good);
    }
    if runs.is_empty() {
        terminal.note("there is no run yet: gongfu task run NAME");
    }
    for run in &runs {
        let state = pad(state(run.success), 6);
        terminal.line(&format!("{}  {state}  {}", run.id, plain(&run.pipeline)))?;
    }
    Ok(Outcome::Good)
}
