//! A change to one client's configuration: planned first, then shown or applied.

use std::path::{Path, PathBuf};

use gongfu_core::port::Clock;
use gongfu_files::Home;
use gongfu_server::Token;
use serde_json::Value;

use super::backup::Backups;
use super::file::{Snapshot, conflict};
use super::known::{CLIENTS, Client, NAME};
use super::location::{Location, Scope};
use super::problem::at;
use super::transport::{Transport, is_switched_off, merge};

use crate::environment::Environment;
use crate::failure::Failure;
use crate::terminal::plain;

/// A wish for a client's configuration.
pub(crate) enum Action<'a> {
    /// With the token of the server, where the entry may hold it.
    Install(&'a Transport, Option<&'a Token>),
    Uninstall,
}

/// The effect of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The entry is new.
    Added,
    /// The entry has other settings.
    Updated,
    /// The entry took the place of another program's.
    Replaced,
    /// The entry was there as it should be.
    Unchanged,
    /// The entry is gone.
    Removed,
    /// The entry is gone, and the one that it replaced is back.
    Restored,
    /// There was no entry to remove.
    Absent,
}

/// A planned change.
pub(crate) struct Change<'h> {
    pub(crate) outcome: Outcome,
    /// The file as the client knows it.
    pub(crate) file: PathBuf,
    /// The command or address of another program's entry.
    pub(crate) foreign: Option<String>,
    /// Settings that are dropped because they don't fit the new transport.
    pub(crate) dropped: Vec<String>,
    /// A person switched the entry off, and it stays so.
    pub(crate) switched_off: bool,
    /// The entry holds the token of the server.
    pub(crate) has_token: bool,
    /// The client seems to be installed.
    pub(crate) is_installed: bool,
    snapshot: Snapshot,
    /// The whole file afterwards; none when it is deleted.
    after: Option<String>,
    backups: Backups<'h>,
    /// The folder that the client's own folders are in.
    base: PathBuf,
}

impl Client {
    /// Plans a change; writes nothing.
    pub(crate) fn plan<'h>(
        &self,
        action: &Action<'_>,
        scope: Scope,
        force: bool,
        environment: &Environment,
        home: &'h Home,
    ) -> Result<Change<'h>, Failure> {
        if let Action::Install(transport, _) = action {
            self.check_transport(transport)?;
        }
        let location = self.location(scope, environment);
        let Some(file) = location.file.clone() else {
            return Err(self.no_project_file());
        };
        self.plan_in(&file, location, action, force, home)
            .map_err(|failure| at(failure, &file))
    }

    fn plan_in<'h>(
        &self,
        file: &Path,
        location: Location,
        action: &Action<'_>,
        force: bool,
        home: &'h Home,
    ) -> Result<Change<'h>, Failure> {
        let snapshot = Snapshot::read(file)?;
        let text = snapshot.text.clone().unwrap_or_default();
        let path = self.path(&text)?;
        let old = self.format.get(&text, path)?;
        let found = old.as_ref().and_then(Transport::from_entry);
        let is_own = found.as_ref().is_some_and(|found| {
            found.is_gongfu() || matches!(action, Action::Install(wanted, _) if *wanted == found)
        });
        if old.is_some() && !is_own && !force {
            return Err(foreign_entry(found.as_ref()));
        }
        let was_local = found.as_ref().is_some_and(Transport::is_local);
        let mut change = Change {
            outcome: Outcome::Absent,
            file: file.to_owned(),
            foreign: found.filter(|_| !is_own).map(|found| found.to_string()),
            dropped: Vec::new(),
            switched_off: false,
            has_token: false,
            is_installed: location.found,
            snapshot,
            after: None,
            backups: Backups::new(home, self.id, file),
            base: location.base,
        };
        match (action, &old) {
            (Action::Install(transport, token), _) => {
                let mut entry = (self.entry)(transport, path);
                // The other settings of a foreign entry belong to its program.
                if let Some(old) = old.as_ref().filter(|_| is_own) {
                    (entry, change.dropped) = merge(old, entry);
                    change.switched_off = is_switched_off(&entry);
                }
                if let Some(token) = token {
                    change.has_token = self.enter_token(&mut entry, token);
                } else if was_local {
                    self.remove_token(&mut entry);
                }
                change.outcome = match &old {
                    None => Outcome::Added,
                    Some(old) if *old == entry => Outcome::Unchanged,
                    Some(_) if is_own => Outcome::Updated,
                    Some(_) => Outcome::Replaced,
                };
                change.after = Some(self.format.edit(&text, path, Some(&entry))?);
            }
            (Action::Uninstall, Some(entry)) if is_own => {
                self.plan_removal(&mut change, &text, path, entry)?;
            }
            (Action::Uninstall, Some(_)) => {
                change.outcome = Outcome::Removed;
                change.after = Some(self.format.edit(&text, path, None)?);
            }
            (Action::Uninstall, None) => {}
        }
        Ok(change)
    }

    fn no_project_file(&self) -> Failure {
        let others = CLIENTS.iter().filter(|client| !client.project.is_empty());
        let ids: Vec<&str> = others.map(|client| client.id).collect();
        Failure::new(
            "NO_PROJECT_FILE",
            format!("{} has no project configuration", self.title),
            format!("omit --scope project; these have one: {}", ids.join(", ")),
        )
    }

    /// Plans to remove gongfu's entry. A file that is exactly what an install made becomes what it
    /// was before: that follows from the newest backup without gongfu.
    fn plan_removal(
        &self,
        change: &mut Change<'_>,
        text: &str,
        path: &[&str],
        entry: &Value,
    ) -> Result<(), Failure> {
        let before = change.backups.texts().into_iter().find_map(|before| {
            let entry = self.format.get(&before, path).ok()?;
            let transport = entry.as_ref().and_then(Transport::from_entry);
            let has_gongfu = transport.is_some_and(|transport| transport.is_gongfu());
            (!has_gongfu).then_some((before, entry))
        });
        let (before, replaced) = before.unzip();
        let replaced = replaced.flatten();
        let is_original = |before: &Option<String>| {
            let before = before.as_deref().unwrap_or_default();
            let installed = self.format.edit(before, path, Some(entry));
            installed.is_ok_and(|installed| installed == text)
        };
        change.outcome = match replaced {
            Some(_) => Outcome::Restored,
            None => Outcome::Removed,
        };
        change.after = if is_original(&before) {
            before
        } else if replaced.is_none() && is_original(&None) {
            None
        } else {
            Some(self.format.edit(text, path, replaced.as_ref())?)
        };
        Ok(())
    }
}

