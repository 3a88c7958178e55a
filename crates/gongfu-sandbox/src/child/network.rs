//! The network of a run, which nothing can be reached from: one that it makes, or is given.

use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::fs::{self, Mode, OFlags};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};

use super::{call, outer};
use crate::network::Network;
use crate::proxy;

/// Comes into the one that was given, or into a new one; answers that.
///
/// Whoever may do so makes it as they are, so that nobody of the run has a say in it; others make a user
/// namespace first, in which the run makes its own.
///
/// # Errors
/// The system doesn't allow it.
pub(super) fn enter(given: Option<&Network>, is_root: bool) -> io::Result<Option<Network>> {
    // One that can't be come into is none, and no reason not to run.
    if given.is_some_and(|network| join(network).is_ok()) {
        return Ok(None);
    }
    let holder = if is_root {
        call::unshare(UnshareFlags::NEWNET)?;
        None
    } else {
        let itself = outer::itself();
        call::unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNET)?;
        outer::identity(itself)?;
        Some(opened(c"/proc/self/ns/user")?)
    };
    let namespace = opened(c"/proc/self/ns/net")?;
    Ok(Some(Network { namespace, holder }))
}

/// Has somebody outside be reached from it; answers by what they listen.
///
/// # Errors
/// The system doesn't allow it.
pub(super) fn proxied() -> io::Result<TcpListener> {
    call::set_up(c"lo")?;
    TcpListener::bind(proxy::ADDRESS)
}

fn join(network: &Network) -> rustix::io::Result<()> {
    if let Some(holder) = &network.holder {
        move_into_link_name_space(holder.as_fd(), Some(LinkNameSpaceType::User))?;
    }
    move_into_link_name_space(network.namespace.as_fd(), Some(LinkNameSpaceType::Network))
}

fn opened(path: &std::ffi::CStr) -> rustix::io::Result<OwnedFd> {
    fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
}
