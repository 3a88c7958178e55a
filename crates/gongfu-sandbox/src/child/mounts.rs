//! The sources of a view as detached mounts, which lie nowhere yet.
//!
//! As root they are taken before root is given up, because the tenant could not reach them, and what the run
//! is to own is mapped to its tenant. Any other user takes them in the run's own mount namespace, where alone
//! the system allows it.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};

use rustix::fs::{self, CWD};
use rustix::io::Errno;
use rustix::mount::{OpenTreeFlags, open_tree};

use super::id_namespaces::IdNamespaces;
use super::step::Failure;
use super::syscall::{self, MountAttributes};
use crate::plan::{FileId, Source, Step, UnixId};

/// Detaches a mount of every source, in their order; what the run is to own belongs to `tenant`, if it has
/// one.
pub(super) fn detach(
    sources: &[Source],
    tenant: Option<UnixId>,
    namespaces: &IdNamespaces,
) -> Result<Vec<OwnedFd>, Failure> {
    let mounts = sources.iter().enumerate().map(|(number, source)| {
        let mount = mount(source, tenant, namespaces);
        mount.map_err(Failure::at(Step::Source(number)))
    });
    mounts.collect()
}

fn mount(
    source: &Source,
    tenant: Option<UnixId>,
    namespaces: &IdNamespaces,
) -> io::Result<OwnedFd> {
    let mount = tree(source)?;
    // The run doesn't see what is mounted on the host from now on.
    let attributes = MountAttributes {
        propagation: MountAttributes::PRIVATE,
        ..MountAttributes::default()
    };
    syscall::set_mount(&mount, c"", &attributes, true)?;
    if let Some(mapping) = source.id_mapping(tenant) {
        let mapped = map(&mount, namespaces.get(mapping));
        if source.mapping.is_some_and(|mapping| mapping.is_required) {
            mapped?;
        }
    }
    Ok(mount)
}

/// Shows the files of a mount as those of another owner, as a user namespace maps them.
fn map(mount: &OwnedFd, namespace: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let namespace = namespace.ok_or(Errno::PERM)?;
    let attributes = MountAttributes {
        set: MountAttributes::MAP_OWNERS,
        user_namespace: u64::try_from(namespace.as_raw_fd()).unwrap_or(0),
        ..MountAttributes::default()
    };
    syscall::set_mount(mount, c"", &attributes, false)
}

/// Clones the mount of a source, which must still be the file or folder that was meant.
fn tree(source: &Source) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    let tree = open_tree(CWD, &source.path, flags)?;
    let found = fs::fstat(&tree)?;
    let FileId { device, inode } = source.id;
    if (found.st_dev, found.st_ino) == (device, inode) {
        Ok(tree)
    } else {
        // It was swapped for another.
        Err(Errno::STALE.into())
    }
}
