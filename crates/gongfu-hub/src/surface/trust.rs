//! Trust: a person says which projects' skills may run their scripts and take names.

use gongfu_core::port::PortError;
use gongfu_core::trust::Trusts;
use schemars::JsonSchema;
use serde::Serialize;

use super::operation::{self, Operation, specified};
use crate::call::Call;
use crate::error::ToolError;
use crate::problem::Problem;
use crate::tool::ToolSpec;

/// Trusts a project; answers whether that changed anything.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TrustAdd {
    /// The folder of the project, by its real path.
    pub project: String,
}

impl Operation for TrustAdd {
    const NAME: &'static str = "trust/add";
    type Output = bool;
    specified!(operation::person_spec::<Self>());

    async fn run(self, call: &Call) -> Result<bool, ToolError> {
        let adding = Trusts::add(call.space.records(), &self.project, call.space.now());
        adding.await.map_err(|error| broken(&error))
    }
}

/// Trusts a project no more; answers whether that changed anything.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TrustRemove {
    /// The folder of the project, which needn't exist any more.
    pub project: String,
}

impl Operation for TrustRemove {
    const NAME: &'static str = "trust/remove";
    type Output = bool;
    specified!(operation::person_spec::<Self>());

    async fn run(self, call: &Call) -> Result<bool, ToolError> {
        let removing = Trusts::remove(call.space.records(), &self.project);
        removing.await.map_err(|error| broken(&error))
    }
}

/// Lists the trusted projects.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TrustList {}

impl Operation for TrustList {
    const NAME: &'static str = "trust/list";
    type Output = Trusts;
    specified!(ToolSpec {
        person_only: true,
        ..operation::spec::<Self>()
    });

    async fn run(self, call: &Call) -> Result<Trusts, ToolError> {
        let reading = Trusts::read(call.space.records());
        reading.await.map_err(|error| broken(&error))
    }
}

fn broken(error: &PortError) -> ToolError {
    Problem::broken("the trusted projects", error).error()
}
