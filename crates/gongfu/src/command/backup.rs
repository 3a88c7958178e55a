//! `gongfu backup` and `gongfu restore`: copies of a server's accounts.

use std::path::Path;

use super::Outcome;
use crate::accounts::backup::{self, BackupList};
use crate::accounts::command::with_accounts;
use crate::cli::{BackupArguments, RestoreArguments};
use crate::environment::Environment;
use crate::terminal::{Terminal, plain};
use crate::wiring;

/// The most entries that are named.
const MAX_NAMED: usize = 10;

pub(crate) fn save(
    arguments: &BackupArguments,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let home = wiring::home(environment)?;
    let list = with_accounts(environment, async |open| {
        backup::save(open, &home, &arguments.folder).await
    })?;
    report("saved", &list, &arguments.folder, arguments.json, terminal)?;
    if list.left_out > 0 {
        warn(&list, terminal);
    }
    terminal.note("the key of the server isn't in it: keep `server.key` elsewhere, if at all");
    Ok(Outcome::Good)
}

pub(crate) fn restore(
    arguments: &RestoreArguments,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let home = wiring::home(environment)?;
    let runtime = wiring::runtime()?;
    let list = runtime.block_on(backup::restore(&arguments.folder, &home))?;
    report(
        "restored",
        &list,
        &arguments.folder,
        arguments.json,
        terminal,
    )?;
    Ok(Outcome::Good)
}

fn report(
    what: &str,
    list: &BackupList,
    folder: &Path,
    json: bool,
    terminal: &mut Terminal,
) -> anyhow::Result<()> {
    if json {
        return Ok(terminal.json(list)?);
    }
    let folder = plain(&folder.to_string_lossy());
    let BackupList {
        users,
        teams,
        blobs,
        bytes,
        files,
        links,
        ..
    } = list;
    let line = format!(
        "{what} {folder}: {users} users, {teams} teams, {blobs} contents of skills ({bytes} bytes), {files} files and {links} links of workspaces; all verified"
    );
    Ok(terminal.line(&line)?)
}

/// Names what was left out.
fn warn(list: &BackupList, terminal: &mut Terminal) {
    let named = list.left_out_paths.iter().take(MAX_NAMED);
    let named = named.map(|left| format!("{} ({})", plain(&left.path), plain(&left.why)));
    let mut named: Vec<String> = named.collect();
    if list.left_out > named.len() {
        named.push(format!("{} more", list.left_out - named.len()));
    }
    let message = format!(
        "{} entries of workspaces can't be copied: {}",
        list.left_out,
        named.join(", ")
    );
    let hint = "copy them in another way if they are needed; backup.json names the first 100";
    terminal.warning("LEFT_OUT", &message, hint);
}
