//! The system calls that no library offers safely.
//!
//! With `macos/syscall.rs` and one test, the only `unsafe` of the workspace. All callers are children with a
//! single thread and no other task.
#![allow(
    unsafe_code,
    reason = "each block says why it is sound; nothing else that is shipped may have one"
)]

#[cfg(feature = "attack")]
pub mod raw;

use std::ffi::CStr;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use gongfu_core::sandbox::Exit;
use rustix::process::Pid;
use rustix::thread::UnshareFlags;

/// One of the two processes after a fork.
pub(crate) enum Fork {
    /// The process that forked, with its new child.
    Parent(Pid),
    /// The new process.
    Child,
}

/// The result of a call that answers zero if it succeeded.
fn result(answer: libc::c_long) -> io::Result<()> {
    match answer {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Forks this process.
///
/// # Errors
/// There may be no more.
pub(crate) fn fork() -> io::Result<Fork> {
    // SAFETY: this process has one thread, so no lock is held by one that the child doesn't have.
    let forked = unsafe { libc::fork() };
    if forked < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Pid::from_raw(forked).map_or(Fork::Child, Fork::Parent))
}

/// Forks this process into a control group of the second version, given by its folder.
///
/// # Errors
/// There may be no more processes, or none in that group.
pub(super) fn fork_into(group: impl AsFd) -> io::Result<Fork> {
    /// `struct clone_args`, as of Linux 5.7.
    #[derive(Default)]
    #[repr(C)]
    struct Arguments {
        flags: u64,
        pidfd: u64,
        child_tid: u64,
        parent_tid: u64,
        exit_signal: u64,
        stack: u64,
        stack_size: u64,
        tls: u64,
        set_tid: u64,
        set_tid_size: u64,
        cgroup: u64,
    }
    const INTO_CGROUP: u64 = 0x2_0000_0000;
    let number = |number: i32| u64::try_from(number).map_err(io::Error::other);
    let arguments = Arguments {
        flags: INTO_CGROUP,
        exit_signal: number(libc::SIGCHLD)?,
        cgroup: number(group.as_fd().as_raw_fd())?,
        ..Arguments::default()
    };
    // SAFETY: no memory is shared, and the stack stays the same, so it is a fork; this process has one
    // thread, so no lock is held by one that the child doesn't have. The arguments live until the call
    // returns, and the size is theirs.
    let forked = unsafe {
        libc::syscall(
            libc::SYS_clone3,
            std::ptr::from_ref(&arguments),
            size_of::<Arguments>(),
        )
    };
    match i32::try_from(forked).ok().and_then(Pid::from_raw) {
        _ if forked < 0 => Err(io::Error::last_os_error()),
        Some(pid) => Ok(Fork::Parent(pid)),
        None => Ok(Fork::Child),
    }
}

/// Moves this process into new namespaces.
///
/// # Errors
/// The system doesn't allow it.
pub(super) fn unshare(flags: UnshareFlags) -> io::Result<()> {
    // SAFETY: `UnshareFlags::FILES`, the only one that could close a descriptor in use, is
    // not among those given here.
    unsafe { rustix::thread::unshare_unsafe(flags - UnshareFlags::FILES) }?;
    Ok(())
}

/// The flag of an interface that is up (`IFF_UP`).
const IFF_UP: libc::c_short = 1;

/// Brings a network interface up.
///
/// # Errors
/// No interface has this name, or the system doesn't allow it.
pub(super) fn set_up(interface: &CStr) -> io::Result<()> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    // SAFETY: a request of zeros is one with no name and no flags.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    let name = interface.to_bytes();
    // The last one stays, so that the name ends.
    let room = request.ifr_name.len() - 1;
    if name.len() > room {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name) {
        *to = from.cast_signed() as libc::c_char;
    }
    let handle = socket.as_raw_fd();
    // SAFETY: the request is whole, and the system writes its flags into it and nothing else.
    result(unsafe { libc::ioctl(handle, libc::SIOCGIFFLAGS, &raw mut request) }.into())?;
    // SAFETY: the system has just written the flags, which are numbers in any case.
    let flags = unsafe { request.ifr_ifru.ifru_flags };
    request.ifr_ifru.ifru_flags = flags | IFF_UP;
    // SAFETY: the system only reads the request.
    result(unsafe { libc::ioctl(handle, libc::SIOCSIFFLAGS, &raw const request) }.into())
}

/// Changes to the attributes of a mount (`struct mount_attr`).
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct MountAttributes {
    pub(super) set: u64,
    pub(super) clear: u64,
    pub(super) propagation: u64,
    pub(super) user_namespace: u64,
}

