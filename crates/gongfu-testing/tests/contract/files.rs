//! The ports on files: a home for each owner.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use gongfu_core::account::Owner;
use gongfu_core::dependency::Installs;
use gongfu_core::port::{Clock, Materialize, RecordKey, SkillStore, SpaceParts};
use gongfu_core::sandbox::Limits;
use gongfu_core::skill::Digest;
use gongfu_core::switches::Switches;
use gongfu_files::{FileLayers, Home, LocalRunFolders, LocalWorkspace};
use gongfu_library::source::Settings;
use gongfu_library::{LocalSkills, SwitchRecord};
use gongfu_records::{FileBlobs, FileRecords};
use gongfu_search::Search;
use gongfu_testing::story::{Backend, Storage};
use gongfu_testing::{FakeEnvironments, FixedClock, ScriptedSandbox};
use tempfile::TempDir;

struct Files(TempDir);

pub(crate) fn backend() -> Box<dyn Backend> {
    Box::new(Files(tempfile::tempdir().unwrap()))
}

impl Files {
    fn home(&self, owner: &Owner) -> PathBuf {
        home(self.0.path(), owner)
    }
}

fn home(folder: &Path, owner: &Owner) -> PathBuf {
    match owner {
        Owner::Local => folder.join("home"),
        Owner::User(user) => folder.join("users").join(user.as_str()),
    }
}

impl Backend for Files {
    fn open(&self) -> Arc<dyn Storage> {
        Arc::new(Homes {
            folder: self.0.path().to_owned(),
            open: Mutex::default(),
        })
    }

    fn record(&self, owner: &Owner, key: &RecordKey) -> Vec<u8> {
        let records = FileRecords::new(Home::at(self.home(owner)));
        std::fs::read(records.path_of(key)).unwrap()
    }

    fn damage_record(&self, owner: &Owner, key: &RecordKey, bytes: &[u8]) {
        let records = FileRecords::new(Home::at(self.home(owner)));
        std::fs::write(records.path_of(key), bytes).unwrap();
    }

    fn damage_blob(&self, owner: &Owner, digest: &Digest, bytes: &[u8]) {
        let hex = digest.hex(64);
        let file = self
            .home(owner)
            .join("blobs")
            .join(&hex[..2])
            .join(&hex[2..]);
        assert!(file.exists());
        std::fs::write(file, bytes).unwrap();
    }
}

/// The spaces of one process.
struct Homes {
    folder: PathBuf,
    open: Mutex<HashMap<Owner, SpaceParts>>,
}

impl Storage for Homes {
    fn parts(&self, owner: &Owner) -> SpaceParts {
        let mut open = self.open.lock().unwrap();
        let parts = open.entry(owner.clone());
        let parts = parts.or_insert_with(|| parts_in(home(&self.folder, owner), owner));
        parts.clone()
    }
}

fn parts_in(path: PathBuf, owner: &Owner) -> SpaceParts {
    let home = Home::at(path);
    let clock: Arc<dyn Clock> = Arc::new(FixedClock::default());
    let records = FileRecords::new(home.clone());
    let switch_file = records.path_of(&Switches::key().unwrap());
    let records = Arc::new(records);
    let settings = Settings {
        explicit: vec![home.skills()],
        writable: Some(home.skills()),
        ..Settings::default()
    };
    let switches = SwitchRecord::new(Arc::<FileRecords>::clone(&records)).in_file(switch_file);
    let skills = LocalSkills::new(home.clone(), settings, switches, Arc::clone(&clock));
    let skills = Arc::new(skills);
    let store: Arc<dyn SkillStore> = Arc::<LocalSkills>::clone(&skills);
    let materialize: Arc<dyn Materialize> = skills;
    let layers = Arc::new(FileLayers::new(home.clone(), Arc::clone(&materialize)));
    let workspace = home.path().join("workspaces/project");
    let workspace = Arc::new(LocalWorkspace::new(workspace, &[]).unwrap());
    let run_folders = LocalRunFolders::new(
        home.clone(),
        Arc::clone(&materialize),
        Arc::<FileLayers>::clone(&layers),
        Arc::clone(&workspace),
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
        sandbox: Arc::new(ScriptedSandbox::default()),
        limits: Limits::default(),
        installs: Installs::default(),
        clock,
    }
}
