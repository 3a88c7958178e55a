//! Applies changes to a folder in which others may be at work: nothing that they did since the run began is lost.
//!
//! New entries come first, then replacements, and removals last, so that a disk that is full costs nothing that
//! was there. An entry that changed since the run began stays, and the run's version lies beside it.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use gongfu_core::change::Change;
use rustix::fs::{self, AtFlags, FileType, Mode, Stat};
use rustix::io::Errno;

use super::below::is_same_entry;
use super::scan::{Folder, FolderBefore, Kind, Node};
use super::staging::{PREFIX, Staging};
use super::{Changes, LATE, MAX_DEPTH, Terms, stays_inside};
use crate::file_time::{FileTime, has_changed_since, may_be_moved_since};
use crate::folder::{names, open_file, open_folder, open_folder_of_mount};
use crate::plan::UnixId;

/// The message for a removal from below a layer.
const REMOVAL_REFUSED: &str =
    "it is shown from elsewhere, so removing it has no effect: it will be there in the next run";
/// The errors after which nothing more can be applied.
const FINAL: [Errno; 5] = [
    Errno::NOSPC,
    Errno::DQUOT,
    Errno::IO,
    Errno::MFILE,
    Errno::NFILE,
];
/// The longest name of a file, in bytes.
const MAX_NAME: usize = 255;

/// A walk over all changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pass {
    /// Makes what wasn't there.
    Create,
    /// Replaces what was.
    Replace,
    /// Removes it.
    Remove,
}

/// Applies changes.
pub(super) struct Applier<'a> {
    pub(super) terms: &'a Terms<'a>,
    /// The time at which the run began.
    pub(super) began: FileTime,
    /// The target of the whole merge.
    pub(super) root: &'a OwnedFd,
    pub(super) staging: Option<Staging>,
    pub(super) changes: Changes,
    /// Why nothing more can be applied, for people.
    pub(super) stopped: Option<String>,
}

/// A folder that is merged.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) layer: &'a OwnedFd,
    pub(super) target: &'a OwnedFd,
    /// The target before the first change was applied.
    pub(super) before: FolderBefore,
    /// Its path below the target, which is empty or ends with a slash.
    pub(super) path: &'a str,
}

impl Place<'_> {
    /// The path of an entry below the target.
    fn path_of(&self, name: &CStr) -> PathBuf {
        Path::new(self.path).join(OsStr::from_bytes(name.to_bytes()))
    }
}

