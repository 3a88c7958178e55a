//! The rules of git for what it ignores, which a stranger may have written.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::merge::git::{self, FileChange, TrackedFiles};

/// The file with rules of what git ignores.
const IGNORE: &CStr = c".gitignore";
/// The longest such file, in bytes.
const MAX_LENGTH: u64 = 256 * 1024;
/// The most lines of one.
const MAX_LINES: usize = 2000;
/// The longest line of one, in bytes.
const MAX_LINE: usize = 1024;
/// The most files of rules that count for one folder: each takes room of its own to be compared.
const MAX_FILES: usize = 16;
/// The most steps for all rules together: a path is compared in as many as its length times that of the rules.
const MAX_STEPS: u64 = 1 << 29;
/// The steps in which a byte of a file of rules is read.
const STEPS_TO_READ: u64 = 1024;

/// The rules of git for a folder, with those of the folders above it.
#[derive(Default, Clone)]
pub(super) struct Rules {
    /// The path of the folder on this machine.
    path: PathBuf,
    /// It lies in an ignored folder.
    is_ignored: bool,
    files: Vec<Rc<RuleFile>>,
    repositories: Vec<Rc<Repository>>,
    /// Nobody can say which files a repository tracks or ignores, so none is ignored.
    is_unknown: bool,
    /// The time of the index of the repository that it is in; without one nothing is ignored.
    indexed: Option<FileChange>,
    /// The steps that are left for all folders.
    steps_left: Rc<Cell<u64>>,
}

/// A file of rules.
struct RuleFile {
    rules: Gitignore,
    length: u64,
}

/// A repository, with the files that it tracks.
struct Repository {
    path: PathBuf,
    tracked: BTreeSet<Vec<u8>>,
}

impl Rules {
    /// The rules at the folder that a run changed.
    pub(super) fn at(root: &Path, folder: &OwnedFd) -> Self {
        let mut rules = Self {
            steps_left: Rc::new(Cell::new(MAX_STEPS)),
            ..Self::default()
        };
        let root = std::fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
        let mut above: Vec<&Path> = root.ancestors().skip(1).take(git::MAX_ABOVE).collect();
        above.reverse();
        for path in above {
            rules = rules.inside(path.to_owned());
            rules.add_repository();
            if rules.indexed.is_some() {
                match File::open(path) {
                    Ok(folder) => rules.add_file(&folder.into()),
                    Err(_) => rules.is_unknown = true,
                }
            }
        }
        rules = rules.inside(root);
        rules.add_repository();
        if rules.is_ignored {
            // A person works in it, whatever the repository around it ignores.
            rules.begin_anew(None);
        }
        rules.add_file(folder);
        rules
    }

    /// The rules at a folder in this one.
    pub(super) fn folder(&self, name: &CStr, folder: &OwnedFd) -> Self {
        let mut rules = self.inside(self.path_of(name));
        rules.add_repository();
        rules.add_file(folder);
        rules
    }

    /// Returns whether git ignores a file of the folder.
    pub(super) fn ignores_file(&self, name: &CStr) -> bool {
        let path = self.path_of(name);
        self.ignores(&path, false) && !self.is_tracked(&path)
    }

    /// Returns whether git ignores the folder with all that is in it.
    pub(super) fn ignores_all(&self) -> bool {
        self.is_ignored && !self.is_tracked(&self.path)
    }

    /// The rules of this folder for one that lies in it.
    fn inside(&self, path: PathBuf) -> Self {
        let is_ignored = self.ignores(&path, true);
        Self {
            path,
            is_ignored,
            ..self.clone()
        }
    }

    /// Adds the repository that begins in the folder.
    fn add_repository(&mut self) {
        let (tracked, index) = git::tracked(&self.path);
        match tracked {
            TrackedFiles::Nothing => return,
            TrackedFiles::Unknown => self.is_unknown = true,
            TrackedFiles::Files(tracked) => {
                let path = self.path.clone();
                let repository = Repository { path, tracked };
                self.repositories.push(Rc::new(repository));
            }
        }
        self.begin_anew(index);
    }

    /// Forgets the rules above: those of one repository don't count in another.
    fn begin_anew(&mut self, indexed: Option<FileChange>) {
        self.is_ignored = false;
        self.files.clear();
        self.indexed = indexed;
    }

