//! Replay: a session runs again from its own log, and the first difference is named.

use super::entry::{Entry, EntryEvent};

/// The first entry in which a replay differs from the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Divergence {
    /// The number of the entry.
    pub n: u64,
    /// The difference, for people.
    pub what: String,
}

/// The difference between an entry of a log and that of its replay.
pub fn divergence(recorded: &Entry, replayed: &Entry) -> Option<Divergence> {
    (recorded != replayed).then(|| Divergence {
        n: recorded.n,
        what: difference(&recorded.event, &replayed.event),
    })
}

fn difference(recorded: &EntryEvent, replayed: &EntryEvent) -> String {
    match (recorded, replayed) {
        (
            EntryEvent::Asking {
                system,
                tools,
                model,
                ..
            },
            EntryEvent::Asking {
                system: system_now,
                tools: tools_now,
                model: model_now,
                ..
            },
        ) => {
            if system != system_now {
                "the instructions differ: a skill was added, removed, enabled, disabled or described differently".to_owned()
            } else if tools != tools_now {
                "the tools differ: one was added, removed or its definition changed".to_owned()
            } else if model != model_now {
                format!("the model differs: `{model}`, and now `{model_now}`")
            } else {
                "the conversation differs: a message in the log was changed".to_owned()
            }
        }
        (EntryEvent::Answered { .. }, EntryEvent::Answered { .. }) => {
            "the model's answer in the log was changed".to_owned()
        }
        (
            EntryEvent::Calling {
                tool,
                params,
                definition,
                ..
            },
            EntryEvent::Calling {
                tool: tool_now,
                params: params_now,
                definition: definition_now,
                ..
            },
        ) => {
            if tool != tool_now {
                format!("the call differs: `{tool}`, and now `{tool_now}`")
            } else if params != params_now {
                format!("the arguments of `{tool}` differ")
            } else if definition != definition_now {
                format!("the definition of the tool `{tool}` has changed")
            } else {
                format!("the call of `{tool}` differs")
            }
        }
        (
            EntryEvent::Called {
                skill: Some(skill), ..
            },
            EntryEvent::Called { .. },
        ) => {
            format!("the skill `{skill}` was changed")
        }
        (EntryEvent::Called { .. }, EntryEvent::Called { .. }) => {
            "the result of the call was changed".to_owned()
        }
        (EntryEvent::Finished { .. }, EntryEvent::Finished { .. }) => {
            "the reply in the log was changed".to_owned()
        }
        (EntryEvent::Compacted { .. }, EntryEvent::Compacted { .. }) => {
            "the summary in the log was changed".to_owned()
        }
        _ => "the log has a different kind of entry here".to_owned(),
    }
}
