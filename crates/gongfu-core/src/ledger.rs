//! The ledger of skills: counts of how often each was found, loaded and run, and with what result.
//!
//! A fold over the audit, which is bounded in size: so are the counts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The end of a command that went well.
const GOOD_END: &str = "exit 0";

/// The outcomes of a skill, as far as the audit reaches back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Outcomes {
    /// The searches that had it among their first answers.
    pub found: u64,
    /// The times that its instructions were loaded.
    pub loaded: u64,
    /// The runs of its commands.
    pub runs: u64,
    /// The runs that ended well.
    pub succeeded: u64,
    /// The time of the last of these (RFC 3339).
    pub last: String,
}

/// An entry of the audit, as far as the ledger reads it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Event {
    at: String,
    phase: String,
    replay: bool,
    tool: String,
    outcome: String,
    skill: Option<String>,
    found: Vec<String>,
    command: Option<String>,
    ended: Option<String>,
}

/// The outcomes of skills by their full names.
///
/// `loads` are the tools that load instructions. A line that is no entry is skipped.
pub fn ledger<'a>(
    audit: impl IntoIterator<Item = &'a [u8]>,
    loads: &[&str],
) -> BTreeMap<String, Outcomes> {
    let mut ledger: BTreeMap<String, Outcomes> = BTreeMap::new();
    for line in audit {
        let Ok(event) = serde_json::from_slice::<Event>(line) else {
            continue;
        };
        if event.phase != "end" || event.replay {
            continue;
        }
        let at = event.at;
        let mut note = |skill: String, count: &dyn Fn(&mut Outcomes)| {
            let outcomes = ledger.entry(skill).or_default();
            count(outcomes);
            outcomes.last.clone_from(&at);
        };
        for skill in event.found {
            note(skill, &|outcomes| outcomes.found += 1);
        }
        let Some(skill) = event.skill else { continue };
        if event.outcome == "ok" && loads.contains(&event.tool.as_str()) {
            note(skill, &|outcomes| outcomes.loaded += 1);
        } else if event.command.is_some()
            && let Some(ended) = event.ended
        {
            let is_good = u64::from(ended == GOOD_END);
            note(skill, &|outcomes| {
                outcomes.runs += 1;
                outcomes.succeeded += is_good;
            });
        }
    }
    ledger
}

#[cfg(test)]
mod tests {
    use super::{Outcomes, ledger};

    #[test]
    fn audit_is_folded_and_what_is_no_end_of_a_call_is_left_out() {
        let audit = [
            r#"{"at":"1","phase":"end","tool":"skill_search","outcome":"ok","found":["lib/a","lib/b"]}"#,
            r#"{"at":"2","phase":"end","tool":"skill_load","outcome":"ok","skill":"lib/a"}"#,
            r#"{"at":"3","phase":"end","tool":"skill_load","outcome":"SKILL_NOT_FOUND","skill":"lib/c"}"#,
            r#"{"at":"4","phase":"begin","tool":"skill_run","outcome":"ok","skill":"lib/a","command":"x"}"#,
            r#"{"at":"5","phase":"end","tool":"skill_run","outcome":"ok","skill":"lib/a","command":"x","ended":"exit 0"}"#,
            r#"{"at":"6","phase":"end","tool":"skill_run","outcome":"ok","skill":"lib/a","command":"x","ended":"exit 2"}"#,
            r#"{"at":"7","phase":"end","tool":"skill_run","outcome":"APPROVAL_REQUIRED","skill":"lib/a","command":"x"}"#,
            r#"{"at":"8","phase":"end","replay":true,"tool":"skill_load","outcome":"ok","skill":"lib/a"}"#,
            "{",
            "[]",
        ];
        let found = ledger(audit.map(str::as_bytes), &["skill_load"]);
        let a = Outcomes {
            found: 1,
            loaded: 1,
            runs: 2,
            succeeded: 1,
            last: "6".to_owned(),
        };
        let b = Outcomes {
            found: 1,
            last: "1".to_owned(),
            ..Outcomes::default()
        };
        assert_eq!(
            found.into_iter().collect::<Vec<_>>(),
            [("lib/a".to_owned(), a), ("lib/b".to_owned(), b)]
        );
    }
}
