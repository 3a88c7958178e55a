//! Keeps the tools of other servers in the catalog.

use std::sync::Arc;
use std::time::Duration;

use gongfu_core::account::Owner;
use gongfu_core::capability::Origin;
use gongfu_core::connection::ConnectionName;
use gongfu_core::port::{PortError, ServerTools, Servers};

use crate::catalog::Catalog;
use crate::foreign;

/// The pause after servers that can't be asked; the longest is the last of so many doublings.
const PAUSE: Duration = Duration::from_secs(1);
const DOUBLINGS: u32 = 6;

/// Keeps the tools of other servers in the catalog, as long as it is polled. `owner` is the space that sees them, `None`
/// every space. `known` are the connections whose tools are in it.
pub async fn follow(
    catalog: &Catalog,
    servers: &Arc<dyn Servers>,
    owner: Option<&Owner>,
    mut known: Vec<ConnectionName>,
) {
    let (mut version, mut failures) = (0, 0);
    loop {
        let asked = async {
            let now = servers.changed(version).await?;
            Ok::<_, PortError>((now, servers.tools().await?))
        };
        match asked.await {
            Ok((now, all)) => {
                (version, failures) = (now, 0);
                offer(catalog, owner, &all, &mut known);
            }
            Err(error) => {
                tracing::warn!("other servers can't be asked for changes: {error}");
                tokio::time::sleep(PAUSE * 2_u32.pow(failures)).await;
                failures = DOUBLINGS.min(failures + 1);
            }
        }
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
