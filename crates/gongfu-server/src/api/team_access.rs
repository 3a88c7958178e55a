//! Access to a team: by its members, according to their roles.

use gongfu_core::account::{Team, TeamId, TeamRole, UserId};
use gongfu_core::registry::Accounts;

use crate::problem::Problem;

/// The name of the field in a path that is a team.
pub(super) const PARAMETER: &str = "team";

/// The path for a team of something whose path for a user is this.
pub(super) fn team_path(path: &str, team: &str) -> String {
    path.replacen("/api/v1", &format!("/api/v1/teams/{team}"), 1)
}

/// The id of a team; a text that can't be one is unknown.
pub(super) fn team_id(id: &str) -> Result<TeamId, Problem> {
    TeamId::new(id).map_err(|_| Problem::NotFound("team"))
}

/// A team of a user who has at least this role in it. One of others is unknown.
pub(super) async fn of(
    accounts: &Accounts,
    id: &str,
    user: &UserId,
    role: TeamRole,
) -> Result<Team, Problem> {
    let team = accounts.team(&team_id(id)?).await?;
    match team.role_of(user) {
        None => Err(Problem::NotFound("team")),
        Some(known) if known >= role => Ok(team),
        Some(_) => Err(Problem::Forbidden {
            detail: format!("only a maintainer of the team {} may do that", team.name),
            hint: "ask a maintainer, or let one make you a maintainer",
        }),
    }
}
