//! Chat models of providers, over HTTP.
//!
//! Implements the port `ChatModel` with the library genai, and makes up for what that lacks: retries, limits, answers
//! that end too early, errors that repeat a key. Reads no file and no variable, and knows nothing of agents or tools.

mod answer;
mod client;
mod failure;
mod guard;
mod ollama;
mod provider;
mod redaction;
mod request;
mod retry;
mod settings;

pub use client::Clients;
pub use provider::{KnownProvider, known, known_providers};
pub use settings::{Key, Limits, Provider, ProviderKind, Settings};
