//! The sources of what the run sees, each as a mount of its own that lies nowhere yet.
//!
//! As root the child takes those of the system before root is given up, and the server those of a run,
//! because the tenant could not reach them; what is to be its own is mapped to it. Otherwise they are
//! taken in the run's own world, where alone it may be done.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::sync::Arc;

use rustix::fs::{self, CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{OpenTreeFlags, open_tree};
use rustix::process::{Pid, WaitOptions, waitpid};
use rustix::thread::UnshareFlags;

use super::Failure;
use super::call::{self, Fork, MountAttributes};
use crate::begun::Mappings;
use crate::plan::{FileId, Owner, Source, Step, Taken};

/// From where, and for whom, sources are taken.
pub(crate) struct Stage<'a> {
    /// Where the machine lies: nothing, or a folder.
    pub(crate) machine: &'a str,
    /// Who the run is, where it isn't whoever takes them, and what is known to map owners to it.
    pub(crate) tenant: Option<(Owner, &'a Mappings)>,
}

impl Stage<'_> {
    /// Takes every source but so many of the first, in their order.
    pub(crate) fn trees(&self, sources: &[Source], but: usize) -> Result<Vec<OwnedFd>, Failure> {
        let sources = sources.iter().enumerate().skip(but);
        let trees = sources
            .map(|(number, source)| self.take(source).map_err(Failure::at(Step::Source(number))));
        trees.collect()
    }

    fn take(&self, source: &Source) -> io::Result<OwnedFd> {
        let mut path = self.machine.as_bytes().to_vec();
        path.extend(source.path.as_os_str().as_encoded_bytes());
        let tree = tree(path, source.id)?;
        // What is mounted on the machine from now on is none of the run's business.
        let attributes = MountAttributes {
            propagation: MountAttributes::PRIVATE,
            ..MountAttributes::default()
        };
        call::set_mount(&tree, c"", &attributes, true)?;
        if let (Some((owner, taken)), Some((tenant, mappings))) = (source.owner, self.tenant)
            && owner != tenant
        {
            match (map(&tree, mappings.get(&owner)), taken) {
                (Err(_), Taken::WherePossible) => {}
                (mapped, _) => mapped?,
            }
        }
        Ok(tree)
    }
}

/// Has the tenant be the owner of what lies in a mount.
fn map(tree: &OwnedFd, namespace: Option<&Arc<OwnedFd>>) -> io::Result<()> {
    let namespace = namespace.ok_or(Errno::PERM)?;
    let attributes = MountAttributes {
        set: MountAttributes::MAP_OWNERS,
        user_namespace: u64::try_from(namespace.as_raw_fd()).unwrap_or(0),
        ..MountAttributes::default()
    };
    call::set_mount(tree, c"", &attributes, false)
}

/// A mount of its own of a file or folder, which must be the one that was meant.
fn tree(path: Vec<u8>, id: FileId) -> io::Result<OwnedFd> {
    let path = CString::new(path)?;
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    let tree = open_tree(CWD, &*path, flags)?;
    let found = fs::fstat(&tree)?;
    if (found.st_dev, found.st_ino) == (id.device, id.inode) {
        Ok(tree)
    } else {
        // It was swapped for another.
        Err(Errno::STALE.into())
    }
}

/// A user namespace in which an owner of files is the tenant.
pub(super) fn mapping(owner: Owner, tenant: Owner) -> io::Result<OwnedFd> {
    let (ready_in, ready_out) = rustix::pipe::pipe()?;
    let (done_in, done_out) = rustix::pipe::pipe()?;
    match call::fork()? {
        Fork::Child => {
            drop((ready_in, done_out));
            if call::unshare(UnshareFlags::NEWUSER).is_ok() {
                let _ = rustix::io::write(&ready_out, b"1");
                let _ = rustix::io::read(&done_in, &mut [0; 1]);
            }
            std::process::exit(0);
        }
        Fork::Parent(holder) => {
            drop((ready_out, done_in));
            let handle = described(holder, &ready_in, owner, tenant);
            drop(done_out);
            let _ = waitpid(Some(holder), WaitOptions::empty());
            handle
        }
    }
}

fn described(holder: Pid, ready: &OwnedFd, owner: Owner, tenant: Owner) -> io::Result<OwnedFd> {
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
