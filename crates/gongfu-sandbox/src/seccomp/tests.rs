//! Tests of the filters, which are run over calls as the kernel would run them.

use seccompiler::{BpfProgram, sock_filter};

use super::table::{
    MAKING, MAKING_HERE, MISSING, MODES, MODES_HERE, NAMESPACES, NEWER, REFUSED, REFUSED_HERE,
    TERMINAL,
};
use super::{filters, shared_rules};

#[cfg(target_arch = "x86_64")]
const HERE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const HERE: u32 = 0xC000_00B7;
/// 32-bit programs of the same processors.
const FOREIGN: [u32; 3] = [0x4000_0003, 0x4000_0028, 0x8000_0016];

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const KILL: u32 = libc::SECCOMP_RET_KILL_PROCESS;

/// The answer of an error by its number.
fn error(number: i32) -> u32 {
    libc::SECCOMP_RET_ERRNO | u32::try_from(number).unwrap()
}

/// A call as the kernel shows it to a filter (`struct seccomp_data`), in words.
fn call(number: i64, architecture: u32, arguments: [u64; 6]) -> [u32; 16] {
    let mut words = [0; 16];
    words[0] = u32::try_from(number & 0xFFFF_FFFF).unwrap();
    words[1] = architecture;
    for (at, argument) in arguments.iter().enumerate() {
        words[4 + 2 * at] = u32::try_from(argument & 0xFFFF_FFFF).unwrap();
        words[5 + 2 * at] = u32::try_from(argument >> 32).unwrap();
    }
    words
}

/// Runs one program (the part of classic BPF that filters are written in).
fn answer(program: &[sock_filter], words: &[u32; 16]) -> u32 {
    let (mut at, mut value) = (0_usize, 0_u32);
    // Jumps go forward alone, so a program ends.
    for _ in 0..=program.len() {
        let one = &program[at];
        at += 1;
        let mut jump = |holds: bool| at += usize::from(if holds { one.jt } else { one.jf });
        match one.code {
            0x20 => value = words[usize::try_from(one.k).unwrap() / 4],
            0x54 => value &= one.k,
            0x05 => at += usize::try_from(one.k).unwrap(),
            0x15 => jump(value == one.k),
            0x25 => jump(value > one.k),
            0x35 => jump(value >= one.k),
            0x45 => jump(value & one.k != 0),
            0x06 => return one.k,
            code => panic!("a filter has no instruction {code:#x}"),
        }
    }
    panic!("the program doesn't end");
}

/// The kernel's answer: of all filters the strictest decides.
fn judged(words: &[u32; 16]) -> u32 {
    strictest(filters(false).unwrap(), words)
}

fn strictest(filters: &[BpfProgram], words: &[u32; 16]) -> u32 {
    let answers = filters.iter().map(|filter| answer(filter, words));
    let strictness = |answer: &u32| match answer & 0xFFFF_0000 {
        KILL => 0,
        ALLOW => 2,
        _ => 1,
    };
    answers.min_by_key(strictness).unwrap()
}

fn plain(number: i64) -> u32 {
    judged(&call(number, HERE, [0; 6]))
}

#[test]
fn refused_call_is_refused_with_any_argument() {
    for (_, number) in REFUSED.iter().chain(REFUSED_HERE).chain(NEWER) {
        for arguments in [[0; 6], [u64::MAX; 6], [1, 2, 3, 4, 5, 6]] {
            let judged = judged(&call(*number, HERE, arguments));
            assert_eq!(judged, error(libc::EPERM), "{number} {arguments:x?}");
        }
    }
    for (_, number) in MISSING {
        assert_eq!(plain(*number), error(libc::ENOSYS), "{number}");
    }
}

