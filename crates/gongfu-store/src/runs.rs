//! What runs see of the files on disk, and where what they write comes to.
//!
//! Knows no sandbox: it names folders, and keeps those of gongfu's own in order.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gongfu_core::account::Owner;
use gongfu_core::library::Skill;
use gongfu_core::port::{Clock, FileContent, Grounds, Pending, PortError, Runs};
use gongfu_core::sandbox::{LOGS, Mode, Mount, SKILL, WORKSPACE};
use gongfu_core::skill::SkillPath;

use crate::disk::{self, EntryKind, Root};
use crate::grants::LocalGrants;
use crate::home::Home;
use crate::interpreter::Interpreters;
use crate::local::LocalSkills;
use crate::workspace::{self, LocalWorkspace};

/// How many runs keep their long outputs in one workspace; those before them are removed.
const KEPT: usize = 50;
/// How many entries of a layer are looked at.
const LOOKED: usize = 5_000;

/// What the runs of a local installation see and leave.
pub struct LocalRuns {
    home: Home,
    skills: Arc<LocalSkills>,
    grants: LocalGrants,
    workspace: Arc<LocalWorkspace>,
    clock: Arc<dyn Clock>,
    /// Those that aren't the system's.
    interpreters: Arc<Interpreters>,
    /// Runs of this process, so that two of one millisecond don't share a folder.
    count: AtomicU64,
}

impl LocalRuns {
    /// The runs over these skills and this workspace.
    pub fn new(
        home: Home,
        skills: Arc<LocalSkills>,
        workspace: Arc<LocalWorkspace>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let grants = LocalGrants::new(home.clone(), Arc::clone(&skills));
        Self {
            home,
            skills,
            grants,
            workspace,
            clock,
            interpreters: Arc::default(),
            count: AtomicU64::new(0),
        }
    }

    /// The same, in which runs also see these interpreters.
    #[must_use]
    pub fn with_interpreters(self, interpreters: Arc<Interpreters>) -> Self {
        Self {
            interpreters,
            ..self
        }
    }

    fn see(&self, skill: Option<&Skill>) -> Result<Grounds, PortError> {
        let mut mounts = Vec::new();
        let reach = skill.map(|skill| self.grants.reach(skill)).transpose()?;
        let reach = reach.unwrap_or_default();
        if let Some(skill) = skill {
            let original = self.skills.root_of(skill)?;
            let folder = original.path().to_owned();
            let layer = self.home.layer_of(&folder);
            let above = Root::create(&layer).map_err(|error| unusable(&error))?;
            refresh(&above, &original).map_err(|error| unusable(&error))?;
            mounts.push(Mount {
                sources: vec![layer.clone(), folder],
                target: SKILL.to_owned(),
                mode: Mode::Layered,
                keep: Some(layer),
            });
        }
        let folder = self.workspace.made().map_err(|error| unusable(&error))?;
        let logs = self.home.logs_of(&folder);
        let kept = Root::create(&logs).map_err(|error| unusable(&error))?;
        mounts.push(written(folder, WORKSPACE.to_owned()));
        // The outer ones come first: the inner ones lie on them.
        let mut declared: Vec<_> = self.workspace.mounts().collect();
        declared.sort_by_key(|mount| mount.guest.as_str().len());
        mounts.extend(declared.into_iter().map(|mount| {
            let target = format!("/{}", mount.guest);
            if mount.read_only {
                only_read(mount.host.clone(), target)
            } else {
                written(mount.host.clone(), target)
            }
        }));
        mounts.push(only_read(logs.clone(), LOGS.to_owned()));
        let mut programs = Vec::new();
        for (shown, at) in self.interpreters.shown() {
            programs.push(at);
            let is_seen = mounts
                .iter()
                .any(|mount| within(&shown.target, &mount.target));
            if !is_seen {
                mounts.push(shown);
            }
        }
        tidy(&kept).map_err(|error| unusable(&error))?;
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{}-{number}", self.clock.now().0, std::process::id());
        Ok(Grounds {
            mounts,
            programs,
            reach,
            logs: logs.join(&name),
            logs_seen: format!("{LOGS}/{name}"),
        })
    }

