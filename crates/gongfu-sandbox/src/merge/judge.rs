//! Decides which changes wait for a person.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use gongfu_core::change::folder::{obeyed_folder, own_folders};
use gongfu_core::change::git::{POINTERS, SETTINGS};
use gongfu_core::change::{Holding, PROTECTED, table};
use rustix::fs::{self, AtFlags, FileType, Stat};

use self::inside::Search;
use super::apply::is_folder;
use super::scan::{Kind, Node};
use super::{git, links, mentions, removals, stays_inside};
use crate::folder::{open_folder, open_folder_of_mount};

mod inside;
mod moves;

pub(crate) use moves::join_moves;

/// Why a file waits that is a part of a repository.
const REPOSITORY: &str = "it is a git repository";
/// Why a file waits that git finds by its settings.
const NAMED: &str = "git's settings refer to it";
/// Why a file waits where all do.
const EVERY: &str = "all changes of this run wait";
/// Why a file waits that an obeyed file names.
const MENTIONED: &str = "a file that programs use on their own refers to it";
/// Why everything waits in a virtual environment of Python.
const ENVIRONMENT: &str = "editors and shells activate the virtual environment";
/// The files and folders that tell what a folder is.
const MARKS: [&str; 5] = ["HEAD", "objects", "refs", "commondir", "pyvenv.cfg"];
/// The bits of a mode that let somebody execute a file.
const EXECUTABLE: u32 = 0o111;

/// Judges the changes of one folder.
pub(super) struct Judge<'a> {
    holds_all: bool,
    protected: Vec<PathBuf>,
    git: git::NamedFiles<'a>,
    /// The path of the folder on this machine.
    root: &'a Path,
    /// The names of that path, and of those below it on the way to the changes that are judged.
    names: Vec<String>,
    /// Paths below the root that are obeyed though their names don't tell, with the reason.
    named: BTreeMap<PathBuf, &'static str>,
    takes_many: bool,
    search: Search,
}

/// A folder whose changes are judged.
struct Place<'a> {
    layer: &'a OwnedFd,
    /// `None` where there is no such folder yet.
    target: Option<&'a OwnedFd>,
    /// Its path below the root, in which a name that is no text may be changed.
    path: PathBuf,
    /// Its path on this machine.
    host: PathBuf,
    /// It replaces the folder of the target: what isn't in the layer goes.
    is_replaced: bool,
    /// Why everything in it waits.
    why: Option<String>,
}

impl<'a> Judge<'a> {
    pub(super) fn new(holding: &'a Holding, root: &'a Path) -> Self {
        let names = root.iter().map(|name| name.to_string_lossy().into_owned());
        Self {
            holds_all: holding.holds_all,
            protected: (holding.protected)(root),
            git: git::NamedFiles::new(root, &holding.git),
            root,
            names: names.collect(),
            named: BTreeMap::new(),
            takes_many: false,
            search: Search::default(),
        }
    }

    /// Marks the changes that wait, with the reason; the run `takes_many` files away from all folders together.
    ///
    /// # Errors
    /// The target can't be read.
    pub(super) fn mark(
        &mut self,
        nodes: &mut [Node],
        layer: &OwnedFd,
        target: &OwnedFd,
        takes_many: bool,
    ) -> io::Result<()> {
        self.takes_many = takes_many || removals::are_all(nodes, target)?;
        let above = self.git.clone().above();
        self.named
            .extend(above.into_iter().map(|path| (path, NAMED)));
        self.mention(mentions::above(self.root));
        let place = Place {
            layer,
            target: Some(target),
            path: PathBuf::new(),
            host: self.root.to_owned(),
            is_replaced: false,
            why: self.reason_for_all().map(str::to_owned),
        };
        self.folder(nodes, &place);
        Ok(())
    }

