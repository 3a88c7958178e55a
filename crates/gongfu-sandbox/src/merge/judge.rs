//! Decides which changes wait for a person.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use gongfu_core::change::{Holding, PROTECTED, table};
use rustix::fs::{self, AtFlags, FileType, Stat};

use super::scan::{Kind, Node};
use super::{git, links, removals, stays_inside};
use crate::folder::{open_folder, open_folder_of_mount};

/// The names by which git knows a folder as a repository, whatever that is called.
const REPOSITORY: [&str; 3] = ["head", "objects", "refs"];
/// The bits of a mode that let somebody execute a file.
const EXECUTABLE: u32 = 0o111;

/// Judges the changes of one folder.
pub(super) struct Judge<'a> {
    holds_all: bool,
    protected: Vec<PathBuf>,
    /// The path of the folder on this machine.
    root: &'a Path,
    /// The names of that path, and of those below it on the way to the changes that are judged.
    names: Vec<String>,
    /// Paths that are obeyed though their names don't tell, with the reason.
    named: Vec<(PathBuf, &'static str)>,
    takes_many: bool,
}

/// A folder whose changes are judged.
struct Place<'a> {
    layer: &'a OwnedFd,
    /// `None` where there is no such folder yet.
    target: Option<&'a OwnedFd>,
    /// Its path below the root.
    path: PathBuf,
    /// Why everything in it waits.
    why: Option<&'static str>,
}

impl<'a> Judge<'a> {
    pub(super) fn new(holding: &Holding, root: &'a Path) -> Self {
        let names = root.iter().map(|name| name.to_string_lossy().into_owned());
        Self {
            holds_all: holding.holds_all,
            protected: (holding.protected)(root),
            root,
            names: names.collect(),
            named: Vec::new(),
            takes_many: false,
        }
    }

    /// Marks the changes that wait, with the reason.
    ///
    /// # Errors
    /// The target can't be read.
    pub(super) fn mark(
        &mut self,
        nodes: &mut [Node],
        layer: &OwnedFd,
        target: &OwnedFd,
    ) -> io::Result<()> {
        self.takes_many = removals::are_many(nodes, target)?;
        let place = Place {
            layer,
            target: Some(target),
            path: PathBuf::new(),
            why: self.holds_all.then_some("every change of this run does"),
        };
        self.folder(nodes, &place);
        Ok(())
    }

    fn folder(&mut self, nodes: &mut [Node], place: &Place<'_>) {
        if let Some(target) = place.target {
            let named = git::named_in_settings(target).into_iter();
            let named = named.map(|path| (place.path.join(path), "the settings of git name it"));
            let linked = links::targets(self.root, target, &place.path, &self.names).into_iter();
            let linked = linked.map(|path| (path, "a link that is obeyed leads to it"));
            self.named.extend(named.chain(linked));
        }
        let why = place
            .why
            .or_else(|| is_repository(nodes, place.target).then_some("it is a repository of git"));
        for node in nodes {
            let name = node.name.to_string_lossy().into_owned();
            let found = place
                .target
                .and_then(|target| fs::statat(target, &*node.name, AtFlags::SYMLINK_NOFOLLOW).ok());
            let path = place.path.join(&name);
            let why = why.or_else(|| self.reason(node, &name, &path, found.as_ref()));
            node.held = why.map(str::to_owned);
            if why.is_some() && self.is_old_index(node, place) {
                node.kind = Kind::Done;
            }
            let Kind::Folder(folder) = &mut node.kind else {
                continue;
            };
            let Ok(layer) = open_folder(place.layer, &node.name) else {
                continue;
            };
            let target = place
                .target
                .and_then(|target| open_folder_of_mount(target, &node.name).ok());
            let inside = Place {
                layer: &layer,
                target: target.as_ref(),
                path,
                why,
            };
            self.names.push(name);
            self.folder(&mut folder.nodes, &inside);
            self.names.pop();
        }
    }

    /// The reason why a change waits, if it does.
    fn reason(
        &self,
        node: &Node,
        name: &str,
        path: &Path,
        found: Option<&Stat>,
    ) -> Option<&'static str> {
        let above = self.names.iter().map(String::as_str);
        if let Some(why) = table::obeyed(above, name) {
            return Some(why);
        }
        let host = self.root.join(path);
        let replaces = !matches!(&node.kind, Kind::Folder(folder) if !folder.is_opaque);
        let touches =
            |other: &Path| host.starts_with(other) || replaces && other.starts_with(&host);
        if self.protected.iter().any(|one| touches(one)) {
            return Some(PROTECTED);
        }
        let mut named = self.named.iter();
        if let Some((_, why)) = named.find(|(one, _)| touches(&self.root.join(one))) {
            return Some(why);
        }
        let is_folder = found
            .is_some_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Directory);
        let is_file = found
            .is_some_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::RegularFile);
        let takes = match &node.kind {
            Kind::Removal => true,
            Kind::Folder(folder) => folder.is_opaque,
            _ => is_folder,
        };
        if takes && self.takes_many {
            return Some("the run removes many files");
        }
        match &node.kind {
            Kind::File { mode, .. } if is_file && mode & EXECUTABLE != 0 => {
                let was = found.is_some_and(|found| found.st_mode & EXECUTABLE != 0);
                (!was).then_some("it becomes executable")
            }
            Kind::Link(to) => {
                let is_outside = !stays_inside(&path.to_string_lossy(), to);
                is_outside.then_some("it is a link that leads out")
            }
            _ => None,
        }
    }

    /// Returns whether a change is an index of git that says nothing new: `git status` writes one.
    fn is_old_index(&self, node: &Node, place: &Place<'_>) -> bool {
        if self.holds_all || &*node.name != c"index" || !matches!(node.kind, Kind::File { .. }) {
            return false;
        }
        let both = place.target.map(|target| {
            let read = |folder| git::read(folder, &node.name).ok();
            read(place.layer).zip(read(target))
        });
        both.flatten()
            .is_some_and(|(one, other)| git::is_same_index(&one, &other))
    }
}

/// Returns whether git takes a folder for a repository once the changes are applied.
fn is_repository(nodes: &[Node], target: Option<&OwnedFd>) -> bool {
    REPOSITORY.iter().all(|name| {
        let is_changed = nodes.iter().any(|node| {
            !matches!(node.kind, Kind::Removal)
                && node.name.to_string_lossy().eq_ignore_ascii_case(name)
        });
        let own = if *name == "head" { "HEAD" } else { name };
        is_changed
            || target
                .is_some_and(|target| fs::statat(target, own, AtFlags::SYMLINK_NOFOLLOW).is_ok())
    })
}

#[cfg(test)]
mod tests;
