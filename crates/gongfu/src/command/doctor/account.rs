//! The accounts of a server: whether their database opens, and whether their skills are as they were stored.

use gongfu_core::account::Owner;
use gongfu_files::Home;
use gongfu_files::disk;
use gongfu_library::changed_by_hand;

use super::Check;
use crate::accounts;
use crate::accounts::command::{owners, with_accounts};
use crate::config::Config;
use crate::environment::Environment;
use crate::table;
use crate::terminal::plain;

/// The check of accounts; `None` where there are none. Changes nothing, so that a server may run.
pub(super) fn accounts(home: &Home, environment: &Environment) -> Option<Check> {
    let config = Config::read(home).ok()?;
    if config.accounts.database.is_none() && disk::kind_outside(&home.database()).is_none() {
        return None;
    }
    let found = with_accounts(environment, async |open| {
        let skill_dir = accounts::skill_dir(home, &config, environment)?;
        let owners = owners(open).await?;
        let mut changed = Vec::new();
        for owner in &owners {
            let records = open.database.records(owner);
            let folder = skill_dir.join(owner.id().unwrap_or_default());
            changed.extend(changed_by_hand(&*records, folder).await?);
        }
        let users = owners
            .iter()
            .filter(|owner| matches!(owner, Owner::User(_)));
        Ok((users.count(), changed))
    });
    Some(match found {
        Ok((users, changed)) if changed.is_empty() => {
            Check::ok("accounts", table::count(users, "user"))
        }
        Ok((_, changed)) => {
            let places = changed.iter().map(|path| plain(&path.to_string_lossy()));
            let message = format!(
                "{} changed by hand, which is neither run nor served",
                table::count(changed.len(), "stored skill")
            );
            let fix = "upload what is to stay, then remove what was set aside in `.changed`";
            Check::warn("accounts", message, fix).with_details(places.collect())
        }
        Err(error) => Check::fail(
            "accounts",
            error.to_string(),
            "check `accounts.database`, or restore a backup",
        ),
    })
}
