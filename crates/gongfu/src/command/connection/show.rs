//! `gongfu connection show|test`: what a connection is, and whether it works.

use gongfu_core::connection::{Difference, State, entry_text};
use gongfu_hub::surface::connection::{ConnectionContent, ConnectionList, ConnectionTest};
use serde_json::{Value, json};

use super::super::Outcome;
use super::super::operate::Operations;
use super::approve::{difference, has_new_skills, is_news, show_offer, show_skills, status};
use super::{line, offer, status_json};
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
    let asked = ConnectionContent {
        connection: status.connection.name.to_string(),
    };
    let content = operations.operate(asked, json, terminal)?;
    let content = [
        ("prompt", &content.prompts, "name"),
        ("resource", &content.resources, "uri"),
        ("template", &content.templates, "uriTemplate"),
    ]
    .map(|(word, entries, field)| {
        let texts = entries.iter().map(|entry| entry_text(entry, field));
        (word, texts.collect::<Vec<_>>())
    });
    if json {
        let mut shown = status_json(&status);
        if let Some(fields) = shown.as_object_mut() {
            fields.insert("target".to_owned(), json!(lines));
            fields.insert("safety".to_owned(), json!(status.connection.safety));
            for (word, texts) in content {
                fields.insert(format!("{word}s"), json!(texts));
            }
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
    for skill in &status.skills {
        terminal.line(&format!("    skill: {}", plain(skill)))?;
    }
    for (word, texts) in &content {
        for text in texts {
            terminal.line(&format!("    {word}: {}", plain(text)))?;
        }
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
    let is_ready = discovery.verdict.changed.is_empty()
        && discovery.verdict.missing.is_empty()
        && discovery.skill_verdict.changed.is_empty()
        && discovery.skill_verdict.missing.is_empty();
    if json {
        let differences = |word: &str, all: &[Difference]| -> Vec<Value> {
            let all = all.iter();
            all.map(|one| json!({ word: one.name, "difference": difference(one) }))
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
            "changed": differences("tool", &discovery.verdict.changed),
            "new": names(&discovery.verdict.new),
            "missing": discovery.verdict.missing,
            "skills": {
                "offered": discovery.skills.skills.iter().map(|one| &one.uri).collect::<Vec<_>>(),
                "left_out": discovery.skills.left_out,
                "failure": discovery.skills.failure,
                "changed": differences("skill", &discovery.skill_verdict.changed),
                "new": names(&discovery.skill_verdict.new),
                "missing": discovery.skill_verdict.missing,
            },
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
    let (tools, skills) = (discovery.offered.len(), discovery.skills.skills.len());
    terminal.line(&format!(
        "{} {state}  {server}, MCP {protocol}, {}",
        plain(name),
        offer(tools, skills)
    ))?;
    show_offer(&discovery, terminal)?;
    show_skills(&discovery, terminal)?;
    let missing = discovery.verdict.missing.iter();
    for missing in missing.chain(&discovery.skill_verdict.missing) {
        terminal.line(&format!("missing {}", plain(missing)))?;
    }
    if is_news(&discovery) || has_new_skills(&discovery) {
        let name = plain(name);
        terminal.note(&format!(
            "note: to offer them: gongfu connection approve {name}"
        ));
    }
    Ok(Outcome::of(is_ready))
}

fn names(all: &[Difference]) -> Vec<&String> {
    all.iter().map(|one| &one.name).collect()
}