    /// A skill's folder and the owner's layer above it; `None` while no run has left anything.
    fn layer(&self, skill: &Skill) -> Result<Option<(Root, Root)>, PortError> {
        let original = self.skills.root_of(skill)?;
        match Root::open(&self.home.layer_of(original.path())) {
            Ok(layer) => Ok(Some((original, layer))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(disk::port_error(error)),
        }
    }

    fn read(&self, skill: &Skill, path: &SkillPath, limit: u64) -> Result<FileContent, PortError> {
        let (original, layer) = self.layer(skill)?.ok_or(PortError::NotFound)?;
        if is_older(&layer, &original, path) {
            return Err(PortError::NotFound);
        }
        workspace::content(&layer, path, limit)
    }

    fn list(&self, skill: &Skill) -> Result<Vec<(SkillPath, u64)>, PortError> {
        let Some((original, layer)) = self.layer(skill)? else {
            return Ok(Vec::new());
        };
        let mut files = files(&layer).map_err(disk::port_error)?;
        files.retain(|(path, _)| !is_older(&layer, &original, path));
        files.sort_by(|(one, _), (other, _)| one.as_str().cmp(other.as_str()));
        Ok(files)
    }
}

/// Every file of a layer with its length.
fn files(layer: &Root) -> io::Result<Vec<(SkillPath, u64)>> {
    let mut files = Vec::new();
    let mut open = vec![SkillPath::root()];
    let mut looked = 0;
    while let Some(folder) = open.pop() {
        for entry in layer.list(&folder)? {
            looked += 1;
            let Ok(path) = folder.join(&entry.name) else {
                continue;
            };
            match entry.kind {
                EntryKind::File => files.push((path, entry.stamp.size)),
                EntryKind::Folder => open.push(path),
                EntryKind::Link | EntryKind::Special(_) | EntryKind::Unnameable => {}
            }
            if looked >= LOOKED {
                return Ok(files);
            }
        }
    }
    Ok(files)
}

/// Whether the skill itself has a newer file than what a run left in its place.
fn is_older(layer: &Root, original: &Root, path: &SkillPath) -> bool {
    match (layer.stat(path), original.stat(path)) {
        (Ok((EntryKind::File, left)), Ok((EntryKind::File, own))) => own.modified > left.modified,
        _ => false,
    }
}

/// Takes out of a layer what the skill itself has in a newer form: whoever mends a script means the
/// mended one to be run.
fn refresh(layer: &Root, original: &Root) -> io::Result<()> {
    for (path, _) in files(layer)? {
        if is_older(layer, original, &path) {
            layer.dir().remove_file(path.as_str())?;
        }
    }
    Ok(())
}

/// Whether a path is this folder, or lies below it.
fn within(path: &str, folder: &str) -> bool {
    let below = path.strip_prefix(folder);
    below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
}

/// A folder whose files runs may change.
fn written(folder: PathBuf, target: String) -> Mount {
    Mount {
        sources: vec![folder.clone()],
        target,
        mode: Mode::Layered,
        keep: Some(folder),
    }
}

fn only_read(folder: PathBuf, target: String) -> Mount {
    Mount {
        sources: vec![folder],
        target,
        mode: Mode::ReadOnly,
        keep: None,
    }
}

fn unusable(error: &io::Error) -> PortError {
    PortError::Unavailable(format!("a folder of the home can't be made: {error}"))
}

/// Removes the oldest outputs, where there are more than are kept; their names begin with the time.
fn tidy(logs: &Root) -> io::Result<()> {
    let entries = logs.list(&SkillPath::root())?;
    let over = entries.len().saturating_sub(KEPT);
    for entry in entries.into_iter().take(over) {
        // Another process may be about the same.
        let _ = logs.dir().remove_dir_all(&entry.name);
    }
    Ok(())
}

impl Runs for LocalRuns {
    fn grounds<'a>(&'a self, _owner: &'a Owner, skill: Option<&'a Skill>) -> Pending<'a, Grounds> {
        Box::pin(std::future::ready(self.see(skill)))
    }

    fn left<'a>(
        &'a self,
        _owner: &'a Owner,
        skill: &'a Skill,
        path: &'a SkillPath,
        limit: u64,
    ) -> Pending<'a, FileContent> {
        Box::pin(std::future::ready(self.read(skill, path, limit)))
    }

    fn listed<'a>(
        &'a self,
        _owner: &'a Owner,
        skill: &'a Skill,
    ) -> Pending<'a, Vec<(SkillPath, u64)>> {
        Box::pin(std::future::ready(self.list(skill)))
    }
}

#[cfg(test)]
mod tests;
