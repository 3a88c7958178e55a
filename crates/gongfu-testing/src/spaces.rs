//! Spaces in memory, one for each owner.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use gongfu_core::account::Owner;
use gongfu_core::dependency::Installs;
use gongfu_core::port::{
    Environments, Materialize, NoServers, Pending, Servers, SkillStore, Space, SpaceParts, Spaces,
    ready,
};
use gongfu_core::sandbox::Limits;

use crate::environments::FakeEnvironments;
use crate::memory::{
    MemoryBlobs, MemoryChangeSets, MemoryFiles, MemoryLayers, MemoryRecords, MemorySearch,
    MemorySkills,
};
use crate::sandbox::{FakeRunFolders, ScriptedSandbox};
use crate::time::FixedClock;

/// The parts of one owner's space, for a test to look into.
pub struct MemorySpace {
    /// Skills.
    pub skills: Arc<MemorySkills>,
    /// The workspace.
    pub files: Arc<MemoryFiles>,
    /// The layers above skills.
    pub layers: Arc<MemoryLayers>,
    /// Records and logs.
    pub records: Arc<MemoryRecords>,
    /// Content by digest.
    pub blobs: Arc<MemoryBlobs>,
    /// Changes that wait for a person.
    pub changes: Arc<MemoryChangeSets>,
    /// The sandbox.
    pub sandbox: Arc<ScriptedSandbox>,
    /// Packages.
    pub environments: Arc<dyn Environments>,
    /// Other MCP servers.
    pub servers: Arc<dyn Servers>,
    /// The packages that are installed without a question.
    pub installs: Installs,
    /// The clock.
    pub clock: Arc<FixedClock>,
}

impl Default for MemorySpace {
    fn default() -> Self {
        let layers = Arc::new(MemoryLayers::default());
        Self {
            skills: Arc::default(),
            files: Arc::default(),
            sandbox: Arc::new(ScriptedSandbox::with_layer(Arc::clone(&layers), "lib/pdf")),
            layers,
            records: Arc::default(),
            blobs: Arc::default(),
            changes: Arc::default(),
            environments: Arc::new(FakeEnvironments::default()),
            servers: Arc::new(NoServers),
            installs: Installs::default(),
            clock: Arc::default(),
        }
    }
}

impl MemorySpace {
    /// The space of these parts.
    pub fn open(&self, owner: &Owner) -> Space {
        Space::new(self.parts(owner))
    }

    /// The parts themselves, for a test that replaces some of them.
    pub fn parts(&self, owner: &Owner) -> SpaceParts {
        let skills: Arc<dyn SkillStore> = Arc::<MemorySkills>::clone(&self.skills);
        SpaceParts {
            owner: owner.clone(),
            search: Arc::new(MemorySearch::new(Arc::clone(&skills))),
            skills,
            materialize: Arc::clone(&self.skills) as Arc<dyn Materialize>,
            files: Arc::<MemoryFiles>::clone(&self.files),
            layers: Arc::<MemoryLayers>::clone(&self.layers),
            records: Arc::<MemoryRecords>::clone(&self.records),
            blobs: Arc::<MemoryBlobs>::clone(&self.blobs),
            environments: Arc::clone(&self.environments),
            run_folders: Arc::new(FakeRunFolders),
            changes: Arc::<MemoryChangeSets>::clone(&self.changes),
            sandbox: Arc::<ScriptedSandbox>::clone(&self.sandbox),
            servers: Arc::clone(&self.servers),
            limits: Limits::default(),
            installs: self.installs,
            clock: Arc::<FixedClock>::clone(&self.clock),
        }
    }
}

/// Spaces in memory; a space is created when it is first opened.
#[derive(Default)]
pub struct MemorySpaces(Mutex<HashMap<Owner, Arc<MemorySpace>>>);

impl MemorySpaces {
    /// Spaces of which the local person's has these parts.
    pub fn of(local: Arc<MemorySpace>) -> Self {
        Self(Mutex::new(HashMap::from([(Owner::Local, local)])))
    }

    /// Gives an owner these parts.
    pub fn insert(&self, owner: Owner, parts: MemorySpace) {
        self.0.lock().unwrap().insert(owner, Arc::new(parts));
    }

    /// The parts of an owner's space.
    pub fn parts(&self, owner: &Owner) -> Arc<MemorySpace> {
        let mut spaces = self.0.lock().unwrap();
        Arc::clone(spaces.entry(owner.clone()).or_default())
    }
}

impl Spaces for MemorySpaces {
    fn open<'a>(&'a self, owner: &'a Owner) -> Pending<'a, Space> {
        ready(Ok(self.parts(owner).open(owner)))
    }
}
