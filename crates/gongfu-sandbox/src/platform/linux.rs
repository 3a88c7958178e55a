//! The Linux side.

use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::net::{RecvFlags, SendFlags};
use rustix::process::{Signal, pidfd_send_signal};
use rustix::rand::{GetRandomFlags, getrandom};
use rustix::thread::{
    CapabilitySet, CapabilitySets, Gid, Uid, capabilities, set_capabilities, set_thread_res_gid,
    set_thread_res_uid,
};

use crate::plan::UnixId;

pub(crate) use crate::cgroup;

/// The folders in which every run looks for programs.
pub(crate) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// The language of programs, with every letter.
pub(crate) const LANGUAGE: &str = "C.UTF-8";
/// The start of the names of variables by which the system's loader runs other code.
pub(crate) const LOADER_PREFIX: &str = "LD_";

/// Writing to a closed socket is an error, and no signal.
pub(crate) const SEND_FLAGS: SendFlags = SendFlags::NOSIGNAL;
/// A received handle isn't passed on to programs.
pub(crate) const RECEIVE_FLAGS: RecvFlags = RecvFlags::CMSG_CLOEXEC;

/// Does nothing: [`RECEIVE_FLAGS`] says it.
#[expect(clippy::unnecessary_wraps, reason = "it is a system call on macOS")]
pub(crate) fn close_on_exec(_handle: &OwnedFd) -> rustix::io::Result<()> {
    Ok(())
}

/// Fills a buffer with random bytes.
pub(crate) fn fill_randomly(bytes: &mut [u8]) -> io::Result<()> {
    getrandom(bytes, GetRandomFlags::empty())?;
    Ok(())
}

/// Kills a process by its handle.
pub(crate) fn kill(process: &OwnedFd) {
    let _ = pidfd_send_signal(process, Signal::KILL);
}

/// Makes everything in a folder removable: it is already.
pub(crate) fn make_removable(_folder: &Path) {}

/// Makes an unnamed file of these bytes that can't be changed, if the system has such files.
pub(crate) fn sealed_file(bytes: &[u8]) -> io::Result<Option<OwnedFd>> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let mut file = File::from(memfd_create(c"input", flags)?);
    file.write_all(bytes)?;
    file.rewind()?;
    // Else it would be memory that the program can fill, and that no limit counts.
    let seals = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    fcntl_add_seals(&file, seals)?;
    Ok(Some(file.into()))
}

/// Makes this thread access files as another user. It stays root otherwise, so no other user may signal it.
pub(crate) fn become_file_owner(owner: UnixId) -> io::Result<()> {
    let reading = CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
    set_thread_res_gid(Gid::ROOT, Gid::from_raw(owner.group), Gid::ROOT)?;
    set_thread_res_uid(Uid::ROOT, Uid::from_raw(owner.user), Uid::ROOT)?;
    let held = capabilities(None)?;
    set_capabilities(
        None,
        CapabilitySets {
            effective: held.permitted & (reading | CapabilitySet::FOWNER),
            ..held
        },
    )?;
    Ok(())
}