impl MountAttributes {
    pub(super) const READ_ONLY: u64 = 0x1;
    pub(super) const NO_SET_USER_ID: u64 = 0x2;
    pub(super) const NO_DEVICE: u64 = 0x4;
    /// The propagation of a mount that gets nothing that is mounted elsewhere.
    pub(super) const PRIVATE: u64 = 0x4_0000;
    pub(super) const MAP_OWNERS: u64 = 0x0010_0000;
}

/// Changes the attributes of a mount; with `recursive` also of those below it.
///
/// # Errors
/// The system doesn't allow it, or is older than Linux 5.12.
pub(super) fn set_mount(
    mount: impl AsFd,
    path: &CStr,
    attributes: &MountAttributes,
    recursive: bool,
) -> io::Result<()> {
    let mut flags = libc::AT_EMPTY_PATH;
    if recursive {
        flags |= libc::AT_RECURSIVE;
    }
    // SAFETY: the path and the attributes live until the call returns, and the size is theirs.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_fd().as_raw_fd(),
            path.as_ptr(),
            flags,
            std::ptr::from_ref(attributes),
            size_of::<MountAttributes>(),
        )
    };
    result(done)
}

/// Makes this thread and its children batch work of this niceness, which runs for so many nanoseconds at a
/// time (`sched_setattr(2)`).
///
/// # Errors
/// Its niceness is higher already.
pub(super) fn set_batch(nice: i32, slice: u64) -> io::Result<()> {
    let mut attributes = libc::sched_attr {
        size: 0,
        sched_policy: libc::SCHED_BATCH.unsigned_abs(),
        sched_flags: 0,
        sched_nice: nice,
        sched_priority: 0,
        sched_runtime: slice,
        sched_deadline: 0,
        sched_period: 0,
    };
    attributes.size = u32::try_from(size_of_val(&attributes)).map_err(io::Error::other)?;
    // SAFETY: the attributes live until the call returns, and say themselves how large they are.
    let done = unsafe {
        libc::syscall(
            libc::SYS_sched_setattr,
            0,
            std::ptr::from_ref(&attributes),
            0,
        )
    };
    result(done)
}

/// Marks every handle but the standard three to be closed when a program is executed.
///
/// # Errors
/// The system is older than Linux 5.11.
pub(super) fn close_handles_on_exec() -> io::Result<()> {
    // SAFETY: nothing is closed here: the handles are marked, and closed when a program starts.
    let done = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            3,
            libc::c_uint::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        )
    };
    result(done)
}

/// Kills every process that this one can see, except itself and init.
///
/// # Errors
/// There is no other.
pub(super) fn kill_all() -> io::Result<()> {
    // SAFETY: no memory is touched.
    result(unsafe { libc::kill(-1, libc::SIGKILL) }.into())
}

/// A child that has ended.
#[derive(Debug)]
pub(super) struct ExitedChild {
    pub(super) pid: Pid,
    pub(super) exit: Exit,
    /// The resources of it and of the children that it waited for.
    pub(super) usage: Usage,
}

/// Reaps one child that has ended; `None` where none has.
///
/// # Errors
/// There are no children.
pub(super) fn reap() -> io::Result<Option<ExitedChild>> {
    let mut status = 0;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both are as large as the call expects, and live until it returns.
    let ended = unsafe { libc::wait4(-1, &raw mut status, libc::WNOHANG, usage.as_mut_ptr()) };
    if ended < 0 {
        return Err(io::Error::last_os_error());
    }
    let Some(pid) = Pid::from_raw(ended) else {
        return Ok(None);
    };
    let exit = if libc::WIFSIGNALED(status) {
        Exit::Signal(libc::WTERMSIG(status))
    } else {
        Exit::Code(libc::WEXITSTATUS(status))
    };
    // SAFETY: any of its bytes may be zero, and the call has written it.
    let usage = unsafe { usage.assume_init() };
    Ok(Some(ExitedChild {
        pid,
        exit,
        usage: Usage::of(&usage),
    }))
}

/// The resources that processes have used.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Usage {
    /// Processor time.
    pub(super) cpu: Duration,
    /// The most memory that one of them had, in bytes.
    pub(super) memory: u64,
}

impl Usage {
    fn of(usage: &libc::rusage) -> Self {
        let duration = |time: libc::timeval| {
            let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
            let micros = u64::try_from(time.tv_usec).unwrap_or_default();
            Duration::from_secs(seconds).saturating_add(Duration::from_micros(micros))
        };
        Self {
            cpu: duration(usage.ru_utime).saturating_add(duration(usage.ru_stime)),
            memory: u64::try_from(usage.ru_maxrss)
                .unwrap_or_default()
                .saturating_mul(1024),
        }
    }
}
