//! The refused system calls and their arguments, as data.
//!
//! Two things are made of it: the filters of a program (`seccomp.rs`), and the profile of a container
//! (`gongfu-docker`).

/// A call by its name and its number.
pub type Call = (&'static str, i64);

/// The comparison of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// It is this value.
    Same,
    /// It is any other value.
    Other,
    /// In these bits it is the value; the others don't count.
    Masked(u64),
}

/// A condition on an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Condition {
    /// The position of the argument.
    pub argument: u8,
    /// All of it counts; else the kernel looks only at its low half.
    pub is_whole: bool,
    /// The comparison.
    pub operator: Operator,
    /// The value that it is compared with.
    pub value: u64,
}

/// A call that is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The call.
    pub call: Call,
    /// The cases, in each of which all conditions hold; without cases it is refused with any arguments.
    pub cases: Vec<Vec<Condition>>,
}

/// The call of this constant of the library.
macro_rules! call {
    ($name:ident) => {
        (stringify!($name), libc::$name)
    };
}

/// The calls of these constants.
macro_rules! calls {
    ($($name:ident),* $(,)?) => {
        &[$(call!($name)),*]
    };
}

/// Refused with any arguments.
pub(super) const REFUSED: &[Call] = calls![
    // Mounts.
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_move_mount,
    SYS_open_tree,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_mount_setattr,
    // Namespaces.
    SYS_unshare,
    SYS_setns,
    // Objects of the kernel that other users share.
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_fanotify_init,
    SYS_fanotify_mark,
    SYS_lookup_dcookie,
    // Other processes.
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_process_madvise,
    SYS_process_mrelease,
    SYS_pidfd_getfd,
    SYS_kcmp,
    SYS_move_pages,
    SYS_migrate_pages,
    // Files past their names.
    SYS_open_by_handle_at,
    SYS_name_to_handle_at,
    // The machine.
    SYS_kexec_load,
    SYS_kexec_file_load,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_syslog,
    SYS_acct,
    SYS_quotactl,
    SYS_quotactl_fd,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_clock_adjtime,
    SYS_adjtimex,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_vhangup,
    SYS_nfsservctl,
    // Networks; a pair has both of its ends here.
    SYS_socket,
    SYS_bind,
    SYS_connect,
    SYS_listen,
];

/// Refused on this architecture only.
#[cfg(target_arch = "x86_64")]
pub(super) const REFUSED_HERE: &[Call] = calls![
    SYS_inotify_init,
    SYS_iopl,
    SYS_ioperm,
    SYS_modify_ldt,
    SYS__sysctl,
    SYS_uselib,
    SYS_ustat,
    SYS_sysfs,
];
#[cfg(not(target_arch = "x86_64"))]
pub(super) const REFUSED_HERE: &[Call] = &[];

/// Reported as missing, so that a program uses another way: an older call, whose arguments a filter can check,
/// or memory that is counted, as that of unmapped files isn't. Asynchronous IO of the old kind is rarely used, and
/// watches of files are few for each user: a run would take those of the server.
pub const MISSING: &[Call] = calls![
    SYS_clone3,
    SYS_openat2,
    SYS_inotify_init1,
    SYS_io_setup,
    SYS_memfd_create,
    SYS_memfd_secret,
    SYS_shmget,
    SYS_msgget,
    SYS_semget,
];

/// Refused as well: calls that are newer than the library which names the others. They have the same number on
/// every architecture.
pub(super) const NEWER: &[Call] = &[
    ("SYS_statmount", 457),
    ("SYS_listmount", 458),
    ("SYS_open_tree_attr", 467),
    ("SYS_listns", 470),
];
const FCHMODAT2: i64 = 452;

