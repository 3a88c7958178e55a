//! The system calls that a program in a sandbox may not make.
//!
//! Four filters, because one has a single answer for what it finds: what a program may not do, what
//! it is told that the system doesn't have, what it is told that was done, and the calls of another
//! convention, for which it is ended. `seccompiler` itself ends a program that makes calls of another
//! architecture.

pub(crate) mod among;

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};

/// Refused whatever the arguments are.
const REFUSED: &[i64] = &[
    // Mounts.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    OPEN_TREE_ATTR,
    STATMOUNT,
    LISTMOUNT,
    // Namespaces.
    libc::SYS_unshare,
    libc::SYS_setns,
    LISTNS,
    // What others keep in the kernel.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    libc::SYS_lookup_dcookie,
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    // Files past their names.
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    // The machine.
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_syslog,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
    libc::SYS_nfsservctl,
    // Networks; a pair has both of its ends here.
    libc::SYS_socket,
    libc::SYS_bind,
    libc::SYS_connect,
    libc::SYS_listen,
];

/// Refused on this kind of processor alone.
#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[i64] = &[
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS__sysctl,
    libc::SYS_uselib,
    libc::SYS_ustat,
    libc::SYS_sysfs,
];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[i64] = &[];

/// Said not to be there, so that a program does it in another way: by the older call, whose arguments
/// can be looked at, or in memory that is counted, which what nobody has mapped isn't. Files that are
/// read and written while a program does something else are an old way, of which few know.
const MISSING: &[i64] = &[
    libc::SYS_clone3,
    libc::SYS_openat2,
    libc::SYS_io_setup,
    libc::SYS_memfd_create,
    libc::SYS_memfd_secret,
    libc::SYS_shmget,
    libc::SYS_msgget,
    libc::SYS_semget,
];

// Newer than the library that names the others; the same number on every architecture.
const STATMOUNT: i64 = 457;
const LISTMOUNT: i64 = 458;
const OPEN_TREE_ATTR: i64 = 467;
const LISTNS: i64 = 470;
const FCHMODAT2: i64 = 452;

/// The namespaces that `clone` can make.
const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// The family whose pairs are only between processes (`AF_UNIX`).
const PAIRS: u64 = 1;
/// The kinds of sockets that are no streams of bytes or of messages: datagrams, raw ones and odder.
const UNPAIRED: [u64; 6] = [0, 2, 3, 4, 6, 10];

