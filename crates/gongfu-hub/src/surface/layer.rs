//! A person's operations on layers: what runs left beside skills.

use std::sync::Arc;

use gongfu_core::library::{ResolveError, Skill};
use gongfu_core::port::{LayerInfo, PortError};
use gongfu_core::skill::SkillPath;
use schemars::JsonSchema;
use serde::Serialize;

use super::operation::{self, Operation, specified};
use crate::call::Call;
use crate::error::ToolError;
use crate::problem::Problem;
use crate::shelf;
use crate::tool::ToolSpec;

/// Lists what runs left beside skills, the one used last first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LayerList {}

impl Operation for LayerList {
    const NAME: &'static str = "layer/list";
    type Output = Vec<LayerInfo>;
    specified!(ToolSpec {
        person_only: true,
        ..operation::spec::<Self>()
    });

    async fn run(self, call: &Call) -> Result<Vec<LayerInfo>, ToolError> {
        all(call, None).await
    }
}

/// Shows what runs left beside a skill.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LayerShow {
    /// The name of the skill, or the id of a layer.
    pub skill: String,
}

/// The layers of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillLayers {
    /// The layer of the skill as it is now, or the one that was named; with its files, by path.
    pub shown: Option<(LayerInfo, Vec<(SkillPath, u64)>)>,
    /// The layers of its former versions.
    pub former: Vec<LayerInfo>,
}

impl Operation for LayerShow {
    const NAME: &'static str = "layer/show";
    type Output = SkillLayers;
    specified!(ToolSpec {
        person_only: true,
        ..operation::spec::<Self>()
    });

    async fn run(self, call: &Call) -> Result<SkillLayers, ToolError> {
        let (current, former) = found(call, &self.skill).await?;
        let shown = match current {
            Some(layer) => {
                let files = call.space.layers().files(&layer.id).await;
                Some((layer, files.map_err(broken)?))
            }
            None => None,
        };
        Ok(SkillLayers { shown, former })
    }
}

/// Removes what runs left beside a skill.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LayerClear {
    /// The name of the skill, or the id of a layer.
    pub skill: String,
    /// True for what they left beside its former versions as well.
    pub all: bool,
}

impl Operation for LayerClear {
    const NAME: &'static str = "layer/clear";
    type Output = Vec<LayerInfo>;
    specified!(operation::person_spec::<Self>());

    async fn run(self, call: &Call) -> Result<Vec<LayerInfo>, ToolError> {
        let (current, former) = found(call, &self.skill).await?;
        let former = former.into_iter().filter(|_| self.all);
        let layers: Vec<LayerInfo> = current.into_iter().chain(former).collect();
        for layer in &layers {
            match call.space.layers().clear(&layer.id).await {
                // Somebody else was faster.
                Ok(()) | Err(PortError::NotFound) => {}
                Err(error) => return Err(broken(error)),
            }
        }
        Ok(layers)
    }
}

/// Finds the layer that is meant, and those of former versions of its skill; an id means one layer alone.
async fn found(call: &Call, name: &str) -> Result<(Option<LayerInfo>, Vec<LayerInfo>), ToolError> {
    let mut every = all(call, None).await?.into_iter();
    if let Some(named) = every.find(|layer| layer.id == name) {
        return Ok((Some(named), Vec::new()));
    }
    let skill = skill(call, name).await?;
    let all = all(call, Some(&skill)).await?.into_iter();
    let (current, former): (Vec<_>, _) = all.partition(|layer| layer.is_current);
    Ok((current.into_iter().next(), former))
}

/// The skill of a name, switched off or not.
async fn skill(call: &Call, name: &str) -> Result<Arc<Skill>, ToolError> {
    let library = shelf::library(call).await?;
    if let Err(ResolveError::Disabled { full_name }) = library.resolve(name) {
        let mut skills = library.skills().iter();
        if let Some(skill) = skills.find(|skill| skill.full_name == full_name) {
            return Ok(Arc::clone(skill));
        }
    }
    shelf::skill(call, name).await
}

/// The layers in which anything lies: every run makes one.
async fn all(call: &Call, skill: Option<&Skill>) -> Result<Vec<LayerInfo>, ToolError> {
    let mut all = call.space.layers().all(skill).await.map_err(broken)?;
    all.retain(|layer| layer.files > 0);
    Ok(all)
}

fn broken(error: PortError) -> ToolError {
    Problem::broken("what runs left beside skills", &error).error()
}
