//! The settings of models, and of the agent that asks them.

use std::collections::BTreeMap;

use gongfu_core::agent::AgentLimits;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// The models of `gongfu chat`. Keys are never here: they are in the variables of the providers, such as
/// `OPENAI_API_KEY`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ModelSection {
    /// The model where none is named, as `PROVIDER/NAME` or one of `names`.
    pub(crate) default: Option<String>,
    /// Short names of models: `fast = "openai/gpt-5-mini"`.
    pub(crate) names: BTreeMap<String, String>,
    /// The addresses of providers, of gongfu's table or others: `local = "http://127.0.0.1:8000/v1"`.
    pub(crate) urls: BTreeMap<String, String>,
    /// The APIs that other providers speak: `openai` (default), `anthropic`, `gemini`, `ollama`.
    pub(crate) apis: BTreeMap<String, String>,
    /// The variables that hold the keys of providers: `local = "LOCAL_KEY"`.
    pub(crate) key_variables: BTreeMap<String, String>,
    /// The models that can't call tools themselves, as `PROVIDER/NAME`: they write calls into their text.
    pub(crate) without_tools: Vec<String>,
    /// The prices of models, by `PROVIDER/NAME`, in dollars per million tokens:
    /// `"openai/gpt-5-mini" = { input = 0.25, cached = 0.025, output = 2.0 }`.
    pub(crate) prices: BTreeMap<String, ModelPrice>,
    /// The attempts of a request in all.
    #[schemars(range(min = 1))]
    pub(crate) attempts: u32,
    /// The seconds without anything from the provider after which an attempt ends.
    #[schemars(range(min = 1))]
    pub(crate) stall_seconds: u32,
    /// The seconds that a whole request may take: all attempts, the waits between them, and a provider that gives signs
    /// of life without an answer.
    #[schemars(range(min = 1))]
    pub(crate) answer_seconds: u32,
    /// The longest wait between two attempts, in seconds. Where the provider asks for a longer one, the request ends.
    #[schemars(range(min = 1))]
    pub(crate) longest_wait_seconds: u32,
}

impl Default for ModelSection {
    fn default() -> Self {
        Self {
            default: None,
            names: BTreeMap::new(),
            urls: BTreeMap::new(),
            apis: BTreeMap::new(),
            key_variables: BTreeMap::new(),
            without_tools: Vec::new(),
            prices: BTreeMap::new(),
            attempts: 4,
            stall_seconds: 120,
            answer_seconds: 900,
            longest_wait_seconds: 60,
        }
    }
}

/// The price of a model, in dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModelPrice {
    /// Tokens of the request.
    #[serde(deserialize_with = "amount")]
    #[schemars(range(min = 0))]
    pub(crate) input: f64,
    /// Those that come from the provider's cache; they cost as much as others if it isn't set.
    #[serde(
        default,
        deserialize_with = "some_amount",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(range(min = 0))]
    pub(crate) cached: Option<f64>,
    /// Tokens of the answer.
    #[serde(deserialize_with = "amount")]
    #[schemars(range(min = 0))]
    pub(crate) output: f64,
}

/// Reads an amount of money that a thing can cost.
fn amount<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let amount = f64::deserialize(deserializer)?;
    if amount.is_finite() && amount >= 0.0 {
        Ok(amount)
    } else {
        Err(D::Error::custom(format!(
            "a price can't be {amount}: write a number from 0 on"
        )))
    }
}

fn some_amount<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    amount(deserializer).map(Some)
}

/// The loop of the agent.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AgentSection {
    /// The answers of the model in which it may call tools, for one prompt; after them it must answer.
    #[schemars(range(min = 1))]
    pub(crate) steps: u32,
    /// The characters of a tool's result that the model sees. Instructions of skills are never cut.
    #[schemars(range(min = 200))]
    pub(crate) observation: u32,
    /// The tokens of a conversation above which its beginning is summarised. Instructions and tools come on top: some
    /// 5,000 tokens, and more with many skills.
    #[schemars(range(min = 1000))]
    pub(crate) context_tokens: u32,
    /// The tokens that a session may use in all; 0 for any number.
    pub(crate) session_tokens: u32,
    /// The longest answer of the model, in tokens; 0 leaves it to the provider.
    pub(crate) max_tokens: u32,
    /// True if the users of a server with accounts may chat over REST: the agent asks the operator's models for them.
    pub(crate) accounts: bool,
}

impl Default for AgentSection {
    fn default() -> Self {
        let limits = AgentLimits::default();
        Self {
            steps: limits.steps,
            observation: u32::try_from(limits.observation).unwrap_or(u32::MAX),
            context_tokens: u32::try_from(limits.context_tokens).unwrap_or(u32::MAX),
            session_tokens: 0,
            max_tokens: 0,
            accounts: false,
        }
    }
}

impl AgentSection {
    /// The limits of a turn.
    pub(crate) fn limits(&self) -> AgentLimits {
        AgentLimits {
            steps: self.steps.max(1),
            observation: usize::try_from(self.observation.max(200)).unwrap_or(usize::MAX),
            context_tokens: self.context_tokens.max(1_000).into(),
            session_tokens: (self.session_tokens > 0).then_some(self.session_tokens.into()),
            ..AgentLimits::default()
        }
    }
}
