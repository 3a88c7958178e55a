//! Counts the files that changes take away, besides those that git ignores.

use std::collections::BTreeSet;
use std::ffi::{CStr, OsStr};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use gongfu_core::change::MAX_REMOVALS;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{self, AtFlags};

use super::MAX_DEPTH;
use super::apply::is_folder;
use super::git::{self, FileChange, TrackedFiles};
use super::scan::{Kind, Node};
use crate::folder::{names, open_folder_of_mount};

/// The file with rules of what git ignores.
const IGNORE: &str = ".gitignore";

/// Counts the files that changes take away, up to one more than a run may without a person.
///
/// # Errors
/// The target can't be read.
pub(super) fn count(nodes: &[Node], target: &OwnedFd, root: &Path) -> io::Result<usize> {
    if !nodes.iter().any(Node::removes) {
        return Ok(0);
    }
    let mut count = Count::default();
    count.nodes(nodes, target, &Context::at(root, target), 0, false)?;
    Ok(count.files)
}

/// Returns whether nothing stays of several entries of a folder, whatever new ones it gets.
///
/// # Errors
/// The target can't be read.
pub(super) fn are_all(nodes: &[Node], target: &OwnedFd) -> io::Result<bool> {
    if !nodes.iter().any(Node::removes) {
        return Ok(false);
    }
    let mut there = names(target)?;
    there.retain(|name| **name != *c".git");
    let mut gone = 0;
    for name in &there {
        if stays(name, nodes, target, 0)? {
            return Ok(false);
        }
        gone += 1;
    }
    Ok(gone > 1)
}

/// Returns whether an entry of a folder stays: what it was, or something in it.
fn stays(name: &CStr, nodes: &[Node], target: &OwnedFd, depth: usize) -> io::Result<bool> {
    let Some(node) = nodes.iter().find(|node| *node.name == *name) else {
        return Ok(true);
    };
    let was_folder =
        || fs::statat(target, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|found| is_folder(&found));
    match &node.kind {
        Kind::Removal => Ok(false),
        Kind::File { .. } | Kind::Link(_) => Ok(!was_folder()),
        Kind::Folder(folder) => {
            if folder.is_opaque || !was_folder() || depth > MAX_DEPTH {
                return Ok(false);
            }
            let Ok(inside) = open_folder_of_mount(target, name) else {
                return Ok(true);
            };
            let there = names(&inside)?;
            for name in &there {
                if stays(name, &folder.nodes, &inside, depth + 1)? {
                    return Ok(true);
                }
            }
            Ok(there.is_empty())
        }
        _ => Ok(true),
    }
}

#[derive(Default)]
struct Count {
    files: usize,
}

/// The rules of git for a folder, and for those above it.
#[derive(Default, Clone)]
struct Context {
    /// The path of the folder on this machine.
    path: PathBuf,
    /// It lies in an ignored folder.
    is_ignored: bool,
    ignores: Vec<Rc<Gitignore>>,
    repositories: Vec<Rc<Repository>>,
    /// Nobody can say which files a repository tracks, so none is ignored.
    is_unknown: bool,
    /// The time of the newest index of these repositories.
    indexed: Option<FileChange>,
}

/// A repository, with the files that it tracks.
struct Repository {
    path: PathBuf,
    tracked: BTreeSet<Vec<u8>>,
}

impl Context {
    /// The rules at the folder that a run changed.
    fn at(root: &Path, folder: &OwnedFd) -> Self {
        let mut context = Self::default();
        let root = std::fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
        let mut above: Vec<&Path> = root.ancestors().skip(1).take(git::MAX_ABOVE).collect();
        above.reverse();
        for folder in above {
            context.add_repository(folder);
        }
        context.path = root;
        context.of(folder)
    }

    /// The same with what the folder itself says.
    fn of(mut self, folder: &OwnedFd) -> Self {
        let path = self.path.clone();
        self.add_repository(&path);
        // Rules that are newer than the index may be those of an earlier run.
        let is_new = || {
            let rules = git::changed(&path.join(IGNORE));
            self.indexed
                .is_some_and(|index| rules.is_none_or(|rules| rules > index))
        };
        if let Ok(text) = git::read(folder, c".gitignore")
            && !is_new()
        {
            let mut builder = GitignoreBuilder::new(&path);
            for line in String::from_utf8_lossy(&text).lines() {
                // A line that is no pattern ignores nothing.
                let _ = builder.add_line(None, line);
            }
            self.ignores.extend(builder.build().map(Rc::new));
        }
        self
    }

