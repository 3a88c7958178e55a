//! Calls as surfaces make them.

use std::sync::Arc;

use gongfu_core::account::Actor;
use gongfu_core::library::Revision;
use gongfu_core::trace::TraceContext;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::call::{CallId, Events};
use crate::directory::KnownTools;
use crate::profile::Profile;

/// The state of everything that a client can see.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CatalogRevision {
    /// The caller's library.
    pub library: Revision,
    /// The entries.
    pub entries: u64,
}

/// A call as a surface makes it.
pub struct Request<'a> {
    /// The tools that the caller sees.
    pub profiles: &'a [Profile],
    /// The name of the tool.
    pub name: &'a str,
    /// The arguments.
    pub arguments: Map<String, Value>,
    /// The caller.
    pub actor: &'a Actor,
    /// The call that caused this one.
    pub parent: Option<CallId>,
    /// The tools that the caller's connection has had to do with, where there is a connection.
    pub known: Option<Arc<KnownTools>>,
    /// True for a call that a replay makes again, which isn't a use of what it reads.
    pub is_replay: bool,
    /// The place of the call in the caller's trace, where the caller named one.
    pub trace: Option<TraceContext>,
    /// Carries events to the caller.
    pub events: Events,
    /// Ends the call.
    pub cancel: CancellationToken,
}

impl<'a> Request<'a> {
    /// A call whose events nobody receives.
    pub fn new(
        profiles: &'a [Profile],
        name: &'a str,
        arguments: Map<String, Value>,
        actor: &'a Actor,
    ) -> Self {
        Self {
            profiles,
            name,
            arguments,
            actor,
            parent: None,
            known: None,
            is_replay: false,
            trace: None,
            events: Events::default(),
            cancel: CancellationToken::new(),
        }
    }
}
