//! The connections that the operator offers to the users of a server.

use std::sync::Arc;

use gongfu_core::port::Servers;
use gongfu_files::Home;
use gongfu_hub::Catalog;
use gongfu_records::FileRecords;
use gongfu_upstream::{ConnectionEntry, UserServers};
use tokio::task::JoinHandle;

use crate::config::Config;
use crate::connection::{connections, servers};
use crate::environment::Environment;
use crate::terminal::plain;
use crate::wiring;

/// The connections that the settings name, and the names that no connection has.
pub(crate) fn offered(
    config: &Config,
    mut declared: Vec<ConnectionEntry>,
) -> (Vec<ConnectionEntry>, Vec<String>) {
    let names = &config.accounts.connections;
    declared.retain(|one| {
        names
            .iter()
            .any(|name| name == one.connection.name.as_str())
    });
    let is_declared = |name: &&String| {
        let mut declared = declared.iter();
        declared.any(|one| one.connection.name.as_str() == name.as_str())
    };
    let missing = names.iter().filter(|name| !is_declared(name)).cloned();
    let missing = missing.collect();
    (declared, missing)
}

/// The servers of these connections, for users. The operator's own records have the approvals.
pub(super) fn user_servers(home: &Home, config: &Config, environment: &Environment) -> UserServers {
    let (declared, missing) = offered(config, connections(environment, home).declared);
    for name in missing {
        let name = plain(&name);
        tracing::warn!("`accounts.connections` names `{name}`, and there is no such connection");
    }
    let records = Arc::new(FileRecords::new(home.clone()));
    let parts = servers::parts(environment, home, records);
    let sessions = usize::try_from(config.accounts.connection_sessions.max(1));
    UserServers::new(declared, &parts, sessions.unwrap_or(usize::MAX))
}

/// Puts the tools of these servers into the catalog of all users, until the task is aborted.
pub(super) async fn offer(catalog: &Arc<Catalog>, servers: &UserServers) -> JoinHandle<()> {
    let servers: Arc<dyn Servers> = Arc::new(servers.of_one());
    for status in servers.statuses().await.unwrap_or_default() {
        if !status.is_approved {
            let name = &status.connection.name;
            let why = status.reason.unwrap_or_default();
            tracing::warn!(
                "users have no tools of `{name}`: {why}: gongfu connection approve {name}"
            );
        }
    }
    wiring::offer_servers(catalog, servers, None).await
}
