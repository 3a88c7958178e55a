//! Tools that aren't in the catalog because their server doesn't work.

use gongfu_core::account::{Actor, Scope};
use gongfu_core::capability::Access;
use gongfu_core::connection::{ConnectionName, State, permission};
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
        let connection = &status.connection.name;
        let (tool, set) = (tool_of(connection, name), permissions.set.as_ref());
        tool.is_some_and(|tool| {
            let permission = permission(connection, tool);
            set.is_none_or(|set| set.has_tool(connection.as_str(), &permission))
        })
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

/// The tool of this connection that a name is for, as clients write it or as an id.
fn tool_of<'n>(connection: &ConnectionName, name: &'n str) -> Option<&'n str> {
    let (rest, separator) = match name.strip_prefix("mcp.") {
        Some(id) => (id, "."),
        None => (name, "__"),
    };
    rest.strip_prefix(connection.as_str())?
        .strip_prefix(separator)
}
