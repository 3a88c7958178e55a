//! The connections to other MCP servers: whether they are declared well and approved, and what users get of them.

use gongfu_core::connection::Connection;
use gongfu_core::pin;
use gongfu_files::Home;
use gongfu_records::FileRecords;

use super::Check;
use crate::accounts::connection::offered;
use crate::config::Config;
use crate::connection::{Diagnostic, connections as declared_connections};
use crate::environment::Environment;
use crate::table::count;
use crate::terminal::plain;
use crate::wiring;

/// The check of connections; `None` where there are none. Starts nothing.
pub(super) fn connections(home: &Home, environment: &Environment) -> Option<Check> {
    let config = Config::read(home).ok()?;
    let all = declared_connections(environment, home);
    let (for_users, missing) = offered(&config, all.declared.clone());
    if all.declared.is_empty() && all.diagnostics.is_empty() && missing.is_empty() {
        return None;
    }
    let (runtime, records) = (wiring::runtime().ok()?, FileRecords::new(home.clone()));
    let is_approved = |one: &Connection| {
        let pin = runtime.block_on(pin::read(&records, &one.name));
        pin.is_ok_and(|pin| pin.covers(&one.target))
    };
    let mut message = count(all.declared.len(), "connection");
    if !for_users.is_empty() {
        message = format!("{message}, {} of them for users", for_users.len());
    }
    let invalid: Vec<String> = all.diagnostics.iter().map(Diagnostic::text).collect();
    let missing = missing.iter().map(|name| {
        let name = plain(name);
        format!("`accounts.connections` names `{name}`, and there is no such connection")
    });
    let declared = all.declared.iter().map(|one| &one.connection);
    let waiting = declared.filter(|one| !is_approved(one));
    let waiting = waiting.map(|one| format!("`{}` waits for your approval", one.name));
    let found = [
        (invalid, "fix that entry, or remove it"),
        (
            missing.collect(),
            "correct `accounts.connections`, or add it: gongfu connection add NAME",
        ),
        (waiting.collect(), "gongfu connection approve NAME"),
    ];
    let Some((first, fix)) = found.iter().find(|(all, _)| !all.is_empty()) else {
        return Some(Check::ok("connections", message));
    };
    let message = format!("{message}; {}", first.join("; "));
    let details = found.iter().flat_map(|(all, _)| all.clone()).collect();
    Some(Check::warn("connections", message, *fix).with_details(details))
}