    fn add_repository(&mut self, folder: &Path) {
        let (tracked, index) = git::tracked(folder);
        self.indexed = index.or(self.indexed);
        match tracked {
            TrackedFiles::Nothing => {}
            TrackedFiles::Unknown => self.is_unknown = true,
            TrackedFiles::Files(tracked) => {
                let path = folder.to_owned();
                let repository = Repository { path, tracked };
                self.repositories.push(Rc::new(repository));
            }
        }
    }

    fn folder(&self, name: &CStr, folder: &OwnedFd) -> Self {
        let inside = Self {
            path: self.path_of(name),
            is_ignored: self.is_ignored(name, true),
            ..self.clone()
        };
        inside.of(folder)
    }

    fn path_of(&self, name: &CStr) -> PathBuf {
        self.path.join(OsStr::from_bytes(name.to_bytes()))
    }

    fn is_ignored(&self, name: &CStr, is_folder: bool) -> bool {
        let path = self.path_of(name);
        let rules = self.ignores.iter().rev();
        let rule = rules.map(|rules| rules.matched(&path, is_folder));
        let rule = rule.into_iter().find(|rule| !rule.is_none());
        !self.is_unknown && (self.is_ignored || rule.is_some_and(|rule| rule.is_ignore()))
    }

    /// Returns whether a repository tracks this file, or one in this folder; it ignores none of those.
    fn is_tracked(&self, path: &Path) -> bool {
        self.repositories.iter().any(|repository| {
            let Ok(below) = path.strip_prefix(&repository.path) else {
                return false;
            };
            let below = below.as_os_str().as_bytes();
            if below.is_empty() {
                // What is in it is asked for when it comes to that.
                return false;
            }
            let within = [below, b"/"].concat();
            let is_below = repository.tracked.range(within.clone()..).next();
            repository.tracked.contains(below)
                || is_below.is_some_and(|first| first.starts_with(&within))
        })
    }
}

impl Count {
    /// Counts what changes of a folder take away; those in one that is replaced replace what they are put over.
    fn nodes(
        &mut self,
        nodes: &[Node],
        target: &OwnedFd,
        context: &Context,
        depth: usize,
        is_replaced: bool,
    ) -> io::Result<()> {
        for node in nodes {
            if self.files > MAX_REMOVALS || depth > MAX_DEPTH {
                break;
            }
            let name = &*node.name;
            match &node.kind {
                Kind::Folder(folder) if is_replaced || node.removes() => {
                    let Ok(inside) = open_folder_of_mount(target, name) else {
                        continue;
                    };
                    let context = context.folder(name, &inside);
                    let is_replaced = is_replaced || folder.is_opaque;
                    self.nodes(&folder.nodes, &inside, &context, depth + 1, is_replaced)?;
                    if !is_replaced {
                        continue;
                    }
                    let stays = |name: &CStr| folder.nodes.iter().any(|node| *node.name == *name);
                    for gone in names(&inside)?.iter().filter(|name| !stays(name)) {
                        self.entry(gone, &inside, &context, depth + 1)?;
                    }
                }
                Kind::Removal => self.entry(name, target, context, depth)?,
                Kind::File { .. } | Kind::Link(_) => {
                    let found = fs::statat(target, name, AtFlags::SYMLINK_NOFOLLOW);
                    if found.is_ok_and(|found| is_folder(&found)) {
                        self.entry(name, target, context, depth)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Counts an entry of the target with everything in it.
    fn entry(
        &mut self,
        name: &CStr,
        target: &OwnedFd,
        context: &Context,
        depth: usize,
    ) -> io::Result<()> {
        let Ok(found) = fs::statat(target, name, AtFlags::SYMLINK_NOFOLLOW) else {
            return Ok(());
        };
        if !is_folder(&found) {
            if !context.is_ignored(name, false) || context.is_tracked(&context.path_of(name)) {
                self.files += 1;
            }
            return Ok(());
        }
        let Ok(inside) = open_folder_of_mount(target, name) else {
            return Ok(());
        };
        let context = context.folder(name, &inside);
        if depth > MAX_DEPTH || context.is_ignored && !context.is_tracked(&context.path) {
            return Ok(());
        }
        for name in names(&inside)? {
            if self.files > MAX_REMOVALS {
                break;
            }
            self.entry(&name, &inside, &context, depth + 1)?;
        }
        Ok(())
    }
}
