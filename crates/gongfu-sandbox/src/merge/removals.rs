//! Counts the files that changes take away, besides those that git ignores.

use std::collections::BTreeSet;
use std::ffi::CStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::rc::Rc;

use gongfu_core::change::MAX_REMOVALS;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{self, AtFlags};

use super::MAX_DEPTH;
use super::apply::is_folder;
use super::git;
use super::scan::{Kind, Node};
use crate::folder::{names, open_folder_of_mount};

/// Returns whether changes take away more files than a run may without a person, or everything.
///
/// # Errors
/// The target can't be read.
pub(super) fn are_many(nodes: &[Node], target: &OwnedFd) -> io::Result<bool> {
    if !nodes.iter().any(Node::removes) {
        return Ok(false);
    }
    let there = names(target)?;
    let gone = nodes
        .iter()
        .filter(|node| matches!(node.kind, Kind::Removal));
    let is_everything =
        gone.count() == nodes.len() && nodes.len() >= there.len() && there.len() > 1;
    let mut count = Count::default();
    count.nodes(nodes, target, &Context::default().of(target), 0)?;
    Ok(is_everything || count.files > MAX_REMOVALS)
}

#[derive(Default)]
struct Count {
    files: usize,
}

/// The rules of git for a folder, and for those above it.
#[derive(Default, Clone)]
struct Context {
    /// The path of the folder, absolute as seen from the target.
    path: String,
    /// It lies in an ignored folder.
    is_ignored: bool,
    ignores: Vec<Rc<Gitignore>>,
    repository: Option<Rc<Repository>>,
}

/// A repository, with the files that it tracks.
struct Repository {
    path: String,
    tracked: BTreeSet<Vec<u8>>,
}

impl Context {
    /// The same with what the folder itself says.
    fn of(mut self, folder: &OwnedFd) -> Self {
        let root = if self.path.is_empty() {
            "/"
        } else {
            &*self.path
        };
        if let Ok(text) = git::read(folder, c".gitignore") {
            let mut builder = GitignoreBuilder::new(root);
            for line in String::from_utf8_lossy(&text).lines() {
                // A line that is no pattern ignores nothing.
                let _ = builder.add_line(None, line);
            }
            self.ignores.extend(builder.build().map(Rc::new));
        }
        let tracked = git::tracked(folder);
        if !tracked.is_empty() {
            let path = self.path.clone();
            self.repository = Some(Rc::new(Repository { path, tracked }));
        }
        self
    }

    fn folder(&self, name: &CStr, folder: &OwnedFd) -> Self {
        let inside = Self {
            path: self.path_of(name),
            is_ignored: self.is_ignored(name, true),
            ..self.clone()
        };
        inside.of(folder)
    }

    fn path_of(&self, name: &CStr) -> String {
        format!("{}/{}", self.path, name.to_string_lossy())
    }

    fn is_ignored(&self, name: &CStr, is_folder: bool) -> bool {
        let path = self.path_of(name);
        let rules = self.ignores.iter().rev();
        let rule = rules.map(|rules| rules.matched(Path::new(&path), is_folder));
        let rule = rule.into_iter().find(|rule| !rule.is_none());
        self.is_ignored || rule.is_some_and(|rule| rule.is_ignore())
    }

    /// Returns whether the repository tracks a file, or one in a folder; it ignores none of those.
    fn is_tracked(&self, path: &str) -> bool {
        self.repository.as_ref().is_some_and(|repository| {
            let below = path.strip_prefix(&repository.path);
            let Some(below) = below.and_then(|below| below.strip_prefix('/')) else {
                return false;
            };
            let first = repository.tracked.range(below.as_bytes().to_vec()..).next();
            first.is_some_and(|first| {
                let rest = first.strip_prefix(below.trim_end_matches('/').as_bytes());
                rest.is_some_and(|rest| matches!(rest, [] | [b'/', ..]))
            })
        })
    }
}

impl Count {
    fn nodes(
        &mut self,
        nodes: &[Node],
        target: &OwnedFd,
        context: &Context,
        depth: usize,
    ) -> io::Result<()> {
        for node in nodes {
            if self.files > MAX_REMOVALS || depth > MAX_DEPTH {
                break;
            }
            let name = &*node.name;
            match &node.kind {
                Kind::Folder(folder) if node.removes() => {
                    let Ok(inside) = open_folder_of_mount(target, name) else {
                        continue;
                    };
                    let context = context.folder(name, &inside);
                    self.nodes(&folder.nodes, &inside, &context, depth + 1)?;
                    if !folder.is_opaque {
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
        if depth > MAX_DEPTH
            || context.is_ignored && !context.is_tracked(&format!("{}/", context.path))
        {
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
