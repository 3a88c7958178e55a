//! The agent: a catalog of tools, models, and the settings of its loop.

use std::sync::Arc;

use gongfu_core::account::{Actor, Role};
use gongfu_core::agent::AgentLimits;
use gongfu_core::port::{ChatModel, ModelError};
use gongfu_hub::{Catalog, Profile, Request, ToolError, ToolResult};
use serde_json::{Map, Value};

/// The characters that the list of skills takes in the instructions, unless the settings say otherwise.
const SKILLS_BUDGET: usize = 8_000;
/// The agent uses gongfu's own tools and those of other servers.
const PROFILES: &[Profile] = &[Profile::Standard];

/// Gives models by name.
pub trait Models: Send + Sync {
    /// The model of this name, `provider/model` or one of the settings; the configured one without a name.
    ///
    /// # Errors
    /// There is no such model, or its provider isn't configured.
    fn model(&self, name: Option<&str>) -> Result<Arc<dyn ChatModel>, ModelError>;

    /// The names that the settings know, the configured model first.
    fn names(&self) -> Vec<String>;
}

/// The settings of the agent.
#[derive(Debug, Clone)]
pub struct AgentSettings {
    /// The limits of each turn.
    pub limits: AgentLimits,
    /// The characters of the list of skills in the instructions.
    pub skills_budget: usize,
    /// The longest answer of a model, in tokens; `None` leaves it to the provider.
    pub max_tokens: Option<u32>,
    /// The sampling temperature; `None` leaves it to the provider.
    pub temperature: Option<f64>,
}

impl Default for AgentSettings {
    fn default() -> Self {
        Self {
            limits: AgentLimits::default(),
            skills_budget: SKILLS_BUDGET,
            max_tokens: None,
            temperature: None,
        }
    }
}

/// gongfu's own agent.
pub struct Agent {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) models: Arc<dyn Models>,
    pub(crate) settings: AgentSettings,
}

impl Agent {
    /// An agent that calls the tools of this catalog.
    pub fn new(catalog: Arc<Catalog>, models: Arc<dyn Models>, settings: AgentSettings) -> Self {
        Self {
            catalog,
            models,
            settings,
        }
    }

    /// The profiles of the tools that the agent uses.
    pub fn profiles() -> &'static [Profile] {
        PROFILES
    }

    /// Calls one tool for a program, as the person, without a model. It passes the gate.
    ///
    /// # Errors
    /// There is no such tool, the gate refuses, or the tool fails.
    pub async fn execute_tool(
        &self,
        name: &str,
        params: Map<String, Value>,
        person: &Actor,
    ) -> Result<ToolResult, ToolError> {
        let request = Request::new(PROFILES, name, params, person);
        self.catalog.call(request).await
    }

    /// The agent as a caller of tools for a person: with that person's permissions, but never able to answer for a person.
    pub fn actor(person: &Actor, session: &str) -> Actor {
        Actor {
            role: match person.role {
                Role::Visitor => Role::Visitor,
                _ => Role::ChatAgent,
            },
            client: "agent".to_owned(),
            session: Some(session.into()),
            ..person.clone()
        }
    }
}
