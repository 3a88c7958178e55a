//! The local folders of runs: the workspace, the mounts, a skill below its layer, long outputs.
//!
//! Knows no sandbox: it names folders, and keeps those of the home in order.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gongfu_core::change::folder::obeyed_folder;
use gongfu_core::change::{Holding, PROTECTED, PersonalSettings, ProtectedFolders, table};
use gongfu_core::library::Skill;
use gongfu_core::place::Location;
use gongfu_core::port::{
    Clock, Layers, Materialize, Pending, PortError, RunFolder, RunFolders, RunMounts, ready,
};
use gongfu_core::sandbox::{LOGS, Mode, Mount, SKILL, WORKSPACE};
use gongfu_core::skill::SkillPath;

use crate::disk::{self, real_outside};
use crate::home::Home;
use crate::workspace::{self, LocalWorkspace};

mod git;

/// Programs that aren't the system's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramFolder {
    /// The files and folders of them, which runs see.
    pub mounts: Vec<Mount>,
    /// The folder in which they are looked for, as runs see it.
    pub programs: String,
    /// Links that runs see, with their targets.
    pub links: Vec<(String, String)>,
}

/// Lists the programs that aren't the system's.
pub type Programs = Box<dyn Fn() -> Vec<ProgramFolder> + Send + Sync>;

/// Lists the folders that skills are read from, also those that aren't there yet.
pub type PlacesOfSkills = Box<dyn Fn() -> Vec<PathBuf> + Send + Sync>;

/// The folders that the runs of one owner see.
pub struct LocalRunFolders {
    home: Home,
    skills: Arc<dyn Materialize>,
    layers: Arc<dyn Layers>,
    workspace: Arc<LocalWorkspace>,
    programs: Programs,
    protected: ProtectedFolders,
    git: PersonalSettings,
    clock: Arc<dyn Clock>,
    /// The runs of this process, so that two of one millisecond don't share a folder.
    count: AtomicU64,
}

impl LocalRunFolders {
    /// The folders of runs over these skills, their layers and this workspace, whose long outputs
    /// are kept below a home. Changes in `protected` folders and in the home wait for a person.
    pub fn new(
        home: Home,
        skills: Arc<dyn Materialize>,
        layers: Arc<dyn Layers>,
        workspace: Arc<LocalWorkspace>,
        programs: Programs,
        protected: PlacesOfSkills,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let own = home.path().to_owned();
        let protected: ProtectedFolders = Arc::new(move |root| {
            let mut all: Vec<PathBuf> = protected()
                .iter()
                .map(|folder| real_outside(folder))
                .collect();
            let own = real_outside(&own);
            // A workspace of the home is no secret of it.
            all.extend((!root.starts_with(&own)).then_some(own));
            all
        });
        Self {
            home,
            skills,
            layers,
            workspace,
            programs,
            protected,
            git: PersonalSettings::default(),
            clock,
            count: AtomicU64::new(0),
        }
    }

    /// The same for a person who keeps settings of git in these files.
    #[must_use]
    pub fn with_git(self, git: PersonalSettings) -> Self {
        Self { git, ..self }
    }

    async fn mounts(&self, skill: Option<&Skill>) -> Result<RunMounts, PortError> {
        let (mut mounts, mut holds, mut layer) = (Vec::new(), Vec::new(), None);
        let mut room = 0;
        if let Some(skill) = skill {
            let original = self.skills.materialize(skill).await?;
            let above = self.layers.lease(skill).await?;
            mounts.push(Mount {
                sources: vec![above.folder.clone(), original.folder.clone()],
                target: SKILL.to_owned(),
                mode: Mode::Layered,
                keep: Some(above.folder.clone()),
            });
            holds.push(original);
            layer = Some(above);
            room = self.layers.room().await?;
        }
        let folder = self
            .workspace
            .create()
            .map_err(|error| disk::home_error(&error))?;
        let logs = self.home.logs_of(&folder);
        mounts.push(writable(folder, WORKSPACE.to_owned()));
        mounts.extend(self.declared().into_iter().map(|mount| {
            let target = format!("/{}", mount.guest);
            if mount.read_only {
                read_only(mount.host.clone(), target)
            } else {
                writable(mount.host.clone(), target)
            }
        }));
        let shared = mounts.iter().filter(|mount| mount.target != SKILL);
        let targets = shared.map(|mount| mount.target.clone()).collect();
        let hidden = self.workspace.hidden(&mounts);
        mounts.push(read_only(logs.clone(), LOGS.to_owned()));
        let (mut programs, mut links) = (Vec::new(), Vec::new());
        for folder in (self.programs)() {
            programs.push(folder.programs);
            let is_seen = |path: &str| mounts.iter().any(|seen| is_within(path, &seen.target));
            let is_new = |mount: &Mount| !is_seen(&mount.target);
            let new: Vec<Mount> = folder.mounts.into_iter().filter(is_new).collect();
            links.extend(folder.links.into_iter().filter(|(at, _)| !is_seen(at)));
            mounts.extend(new);
        }
        workspace::outputs(&logs).map_err(|error| disk::home_error(&error))?;
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{}-{number}", self.clock.now().0, std::process::id());
        Ok(RunMounts {
            mounts,
            programs,
            links,
            logs: logs.join(&name),
            logs_seen: format!("{LOGS}/{name}"),
            layer,
            hidden,
            room,
            holding: Some(Holding {
                targets,
                holds_all: false,
                protected: Arc::clone(&self.protected),
                git: self.git.clone(),
                folder: self.home.changes(),
                about: String::new(),
            }),
            holds,
        })
    }

