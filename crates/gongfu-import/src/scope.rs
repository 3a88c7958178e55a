//! Places where skills are installed, with their locks.

use std::path::{Path, PathBuf};

use gongfu_files::Home;

use crate::agents::SHARED;
use crate::lock::npx::NpxLock;
use crate::lock::own::OWN_LOCK;

/// A project, a person's home, or gongfu's home, as a place for skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// The kind.
    pub kind: ScopeKind,
    /// The folder that paths in the lock are below.
    pub base: PathBuf,
    /// The folder of installed skills.
    pub skills: PathBuf,
    /// gongfu's lock.
    pub own_lock: PathBuf,
    /// The lock of `npx skills`, where that program knows the place.
    pub npx_lock: Option<(NpxLock, PathBuf)>,
}

/// The kind of a place for skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScopeKind {
    /// A project: its repository may have the skills and the locks.
    Project,
    /// A person: every agent of theirs finds the skills.
    User,
    /// gongfu's own home: agents find the skills by gongfu alone.
    Home,
}

impl ScopeKind {
    /// The word of the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::User => "user",
            Self::Home => "home",
        }
    }
}

impl Scope {
    /// A project.
    pub fn project(root: &Path) -> Self {
        Self {
            kind: ScopeKind::Project,
            base: root.to_owned(),
            skills: root.join(SHARED),
            own_lock: root.join(OWN_LOCK),
            npx_lock: Some((NpxLock::Project, NpxLock::of_project(root))),
        }
    }

    /// A person's home, with the folder of `XDG_STATE_HOME` where that is set.
    pub fn user(home: &Path, state: Option<&Path>) -> Self {
        let npx_lock = NpxLock::of_user(home, state);
        Self {
            kind: ScopeKind::User,
            base: home.to_owned(),
            skills: home.join(SHARED),
            own_lock: npx_lock.with_file_name(OWN_LOCK),
            npx_lock: Some((NpxLock::User, npx_lock)),
        }
    }

    /// gongfu's home.
    pub fn home(home: &Home) -> Self {
        Self {
            kind: ScopeKind::Home,
            base: home.path().to_owned(),
            skills: home.skills(),
            own_lock: home.path().join(OWN_LOCK),
            npx_lock: None,
        }
    }

    /// The folder of a skill by its key in the lock.
    pub fn folder(&self, key: &str) -> PathBuf {
        if key.contains('/') {
            // An absolute path replaces the base.
            self.base.join(key)
        } else {
            self.skills.join(key)
        }
    }

    /// The key in the lock of a skill's folder below another one, such as an agent's.
    pub fn key(&self, above: &Path, name: &str) -> String {
        if above == self.skills {
            name.to_owned()
        } else {
            format!("{}/{name}", self.shown(above))
        }
    }

    /// A folder as the lock has it: relative to the base where it is below it.
    pub(crate) fn shown(&self, folder: &Path) -> String {
        let below = folder.strip_prefix(&self.base).unwrap_or(folder);
        below.to_string_lossy().into_owned()
    }

    /// The folder where changes are staged: on the file system of the skills, and no folder of skills itself.
    pub fn staging(&self) -> &Path {
        self.skills.parent().unwrap_or(&self.base)
    }
}
