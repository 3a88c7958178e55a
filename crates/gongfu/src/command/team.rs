//! `gongfu team add|list|rename|add-member|remove-member|delete`: the teams of a server with accounts.

use std::collections::HashMap;

use gongfu_core::account::{Team, TeamName, TeamRole, UserId};
use gongfu_core::port::Timestamp;
use serde_json::{Value, json};

use super::Outcome;
use super::user::confirmed;
use crate::accounts::command::{all, all_teams, find, find_team, with_accounts};
use crate::accounts::{failed, removal};
use crate::cli::TeamCommand;
use crate::config::Config;
use crate::environment::Environment;
use crate::table::{pad, width};
use crate::terminal::{Paint, Terminal};
use crate::wiring;

pub(crate) fn run(
    command: TeamCommand,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    match command {
        TeamCommand::Add {
            name,
            maintainer,
            json,
        } => add(name, &maintainer, json, environment, terminal),
        TeamCommand::List { json } => list(json, environment, terminal),
        TeamCommand::Rename { team, name } => rename(&team, name, environment, terminal),
        TeamCommand::AddMember {
            team,
            user,
            maintainer,
        } => {
            let role = if maintainer {
                TeamRole::Maintainer
            } else {
                TeamRole::Member
            };
            add_member(&team, &user, role, environment, terminal)
        }
        TeamCommand::RemoveMember { team, user } => {
            remove_member(&team, &user, environment, terminal)
        }
        TeamCommand::Delete { team, yes } => delete(&team, yes, environment, terminal),
    }
}

fn add(
    name: TeamName,
    maintainer: &str,
    json: bool,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let (team, user) = with_accounts(environment, async |open| {
        let user = find(open, maintainer).await?;
        let created = open.accounts.create_team(name, &user.id, None).await;
        Ok((created.map_err(failed)?, user))
    })?;
    if json {
        let names = HashMap::from([(user.id.clone(), user.username.to_string())]);
        terminal.json(&document(&team, &names))?;
        return Ok(Outcome::Good);
    }
    let line = format!(
        "created the team {}, managed by {}",
        team.name, user.username
    );
    terminal.line(&line)?;
    Ok(Outcome::Good)
}

fn list(json: bool, environment: &Environment, terminal: &mut Terminal) -> anyhow::Result<Outcome> {
    let (mut teams, users) = with_accounts(environment, async |open| {
        Ok((all_teams(open).await?, all(open).await?))
    })?;
    teams.sort_by(|one, other| one.name.as_str().cmp(other.name.as_str()));
    let users = users.into_iter();
    let names: HashMap<UserId, String> = users
        .map(|user| (user.id, user.username.to_string()))
        .collect();
    if json {
        let teams: Vec<Value> = teams.iter().map(|team| document(team, &names)).collect();
        terminal.json(&json!({ "teams": teams }))?;
        return Ok(Outcome::Good);
    }
    if teams.is_empty() {
        terminal.note("there are no teams yet: `gongfu team add NAME --maintainer USER`");
        return Ok(Outcome::Good);
    }
    let widths = teams.iter().map(|team| width(team.name.as_str()));
    let widest = widths.chain([width("NAME")]).max().unwrap_or_default();
    let row = |name: &str, members: &str| format!("{}  {members}", pad(name, widest));
    terminal.line(&terminal.paint(Paint::Dim, &row("NAME", "MEMBERS")))?;
    for team in &teams {
        let members = team.members.iter().map(|(user, membership)| {
            let name = names.get(user).map_or(user.as_str(), String::as_str);
            match membership.role {
                TeamRole::Maintainer => format!("{name} (maintainer)"),
                TeamRole::Member => name.to_owned(),
            }
        });
        let members: Vec<String> = members.collect();
        terminal.line(&row(team.name.as_str(), &members.join(", ")))?;
    }
    Ok(Outcome::Good)
}

fn rename(
    team: &str,
    name: TeamName,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let (old, new) = with_accounts(environment, async |open| {
        let team = find_team(open, team).await?;
        let renamed = open.accounts.rename_team(&team.id, name, None).await;
        Ok((team.name, renamed.map_err(failed)?.name))
    })?;
    terminal.line(&format!("renamed the team {old} to {new}"))?;
    Ok(Outcome::Good)
}

fn add_member(
    team: &str,
    user: &str,
    role: TeamRole,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let (team, user) = with_accounts(environment, async |open| {
        let (team, user) = (find_team(open, team).await?, find(open, user).await?);
        let added = open.accounts.set_member(&team.id, &user.id, role, None);
        Ok((added.await.map_err(failed)?, user))
    })?;
    let line = format!("{} is a {} of {}", user.username, role.as_str(), team.name);
    terminal.line(&line)?;
    Ok(Outcome::Good)
}

fn remove_member(
    team: &str,
    user: &str,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let (team, user) = with_accounts(environment, async |open| {
        let (team, user) = (find_team(open, team).await?, find(open, user).await?);
        let removed = open.accounts.remove_member(&team.id, &user.id, None).await;
        Ok((removed.map_err(failed)?, user))
    })?;
    terminal.line(&format!("removed {} from {}", user.username, team.name))?;
    Ok(Outcome::Good)
}

fn delete(
    team: &str,
    yes: bool,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let found = with_accounts(environment, async |open| Ok(find_team(open, team).await?))?;
    let name = &found.name;
    let question = format!("Delete the team {name} with all its skills?");
    if !yes && !confirmed(&question, &format!("deleting the team {name}"), terminal)? {
        return Ok(Outcome::Findings);
    }
    let home = wiring::home(environment)?;
    let config = Config::read(&home)?;
    with_accounts(environment, async |open| {
        let deleted = open.accounts.delete_team(&found.id, None).await;
        deleted.map_err(failed)?;
        let folders = removal::Folders::of(&home, &config, environment)?;
        removal::remove_deleted(open, &folders).await
    })?;
    terminal.line(&format!("deleted the team {name}"))?;
    Ok(Outcome::Good)
}

fn document(team: &Team, names: &HashMap<UserId, String>) -> Value {
    let members = team.members.iter().map(|(user, membership)| {
        json!({
            "id": user.as_str(),
            "username": names.get(user),
            "role": membership.role.as_str(),
            "is_synced": membership.is_synced,
        })
    });
    json!({
        "id": team.id.as_str(),
        "name": team.name.as_str(),
        "members": members.collect::<Vec<Value>>(),
        "created_at": Timestamp(team.created).to_seconds(),
    })
}
