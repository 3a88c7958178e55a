//! `gongfu connection approve`: a person sees what is started and what it offers, and approves both.

use std::io::IsTerminal as _;

use gongfu_core::connection::{Definition, Difference, OfferedSkill};
use gongfu_core::port::{ConnectionStatus, Discovery};
use gongfu_hub::surface::connection::{
    ConnectionApprove, ConnectionList, ConnectionTest, ConnectionTrust,
};
use serde_json::json;
use similar::{ChangeTag, TextDiff};

use super::super::Outcome;
use super::super::operate::Operations;
use super::offer;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::table;
use crate::terminal::{Paint, Terminal, plain};

/// The skills that can't be used and are named with the reason.
const MAX_LEFT_OUT: usize = 20;

pub(super) fn run(
    name: &str,
    yes: bool,
    json: bool,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let parts = super::parts(environment)?;
    let operations = Operations::new(&parts)?;
    let status = status(name, &operations, terminal)?;
    if !yes && !std::io::stdin().is_terminal() {
        let message = "there is no terminal to ask on";
        let hint = "see it with `gongfu connection show`, and pass --yes";
        return Err(Failure::usage("NO_TERMINAL", message, hint).into());
    }
    if !status.is_approved {
        if !json {
            for line in status.connection.target.lines() {
                terminal.line(&format!("  {}", plain(&line)))?;
            }
        }
        if !yes && !terminal.ask("start this, now and whenever it is needed?")? {
            return Ok(Outcome::Findings);
        }
        let trust = ConnectionTrust {
            connection: name.to_owned(),
            digest: status.connection.target.digest().to_string(),
        };
        operations.operate(trust, json, terminal)?;
    }
    let test = ConnectionTest {
        connection: name.to_owned(),
    };
    let discovery = operations.operate(test, json, terminal)?;
    let wanted = wanted(&status, &discovery);
    if !json {
        show_offer(&discovery, terminal)?;
    }
    if is_news(&discovery) && !yes && !terminal.ask("offer these tools to your agents?")? {
        return Ok(Outcome::Findings);
    }
    if !json {
        show_skills(&discovery, terminal)?;
    }
    // The tools may be wanted, and the skills not.
    let is_wanted = !has_new_skills(&discovery)
        || yes
        || terminal.ask("offer these skills to your agents, to read them?")?;
    let skills = (is_wanted && discovery.skills.failure.is_none()).then(|| {
        let skills = discovery.skills.skills.iter();
        let seen = skills.map(|skill| (skill.uri.clone(), skill.digest().to_string()));
        seen.collect::<Vec<_>>()
    });
    let names: Option<Vec<&str>> = skills.as_ref().map(|_| {
        let skills = discovery.skills.skills.iter();
        skills.map(OfferedSkill::name).collect()
    });
    let approve = ConnectionApprove {
        connection: name.to_owned(),
        digest: status.connection.target.digest().to_string(),
        tools: wanted
            .iter()
            .map(|tool| (tool.name.clone(), tool.digest().to_string()))
            .collect(),
        skills,
    };
    let count = operations.operate(approve, json, terminal)?;
    if json {
        let tools: Vec<&String> = wanted.iter().map(|tool| &tool.name).collect();
        terminal
            .json(&json!({ "name": name, "approved": true, "tools": tools, "skills": names }))?;
    } else {
        let skills = names.map_or(0, |names| names.len());
        terminal.line(&format!(
            "approved  {}, {}",
            plain(name),
            offer(count, skills)
        ))?;
    }
    Ok(Outcome::Good)
}

/// The connection of a name.
pub(super) fn status(
    name: &str,
    operations: &Operations<'_>,
    terminal: &mut Terminal,
) -> anyhow::Result<ConnectionStatus> {
    let statuses = operations.operate(ConnectionList { start: false }, false, terminal)?;
    let mut statuses = statuses.into_iter();
    let found = statuses.find(|status| status.connection.name.as_str() == name);
    Ok(found.ok_or_else(|| {
        let message = format!("there is no connection `{}`", plain(name));
        let hint = "`gongfu connection list` shows the connections";
        Failure::new("CONNECTION_NOT_FOUND", message, hint)
    })?)
}

/// The tools that the server offers and the person wants.
pub(super) fn wanted<'a>(
    status: &ConnectionStatus,
    discovery: &'a Discovery,
) -> Vec<&'a Definition> {
    let offered = discovery.offered.iter();
    offered
        .filter(|tool| status.connection.wants(&tool.name))
        .collect()
}

