//! Backups of the configurations that gongfu changed, in the folder `clients` of its home.

use std::io;
use std::path::{Path, PathBuf};

use gongfu_core::skill::{Digest, SkillPath};
use gongfu_files::Home;
use gongfu_files::disk::Root;

use super::file::MAX_SIZE;

const FOLDER: &str = "clients";
const MAX_BACKUPS: usize = 5;

/// The backups of one client's file.
pub(super) struct Backups<'h> {
    home: &'h Home,
    stem: String,
}

impl<'h> Backups<'h> {
    pub(super) fn new(home: &'h Home, client: &str, file: &Path) -> Self {
        let digest = Digest::of(file.as_os_str().as_encoded_bytes()).to_string();
        let digest: String = digest.chars().skip("sha256:".len()).take(12).collect();
        Self {
            home,
            stem: format!("{client}-{digest}"),
        }
    }

    /// The texts of the backups, newest first; those that can't be read are left out.
    pub(super) fn texts(&self) -> Vec<String> {
        let Ok(root) = Root::open(&self.home.path().join(FOLDER)) else {
            return Vec::new();
        };
        let names = self.names(&root).unwrap_or_default();
        let texts = names.iter().rev().filter_map(|name| {
            let content = root.read(&SkillPath::new(name).ok()?, MAX_SIZE).ok()?;
            String::from_utf8(content.bytes).ok()
        });
        texts.collect()
    }

    /// Keeps a copy of the file beside the latest few; returns its path.
    pub(super) fn add(&self, text: &str, now: i64) -> io::Result<PathBuf> {
        let root = self.folder()?;
        // A fixed number of digits: names sort by time.
        let name = format!("{}-{now:014}.bak", self.stem);
        root.replace(&name, text.as_bytes(), true)?;
        let names = self.names(&root)?;
        let surplus = names.len().saturating_sub(MAX_BACKUPS);
        for old in names.iter().take(surplus) {
            let _ = root.dir().remove_file(old);
        }
        Ok(root.path().join(name))
    }

    /// The names of the backups, oldest first.
    fn names(&self, root: &Root) -> io::Result<Vec<String>> {
        let entries = root.list(&SkillPath::new("").map_err(io::Error::other)?)?;
        let names = entries.into_iter().map(|entry| entry.name);
        let is_own = |name: &String| name.starts_with(&format!("{}-", self.stem));
        Ok(names.filter(is_own).collect())
    }

    /// The folder, created where it is missing; closed to other people, because configurations
    /// hold secrets.
    fn folder(&self) -> io::Result<Root> {
        let root = self.home.folder(FOLDER)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            std::fs::set_permissions(root.path(), std::fs::Permissions::from_mode(0o700))?;
        }
        Ok(root)
    }
}
