//! User namespaces that mounts take their mappings of owners from.
//!
//! To make one takes a millisecond, so the fork server keeps them for later runs. No process is in them.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::fs::{self, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, waitpid};
use rustix::thread::UnshareFlags;

use super::syscall::{self, Fork};
use crate::plan::IdMapping;

/// The most namespaces that are kept; each takes a handle.
const MAX_KEPT: usize = 64;

/// User namespaces by their mappings.
#[derive(Default)]
pub(super) struct IdNamespaces(BTreeMap<IdMapping, OwnedFd>);

impl IdNamespaces {
    /// The namespaces with these mappings, in their order.
    pub(super) fn new(mappings: Vec<IdMapping>, namespaces: Vec<OwnedFd>) -> Self {
        Self(mappings.into_iter().zip(namespaces).collect())
    }

    /// The namespace with a mapping, if there can be one.
    pub(super) fn get(&self, mapping: IdMapping) -> Option<BorrowedFd<'_>> {
        self.0.get(&mapping).map(|namespace| namespace.as_fd())
    }

    /// Makes the namespace with a mapping, unless there is one.
    ///
    /// # Errors
    /// The system doesn't allow it.
    pub(super) fn add(&mut self, mapping: IdMapping) -> io::Result<()> {
        if self.0.contains_key(&mapping) {
            return Ok(());
        }
        let namespace = make(mapping)?;
        if self.0.len() >= MAX_KEPT {
            self.0.clear();
        }
        self.0.insert(mapping, namespace);
        Ok(())
    }
}

/// Makes a user namespace with this mapping.
fn make(mapping: IdMapping) -> io::Result<OwnedFd> {
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
            let namespace = map(holder, &ready_in, mapping);
            drop(done_out);
            let _ = waitpid(Some(holder), WaitOptions::empty());
            namespace
        }
    }
}

/// Opens the user namespace of `holder` once there is one, and writes its maps.
fn map(holder: Pid, ready: &OwnedFd, mapping: IdMapping) -> io::Result<OwnedFd> {
    let IdMapping { from, to } = mapping;
    if rustix::io::read(ready, &mut [0; 1])? == 0 {
        return Err(Errno::PERM.into());
    }
    let number = holder.as_raw_nonzero();
    let write = |name: &str, text: String| {
        let path = format!("/proc/{number}/{name}");
        let file = fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
        rustix::io::write(file, text.as_bytes()).map(drop)
    };
    write("uid_map", format!("{} {} 1", from.user, to.user))?;
    write("gid_map", format!("{} {} 1", from.group, to.group))?;
    let path = format!("/proc/{number}/ns/user");
    Ok(fs::open(
        path,
        OFlags::RDONLY | OFlags::CLOEXEC,
        Mode::empty(),
    )?)
}