/// The family of the older kind of addresses (`AF_INET`).
const INTERNET: u64 = 2;
/// The kinds of sockets that are no streams of bytes, and those that aren't known, for which the kernel
/// would look.
const UNSTREAMED: [u64; 15] = [0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
/// The option of TCP by which the kernel speaks something else over it (`TCP_ULP`).
const OVER_TCP: u64 = 31;
/// The protocol of streams.
const TCP: u64 = 6;

/// The calls that say how a file may be used, and which of their arguments does.
const MODES: &[(i64, u8)] = &[
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (FCHMODAT2, 2),
    (libc::SYS_mknodat, 2),
];
/// Those of them that this kind of processor has alone.
#[cfg(target_arch = "x86_64")]
const MODES_HERE: &[(i64, u8)] = &[
    (libc::SYS_chmod, 1),
    (libc::SYS_mknod, 1),
    (libc::SYS_creat, 1),
];
#[cfg(not(target_arch = "x86_64"))]
const MODES_HERE: &[(i64, u8)] = &[];

/// The calls that say so where they make a file: which argument says whether they do, and which how it
/// may be used.
const MAKING: &[(i64, u8, u8)] = &[(libc::SYS_openat, 2, 3)];
/// Those of them that this kind of processor has alone.
#[cfg(target_arch = "x86_64")]
const MAKING_HERE: &[(i64, u8, u8)] = &[(libc::SYS_open, 1, 2)];
#[cfg(not(target_arch = "x86_64"))]
const MAKING_HERE: &[(i64, u8, u8)] = &[];

/// A file that is run as its owner or its group: it would be so outside as well.
const AS_OWNER: [u64; 2] = [0o4000, 0o2000];
/// Flags by which a file is made, with a name and without.
const MAKES: [u64; 2] = [O_CREAT, O_TMPFILE];
const O_CREAT: u64 = libc::O_CREAT.unsigned_abs() as u64;
/// Without the bit that says that it is in a folder.
const O_TMPFILE: u64 = (libc::O_TMPFILE & !libc::O_DIRECTORY).unsigned_abs() as u64;

/// What is typed into somebody's terminal; the kernel looks at the low 32 bits alone.
const TERMINAL: [u64; 2] = [0x5412, 0x541C];

/// The bit of calls by the x32 convention, which `seccompiler` lets pass.
const X32: u32 = 0x4000_0000;

/// Filters, each of them for every call.
pub(crate) type Filters = [BpfProgram; 4];

/// The filters of every sandbox; `None` on a processor for which there are none. Where its network leads
/// to a proxy, a program can connect to that.
pub(crate) fn filters(is_proxied: bool) -> Option<Filters> {
    Some([
        refused(is_proxied)?,
        missing()?,
        pretended()?,
        other_convention(),
    ])
}

fn refused(is_proxied: bool) -> Option<BpfProgram> {
    let all = REFUSED.iter().chain(REFUSED_HERE);
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        all.map(|number| (*number, Vec::new())).collect();
    if is_proxied {
        rules.remove(&libc::SYS_connect);
        rules.insert(libc::SYS_socket, any_of(unstreamed())?);
        let equal = |argument, value| {
            let (length, same) = (SeccompCmpArgLen::Dword, SeccompCmpOp::Eq);
            SeccompCondition::new(argument, length, same, value).ok()
        };
        let over = equal(1, TCP).zip(equal(2, OVER_TCP));
        let over = over.and_then(|(tcp, over)| SeccompRule::new(vec![tcp, over]).ok());
        rules.insert(libc::SYS_setsockopt, any_of(vec![over])?);
    }
    let namespaces = NAMESPACES.iter().map(|flag| {
        let flag = u64::from(flag.unsigned_abs());
        rule(
            0,
            SeccompCmpArgLen::Qword,
            SeccompCmpOp::MaskedEq(flag),
            flag,
        )
    });
    rules.insert(libc::SYS_clone, any_of(namespaces.collect())?);
    // Another process's limits: the one that watches over the run has the same user.
    let others = rule(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, 0);
    let dumps = dumps(
        1,
        vec![
            compared(2, SeccompCmpOp::Ne, 0),
            compared(3, SeccompCmpOp::Ne, 0),
        ],
    );
    rules.insert(libc::SYS_prlimit64, any_of(vec![others, dumps])?);
    // Any other kind of pair would have the kernel look for its family, or could be connected.
    let mut pairs = vec![rule(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, PAIRS)];
    pairs.extend(UNPAIRED.map(|kind| {
        rule(
            1,
            SeccompCmpArgLen::Dword,
            SeccompCmpOp::MaskedEq(0xF),
            kind,
        )
    }));
    rules.insert(libc::SYS_socketpair, any_of(pairs)?);
    let masked = |argument, bits| {
        let operator = SeccompCmpOp::MaskedEq(bits);
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, bits).ok()
    };
    for (number, mode) in MODES.iter().chain(MODES_HERE) {
        let as_owner = AS_OWNER.map(|bit| SeccompRule::new(vec![masked(*mode, bit)?]).ok());
        rules.insert(*number, any_of(as_owner.to_vec())?);
    }
    for (number, flags, mode) in MAKING.iter().chain(MAKING_HERE) {
        let both = MAKES
            .iter()
            .flat_map(|makes| AS_OWNER.map(|bit| (*makes, bit)));
        let as_owner = both.map(|(makes, bit)| {
            // What else stands there where nothing is made means nothing.
            SeccompRule::new(vec![masked(*flags, makes)?, masked(*mode, bit)?]).ok()
        });
        rules.insert(*number, any_of(as_owner.collect())?);
    }
    let terminal = TERMINAL
        .iter()
        .map(|request| rule(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, *request));
    rules.insert(libc::SYS_ioctl, any_of(terminal.collect())?);
    compiled(rules, libc::EPERM)
}

