//! Notifies a client of changed lists, and of changed files that it subscribed to.
//!
//! A file counts as changed when its digest does, so touching it notifies nobody.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use gongfu_core::account::Actor;
use gongfu_core::set::{CapabilitySet, SetChoice};
use gongfu_hub::CatalogRevision;
use gongfu_hub::surface::address;
use gongfu_hub::surface::resource::Fingerprint;
use rmcp::model::{ResourceUpdatedNotificationParam, SubscriptionFilter};
use rmcp::service::{Peer, RoleServer, SubscriptionContext};
use tokio::sync::watch;

use super::Server;

/// The most files that one client can subscribe to.
pub(super) const MAX_SUBSCRIPTIONS: usize = 1_000;

/// The time between two looks at the server's set.
const SET_INTERVAL: Duration = Duration::from_secs(1);

/// Files by URI, as they were when the client was last told; `None` for one that isn't there.
pub(super) type SubscribedFiles = HashMap<String, Option<Fingerprint>>;

/// The part of what a client sees that changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListChange {
    /// Anything.
    All,
    /// The list of tools alone.
    Tools,
}

/// The state that a client was last notified of.
pub(super) struct LastState {
    catalog: Option<CatalogRevision>,
    /// The count of the tools that the client has had to do with.
    known: watch::Receiver<u64>,
    /// The server's set.
    set: Option<Arc<CapabilitySet>>,
}

impl LastState {
    /// The state at the start.
    pub(super) fn by(server: &Server) -> Self {
        Self {
            catalog: None,
            known: server.known.changes(),
            set: server.settings.set.as_ref().map(SetChoice::set),
        }
    }
}

/// Returns the part of a subscription that a client gets: everything but what can be no file here, and a boundless
/// number of files. A file needn't be there yet.
pub(super) fn acceptable(requested: &SubscriptionFilter) -> SubscriptionFilter {
    let mut accepted = requested.clone();
    if let Some(uris) = &mut accepted.resource_subscriptions {
        let mut seen = HashSet::new();
        uris.retain(|uri| {
            let has_room = seen.len() < MAX_SUBSCRIPTIONS;
            has_room && address::decode(uri).is_ok() && seen.insert(uri.clone())
        });
    }
    accepted
}

impl Server {
    /// Waits for a change of what the client sees; `None` when there will be no more.
    pub(super) async fn change(&self, actor: &Actor, seen: &mut LastState) -> Option<ListChange> {
        let LastState {
            catalog,
            known,
            set,
        } = seen;
        tokio::select! {
            is_changed = self.catalog_change(actor, catalog) => is_changed.then_some(ListChange::All),
            Ok(()) = known.changed() => Some(ListChange::Tools),
            () = self.set_change(set) => Some(ListChange::All),
        }
    }

    /// Waits until the settings have another set under the name of the server's.
    async fn set_change(&self, known: &mut Option<Arc<CapabilitySet>>) {
        let Some(choice) = &self.settings.set else {
            return std::future::pending().await;
        };
        loop {
            tokio::time::sleep(SET_INTERVAL).await;
            let now = choice.set();
            if known.as_ref() != Some(&now) {
                *known = Some(now);
                return;
            }
        }
    }

    /// Waits for a change of the library; answers whether there will be more.
    ///
    /// Its first reading doesn't count as one: a client that comes later knows it as it is then. It does where the
    /// client has seen tools without it.
    async fn catalog_change(&self, actor: &Actor, known: &mut Option<CatalogRevision>) -> bool {
        let before = match known {
            Some(before) => *before,
            None => match self
                .catalog
                .changed(actor, CatalogRevision::default())
                .await
            {
                Ok(first) if self.said_less.swap(false, Ordering::Relaxed) => {
                    *known = Some(first);
                    return true;
                }
                Ok(first) => *known.insert(first),
                Err(_) => return false,
            },
        };
        let after = self.catalog.changed(actor, before).await;
        *known = after.as_ref().ok().copied();
        after.is_ok()
    }

