//! A server over folders on disk: where links and paths can really lead somewhere.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gongfu_core::account::Owner;
use gongfu_core::port::{LocalSpaces, Space};
use gongfu_files::{Home, LocalWorkspace};
use gongfu_library::source::Settings;
use tempfile::TempDir;

use crate::disk;
use crate::fixture::{DOT, LocalClient, PDF_TOOLS, connect, greeted, plain};

/// A home, a workspace and a folder of skills that nothing else touches.
pub(crate) struct Folders {
    folder: TempDir,
}

impl Folders {
    /// No skills.
    pub(crate) fn new() -> Self {
        let folders = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        for folder in ["skills", "work"] {
            fs::create_dir(folders.path(folder)).unwrap();
        }
        folders
    }

    /// Two skills, one with files of every kind.
    pub(crate) fn with_skills() -> Self {
        let folders = Self::new();
        folders.write("skills/pdf-tools/SKILL.md", PDF_TOOLS);
        folders.write("skills/pdf-tools/references/guide.md", "one\ntwo\nthree\n");
        folders.write("skills/pdf-tools/hello.txt", "hello\n");
        folders.write("skills/pdf-tools/assets/dot.png", DOT);
        folders.skill("release-notes", "Writes release notes.");
        folders
    }

    /// The real path of a place.
    pub(crate) fn path(&self, below: impl AsRef<Path>) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(below)
    }

    /// Writes a file, with the folders above it.
    pub(crate) fn write(&self, below: impl AsRef<Path>, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Writes a plain skill.
    pub(crate) fn skill(&self, name: &str, description: &str) -> PathBuf {
        self.write(format!("skills/{name}/SKILL.md"), plain(name, description))
    }

    /// Reads a file as text.
    pub(crate) fn read(&self, below: impl AsRef<Path>) -> String {
        fs::read_to_string(self.path(below)).unwrap()
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
