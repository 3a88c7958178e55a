//! `change_settle`: asks the person to apply changes that wait, or drops them.

use gongfu_core::capability::{Access, Safety};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::{Call, Proposal};
use crate::change::{self, MAX_ASKED, ShownSet};
use crate::confirmation::confirm;
use crate::error::ToolError;
use crate::output::Data;
use crate::run::{Artifact, artifact, artifact_words, by_rank};
use crate::tool::Tool;

/// The lines of a longer one that are shown all the same.
const LINES_OF_LONGER: usize = 40;

/// Apply or drop a change set that a run left waiting. `apply` asks the person, who sees the diff:
/// nothing is applied until they agree. `drop` asks nobody.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChangeSettle {
    /// The change set, as the run or `change_list` named it.
    id: String,
    /// `apply` or `drop`.
    #[schemars(with = "String", extend("enum" = ["apply", "drop"]))]
    action: Action,
}

/// The end that a change set can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Action {
    /// Its changes are applied, once the person agrees.
    Apply,
    /// It is dropped.
    Drop,
}

/// The end of a change set.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ChangesSettled {
    /// The files that were changed, by the path that the run saw.
    artifacts: Vec<Artifact>,
    /// The number of them.
    total: usize,
    /// True if some couldn't be applied: the change set still waits.
    partial: bool,
}

impl Tool for ChangeSettle {
    const NAME: &'static str = "change_settle";
    const TITLE: &'static str = "Apply or drop changes that wait";
    const ACCESS: Access = Access::Write;
    const SAFETY: Safety = Safety::Medium;
    const REVIEWED: bool = true;
    type Output = Data<ChangesSettled>;

    async fn review(&self, call: &Call) -> Result<Option<Proposal>, ToolError> {
        let shown = change::show(call, &self.id).await?;
        Ok((self.action == Action::Apply).then(|| proposal(&shown)))
    }

    async fn run(self, call: &Call) -> Result<Data<ChangesSettled>, ToolError> {
        let changes = call.space.changes();
        if self.action == Action::Drop {
            let dropping = changes.drop_set(&self.id).await;
            dropping.map_err(|error| change::failed(&self.id, error))?;
            return Ok(Data {
                text: format!("dropped {}\n", self.id),
                data: ChangesSettled {
                    artifacts: Vec::new(),
                    total: 0,
                    partial: false,
                },
            });
        }
        let shown = change::show(call, &self.id).await?;
        confirm(call, Some(shown.digest()))?;
        let applying = changes.apply(&self.id).await;
        let applied = applying.map_err(|error| change::failed(&self.id, error))?;
        let artifacts: Vec<Artifact> = by_rank(applied.artifacts)
            .into_iter()
            .map(artifact)
            .collect();
        let mut text = artifact_words(&artifacts, applied.total).unwrap_or_default();
        text.push('\n');
        if applied.is_partial {
            text.push_str("some changes couldn't be applied and still wait\n");
        }
        Ok(Data {
            text,
            data: ChangesSettled {
                artifacts,
                total: applied.total,
                partial: applied.is_partial,
            },
        })
    }
}

/// The proposal to apply a set, with its diff.
fn proposal(shown: &ShownSet) -> Proposal {
    let text = shown.text();
    let is_short = text.chars().count() <= MAX_ASKED;
    let mut details: Vec<String> = text.lines().map(str::to_owned).collect();
    if !is_short {
        details.truncate(LINES_OF_LONGER);
        let id = &shown.set.id;
        details.push(format!("… for the full diff: gongfu changes show {id}"));
    }
    Proposal {
        action: "apply these changes of a run",
        what: format!("set {} of {}", shown.set.id, shown.set.about),
        details,
        is_whole: is_short && shown.is_whole(),
        reason: "programs on this machine use these files on their own, or many files are removed"
            .to_owned(),
        digest: shown.digest(),
        any: None,
        skill: None,
        trust: None,
    }
}
