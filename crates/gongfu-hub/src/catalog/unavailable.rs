//! Tools that aren't in the catalog because their server doesn't work.

use gongfu_core::account::{Actor, Scope};
use gongfu_core::capability::Access;
use gongfu_core::connection::{ConnectionName, State};
use gongfu_core::port::{PortError, Space};

use crate::error::ToolError;
use crate::problem::Problem;
use crate::profile::{self, Profile};

/// The error about a name that no entry has, where it is that of a tool of a server that can't be used now: a caller
/// who knows the name must hear that it may come back.
pub(super) async fn unavailable(
    space: &Space,
    profiles: &[Profile],
    actor: &Actor,
    name: &str,
) -> Option<ToolError> {
    let permissions = &actor.permissions;
    let is_permitted = permissions.scopes.has(Scope::of(Access::Execute));
    if !profile::shows_foreign(profiles) || !is_permitted || permissions.skills.is_some() {
        return None;
    }
    let statuses = space.servers().statuses().await.ok()?;
    let mut statuses = statuses.into_iter();
    let status = statuses.find(|status| {
        let server = status.connection.name.as_str();
        let id = name.replacen("__", ".", 1);
        let id = id.strip_prefix("mcp.").unwrap_or(&id);
        let set = permissions.set.as_ref();
        is_named(&status.connection.name, name)
            && set.is_none_or(|set| set.has_tool(server, &format!("mcp.{id}")))
    })?;
    let has_account = space.has_account();
    // Users needn't know what the server's words name.
    let reason = status.reason.filter(|_| !has_account);
    let reason = reason.unwrap_or_else(|| "its server doesn't work now".to_owned());
    let why = match (status.is_approved, status.state) {
        (false, _) => PortError::Denied(reason),
        (true, State::Dead) => PortError::Unavailable(reason),
        (true, _) => return None,
    };
    let connection = status.connection.name.as_str();
    Some(Problem::of_server(connection, &why, has_account).error())
}

/// Returns true if a name is one of a tool of this connection, for clients or as an id.
fn is_named(connection: &ConnectionName, name: &str) -> bool {
    let id = name.strip_prefix("mcp.");
    let (rest, separator) = match id {
        Some(id) => (id, "."),
        None => (name, "__"),
    };
    let rest = rest.strip_prefix(connection.as_str());
    rest.is_some_and(|rest| rest.starts_with(separator))
}
