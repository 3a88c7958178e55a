//! `gongfu connection show|test`: what a connection is, and whether it works.

use gongfu_core::connection::{Difference, State};
use gongfu_hub::surface::connection::{ConnectionList, ConnectionTest};
use serde_json::{Value, json};

use super::super::Outcome;
use super::super::operate::Operations;
use super::approve::{difference, show_offer, status};
use super::{line, status_json};
use crate::environment::Environment;
use crate::terminal::{Paint, Terminal, plain};

pub(super) fn show(
    name: &str,
    json: bool,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let parts = super::parts(environment)?;
    let operations = Operations::new(&parts)?;
    let status = status(name, &operations, terminal)?;
    let lines = status.connection.target.lines();
    if json {
        let mut shown = status_json(&status);
        if let Some(fields) = shown.as_object_mut() {
            fields.insert("target".to_owned(), json!(lines));
            fields.insert("safety".to_owned(), json!(status.connection.safety));
        }
        terminal.json(&shown)?;
        return Ok(Outcome::Good);
    }
    line(&status, terminal)?;
    for line in lines {
        terminal.line(&format!("    {}", plain(&line)))?;
    }
    terminal.line(&format!("    declared in {}", status.source))?;
    for tool in &status.tools {
        terminal.line(&format!("    tool: {}", plain(tool)))?;
    }
    Ok(Outcome::Good)
}

pub(super) fn test(
    name: &str,
    json: bool,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let parts = super::parts(environment)?;
    let operations = Operations::new(&parts)?;
    let test = ConnectionTest {
        connection: name.to_owned(),
    };
    let discovery = operations.operate(test, json, terminal)?;
    // Its state says what is wrong with it besides.
    let statuses = operations.operate(ConnectionList { start: false }, json, terminal)?;
    let mut statuses = statuses.into_iter();
    let status = statuses.find(|status| status.connection.name.as_str() == name);
    let is_ready = discovery.verdict.changed.is_empty() && discovery.verdict.missing.is_empty();
    if json {
        let differences = |all: &[Difference]| -> Vec<Value> {
            let all = all.iter();
            all.map(|one| json!({ "tool": one.tool, "difference": difference(one) }))
                .collect()
        };
        let tools: Vec<&String> = discovery.offered.iter().map(|tool| &tool.name).collect();
        terminal.json(&json!({
            "name": name,
            "state": status.as_ref().map(|status| status.state),
            "reason": status.and_then(|status| status.reason),
            "server": discovery.server,
            "protocol": discovery.protocol,
            "offered": tools,
            "changed": differences(&discovery.verdict.changed),
            "new": discovery.verdict.new.iter().map(|one| &one.tool).collect::<Vec<_>>(),
            "missing": discovery.verdict.missing,
        }))?;
        return Ok(Outcome::of(is_ready));
    }
    let paint = if is_ready {
        Paint::Green
    } else {
        Paint::Yellow
    };
    let state = status.map_or(State::Ready, |status| status.state);
    let state = terminal.paint(paint, state.as_str());
    let (server, protocol) = (plain(&discovery.server), plain(&discovery.protocol));
    let count = discovery.offered.len();
    let tools = if count == 1 { "tool" } else { "tools" };
    terminal.line(&format!(
        "{} {state}  {server}, MCP {protocol}, {count} {tools}",
        plain(name)
    ))?;
    show_offer(&discovery, terminal)?;
    for missing in &discovery.verdict.missing {
        terminal.line(&format!("missing {}", plain(missing)))?;
    }
    if !discovery.verdict.new.is_empty() || !discovery.verdict.changed.is_empty() {
        let name = plain(name);
        terminal.note(&format!(
            "note: to offer them: gongfu connection approve {name}"
        ));
    }
    Ok(Outcome::of(is_ready))
}
