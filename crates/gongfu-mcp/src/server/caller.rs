//! The caller of a request: on a local transport a program of the person, else the user behind its credential.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gongfu_core::account::{Actor, Owner, Permissions, Role};
use gongfu_core::registry::Identity;
use gongfu_core::set::{CapabilitySet, SetChoice};
use gongfu_hub::Profile;
use rmcp::model::{ErrorData, Extensions, ProtocolVersion};
use rmcp::service::{NotificationContext, RequestContext, RoleServer};

use super::Server;
use crate::http::{RequestedProfiles, RequestedSet};

/// The longest text that a client may call itself in the audit, in characters.
const MAX_CLIENT: usize = 200;
/// The most tasks whose owners are known: more than there are at once.
const MAX_TASKS: usize = 4_096;

/// A new session, which nobody can guess.
pub(super) fn new_session() -> Option<Arc<str>> {
    let mut id = [0; 16];
    getrandom::fill(&mut id).ok()?;
    Some(format!("{:032x}", u128::from_ne_bytes(id)).into())
}

/// The user that the web server found by the credential of a request.
fn identity(extensions: &Extensions) -> Option<&Arc<Identity>> {
    let parts = extensions.get::<http::request::Parts>()?;
    parts.extensions.get()
}

/// The caller behind a request, which calls itself so.
fn caller(extensions: &Extensions, client: String) -> Actor {
    match identity(extensions) {
        Some(identity) => identity.actor(Role::ExternalAgent, client),
        None => Actor::local(Role::ExternalAgent, client),
    }
}

impl Server {
    /// The caller of a request.
    pub(super) fn actor(&self, context: &RequestContext<RoleServer>) -> Actor {
        let client = context.client_info().map_or_else(
            || "unknown".to_owned(),
            |client| format!("{} {}", client.name, client.version),
        );
        let client = client.chars().take(MAX_CLIENT).collect();
        let mut actor = caller(&context.extensions, client);
        actor.session = self.session(context);
        actor.permissions.set = self.set(&context.extensions);
        actor
    }

    /// The set of a request: that of its address, else the server's.
    pub(super) fn set(&self, extensions: &Extensions) -> Option<Arc<CapabilitySet>> {
        let parts = extensions.get::<http::request::Parts>();
        match parts.and_then(|parts| parts.extensions.get::<RequestedSet>()) {
            Some(asked) => Some(Arc::clone(&asked.0)),
            None => self.settings.set.as_ref().map(SetChoice::set),
        }
    }

    /// The session of a request: the connection on a local transport, the session of an older revision over HTTP. The
    /// requests of 2026-07-28 over HTTP have nothing in common.
    fn session(&self, context: &RequestContext<RoleServer>) -> Option<Arc<str>> {
        let has_none = context.extensions.get::<http::request::Parts>().is_some()
            && context
                .protocol_version()
                .is_none_or(|version| version >= ProtocolVersion::V_2026_07_28);
        self.session.clone().filter(|_| !has_none)
    }

    /// The person at a client, whose answers come through it.
    pub(super) fn person(&self, context: &RequestContext<RoleServer>) -> Actor {
        let actor = self.actor(context);
        Actor {
            role: Role::Developer,
            permissions: Permissions {
                credential: actor.permissions.credential,
                ..Permissions::all()
            },
            ..actor
        }
    }

    /// The user who is notified of changes.
    pub(super) fn listener(&self, context: &NotificationContext<RoleServer>) -> Actor {
        let mut actor = caller(&context.extensions, String::new());
        actor.permissions.set = self.set(&context.extensions);
        actor
    }

    /// The profiles that a request sees: those that its address asks for, else its credential's, else the server's.
    pub(super) fn profiles(&self, context: &RequestContext<RoleServer>) -> Vec<Profile> {
        let parts = context.extensions.get::<http::request::Parts>();
        if let Some(asked) = parts.and_then(|parts| parts.extensions.get::<RequestedProfiles>()) {
            return asked.0.clone();
        }
        let profile = identity(&context.extensions).and_then(|identity| identity.profile.as_ref());
        let profiles: Vec<Profile> = profile
            .into_iter()
            .flat_map(|profile| profile.split(','))
            .filter_map(|name| name.parse().ok())
            .collect();
        if profiles.is_empty() {
            self.settings.profiles.clone()
        } else {
            profiles
        }
    }
}

/// The owners of tasks: a task is nobody else's, even by its id.
#[derive(Debug, Default)]
pub(super) struct TaskOwners(Mutex<HashMap<String, Owner>>);

impl TaskOwners {
    /// Notes the owner of a new task, and forgets those of tasks that are gone.
    pub(super) fn add(&self, task: &str, owner: &Owner, exists: impl Fn(&str) -> bool) {
        let mut owners = self.lock();
        if owners.len() >= MAX_TASKS {
            owners.retain(|task, _| exists(task));
        }
        owners.insert(task.to_owned(), owner.clone());
    }

    /// Checks that the caller owns a task.
    ///
    /// # Errors
    /// The caller doesn't, or there is no such task: both are told alike.
    pub(super) fn check(
        &self,
        task: &str,
        context: &RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let caller = caller(&context.extensions, String::new()).owner;
        match self.lock().get(task) {
            Some(owner) if *owner != caller => {
                // As `rmcp` says it of a task that there isn't.
                let text = format!("unknown task: {task}");
                Err(ErrorData::invalid_params(text, None))
            }
            _ => Ok(()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Owner>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
