//! Failed calls at the command line, for people and as JSON.

use gongfu_hub::{Content, ToolError};
use serde_json::{Value, json};

use super::Outcome;
use crate::terminal::Terminal;

/// Words of hints for agents, and those for a person at the command line.
const FOR_PERSONS: [(&str, &str); 8] = [
    (
        "`change_list` or `gongfu changes list`",
        "`gongfu changes list`",
    ),
    ("`skill_list`", "`gongfu list`"),
    ("`skill_search`", "`gongfu search`"),
    (
        "the library is empty; a person can add a folder of skills with --skills-dir",
        "there are no skills yet: `gongfu source add DIR`, or `gongfu skill new NAME`",
    ),
    ("a person can enable it: ", "to enable it: "),
    ("a person can find out why: run ", "find out why: "),
    ("a person can find out why: ", "find out why: "),
    ("a person can ", ""),
];

/// The end of a command whose failure is reported already.
#[derive(Debug)]
pub(super) struct ReportedFailure(pub(super) Outcome);

impl std::fmt::Display for ReportedFailure {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("the failure is reported already")
    }
}

impl std::error::Error for ReportedFailure {}

/// Reports a failed call, which ends the command with this outcome.
pub(super) fn reported(
    error: &ToolError,
    outcome: Outcome,
    json: bool,
    terminal: &mut Terminal,
) -> anyhow::Error {
    match report_error(error, json, terminal) {
        Ok(()) => ReportedFailure(outcome).into(),
        Err(error) => error,
    }
}

/// Returns the outcome of a command whose call failed.
pub(super) fn outcome_of(error: &ToolError) -> Outcome {
    if error.code().is_wrong_use() {
        Outcome::WrongUse
    } else {
        Outcome::Findings
    }
}

/// Reports a failed call: as JSON on standard output, or in words on standard error.
pub(super) fn report_error(
    error: &ToolError,
    json: bool,
    terminal: &mut Terminal,
) -> anyhow::Result<()> {
    if json {
        terminal.json(&json!({ "error": Value::Object(error.to_json()) }))?;
    } else {
        let text = error.problem.text();
        let mut hint = text.hint;
        for (agent, person) in FOR_PERSONS {
            hint = hint.replace(agent, person);
        }
        if error.rendered.is_some() {
            print_error(error, terminal);
        } else {
            terminal.problem(&error.code().to_string(), &text.message, &hint);
        }
    }
    Ok(())
}

/// Prints the reason of a failed call on standard error.
pub(super) fn print_error(error: &ToolError, terminal: &mut Terminal) {
    if let Some(rendered) = &error.rendered {
        for content in &rendered.content {
            if let Content::Text { text } = content {
                terminal.complain(text);
            }
        }
        return;
    }
    let text = error.problem.text();
    terminal.problem(&error.code().to_string(), &text.message, &text.hint);
}