#[test]
fn calls_of_usual_programs_are_allowed() {
    for number in [
        libc::SYS_read,
        libc::SYS_write,
        libc::SYS_openat,
        libc::SYS_execve,
        libc::SYS_mmap,
        libc::SYS_clone,
        libc::SYS_wait4,
        libc::SYS_kill,
        libc::SYS_prctl,
        libc::SYS_seccomp,
        libc::SYS_ioctl,
        libc::SYS_prlimit64,
        libc::SYS_getrandom,
        libc::SYS_futex,
        libc::SYS_pidfd_open,
        libc::SYS_close_range,
        libc::SYS_statx,
    ] {
        assert_eq!(plain(number), ALLOW, "{number}");
    }
}

#[test]
fn clone_may_make_processes_but_no_namespaces() {
    let clone = |flags: u64| judged(&call(libc::SYS_clone, HERE, [flags, 0, 0, 0, 0, 0]));
    let thread = libc::CLONE_VM | libc::CLONE_THREAD | libc::CLONE_SIGHAND | libc::CLONE_FILES;
    let thread = u64::from(thread.unsigned_abs());
    assert_eq!(clone(17), ALLOW);
    assert_eq!(clone(thread), ALLOW);
    for flag in NAMESPACES {
        let flag = u64::from(flag.unsigned_abs());
        for with in [0, 17, thread, 0xFFFF_FFFF_0000_0000] {
            assert_eq!(
                clone(flag | with),
                error(libc::EPERM),
                "{flag:#x} {with:#x}"
            );
        }
    }
}

#[test]
fn socket_pair_must_be_of_streams_and_limits_the_own_ones() {
    let pair = |family, kind| {
        judged(&call(
            libc::SYS_socketpair,
            HERE,
            [family, kind, 0, 0, 0, 0],
        ))
    };
    for kind in [1, 5, 1 | 0o2_000_000, 5 | 0o4000] {
        assert_eq!(pair(1, kind), ALLOW, "{kind}");
        assert_eq!(pair(16, kind), error(libc::EPERM), "{kind}");
    }
    for kind in [0, 2, 3, 4, 2 | 0o2_000_000] {
        assert_eq!(pair(1, kind), error(libc::EPERM), "{kind}");
    }
    for process in [1, 2, 1 << 31] {
        let judged = judged(&call(libc::SYS_prlimit64, HERE, [process, 7, 0, 0, 0, 0]));
        assert_eq!(judged, error(libc::EPERM), "{process}");
    }
}

#[test]
fn set_user_id_bit_is_refused() {
    let with = |number, pairs: &[(usize, u64)]| {
        let mut arguments = [0; 6];
        for (at, value) in pairs {
            arguments[*at] = *value;
        }
        judged(&call(number, HERE, arguments))
    };
    let refused = error(libc::EPERM);
    let modes = MODES.iter().chain(MODES_HERE);
    for (number, at) in modes.map(|((_, number), at)| (*number, usize::from(*at))) {
        for mode in [0, 0o644, 0o755, 0o1777, 0o100_644, 0o20600] {
            assert_eq!(with(number, &[(at, mode)]), ALLOW, "{number} {mode:o}");
        }
        for mode in [0o4000, 0o2000, 0o4755, 0o2755, 0o6777, 0o104_755] {
            for high in [0, 1 << 32, 0xFFFF_FFFF << 32] {
                let judged = with(number, &[(at, mode | high)]);
                assert_eq!(judged, refused, "{number} {mode:o}");
            }
        }
    }
    let making = MAKING.iter().chain(MAKING_HERE);
    for ((_, number), flags, mode) in making.copied() {
        let (flags, mode) = (usize::from(flags), usize::from(mode));
        let [create, unnamed] =
            [libc::O_CREAT, libc::O_TMPFILE].map(|flag| u64::from(flag.unsigned_abs()));
        for made in [create, unnamed, create | 0o2_000_002] {
            for bits in [0o4755, 0o2755, 0o6000] {
                assert_eq!(
                    with(number, &[(flags, made), (mode, bits)]),
                    refused,
                    "{made:o} {bits:o}"
                );
            }
            assert_eq!(with(number, &[(flags, made), (mode, 0o1777)]), ALLOW);
        }
        // A folder is opened with one of the bits of an unnamed file.
        for opened in [0, u64::from(libc::O_DIRECTORY.unsigned_abs()), 0o2_000_000] {
            assert_eq!(
                with(number, &[(flags, opened), (mode, 0o7777)]),
                ALLOW,
                "{opened:o}"
            );
        }
    }
}

