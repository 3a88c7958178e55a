//! `gongfu user add|list|disable|passwd|link|invite|delete`: the users of a server with accounts.

use std::io::{self, IsTerminal as _, Read as _};

use gongfu_core::account::User;
use gongfu_core::port::Timestamp;
use gongfu_core::registry::NewUser;
use serde_json::{Value, json};

use super::{Outcome, check_answerable};
use crate::accounts::command::{all, find, with_accounts};
use crate::accounts::{failed, removal};
use crate::cli::{UserAddArguments, UserCommand};
use crate::config::Config;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::table::{pad, width};
use crate::terminal::{Paint, Terminal, plain};
use crate::wiring;

/// The longest password that is read, with its line break, in bytes.
const MAX_PASSWORD: u64 = 1_024;

pub(crate) fn run(
    command: UserCommand,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    match command {
        UserCommand::Add(arguments) => add(arguments, environment, terminal),
        UserCommand::List { json } => list(json, environment, terminal),
        UserCommand::Disable { user, undo } => disable(&user, undo, environment, terminal),
        UserCommand::Passwd {
            user,
            password_stdin,
        } => set_password(&user, password_stdin, environment, terminal),
        UserCommand::Link { user } => link(&user, environment, terminal),
        UserCommand::Invite { admin } => invite(admin, environment, terminal),
        UserCommand::Delete { user, yes } => delete(&user, yes, environment, terminal),
    }
}

fn add(
    arguments: UserAddArguments,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let password = if arguments.password.no_password {
        None
    } else {
        Some(password(arguments.password.password_stdin)?)
    };
    let new = NewUser {
        email: arguments.email,
        username: arguments.name,
        password,
        is_admin: arguments.admin,
    };
    let user = with_accounts(environment, async |open| {
        Ok(open.accounts.create(new, None).await.map_err(failed)?)
    })?;
    if arguments.json {
        terminal.json(&document(&user))?;
        return Ok(Outcome::Good);
    }
    let role = if user.is_admin { "admin" } else { "user" };
    terminal.line(&format!("created the {role} {}", user.username))?;
    terminal.note(&format!(
        "next: `gongfu token create --user {0} --name NAME` for a program, or `gongfu serve --accounts` and sign in",
        user.username
    ));
    Ok(Outcome::Good)
}

fn list(json: bool, environment: &Environment, terminal: &mut Terminal) -> anyhow::Result<Outcome> {
    let mut users = with_accounts(environment, async |open| all(open).await)?;
    users.sort_by(|one, other| one.username.as_str().cmp(other.username.as_str()));
    if json {
        let users: Vec<Value> = users.iter().map(document).collect();
        terminal.json(&json!({ "users": users }))?;
        return Ok(Outcome::Good);
    }
    if users.is_empty() {
        terminal.note("there are no users yet: `gongfu user add NAME --email ADDRESS --admin`");
        return Ok(Outcome::Good);
    }
    let names = users.iter().map(|user| width(user.username.as_str()));
    let names = names.chain([width("NAME")]).max().unwrap_or_default();
    let addresses = users.iter().map(|user| width(user.email.as_str()));
    let addresses = addresses.chain([width("E-MAIL")]).max().unwrap_or_default();
    let row = |name: &str, email: &str, role: &str, created: &str| {
        format!(
            "{}  {}  {}  {created}",
            pad(name, names),
            pad(email, addresses),
            pad(role, 8)
        )
    };
    terminal.line(&terminal.paint(Paint::Dim, &row("NAME", "E-MAIL", "ROLE", "CREATED")))?;
    for user in &users {
        let role = match (user.is_active, user.is_admin) {
            (false, _) => "disabled",
            (true, true) => "admin",
            (true, false) => "user",
        };
        let created = Timestamp(user.created).to_seconds();
        terminal.line(&row(
            user.username.as_str(),
            &plain(user.email.as_str()),
            role,
            &created,
        ))?;
    }
    Ok(Outcome::Good)
}

fn disable(
    user: &str,
    undo: bool,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let user = with_accounts(environment, async |open| {
        let user = find(open, user).await?;
        let changed = open.accounts.set_active(&user.id, undo, None).await;
        Ok(changed.map_err(failed)?)
    })?;
    let what = if undo { "enabled" } else { "disabled" };
    terminal.line(&format!("{what} {}", user.username))?;
    Ok(Outcome::Good)
}