    /// Why every change waits, if all do: the names of the folder itself count as those of files in it.
    fn reason_for_all(&self) -> Option<&'static str> {
        if self.holds_all {
            return Some(EVERY);
        }
        let real = std::fs::canonicalize(self.root).unwrap_or_else(|_| self.root.to_owned());
        obeyed_folder(&real, git::is_top).or_else(|| {
            let is_part = own_folders(&real, git::is_top).any(git::is_bare);
            is_part.then_some(REPOSITORY)
        })
    }

    fn folder(&mut self, nodes: &mut [Node], place: &Place<'_>) {
        if let Some(target) = place.target {
            let named = self.git.clone().at(&place.host);
            let named = named.into_iter().map(|path| (path, NAMED));
            let linked = links::targets(self.root, target, &place.path, &self.names).into_iter();
            let linked =
                linked.map(|path| (path, "a link that programs use on their own leads to it"));
            self.named.extend(named.chain(linked));
            self.mention(mentions::targets(target, &place.path, &place.host));
        }
        let parts = Parts::of(nodes, place.target);
        let why = place.why.clone();
        let why = why.or_else(|| parts.reason_for_all().map(str::to_owned));
        for node in nodes {
            let name = node.name.to_string_lossy().into_owned();
            let found = place
                .target
                .and_then(|target| fs::statat(target, &*node.name, AtFlags::SYMLINK_NOFOLLOW).ok());
            let path = place.path.join(&name);
            let own = |judge: &Self| {
                let why = parts.reason(&name);
                why.or_else(|| judge.reason(node, &name, &path, found.as_ref()))
            };
            let why = why
                .clone()
                .or_else(|| own(self).map(str::to_owned))
                .or_else(|| self.reason_inside(node, &name, place.target?, found.as_ref()?));
            node.held.clone_from(&why);
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
                host: place.host.join(OsStr::from_bytes(node.name.to_bytes())),
                is_replaced: place.is_replaced || folder.is_opaque,
                why,
            };
            self.names.push(name);
            self.folder(&mut folder.nodes, &inside);
            self.names.pop();
            // Without what waits in it, a folder that replaces another one would take away more than it does.
            if folder.is_opaque
                && node.held.is_none()
                && let Some(why) = first_reason(&folder.nodes).map(str::to_owned)
            {
                hold_all(std::slice::from_mut(node), &why);
            }
        }
    }

    /// Notes paths that an obeyed file names, and where these lead as links.
    fn mention(&mut self, paths: BTreeSet<PathBuf>) {
        for path in paths {
            let hops = links::hops(self.root, &path);
            let paths = hops.into_iter().chain([path]);
            self.named.extend(paths.map(|path| (path, MENTIONED)));
        }
    }

    /// The reason why a change waits that takes a whole folder away: the first thing in there that is obeyed.
    fn reason_inside(
        &mut self,
        node: &Node,
        name: &str,
        target: &OwnedFd,
        found: &Stat,
    ) -> Option<String> {
        if !is_folder(found) || !node.replaces() {
            return None;
        }
        let folder = open_folder_of_mount(target, &node.name).ok()?;
        self.names.push(name.to_owned());
        let why = self.search.reason(&folder, &mut self.names);
        self.names.pop();
        why
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
        let touches =
            |other: &Path| host.starts_with(other) || node.replaces() && other.starts_with(&host);
        if self.protected.iter().any(|one| touches(one)) {
            return Some(PROTECTED);
        }
        let mut above = path.ancestors();
        if let Some(why) = above.find_map(|one| self.named.get(one)) {
            return Some(why);
        }
        let mut below = self.named.range(path.to_owned()..);
        if let Some((one, why)) = below.next()
            && node.replaces()
            && one.starts_with(path)
        {
            return Some(why);
        }
        let is_file = found
            .is_some_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::RegularFile);
        let takes = match &node.kind {
            Kind::Removal => true,
            Kind::Folder(folder) => folder.is_opaque,
            _ => found.is_some_and(is_folder),
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
                let leads_out = is_outside.then_some("it is a link that leads outside");
                // What it leads to may be executable, or become so.
                leads_out.or(is_file.then_some("a link takes the place of a file"))
            }
            _ => None,
        }
    }

    /// Returns whether a change is an index of git that says nothing new: `git status` writes one.
    fn is_old_index(&self, node: &Node, place: &Place<'_>) -> bool {
        if self.holds_all
            || place.is_replaced
            || &*node.name != c"index"
            || !matches!(node.kind, Kind::File { .. })
        {
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

/// The meaning of a folder for git once the changes are applied.
struct Parts {
    /// A repository, whatever it is called.
    is_repository: bool,
    /// A virtual environment of Python.
    is_environment: bool,
    /// Perhaps a part of one, whose settings count.
    may_have_settings: bool,
}

impl Parts {
    fn of(nodes: &[Node], target: Option<&OwnedFd>) -> Self {
        let written = nodes
            .iter()
            .filter(|node| !matches!(node.kind, Kind::Removal));
        let mut is_there = [false; MARKS.len()];
        for node in written {
            let name = table::plain(&node.name.to_string_lossy());
            if let Some(at) = MARKS.iter().position(|mark| mark.to_lowercase() == name) {
                is_there[at] = true;
            }
        }
        for (mark, is_there) in MARKS.iter().zip(&mut is_there) {
            let stat = |target| fs::statat(target, *mark, AtFlags::SYMLINK_NOFOLLOW).is_ok();
            *is_there |= target.is_some_and(stat);
        }
        let [head, objects, refs, common, environment] = is_there;
        let is_store = objects && refs;
        Self {
            is_repository: head && (is_store || common),
            is_environment: environment,
            may_have_settings: head || is_store,
        }
    }

    /// Why everything in the folder waits, if it does.
    fn reason_for_all(&self) -> Option<&'static str> {
        let environment = self.is_environment.then_some(ENVIRONMENT);
        self.is_repository.then_some(REPOSITORY).or(environment)
    }

    /// Why a file of the folder waits, if it does: git finds the parts of a repository by it, or its settings.
    fn reason(&self, name: &str) -> Option<&'static str> {
        let name = table::plain(name);
        let is_part =
            POINTERS.contains(&&*name) || self.may_have_settings && SETTINGS.contains(&&*name);
        is_part.then_some(REPOSITORY)
    }
}

/// The first reason why one of these changes waits, or one in them.
fn first_reason(nodes: &[Node]) -> Option<&str> {
    nodes.iter().find_map(|node| match &node.kind {
        Kind::Folder(folder) => node.held.as_deref().or_else(|| first_reason(&folder.nodes)),
        _ => node.held.as_deref(),
    })
}

/// Lets changes wait with all that is in them; those that wait already keep their reasons.
fn hold_all(nodes: &mut [Node], why: &str) {
    for node in nodes {
        node.held.get_or_insert_with(|| why.to_owned());
        if let Kind::Folder(folder) = &mut node.kind {
            hold_all(&mut folder.nodes, why);
        }
    }
}

#[cfg(test)]
mod tests;
