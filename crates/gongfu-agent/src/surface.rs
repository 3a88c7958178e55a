//! The agent behind the trait that surfaces know.

use std::sync::Arc;

use gongfu_core::account::Actor;
use gongfu_core::agent::AgentLimits;
use gongfu_hub::agent::{ChatAgent, ChatRequest, ChatResult, SessionInfo, ShownSession};
use gongfu_hub::gate::Answer;

use crate::agent::Agent;
use crate::session::{SessionList, SessionShow};

impl ChatAgent for Agent {
    fn chat(self: Arc<Self>, request: ChatRequest, person: &Actor) -> Answer<'_, ChatResult> {
        Box::pin(async move { Agent::chat(&self, request, person).await })
    }

    fn sessions<'a>(&'a self, person: &'a Actor) -> Answer<'a, Vec<SessionInfo>> {
        Box::pin(self.catalog.operate(SessionList {}, person))
    }

    fn session<'a>(&'a self, id: &'a str, person: &'a Actor) -> Answer<'a, ShownSession> {
        let id = id.to_owned();
        Box::pin(self.catalog.operate(SessionShow { id }, person))
    }

    fn models(&self) -> Vec<String> {
        self.models.names()
    }

    fn limits(&self) -> AgentLimits {
        self.settings.limits
    }
}
