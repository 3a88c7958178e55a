//! Messages over a socket, each with its length before it, and handles beside them.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The longest message, in bytes.
const LONGEST: usize = 16 * 1024 * 1024;
/// The most handles of a message.
const HANDLES: usize = 64;

/// Nobody is there any more: that is an error, and no signal.
#[cfg(target_os = "linux")]
const SENDING: SendFlags = SendFlags::NOSIGNAL;
/// This program ignores that signal.
#[cfg(target_os = "macos")]
const SENDING: SendFlags = SendFlags::empty();
/// No handle is left to a program that is begun.
#[cfg(target_os = "linux")]
const RECEIVING: RecvFlags = RecvFlags::CMSG_CLOEXEC;
/// Each handle is marked so once it is there.
#[cfg(target_os = "macos")]
const RECEIVING: RecvFlags = RecvFlags::empty();

/// Sends a message and handles.
///
/// # Errors
/// Nobody takes it.
pub(crate) fn send(
    to: impl AsFd,
    message: &impl Serialize,
    handles: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let body = postcard::to_stdvec(message).map_err(io::Error::other)?;
    let length = u32::try_from(body.len()).map_err(io::Error::other)?;
    let mut bytes = length.to_le_bytes().to_vec();
    bytes.extend(body);
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(HANDLES))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    if !handles.is_empty() && !beside.push(SendAncillaryMessage::ScmRights(handles)) {
        return Err(io::Error::other("too many handles"));
    }
    let mut sent = 0;
    while let Some(rest) = bytes.get(sent..).filter(|rest| !rest.is_empty()) {
        // The handles go with the first bytes.
        let mut nothing = SendAncillaryBuffer::default();
        let beside = if sent == 0 { &mut beside } else { &mut nothing };
        sent += sendmsg(&to, &[IoSlice::new(rest)], beside, SENDING)?;
    }
    Ok(())
}

/// Receives a message and the handles that come with it; `None` when the other end is closed.
///
/// # Errors
/// It is cut, too long, or none of this kind.
pub(crate) fn receive<T: DeserializeOwned>(
    from: impl AsFd,
) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let mut handles = Vec::new();
    let mut length = [0; 4];
    if fill(&from, &mut length, &mut handles)? == 0 {
        return Ok(None);
    }
    let length = u32::from_le_bytes(length) as usize;
    if length > LONGEST {
        return Err(io::Error::other("the message is too long"));
    }
    let mut body = vec![0; length];
    if fill(&from, &mut body, &mut handles)? < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let message = postcard::from_bytes(&body).map_err(io::Error::other)?;
    Ok(Some((message, handles)))
}

/// Fills a buffer; answers how many bytes came, which is none or all of them.
fn fill(from: &impl AsFd, buffer: &mut [u8], handles: &mut Vec<OwnedFd>) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(HANDLES))];
        let mut beside = RecvAncillaryBuffer::new(&mut space);
        let Some(rest) = buffer.get_mut(filled..) else {
            break;
        };
        let received = match recvmsg(from, &mut [IoSliceMut::new(rest)], &mut beside, RECEIVING) {
            Err(rustix::io::Errno::INTR) => continue,
            received => received?,
        };
        for message in beside.drain() {
            if let RecvAncillaryMessage::ScmRights(sent) = message {
                for handle in sent {
                    #[cfg(target_os = "macos")]
                    rustix::io::fcntl_setfd(&handle, rustix::io::FdFlags::CLOEXEC)?;
                    handles.push(handle);
                }
            }
        }
        if received.flags.contains(ReturnFlags::CTRUNC) {
            return Err(io::Error::other("there is no room for more open files"));
        }
        if received.bytes == 0 {
            return match filled {
                0 => Ok(0),
                _ => Err(io::ErrorKind::UnexpectedEof.into()),
            };
        }
        filled += received.bytes;
    }
    Ok(filled)
}
