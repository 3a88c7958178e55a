//! Teams: joined by an invitation, left, renamed, synced with groups, deleted.

use std::collections::BTreeSet;

use gongfu_core::account::{Team, TeamId, TeamName, TeamRole, User, UserId};
use gongfu_core::port::Timestamp;
use gongfu_core::registry::AccountError;
use gongfu_core::registry::team::InvitationSecret;
use gongfu_testing::now;

use crate::fixture::Server;

/// A week, in milliseconds.
const WEEK: i64 = 7 * 24 * 60 * 60 * 1_000;

fn name(text: &str) -> TeamName {
    TeamName::new(text).unwrap()
}

/// A server with a team of ann, and bob.
fn design() -> (Server, Team, User, User) {
    let server = Server::new();
    let (ann, bob) = (
        server.register("ann").unwrap(),
        server.register("bob").unwrap(),
    );
    let team = now(server
        .accounts
        .create_team(name("design"), &ann.id, Some(&ann.id)))
    .unwrap();
    (server, team, ann, bob)
}

impl Server {
    fn invitation(&self, team: &Team, role: TeamRole) -> InvitationSecret {
        now(self.accounts.invite(&team.id, role, None)).unwrap().0
    }

    fn names_of_teams(&self, user: &UserId) -> Vec<String> {
        let teams = now(self.accounts.teams_of(user)).unwrap();
        teams
            .into_iter()
            .map(|team| team.name.to_string())
            .collect()
    }

    fn changes(&self) -> u64 {
        now(self.accounts.space_changes()).unwrap()
    }
}

#[test]
fn invitation_makes_one_member() {
    let (server, team, ann, bob) = design();
    assert_eq!(server.names_of_teams(&ann.id), ["design"]);
    assert!(server.names_of_teams(&bob.id).is_empty());
    let before = server.changes();
    let secret = server.invitation(&team, TeamRole::Member);
    assert_eq!(server.changes(), before, "an invitation changes no member");
    let read = InvitationSecret::parse(secret.as_str()).unwrap();
    let joined = now(server.accounts.join(&read, &bob.id)).unwrap();
    assert_eq!(joined.role_of(&bob.id), Some(TeamRole::Member));
    assert_eq!(server.names_of_teams(&bob.id), ["design"]);
    assert_ne!(server.changes(), before);
    // Used up.
    let carl = server.register("carl").unwrap();
    let again = now(server.accounts.join(&read, &carl.id)).unwrap_err();
    assert!(
        matches!(again, AccountError::Unknown("invitation")),
        "{again}"
    );
    assert!(server.names_of_teams(&carl.id).is_empty());
    assert!(
        server
            .events()
            .ends_with(&["team.join".to_owned(), "user.create".to_owned()])
    );
}

#[test]
fn invitation_ends_with_its_week_or_when_it_is_taken_back() {
    let (server, team, _, bob) = design();
    let unknown = |secret: &InvitationSecret| {
        let refused = now(server.accounts.join(secret, &bob.id));
        matches!(refused, Err(AccountError::Unknown("invitation")))
    };
    let taken_back = server.invitation(&team, TeamRole::Member);
    now(server.accounts.withdraw(&team.id, &taken_back.id(), None)).unwrap();
    assert!(unknown(&taken_back));
    let twice = now(server.accounts.withdraw(&team.id, &taken_back.id(), None));
    assert!(matches!(twice, Err(AccountError::Unknown("invitation"))));
    let old = server.invitation(&team, TeamRole::Member);
    let begin = server.accounts.now();
    server.clock.set(Timestamp(begin.0 + WEEK));
    assert!(unknown(&old));
    server.clock.set(Timestamp(begin.0 + WEEK - 1));
    now(server.accounts.join(&old, &bob.id)).unwrap();
    // One of a team that is gone, and texts that are none.
    let other = server.invitation(&team, TeamRole::Member);
    now(server.accounts.delete_team(&team.id, None)).unwrap();
    assert!(unknown(&other));
    for text in [
        "",
        "gfi_",
        &other.as_str()[1..],
        &format!("{}0", other.as_str()),
    ] {
        assert!(InvitationSecret::parse(text).is_none(), "{text}");
    }
    assert_eq!(format!("{other:?}"), "InvitationSecret");
}

