//! The standard input of a program, as a handle.

use std::io::{self, Cursor, Write as _};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};

use gongfu_core::sandbox::{Input, Reader};
use rustix::fs::fchown;
use rustix::process::{Gid, Uid};

use crate::plan::UnixId;
use crate::platform;

/// The number of bytes that are copied at once.
const BUFFER: usize = 64 * 1024;

/// Opens the input of a program, for its tenant if it has one; `None` where there is nothing to read.
///
/// # Errors
/// There can be no more files or threads.
pub(crate) fn open(input: &Input, tenant: Option<UnixId>) -> io::Result<Option<OwnedFd>> {
    let pipe = match input {
        Input::Nothing => return Ok(None),
        Input::Bytes(bytes) if bytes.is_empty() => return Ok(None),
        Input::Bytes(bytes) => match platform::sealed_file(bytes)? {
            Some(file) => return Ok(Some(file)),
            None => pipe_from(Arc::new(Mutex::new(Cursor::new(bytes.clone()))))?,
        },
        Input::Reader(reader) => pipe_from(Arc::clone(reader))?,
    };
    if let Some(UnixId { user, group }) = tenant {
        // So that the program can open it by name as well (`/dev/stdin`).
        fchown(&pipe, Some(Uid::from_raw(user)), Some(Gid::from_raw(group)))?;
    }
    Ok(Some(pipe))
}

/// A pipe that carries what a reader delivers, until the reading end is closed.
fn pipe_from(reader: Reader) -> io::Result<OwnedFd> {
    let (ours, mut theirs) = io::pipe()?;
    let copy = move || {
        let mut buffer = vec![0; BUFFER];
        loop {
            let read = match reader.lock() {
                Ok(mut reader) => reader.read(&mut buffer),
                Err(_) => return,
            };
            match read {
                Ok(0) => return,
                Ok(read) => {
                    let bytes = buffer.get(..read).unwrap_or_default();
                    if theirs.write_all(bytes).is_err() {
                        return;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    };
    // It may wait for the reader longer than the run lasts.
    let thread = std::thread::Builder::new().name("input".to_owned());
    thread.spawn(copy)?;
    Ok(ours.into())
}
