//! A person's operations on changes that wait.

use gongfu_core::change::{ApplyReport, ChangeSet};
use schemars::JsonSchema;
use serde::Serialize;

use super::operation::{self, Operation, specified};
use crate::call::Call;
use crate::change::{self, ShownSet};
use crate::error::ToolError;
use crate::tool::ToolSpec;

/// Lists the change sets that wait, the oldest first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ChangeList {}

impl Operation for ChangeList {
    const NAME: &'static str = "change/list";
    type Output = Vec<ChangeSet>;
    specified!(ToolSpec {
        person_only: true,
        ..operation::spec::<Self>()
    });

    async fn run(self, call: &Call) -> Result<Vec<ChangeSet>, ToolError> {
        change::list(call).await
    }
}

/// Shows a change set with its diff.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ChangeShow {
    /// Its id.
    pub id: String,
}

impl Operation for ChangeShow {
    const NAME: &'static str = "change/show";
    type Output = ShownSet;
    specified!(ToolSpec {
        person_only: true,
        ..operation::spec::<Self>()
    });

    async fn run(self, call: &Call) -> Result<ShownSet, ToolError> {
        change::show(call, &self.id).await
    }
}

/// Applies a change set.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ChangeApply {
    /// Its id.
    pub id: String,
}

impl Operation for ChangeApply {
    const NAME: &'static str = "change/apply";
    type Output = ApplyReport;
    specified!(operation::person_spec::<Self>());

    async fn run(self, call: &Call) -> Result<ApplyReport, ToolError> {
        let applying = call.space.changes().apply(&self.id).await;
        applying.map_err(|error| change::failed(&self.id, error))
    }
}

/// Drops a change set.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ChangeDrop {
    /// Its id.
    pub id: String,
}

impl Operation for ChangeDrop {
    const NAME: &'static str = "change/drop";
    type Output = ();
    specified!(operation::person_spec::<Self>());

    async fn run(self, call: &Call) -> Result<(), ToolError> {
        let dropping = call.space.changes().drop_set(&self.id).await;
        dropping.map_err(|error| change::failed(&self.id, error))
    }
}
