//! Messages over a socket, each with its length in front, and handles beside them.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, recvmsg, sendmsg,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::platform;

/// The longest message, in bytes.
const MAX_LENGTH: usize = 16 * 1024 * 1024;
/// The most handles of a message.
const MAX_HANDLES: usize = 64;

/// Sends a message and handles.
///
/// # Errors
/// The other end is closed.
pub(crate) fn send(
    to: impl AsFd,
    message: &impl Serialize,
    handles: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let body = postcard::to_stdvec(message).map_err(io::Error::other)?;
    let length = u32::try_from(body.len()).map_err(io::Error::other)?;
    let mut bytes = length.to_le_bytes().to_vec();
    bytes.extend(body);
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_HANDLES))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    if !handles.is_empty() && !beside.push(SendAncillaryMessage::ScmRights(handles)) {
        return Err(io::Error::other("too many handles"));
    }
    let mut sent = 0;
    while let Some(rest) = bytes.get(sent..).filter(|rest| !rest.is_empty()) {
        // The handles go with the first bytes.
        let mut nothing = SendAncillaryBuffer::default();
        let beside = if sent == 0 { &mut beside } else { &mut nothing };
        sent += sendmsg(&to, &[IoSlice::new(rest)], beside, platform::SEND_FLAGS)?;
    }
    Ok(())
}

/// Receives a message and the handles that come with it; `None` when the other end is closed.
///
/// # Errors
/// It is cut off, too long, or of another kind.
pub(crate) fn receive<T: DeserializeOwned>(
    from: impl AsFd,
) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let mut handles = Vec::new();
    let mut length = [0; 4];
    if fill(&from, &mut length, &mut handles)? == 0 {
        return Ok(None);
    }
    let length = u32::from_le_bytes(length) as usize;
    if length > MAX_LENGTH {
        return Err(io::Error::other("the message is too long"));
    }
    let mut body = vec![0; length];
    if fill(&from, &mut body, &mut handles)? < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let message = postcard::from_bytes(&body).map_err(io::Error::other)?;
    Ok(Some((message, handles)))
}

/// Fills a buffer; returns the number of received bytes: all of them, or zero.
fn fill(from: &impl AsFd, buffer: &mut [u8], handles: &mut Vec<OwnedFd>) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_HANDLES))];
        let mut beside = RecvAncillaryBuffer::new(&mut space);
        let Some(rest) = buffer.get_mut(filled..) else {
            break;
        };
        let received = match recvmsg(
            from,
            &mut [IoSliceMut::new(rest)],
            &mut beside,
            platform::RECEIVE_FLAGS,
        ) {
            Err(rustix::io::Errno::INTR) => continue,
            received => received?,
        };
        for message in beside.drain() {
            if let RecvAncillaryMessage::ScmRights(sent) = message {
                for handle in sent {
                    platform::close_on_exec(&handle)?;
                    handles.push(handle);
                }
            }
        }
        if received.flags.contains(ReturnFlags::CTRUNC) {
            return Err(io::Error::other("the limit of open files is reached"));
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
