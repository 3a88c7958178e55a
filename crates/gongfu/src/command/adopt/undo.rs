//! `gongfu adopt --undo`: takes back what adoptions wrote, the last one first. What changed since is kept and told.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use gongfu_core::connection::ConnectionName;
use gongfu_core::skill::Digest;
use gongfu_files::Home;
use gongfu_hub::surface::connection::ConnectionList;
use gongfu_import::adoption::{Adoption, FileChange, Return};
use serde_json::json;

use super::{failure, shown};
use crate::cli::Places;
use crate::client::Snapshot;
use crate::command::Outcome;
use crate::command::operate::operate;
use crate::command::source::{self, FolderList};
use crate::config::Config;
use crate::connection::file;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::table::count;
use crate::terminal::{Terminal, plain};
use crate::wiring;

pub(super) fn run(
    json: bool,
    home: &Home,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let names = Adoption::names(home).context("the records of adoptions can't be read")?;
    if names.is_empty() {
        let message = "nothing was adopted";
        let hint = "`gongfu adopt --dry-run` shows what could be";
        return Err(Failure::new("NOT_ADOPTED", message, hint).into());
    }
    let (mut told, mut folders, mut servers) = (Return::default(), 0, 0);
    for name in &names {
        let taken = one(name, home, environment, terminal)?;
        folders += taken.folders;
        servers += taken.servers;
        told.restored.extend(taken.locks.restored);
        told.reduced.extend(taken.locks.reduced);
        told.kept.extend(taken.locks.kept);
    }
    // Of two adoptions of one lock, the first one says how it was.
    let mut last: Vec<(PathBuf, bool)> = Vec::new();
    for (path, is_gone) in told.restored {
        last.retain(|(known, _)| *known != path);
        if !told.reduced.contains(&path) {
            last.push((path, is_gone));
        }
    }
    if json {
        let restored: Vec<&PathBuf> = last.iter().map(|(path, _)| path).collect();
        terminal.json(&json!({
            "restored": restored,
            "reduced": told.reduced,
            "kept": told.kept,
            "folders": folders,
            "servers": servers,
        }))?;
        return Ok(Outcome::Good);
    }
    for (path, is_gone) in &last {
        let what = if *is_gone { "removed " } else { "restored" };
        terminal.line(&format!("{what}  {}", shown(path)))?;
    }
    for path in &told.reduced {
        let shown = shown(path);
        terminal.line(&format!(
            "changed   {shown}: the adopted entries are out, what came since stays"
        ))?;
    }
    for kept in &told.kept {
        terminal.line(&format!("kept      {}", plain(kept)))?;
    }
    terminal.note(&format!(
        "took {} out of the settings, and {} out of the connections; no file of a skill was changed",
        count(folders, "folder"),
        count(servers, "server")
    ));
    Ok(Outcome::Good)
}

/// The end of one adoption.
#[derive(Default)]
pub(super) struct Removal {
    locks: Return,
    folders: usize,
    servers: usize,
}

/// Takes back one adoption.
pub(super) fn one(
    name: &str,
    home: &Home,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Removal> {
    let adoption = Adoption::read(home, name).map_err(failure)?;
    let mut taken = Removal::default();
    for lock in &adoption.locks {
        lock.undo(home, &mut taken.locks).map_err(failure)?;
    }
    servers(&adoption, home, environment, terminal, &mut taken)?;
    if let Some(settings) = &adoption.settings {
        let known = Config::read(home)?.discovery.adopted;
        let is_ours =
            |folder: &PathBuf| adoption.folders.iter().any(|own| Path::new(own) == folder);
        taken.folders = known.iter().filter(|folder| is_ours(folder)).count();
        if !restore(&home.config(), settings, home)? && taken.folders > 0 {
            source::write(home, FolderList::Adopted, |folders| {
                folders.retain(|folder| !is_ours(folder));
            })?;
        }
    }
    Adoption::remove(home, name).context("the record of the adoption can't be removed")?;
    Ok(taken)
}

/// Removes the imported servers that are as they were imported, and that nobody approved.
fn servers(
    adoption: &Adoption,
    home: &Home,
    environment: &Environment,
    terminal: &mut Terminal,
    taken: &mut Removal,
) -> anyhow::Result<()> {
    let Some(change) = &adoption.connection_file else {
        return Ok(());
    };
    let parts = wiring::unwarned_parts(environment, &Places::default(), &[])?;
    let statuses = operate(ConnectionList { start: false }, &parts, true, terminal)?;
    let mut removed = Vec::new();
    for (name, entry) in &adoption.connections {
        let Ok(name) = ConnectionName::new(name) else {
            continue;
        };
        let Some(current) = file::get(home, &name)? else {
            continue;
        };
        let mut approved = statuses.iter().filter(|status| status.is_approved);
        if approved.any(|status| status.connection.name == name) {
            let what = format!("the connection `{name}`, which you approved since");
            taken.locks.kept.push(what);
        } else if current != *entry {
            let what = format!("the connection `{name}`, which changed since");
            taken.locks.kept.push(what);
        } else {
            removed.push(name);
        }
    }
    taken.servers = removed.len();
    let is_whole = removed.len() == adoption.connections.len();
    if is_whole && restore(&home.connections(), change, home)? {
        return Ok(());
    }
    for name in &removed {
        file::remove(home, name)?;
    }
    Ok(())
}

/// Restores a file of gongfu's home that is as it was written; answers whether it is.
fn restore(path: &Path, change: &FileChange, home: &Home) -> anyhow::Result<bool> {
    let current = Snapshot::read(path)?;
    let digest = current
        .text
        .as_ref()
        .map(|text| Digest::of(text.as_bytes()));
    if digest.is_none() || digest != change.after {
        return Ok(false);
    }
    match (
        &change.before,
        path.file_name().and_then(|name| name.to_str()),
    ) {
        (Some(before), _) => current.write(before, false)?,
        (None, Some(name)) => {
            crate::home::open(home)?.remove(name)?;
        }
        (None, None) => return Ok(false),
    }
    Ok(true)
}
