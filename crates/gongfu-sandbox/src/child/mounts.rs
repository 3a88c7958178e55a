//! The sources of a view as detached mounts, which lie nowhere yet.
//!
//! As root they are taken before root is given up, because the tenant could not reach them, and what the run
//! is to own is mapped to its tenant. Any other user takes them in the run's own mount namespace, where alone
//! the system allows it.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};

use rustix::fs::{self, CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{OpenTreeFlags, open_tree};
use rustix::process::{Pid, WaitOptions, waitpid};
use rustix::thread::UnshareFlags;

use super::step::Failure;
use super::syscall::{self, Fork, MountAttributes};
use crate::plan::{FileId, Mapping, Source, Step, UnixId};

/// Detaches a mount of every source, in their order; what the run is to own belongs to `tenant`, if it has
/// one.
pub(super) fn detach(sources: &[Source], tenant: Option<UnixId>) -> Result<Vec<OwnedFd>, Failure> {
    let mut mappings = Mappings::default();
    let mounts = sources.iter().enumerate().map(|(number, source)| {
        let mount = mappings.mount(source, tenant);
        mount.map_err(Failure::at(Step::Source(number)))
    });
    mounts.collect()
}

/// User namespaces in which the owner of files is the tenant; `None` where there can't be one.
#[derive(Default)]
struct Mappings(BTreeMap<UnixId, Option<OwnedFd>>);

impl Mappings {
    fn mount(&mut self, source: &Source, tenant: Option<UnixId>) -> io::Result<OwnedFd> {
        let mount = tree(source)?;
        // The run doesn't see what is mounted on the host from now on.
        let attributes = MountAttributes {
            propagation: MountAttributes::PRIVATE,
            ..MountAttributes::default()
        };
        syscall::set_mount(&mount, c"", &attributes, true)?;
        if let (Some(Mapping { owner, is_required }), Some(tenant)) = (source.mapping, tenant)
            && owner != tenant
        {
            let namespace = self.0.entry(owner);
            let namespace = namespace.or_insert_with(|| namespace_for(owner, tenant).ok());
            let mapped = map(&mount, namespace.as_ref());
            if is_required {
                mapped?;
            }
        }
        Ok(mount)
    }
}

/// Shows the files of a mount as those of another owner, as a user namespace maps them.
fn map(mount: &OwnedFd, namespace: Option<&OwnedFd>) -> io::Result<()> {
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

/// Makes a user namespace in which the owner of files is the tenant.
fn namespace_for(owner: UnixId, tenant: UnixId) -> io::Result<OwnedFd> {
    let (ready_in, ready_out) = rustix::pipe::pipe()?;
    let (done_in, done_out) = rustix::pipe::pipe()?;
    match syscall::fork()? {
        Fork::Child => {
            drop((ready_in, done_out));
            if syscall::unshare(UnshareFlags::NEWUSER).is_ok() {
                let _ = rustix::io::write(&ready_out, b"1");
                let _ = rustix::io::read(&done_in, &mut [0; 1]);
            }
            std::process::exit(0);
        }
        Fork::Parent(holder) => {
            drop((ready_out, done_in));
            let namespace = map_namespace(holder, &ready_in, owner, tenant);
            drop(done_out);
            let _ = waitpid(Some(holder), WaitOptions::empty());
            namespace
        }
    }
}

/// Opens the user namespace of `holder` once there is one, and writes its maps.
fn map_namespace(
    holder: Pid,
    ready: &OwnedFd,
    owner: UnixId,
    tenant: UnixId,
) -> io::Result<OwnedFd> {
    if rustix::io::read(ready, &mut [0; 1])? == 0 {
        return Err(Errno::PERM.into());
    }
    let number = holder.as_raw_nonzero();
    let write = |name: &str, text: String| {
        let path = format!("/proc/{number}/{name}");
        let file = fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
        rustix::io::write(file, text.as_bytes()).map(drop)
    };
    write("uid_map", format!("{} {} 1", owner.user, tenant.user))?;
    write("gid_map", format!("{} {} 1", owner.group, tenant.group))?;
    let path = format!("/proc/{number}/ns/user");
    Ok(fs::open(
        path,
        OFlags::RDONLY | OFlags::CLOEXEC,
        Mode::empty(),
    )?)
}