    /// Adds the rules that the folder itself has.
    fn add_file(&mut self, folder: &OwnedFd) {
        let Some(indexed) = self.indexed else {
            return;
        };
        // Nothing below an ignored folder is taken out again.
        if self.is_ignored || self.is_unknown {
            return;
        }
        // Rules that are newer than the index may be those of an earlier run.
        let changed = git::changed(&self.path_of(IGNORE));
        if changed.is_none_or(|changed| changed > indexed) {
            return;
        }
        let read = || git::read_at_most(folder, IGNORE, MAX_LENGTH).ok();
        let text = (self.files.len() < MAX_FILES).then(read).flatten();
        match text.and_then(|text| self.compile(&text)) {
            Some(file) => self.files.push(Rc::new(file)),
            None => self.is_unknown = true,
        }
    }

    /// The rules in the text of a file; `None` if they would take too long.
    fn compile(&self, text: &[u8]) -> Option<RuleFile> {
        let length = text.len() as u64;
        let text = String::from_utf8_lossy(text);
        let is_short = text.lines().all(|line| line.len() <= MAX_LINE);
        if !is_short || text.lines().nth(MAX_LINES).is_some() {
            return None;
        }
        self.take_steps(length, STEPS_TO_READ)?;
        let mut builder = GitignoreBuilder::new(&self.path);
        for line in text.lines() {
            // A line that is no pattern ignores nothing.
            let _ = builder.add_line(None, line);
        }
        let rules = builder.build().ok()?;
        Some(RuleFile { rules, length })
    }

    fn ignores(&self, path: &Path, is_folder: bool) -> bool {
        if self.is_ignored || self.is_unknown {
            return !self.is_unknown;
        }
        let path_length = path.as_os_str().len() as u64;
        for file in self.files.iter().rev() {
            if self.take_steps(file.length, path_length).is_none() {
                return false;
            }
            let rule = file.rules.matched(path, is_folder);
            if !rule.is_none() {
                return rule.is_ignore();
            }
        }
        false
    }

    /// Takes the steps for rules of this length; `None` if not as many are left.
    fn take_steps(&self, length: u64, each: u64) -> Option<()> {
        let left = self.steps_left.get();
        let left = left.checked_sub(length.saturating_mul(each));
        self.steps_left.set(left.unwrap_or(0));
        left.map(|_| ())
    }

    fn path_of(&self, name: &CStr) -> PathBuf {
        self.path.join(OsStr::from_bytes(name.to_bytes()))
    }

    /// Returns whether a repository tracks this file, or one in this folder; it ignores none of those.
    fn is_tracked(&self, path: &Path) -> bool {
        self.repositories.iter().any(|repository| {
            let Ok(below) = path.strip_prefix(&repository.path) else {
                return false;
            };
            let below = below.as_os_str().as_bytes();
            if below.is_empty() {
                // The folder of a repository itself: each file in it is asked for on its own.
                return false;
            }
            let within = [below, b"/"].concat();
            let is_below = repository.tracked.range(within.clone()..).next();
            repository.tracked.contains(below)
                || is_below.is_some_and(|first| first.starts_with(&within))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(steps: u64) -> Rules {
        Rules {
            path: PathBuf::from("/home/me"),
            steps_left: Rc::new(Cell::new(steps)),
            ..Rules::default()
        }
    }

    #[test]
    fn long_files_and_lines_are_not_compiled() {
        let is_compiled = |text: &str| rules(MAX_STEPS).compile(text.as_bytes()).is_some();
        assert!(is_compiled(&"a\n".repeat(MAX_LINES)));
        assert!(!is_compiled(&"a\n".repeat(MAX_LINES + 1)));
        assert!(is_compiled(&"a".repeat(MAX_LINE)));
        assert!(!is_compiled(&"a".repeat(MAX_LINE + 1)));
        // Those that are no patterns as well.
        assert!(!is_compiled(&format!("#{}", " ".repeat(MAX_LINE))));
    }

    #[test]
    fn steps_of_all_folders_are_limited_together() {
        let text = b"*.o\n";
        let to_compile = text.len() as u64 * STEPS_TO_READ;
        let rules = rules(2 * to_compile);
        assert!(rules.compile(text).is_some());
        let other = rules.inside(PathBuf::from("/home/me/other"));
        assert!(other.compile(text).is_some());
        assert!(other.compile(text).is_none());
        assert!(rules.compile(text).is_none());
    }

    #[test]
    fn nothing_is_ignored_without_steps() {
        let text = b"*.o\n";
        let to_compile = text.len() as u64 * STEPS_TO_READ;
        let to_compare = (text.len() * "/home/me/a.o".len()) as u64;
        let mut rules = rules(to_compile + 3 * to_compare);
        let file = rules.compile(text).unwrap();
        rules.files.push(Rc::new(file));
        for _ in 0..3 {
            assert!(rules.ignores_file(c"a.o"));
        }
        assert!(!rules.ignores_file(c"a.o"));
    }
}
