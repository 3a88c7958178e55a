//! Spaces: the only way to an owner's data.

use std::sync::{Arc, Mutex};

use super::limited::{LimitedFolders, LimitedSearch, LimitedSkills, SkillReach};
use super::{
    Blobs, ChangeSets, Clock, Environments, Files, Layers, Materialize, NoServers, Pending,
    PortError, Records, RunFolders, Sandbox, Servers, SkillSearch, SkillStore, Timestamp, ready,
};
use crate::account::{Owner, UserId};
use crate::dependency::Installs;
use crate::sandbox::Limits;

/// Opens spaces.
pub trait Spaces: Send + Sync {
    /// The space of an owner.
    ///
    /// [`super::PortError::Denied`] for an owner that this installation doesn't serve.
    fn open<'a>(&'a self, owner: &'a Owner) -> Pending<'a, Space>;
}

/// An installation without accounts: it opens the local person's space, and refuses every other.
pub struct LocalSpaces(Space);

impl LocalSpaces {
    /// Spaces of which this one is the local person's.
    pub fn new(local: Space) -> Self {
        Self(local)
    }
}

impl Spaces for LocalSpaces {
    fn open<'a>(&'a self, owner: &'a Owner) -> Pending<'a, Space> {
        ready(match owner {
            Owner::Local => Ok(self.0.clone()),
            Owner::User(_) | Owner::Team(_) => Err(PortError::Denied(format!(
                "there are no accounts, so there is no space for `{}`",
                owner.id().unwrap_or_default()
            ))),
        })
    }
}

/// The parts of a space; each of them reaches this owner's data alone.
#[derive(Clone)]
pub struct SpaceParts {
    /// The owner.
    pub owner: Owner,
    /// Skills.
    pub skills: Arc<dyn SkillStore>,
    /// Search over them.
    pub search: Arc<dyn SkillSearch>,
    /// Local folders of them.
    pub materialize: Arc<dyn Materialize>,
    /// The workspace.
    pub files: Arc<dyn Files>,
    /// The writes of runs beside skills.
    pub layers: Arc<dyn Layers>,
    /// Switches, grants, approvals, the audit.
    pub records: Arc<dyn Records>,
    /// Content by digest.
    pub blobs: Arc<dyn Blobs>,
    /// Packages for scripts.
    pub environments: Arc<dyn Environments>,
    /// The local folders of runs.
    pub run_folders: Arc<dyn RunFolders>,
    /// Changes of runs that wait for a person.
    pub changes: Arc<dyn ChangeSets>,
    /// Runs as this owner.
    pub sandbox: Arc<dyn Sandbox>,
    /// Other MCP servers.
    pub servers: Arc<dyn Servers>,
    /// The most that one run may use.
    pub limits: Limits,
    /// The packages that are installed without a question.
    pub installs: Installs,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

/// Everything of one owner, and nothing of anybody else.
#[derive(Clone)]
pub struct Space(Arc<SpaceParts>);

impl Space {
    /// A space of these parts.
    pub fn new(parts: SpaceParts) -> Self {
        Self(Arc::new(parts))
    }

    /// The same space, of which only these skills are reachable; for a token, no other servers either.
    #[must_use]
    pub fn limited_to(&self, reach: &SkillReach) -> Self {
        let (reached, parts) = (|| reach.clone(), (*self.0).clone());
        let servers = match reach {
            SkillReach::Token(_) => Arc::new(NoServers),
            SkillReach::Set(_) => parts.servers,
        };
        Self::new(SpaceParts {
            skills: Arc::new(LimitedSkills {
                skills: parts.skills,
                reach: reached(),
                last: Mutex::default(),
            }),
            search: Arc::new(LimitedSearch {
                search: parts.search,
                reach: reached(),
            }),
            materialize: Arc::new(LimitedFolders {
                folders: parts.materialize,
                reach: reached(),
            }),
            servers,
            ..parts
        })
    }

    /// The same space, whose skills note a user as the one who changes them.
    #[must_use]
    pub fn written_by(&self, user: &UserId) -> Self {
        match self.0.skills.written_by(user) {
            Some(skills) => Self::new(SpaceParts {
                skills,
                ..(*self.0).clone()
            }),
            None => self.clone(),
        }
    }

    /// The owner.
    pub fn owner(&self) -> &Owner {
        &self.0.owner
    }

    /// Returns true for the space of a user or a team of a server, whose people have no command line there.
    pub fn has_account(&self) -> bool {
        self.0.owner != Owner::Local
    }

    /// The skills.
    pub fn skills(&self) -> &dyn SkillStore {
        &*self.0.skills
    }

    /// Search over the skills.
    pub fn search(&self) -> &dyn SkillSearch {
        &*self.0.search
    }

    /// Local folders of skills.
    pub fn materialize(&self) -> &dyn Materialize {
        &*self.0.materialize
    }

    /// The workspace.
    pub fn files(&self) -> &dyn Files {
        &*self.0.files
    }

    /// Returns the writes of runs beside skills.
    pub fn layers(&self) -> &dyn Layers {
        &*self.0.layers
    }

    /// Switches, grants, approvals, the audit.
    pub fn records(&self) -> &dyn Records {
        &*self.0.records
    }

    /// Content by digest.
    pub fn blobs(&self) -> &dyn Blobs {
        &*self.0.blobs
    }

    /// Packages for scripts.
    pub fn environments(&self) -> &dyn Environments {
        &*self.0.environments
    }

    /// The local folders of runs.
    pub fn run_folders(&self) -> &dyn RunFolders {
        &*self.0.run_folders
    }

    /// Changes of runs that wait for a person.
    pub fn changes(&self) -> &dyn ChangeSets {
        &*self.0.changes
    }

    /// Runs as this owner.
    pub fn sandbox(&self) -> &dyn Sandbox {
        &*self.0.sandbox
    }

    /// Other MCP servers.
    pub fn servers(&self) -> &Arc<dyn Servers> {
        &self.0.servers
    }

    /// The most that one run may use.
    pub fn limits(&self) -> Limits {
        self.0.limits
    }

    /// The packages that are installed without a question.
    pub fn installs(&self) -> Installs {
        self.0.installs
    }

    /// The time.
    pub fn now(&self) -> Timestamp {
        self.0.clock.now()
    }
}
