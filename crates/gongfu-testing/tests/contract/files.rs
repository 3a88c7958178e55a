//! The ports on files: a home for each owner.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use gongfu_core::account::Owner;
use gongfu_core::port::{RecordKey, SpaceParts};
use gongfu_core::skill::Digest;
use gongfu_files::{Home, LocalWorkspace};
use gongfu_library::source::Settings;
use gongfu_records::FileRecords;
use gongfu_testing::story::{Backend, Port, Storage};
use tempfile::TempDir;

use crate::disk;

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
        Owner::Team(team) => folder.join("teams").join(team.as_str()),
    }
}

impl Backend for Files {
    fn offers(&self, port: Port) -> bool {
        port != Port::Transactions
    }

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
    let settings = Settings {
        explicit: vec![home.skills()],
        writable: Some(home.skills()),
        ..Settings::default()
    };
    let workspace = LocalWorkspace::new(home.path().join("workspaces/project"), &[]).unwrap();
    disk::parts(home, owner, settings, workspace)
}
