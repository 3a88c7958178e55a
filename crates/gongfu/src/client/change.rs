//! A change to one client's configuration: planned first, shown or made then.

use std::path::{Path, PathBuf};

use gongfu_core::port::Clock;
use serde_json::Value;

use super::file::changed;
use super::format::Added;
use super::record::{Record, Records, Undo};
use super::server::{merged, switched_off};
use super::{Client, Home, NAME, Problem, Scope, Server, Snapshot};
use crate::environment::Environment;
use crate::terminal::plain;

/// What is wanted of a client's configuration.
pub(crate) enum Wish<'a> {
    /// gongfu is in it, reached like this.
    Install(&'a Server),
    /// It isn't.
    Uninstall,
}

/// What a change does, or did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The entry is new.
    Added,
    /// It was there, with other settings.
    Updated,
    /// It was there and somebody else's.
    Replaced,
    /// It was there as it should be.
    Already,
    /// It is gone.
    Removed,
    /// It is gone, and what it replaced is there again.
    Restored,
    /// It wasn't there.
    Absent,
}

/// A change that is planned.
pub(crate) struct Change<'h> {
    pub(crate) outcome: Outcome,
    /// The file as the client knows it.
    pub(crate) file: PathBuf,
    /// Another name that was followed to get to it.
    pub(crate) link: Option<PathBuf>,
    /// What was replaced, for people.
    pub(crate) replaced: Option<String>,
    /// The settings of the entry that make no sense any more, and went.
    pub(crate) left_out: Vec<String>,
    /// A person switched the entry off, and it stays so.
    pub(crate) switched_off: bool,
    snapshot: Snapshot,
    /// The whole file afterwards; none when it is removed.
    after: Option<String>,
    records: Records<'h>,
    record: Option<Record>,
    folders: Vec<PathBuf>,
}

impl Client {
    /// Plans a change; nothing is written.
    pub(crate) fn plan<'h>(
        &self,
        wish: &Wish<'_>,
        scope: Scope,
        force: bool,
        environment: &Environment,
        home: &'h Home,
    ) -> Result<Change<'h>, Problem> {
        if let Wish::Install(server) = wish {
            self.allows(server)?;
        }
        let file = self.file(scope, environment)?;
        let planned = self.planned(wish, force, &file, home);
        planned.map_err(|problem| problem.at(&file))
    }

    fn planned<'h>(
        &self,
        wish: &Wish<'_>,
        force: bool,
        file: &Path,
        home: &'h Home,
    ) -> Result<Change<'h>, Problem> {
        let snapshot = Snapshot::read(file)?;
        let records = Records::of(home, self.id, snapshot.real());
        let record = records.read();
        let path = self.path(snapshot.text())?;
        let old = self.format.find(snapshot.text(), path, NAME)?;
        let found = old.as_ref().and_then(Server::read);
        let own = found.as_ref().is_some_and(|server| {
            server.is_gongfu()
                || matches!(wish, Wish::Install(new) if *new == server)
                || record
                    .as_ref()
                    .is_some_and(|record| record.server == *server)
        });
        if old.is_some() && !own && !force {
            return Err(foreign(found.as_ref()));
        }
        let mut change = Change {
            outcome: Outcome::Absent,
            file: file.to_owned(),
            link: is_link(file).then(|| snapshot.real().to_owned()),
            replaced: found.as_ref().filter(|_| !own).map(Server::shown),
            left_out: Vec::new(),
            switched_off: false,
            after: snapshot.whole().map(str::to_owned),
            folders: Vec::new(),
            record: None,
            snapshot,
            records,
        };
        match wish {
            Wish::Install(server) => {
                let entry = (self.entry)(server, path);
                let old = old.map(|entry| Old { entry, own });
                self.install(&mut change, server, path, old, entry, record)?;
            }
            Wish::Uninstall => {
                if let Some(old) = &old {
                    self.uninstall(&mut change, path, old, record)?;
                }
            }
        }
        Ok(change)
    }

    fn install(
        &self,
        change: &mut Change<'_>,
        server: &Server,
        path: &[&str],
        old: Option<Old>,
        entry: Value,
        known: Option<Record>,
    ) -> Result<(), Problem> {
        let text = change.snapshot.text();
        let foreign = old.as_ref().is_some_and(|old| !old.own);
        let (new, added) = match &old {
            None => self.format.insert(text, path, NAME, &entry)?,
            Some(Old { entry: old, own }) => {
                // Of somebody else's entry nothing is kept: its other fields belong to its program.
                let entry = if *own {
                    let (entry, left_out) = merged(old, &entry);
                    change.left_out = left_out;
                    change.switched_off = switched_off(&entry);
                    entry
                } else {
                    entry
                };
                if *old == entry {
                    change.outcome = Outcome::Already;
                    return Ok(());
                }
                let text = self.format.update(text, path, NAME, (old, &entry))?;
                (text, Added::default())
            }
        };
        let new = change.snapshot.marked(new);
        change.outcome = match &old {
            None => Outcome::Added,
            Some(_) if foreign => Outcome::Replaced,
            Some(_) => Outcome::Updated,
        };
        // What an earlier installation made counts until it is undone.
        let earlier = known.filter(|_| old.is_some());
        let whole = change.snapshot.whole();
        let before = match &earlier {
            Some(record) => {
                let undo = record.undo.as_ref();
                undo.and_then(|undo| undo.undone(whole.unwrap_or_default()))
            }
            None => Some(whole.unwrap_or_default().to_owned()),
        };
        let undo = before.map(|before| Undo::between(&before, &new));
        change.folders = change.snapshot.missing_folders();
        change.record = Some(match earlier {
            Some(record) => Record {
                server: server.clone(),
                undo,
                ..record
            },
            None => Record {
                file: change.snapshot.real().to_owned(),
                server: server.clone(),
                new_file: whole.is_none(),
                folders: change.folders.clone(),
                added,
                undo,
                replaced: old.filter(|old| !old.own).map(|old| old.entry),
            },
        });
        change.after = Some(new);
        Ok(())
    }

    fn uninstall(
        &self,
        change: &mut Change<'_>,
        path: &[&str],
        old: &Value,
        record: Option<Record>,
    ) -> Result<(), Problem> {
        let whole = change.snapshot.whole().unwrap_or_default();
        let replaced = record.as_ref().and_then(|record| record.replaced.as_ref());
        change.outcome = match replaced {
            Some(_) => Outcome::Restored,
            None => Outcome::Removed,
        };
        // The way back may lead to an older entry of gongfu's: that one is meant as well.
        let leads_away = |before: &String| {
            let found = self.format.find(before, path, NAME);
            found.is_ok_and(|found| found.as_ref() == replaced)
        };
        let undone = record
            .as_ref()
            .and_then(|record| record.undo.as_ref()?.undone(whole));
        let new = if let Some(before) = undone.filter(leads_away) {
            before
        } else {
            let text = change.snapshot.text();
            let text = if let Some(replaced) = replaced {
                self.format.update(text, path, NAME, (old, replaced))?
            } else {
                let added = record.as_ref().map(|record| record.added.clone());
                let added = added.unwrap_or_default();
                self.format.remove(text, path, NAME, &added)?
            };
            change.snapshot.marked(text)
        };
        let record = record.filter(|record| record.new_file && new.trim().is_empty());
        change.after = Some(new).filter(|_| record.is_none());
        change.folders = record.map(|record| record.folders).unwrap_or_default();
        Ok(())
    }
}

