//! gongfu's own folder: what lies where in it.

use std::io;
use std::path::{Path, PathBuf};

use gongfu_core::skill::Digest;

use crate::disk::{self, EntryKind, Root};
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
/// layers/          what runs of skills wrote beside their files, one folder a skill; yours
/// runs/            long outputs of runs, one folder a workspace; the oldest are removed
/// environments/    packages that scripts need, one folder a set of them; may be deleted
/// tools/           programs that gongfu got, such as uv; may be deleted
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

    /// What stands in the way of the home and is no folder: at its path, or above it.
    ///
    /// A home that isn't there yet, or can't be written, is none: much works without one.
    pub fn obstacle(&self) -> Option<&Path> {
        let mut above = self.path.ancestors();
        let there = above.find_map(|path| Some((path, disk::kind_outside(path)?)));
        there
            .filter(|(_, kind)| *kind != EntryKind::Folder)
            .map(|(path, _)| path)
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
    pub fn workspace_of(&self, project: &Path) -> PathBuf {
        let real =
            Root::open(project).map_or_else(|_| project.to_owned(), |root| root.path().to_owned());
        self.of("workspaces", &real)
    }

    /// Where the owner's layer of a skill is, by the skill's folder.
    pub fn layer_of(&self, skill: &Path) -> PathBuf {
        self.of("layers", skill)
    }

    /// Where the long outputs of the runs in a workspace are, by the workspace's folder.
    pub fn logs_of(&self, workspace: &Path) -> PathBuf {
        self.of("runs", workspace)
    }

    /// A folder of the home for another folder: the name tells people for which, the digest of its
    /// path makes it unique.
    fn of(&self, kind: &str, folder: &Path) -> PathBuf {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let digest = Digest::of(folder.as_os_str().as_encoded_bytes()).to_string();
        let digest: String = digest.chars().skip("sha256:".len()).take(12).collect();
        self.path
            .join(kind)
            .join(format!("{}-{digest}", slug(&name)))
    }

    /// Where the environments of dependencies are.
    pub fn environments(&self) -> PathBuf {
        self.path.join("environments")
    }

    /// Where a program is that gongfu itself got.
    pub fn tool(&self, name: &str) -> PathBuf {
        self.path.join("tools").join(name).join("bin").join(name)
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

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "tests make the folders that they look at"
)]
mod tests {
    use super::Home;

    #[test]
    fn what_is_no_folder_stands_in_the_way_of_a_home() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "x").unwrap();
        assert_eq!(Home::at(&file).obstacle(), Some(file.as_path()));
        let below = Home::at(file.join("a/home"));
        assert_eq!(below.obstacle(), Some(file.as_path()));
        for free in [folder.path().to_owned(), folder.path().join("a/home")] {
            assert_eq!(Home::at(free).obstacle(), None);
        }
    }
}
