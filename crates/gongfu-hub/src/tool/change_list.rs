//! `change_list`: what runs changed and a person must allow.

use std::fmt::Write as _;

use gongfu_core::capability::{Access, Safety};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::change::{self, ChangeDiff};
use crate::error::ToolError;
use crate::output::Data;
use crate::tool::Tool;

/// List the changes by runs that wait for a person, or show one change set with its diff. Most
/// changes are applied at once. These are to files that programs on the person's machine act on by
/// themselves, such as git hooks and editor settings.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChangeList {
    /// The change set to show, as a run named it. Without it, all change sets are listed.
    id: Option<String>,
}

/// The change sets that wait.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ChangeSets {
    /// The sets, the oldest first.
    sets: Vec<ChangeSetEntry>,
}

/// A change set.
#[derive(Debug, Serialize, JsonSchema)]
struct ChangeSetEntry {
    /// Its id.
    id: String,
    /// The time at which its run ended, in milliseconds since 1970.
    made: u64,
    /// The command of the run.
    about: String,
    /// The number of its changes.
    total: usize,
    /// The changes with their diffs; missing in a list of all sets.
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<Vec<ChangeDiff>>,
}

impl Tool for ChangeList {
    const NAME: &'static str = "change_list";
    const TITLE: &'static str = "List changes that wait";
    const ACCESS: Access = Access::Read;
    const SAFETY: Safety = Safety::Low;
    type Output = Data<ChangeSets>;

    async fn run(self, call: &Call) -> Result<Data<ChangeSets>, ToolError> {
        let mut text = String::new();
        let mut sets = Vec::new();
        if let Some(id) = &self.id {
            let shown = change::show(call, id).await?;
            let _ = writeln!(text, "{}: {}", shown.set.id, shown.set.about);
            text.push_str(&shown.text());
            sets.push(ChangeSetEntry {
                id: shown.set.id,
                made: shown.set.made,
                about: shown.set.about,
                total: shown.set.changes.len(),
                changes: Some(shown.diffs),
            });
        } else {
            for set in change::list(call).await? {
                let total = set.changes.len();
                let _ = writeln!(text, "{}  {total} changes by {}", set.id, set.about);
                sets.push(ChangeSetEntry {
                    id: set.id,
                    made: set.made,
                    about: set.about,
                    total,
                    changes: None,
                });
            }
            if sets.is_empty() {
                text.push_str("nothing waits\n");
            }
        }
        let data = ChangeSets { sets };
        Ok(Data { data, text })
    }
}
