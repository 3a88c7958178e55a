//! The accounts of a server: whether their database opens, and whether their skills are as they were stored.

use gongfu_core::account::Owner;
use gongfu_files::Home;
use gongfu_files::disk;
use gongfu_library::changed_by_hand;

use super::Check;
use crate::accounts;
use crate::accounts::command::{all, with_accounts};
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
        let users = all(open).await?;
        let mut changed = Vec::new();
        for user in &users {
            let records = open.database.records(&Owner::User(user.id.clone()));
            let folder = skill_dir.join(user.id.as_str());
            changed.extend(changed_by_hand(&*records, folder).await?);
        }
        Ok((users.len(), changed))
    });
    Some(match found {
        Ok((users, changed)) if changed.is_empty() => {
            Check::ok("accounts", table::count(users, "user"))
        }
        Ok((_, changed)) => {
            let places = changed.iter().map(|path| plain(&path.to_string_lossy()));
            let message = format!(
                "{} of users changed by hand, which is neither run nor served",
                table::count(changed.len(), "skill")
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
