//! Keeps the tools of other servers in the catalog.

use std::sync::Arc;

use gongfu_core::account::Owner;
use gongfu_core::capability::Origin;
use gongfu_core::connection::ConnectionName;
use gongfu_core::port::{PortError, ServerTools, Servers};

use crate::catalog::Catalog;
use crate::foreign;

/// Keeps the tools of other servers in the catalog, until there are none any more. `owner` is the space that sees them,
/// `None` every space.
///
/// # Errors
/// The servers can't be asked.
pub async fn follow(
    catalog: &Catalog,
    servers: &Arc<dyn Servers>,
    owner: Option<&Owner>,
) -> Result<(), PortError> {
    let mut known: Vec<ConnectionName> = Vec::new();
    let mut version = 0;
    loop {
        let all = servers.tools().await?;
        offer(catalog, owner, &all, &mut known);
        version = servers.changed(version).await?;
    }
}

/// Puts the tools of other servers into the catalog, as they are now.
///
/// # Errors
/// The servers can't be asked.
pub async fn provide(
    catalog: &Catalog,
    servers: &Arc<dyn Servers>,
    owner: Option<&Owner>,
) -> Result<(), PortError> {
    let all = servers.tools().await?;
    offer(catalog, owner, &all, &mut Vec::new());
    Ok(())
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
