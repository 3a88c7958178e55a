//! Writes what an adoption plans: the record first, then the locks, the settings and the connections.

use std::path::PathBuf;

use anyhow::Context as _;
use gongfu_core::skill::Digest;
use gongfu_files::Home;
use gongfu_import::adoption::{Adoption, FileChange};

use super::{Plan, failure, undo};
use crate::client::Snapshot;
use crate::command::source::{self, FolderList};
use crate::connection::{self, file};
use crate::environment::Environment;
use crate::terminal::Terminal;

/// Makes an adoption; answers the names of the servers that it imported. After a failure, all is as it was.
pub(super) fn apply(
    mut adoption: Adoption,
    plan: &Plan,
    environment: &Environment,
    home: &Home,
    terminal: &mut Terminal,
) -> anyhow::Result<Vec<String>> {
    let before = |path: PathBuf| -> anyhow::Result<FileChange> {
        Ok(FileChange {
            before: Snapshot::read(&path)?.text,
            after: None,
        })
    };
    if !plan.folders.is_empty() || !plan.gone.is_empty() {
        adoption.settings = Some(before(home.config())?);
        let folders = plan.folders.iter().filter_map(|folder| folder.to_str());
        adoption.folders = folders.map(str::to_owned).collect();
    }
    if !plan.servers.new.is_empty() {
        adoption.connection_file = Some(before(home.connections())?);
        let planned = plan.servers.new.iter().map(|entry| {
            let connection = &entry.connection;
            (connection.name.to_string(), file::entry(connection))
        });
        adoption.connections = planned.collect();
    }
    let unwritable = "the record of the adoption can't be written; nothing was changed";
    let name = adoption.write(home, None).context(unwritable)?;
    let made = make(&mut adoption, plan, environment, home);
    let written = made.and_then(|imported| {
        adoption
            .write(home, Some(&name))
            .context("the record of the adoption can't be written")?;
        Ok(imported)
    });
    if let Err(error) = &written {
        undo::one(&name, home, environment, terminal)
            .with_context(|| format!("{error:#}; `gongfu adopt --undo` takes back the rest"))?;
    }
    written
}

fn make(
    adoption: &mut Adoption,
    plan: &Plan,
    environment: &Environment,
    home: &Home,
) -> anyhow::Result<Vec<String>> {
    for lock in &adoption.locks {
        lock.apply(home).map_err(failure)?;
    }
    if let Some(settings) = &mut adoption.settings {
        let folders = &adoption.folders;
        source::write(home, FolderList::Adopted, |known| {
            known.retain(|folder| !plan.gone.contains(folder));
            known.extend(folders.iter().map(PathBuf::from));
        })?;
        settings.after = digest(home.config())?;
    }
    let mut imported = Vec::new();
    if let Some(file) = &mut adoption.connection_file {
        let entries = plan.servers.new.clone();
        let (added, _) = connection::import(entries, environment, home)?;
        imported = added.iter().map(|added| added.name.to_string()).collect();
        adoption
            .connections
            .retain(|name, _| imported.contains(name));
        file.after = digest(home.connections())?;
    }
    Ok(imported)
}

/// The digest of a file that was just written.
fn digest(path: PathBuf) -> anyhow::Result<Option<Digest>> {
    let text = Snapshot::read(&path)?.text;
    Ok(text.map(|text| Digest::of(text.as_bytes())))
}
