//! Does something as somebody else, who then owns what it makes, and reads what only root can.
//!
//! In a file system of another user namespace root itself can make nothing.

use std::io;

use crate::plan::Owner;

/// Does it on behalf of somebody, where it isn't whoever runs gongfu.
///
/// Who a thread is can't be trusted to be taken back, so it is a thread that does nothing else.
///
/// # Errors
/// It fails, or nobody can be anybody else.
pub(crate) fn of<T: Send>(
    owner: Option<Owner>,
    task: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T> {
    let Some(owner) = owner else {
        return task();
    };
    let done = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            become_one(owner)?;
            task()
        });
        thread.join()
    });
    done.unwrap_or_else(|_| Err(io::Error::other("what was done for another panicked")))
}

#[cfg(target_os = "linux")]
fn become_one(owner: Owner) -> rustix::io::Result<()> {
    use rustix::thread::{
        CapabilitySet, CapabilitySets, Gid, Uid, capabilities, set_capabilities,
        set_thread_res_gid, set_thread_res_uid,
    };
    let reading = CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
    set_thread_res_gid(Gid::ROOT, Gid::from_raw(owner.group), Gid::ROOT)?;
    // It stays root to all but files: nobody else may send it a signal.
    set_thread_res_uid(Uid::ROOT, Uid::from_raw(owner.user), Uid::ROOT)?;
    let held = capabilities(None)?;
    set_capabilities(
        None,
        CapabilitySets {
            effective: held.permitted & (reading | CapabilitySet::FOWNER),
            ..held
        },
    )
}

/// A thread is whoever the whole program is.
#[cfg(not(target_os = "linux"))]
fn become_one(_owner: Owner) -> rustix::io::Result<()> {
    Err(rustix::io::Errno::NOSYS)
}