#[test]
fn team_keeps_a_maintainer() {
    let (server, team, ann, bob) = design();
    let accounts = &server.accounts;
    let last =
        |changed: Result<Team, AccountError>| matches!(changed, Err(AccountError::LastMaintainer));
    assert!(last(now(accounts.remove_member(&team.id, &ann.id, None))));
    assert!(last(now(accounts.set_member(
        &team.id,
        &ann.id,
        TeamRole::Member,
        None
    ))));
    now(accounts.set_member(&team.id, &bob.id, TeamRole::Maintainer, None)).unwrap();
    now(accounts.remove_member(&team.id, &ann.id, None)).unwrap();
    assert!(server.names_of_teams(&ann.id).is_empty());
    let gone = now(accounts.remove_member(&team.id, &ann.id, None));
    assert!(matches!(gone, Err(AccountError::Unknown("member"))));
    // An invitation never takes a role away.
    let secret = server.invitation(&team, TeamRole::Member);
    let joined = now(accounts.join(&secret, &bob.id));
    assert!(matches!(joined, Err(AccountError::AlreadyMember)));
    // Somebody who is deleted leaves, even as the last one.
    now(accounts.delete(&bob.id, None)).unwrap();
    assert!(now(accounts.team(&team.id)).unwrap().members.is_empty());
}

#[test]
fn renamed_team_gives_the_old_name_back() {
    let (server, team, ann, bob) = design();
    let accounts = &server.accounts;
    let taken = now(accounts.create_team(name("design"), &bob.id, None));
    assert!(matches!(taken, Err(AccountError::TeamTaken)));
    now(accounts.create_team(name("sales"), &bob.id, None)).unwrap();
    let taken = now(accounts.rename_team(&team.id, name("sales"), None));
    assert!(matches!(taken, Err(AccountError::TeamTaken)));
    let before = server.changes();
    now(accounts.rename_team(&team.id, name("art"), None)).unwrap();
    assert_ne!(server.changes(), before);
    assert_eq!(server.names_of_teams(&ann.id), ["art"]);
    assert_eq!(now(accounts.find_team("art")).unwrap().id, team.id);
    assert_eq!(
        now(accounts.find_team(team.id.as_str())).unwrap().id,
        team.id
    );
    assert!(now(accounts.find_team("design")).is_err());
    now(accounts.create_team(name("design"), &bob.id, None)).unwrap();
}

#[test]
fn deleted_team_is_noted_until_its_data_is_removed() {
    let (server, team, ann, _) = design();
    let accounts = &server.accounts;
    now(accounts.delete_team(&team.id, Some(&ann.id))).unwrap();
    assert!(server.names_of_teams(&ann.id).is_empty());
    let noted = now(accounts.deleted_teams(10)).unwrap();
    assert_eq!(noted.len(), 1);
    assert_eq!(noted[0].0, team.id);
    now(accounts.team_data_removed(&team.id)).unwrap();
    assert!(now(accounts.deleted_teams(10)).unwrap().is_empty());
    now(accounts.create_team(name("design"), &ann.id, None)).unwrap();
}

#[test]
fn memberships_of_groups_follow_them() {
    let (server, team, _, bob) = design();
    let accounts = &server.accounts;
    let sales =
        now(accounts.create_team(name("sales"), &server.register("carl").unwrap().id, None));
    let sales = sales.unwrap();
    let sync = |teams: &[&TeamId]| {
        let teams: BTreeSet<TeamId> = teams.iter().map(|id| (*id).clone()).collect();
        now(accounts.set_synced_teams(&bob.id, &teams)).unwrap();
    };
    let unknown = TeamId::new("team-0").unwrap();
    sync(&[&team.id, &unknown]);
    assert_eq!(server.names_of_teams(&bob.id), ["design"]);
    let by_hand = now(accounts.remove_member(&team.id, &bob.id, None));
    assert!(matches!(by_hand, Err(AccountError::Synced)));
    let before = server.changes();
    sync(&[&team.id]);
    assert_eq!(server.changes(), before, "nothing changed");
    sync(&[&sales.id]);
    assert_eq!(server.names_of_teams(&bob.id), ["sales"]);
    // A membership by hand is nobody's to take.
    now(accounts.set_member(&team.id, &bob.id, TeamRole::Member, None)).unwrap();
    sync(&[]);
    assert_eq!(server.names_of_teams(&bob.id), ["design"]);
}