    /// The mounts of the operator, the outer ones first: the inner ones lie on them.
    fn declared(&self) -> Vec<&crate::mount::Mount> {
        let mut declared: Vec<_> = self.workspace.mounts().collect();
        declared.reverse();
        declared
    }
}

/// Returns whether a path is this folder, or lies below it.
fn is_within(path: &str, folder: &str) -> bool {
    let below = path.strip_prefix(folder);
    below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
}

fn writable(folder: PathBuf, target: String) -> Mount {
    Mount {
        sources: vec![folder.clone()],
        target,
        mode: Mode::Layered,
        keep: Some(folder),
    }
}

fn read_only(folder: PathBuf, target: String) -> Mount {
    Mount {
        sources: vec![folder],
        target,
        mode: Mode::ReadOnly,
        keep: None,
    }
}

impl RunFolders for LocalRunFolders {
    fn folders(&self, with_skill: bool) -> Vec<RunFolder> {
        let skill = with_skill.then(|| RunFolder {
            guest: SKILL.to_owned(),
            host: None,
            is_read_only: false,
        });
        let workspace = RunFolder {
            guest: WORKSPACE.to_owned(),
            host: Some(self.workspace.path().display().to_string()),
            is_read_only: false,
        };
        let declared = self.declared().into_iter().map(|mount| RunFolder {
            guest: format!("/{}", mount.guest),
            host: Some(mount.host.display().to_string()),
            is_read_only: mount.read_only,
        });
        skill
            .into_iter()
            .chain([workspace])
            .chain(declared)
            .collect()
    }

    fn obeyed(&self, place: &Location) -> Option<&'static str> {
        let (root, path) = self.workspace.host(place)?;
        let protected = (self.protected)(&root);
        // A link may lead to it.
        let real = real_outside(&root.join(&path));
        let paths = [Some(path.as_path()), real.strip_prefix(&root).ok()];
        let mut paths = paths.into_iter().flatten();
        paths.find_map(|path| {
            let host = root.join(path);
            let is_protected = protected.iter().any(|folder| host.starts_with(folder));
            let why = table::obeyed_below(&root, path);
            why.or_else(|| obeyed_folder(&real_outside(&root), git::is_top))
                .or_else(|| is_protected.then_some(PROTECTED))
                .or_else(|| git::reason(&root, path, &self.git))
        })
    }

    fn obeyed_in_skill(&self, skill: &Skill, path: &SkillPath) -> Option<&'static str> {
        let (folder, path) = (Path::new(&skill.path), Path::new(path.as_str()));
        let why = table::obeyed_in_skill(folder, path);
        why.or_else(|| git::reason(folder, path, &self.git))
    }

    fn prepare<'a>(&'a self, skill: Option<&'a Skill>) -> Pending<'a, RunMounts> {
        Box::pin(self.mounts(skill))
    }

    fn finish<'a>(&'a self, skill: Option<&'a Skill>, mounts: RunMounts) -> Pending<'a, ()> {
        match (skill, mounts.layer) {
            (Some(skill), Some(layer)) => self.layers.commit(skill, layer),
            _ => ready(Ok(())),
        }
    }
}

#[cfg(test)]
mod tests;