impl Change<'_> {
    /// Whether it would write anything.
    pub(crate) fn is_change(&self) -> bool {
        !matches!(self.outcome, Outcome::Already | Outcome::Absent)
    }

    /// The change as a unified diff.
    pub(crate) fn diff(&self) -> String {
        let before = self.snapshot.whole().unwrap_or_default();
        let after = self.after.as_deref().unwrap_or_default();
        let name = plain(&self.file.to_string_lossy());
        let nothing = "/dev/null".to_owned();
        let old = self
            .snapshot
            .whole()
            .map_or_else(|| nothing.clone(), |_| name.clone());
        let new = self.after.as_ref().map_or(nothing, |_| name);
        let diff = similar::TextDiff::from_lines(before, after);
        diff.unified_diff()
            .context_radius(2)
            .header(&old, &new)
            .to_string()
    }

    /// Makes the change; answers where the file as it was is kept.
    pub(crate) fn make(&self, clock: &dyn Clock) -> Result<Option<PathBuf>, Problem> {
        self.made(clock).map_err(|problem| problem.at(&self.file))
    }

    fn made(&self, clock: &dyn Clock) -> Result<Option<PathBuf>, Problem> {
        if !self.is_change() {
            return Ok(None);
        }
        let no_home = |error: std::io::Error| {
            Problem::new(
                "no-backup",
                format!("what is there can't be backed up in gongfu's home: {error}"),
                "set GONGFU_HOME to a folder that gongfu may write to; nothing was written",
            )
        };
        // Whoever comes second at the same moment must not touch the record of the first.
        let _lock = self.records.locked().map_err(no_home)?;
        if !self.snapshot.is_current() {
            return Err(changed());
        }
        let backup = match self.snapshot.whole() {
            Some(text) => Some(self.records.back_up(text, clock.now().0).map_err(no_home)?),
            None => None,
        };
        let earlier = self.records.read();
        if let Some(record) = &self.record {
            self.records.keep(record).map_err(no_home)?;
        }
        let written = match &self.after {
            Some(text) => self.snapshot.write(text),
            None => self.snapshot.delete(&self.folders),
        };
        // Afterwards the record tells what the file is, whether it was written or not.
        let kept = if written.is_ok() {
            self.record.clone()
        } else {
            earlier
        };
        match kept {
            None => self.records.forget(),
            Some(record) if written.is_err() => {
                // The error that matters is the one above.
                let _ = self.records.keep(&record);
            }
            Some(_) => {}
        }
        written.map(|()| backup)
    }
}

/// An entry that is there.
struct Old {
    entry: Value,
    /// Whether it is one of gongfu's.
    own: bool,
}

fn is_link(file: &Path) -> bool {
    std::fs::symlink_metadata(file).is_ok_and(|metadata| metadata.is_symlink())
}

fn foreign(found: Option<&Server>) -> Problem {
    let message = match found {
        Some(server) => format!(
            "its entry `{NAME}` is for something else: {}",
            plain(&server.shown())
        ),
        None => format!("its entry `{NAME}` is not one that gongfu makes"),
    };
    let hint = "give --force to do it all the same, or rename that entry; nothing was written";
    Problem::new("foreign-entry", message, hint)
}
