//! Sets the changes apart that wait for a person.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;

use gongfu_core::change::HeldKind;
use rustix::fs::{self, Mode, OFlags};

use super::scan::{Folder, Kind, Node};
use crate::folder::{open_file, open_folder};

/// Drops the changes that turned out to be none, with folders that hold nothing else.
pub(super) fn drop_done(nodes: &mut Vec<Node>) {
    nodes.retain_mut(|node| match &mut node.kind {
        Kind::Folder(folder) if !folder.nodes.is_empty() => {
            drop_done(&mut folder.nodes);
            folder.is_opaque || !folder.nodes.is_empty()
        }
        kind => !matches!(kind, Kind::Done),
    });
}

/// Takes the changes that wait out of the others, with the folders that they are in.
pub(super) fn take(nodes: &mut Vec<Node>) -> Vec<Node> {
    let mut held: Vec<Node> = nodes.extract_if(.., |node| node.held.is_some()).collect();
    nodes.retain_mut(|node| {
        let Kind::Folder(folder) = &mut node.kind else {
            return true;
        };
        let inside = take(&mut folder.nodes);
        if inside.is_empty() {
            return true;
        }
        let kind = Kind::Folder(Folder {
            nodes: inside,
            is_copied: folder.is_copied,
            ..Folder::default()
        });
        held.push(Node::new(node.name.clone(), kind, false));
        // A folder that holds nothing else isn't made.
        folder.is_opaque || !folder.nodes.is_empty()
    });
    held
}

/// Copies the files of changes from a layer into a folder.
///
/// # Errors
/// A file can't be read or written.
pub(super) fn copy(nodes: &[Node], layer: &OwnedFd, to: &OwnedFd) -> io::Result<()> {
    for node in nodes {
        let name = &*node.name;
        match &node.kind {
            Kind::Folder(folder) => {
                fs::mkdirat(to, name, Mode::from_raw_mode(0o700))?;
                copy(
                    &folder.nodes,
                    &open_folder(layer, name)?,
                    &open_folder(to, name)?,
                )?;
            }
            Kind::File { size, .. } => {
                let from = open_file(layer, name)?;
                let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
                let made = fs::openat(to, name, flags, Mode::from_raw_mode(0o600))?;
                io::copy(&mut from.take(*size), &mut File::from(made))?;
            }
            Kind::Link(target) => fs::symlinkat(&**target, to, name)?,
            Kind::Removal | Kind::Restored(_) | Kind::Refused(_) | Kind::Done => {}
        }
    }
    Ok(())
}

/// Calls `tell` for each change with its path, its kind and the reason why it waits.
pub(crate) fn list(nodes: &[Node], path: &str, tell: &mut impl FnMut(&str, HeldKind, &str)) {
    for node in nodes {
        let path = format!("{path}{}", node.name.to_string_lossy());
        let why = node.held.as_deref().unwrap_or_default();
        let kind = match &node.kind {
            Kind::Folder(folder) => {
                if node.held.is_some() && (folder.is_opaque || folder.nodes.is_empty()) {
                    tell(&path, HeldKind::Folder, why);
                }
                list(&folder.nodes, &format!("{path}/"), tell);
                continue;
            }
            Kind::File { size, mode } => HeldKind::Written {
                bytes: *size,
                executable: mode & 0o111 != 0,
            },
            Kind::Link(to) => HeldKind::Linked {
                to: to.to_string_lossy().into_owned(),
            },
            Kind::Removal => HeldKind::Removed,
            Kind::Restored(_) | Kind::Refused(_) | Kind::Done => continue,
        };
        tell(&path, kind, why);
    }
}
