//! The agent of this installation: its models, as settings and variables name them.

mod model;

use std::sync::Arc;

use gongfu_agent::{Agent, AgentSettings};
use gongfu_hub::Catalog;

use self::model::ConfiguredModels;
use crate::config::Config;
use crate::environment::Environment;

/// The agent that calls the tools of this catalog.
pub(crate) fn agent(
    catalog: &Arc<Catalog>,
    config: &Config,
    environment: &Environment,
) -> Arc<Agent> {
    let models = ConfiguredModels::new(&config.models, environment);
    let settings = AgentSettings {
        limits: config.agent.limits(),
        skills_budget: config.catalogue.budget,
        max_tokens: (config.agent.max_tokens > 0).then_some(config.agent.max_tokens),
        ..AgentSettings::default()
    };
    Arc::new(Agent::new(Arc::clone(catalog), Arc::new(models), settings))
}