impl Applier<'_> {
    /// Walks over the changes of a folder.
    pub(super) fn walk(&mut self, pass: Pass, nodes: &mut [Node], place: Place<'_>) {
        for node in nodes {
            if self.terms.is_cancelled() {
                return;
            }
            let path = format!("{}{}", place.path, node.name.to_string_lossy());
            if self.stopped.is_none() && self.terms.is_late() {
                self.stopped = Some(LATE.to_owned());
            }
            if let Some(why) = self.stopped.clone() {
                self.refuse(node, &path, &why);
                continue;
            }
            let done = self.apply(pass, node, place, &path);
            if let Some(change) = done.unwrap_or_else(|error| Some(self.failed(&error))) {
                self.changes.add(&path, change);
                node.kind = Kind::Done;
            }
        }
    }

    fn failed(&mut self, error: &io::Error) -> Change {
        let number = error.raw_os_error().map(Errno::from_raw_os_error);
        let why = match number {
            Some(Errno::XDEV | Errno::BUSY) => "something else is mounted there".to_owned(),
            _ => error.to_string(),
        };
        if number.is_some_and(|number| FINAL.contains(&number)) {
            self.stopped = Some(why.clone());
        }
        Change::Refused(why)
    }

    /// Reports that a change isn't applied any more.
    fn refuse(&mut self, node: &mut Node, path: &str, why: &str) {
        match &mut node.kind {
            Kind::Folder(folder) => {
                let refused = self.changes.refused;
                for inside in &mut folder.nodes {
                    let path = format!("{path}/{}", inside.name.to_string_lossy());
                    self.refuse(inside, &path, why);
                }
                // One that is to be made, or to take something away, is a change without files as well.
                let is_change = folder.inode.is_none() || folder.is_opaque;
                let is_told = folder.before.is_some() || self.changes.refused > refused;
                if is_change && !is_told {
                    self.changes.add(path, Change::Refused(why.to_owned()));
                }
            }
            Kind::Done => return,
            Kind::Refused(own) => self.changes.add(path, Change::Refused(own.clone())),
            _ => self.changes.add(path, Change::Refused(why.to_owned())),
        }
        node.kind = Kind::Done;
    }

    /// Applies a change, if it is the pass for it; returns the change once it is done.
    fn apply(
        &mut self,
        pass: Pass,
        node: &mut Node,
        place: Place<'_>,
        path: &str,
    ) -> io::Result<Option<Change>> {
        let Node {
            name,
            kind,
            is_below,
            ..
        } = node;
        match (pass, kind) {
            (_, Kind::Folder(folder)) => {
                return self.folder(pass, name, folder, *is_below, place, path);
            }
            (Pass::Create, Kind::Refused(why)) => return Ok(Some(Change::Refused(why.clone()))),
            (Pass::Create, Kind::Link(to)) if !self.terms.is_allowed && !stays_inside(path, to) => {
                let why = "it is a link that leads outside";
                return Ok(Some(Change::Refused(why.to_owned())));
            }
            (Pass::Create | Pass::Replace, kind @ (Kind::File { .. } | Kind::Link(_))) => {
                let found = find(place.target, name)?;
                if found.is_some() == (pass == Pass::Replace) {
                    return self.put(name, kind, found.as_ref(), place, path).map(Some);
                }
            }
            (Pass::Replace, Kind::Restored(size)) => {
                let change = size.map_or(Change::Linked, Change::Written);
                let removed = self.remove(place, name)?;
                return Ok(match removed {
                    Some(Change::Removed) => Some(change),
                    other => other,
                });
            }
            (Pass::Remove, Kind::Removal) => {
                let removed = self.remove(place, name)?;
                return Ok(if *is_below {
                    Some(Change::Refused(REMOVAL_REFUSED.to_owned()))
                } else {
                    removed
                });
            }
            _ => {}
        }
        Ok(None)
    }

    /// Walks over the changes of a folder in a folder.
    fn folder(
        &mut self,
        pass: Pass,
        name: &CStr,
        folder: &mut Folder,
        is_below: bool,
        place: Place<'_>,
        path: &str,
    ) -> io::Result<Option<Change>> {
        let layer = open_folder(place.layer, name)?;
        let Some((target_name, is_new)) = self.make_folder(pass, name, place)? else {
            return Ok(None);
        };
        let target = open_folder_of_mount(place.target, &target_name)?;
        if is_new {
            fs::fchmod(&target, Mode::from_raw_mode(folder.mode))?;
            self.give(&target)?;
            folder.is_new = true;
        } else if pass == Pass::Create && folder.is_opaque {
            add_removals(folder, &target)?;
        }
        let found = fs::fstat(&target)?;
        let is_moved =
            place.before.is_moved || folder.is_moved(&found, place.before.modified, self.began);
        let before = *folder.before.get_or_insert(FolderBefore {
            modified: FileTime::modified(&found),
            is_moved: !is_new && is_moved,
        });
        let target_path = parent(path).to_owned() + &target_name.to_string_lossy();
        let inside = Place {
            layer: &layer,
            target: &target,
            before,
            path: &format!("{target_path}/"),
        };
        if is_new && pass == Pass::Replace {
            // Where files are in it now, they tell that another one is gone.
            if target_path == path && !folder.has_files() {
                self.changes.add(path, Change::Removed);
            }
            self.walk(Pass::Create, &mut folder.nodes, inside);
        }
        self.walk(pass, &mut folder.nodes, inside);
        if target_path != path {
            return Ok(Some(Change::Conflict(Some(target_path))));
        }
        if pass == Pass::Remove && folder.is_new && (is_below || folder.is_copied) {
            // A folder that isn't empty stays.
            let _ = fs::unlinkat(place.target, &*target_name, AtFlags::REMOVEDIR);
        }
        let is_refused = pass == Pass::Remove && folder.is_opaque && is_below;
        Ok(is_refused.then(|| Change::Refused(REMOVAL_REFUSED.to_owned())))
    }

    /// Makes a missing folder, if it is the pass for it; returns its name in the target, and whether it
    /// is new. Where somebody else's file lies now, it gets another name.
    fn make_folder(
        &mut self,
        pass: Pass,
        name: &CStr,
        place: Place<'_>,
    ) -> io::Result<Option<(CString, bool)>> {
        let target = place.target;
        let mut target_name = name.to_owned();
        match (find(target, name)?, pass) {
            (Some(found), _) if is_folder(&found) => return Ok(Some((target_name, false))),
            (None, Pass::Create) => {}
            (Some(found), Pass::Replace) => {
                let is_gone = !self.is_theirs(&found, place)
                    && self.staging(target)?.remove(target, name, &found)?;
                if !is_gone {
                    target_name = beside(name, self.terms.run);
                }
            }
            _ => return Ok(None),
        }
        match fs::mkdirat(target, &*target_name, Mode::from_raw_mode(0o700)) {
            // The same changes were applied in part before.
            Err(Errno::EXIST) if target_name != *name => Ok(Some((target_name, false))),
            made => Ok(made.map(|()| Some((target_name, true)))?),
        }
    }

    /// Puts a file or a link where it belongs, or beside what somebody else did there.
    fn put(
        &mut self,
        name: &CStr,
        kind: &Kind,
        found: Option<&Stat>,
        place: Place<'_>,
        path: &str,
    ) -> io::Result<Change> {
        let change = match kind {
            Kind::File { size, .. } => Change::Written(*size),
            _ => Change::Linked,
        };
        let is_conflict = |found| !is_folder(found) && self.is_theirs(found, place);
        let has_conflict = found.is_some_and(is_conflict);
        if has_conflict && has_same(place, name, name)? {
            return Ok(change);
        }
        let staged = self.stage(name, kind, place)?;
        let staging = self.staging(place.target)?;
        let is_put = match found {
            _ if has_conflict => false,
            Some(found) if !is_folder(found) => {
                staging.replace(&staged, place.target, name, found)?
            }
            _ => {
                self.remove_seen(place, name)?
                    && self
                        .staging(place.target)?
                        .put(&staged, place.target, name)?
            }
        };
        if is_put {
            return Ok(change);
        }
        let beside = beside(name, self.terms.run);
        let staging = self.staging(place.target)?;
        if !staging.put(&staged, place.target, &beside)? {
            // The same changes may have been applied in part before.
            if has_same(place, name, &beside)? {
                return Ok(conflict(path, &beside));
            }
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        Ok(conflict(path, &beside))
    }

    /// The place for files on their way, in the target itself or, where that can't be written, in this folder.
    fn staging(&mut self, folder: &OwnedFd) -> io::Result<&mut Staging> {
        let staging = match self.staging.take() {
            Some(staging) => staging,
            None => Staging::new(self.root).or_else(|_| Staging::new(folder))?,
        };
        Ok(self.staging.insert(staging))
    }

    /// Copies a file or a link to where it can be renamed from.
    fn stage(&mut self, name: &CStr, kind: &Kind, place: Place<'_>) -> io::Result<CString> {
        let staging = self.staging(place.target)?;
        match kind {
            Kind::File { size, mode } => {
                let from = open_file(place.layer, name)?;
                let (staged, to) = staging.file()?;
                let mut to = File::from(to);
                io::copy(&mut from.take(*size), &mut to)?;
                fs::fchmod(&to, Mode::from_raw_mode(*mode))?;
                self.give(&to.into())?;
                Ok(staged)
            }
            Kind::Link(to) => {
                let staged = staging.name();
                fs::symlinkat(&**to, staging.handle(), &*staged)?;
                Ok(staged)
            }
            _ => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Removes an entry, with everything in it that the run saw; `None` for a missing one.
    fn remove(&mut self, place: Place<'_>, name: &CStr) -> io::Result<Option<Change>> {
        if find(place.target, name)?.is_none() {
            return Ok(None);
        }
        Ok(Some(if self.remove_seen(place, name)? {
            Change::Removed
        } else {
            Change::Conflict(None)
        }))
    }

    /// Removes an entry, with everything in it that the run saw; returns whether all of it is gone.
    fn remove_seen(&mut self, place: Place<'_>, name: &CStr) -> io::Result<bool> {
        if place.before.is_moved {
            return Ok(find(place.target, name)?.is_none());
        }
        self.remove_below(
            place.target,
            name,
            place.before.modified,
            &place.path_of(name),
        )
    }

    /// The same for an entry of a folder that was `modified` then.
    fn remove_below(
        &mut self,
        target: &OwnedFd,
        name: &CStr,
        modified: FileTime,
        path: &Path,
    ) -> io::Result<bool> {
        if self.terms.unseen.iter().any(|unseen| unseen == path) {
            return Ok(false);
        }
        let Some(found) = find(target, name)? else {
            return Ok(true);
        };
        if !is_folder(&found) {
            return Ok(
                !self.has_changed(&found) && self.staging(target)?.remove(target, name, &found)?
            );
        }
        if may_be_moved_since(&found, modified, self.began) {
            return Ok(false);
        }
        if path.components().count() > MAX_DEPTH {
            return Err(Errno::NAMETOOLONG.into());
        }
        let folder = open_folder_of_mount(target, name)?;
        let modified = FileTime::modified(&fs::fstat(&folder)?);
        let mut is_gone = true;
        for entry in names(&folder)? {
            let path = path.join(OsStr::from_bytes(entry.to_bytes()));
            is_gone &= self.remove_below(&folder, &entry, modified, &path)?;
        }
        match fs::unlinkat(target, name, AtFlags::REMOVEDIR) {
            _ if !is_gone => Ok(false),
            Ok(()) => Ok(true),
            Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn has_changed(&self, found: &Stat) -> bool {
        has_changed_since(found, self.began)
    }

    /// Returns whether an entry isn't the one that the run saw, as far as that is known.
    fn is_theirs(&self, found: &Stat, place: Place<'_>) -> bool {
        place.before.is_moved || self.has_changed(found)
    }

    fn give(&self, made: &OwnedFd) -> rustix::io::Result<()> {
        let Some(UnixId { user, group }) = self.terms.owner else {
            return Ok(());
        };
        let user = rustix::process::Uid::from_raw(user);
        let group = rustix::process::Gid::from_raw(group);
        fs::fchown(made, Some(user), Some(group))
    }
}

/// The name for a run's version of an entry that somebody else changed.
pub(crate) fn beside(name: &CStr, run: &str) -> CString {
    let suffix = format!(".run-{run}");
    let length = name
        .to_bytes()
        .len()
        .min(MAX_NAME.saturating_sub(suffix.len()));
    let mut beside = name.to_bytes().get(..length).unwrap_or_default().to_vec();
    beside.extend(suffix.into_bytes());
    CString::new(beside).unwrap_or_default()
}

/// The change where the run's version lies beside another one.
fn conflict(path: &str, beside: &CStr) -> Change {
    Change::Conflict(Some(parent(path).to_owned() + &beside.to_string_lossy()))
}

/// Returns whether the target has the same file or link as the layer, by this name.
fn has_same(place: Place<'_>, name: &CStr, target_name: &CStr) -> io::Result<bool> {
    let stat = |folder, name| fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
    let found = stat(place.layer, name)?;
    let there = stat(place.target, target_name)?;
    is_same_entry(
        (place.layer, name, &found),
        (place.target, target_name, &there),
    )
}

/// Adds the removals that a folder means which replaces another one.
fn add_removals(folder: &mut Folder, target: &OwnedFd) -> io::Result<()> {
    for node in &mut folder.nodes {
        if let Kind::Folder(inside) = &mut node.kind {
            inside.is_opaque = true;
        }
    }
    let known: BTreeSet<&CStr> = folder.nodes.iter().map(|node| &*node.name).collect();
    let removed = names(target)?
        .into_iter()
        .filter(|name| !known.contains(&**name) && !name.to_bytes().starts_with(PREFIX.as_bytes()))
        .map(|name| Node::new(name, Kind::Removal, false));
    let removed: Vec<Node> = removed.collect();
    folder.nodes.extend(removed);
    Ok(())
}

/// Finds an entry of the target, if there is one.
fn find(target: &OwnedFd, name: &CStr) -> io::Result<Option<Stat>> {
    match fs::statat(target, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

pub(super) fn is_folder(found: &Stat) -> bool {
    FileType::from_raw_mode(found.st_mode) == FileType::Directory
}

/// The folder of a path; it is empty or ends with a slash.
fn parent(path: &str) -> &str {
    path.rfind('/').map_or("", |end| &path[..=end])
}
