//! `gongfu backup` and `gongfu restore`: copies of a server's accounts.

use super::Outcome;
use crate::accounts::backup::{self, BackupList};
use crate::accounts::command::with_accounts;
use crate::cli::BackupArguments;
use crate::environment::Environment;
use crate::terminal::{Terminal, plain};
use crate::wiring;

pub(crate) fn save(
    arguments: &BackupArguments,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let home = wiring::home(environment)?;
    let list = with_accounts(environment, async |open| {
        backup::save(open, &home, &arguments.folder).await
    })?;
    report("saved", &list, arguments, terminal)?;
    terminal.note("the key of the server isn't in it: keep `server.key` elsewhere, if at all");
    Ok(Outcome::Good)
}

pub(crate) fn restore(
    arguments: &BackupArguments,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let home = wiring::home(environment)?;
    let runtime = wiring::runtime()?;
    let list = runtime.block_on(backup::restore(&arguments.folder, &home))?;
    report("restored", &list, arguments, terminal)?;
    Ok(Outcome::Good)
}

fn report(
    what: &str,
    list: &BackupList,
    arguments: &BackupArguments,
    terminal: &mut Terminal,
) -> anyhow::Result<()> {
    if arguments.json {
        return Ok(terminal.json(list)?);
    }
    let folder = plain(&arguments.folder.to_string_lossy());
    let BackupList {
        users,
        teams,
        blobs,
        bytes,
        files,
        ..
    } = list;
    let line = format!(
        "{what} {folder}: {users} users, {teams} teams, {blobs} contents of skills ({bytes} bytes), {files} files of workspaces; all verified"
    );
    Ok(terminal.line(&line)?)
}