/// Prints new tools, and what changed in others.
pub(super) fn show_offer(discovery: &Discovery, terminal: &mut Terminal) -> anyhow::Result<()> {
    for tool in &discovery.offered {
        if tool.has_hidden_characters() {
            let what = format!("`{}` has characters that a screen hides", plain(&tool.name));
            let hint = "they may be words for the model alone; they are shown as \\u{…}";
            terminal.warning("HIDDEN_CHARACTERS", &what, hint);
        }
    }
    for new in &discovery.verdict.new {
        let mut offered = discovery.offered.iter();
        let Some(tool) = offered.find(|tool| tool.name == new.name) else {
            continue;
        };
        let word = terminal.paint(Paint::Green, "new");
        let name = terminal.paint(Paint::Bold, &plain(&new.name));
        let says = match (tool.is_read_only, tool.is_destructive) {
            (true, _) => "  (says that it only reads)",
            (false, true) => "  (says that it may destroy something)",
            (false, false) => "",
        };
        terminal.line(&format!(
            "{word}       {name} {}{says}",
            plain(&tool.arguments())
        ))?;
        for line in tool.description().lines() {
            terminal.line(&format!("          {}", plain(line)))?;
        }
        // A model reads them as well.
        for (argument, words) in tool.argument_words() {
            terminal.line(&format!(
                "            {}: {}",
                plain(&argument),
                plain(&words)
            ))?;
        }
    }
    for changed in &discovery.verdict.changed {
        show_change(&changed.name, changed, terminal)?;
    }
    Ok(())
}

/// Returns true if there are tools that nobody has approved like that.
pub(super) fn is_news(discovery: &Discovery) -> bool {
    !discovery.verdict.changed.is_empty() || !discovery.verdict.new.is_empty()
}

/// Returns true if there are skills that nobody has approved like that.
pub(super) fn has_new_skills(discovery: &Discovery) -> bool {
    !discovery.skill_verdict.changed.is_empty() || !discovery.skill_verdict.new.is_empty()
}

/// Prints new skills, what changed in others, and those that can't be used.
pub(super) fn show_skills(discovery: &Discovery, terminal: &mut Terminal) -> anyhow::Result<()> {
    let offer = &discovery.skills;
    for skill in offer
        .skills
        .iter()
        .filter(|skill| skill.has_hidden_characters())
    {
        let what = format!(
            "the skill `{}` has characters that a screen hides",
            plain(skill.name())
        );
        let hint = "they may be words for the model alone; they are shown as \\u{…}";
        terminal.warning("HIDDEN_CHARACTERS", &what, hint);
    }
    for new in &discovery.skill_verdict.new {
        let mut offered = offer.skills.iter();
        let Some(skill) = offered.find(|skill| skill.uri == new.name) else {
            continue;
        };
        let word = terminal.paint(Paint::Green, "new");
        let name = terminal.paint(Paint::Bold, &plain(skill.name()));
        let files = table::count(skill.files.len(), "file");
        terminal.line(&format!("{word}       skill {name}, {files}"))?;
        for line in skill.description().lines() {
            terminal.line(&format!("          {}", plain(line)))?;
        }
    }
    for changed in &discovery.skill_verdict.changed {
        show_change(&format!("skill {}", changed.name), changed, terminal)?;
    }
    for left in offer.left_out.iter().take(MAX_LEFT_OUT) {
        let text = format!(
            "note: left out: the skill {}: {}",
            plain(&left.uri),
            plain(&left.why)
        );
        terminal.note(&text);
    }
    if let Some(more) = offer
        .left_out
        .len()
        .checked_sub(MAX_LEFT_OUT)
        .filter(|more| *more > 0)
    {
        terminal.note(&format!(
            "note: left out: {} more",
            table::count(more, "skill")
        ));
    }
    if let Some(why) = &offer.failure {
        terminal.note(&format!("note: its skills can't be listed: {}", plain(why)));
    }
    Ok(())
}

fn show_change(what: &str, changed: &Difference, terminal: &mut Terminal) -> anyhow::Result<()> {
    terminal.line(&format!(
        "{}   {}",
        terminal.paint(Paint::Yellow, "changed"),
        terminal.paint(Paint::Bold, &plain(what))
    ))?;
    for line in difference(changed) {
        let paint = match line.chars().next() {
            Some('+') => Paint::Green,
            Some('-') => Paint::Red,
            _ => Paint::Dim,
        };
        terminal.line(&format!("          {}", terminal.paint(paint, &line)))?;
    }
    Ok(())
}

/// The lines of a definition that changed, with `+` and `-`.
pub(super) fn difference(changed: &Difference) -> Vec<String> {
    let before = changed.before.as_deref().unwrap_or_default();
    let now = changed.now.as_deref().unwrap_or_default();
    let diff = TextDiff::from_lines(before, now);
    let changes = diff.iter_all_changes();
    let lines = changes.filter_map(|change| {
        let sign = match change.tag() {
            ChangeTag::Equal => return None,
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
        };
        Some(format!("{sign} {}", change.value().trim_end()))
    });
    lines.collect()
}
