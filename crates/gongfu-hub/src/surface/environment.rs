//! Building, listing and removing environments of packages, for the operator.

use std::sync::Arc;

use gongfu_core::capability::Access;
use gongfu_core::dependency::{Guess, Imports, Record, guesses};
use gongfu_core::port::{InstalledEnvironment, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use super::operation::{self, Operation, specified};
use crate::call::{Call, Event};
use crate::error::ToolError;
use crate::run::dependency::{broken, manifests, problem};
use crate::shelf;
use crate::tool::ToolSpec;

/// Builds every environment that a skill needs and that doesn't exist yet.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EnvironmentBuild {
    /// The name of the skill.
    pub skill: String,
    /// Also installs the imports of its scripts, if it declares no packages.
    pub inferred: bool,
    /// Imported packages outside of gongfu's table that may be installed as well.
    pub allow: Vec<String>,
}

/// The outcome for one manifest of a skill.
#[derive(Debug, Clone)]
pub enum BuildReport {
    /// The environment exists.
    Environment {
        /// Its record.
        record: Arc<Record>,
        /// True if it was built now.
        is_new: bool,
    },
    /// The skill declares no packages: a person decides about its imports.
    Proposal {
        /// `python` or `node`.
        language: &'static str,
        /// The packages of the imports.
        packages: Vec<Guess>,
        /// The imports.
        imports: Imports,
    },
}

impl Operation for EnvironmentBuild {
    const NAME: &'static str = "environment/build";
    type Output = Vec<BuildReport>;
    specified!(ToolSpec {
        access: Access::Execute,
        ..operation::person_spec::<Self>()
    });

    async fn run(self, call: &Call) -> Result<Vec<BuildReport>, ToolError> {
        let skill = shelf::skill(call, &self.skill).await?;
        shelf::check_local(call, &skill).await?;
        let environments = call.space.environments();
        let mut reports = Vec::new();
        for mut manifest in manifests(call, &skill).await? {
            let language = manifest.language;
            manifest.allowed.clone_from(&self.allow);
            let found = environments.find(&manifest).await.map_err(broken)?;
            if let Some(found) = found {
                reports.push(BuildReport::Environment {
                    record: found.record,
                    is_new: false,
                });
                continue;
            }
            let origin = manifest.origin();
            let failed = |failure| problem(language, origin, failure);
            if manifest.is_inferred() && !self.inferred {
                let imports = environments.imports(&skill, &manifest).await;
                let imports = imports.map_err(broken)?.map_err(failed)?;
                let modules = imports.modules.keys().map(String::as_str);
                let packages = guesses(language, modules);
                if !packages.is_empty() {
                    reports.push(BuildReport::Proposal {
                        language: language.as_str(),
                        packages,
                        imports,
                    });
                }
                continue;
            }
            let listener = call.events.listener();
            let built = environments.build(&skill, manifest, listener).await;
            let built = built.map_err(broken)?.map_err(failed)?;
            call.events.send(Event::Contacts(&built.contacts));
            reports.push(BuildReport::Environment {
                record: built.environment.record,
                is_new: true,
            });
        }
        Ok(reports)
    }
}

/// Lists every environment.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EnvironmentList {
    /// Compares the files of each with its recorded digest.
    pub verify: bool,
}

/// An environment in a list.
#[derive(Debug, Clone)]
pub struct EnvironmentStatus {
    /// The environment.
    pub environment: InstalledEnvironment,
    /// True if its files differ from the recorded digest; `None` if they weren't compared.
    pub is_changed: Option<bool>,
}

impl Operation for EnvironmentList {
    const NAME: &'static str = "environment/list";
    type Output = Vec<EnvironmentStatus>;
    specified!();

    async fn run(self, call: &Call) -> Result<Vec<EnvironmentStatus>, ToolError> {
        let environments = call.space.environments();
        let mut all = environments.list().await.map_err(broken)?;
        all.sort_by(|one, other| {
            let newest_first = last_use(other).cmp(&last_use(one));
            newest_first.then_with(|| one.key.cmp(&other.key))
        });
        let mut list = Vec::new();
        for environment in all {
            let mut is_changed = None;
            if self.verify && environment.record.is_ok() {
                let compared = environments.is_changed(&environment.key).await;
                is_changed = Some(compared.map_err(broken)?);
            }
            list.push(EnvironmentStatus {
                environment,
                is_changed,
            });
        }
        Ok(list)
    }
}

/// Removes environments that nobody used for some time, and the remains of interrupted builds.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EnvironmentPrune {
    /// The days without any use; 0 removes all.
    pub days: u32,
}

/// The outcome of a removal.
#[derive(Debug, Clone, Default)]
pub struct PruneReport {
    /// The removed environments.
    pub removed: Vec<InstalledEnvironment>,
    /// The number of environments that stay because a run uses them.
    pub in_use: usize,
    /// The number of environments that stay because of their last use.
    pub recent: usize,
}

/// The length of a day, in milliseconds.
const DAY: i64 = 24 * 60 * 60 * 1000;

impl Operation for EnvironmentPrune {
    const NAME: &'static str = "environment/prune";
    type Output = PruneReport;
    specified!(operation::person_spec::<Self>());

    async fn run(self, call: &Call) -> Result<PruneReport, ToolError> {
        let environments = call.space.environments();
        let oldest = call.space.now().0 - i64::from(self.days).saturating_mul(DAY);
        let mut report = PruneReport::default();
        environments.sweep().await.map_err(broken)?;
        for environment in environments.list().await.map_err(broken)? {
            let is_recent = last_use(&environment).is_some_and(|used| used.0 > oldest);
            if self.days > 0 && is_recent {
                report.recent += 1;
            } else if environments
                .remove(&environment.key)
                .await
                .map_err(broken)?
            {
                report.removed.push(environment);
            } else {
                report.in_use += 1;
            }
        }
        Ok(report)
    }
}

/// The time of the last use; `None` if the record can't be read.
fn last_use(environment: &InstalledEnvironment) -> Option<Timestamp> {
    let record = environment.record.as_ref().ok();
    record.map(|(_, used)| *used)
}
