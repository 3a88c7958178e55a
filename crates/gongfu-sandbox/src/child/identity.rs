//! The user and the OOM score of the child's processes.

use std::os::fd::BorrowedFd;

use rustix::process::{DumpableBehavior, getegid, geteuid, set_dumpable_behavior};
use rustix::stdio::{stderr, stdin, stdout};
use rustix::thread::{Gid, Uid, set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use rustix::{fs, io};

use super::step::{Failure, at};
use crate::plan::{Step, UnixId};

/// The user and the group that a run sees itself as.
const GUEST_ID: u32 = 1000;

/// The user of this process.
pub(super) fn current() -> UnixId {
    UnixId {
        user: geteuid().as_raw(),
        group: getegid().as_raw(),
    }
}

/// Gives up root for a user who owns nothing on this machine.
pub(super) fn become_tenant(tenant: UnixId) -> Result<(), Failure> {
    let (user, group) = (Uid::from_raw(tenant.user), Gid::from_raw(tenant.group));
    for handle in [stdin(), stdout(), stderr()] {
        hand_over(handle, tenant)?;
    }
    let done = set_thread_groups(&[])
        .and_then(|()| set_thread_res_gid(group, group, group))
        .and_then(|()| set_thread_res_uid(user, user, user))
        // Else `/proc/self` would belong to root.
        .and_then(|()| set_dumpable_behavior(DumpableBehavior::Dumpable));
    done.map_err(at(Step::Tenant))
}

/// Gives a pipe to a user, so that they can open it by name as scripts do (`/dev/stderr`). Another kind of
/// file may belong to another user, and stays so.
pub(super) fn hand_over(handle: BorrowedFd<'_>, to: UnixId) -> Result<(), Failure> {
    let kind = fs::fstat(handle).map(|found| fs::FileType::from_raw_mode(found.st_mode));
    if kind == Ok(fs::FileType::Fifo) {
        let (user, group) = (Uid::from_raw(to.user), Gid::from_raw(to.group));
        fs::fchown(handle, Some(user), Some(group)).map_err(at(Step::Tenant))?;
    }
    Ok(())
}

/// Maps one user and one group into the new user namespace of this process, and no others.
pub(super) fn map_into_namespace(outside: UnixId) -> io::Result<()> {
    write(c"/proc/self/setgroups", b"deny")?;
    let map = |number: u32| format!("{GUEST_ID} {number} 1");
    write(c"/proc/self/uid_map", map(outside.user).as_bytes())?;
    write(c"/proc/self/gid_map", map(outside.group).as_bytes())
}

/// Makes this process the first that the kernel kills when the machine runs out of memory.
pub(super) fn prefer_in_oom() -> io::Result<()> {
    set_oom_score(b"1000")
}

/// Makes this process as likely to be killed for lack of memory as any other.
pub(super) fn spare_in_oom() -> io::Result<()> {
    set_oom_score(b"0")
}

fn set_oom_score(score: &[u8]) -> io::Result<()> {
    write(c"/proc/self/oom_score_adj", score)
}

fn write(path: &std::ffi::CStr, text: &[u8]) -> io::Result<()> {
    let flags = fs::OFlags::WRONLY | fs::OFlags::CLOEXEC;
    let file = fs::open(path, flags, fs::Mode::empty())?;
    io::write(file, text).map(drop)
}
