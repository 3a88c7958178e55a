//! `gongfu token create|list|revoke`: the API tokens of a server with accounts.

use gongfu_core::account::Scopes;
use gongfu_core::port::{Clock as _, Timestamp};
use gongfu_core::registry::NewToken;
use gongfu_core::registry::api_token::ApiTokenRecord;
use serde_json::{Value, json};

use super::Outcome;
use crate::accounts::command::{find, with_accounts};
use crate::accounts::failed;
use crate::age;
use crate::cli::{TokenCommand, TokenCreateArguments};
use crate::clock::SystemClock;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::table::{pad, width};
use crate::terminal::{Paint, Terminal, plain};

pub(crate) fn run(
    command: TokenCommand,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    match command {
        TokenCommand::Create(arguments) => create(arguments, environment, terminal),
        TokenCommand::List { user, json } => list(&user, json, environment, terminal),
        TokenCommand::Revoke { id, user } => revoke(&id, &user, environment, terminal),
    }
}

fn create(
    arguments: TokenCreateArguments,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let scopes = if arguments.scopes.is_empty() {
        Scopes::usual()
    } else {
        arguments.scopes.into_iter().collect()
    };
    let new = NewToken {
        name: arguments.name,
        scopes,
        skills: (!arguments.skills.is_empty()).then_some(arguments.skills),
        profile: arguments.profile.map(|profile| profile.as_str().to_owned()),
        expires: arguments.expires.as_deref().map(expiry).transpose()?,
    };
    let (token, record) = with_accounts(environment, async |open| {
        let user = find(open, &arguments.user).await?;
        Ok(open
            .accounts
            .create_token(&user.id, new)
            .await
            .map_err(failed)?)
    })?;
    if arguments.json {
        let mut shown = document(&record);
        if let Value::Object(members) = &mut shown {
            members.insert("token".to_owned(), token.as_str().into());
        }
        terminal.json(&shown)?;
    } else if arguments.quiet {
        terminal.line(token.as_str())?;
    } else {
        terminal.line(token.as_str())?;
        terminal.note(&format!(
            "the token `{}` is shown this once; store it, and send it as `Authorization: Bearer TOKEN`",
            plain(&record.name)
        ));
    }
    Ok(Outcome::Good)
}

fn list(
    user: &str,
    json: bool,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let tokens = with_accounts(environment, async |open| {
        let user = find(open, user).await?;
        Ok(open.accounts.tokens(&user.id).await.map_err(failed)?)
    })?;
    if json {
        let tokens: Vec<Value> = tokens.iter().map(document).collect();
        terminal.json(&json!({ "tokens": tokens }))?;
        return Ok(Outcome::Good);
    }
    if tokens.is_empty() {
        terminal.note(&format!("{} has no tokens", plain(user)));
        return Ok(Outcome::Good);
    }
    let names = tokens.iter().map(|token| width(&plain(&token.name)));
    let names = names.chain([width("NAME")]).max().unwrap_or_default();
    let row = |id: &str, name: &str, expires: &str, scopes: &str| {
        format!(
            "{}  {}  {}  {scopes}",
            pad(id, 32),
            pad(name, names),
            pad(expires, 20)
        )
    };
    terminal.line(&terminal.paint(Paint::Dim, &row("ID", "NAME", "EXPIRES", "SCOPES")))?;
    for token in &tokens {
        let expires = token.expires.map(|at| Timestamp(at).to_seconds());
        let expires = expires.unwrap_or_else(|| "never".to_owned());
        let scopes = token.scopes.to_string();
        terminal.line(&row(&token.id, &plain(&token.name), &expires, &scopes))?;
    }
    Ok(Outcome::Good)
}

fn revoke(
    id: &str,
    user: &str,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    with_accounts(environment, async |open| {
        let user = find(open, user).await?;
        Ok(open
            .accounts
            .revoke_token(&user.id, id)
            .await
            .map_err(failed)?)
    })?;
    terminal.line(&format!("revoked the token {}", plain(id)))?;
    Ok(Outcome::Good)
}

fn document(token: &ApiTokenRecord) -> Value {
    json!({
        "id": token.id,
        "name": token.name,
        "scopes": token.scopes,
        "skills": token.skills,
        "profile": token.profile,
        "created_at": Timestamp(token.created).to_seconds(),
        "expires_at": token.expires.map(|at| Timestamp(at).to_seconds()),
    })
}

/// The time that a length of time or a time means.
fn expiry(text: &str) -> Result<Timestamp, Failure> {
    let after = age::milliseconds(text).map(|length| Timestamp(SystemClock.now().0 + length));
    let hint = "write one such as 12h or 30d, or a time such as 2027-01-01T00:00:00Z";
    let wrong = |why: &str| {
        let message = format!("`{}` {why}", plain(text));
        Failure::usage("INVALID_VALUE", message, hint)
    };
    let time = after.or_else(|| Timestamp::parse(text));
    let time = time.ok_or_else(|| wrong("is neither a length of time nor a time"))?;
    // A time that can't be written can't be read either, as over REST.
    if Timestamp::parse(&time.to_seconds()).is_none() {
        return Err(wrong("ends after the year 9999"));
    }
    Ok(time)
}