impl Change<'_> {
    /// True if it would write anything.
    pub(crate) fn is_change(&self) -> bool {
        !matches!(self.outcome, Outcome::Unchanged | Outcome::Absent)
    }

    /// The file that the client's one is a link to.
    pub(crate) fn link(&self) -> Option<&Path> {
        let is_link = std::fs::symlink_metadata(&self.file).is_ok_and(|file| file.is_symlink());
        is_link.then_some(&self.snapshot.real)
    }

    /// The change as a unified diff.
    pub(crate) fn diff(&self) -> String {
        let name = plain(&self.file.to_string_lossy());
        let [(before, old), (after, new)] = [&self.snapshot.text, &self.after].map(|text| {
            let name = text.as_ref().map_or("/dev/null", |_| &name);
            (text.as_deref().unwrap_or_default(), name)
        });
        similar::TextDiff::from_lines(before, after)
            .unified_diff()
            .context_radius(2)
            .header(old, new)
            .to_string()
    }

    /// Applies the change; returns the backup of the file.
    pub(crate) fn apply(&self, clock: &dyn Clock) -> Result<Option<PathBuf>, Failure> {
        if !self.is_change() {
            return Ok(None);
        }
        self.write(clock).map_err(|failure| at(failure, &self.file))
    }

    fn write(&self, clock: &dyn Clock) -> Result<Option<PathBuf>, Failure> {
        if !self.snapshot.is_current() {
            return Err(conflict());
        }
        let backup = self.snapshot.text.as_ref();
        let backup = backup.map(|text| self.backups.add(text, clock.now().0));
        let backup = backup.transpose().map_err(|error| {
            Failure::new(
                "NO_BACKUP",
                format!("the file can't be backed up in gongfu's home: {error}"),
                "set GONGFU_HOME to a writable folder; nothing was written",
            )
        })?;
        if let Some(text) = &self.after {
            self.snapshot.write(text, self.has_token)?;
        } else {
            self.snapshot.delete()?;
            // A client's own folder would make it count as installed.
            let below_base = |folder: &&Path| folder.starts_with(&self.base);
            let folders = self.file.ancestors().skip(1).take_while(below_base);
            for folder in folders.filter(|folder| *folder != self.base) {
                if std::fs::remove_dir(folder).is_err() {
                    break;
                }
            }
        }
        Ok(backup)
    }
}

fn foreign_entry(found: Option<&Transport>) -> Failure {
    let message = match found {
        Some(found) => format!(
            "its entry `{NAME}` starts another program: {}",
            plain(&found.to_string())
        ),
        None => format!("its entry `{NAME}` wasn't created by gongfu"),
    };
    let hint = "pass --force to replace it, or rename that entry; nothing was written";
    Failure::new("FOREIGN_ENTRY", message, hint)
}
