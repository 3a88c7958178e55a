//! Settings: which providers there are, and how long to wait for them.
//!
//! Knows no default of a provider; those are in `provider`.

use std::fmt;
use std::time::Duration;

use gongfu_core::port::{ModelError, ModelErrorKind};
use serde::{Deserialize, Serialize};

/// A provider of models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    /// Its name; that of a known provider stands for its address, too.
    pub name: String,
    /// The wire that it speaks.
    pub kind: ProviderKind,
    /// Its address, where it differs from that of the known provider.
    pub base_url: Option<String>,
    /// The key that it asks for.
    pub key: Option<Key>,
}

/// A wire that providers speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProviderKind {
    /// Chat completions, as `OpenAI` and whatever is compatible.
    OpenAi,
    /// Messages, as Anthropic.
    Anthropic,
    /// Generated content, as Gemini.
    Gemini,
    /// Ollama's own.
    Ollama,
}

impl ProviderKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::OpenAi, Self::Anthropic, Self::Gemini, Self::Ollama];

    /// Its name in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }
}

/// A key of a provider. It prints as dots.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// A key, without the spaces and line ends that came along when it was copied.
    pub fn new(key: &str) -> Self {
        Self(key.trim().to_owned())
    }

    /// The key itself, for requests and for finding it in what a provider says.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Key(…)")
    }
}

/// The limits of a request to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The time that a connection may take to be made.
    pub connect_timeout: Duration,
    /// The time from the request to the head of the answer.
    pub first_byte_timeout: Duration,
    /// The time between two pieces of the answer, keep-alives included.
    pub read_timeout: Duration,
    /// The time for all attempts and the waits between them.
    pub total_timeout: Duration,
    /// The attempts in all, at least one.
    pub attempts: u32,
    /// The wait before the second attempt; it doubles from there.
    pub first_wait: Duration,
    /// The longest wait between two attempts. A provider that asks for a longer one isn't asked again.
    pub longest_wait: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(20),
            first_byte_timeout: Duration::from_mins(2),
            read_timeout: Duration::from_mins(2),
            total_timeout: Duration::from_mins(15),
            attempts: 4,
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_mins(1),
        }
    }
}

/// Everything that is set about models.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// The providers.
    pub providers: Vec<Provider>,
    /// The model where a request names none: `provider/model`.
    pub default_model: Option<String>,
    /// The limits of each request.
    pub limits: Limits,
}

impl Settings {
    /// The provider and the model behind `provider/model`, or behind the default.
    ///
    /// # Errors
    /// There is no such provider, or no model was named.
    pub fn find<'a>(
        &'a self,
        asked: Option<&'a str>,
    ) -> Result<(&'a Provider, &'a str), ModelError> {
        let refused = |message: String| ModelError::new(ModelErrorKind::NotConfigured, message);
        let Some(asked) = asked.or(self.default_model.as_deref()) else {
            return Err(refused(
                "no model is set: name one as `provider/model`".to_owned(),
            ));
        };
        let Some((name, model)) = asked.split_once('/').filter(|(_, model)| !model.is_empty())
        else {
            return Err(refused(format!(
                "{asked:?} names no provider: write it as `provider/model`"
            )));
        };
        if let Some(provider) = self.providers.iter().find(|provider| provider.name == name) {
            return Ok((provider, model));
        }
        let names: Vec<&str> = self
            .providers
            .iter()
            .map(|provider| provider.name.as_str())
            .collect();
        Err(refused(if names.is_empty() {
            format!("no provider is configured, so {asked:?} can't be used: set a provider's key")
        } else {
            format!(
                "provider {name:?} is not configured: there is {}",
                names.join(", ")
            )
        }))
    }
}

#[cfg(test)]
mod tests;
