//! `gongfu chat list|show|fork|remove|replay`.

use gongfu_agent::{SessionFork, SessionList, SessionRemove, SessionShow};
use gongfu_core::agent::TurnRecord;
use gongfu_hub::surface::Operation;
use serde_json::{Value, json};

use super::{agent_of, session_id};
use crate::cli::Places;
use crate::command::Outcome;
use crate::command::call_error::{outcome_of, print_error};
use crate::command::operate::{operate, operate_all, person};
use crate::environment::Environment;
use crate::table::{clip, pad};
use crate::terminal::{Paint, Terminal, plain};
use crate::wiring;

/// Runs a request about the session whose id begins so.
fn asked<O: Operation>(
    id: String,
    operation: impl FnOnce(String) -> O,
    json: bool,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<O::Output> {
    let parts = wiring::parts(environment, &Places::default())?;
    let id = wiring::runtime()?.block_on(session_id(id, &parts, &person()))?;
    operate(operation(id), &parts, json, terminal)
}

pub(super) fn list(
    json: bool,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let parts = wiring::parts(environment, &Places::default())?;
    let sessions = operate(SessionList {}, &parts, json, terminal)?;
    if json {
        terminal.json(&sessions)?;
        return Ok(Outcome::Good);
    }
    if sessions.is_empty() {
        terminal.note("there is no session yet: gongfu chat --print \"PROMPT\"");
    }
    for info in &sessions {
        let turns = if info.turns == 1 {
            "1 turn"
        } else {
            &format!("{} turns", info.turns)
        };
        let state = if info.is_open { "open" } else { "" };
        let facts = format!("{}  {}  {}", info.id, pad(turns, 9), pad(state, 4));
        let line = format!("{facts}  {}", plain(&info.title));
        terminal.line(&clip(&line, terminal.width()))?;
    }
    Ok(Outcome::Good)
}

pub(super) fn show(
    id: String,
    json: bool,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let shown = asked(id, |id| SessionShow { id }, json, environment, terminal)?;
    if json {
        terminal.json(&json!({
            "entries": shown.entries,
            "usage": shown.session.usage(),
            "is_open": shown.session.is_open(),
        }))?;
        return Ok(Outcome::Good);
    }
    for turn in shown.session.turns() {
        show_turn(turn, terminal)?;
    }
    if shown.session.is_open() {
        terminal.note("the last turn isn't finished: continue it with --resume");
    }
    Ok(Outcome::Good)
}

fn show_turn(turn: &TurnRecord, terminal: &mut Terminal) -> anyhow::Result<()> {
    let prompt = terminal.paint(Paint::Bold, "> ");
    terminal.line(&format!("{prompt}{}", plain(&turn.prompt)))?;
    for record in &turn.calls {
        let params = Value::Object(record.call.params.clone()).to_string();
        let line = format!(
            "  {} {} {} ({} ms)",
            record.status.as_str(),
            plain(&record.call.tool),
            plain(&params),
            record.duration_ms
        );
        terminal.line(&terminal.paint(Paint::Dim, &line))?;
    }
    if let Some((reply, _)) = &turn.reply {
        terminal.text(&format!("{}\n\n", reply.trim_end()))?;
    }
    Ok(())
}

pub(super) fn fork(
    id: String,
    at: Option<u64>,
    json: bool,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let fork = asked(id, |id| SessionFork { id, at }, json, environment, terminal)?;
    if json {
        terminal.json(
            &json!({ "id": fork.id, "forked_from": fork.forked_from, "is_open": fork.is_open }),
        )?;
    } else {
        terminal.line(&fork.id)?;
    }
    Ok(Outcome::Good)
}

pub(super) fn remove(
    ids: Vec<String>,
    json: bool,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let parts = wiring::parts(environment, &Places::default())?;
    let runtime = wiring::runtime()?;
    let ids = ids.into_iter();
    let ids = ids.map(|id| runtime.block_on(session_id(id, &parts, &person())));
    let ids: Vec<String> = ids.collect::<anyhow::Result<_>>()?;
    let removals = ids.into_iter().map(|id| SessionRemove { id });
    operate_all(removals, &parts, json, terminal)
}

pub(super) fn replay(
    id: String,
    places: &Places,
    json: bool,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let (parts, agent) = agent_of(environment, places)?;
    let runtime = wiring::runtime()?;
    let replayed = runtime.block_on(async {
        parts.provide_servers().await?;
        let id = session_id(id, &parts, &person()).await?;
        anyhow::Ok(agent.replay(&id, &person()).await)
    })?;
    let (entries, difference) = match replayed {
        Ok(replayed) => replayed,
        Err(error) => {
            print_error(&error, terminal);
            return Ok(outcome_of(&error));
        }
    };
    if json {
        let difference = difference.as_ref();
        let difference = difference.map(|first| json!({ "entry": first.n, "what": first.what }));
        terminal.json(&json!({ "entries": entries, "divergence": difference }))?;
    } else {
        match &difference {
            None => terminal.line(&format!("equal: {entries} entries"))?,
            Some(first) => terminal.line(&format!(
                "differs at entry {}: {}",
                first.n,
                plain(&first.what)
            ))?,
        }
    }
    Ok(Outcome::of(difference.is_none()))
}
