//! The parts of a space on disk, whose sandbox and environments are fakes.

use std::sync::Arc;

use gongfu_core::account::Owner;
use gongfu_core::dependency::Installs;
use gongfu_core::port::{Clock, Materialize, NoServers, SkillStore, SpaceParts};
use gongfu_core::sandbox::Limits;
use gongfu_core::switches::Switches;
use gongfu_files::{FileLayers, Home, LocalRunFolders, LocalWorkspace};
use gongfu_library::source::Settings;
use gongfu_library::{LocalSkills, SwitchRecord};
use gongfu_records::{FileBlobs, FileRecords};
use gongfu_search::Search;
use gongfu_testing::{FakeEnvironments, FixedClock, MemoryChangeSets, ScriptedSandbox};

/// The parts of one owner's space in a home.
pub(crate) fn parts(
    home: Home,
    owner: &Owner,
    settings: Settings,
    workspace: LocalWorkspace,
) -> SpaceParts {
    let clock: Arc<dyn Clock> = Arc::new(FixedClock::default());
    let records = FileRecords::new(home.clone());
    let switch_file = records.path_of(&Switches::key().unwrap());
    let records = Arc::new(records);
    let switches = SwitchRecord::new(Arc::<FileRecords>::clone(&records)).in_file(switch_file);
    let skills = LocalSkills::new(home.clone(), settings, switches, Arc::clone(&clock));
    let skills = Arc::new(skills);
    let store: Arc<dyn SkillStore> = Arc::<LocalSkills>::clone(&skills);
    let materialize: Arc<dyn Materialize> = skills;
    let layers = Arc::new(FileLayers::new(
        home.clone(),
        Arc::clone(&materialize),
        Arc::clone(&clock),
    ));
    let workspace = Arc::new(workspace);
    let run_folders = LocalRunFolders::new(
        home.clone(),
        Arc::clone(&materialize),
        Arc::<FileLayers>::clone(&layers),
        Arc::clone(&workspace),
        Box::new(Vec::new),
        Box::new(Vec::new),
        Arc::clone(&clock),
    );
    SpaceParts {
        owner: owner.clone(),
        search: Arc::new(Search::new(Arc::clone(&store), Some(home.clone()))),
        skills: store,
        materialize,
        files: workspace,
        layers,
        records,
        blobs: Arc::new(FileBlobs::new(home)),
        environments: Arc::new(FakeEnvironments::default()),
        run_folders: Arc::new(run_folders),
        changes: Arc::new(MemoryChangeSets::default()),
        sandbox: Arc::new(ScriptedSandbox::default()),
        servers: Arc::new(NoServers),
        limits: Limits::default(),
        installs: Installs::default(),
        clock,
    }
}
