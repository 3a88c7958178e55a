//! gongfu's own folder, and the places in it.

use std::io;
use std::path::{Path, PathBuf};

use gongfu_core::skill::Digest;

use crate::disk::{self, EntryKind, Root};
use crate::slug::slug;

/// The folder of everything that gongfu stores.
///
/// ```text
/// skills/          skills that gongfu itself writes; yours
/// built-in/        the skills that come with gongfu, one folder a version
/// index/           the index of skills folders; derived, may be deleted
/// search/          the search index; derived, may be deleted
/// audit/           all calls; JSON lines, rotated
/// clients/         the configurations of clients as they were before gongfu changed them; yours
/// workspaces/      files that agents work on, one folder a project; yours
/// changes/         changes of runs that wait for a person; yours
/// layers/          files that runs wrote beside those of a skill, one folder a version of it; yours
/// runs/            long outputs of runs, one folder a workspace; the oldest are removed
/// blobs/           content by digest; yours
/// records/         records with a path, such as sessions; yours
/// environments/    packages that scripts need, one folder a set of them; may be deleted
/// tools/           programs that gongfu installed, such as uv; may be deleted
/// approvals.json   answers of a person about calls; yours
/// grants.json      hosts that skills may reach; yours
/// switches.json    disabled skills; yours
/// config.toml      settings; yours
/// ```
#[derive(Debug, Clone)]
pub struct Home {
    path: PathBuf,
}

impl Home {
    /// A home at a path; nothing is created before it is needed.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The entry at the home's path, or above it, that isn't a folder.
    ///
    /// A home that is missing or read-only is no problem: much works without one.
    pub fn blocked_by(&self) -> Option<&Path> {
        let mut above = self.path.ancestors();
        let found = above.find_map(|path| Some((path, disk::kind_outside(path)?)));
        found
            .filter(|(_, kind)| *kind != EntryKind::Folder)
            .map(|(path, _)| path)
    }

    /// The handle of the home, which is created where it is missing.
    ///
    /// # Errors
    /// It can't be created or opened.
    pub fn open(&self) -> io::Result<Root> {
        Root::create(&self.path)
    }

    /// The handle of a folder of the home, which is created where it is missing.
    ///
    /// # Errors
    /// It can't be created or opened.
    pub fn folder(&self, name: &str) -> io::Result<Root> {
        Root::create(&self.path.join(name))
    }

    /// The folder of the home's own skills.
    pub fn skills(&self) -> PathBuf {
        self.path.join("skills")
    }

    /// The workspace of a project, unless a person names another folder.
    pub fn workspace_of(&self, project: &Path) -> PathBuf {
        let real =
            Root::open(project).map_or_else(|_| project.to_owned(), |root| root.path().to_owned());
        self.of("workspaces", &real)
    }

    /// The layers above skills.
    pub fn layers(&self) -> PathBuf {
        self.path.join("layers")
    }

    /// The change sets that wait for a person.
    pub fn changes(&self) -> PathBuf {
        self.path.join("changes")
    }

    /// The long outputs of the runs in a workspace.
    pub fn logs_of(&self, workspace: &Path) -> PathBuf {
        self.of("runs", workspace)
    }

    /// A folder of the home for another folder: its name is for people, the digest of its path makes it
    /// unique.
    fn of(&self, kind: &str, folder: &Path) -> PathBuf {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let digest = Digest::of(folder.as_os_str().as_encoded_bytes()).hex(12);
        self.path
            .join(kind)
            .join(format!("{}-{digest}", slug(&name)))
    }

    /// The folder of the environments.
    pub fn environments(&self) -> PathBuf {
        self.path.join("environments")
    }

    /// A program that gongfu itself installed.
    pub fn tool(&self, name: &str) -> PathBuf {
        self.path.join("tools").join(name).join("bin").join(name)
    }

    /// The file of the settings.
    pub fn config(&self) -> PathBuf {
        self.path.join("config.toml")
    }

    /// Creates the home with its folders; answers whether it is new.
    ///
    /// # Errors
    /// It can't be created.
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
    fn file_in_the_way_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "x").unwrap();
        assert_eq!(Home::at(&file).blocked_by(), Some(file.as_path()));
        let below = Home::at(file.join("a/home"));
        assert_eq!(below.blocked_by(), Some(file.as_path()));
        for free in [folder.path().to_owned(), folder.path().join("a/home")] {
            assert_eq!(Home::at(free).blocked_by(), None);
        }
    }
}
