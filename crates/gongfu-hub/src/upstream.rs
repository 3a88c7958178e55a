//! Keeps the tools of other servers in the catalog.

use gongfu_core::account::Owner;
use gongfu_core::capability::Origin;
use gongfu_core::connection::ConnectionName;
use gongfu_core::port::{PortError, ServerTools, Space};

use crate::catalog::Catalog;
use crate::foreign;

/// Keeps the tools of a space's other servers in the catalog, until the space has none any more.
///
/// # Errors
/// The space's servers can't be asked.
pub async fn follow(catalog: &Catalog, space: &Space) -> Result<(), PortError> {
    let mut known: Vec<ConnectionName> = Vec::new();
    let mut version = 0;
    loop {
        let all = space.servers().tools().await?;
        offer(catalog, space.owner(), &all, &mut known);
        version = space.servers().changed(version).await?;
    }
}

/// Puts the tools of a space's other servers into the catalog, as they are now.
///
/// # Errors
/// The space's servers can't be asked.
pub async fn provide(catalog: &Catalog, space: &Space) -> Result<(), PortError> {
    let all = space.servers().tools().await?;
    offer(catalog, space.owner(), &all, &mut Vec::new());
    Ok(())
}

fn offer(catalog: &Catalog, owner: &Owner, all: &[ServerTools], known: &mut Vec<ConnectionName>) {
    let origin = |name: &ConnectionName| Origin::Server(name.to_string());
    known.retain(|name| {
        let stays = all.iter().any(|server| server.connection == *name);
        if !stays {
            let _ = catalog.provide(&origin(name), Some(owner), &[]);
        }
        stays
    });
    for server in all {
        let name = &server.connection;
        let entries = foreign::entries(server);
        if let Err(error) = catalog.provide(&origin(name), Some(owner), &entries) {
            tracing::warn!(connection = %name, "its tools are left out: {error}");
        }
        if !known.contains(name) {
            known.push(name.clone());
        }
    }
}
