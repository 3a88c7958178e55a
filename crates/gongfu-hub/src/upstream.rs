//! Keeps the tools of other servers in the catalog.

use std::sync::Arc;

use gongfu_core::account::Owner;
use gongfu_core::capability::Origin;
use gongfu_core::connection::ConnectionName;
use gongfu_core::port::{PortError, ServerTools, Servers};

use crate::catalog::Catalog;
use crate::foreign;

/// Keeps the tools of other servers in the catalog, as long as it is polled. `owner` is the space that sees them, `None`
/// every space. `known` are the connections whose tools are in it.
///
/// # Errors
/// The servers can't be asked.
pub async fn follow(
    catalog: &Catalog,
    servers: &Arc<dyn Servers>,
    owner: Option<&Owner>,
    mut known: Vec<ConnectionName>,
) -> Result<(), PortError> {
    let mut version = 0;
    loop {
        version = servers.changed(version).await?;
        let all = servers.tools().await?;
        offer(catalog, owner, &all, &mut known);
    }
}

/// Puts the tools of other servers into the catalog, as they are now; answers the connections that have any.
///
/// # Errors
/// The servers can't be asked.
pub async fn provide(
    catalog: &Catalog,
    servers: &Arc<dyn Servers>,
    owner: Option<&Owner>,
) -> Result<Vec<ConnectionName>, PortError> {
    let (all, mut known) = (servers.tools().await?, Vec::new());
    offer(catalog, owner, &all, &mut known);
    Ok(known)
}

fn offer(
    catalog: &Catalog,
    owner: Option<&Owner>,
    all: &[ServerTools],
    known: &mut Vec<ConnectionName>,
) {
    let origin = |name: &ConnectionName| Origin::Server(name.to_string());
    known.retain(|name| {
        let stays = all.iter().any(|server| server.connection == *name);
        if !stays {
            let _ = catalog.provide(&origin(name), owner, &[]);
        }
        stays
    });
    for server in all {
        let name = &server.connection;
        let entries = foreign::entries(server);
        if let Err(error) = catalog.provide(&origin(name), owner, &entries) {
            tracing::warn!(connection = %name, "its tools are left out: {error}");
        }
        if !known.contains(name) {
            known.push(name.clone());
        }
    }
}
