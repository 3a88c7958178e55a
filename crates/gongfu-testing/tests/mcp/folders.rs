//! A server over folders on disk: where links and paths can really lead somewhere.

use std::ops::Deref;
use std::sync::Arc;

use gongfu_core::account::Owner;
use gongfu_core::port::{LocalSpaces, Space};
use gongfu_files::{Home, LocalWorkspace};
use gongfu_library::source::Settings;
use gongfu_testing::TestFolder;

use crate::disk;
use crate::fixture::{LocalClient, connect, greeted};

/// A home, a workspace and a folder of skills that nothing else touches.
pub(crate) struct Folders(TestFolder);

impl Deref for Folders {
    type Target = TestFolder;

    fn deref(&self) -> &TestFolder {
        &self.0
    }
}

impl Folders {
    /// No skills.
    pub(crate) fn new() -> Self {
        Self(TestFolder::new(&["skills", "work"]))
    }

    /// Two skills, one with files of every kind.
    pub(crate) fn with_skills() -> Self {
        let folders = Self::new();
        folders.add_sample_skills();
        folders
    }

    /// A client with every tool that has greeted the server.
    pub(crate) fn client(&self) -> LocalClient {
        self.client_with(&[], &[])
    }

    /// The same with more sources of skills and with mounts.
    pub(crate) fn client_with(&self, sources: &[&str], mounts: &[&str]) -> LocalClient {
        let skills = self.path("skills");
        let sources = sources.iter().map(|below| self.path(below));
        let settings = Settings {
            explicit: [skills.clone()].into_iter().chain(sources).collect(),
            writable: Some(skills),
            ..Settings::default()
        };
        let mounts: Vec<_> = mounts.iter().map(|mount| mount.parse().unwrap()).collect();
        let workspace = LocalWorkspace::new(self.path("work"), &mounts).unwrap();
        let home = Home::at(self.path("home"));
        let space = Space::new(disk::parts(home, &Owner::Local, settings, workspace));
        greeted(connect(Arc::new(LocalSpaces::new(space)), "all"))
    }
}