/// Sockets that are no streams of TCP by the older kind of addresses.
fn unstreamed() -> Vec<Option<SeccompRule>> {
    let unequal = |argument, value| {
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, value).ok()
    };
    let mut rules = vec![unequal(0, INTERNET).and_then(|one| SeccompRule::new(vec![one]).ok())];
    let kinds = UNSTREAMED.map(|kind| {
        rule(
            1,
            SeccompCmpArgLen::Dword,
            SeccompCmpOp::MaskedEq(0xF),
            kind,
        )
    });
    rules.extend(kinds);
    // Any other protocol would have the kernel look for it.
    let others = unequal(2, 0).zip(unequal(2, TCP));
    rules.push(others.and_then(|(none, tcp)| SeccompRule::new(vec![none, tcp]).ok()));
    rules
}

fn missing() -> Option<BpfProgram> {
    let rules = MISSING.iter().map(|number| (*number, Vec::new()));
    compiled(rules.collect(), libc::ENOSYS)
}

fn any_of(rules: Vec<Option<SeccompRule>>) -> Option<Vec<SeccompRule>> {
    rules.into_iter().collect()
}

/// A dump of what is smaller than the least is nobody's; by no dump at all, the system would have a
/// program of the machine take it. So the limit stays, and whoever wants none has what it wants.
fn pretended() -> Option<BpfProgram> {
    let mut rules = BTreeMap::new();
    // Who also asks for the old limit would be given none.
    let changes = vec![
        compared(2, SeccompCmpOp::Ne, 0),
        compared(3, SeccompCmpOp::Eq, 0),
    ];
    rules.insert(libc::SYS_prlimit64, vec![dumps(1, changes)?]);
    rules.insert(libc::SYS_setrlimit, vec![dumps(0, Vec::new())?]);
    compiled(rules, 0)
}

/// A call about the size of dumps, which this argument says, where the others are so as well.
fn dumps(argument: u8, others: Vec<Option<SeccompCondition>>) -> Option<SeccompRule> {
    let limit = u64::from(libc::RLIMIT_CORE);
    let about = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, limit);
    let mut conditions = vec![about.ok()?];
    conditions.extend(others.into_iter().collect::<Option<Vec<_>>>()?);
    SeccompRule::new(conditions).ok()
}

fn compared(argument: u8, comparison: SeccompCmpOp, value: u64) -> Option<SeccompCondition> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Qword, comparison, value).ok()
}

fn rule(
    argument: u8,
    length: SeccompCmpArgLen,
    comparison: SeccompCmpOp,
    value: u64,
) -> Option<SeccompRule> {
    let condition = SeccompCondition::new(argument, length, comparison, value).ok()?;
    SeccompRule::new(vec![condition]).ok()
}

fn compiled(rules: BTreeMap<i64, Vec<SeccompRule>>, number: i32) -> Option<BpfProgram> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH).ok()?;
    let refusal = SeccompAction::Errno(number.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refusal, architecture).ok()?;
    filter.try_into().ok()
}

/// Ends whoever makes a call whose number has a bit that no call of this architecture has.
fn other_convention() -> BpfProgram {
    // Loads the number of the call; goes to one of two answers.
    let instruction = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    vec![
        instruction(0x20, 0, 0, 0),
        instruction(0x35, 0, 1, X32),
        instruction(0x06, 0, 0, libc::SECCOMP_RET_KILL_PROCESS),
        instruction(0x06, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]
}

#[cfg(test)]
mod tests;
