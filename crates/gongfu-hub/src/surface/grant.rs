//! Grants: a person lets a skill reach hosts.

use gongfu_core::grant::{Grant, Grants};
use gongfu_core::network::Rule;
use gongfu_core::port::PortError;
use schemars::JsonSchema;
use serde::Serialize;

use super::operation::{self, Operation, specified};
use super::stored_skill::StoredSkill;
use crate::call::Call;
use crate::error::ToolError;
use crate::problem::Problem;
use crate::shelf;
use crate::tool::ToolSpec;

/// The most grants of a space.
const MAX_GRANTS: usize = 1_000;

/// Lets a skill reach hosts.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GrantAdd {
    /// The name of the skill.
    pub skill: String,
    /// The hosts.
    #[schemars(with = "Vec<String>")]
    pub hosts: Vec<Rule>,
    /// True if they may be on this machine or its network.
    pub private: bool,
}

/// The result of a change of grants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantChange {
    /// The full name of the skill.
    pub skill: String,
    /// True if anything changed.
    pub is_changed: bool,
    /// The grants that were added, or were there already; none after a removal.
    pub grants: Vec<Grant>,
}

impl Operation for GrantAdd {
    const NAME: &'static str = "grant/add";
    type Output = GrantChange;
    specified!(operation::person_spec::<Self>());

    async fn run(self, call: &Call) -> Result<GrantChange, ToolError> {
        let skill = shelf::skill_with_unlisted(call, &self.skill).await?;
        let hosts = self.hosts.into_iter();
        let grants: Result<Vec<Grant>, PortError> = hosts
            .map(|host| Grant::new(&skill, host, self.private))
            .collect();
        let grants = grants.map_err(|error| broken(&error))?;
        let adding = Grants::update(call.space.records(), |all| {
            if all.all.len() + grants.len() > MAX_GRANTS {
                return None;
            }
            let changes = grants.iter().map(|grant| all.add(grant.clone()));
            Some(changes.fold(false, |any, changed| any | changed))
        });
        let is_changed = adding.await.map_err(|error| broken(&error))?;
        let full = || {
            let reason = format!("there are {MAX_GRANTS} grants already; remove some");
            Problem::StorageFull { reason }.error()
        };
        Ok(GrantChange {
            skill: skill.full_name.to_string(),
            is_changed: is_changed.ok_or_else(full)?,
            grants,
        })
    }
}

/// Takes hosts back from a skill, which needn't exist any more.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GrantRemove {
    /// The name of the skill, its full name, or its folder.
    pub skill: String,
    /// The hosts.
    #[schemars(with = "Vec<String>")]
    pub hosts: Vec<Rule>,
}

impl Operation for GrantRemove {
    const NAME: &'static str = "grant/remove";
    type Output = GrantChange;
    specified!(operation::person_spec::<Self>());

    async fn run(self, call: &Call) -> Result<GrantChange, ToolError> {
        if self.remove(call, &self.skill).await? {
            return Ok(GrantChange {
                skill: self.skill,
                is_changed: true,
                grants: Vec::new(),
            });
        }
        let skill = shelf::skill(call, &self.skill).await?;
        Ok(GrantChange {
            is_changed: self.remove(call, &skill.path).await?,
            skill: skill.full_name.to_string(),
            grants: Vec::new(),
        })
    }
}

impl GrantRemove {
    async fn remove(&self, call: &Call, skill: &str) -> Result<bool, ToolError> {
        let removing = Grants::update(call.space.records(), |all| {
            let changes = self.hosts.iter().map(|host| all.remove(skill, host));
            changes.fold(false, |any, changed| any | changed)
        });
        removing.await.map_err(|error| broken(&error))
    }
}

/// Takes a host back by the id of its grant; answers whether there was one.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GrantDelete {
    /// The id of the grant.
    pub grant: String,
}

impl Operation for GrantDelete {
    const NAME: &'static str = "grant/remove";
    type Output = bool;
    specified!(operation::person_spec::<Self>());

    async fn run(self, call: &Call) -> Result<bool, ToolError> {
        let removing = Grants::update(call.space.records(), |all| all.remove_id(&self.grant));
        removing.await.map_err(|error| broken(&error))
    }
}

/// Lists the grants, the oldest first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GrantList {}

/// A grant, and what is different in the skill since.
#[derive(Debug, Clone)]
pub struct ListedGrant {
    /// The grant.
    pub grant: Grant,
    /// The skill; `None` if it isn't there any more.
    pub skill: Option<StoredSkill>,
    /// The files that are different, for people; empty for a grant that holds.
    pub difference: Vec<String>,
}

impl Operation for GrantList {
    const NAME: &'static str = "grant/list";
    type Output = Vec<ListedGrant>;
    specified!(ToolSpec {
        person_only: true,
        ..operation::spec::<Self>()
    });

    async fn run(self, call: &Call) -> Result<Vec<ListedGrant>, ToolError> {
        let reading = Grants::read(call.space.records());
        let grants = reading.await.map_err(|error| broken(&error))?;
        let library = shelf::library(call).await?;
        let mut listed = Vec::new();
        for grant in grants.all {
            let mut skills = library.skills().iter();
            let skill = skills.find(|skill| skill.path == grant.folder);
            let difference = match skill {
                Some(skill) => grant.difference(&*shelf::with_unlisted(call, skill).await?),
                None => Vec::new(),
            };
            listed.push(ListedGrant {
                grant,
                skill: skill.map(|skill| StoredSkill::new(&library, skill)),
                difference,
            });
        }
        Ok(listed)
    }
}

fn broken(error: &PortError) -> ToolError {
    Problem::broken("the grants", error).error()
}
