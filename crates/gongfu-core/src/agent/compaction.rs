//! Compaction: a summary takes the place of the first messages.
//!
//! No model writes it. It is made of what the log says for sure: the goal, the latest instruction, the calls and their
//! results. Instructions of skills stay as they are, word for word.

use std::fmt::Write as _;

use super::observation::{block, start};
use super::record::{LoadedSkill, TurnRecord};
use crate::port::Message;
use crate::text::clipped;

/// The characters of a prompt in a summary.
const MAX_PROMPT: usize = 4_000;
/// The characters of arguments, of a result and of a reply.
const MAX_LINE: usize = 240;
/// The most lines about finished work; earlier lines are only counted.
const MAX_LINES: usize = 60;
/// The answers of the running turn that stay as they are.
const RECENT: usize = 2;

/// The number of messages that a summary may stand for, if more than the last one did.
///
/// Everything before the last prompt; when that is little, the answers of its turn but for the last ones, so that a
/// call is never parted from its result.
pub(super) fn through(messages: &[Message], from: usize, last_prompt: usize) -> Option<usize> {
    if last_prompt > from {
        return Some(last_prompt);
    }
    let answers = messages.iter().enumerate().skip(from);
    let answers = answers.filter(|(_, message)| matches!(message, Message::Assistant { .. }));
    let answers: Vec<usize> = answers.map(|(at, _)| at).collect();
    let kept = answers.len().checked_sub(RECENT)?;
    answers.get(kept).copied().filter(|at| *at > from + 1)
}

/// The material of a summary.
pub(super) struct Facts<'a> {
    /// The messages before the first turn.
    pub(super) history: &'a [Message],
    pub(super) turns: &'a [TurnRecord],
    pub(super) is_open: bool,
}

impl Facts<'_> {
    pub(super) fn summary(&self) -> String {
        let mut lines: Vec<String> = self.history.iter().filter_map(told).collect();
        for turn in self.turns {
            lines.push(format!(
                "- The person: {}",
                clipped(&turn.prompt, MAX_LINE, ' ')
            ));
            for record in &turn.calls {
                let params = serde_json::Value::Object(record.call.params.clone()).to_string();
                lines.push(format!(
                    "- {}({}) {}: {}",
                    record.call.tool,
                    clipped(&params, MAX_LINE, ' '),
                    record.status.as_str(),
                    clipped(&record.result, MAX_LINE, ' '),
                ));
            }
            if let Some((reply, _)) = &turn.reply {
                lines.push(format!("- You: {}", clipped(reply, MAX_LINE, ' ')));
            }
        }
        let left_out = lines.len().saturating_sub(MAX_LINES);
        let mut done = lines.split_off(left_out).join("\n");
        if left_out > 0 {
            done = format!("- … {left_out} earlier lines\n{done}");
        }
        let prompt =
            |turn: Option<&TurnRecord>| start(turn.map_or("", |turn| &turn.prompt), MAX_PROMPT);
        let goal = prompt(self.turns.first());
        if self.is_open {
            // It stays, whole.
            return format!(
                "Goal:\n{goal}\n\nDone:\n{done}\n\nPending: the latest instruction, which follows; continue with it"
            );
        }
        let latest = prompt(self.turns.last());
        format!(
            "Goal:\n{goal}\n\nLatest instruction:\n{latest}\n\nDone:\n{done}\n\nPending: nothing"
        )
    }
}

/// A message as a line.
fn told(message: &Message) -> Option<String> {
    match message {
        Message::User { text } => Some(format!("- The person: {}", clipped(text, MAX_LINE, ' '))),
        Message::Assistant { text, .. } => Some(format!("- You: {}", clipped(text, MAX_LINE, ' '))),
        Message::Tool { .. } => None,
    }
}

/// The message that stands for the first ones.
pub(super) fn message<'a>(summary: &str, skills: impl Iterator<Item = &'a LoadedSkill>) -> String {
    let summary = block("summary", summary);
    let mut text = format!("Summary of the conversation so far:\n{summary}");
    for skill in skills {
        let block = block("skill", &skill.text);
        let name = &skill.name;
        let _ = write!(
            text,
            "\n\nInstructions of the skill `{name}`, loaded before:\n{block}"
        );
    }
    text
}