fn set_password(
    user: &str,
    from_stdin: bool,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let password = password(from_stdin)?;
    let user = with_accounts(environment, async |open| {
        let user = find(open, user).await?;
        let changed = open.accounts.set_password(&user.id, password, None).await;
        changed.map_err(failed)?;
        Ok(user)
    })?;
    terminal.line(&format!("changed the password of {}", user.username))?;
    Ok(Outcome::Good)
}

fn link(user: &str, environment: &Environment, terminal: &mut Terminal) -> anyhow::Result<Outcome> {
    let (secret, _) = with_accounts(environment, async |open| {
        let user = find(open, user).await?;
        let created = open.accounts.create_link(&user.id, None).await;
        Ok(created.map_err(failed)?)
    })?;
    terminal.line(&format!("/invite/{}", secret.as_str()))?;
    terminal.note("send it with the server's URL in front; it is good for one use, within a day");
    Ok(Outcome::Good)
}

fn invite(
    is_admin: bool,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let (secret, _) = with_accounts(environment, async |open| {
        let invited = open.accounts.invite_newcomer(is_admin, None).await;
        Ok(invited.map_err(failed)?)
    })?;
    terminal.line(&format!("/join/{}", secret.as_str()))?;
    terminal
        .note("send it with the server's URL in front; it is good for one account, within a week");
    Ok(Outcome::Good)
}

fn delete(
    user: &str,
    yes: bool,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let found = with_accounts(environment, async |open| Ok(find(open, user).await?))?;
    let name = &found.username;
    let question = format!("Delete {name} with all skills and files?");
    if !yes && !confirmed(&question, &format!("deleting {name}"), terminal)? {
        return Ok(Outcome::Findings);
    }
    let home = wiring::home(environment)?;
    let config = Config::read(&home)?;
    with_accounts(environment, async |open| {
        open.accounts
            .delete(&found.id, None)
            .await
            .map_err(failed)?;
        let folders = removal::Folders::of(&home, &config, environment)?;
        removal::remove_deleted(open, &folders).await
    })?;
    terminal.line(&format!("deleted {name}"))?;
    Ok(Outcome::Good)
}

/// Asks before something is deleted.
pub(super) fn confirmed(
    question: &str,
    what: &str,
    terminal: &mut Terminal,
) -> anyhow::Result<bool> {
    check_answerable(what, "pass --yes to delete without a question", false)?;
    let is_confirmed = terminal.ask(question)?;
    if !is_confirmed {
        terminal.note("nothing was deleted");
    }
    Ok(is_confirmed)
}

fn document(user: &User) -> Value {
    json!({
        "id": user.id.as_str(),
        "username": user.username.as_str(),
        "email": user.email.as_str(),
        "is_active": user.is_active,
        "is_admin": user.is_admin,
        "created_at": Timestamp(user.created).to_seconds(),
    })
}

/// A password from standard input, or one that is asked for twice on a terminal.
fn password(from_stdin: bool) -> anyhow::Result<String> {
    if from_stdin {
        let mut bytes = Vec::new();
        io::stdin().take(MAX_PASSWORD + 1).read_to_end(&mut bytes)?;
        return Ok(only_line(bytes)?);
    }
    if !io::stdin().is_terminal() {
        let message = "there is no terminal to ask for the password";
        let hint = "pass the password on standard input with --password-stdin";
        return Err(Failure::usage("PASSWORD_REQUIRED", message, hint).into());
    }
    let password = rpassword::prompt_password("Password: ")?;
    if rpassword::prompt_password("Again: ")? != password {
        let message = "the two passwords differ";
        return Err(Failure::new("PASSWORD_REFUSED", message, "try again").into());
    }
    Ok(password)
}

/// The only line of what was read.
fn only_line(bytes: Vec<u8>) -> Result<String, Failure> {
    let refused = |message: &str, hint: &str| Failure::new("PASSWORD_REFUSED", message, hint);
    if bytes.len() as u64 > MAX_PASSWORD {
        let message = format!("the password has more than {MAX_PASSWORD} bytes");
        return Err(refused(&message, "choose a shorter one"));
    }
    let text = String::from_utf8(bytes).map_err(|_| {
        let message = "the password isn't text in UTF-8";
        refused(message, "pass it in UTF-8, as browsers send it")
    })?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    let line = line.strip_suffix('\r').unwrap_or(line);
    if line.contains('\n') {
        let message = "standard input has more than one line";
        return Err(refused(message, "pass the password alone, on one line"));
    }
    Ok(line.to_owned())
}
