//! Making, listing and removing environments of dependencies, for whoever runs gongfu.

use std::sync::{Arc, OnceLock};

use gongfu_core::capability::Access;
use gongfu_core::dependency::{Imported, Record};
use gongfu_core::port::{Kept, Listener};
use schemars::JsonSchema;
use serde::Serialize;

use super::operation::{self, Operation, specified};
use crate::error::ToolError;
use crate::problem::Problem;
use crate::run::dependency;
use crate::shelf;
use crate::tool::{Context, ToolSpec};

/// Makes every environment that a skill needs and that isn't there yet.
#[derive(Serialize, JsonSchema)]
pub struct EnvironmentBuild {
    /// The name of the skill.
    pub skill: String,
    /// Whether what its scripts import is installed as well, where it says nothing of what it needs.
    pub inferred: bool,
    /// Hears how it goes on.
    #[serde(skip)]
    #[schemars(skip)]
    pub listener: Option<Listener>,
}

/// What a skill needs, and what became of it.
#[derive(Debug, Clone)]
pub enum Built {
    /// An environment, and whether it is new.
    Environment(Arc<Record>, bool),
    /// Nobody says what the skill needs; this is what its scripts import, for a person to decide.
    Proposed {
        /// `python` or `node`.
        language: &'static str,
        /// The packages, by what is imported.
        packages: Vec<String>,
        /// What is imported, and where.
        imported: Imported,
    },
}

impl Operation for EnvironmentBuild {
    const NAME: &'static str = "environment/build";
    type Output = Vec<Built>;

    fn spec() -> &'static ToolSpec {
        static SPEC: OnceLock<ToolSpec> = OnceLock::new();
        SPEC.get_or_init(|| ToolSpec {
            access: Access::Execute,
            ..operation::spec::<Self>()
        })
    }

    async fn run(self, context: &Context) -> Result<Vec<Built>, ToolError> {
        let skill = shelf::skill(context, &self.skill).await?;
        let owner = &context.actor.owner;
        let listener = self.listener.unwrap_or_else(|| Arc::new(|_, _| {}));
        let broken = |error| Problem::broken("environments", &error).error();
        let mut built = Vec::new();
        // A proposal is told where nothing is said.
        for manifest in dependency::all(context, &skill, true).await? {
            let language = manifest.language;
            if let Some(there) = context
                .environments
                .find(owner, &manifest)
                .await
                .map_err(broken)?
            {
                built.push(Built::Environment(there.record, false));
                continue;
            }
            let from = manifest.from();
            if manifest.is_inferred() && !self.inferred {
                let imports = context.environments.imports(owner, &skill, &manifest).await;
                let imported = imports
                    .map_err(broken)?
                    .map_err(|failure| dependency::problem(language, from, failure))?;
                let modules = imported.modules.keys().map(String::as_str);
                let packages = gongfu_core::dependency::distributions(language, modules);
                if !packages.is_empty() {
                    built.push(Built::Proposed {
                        language: language.as_str(),
                        packages,
                        imported,
                    });
                }
                continue;
            }
            let made = context
                .environments
                .make(owner, &skill, manifest, Arc::clone(&listener))
                .await;
            let made = made
                .map_err(broken)?
                .map_err(|failure| dependency::problem(language, from, failure))?;
            context.hosts.leave(&made.contacts);
            built.push(Built::Environment(made.environment.record, true));
        }
        Ok(built)
    }
}

/// Lists every environment that is there.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EnvironmentList {
    /// Whether the files of each are looked at, and compared with what they were when it was made.
    pub verify: bool,
}

/// An environment in a list.
#[derive(Debug, Clone)]
pub struct Listed {
    /// What is known of it.
    pub kept: Kept,
    /// Whether its files are otherwise than they were; `None` where nobody looked.
    pub changed: Option<bool>,
}

impl Operation for EnvironmentList {
    const NAME: &'static str = "environment/list";
    type Output = Vec<Listed>;
    specified!();

    async fn run(self, context: &Context) -> Result<Vec<Listed>, ToolError> {
        let owner = &context.actor.owner;
        let broken = |error| Problem::broken("environments", &error).error();
        let mut listed = Vec::new();
        for kept in context.environments.list(owner).await.map_err(broken)? {
            let changed = if self.verify && kept.known.is_ok() {
                Some(
                    context
                        .environments
                        .changed(owner, &kept.key)
                        .await
                        .map_err(broken)?,
                )
            } else {
                None
            };
            listed.push(Listed { kept, changed });
        }
        listed.sort_by(|one, other| {
            let used = |listed: &Listed| listed.kept.known.as_ref().ok().map(|(_, used)| *used);
            used(other)
                .cmp(&used(one))
                .then_with(|| one.kept.key.cmp(&other.kept.key))
        });
        Ok(listed)
    }
}

/// Removes environments that weren't used for some time, and what was left of those that were never done.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EnvironmentPrune {
    /// Those that weren't used for so many days; 0 for all.
    pub days: u32,
}

/// What was removed.
#[derive(Debug, Clone, Default)]
pub struct Pruned {
    /// Those that are gone.
    pub removed: Vec<Kept>,
    /// How many stay because something runs in them.
    pub used: usize,
    /// How many stay because they were used since.
    pub recent: usize,
}

/// How long a day is, in milliseconds.
const DAY: i64 = 24 * 60 * 60 * 1000;

impl Operation for EnvironmentPrune {
    const NAME: &'static str = "environment/prune";
    type Output = Pruned;

    fn spec() -> &'static ToolSpec {
        static SPEC: OnceLock<ToolSpec> = OnceLock::new();
        SPEC.get_or_init(|| ToolSpec {
            access: Access::Write,
            ..operation::spec::<Self>()
        })
    }

    async fn run(self, context: &Context) -> Result<Pruned, ToolError> {
        let owner = &context.actor.owner;
        let broken = |error| Problem::broken("environments", &error).error();
        let now = context.clock.now();
        let mut pruned = Pruned::default();
        context.environments.sweep(owner).await.map_err(broken)?;
        for kept in context.environments.list(owner).await.map_err(broken)? {
            let unused = kept
                .known
                .as_ref()
                .map_or(i64::MAX, |(_, used)| now.0.saturating_sub(used.0));
            if self.days > 0 && unused < i64::from(self.days).saturating_mul(DAY) {
                pruned.recent += 1;
            } else if context
                .environments
                .remove(owner, &kept.key)
                .await
                .map_err(broken)?
            {
                pruned.removed.push(kept);
            } else {
                pruned.used += 1;
            }
        }
        Ok(pruned)
    }
}
