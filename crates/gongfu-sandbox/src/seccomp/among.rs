//! What a program may not do besides, where the rest of the machine can be seen.
//!
//! Landlock holds for what is opened, made, renamed and removed. What is done to a file by its name
//! alone, and to processes and memory of the same user, is held here.

use seccompiler::{BpfProgram, SeccompCmpArgLen, SeccompCmpOp};

use super::{any_of, compiled, rule};

/// Refused whatever the arguments are: what processes of the machine share by names and numbers.
const SHARED: [i64; 10] = [
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
];

/// Refused for any other process than the one that asks, whose number is the argument of this place.
const OTHERS: [(i64, u8); 4] = [
    (libc::SYS_sched_setaffinity, 0),
    (libc::SYS_sched_setattr, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setscheduler, 0),
];
/// The same, where the first argument says whose number the second one is: a process's, or that of a whole
/// group or user.
const OTHERS_OF: [(i64, u64); 2] = [
    (libc::SYS_setpriority, PROCESS),
    (libc::SYS_ioprio_set, PROCESS_OF_DISK),
];
/// `PRIO_PROCESS` and `IOPRIO_WHO_PROCESS`.
const PROCESS: u64 = 0;
const PROCESS_OF_DISK: u64 = 1;

/// Refused to the same user: what belongs to files that Landlock doesn't look at.
const OWNED: [i64; 5] = [
    libc::SYS_fchownat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
];
#[cfg(target_arch = "x86_64")]
const OWNED_HERE: &[i64] = &[libc::SYS_chown, libc::SYS_lchown];
#[cfg(not(target_arch = "x86_64"))]
const OWNED_HERE: &[i64] = &[];

/// Said to be done to the same user, and not done: too many programs give up where they can't.
const PRETENDED: [i64; 1] = [libc::SYS_fchmodat];
#[cfg(target_arch = "x86_64")]
const PRETENDED_HERE: &[i64] = &[
    libc::SYS_chmod,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(not(target_arch = "x86_64"))]
const PRETENDED_HERE: &[i64] = &[];

/// Said not to be there: newer ways to do the same.
const MISSING: [i64; 4] = [FCHMODAT2, SETXATTRAT, REMOVEXATTRAT, FILE_SETATTR];

// Newer than the library that names the others; the same number on every architecture.
const FCHMODAT2: i64 = 452;
const SETXATTRAT: i64 = 463;
const REMOVEXATTRAT: i64 = 466;
const FILE_SETATTR: i64 = 469;

/// By this a process is hidden from whoever watches over it (`PR_SET_DUMPABLE`).
const HIDE: u64 = 4;

/// The filters besides the others; `is_same` where the program is the same user as others on the
/// machine. `None` on a processor for which there are none.
pub(crate) fn filters(is_same: bool) -> Option<Vec<BpfProgram>> {
    let whole = |number: &i64| (*number, Vec::new());
    let unless = |argument, value| {
        any_of(vec![rule(
            argument,
            SeccompCmpArgLen::Dword,
            SeccompCmpOp::Ne,
            value,
        )])
    };
    let mut refused: std::collections::BTreeMap<_, _> = SHARED.iter().map(whole).collect();
    for (number, argument) in OTHERS {
        refused.insert(number, unless(argument, 0)?);
    }
    for (number, process) in OTHERS_OF {
        let unless =
            |argument, value| rule(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, value);
        refused.insert(number, any_of(vec![unless(0, process), unless(1, 0)])?);
    }
    let hide = rule(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, HIDE);
    refused.insert(libc::SYS_prctl, any_of(vec![hide])?);
    if !is_same {
        return Some(vec![compiled(refused, libc::EPERM)?]);
    }
    refused.extend(OWNED.iter().chain(OWNED_HERE).map(whole));
    let mut pretended: std::collections::BTreeMap<_, _> =
        PRETENDED.iter().chain(PRETENDED_HERE).map(whole).collect();
    // Without a name it is about a file that is open.
    let named = rule(1, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0);
    pretended.insert(libc::SYS_utimensat, any_of(vec![named])?);
    let missing = MISSING.iter().map(whole).collect();
    Some(vec![
        compiled(refused, libc::EPERM)?,
        compiled(pretended, 0)?,
        compiled(missing, libc::ENOSYS)?,
    ])
}
