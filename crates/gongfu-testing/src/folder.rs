//! A temporary folder with skills and other files.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::sample::{PDF_TOOLS_FILES, plain};

/// A folder that nothing else touches, removed in the end. Paths are relative to it.
pub struct TestFolder(TempDir);

impl TestFolder {
    /// A folder with these empty folders in it.
    pub fn new(folders: &[&str]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for below in folders {
            fs::create_dir(folder.path(below)).unwrap();
        }
        folder
    }

    /// Writes two skills below `skills`, one of them with files of every kind.
    pub fn add_sample_skills(&self) {
        for (path, content) in PDF_TOOLS_FILES {
            self.write(format!("skills/pdf-tools/{path}"), content);
        }
        self.skill("release-notes", "Writes release notes.");
    }

    /// The real path of a place, as programs show it.
    pub fn path(&self, below: impl AsRef<Path>) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(below)
    }

    /// Writes a file, with the folders above it.
    pub fn write(&self, below: impl AsRef<Path>, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Reads a file as text.
    pub fn read(&self, below: impl AsRef<Path>) -> String {
        fs::read_to_string(self.path(below)).unwrap()
    }

    /// Writes a plain skill below `skills`.
    pub fn skill(&self, name: &str, description: &str) -> PathBuf {
        self.skill_in("skills", name, description)
    }

    /// Writes a plain skill below any folder.
    pub fn skill_in(&self, folder: &str, name: &str, description: &str) -> PathBuf {
        let document = plain(name, description);
        self.write(format!("{folder}/{name}/SKILL.md"), document)
    }
}
