//! What a program reads, as a handle that it is given.

use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use gongfu_core::sandbox::{Input, Reader};
use rustix::fs::fchown;
use rustix::process::{Gid, Uid};

use crate::cgroup::Groups;
use crate::plan::Owner;

/// How much is passed on at once.
const PIECE: usize = 64 * 1024;

/// What a program reads, for its tenant where it has one; `None` where it is nothing.
///
/// # Errors
/// There can be none.
pub(crate) fn handle(input: &Input, tenant: Option<Owner>) -> io::Result<Option<OwnedFd>> {
    match input {
        Input::Nothing => Ok(None),
        Input::Bytes(bytes) if bytes.is_empty() => Ok(None),
        Input::Bytes(bytes) => fixed(bytes).map(Some),
        Input::Reader(reader) => {
            let pipe = passed_on(Arc::clone(reader))?;
            if let Some(tenant) = tenant {
                hand_over(&pipe, tenant)?;
            }
            Ok(Some(pipe))
        }
    }
}

/// Lets the tenant open what it is given to read by its name as well.
fn hand_over(pipe: &OwnedFd, to: Owner) -> io::Result<()> {
    let (user, group) = (Uid::from_raw(to.user), Gid::from_raw(to.group));
    Ok(fchown(pipe, Some(user), Some(group))?)
}

/// A pipe that carries what comes, until nobody reads it any more.
fn passed_on(reader: Reader) -> io::Result<OwnedFd> {
    let (ours, theirs) = io::pipe()?;
    let carry = move || {
        // It may wait for longer than the run.
        if let Some(groups) = Groups::of_this_process() {
            groups.leave_crew();
        }
        let mut to = theirs;
        let mut buffer = vec![0; PIECE];
        loop {
            let read = match reader.lock() {
                Ok(mut reader) => reader.read(&mut buffer),
                Err(_) => return,
            };
            match read {
                Ok(0) => return,
                Ok(read) => {
                    let bytes = buffer.get(..read).unwrap_or_default();
                    if to.write_all(bytes).is_err() {
                        return;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    };
    std::thread::Builder::new()
        .name("input".to_owned())
        .spawn(carry)?;
    Ok(ours.into())
}

/// A file without a name that holds these bytes, and that nobody can change.
#[cfg(target_os = "linux")]
fn fixed(bytes: &[u8]) -> io::Result<OwnedFd> {
    use std::fs::File;
    use std::io::Seek as _;

    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let mut file = File::from(memfd_create(c"input", flags)?);
    file.write_all(bytes)?;
    file.rewind()?;
    // Else it would be memory that the program can fill, and that no limit counts.
    fcntl_add_seals(
        &file,
        SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL,
    )?;
    Ok(file.into())
}

/// A pipe that carries these bytes: a file would have to lie somewhere.
#[cfg(target_os = "macos")]
fn fixed(bytes: &[u8]) -> io::Result<OwnedFd> {
    passed_on(Arc::new(std::sync::Mutex::new(io::Cursor::new(
        bytes.to_vec(),
    ))))
}
