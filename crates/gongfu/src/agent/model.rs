//! Models by name: the providers of gongfu's table and those of the settings, with the keys of the environment.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use gongfu_agent::Models;
use gongfu_core::port::{
    ChatModel, ModelError, ModelErrorKind, ModelEvents, ModelRequest, PendingAnswer, Price,
};
use gongfu_llm::{Clients, Key, Limits, Provider, ProviderKind, Settings};

use crate::config::{ModelPrice, ModelSection};
use crate::environment::Environment;

/// The models of the settings file and of the environment.
pub(crate) struct ConfiguredModels {
    settings: Settings,
    names: BTreeMap<String, String>,
    without_tools: Vec<String>,
    prices: BTreeMap<String, ModelPrice>,
    clients: Clients,
    /// The APIs of the settings that there are none of, by provider.
    mistakes: BTreeMap<String, String>,
}

impl ConfiguredModels {
    pub(crate) fn new(section: &ModelSection, environment: &Environment) -> Self {
        let mut mistakes = BTreeMap::new();
        let mut providers = Vec::new();
        let named = section.urls.keys().chain(section.apis.keys());
        let named = named.chain(section.key_variables.keys());
        let mut names: Vec<&str> = named.map(String::as_str).collect();
        let known = gongfu_llm::known_providers().iter();
        names.extend(known.map(|provider| provider.name));
        names.sort_unstable();
        names.dedup();
        for name in names {
            match provider(name, section, environment) {
                Ok(found) => providers.extend(found),
                Err(mistake) => {
                    mistakes.insert(name.to_owned(), mistake);
                }
            }
        }
        let seconds = |seconds: u32| Duration::from_secs(seconds.max(1).into());
        let stall = seconds(section.stall_seconds);
        let limits = Limits {
            first_byte_timeout: stall,
            read_timeout: stall,
            total_timeout: seconds(section.answer_seconds),
            attempts: section.attempts.max(1),
            longest_wait: seconds(section.longest_wait_seconds),
            ..Limits::default()
        };
        Self {
            settings: Settings {
                providers,
                default_model: section.default.clone(),
                limits,
            },
            names: section.names.clone(),
            without_tools: section.without_tools.clone(),
            prices: section.prices.clone(),
            clients: Clients::new(limits),
            mistakes,
        }
    }

    /// The `provider/model` behind a name.
    fn full_name(&self, name: Option<&str>) -> Option<String> {
        let name = name.or(self.settings.default_model.as_deref())?;
        let name = self.names.get(name).map_or(name, String::as_str);
        // With one provider that was set up, its name needn't be said.
        let mut set_up = self.set_up();
        match (set_up.next(), set_up.next()) {
            (Some(only), None) if !name.contains('/') => Some(format!("{only}/{name}")),
            _ => Some(name.to_owned()),
        }
    }

    /// The names of the providers that have a key or an address.
    fn set_up(&self) -> impl Iterator<Item = &str> {
        let providers = self.settings.providers.iter();
        let set_up = providers.filter(|one| one.key.is_some() || one.base_url.is_some());
        set_up.map(|one| one.name.as_str())
    }

    /// Says that no model is named, and how to name one.
    fn without_name(&self) -> ModelError {
        let set_up: Vec<&str> = self.set_up().collect();
        let message = match set_up.first() {
            Some(first) => format!(
                "no model is named (configured: {}); name one: `gongfu chat --model {first}/NAME`, or permanently \
                 `gongfu config set models.default {first}/NAME`",
                set_up.join(", ")
            ),
            None => "no model is named, and no provider is configured: set the key of one, such as OPENAI_API_KEY"
                .to_owned(),
        };
        ModelError::new(ModelErrorKind::NotConfigured, message)
    }

    /// The price of a model, by its full name.
    fn price_of(&self, full_name: &str) -> Option<Price> {
        self.prices.get(full_name).map(|price| Price {
            input: price.input,
            cached: price.cached.unwrap_or(price.input),
            output: price.output,
        })
    }
}

/// A provider, if it can be used: one of gongfu's table needs its key, unless it is on this machine.
fn provider(
    name: &str,
    section: &ModelSection,
    environment: &Environment,
) -> Result<Option<Provider>, String> {
    let known = gongfu_llm::known(name);
    let kind = match (section.apis.get(name), known) {
        (Some(api), _) => {
            let mut kinds = ProviderKind::ALL.into_iter();
            let found = kinds.find(|kind| kind.as_str() == api);
            found.ok_or_else(|| format!("{api:?} is not an API that gongfu speaks (provider {name:?}): use openai, anthropic, gemini or ollama"))?
        }
        (None, Some(known)) => known.kind,
        (None, None) => ProviderKind::OpenAi,
    };
    let variables = &environment.models;
    let first = |names: &[&'static str]| {
        let mut names = names.iter();
        names.find_map(|name| variables.urls.get(name).cloned())
    };
    let said = section.urls.get(name).cloned();
    let base_url = said.or_else(|| first(known?.url_variables));
    let key = match section.key_variables.get(name) {
        Some(variable) => Environment::variable(variable).map(|key| Key::new(&key)),
        None => known.and_then(|known| {
            let mut names = known.key_variables.iter();
            names.find_map(|name| variables.keys.get(name).cloned())
        }),
    };
    let is_usable = key.is_some()
        || base_url.is_some()
        || known.is_some_and(gongfu_llm::KnownProvider::is_local);
    Ok(is_usable.then(|| Provider {
        name: name.to_owned(),
        kind,
        base_url,
        key,
    }))
}

/// Says which variable a provider of gongfu's table lacks.
fn without_key(provider: &str) -> Option<ModelError> {
    let variable = gongfu_llm::known(provider)?.key_variables.first()?;
    let message = format!("there is no key for the provider `{provider}`: set {variable}");
    Some(ModelError::new(ModelErrorKind::NotConfigured, message))
}

impl Models for ConfiguredModels {
    fn model(&self, name: Option<&str>) -> Result<Arc<dyn ChatModel>, ModelError> {
        let full = self.full_name(name).ok_or_else(|| self.without_name())?;
        let named = full.split_once('/');
        if let Some(mistake) = named.and_then(|(provider, _)| self.mistakes.get(provider)) {
            let kind = ModelErrorKind::NotConfigured;
            return Err(ModelError::new(kind, mistake.clone()));
        }
        let (provider, model) = match self.settings.find(Some(&full)) {
            Ok(found) => found,
            Err(error) => {
                return Err(named
                    .and_then(|(name, _)| without_key(name))
                    .unwrap_or(error));
            }
        };
        let model = self.clients.chat_model(provider, model)?;
        Ok(Arc::new(ConfiguredModel {
            calls_tools: !self.without_tools.iter().any(|name| name == model.name()),
            price: self.price_of(model.name()),
            model,
        }))
    }

    fn names(&self) -> Vec<String> {
        let default = self.settings.default_model.as_ref();
        let others = self.names.keys().filter(|name| Some(*name) != default);
        default.into_iter().chain(others).cloned().collect()
    }
}

/// A model with what the settings say about it.
struct ConfiguredModel {
    model: Arc<dyn ChatModel>,
    calls_tools: bool,
    price: Option<Price>,
}

impl ChatModel for ConfiguredModel {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn calls_tools(&self) -> bool {
        self.calls_tools
    }

    fn price(&self) -> Option<Price> {
        self.price
    }

    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
        events: &'a dyn ModelEvents,
    ) -> PendingAnswer<'a> {
        self.model.ask(request, events)
    }
}

#[cfg(test)]
mod tests;