#[test]
fn limits_hold() {
    let (server, _, ann, _) = design();
    for number in 1..gongfu_core::registry::team::MAX_TEAMS {
        let created = now(server
            .accounts
            .create_team(name(&format!("t{number}")), &ann.id, None));
        created.unwrap();
    }
    let refused = now(server.accounts.create_team(name("more"), &ann.id, None));
    assert!(
        matches!(refused, Err(AccountError::Invalid(_))),
        "{refused:?}"
    );
    assert!(now(server.accounts.find_team("more")).is_err());
    let team = now(server.accounts.find_team("t1")).unwrap();
    for _ in 0..100 {
        server.invitation(&team, TeamRole::Member);
    }
    let refused = now(server.accounts.invite(&team.id, TeamRole::Member, None));
    assert!(
        matches!(refused, Err(AccountError::Invalid(_))),
        "{refused:?}"
    );
}

#[test]
fn invitations_end_with_the_role_of_those_who_made_them() {
    let (server, team, ann, bob) = design();
    let invite = |by: &User, role| {
        now(server.accounts.invite(&team.id, role, Some(&by.id)))
            .unwrap()
            .0
    };
    let set = |user: &User, role| {
        now(server
            .accounts
            .set_member(&team.id, &user.id, role, Some(&ann.id)))
        .unwrap()
    };
    let is_refused = |secret: &InvitationSecret, user: &User| {
        let joined = now(server.accounts.join(secret, &user.id));
        matches!(joined, Err(AccountError::Unknown("invitation")))
    };
    let carl = server.register("carl").unwrap();
    set(&bob, TeamRole::Maintainer);
    let (own, for_others) = (
        invite(&bob, TeamRole::Maintainer),
        invite(&ann, TeamRole::Member),
    );
    set(&bob, TeamRole::Member);
    assert!(is_refused(&own, &bob), "demoted");
    set(&bob, TeamRole::Maintainer);
    assert!(is_refused(&own, &bob), "it stays withdrawn");
    let own = invite(&bob, TeamRole::Maintainer);
    now(server
        .accounts
        .remove_member(&team.id, &bob.id, Some(&ann.id)))
    .unwrap();
    assert!(is_refused(&own, &bob), "removed");
    set(&bob, TeamRole::Maintainer);
    let own = invite(&bob, TeamRole::Maintainer);
    now(server.accounts.delete(&bob.id, Some(&ann.id))).unwrap();
    assert!(is_refused(&own, &carl), "deleted");
    // Those of others stay.
    let joined = now(server.accounts.join(&for_others, &carl.id)).unwrap();
    assert_eq!(joined.role_of(&carl.id), Some(TeamRole::Member));
}

#[test]
fn invitation_that_gives_nothing_stays_for_somebody_else() {
    let (server, team, ann, bob) = design();
    let secret = server.invitation(&team, TeamRole::Member);
    let own = now(server.accounts.join(&secret, &ann.id));
    assert!(matches!(own, Err(AccountError::AlreadyMember)), "{own:?}");
    assert!(now(server.accounts.join(&secret, &bob.id)).is_ok());
    let higher = server.invitation(&team, TeamRole::Maintainer);
    let joined = now(server.accounts.join(&higher, &bob.id)).unwrap();
    assert_eq!(joined.role_of(&bob.id), Some(TeamRole::Maintainer));
}