    /// Tells a client of the older revisions; answers whether it is still there.
    pub(super) async fn tell_peer(
        &self,
        peer: &Peer<RoleServer>,
        changed: ListChange,
        actor: &Actor,
    ) -> bool {
        if changed == ListChange::Tools {
            return peer.notify_tool_list_changed().await.is_ok();
        }
        let told = peer.notify_tool_list_changed().await.is_ok()
            && peer.notify_resource_list_changed().await.is_ok()
            && peer.notify_prompt_list_changed().await.is_ok();
        if !told {
            return false;
        }
        let changed = {
            let mut subscribed = self.subscribed.lock().await;
            self.changed(&mut subscribed, actor).await
        };
        for uri in changed {
            let updated = ResourceUpdatedNotificationParam::new(uri);
            if peer.notify_resource_updated(updated).await.is_err() {
                return false;
            }
        }
        true
    }

    /// The files that a subscription is about, as they are at its start.
    pub(super) async fn subscribed_by(
        &self,
        context: &SubscriptionContext,
        actor: &Actor,
    ) -> SubscribedFiles {
        let uris = context.accepted().resource_subscriptions.clone();
        let uris = uris.unwrap_or_default();
        let mut known = self.catalog.fingerprints(actor, &uris).await;
        let subscribed = uris.into_iter().map(|uri| {
            let known = known.remove(&uri);
            (uri, known)
        });
        subscribed.collect()
    }

    /// Tells a client of 2026-07-28 what it asked for; answers whether it is still there.
    pub(super) async fn tell_listener(
        &self,
        context: &SubscriptionContext,
        changed: ListChange,
        subscribed: &mut SubscribedFiles,
        actor: &Actor,
    ) -> bool {
        let (sink, accepted) = (context.sink(), context.accepted());
        let wants = |list: Option<bool>| list == Some(true);
        let told = (!wants(accepted.tools_list_changed)
            || sink.notify_tool_list_changed().await.is_ok())
            && (changed == ListChange::Tools
                || !wants(accepted.resources_list_changed)
                || sink.notify_resource_list_changed().await.is_ok())
            && (changed == ListChange::Tools
                || !wants(accepted.prompts_list_changed)
                || sink.notify_prompt_list_changed().await.is_ok());
        if !told || changed == ListChange::Tools {
            return told;
        }
        for uri in self.changed(subscribed, actor).await {
            if sink.notify_resource_updated(uri).await.is_err() {
                return false;
            }
        }
        true
    }

    /// The files that are others than they were, which are known as they are from now on.
    async fn changed(&self, subscribed: &mut SubscribedFiles, actor: &Actor) -> Vec<String> {
        if subscribed.is_empty() {
            return Vec::new();
        }
        let uris: Vec<String> = subscribed.keys().cloned().collect();
        let now = self.catalog.fingerprints(actor, &uris).await;
        let mut changed = Vec::new();
        for (uri, known) in subscribed.iter_mut() {
            let now = now.get(uri).copied();
            if *known != now {
                *known = now;
                changed.push(uri.clone());
            }
        }
        changed.sort_unstable();
        changed
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::SubscriptionFilter;

    use super::{MAX_SUBSCRIPTIONS, acceptable};

    fn accepted(uris: Vec<String>) -> Vec<String> {
        let mut filter = SubscriptionFilter::default();
        filter.resource_subscriptions = Some(uris);
        acceptable(&filter).resource_subscriptions.unwrap()
    }

    #[test]
    fn subscription_takes_only_files_and_each_once() {
        let file = |number: usize| format!("skill://skills/pdf/{number}.md");
        let asked = ["file:///etc/passwd", "", "skill:", "x"].map(str::to_owned);
        let mut asked = asked.to_vec();
        asked.extend([file(1), file(2), file(1)]);
        assert_eq!(accepted(asked), [file(1), file(2)]);
        let many = accepted((0..3 * MAX_SUBSCRIPTIONS).map(file).collect());
        assert_eq!(many.len(), MAX_SUBSCRIPTIONS);
    }
}
