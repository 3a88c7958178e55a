//! gongfu's own folder: what lies where in it.

use std::io;
use std::path::{Path, PathBuf};

use gongfu_core::skill::Digest;

use crate::disk::Root;
use crate::source::slug;

/// The folder that gongfu keeps its things in.
///
/// ```text
/// skills/          skills that gongfu itself writes; yours
/// built-in/        the skills that come with gongfu, one folder a version
/// index/           what was read of skills folders; derived, may be deleted
/// audit/           who called what; JSON lines, rotated
/// clients/         what was changed in the configurations of clients, and how they were; yours
/// workspaces/      files that agents work on, one folder a project; yours
/// switches.json    which skills are switched off; yours
/// config.toml      settings; yours
/// ```
#[derive(Debug, Clone)]
pub struct Home {
    path: PathBuf,
}

impl Home {
    /// A home at a path; nothing is made before it is needed.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The home itself as a handle, made where it is missing.
    ///
    /// # Errors
    /// It can't be made or opened.
    pub fn open(&self) -> io::Result<Root> {
        Root::create(&self.path)
    }

    /// A folder of the home as a handle, made where it is missing.
    ///
    /// # Errors
    /// It can't be made or opened.
    pub fn folder(&self, name: &str) -> io::Result<Root> {
        Root::create(&self.path.join(name))
    }

    /// Where the home's own skills lie.
    pub fn skills(&self) -> PathBuf {
        self.path.join("skills")
    }

    /// Where the files lie that agents work on in a project, unless a person names a folder.
    ///
    /// The name tells people which project it is; the digest of the real path makes it unique.
    pub fn workspace_of(&self, project: &Path) -> PathBuf {
        let real =
            Root::open(project).map_or_else(|_| project.to_owned(), |root| root.path().to_owned());
        let name = real.file_name().unwrap_or_default().to_string_lossy();
        let digest = Digest::of(real.as_os_str().as_encoded_bytes()).to_string();
        let digest: String = digest.chars().skip("sha256:".len()).take(12).collect();
        let folder = format!("{}-{digest}", slug(&name));
        self.path.join("workspaces").join(folder)
    }

    /// Where the settings are.
    pub fn config(&self) -> PathBuf {
        self.path.join("config.toml")
    }

    /// Makes the home with its folders; answers whether it was new.
    ///
    /// # Errors
    /// It can't be made.
    pub fn create(&self) -> io::Result<bool> {
        let new = Root::open(&self.path).is_err();
        self.open()?;
        self.folder("skills")?;
        Ok(new)
    }
}