/// The namespaces that `clone` can make.
pub(super) const NAMESPACES: [i32; 7] = [
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
/// The kinds of sockets that aren't streams of bytes or of messages, such as datagrams and raw sockets.
const UNPAIRED: [u64; 6] = [0, 2, 3, 4, 6, 10];

/// The calls that set the mode of a file, with the position of that argument.
pub(super) const MODES: &[(Call, u8)] = &[
    (call!(SYS_fchmod), 1),
    (call!(SYS_fchmodat), 2),
    (("SYS_fchmodat2", FCHMODAT2), 2),
    (call!(SYS_mknodat), 2),
];
/// Those of this architecture only.
#[cfg(target_arch = "x86_64")]
pub(super) const MODES_HERE: &[(Call, u8)] = &[
    (call!(SYS_chmod), 1),
    (call!(SYS_mknod), 1),
    (call!(SYS_creat), 1),
];
#[cfg(not(target_arch = "x86_64"))]
pub(super) const MODES_HERE: &[(Call, u8)] = &[];

/// The calls that may create a file, with the positions of the flags and of the mode.
pub(super) const MAKING: &[(Call, u8, u8)] = &[(call!(SYS_openat), 2, 3)];
/// Those of this architecture only.
#[cfg(target_arch = "x86_64")]
pub(super) const MAKING_HERE: &[(Call, u8, u8)] = &[(call!(SYS_open), 1, 2)];
#[cfg(not(target_arch = "x86_64"))]
pub(super) const MAKING_HERE: &[(Call, u8, u8)] = &[];

/// The bits by which a file is executed as its owner or its group: they would count outside as well.
const AS_OWNER: [u64; 2] = [0o4000, 0o2000];
/// Flags by which a file is created, with a name and without.
const MAKES: [u64; 2] = [O_CREAT, O_TMPFILE];
const O_CREAT: u64 = libc::O_CREAT.unsigned_abs() as u64;
/// Without the bit of `O_DIRECTORY`.
const O_TMPFILE: u64 = (libc::O_TMPFILE & !libc::O_DIRECTORY).unsigned_abs() as u64;

/// The requests that type into a terminal (`TIOCSTI`, `TIOCLINUX`); the kernel looks only at the low 32 bits.
pub(super) const TERMINAL: [u64; 2] = [0x5412, 0x541C];

/// The rules for all refused calls.
pub fn refused() -> Vec<Rule> {
    let part = |argument, operator, value| Condition {
        argument,
        is_whole: false,
        operator,
        value,
    };
    let whole = |argument, operator, value| Condition {
        is_whole: true,
        ..part(argument, operator, value)
    };
    let bits = |condition: Condition| Condition {
        operator: Operator::Masked(condition.value),
        ..condition
    };
    let rule = |call, cases| Rule { call, cases };
    let always = REFUSED.iter().chain(REFUSED_HERE).chain(NEWER);
    let mut rules: Vec<Rule> = always.map(|call| rule(*call, Vec::new())).collect();
    let namespaces = NAMESPACES.iter().map(|flag| {
        let flag = u64::from(flag.unsigned_abs());
        vec![bits(whole(0, Operator::Same, flag))]
    });
    rules.push(rule(call!(SYS_clone), namespaces.collect()));
    // Another process's limits: the one that watches over the run has the same user.
    let others = vec![part(0, Operator::Other, 0)];
    let dumps = vec![
        part(1, Operator::Same, u64::from(libc::RLIMIT_CORE)),
        whole(2, Operator::Other, 0),
        whole(3, Operator::Other, 0),
    ];
    rules.push(rule(call!(SYS_prlimit64), vec![others, dumps]));
    // Any other kind of pair would have the kernel look for its family, or could be connected.
    let mut pairs = vec![vec![part(0, Operator::Other, PAIRS)]];
    pairs.extend(UNPAIRED.map(|kind| vec![part(1, Operator::Masked(0xF), kind)]));
    rules.push(rule(call!(SYS_socketpair), pairs));
    for (call, mode) in MODES.iter().chain(MODES_HERE) {
        let as_owner = AS_OWNER.map(|bit| vec![bits(part(*mode, Operator::Same, bit))]);
        rules.push(rule(*call, as_owner.to_vec()));
    }
    for (call, flags, mode) in MAKING.iter().chain(MAKING_HERE) {
        let makes = MAKES.iter().flat_map(|makes| {
            // Without these flags the mode is ignored.
            AS_OWNER.map(|bit| {
                vec![
                    bits(part(*flags, Operator::Same, *makes)),
                    bits(part(*mode, Operator::Same, bit)),
                ]
            })
        });
        rules.push(rule(*call, makes.collect()));
    }
    let terminal = TERMINAL.map(|request| vec![part(1, Operator::Same, request)]);
    rules.push(rule(call!(SYS_ioctl), terminal.to_vec()));
    rules
}
