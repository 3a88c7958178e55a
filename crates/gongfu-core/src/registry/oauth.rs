//! The authorization server: clients, consent, codes and tokens for programs that use MCP (OAuth 2.1).
//!
//! Everything is decided here; the surface only carries parameters and shows pages.

mod client;
mod code;
mod connection;
mod consent;
mod error;
mod parameters;
mod redirect;
mod request;
mod token;

use std::sync::Arc;

use super::Accounts;
use crate::account::Scopes;
use crate::port::ClientDocuments;

pub use client::{Client, ClientKind, Registration};
pub use connection::Connection;
pub use error::{OAuthError, OAuthErrorCode};
pub use parameters::Parameters;
pub use redirect::{RedirectError, RedirectTarget, RedirectUri};
pub use request::{AuthorizationRefusal, AuthorizationRequest};

/// The settings of the sign-in of clients.
#[derive(Debug, Clone)]
pub struct OAuthSettings {
    /// The canonical URL of what tokens are for, the MCP endpoint (RFC 8707).
    pub resource: String,
    /// True if clients may register themselves (RFC 7591).
    pub registers_clients: bool,
}

/// The authorization server of a server with accounts.
#[derive(Clone)]
pub struct AuthorizationServer {
    accounts: Accounts,
    /// Fetches documents of clients; `None` where no client has one.
    documents: Option<Arc<dyn ClientDocuments>>,
    settings: OAuthSettings,
}

impl AuthorizationServer {
    /// The authorization server of these accounts.
    pub fn new(
        accounts: Accounts,
        documents: Option<Arc<dyn ClientDocuments>>,
        settings: OAuthSettings,
    ) -> Self {
        Self {
            accounts,
            documents,
            settings,
        }
    }

    /// The accounts.
    pub fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    /// The settings.
    pub fn settings(&self) -> &OAuthSettings {
        &self.settings
    }

    /// True if clients may have a URL as their id.
    pub fn takes_documents(&self) -> bool {
        self.documents.is_some()
    }

    /// The scopes that a client may have: those of tools, never the management of the server.
    pub fn scopes() -> Scopes {
        Scopes::usual()
    }
}
