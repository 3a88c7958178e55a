//! What only root can do, done before root is given up: sources that the tenant could not reach are
//! brought to where it can, and those that are to be its own are mapped to it.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::{self, CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_change,
    move_mount, open_tree,
};
use rustix::process::{Pid, WaitOptions, waitpid};
use rustix::thread::UnshareFlags;

use super::call::{self, Fork, MountAttributes};
use super::{Failure, at};
use crate::plan::{FileId, Owner, Plan, Step};

/// Where the sources are brought to; what lies there is hidden from this process alone.
const STAGE: &str = "/tmp";

/// Brings every source to the stage, and has the plan name it there.
pub(super) fn prepare(plan: &mut Plan, tenant: Owner) -> Result<(), Failure> {
    call::unshare(UnshareFlags::NEWNS).map_err(Failure::at(Step::Namespaces))?;
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change(c"/", private).map_err(at(Step::Root))?;
    let mut namespaces: Vec<(Owner, OwnedFd)> = Vec::new();
    let mut trees = Vec::new();
    for (number, source) in plan.sources.iter().enumerate() {
        let wrong = Failure::at(Step::Source(number));
        let tree = tree(source.path.as_os_str().as_encoded_bytes(), source.id).map_err(&wrong)?;
        if let Some(owner) = source.owner {
            let known = namespaces.iter().position(|(known, _)| *known == owner);
            let known = if let Some(known) = known {
                known
            } else {
                namespaces.push((owner, mapping(owner, tenant).map_err(&wrong)?));
                namespaces.len() - 1
            };
            let handle = namespaces.get(known).map(|(_, handle)| handle.as_raw_fd());
            let attributes = MountAttributes {
                set: MountAttributes::MAP_OWNERS,
                user_namespace: handle
                    .and_then(|handle| u64::try_from(handle).ok())
                    .unwrap_or(0),
                ..MountAttributes::default()
            };
            call::set_mount(&tree, c"", &attributes, false).map_err(&wrong)?;
        }
        trees.push(tree);
    }
    mount(
        c"tmpfs",
        STAGE,
        c"tmpfs",
        MountFlags::NOSUID | MountFlags::NODEV,
        c"mode=755,size=1m",
    )
    .map_err(at(Step::Root))?;
    for (number, (tree, source)) in trees.iter().zip(&mut plan.sources).enumerate() {
        let place = format!("{STAGE}/{number}");
        let wrong = at(Step::Source(number));
        point(tree, &place).map_err(&wrong)?;
        move_mount(
            tree,
            c"",
            CWD,
            &*place,
            MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH,
        )
        .map_err(&wrong)?;
        source.path = place.into();
    }
    Ok(())
}

/// Makes what a mount can be put on: a folder for a folder, a file for a file.
pub(super) fn point(tree: &OwnedFd, place: &str) -> rustix::io::Result<()> {
    let kind = fs::FileType::from_raw_mode(fs::fstat(tree)?.st_mode);
    if kind == fs::FileType::Directory {
        return match fs::mkdir(place, Mode::from_raw_mode(0o755)) {
            Err(Errno::EXIST) => Ok(()),
            made => made,
        };
    }
    let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
    fs::open(place, flags, Mode::from_raw_mode(0o644)).map(drop)
}

/// A mount of its own of a file or folder, which must be the one that was meant.
pub(super) fn tree(path: &[u8], id: FileId) -> io::Result<OwnedFd> {
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
fn mapping(owner: Owner, tenant: Owner) -> io::Result<OwnedFd> {
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
