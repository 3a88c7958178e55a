//! `gongfu audit verify|export`: the audits of a server with accounts.

use std::sync::Arc;

use gongfu_core::account::Owner;
use gongfu_core::audit;
use gongfu_records::DatabaseRecords;
use serde_json::{Value, json};

use super::Outcome;
use crate::accounts::ServerAccounts;
use crate::accounts::command::{find, owners, with_accounts};
use crate::cli::AuditCommand;
use crate::environment::Environment;
use crate::terminal::{Terminal, plain};

/// The entries that are read at once.
const PAGE: usize = 500;

pub(crate) fn run(
    command: AuditCommand,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    match command {
        AuditCommand::Verify { json } => verify(json, environment, terminal),
        AuditCommand::Export { user } => export(user, environment, terminal),
    }
}

/// An audit: the name of its owner, for people, and their records.
type Audit = (String, Arc<dyn DatabaseRecords>);

/// The audits of the server and of owners.
fn audits(open: &ServerAccounts, owners: &[Owner]) -> Vec<Audit> {
    let of_owner = |owner: &Owner| {
        let kind = match owner {
            Owner::Team(_) => "team",
            Owner::User(_) | Owner::Local => "user",
        };
        let name = format!("{kind}/{}", owner.id().unwrap_or_default());
        (name, open.database.records(owner))
    };
    let server = ("server".to_owned(), Arc::clone(&open.records));
    std::iter::once(server)
        .chain(owners.iter().map(of_owner))
        .collect()
}

fn verify(
    json: bool,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let log = audit::key()?;
    let verified = with_accounts(environment, async |open| {
        let mut verified = Vec::new();
        for (name, records) in audits(open, &owners(open).await?) {
            verified.push((name, records.verify(&log).await?));
        }
        Ok(verified)
    })?;
    let broken = verified.iter().filter(|(_, chain)| chain.is_err()).count();
    if json {
        let chains = verified.iter().map(|(name, chain)| match chain {
            Ok(head) => json!({
                "audit": name, "is_whole": true, "entries": head.number, "head": head.hash.hex(64),
            }),
            Err(found) => json!({ "audit": name, "is_whole": false, "broken_at": found.number }),
        });
        terminal.json(&json!({ "audits": chains.collect::<Vec<Value>>() }))?;
        return Ok(Outcome::of(broken == 0));
    }
    for (name, chain) in &verified {
        if let Err(found) = chain {
            terminal.line(&format!("{name}: {found}"))?;
        }
    }
    let entries: u64 = verified
        .iter()
        .filter_map(|(_, chain)| chain.as_ref().ok())
        .map(|head| head.number)
        .sum();
    let count = verified.len();
    let line = if broken == 0 {
        format!("{count} audits are whole: {entries} entries")
    } else {
        format!("{broken} of {count} audits were changed")
    };
    terminal.line(&line)?;
    Ok(Outcome::of(broken == 0))
}

fn export(
    user: Option<String>,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let log = audit::key()?;
    with_accounts(environment, async |open| {
        let audits = match &user {
            Some(user) => {
                let owner = Owner::User(find(open, user).await?.id);
                audits(open, &[owner]).split_off(1)
            }
            None => audits(open, &owners(open).await?),
        };
        for (name, records) in audits {
            let mut after = 0;
            loop {
                let page = records.entries_after(&log, after, PAGE).await?;
                let Some(last) = page.last() else { break };
                after = last.number;
                for entry in &page {
                    let value: Value = serde_json::from_slice(&entry.entry)
                        .unwrap_or_else(|_| plain(&String::from_utf8_lossy(&entry.entry)).into());
                    let line = json!({
                        "audit": name, "number": entry.number, "hash": entry.hash.hex(64), "entry": value,
                    });
                    terminal.line(&line.to_string())?;
                }
            }
        }
        Ok(Outcome::Good)
    })
}
