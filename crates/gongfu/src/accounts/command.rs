//! Accounts at the command line: opened for one command, and users by what a person calls them.

use gongfu_core::account::{Owner, Team, User};

use super::{ServerAccounts, failed};
use crate::config::Config;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::terminal::plain;
use crate::wiring;

/// The number of users that are read at once.
const PAGE: usize = 500;

/// Does work on the accounts of this home, and closes them.
pub(crate) fn with_accounts<T>(
    environment: &Environment,
    work: impl AsyncFnOnce(&ServerAccounts) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let home = wiring::home(environment)?;
    let config = Config::read(&home)?;
    let runtime = wiring::runtime()?;
    runtime.block_on(async {
        let open = super::open(&home, &config, "").await?;
        let done = work(&open).await;
        open.database.close().await?;
        done
    })
}

/// The user whom a person means.
pub(crate) async fn find(open: &ServerAccounts, user: &str) -> Result<User, Failure> {
    open.accounts.find_any(user).await.map_err(|error| {
        let failure = failed(error);
        if failure.code == "USER_NOT_FOUND" {
            let message = format!("there is no user `{}`", plain(user));
            return Failure { message, ..failure };
        }
        failure
    })
}

/// All users.
pub(crate) async fn all(open: &ServerAccounts) -> anyhow::Result<Vec<User>> {
    let mut users: Vec<User> = Vec::new();
    loop {
        let after = users.last().map(|user| &user.id);
        let page = open.accounts.users(after, PAGE).await.map_err(failed)?;
        if page.is_empty() {
            return Ok(users);
        }
        users.extend(page);
    }
}

/// All teams.
pub(crate) async fn all_teams(open: &ServerAccounts) -> anyhow::Result<Vec<Team>> {
    let mut teams: Vec<Team> = Vec::new();
    loop {
        let after = teams.last().map(|team| &team.id);
        let page = open.accounts.teams(after, PAGE).await.map_err(failed)?;
        if page.is_empty() {
            return Ok(teams);
        }
        teams.extend(page);
    }
}

/// All users and teams, as owners.
pub(crate) async fn owners(open: &ServerAccounts) -> anyhow::Result<Vec<Owner>> {
    let users = all(open).await?;
    let teams = all_teams(open).await?;
    let users = users.into_iter().map(|user| Owner::User(user.id));
    Ok(users
        .chain(teams.into_iter().map(|team| Owner::Team(team.id)))
        .collect())
}

/// The team that a person means.
pub(crate) async fn find_team(open: &ServerAccounts, team: &str) -> Result<Team, Failure> {
    open.accounts.find_team(team).await.map_err(|error| {
        let failure = failed(error);
        if failure.code == "TEAM_NOT_FOUND" {
            let message = format!("there is no team `{}`", plain(team));
            return Failure { message, ..failure };
        }
        failure
    })
}