#[test]
fn size_of_core_dumps_can_not_be_changed() {
    let limit = |arguments| judged(&call(libc::SYS_prlimit64, HERE, arguments));
    let dumps = u64::from(libc::RLIMIT_CORE);
    for pointer in [1, 1 << 32, u64::MAX] {
        assert_eq!(limit([0, dumps, pointer, 0, 0, 0]), error(0));
        assert_eq!(limit([0, dumps, pointer, 8, 0, 0]), error(libc::EPERM));
        assert_eq!(limit([0, dumps | 1 << 32, pointer, 0, 0, 0]), error(0));
        // It may be read, and others may be set.
        assert_eq!(limit([0, dumps, 0, pointer, 0, 0]), ALLOW);
        assert_eq!(limit([0, 7, pointer, 0, 0, 0]), ALLOW);
        assert_eq!(limit([1, dumps, pointer, 0, 0, 0]), error(libc::EPERM));
    }
    let plain = |arguments| judged(&call(libc::SYS_setrlimit, HERE, arguments));
    assert_eq!(plain([dumps, 8, 0, 0, 0, 0]), error(0));
    assert_eq!(plain([7, 8, 0, 0, 0, 0]), ALLOW);
}

#[test]
fn typing_into_a_terminal_is_refused() {
    for request in TERMINAL {
        // The kernel takes the low half alone, so nothing in the high one may hide it.
        for high in [0, 1, 0xFFFF_FFFF, 0x8000_0000] {
            let arguments = [0, request | high << 32, 0, 0, 0, 0];
            let judged = judged(&call(libc::SYS_ioctl, HERE, arguments));
            assert_eq!(judged, error(libc::EPERM), "{request:#x} {high:#x}");
        }
    }
    let window = judged(&call(libc::SYS_ioctl, HERE, [0, 0x5413, 0, 0, 0, 0]));
    assert_eq!(window, ALLOW);
}

#[test]
fn call_of_another_convention_kills_the_program() {
    for architecture in FOREIGN {
        for number in 0..600 {
            let judged = judged(&call(number, architecture, [0; 6]));
            assert_eq!(judged, KILL, "{architecture:#x} {number}");
        }
    }
    for number in [0x4000_0000, 0x4000_0001, 0x4000_0208, 0xFFFF_FFFF] {
        assert_eq!(plain(number), KILL, "{number:#x}");
    }
}

#[test]
fn shared_rules_let_a_program_change_only_itself() {
    let refused = error(libc::EPERM);
    for is_same in [false, true] {
        let filters = shared_rules::filters(is_same).unwrap();
        let judged = |number, arguments| strictest(&filters, &call(number, HERE, arguments));
        for (number, itself) in [(libc::SYS_setpriority, 0), (libc::SYS_ioprio_set, 1)] {
            assert_eq!(judged(number, [itself, 0, 5, 0, 0, 0]), ALLOW);
            // Another process; then whole groups and users, their own as well.
            for (of, whose) in [(itself, 1), (itself + 1, 0), (itself + 2, 0), (2, 65_534)] {
                assert_eq!(
                    judged(number, [of, whose, 5, 0, 0, 0]),
                    refused,
                    "{of} {whose}"
                );
            }
        }
        for number in [
            libc::SYS_sched_setaffinity,
            libc::SYS_sched_setattr,
            libc::SYS_sched_setparam,
            libc::SYS_sched_setscheduler,
        ] {
            assert_eq!(judged(number, [0; 6]), ALLOW);
            assert_eq!(judged(number, [1, 0, 0, 0, 0, 0]), refused);
        }
    }
}
