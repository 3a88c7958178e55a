//! The files below a folder that the settings of git name: hooks, programs, further settings.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use gongfu_core::change::PersonalSettings;
use gongfu_core::change::git::{HOOKS, Setting, settings};

use super::repository::Repository;
use super::{MAX_ABOVE, plain, read_path};

/// The longest file of settings, in bytes.
const MAX_SETTINGS: u64 = 1024 * 1024;
/// The most files of settings of one repository.
const MAX_FILES: usize = 24;
/// The most paths that they name.
const MAX_NAMED: usize = 2000;
/// The most entries of a folder of hooks that are looked at.
const MAX_HOOKS: usize = 1000;
/// The most links that lead on to each other.
const MAX_HOPS: usize = 8;

/// Collects paths that git obeys below a folder.
#[derive(Clone)]
pub(in crate::merge) struct NamedFiles<'a> {
    /// The folder, as it is called and as it is really.
    roots: [PathBuf; 2],
    personal: &'a PersonalSettings,
    found: BTreeSet<PathBuf>,
}

impl<'a> NamedFiles<'a> {
    pub(in crate::merge) fn new(root: &Path, personal: &'a PersonalSettings) -> Self {
        let real = fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
        Self {
            roots: [root.to_owned(), real],
            personal,
            found: BTreeSet::new(),
        }
    }

    /// The paths below the root that a person's own settings name, and those of repositories above it.
    pub(in crate::merge) fn above(mut self) -> BTreeSet<PathBuf> {
        self.follow_settings(self.personal.files.clone(), None);
        let [_, real] = self.roots.clone();
        for folder in real.ancestors().skip(1).take(MAX_ABOVE) {
            self.of_repository(folder);
        }
        self.found
    }

    /// The paths below the root that the repository of a folder names, if it has one.
    pub(in crate::merge) fn at(mut self, folder: &Path) -> BTreeSet<PathBuf> {
        self.of_repository(folder);
        self.found
    }

    fn of_repository(&mut self, folder: &Path) {
        let Some(repository) = Repository::at(folder) else {
            return;
        };
        for folder in [&repository.common, &repository.own] {
            self.follow_links(&plain(&folder.join("hooks")));
        }
        let mut files = vec![
            repository.common.join("config"),
            repository.own.join("config.worktree"),
        ];
        files.extend(self.personal.files.iter().cloned());
        self.follow_settings(files, Some(&repository.top));
    }

    /// Notes what files of settings name, and the files that they include.
    fn follow_settings(&mut self, mut files: Vec<PathBuf>, top: Option<&Path>) {
        let mut at = 0;
        while let Some(file) = files.get(at).cloned() {
            at += 1;
            let bytes = match read_path(&file, MAX_SETTINGS) {
                Ok(bytes) if at <= MAX_FILES && self.found.len() <= MAX_NAMED => bytes,
                Err(error) if error.kind() != io::ErrorKind::FileTooLarge => continue,
                // Nobody can say what they name, so everything waits.
                _ => {
                    self.found.insert(PathBuf::new());
                    return;
                }
            };
            let beside = file.parent().unwrap_or(Path::new("/"));
            for setting in settings(&String::from_utf8_lossy(&bytes)) {
                if setting.is_include()
                    && let Some(path) = self.in_home(&setting.value)
                {
                    let path = plain(&beside.join(path));
                    if !files.contains(&path) {
                        files.push(path);
                    }
                }
                for name in setting.arguments() {
                    let path = top.map(|top| top.join(name)).filter(|path| path.is_file());
                    if let Some(path) = path {
                        self.note(&path, &setting);
                    }
                }
                for path in setting.paths() {
                    let Some(path) = self.in_home(&path) else {
                        continue;
                    };
                    // Further settings are named from beside these alone.
                    let top = top.filter(|_| !setting.is_include());
                    for base in top.into_iter().chain([beside]) {
                        self.note(&plain(&base.join(&path)), &setting);
                    }
                }
            }
        }
    }

    /// A path with the person's home for `~`; `None` if nobody knows that.
    fn in_home(&self, path: &str) -> Option<PathBuf> {
        match path.strip_prefix("~/") {
            Some(below) => Some(self.personal.home.as_ref()?.join(below)),
            None => Some(PathBuf::from(path)),
        }
    }

    /// Notes a path that a setting names.
    fn note(&mut self, path: &Path, setting: &Setting) {
        self.follow(path);
        if !setting.is_hooks() {
            return;
        }
        self.follow_links(path);
        if self.roots.iter().any(|root| root == path) {
            self.found.extend(HOOKS.iter().map(PathBuf::from));
        }
    }

    /// Notes where the links in a folder of hooks lead.
    fn follow_links(&mut self, folder: &Path) {
        let entries = fs::read_dir(folder).into_iter().flatten();
        for entry in entries.take(MAX_HOOKS).flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                self.follow(&entry.path());
            }
        }
    }

    /// Notes a path, and where it leads if it is a link, hop by hop.
    fn follow(&mut self, path: &Path) {
        if let Ok(real) = fs::canonicalize(path) {
            self.keep(&real);
        }
        let mut at = path.to_owned();
        for _ in 0..MAX_HOPS {
            self.keep(&at);
            let Ok(to) = fs::read_link(&at) else {
                return;
            };
            at = plain(&at.parent().unwrap_or(Path::new("/")).join(to));
        }
    }

    fn keep(&mut self, path: &Path) {
        for root in &self.roots {
            if let Ok(below) = path.strip_prefix(root)
                && below.file_name().is_some()
            {
                self.found.insert(below.to_owned());
            }
        }
    }
}
