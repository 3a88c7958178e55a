//! The rules for programs that can reach processes or files which aren't their own.
//!
//! Landlock restricts opening, making, renaming and removing files. These rules restrict the calls that change
//! a file by its name alone, and those on processes and memory of the same user.

use std::collections::BTreeMap;

use seccompiler::BpfProgram;

use super::filter::{any_of, compile, condition, rule};
use super::table::Operator;

/// Always refused: objects that processes of the machine share by names and numbers.
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

/// Refused on other processes than the caller. The argument at this position is the number of the process.
const OTHERS: [(i64, u8); 4] = [
    (libc::SYS_sched_setaffinity, 0),
    (libc::SYS_sched_setattr, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setscheduler, 0),
];
/// The same, where the first argument is the kind of the second one: a process, a group or a user.
const OTHERS_OF: [(i64, u64); 2] = [
    (libc::SYS_setpriority, PROCESS),
    (libc::SYS_ioprio_set, PROCESS_OF_DISK),
];
/// `PRIO_PROCESS` and `IOPRIO_WHO_PROCESS`.
const PROCESS: u64 = 0;
const PROCESS_OF_DISK: u64 = 1;

/// Refused where the program owns files of the host: attributes of files that Landlock ignores.
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

/// Pretended to succeed there: too many programs give up when these fail.
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

/// Missing there: newer calls that do the same.
const MISSING: [i64; 4] = [FCHMODAT2, SETXATTRAT, REMOVEXATTRAT, FILE_SETATTR];

// Newer than the library that names the others. They have the same number on every architecture.
const FCHMODAT2: i64 = 452;
const SETXATTRAT: i64 = 463;
const REMOVEXATTRAT: i64 = 466;
const FILE_SETATTR: i64 = 469;

/// Hides a process from its supervisor (`PR_SET_DUMPABLE`).
const HIDE: u64 = 4;

/// Makes the filters; the program `owns_host_files` where it sees the host as gongfu's own user. `None` on a
/// processor for which there are none.
pub(crate) fn filters(owns_host_files: bool) -> Option<Vec<BpfProgram>> {
    let always = |number: &i64| (*number, Vec::new());
    let unless = |argument, value| rule(vec![condition(argument, false, Operator::Other, value)]);
    let mut refused: BTreeMap<_, _> = SHARED.iter().map(always).collect();
    for (number, argument) in OTHERS {
        refused.insert(number, any_of([unless(argument, 0)])?);
    }
    for (number, process) in OTHERS_OF {
        refused.insert(number, any_of([unless(0, process), unless(1, 0)])?);
    }
    let hide = rule(vec![condition(0, false, Operator::Same, HIDE)]);
    refused.insert(libc::SYS_prctl, any_of([hide])?);
    if !owns_host_files {
        return Some(vec![compile(refused, libc::EPERM)?]);
    }
    refused.extend(OWNED.iter().chain(OWNED_HERE).map(always));
    let mut pretended: BTreeMap<_, _> =
        PRETENDED.iter().chain(PRETENDED_HERE).map(always).collect();
    // Without a name it is about an open file.
    let named = rule(vec![condition(1, true, Operator::Other, 0)]);
    pretended.insert(libc::SYS_utimensat, any_of([named])?);
    let missing = MISSING.iter().map(always).collect();
    Some(vec![
        compile(refused, libc::EPERM)?,
        compile(pretended, 0)?,
        compile(missing, libc::ENOSYS)?,
    ])
}
