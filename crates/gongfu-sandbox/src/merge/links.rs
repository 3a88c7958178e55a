//! Finds files that are obeyed because a link with an obeyed name leads to them, such as `CLAUDE.md -> notes.md`.

use std::path::{Component, Path, PathBuf};

use gongfu_core::change::table;
use rustix::fs::{Dir, FileType};

use crate::folder::open_folder;
use std::os::fd::OwnedFd;

/// The most entries of a folder that are looked at.
const MAX_ENTRIES: usize = 20_000;
/// The folders below a hidden folder in which links are looked for.
const DEPTH: usize = 2;
/// The most links that lead on to each other.
const MAX_HOPS: usize = 8;
/// The folder of git, in which only [`HOOKS`] can be links: it may hold very many files.
const GIT: &str = ".git";
const HOOKS: &str = "hooks";

/// The paths below a root to which links lead that are obeyed by their names, in one folder and in the hidden folders
/// of it.
pub(super) fn targets(
    root: &Path,
    folder: &OwnedFd,
    path: &Path,
    above: &[String],
) -> Vec<PathBuf> {
    let mut search = Search {
        root,
        above: above.to_vec(),
        found: Vec::new(),
    };
    search.folder(folder, path, DEPTH);
    search.found
}

struct Search<'a> {
    root: &'a Path,
    /// The names above the entries that are looked at.
    above: Vec<String>,
    found: Vec<PathBuf>,
}

impl Search<'_> {
    fn folder(&mut self, folder: &OwnedFd, path: &Path, depth: usize) {
        let Ok(entries) = Dir::read_from(folder) else {
            return;
        };
        let in_git = self.above.last().is_some_and(|name| name == GIT);
        let is_below = depth < DEPTH;
        for entry in entries.take(MAX_ENTRIES).flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            match entry.file_type() {
                FileType::Symlink => {
                    let above = self.above.iter().map(String::as_str);
                    if table::obeyed(above, &name).is_some() || is_below && self.is_obeyed() {
                        self.found.extend(hops(self.root, &path.join(name)));
                    }
                }
                FileType::Directory if depth > 0 => {
                    let is_hidden = name.starts_with('.') && name != "." && name != "..";
                    let is_wanted = if in_git {
                        name == HOOKS
                    } else {
                        is_hidden || is_below
                    };
                    if is_wanted
                        && name != "."
                        && name != ".."
                        && let Ok(inside) = open_folder(folder, entry.file_name())
                    {
                        let path = path.join(&name);
                        self.above.push(name);
                        self.folder(&inside, &path, depth - 1);
                        self.above.pop();
                    }
                }
                _ => {}
            }
        }
    }

    /// True if the folder that is looked at is obeyed as a whole, or one above it.
    fn is_obeyed(&self) -> bool {
        (0..self.above.len()).rev().take(DEPTH).any(|at| {
            let (above, name) = (&self.above[..at], &self.above[at]);
            table::obeyed(above.iter().map(String::as_str), name).is_some()
        })
    }
}

/// The paths below a root to which a link leads, hop by hop; none for anything but a link.
pub(super) fn hops(root: &Path, link: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    let mut at = link.to_owned();
    for _ in 0..MAX_HOPS {
        let Ok(to) = std::fs::read_link(root.join(&at)) else {
            break;
        };
        let folder = at.parent().unwrap_or(Path::new(""));
        let Some(next) = inside(root, folder, &to).filter(|next| !found.contains(next)) else {
            break;
        };
        found.push(next.clone());
        at = next;
    }
    found
}

/// The path below the root to which a link in a folder of it leads; `None` if it leads out, or to the root itself.
fn inside(root: &Path, folder: &Path, to: &Path) -> Option<PathBuf> {
    let mut path = folder.to_owned();
    if to.is_absolute() {
        return to.strip_prefix(root).ok().map(Path::to_owned);
    }
    for part in to.components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::ParentDir if !path.pop() => return None,
            _ => {}
        }
    }
    (!path.as_os_str().is_empty()).then_some(path)
}
