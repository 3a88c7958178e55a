//! What runs see of the files on disk, and where what they write comes to.
//!
//! Knows no sandbox: it names folders, and keeps those of gongfu's own in order.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gongfu_core::account::Owner;
use gongfu_core::library::Skill;
use gongfu_core::port::{Clock, FileContent, FolderEntry, Grounds, Pending, PortError, Runs};
use gongfu_core::sandbox::{LOGS, Mode, Mount, SKILL, WORKSPACE};
use gongfu_core::skill::SkillPath;

use crate::disk::{self, Root};
use crate::home::Home;
use crate::local::LocalSkills;
use crate::workspace::{self, LocalWorkspace};

/// How many runs keep their long outputs in one workspace; those before them are removed.
const KEPT: usize = 50;

/// What the runs of a local installation see and leave.
pub struct LocalRuns {
    home: Home,
    skills: Arc<LocalSkills>,
    workspace: Arc<LocalWorkspace>,
    clock: Arc<dyn Clock>,
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
        Self {
            home,
            skills,
            workspace,
            clock,
            count: AtomicU64::new(0),
        }
    }

    fn see(&self, skill: Option<&Skill>) -> Result<Grounds, PortError> {
        let mut mounts = Vec::new();
        if let Some(skill) = skill {
            let folder = self.skills.folder_of(skill)?;
            let layer = self.home.layer_of(&folder);
            Root::create(&layer).map_err(|error| unusable(&error))?;
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
        tidy(&kept).map_err(|error| unusable(&error))?;
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{}-{number}", self.clock.now().0, std::process::id());
        Ok(Grounds {
            mounts,
            logs: logs.join(&name),
            logs_seen: format!("{LOGS}/{name}"),
        })
    }

    /// The owner's layer of a skill; `None` while no run has left anything.
    fn layer(&self, skill: &Skill) -> Result<Option<Root>, PortError> {
        let folder = self.skills.folder_of(skill)?;
        match Root::open(&self.home.layer_of(&folder)) {
            Ok(root) => Ok(Some(root)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(disk::port_error(error)),
        }
    }

    fn read(&self, skill: &Skill, path: &SkillPath, limit: u64) -> Result<FileContent, PortError> {
        let root = self.layer(skill)?.ok_or(PortError::NotFound)?;
        workspace::content(&root, path, limit)
    }

    fn list(&self, skill: &Skill, folder: &SkillPath) -> Result<Vec<FolderEntry>, PortError> {
        let Some(root) = self.layer(skill)? else {
            return Ok(Vec::new());
        };
        match workspace::listed(&root, folder) {
            Err(PortError::NotFound | PortError::NotAFolder) => Ok(Vec::new()),
            listed => listed,
        }
    }
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
        folder: &'a SkillPath,
    ) -> Pending<'a, Vec<FolderEntry>> {
        Box::pin(std::future::ready(self.list(skill, folder)))
    }
}

#[cfg(test)]
mod tests;
