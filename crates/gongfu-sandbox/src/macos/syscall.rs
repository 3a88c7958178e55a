//! The system calls of macOS that no library offers safely, as `child/syscall.rs` for Linux.
//!
//! All callers are children without any other task.
#![allow(
    unsafe_code,
    reason = "each block says why it is sound; nothing else in the workspace may have one"
)]

use std::io;
use std::mem::MaybeUninit;
use std::time::Duration;

use rustix::process::getuid;

use super::descendants::Process;

/// Asks for processes as well that have ended.
const ALSO_ENDED: u64 = 1;
/// Processes that may start before they are listed.
const LIST_MARGIN: usize = 64;

/// Lists the processes of this user that haven't ended; `None` where they can't be listed.
pub(super) fn processes() -> Option<Vec<Process>> {
    // SAFETY: without room nothing is written, and the number of processes is answered.
    let count = unsafe { libc::proc_listallpids(std::ptr::null_mut(), 0) };
    let count = usize::try_from(count).ok().filter(|count| *count > 0)?;
    let mut numbers: Vec<libc::c_int> = vec![0; count + LIST_MARGIN];
    let size = libc::c_int::try_from(size_of_val(numbers.as_slice())).ok()?;
    // SAFETY: the room is as large as is said, and lives until the call returns.
    let count = unsafe { libc::proc_listallpids(numbers.as_mut_ptr().cast(), size) };
    let count = usize::try_from(count).ok().filter(|count| *count > 0)?;
    numbers.truncate(count);
    let user = getuid().as_raw();
    let processes = numbers.into_iter().filter_map(|number| {
        let one = identity(number)?;
        let is_meant = one.pbi_uid == user && one.pbi_status != libc::SZOMB;
        is_meant.then(|| Process {
            number: one.pbi_pid,
            parent: one.pbi_ppid,
            group: one.pbi_pgid,
            start: one
                .pbi_start_tvsec
                .saturating_mul(1_000_000)
                .saturating_add(one.pbi_start_tvusec),
            threads: threads(number),
        })
    });
    Some(processes.collect())
}

/// Identifies a process, also one that has ended and wasn't reaped; `None` where it doesn't exist.
fn identity(number: libc::c_int) -> Option<libc::proc_bsdinfo> {
    let mut room = MaybeUninit::<libc::proc_bsdinfo>::zeroed();
    let size = libc::c_int::try_from(size_of::<libc::proc_bsdinfo>()).ok()?;
    // SAFETY: the room is as large as is said, and lives until the call returns; the structure is made of
    // numbers alone, so that any bytes are one.
    unsafe {
        let flavor = libc::PROC_PIDTBSDINFO;
        let filled = libc::proc_pidinfo(number, flavor, ALSO_ENDED, room.as_mut_ptr().cast(), size);
        (filled == size).then(|| room.assume_init())
    }
}

/// Counts the threads of a process: at least one.
fn threads(number: libc::c_int) -> u64 {
    let mut room = MaybeUninit::<libc::proc_taskinfo>::zeroed();
    let size = libc::c_int::try_from(size_of::<libc::proc_taskinfo>()).unwrap_or_default();
    // SAFETY: as above.
    let told = unsafe {
        let flavor = libc::PROC_PIDTASKINFO;
        let filled = libc::proc_pidinfo(number, flavor, 0, room.as_mut_ptr().cast(), size);
        if filled != size {
            return 1;
        }
        room.assume_init()
    };
    u64::try_from(told.pti_threadnum).unwrap_or(1).max(1)
}

/// Bytes of memory that a process doesn't share, as the system counts it; zero for one that has ended.
pub(super) fn memory(number: u32) -> u64 {
    let Ok(number) = libc::c_int::try_from(number) else {
        return 0;
    };
    let mut room = MaybeUninit::<libc::rusage_info_v2>::zeroed();
    // SAFETY: the room is that of the second version, which is asked for, and lives until the call returns;
    // the structure is made of numbers alone, so that any bytes are one.
    let told = unsafe {
        if libc::proc_pid_rusage(number, libc::RUSAGE_INFO_V2, room.as_mut_ptr().cast()) != 0 {
            return 0;
        }
        room.assume_init()
    };
    told.ri_phys_footprint
}

/// Marks every handle but the standard three to be closed when a program is executed.
///
/// # Errors
/// They can't be listed.
pub(super) fn close_handles_on_exec() -> io::Result<()> {
    for entry in std::fs::read_dir("/dev/fd")? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.parse().ok());
        if let Some(number) = number.filter(|number: &libc::c_int| *number > 2) {
            // SAFETY: nothing is closed here: the handle is marked, and closed when a program begins. One
            // that isn't open any more is an error that changes nothing.
            unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
    }
    Ok(())
}

/// The resources that processes have used.
#[derive(Debug, Default)]
pub(super) struct Usage {
    /// Processor time.
    pub(super) cpu: Duration,
    /// The most memory that one of them had, in bytes.
    pub(super) memory: u64,
}

/// The resources of all children that were reaped.
pub(super) fn usage_of_children() -> Usage {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the structure is as large as the call expects, and any of its bytes may be zero.
    let usage = unsafe {
        if libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr()) != 0 {
            return Usage::default();
        }
        usage.assume_init()
    };
    let duration = |time: libc::timeval| {
        let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
        let micros = u64::try_from(time.tv_usec).unwrap_or_default();
        Duration::from_secs(seconds).saturating_add(Duration::from_micros(micros))
    };
    Usage {
        cpu: duration(usage.ru_utime).saturating_add(duration(usage.ru_stime)),
        // Here it is in bytes.
        memory: u64::try_from(usage.ru_maxrss).unwrap_or_default(),
    }
}
