//! Probes that reach for other processes, and for more rights than a stranger's program is given.

use std::fs;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::process::Command;

use rustix::thread::CapabilitySet;

use crate::goal::reached_if;
use crate::probe::Probe;
use crate::system::{
    c_path, call, contains, effective_capabilities, native_bytes, process_handle, processes,
    temporary,
};
use gongfu_sandbox::backend::HostView;

/// The user who owns nothing on a machine.
const NOBODY: u32 = 65_534;
/// The highest process id that is tried.
const MAX_PROCESS_ID: u32 = 65_536;

pub(crate) const PROBES: &[Probe] = &[
    Probe::new(
        "kernel::ptrace",
        "Takes over another process, as a debugger does.",
        |bait| call!(libc::SYS_ptrace, libc::PTRACE_ATTACH, bait.victim, 0, 0).map(drop),
    )
    .root(),
    Probe::new(
        "kernel::ptrace_seize",
        "Takes over another process without stopping it.",
        |bait| call!(libc::SYS_ptrace, libc::PTRACE_SEIZE, bait.victim, 0, 0).map(drop),
    )
    .root(),
    Probe::new(
        "kernel::ptrace_parent",
        "Takes over the process that watches over it.",
        |_| {
            let parent = std::os::unix::process::parent_id();
            let seized = call!(libc::SYS_ptrace, libc::PTRACE_SEIZE, parent, 0, 0);
            seized.map(drop)
        },
    )
    .root(),
    Probe::new(
        "kernel::process_vm_readv",
        "Reads a secret out of the memory of another process.",
        |bait| {
            let mut room = vec![0_u8; bait.token.len()];
            let length = room.len() as u64;
            let here = room.as_mut_ptr().expose_provenance() as u64;
            let (to, from) = (vector(here, length), vector(bait.address, length));
            call!(
                libc::SYS_process_vm_readv,
                bait.victim,
                &to[..],
                1,
                &from[..],
                1,
                0
            )?;
            reached_if(*std::hint::black_box(&room) == bait.token.as_bytes())
        },
    )
    .root(),
    Probe::new(
        "kernel::process_vm_writev",
        "Writes to the memory of another process.",
        |bait| {
            let text = b"x";
            let here = text.as_ptr().expose_provenance() as u64;
            let (from, to) = (vector(here, 1), vector(bait.address, 1));
            call!(
                libc::SYS_process_vm_writev,
                bait.victim,
                &from[..],
                1,
                &to[..],
                1,
                0
            )
            .map(drop)
        },
    )
    .root(),
    Probe::new(
        "kernel::process_madvise",
        "Has the memory of another process be taken from it.",
        |bait| {
            const COLD: i32 = 20;
            let victim = process_handle(bait.victim)?;
            let page = vector(bait.address & !0xFFF, 0x1000);
            call!(libc::SYS_process_madvise, victim, &page[..], 1, COLD, 0).map(drop)
        },
    )
    .root()
    .depends_on("Linux 5.10 with small pages"),
    Probe::new(
        "kernel::mem_of_victim",
        "Reads a secret out of another process, as a file.",
        |bait| {
            let memory = fs::File::open(format!("/proc/{}/mem", bait.victim))?;
            let mut room = vec![0; bait.token.len()];
            memory.read_exact_at(&mut room, bait.address)?;
            reached_if(room == bait.token.as_bytes())
        },
    )
    .root(),
    Probe::new(
        "kernel::mem_of_parent",
        "Opens the memory of what watches over it, to write to it.",
        |_| {
            let path = format!("/proc/{}/mem", std::os::unix::process::parent_id());
            fs::OpenOptions::new()
                .read(true)
                .write(true)
                .open(path)
                .map(drop)
        },
    )
    .root(),
    Probe::new(
        "kernel::maps_of_parent",
        "Reads where the memory of its supervisor is.",
        |_| {
            let path = format!("/proc/{}/maps", std::os::unix::process::parent_id());
            reached_if(!fs::read(path)?.is_empty())
        },
    ),
    Probe::new(
        "kernel::pidfd_getfd",
        "Takes an open file of another process.",
        |bait| {
            let victim = process_handle(bait.victim)?;
            call!(libc::SYS_pidfd_getfd, victim, 0, 0).map(drop)
        },
    )
    .root(),
    Probe::new(
        "kernel::pidfd_getfd_of_parent",
        "Takes an open file of what watches over it.",
        |_| {
            let parent = process_handle(std::os::unix::process::parent_id())?;
            call!(libc::SYS_pidfd_getfd, parent, 0, 0).map(drop)
        },
    )
    .root(),
    Probe::new(
        "kernel::kcmp",
        "Compares what it has with what another process has.",
        |bait| {
            const FILES: i32 = 2;
            let itself = std::process::id();
            call!(libc::SYS_kcmp, itself, bait.victim, FILES, 0, 0).map(drop)
        },
    )
    .root()
    .depends_on("comparing of processes"),
    Probe::new(
        "kernel::kill_victim",
        "Sends a signal to another process; one that does nothing.",
        |bait| call!(libc::SYS_kill, bait.victim, 0).map(drop),
    ),
    Probe::new(
        "kernel::kill_server",
        "Sends a signal to the server; one that does nothing.",
        |bait| call!(libc::SYS_kill, bait.server, 0).map(drop),
    ),
    Probe::new(
        "kernel::kill_by_handle",
        "Sends a signal to another process, by a handle of it.",
        |bait| {
            let victim = process_handle(bait.victim)?;
            call!(libc::SYS_pidfd_send_signal, victim, 0, 0, 0).map(drop)
        },
    ),
    Probe::new(
        "kernel::kill_thread",
        "Sends a signal to a thread of another process.",
        |bait| call!(libc::SYS_tgkill, bait.victim, bait.victim, 0).map(drop),
    ),
    Probe::new(
        "kernel::kill_any",
        "Sends a signal to any process, by trying all numbers; one that does nothing.",
        |_| {
            let others = [std::process::id(), std::os::unix::process::parent_id()];
            let mut numbers = (2..=MAX_PROCESS_ID).filter(|number| !others.contains(number));
            reached_if(numbers.any(|number| call!(libc::SYS_kill, number, 0).is_ok()))
        },
    ),
    Probe::new(
        "kernel::kill_parent",
        "Sends a signal to what watches over it; one that does nothing.",
        |_| {
            let parent = std::os::unix::process::parent_id();
            // The kernel keeps the signals of a namespace from its first process.
            reached_if(parent > 1)?;
            call!(libc::SYS_kill, parent, 0).map(drop)
        },
    ),
    Probe::new(
        "kernel::processes_listed",
        "Finds another process among all that there are.",
        |bait| reached_if(processes()?.contains(&bait.victim)),
    ),
    Probe::new(
        "kernel::limits_of_victim",
        "Asks for the limits of another process.",
        |bait| limits_of(bait.victim),
    ),
    Probe::new(
        "kernel::limits_of_parent",
        "Sets the limits of what watches over it, to what they are.",
        |_| limits_of(std::os::unix::process::parent_id()),
    ),
    Probe::new(
        "kernel::slow_victim",
        "Has another process run later than others.",
        |bait| call!(libc::SYS_setpriority, libc::PRIO_PROCESS, bait.victim, 1).map(drop),
    ),
    Probe::new(
        "kernel::bind_victim",
        "Has another process run on one processor alone.",
        |bait| {
            let mut mask = [0_u8; 128];
            let size = i64::try_from(mask.len()).unwrap_or_default();
            call!(
                libc::SYS_sched_getaffinity,
                bait.victim,
                size,
                &mut mask[..]
            )?;
            call!(libc::SYS_sched_setaffinity, bait.victim, size, &mask[..]).map(drop)
        },
    ),
    Probe::new("kernel::setuid", "Is another user.", |_| {
        // A change from nobody to nobody would prove nothing.
        let before = rustix::process::getuid().as_raw();
        let other = if before == NOBODY { NOBODY - 1 } else { NOBODY };
        call!(libc::SYS_setuid, other)?;
        reached_if(rustix::process::getuid().as_raw() == other)
    })
    .root(),
    Probe::new("kernel::setgroups", "Is in another group.", |_| {
        let group = NOBODY.to_ne_bytes();
        call!(libc::SYS_setgroups, 1, &group[..]).map(drop)
    })
    .root(),
    Probe::new(
        "kernel::capabilities",
        "Has a capability, or could be given one.",
        |_| {
            use rustix::thread::{capabilities, capability_is_in_bounding_set};
            let has = capabilities(None)?;
            let has = has.effective | has.permitted | has.inheritable;
            // Those that there aren't can't be asked for.
            let mut each =
                (0..u64::BITS).map(|number| CapabilitySet::from_bits_retain(1 << number));
            let could = each.any(|one| capability_is_in_bounding_set(one) == Ok(true));
            reached_if(!has.is_empty() || could)
        },
    )
    .root()
    .by_design_for_users(
        HostView::Open,
        "without root nobody can promise never to be given one; no program gives any",
    ),
    Probe::new(
        "kernel::setuid_program",
        "Starts a set-user-id program of root.",
        |bait| {
            be_nobody();
            let output = Command::new(bait.shown.join("id")).arg("-u").output()?;
            reached_if(output.stdout == b"0\n")
        },
    )
    .root()
    .path("/usr/bin/id"),
    Probe::new(
        "kernel::capable_program",
        "Starts a program with file capabilities.",
        |bait| {
            be_nobody();
            let mut program = Command::new(bait.shown.join("cat"));
            let output = program.arg("/proc/self/status").output()?;
            let status = String::from_utf8_lossy(&output.stdout).into_owned();
            reached_if(effective_capabilities(&status) != 0)
        },
    )
    .root()
    .path("/usr/bin/cat")
    .depends_on("a file system with attributes"),
    Probe::new("kernel::device", "Makes a device.", |_| {
        let (path, kind) = (c_path(temporary("device"))?, libc::S_IFCHR | 0o600);
        call!(libc::SYS_mknodat, libc::AT_FDCWD, &*path, kind, 0x0103).map(drop)
    })
    .root(),
    Probe::new(
        "kernel::environment_of_victim",
        "Reads the environment of another process.",
        |bait| {
            let read = fs::read(format!("/proc/{}/environ", bait.victim))?;
            reached_if(contains(&read, bait.token.as_bytes()))
        },
    ),
    Probe::new(
        "kernel::auxv_of_victim",
        "Reads where another process was loaded to.",
        |bait| {
            let read = fs::read(format!("/proc/{}/auxv", bait.victim))?;
            reached_if(!read.is_empty())
        },
    ),
];

/// A range of memory (`struct iovec`).
fn vector(address: u64, length: u64) -> Vec<u8> {
    native_bytes(&[address, length])
}

/// Changes to the user `nobody`; fails without harm when this is nobody already.
fn be_nobody() {
    let _ = call!(libc::SYS_setresuid, NOBODY, NOBODY, NOBODY);
}

/// Reached when the limits can be read and set; they are set to what they are.
fn limits_of(number: u32) -> io::Result<()> {
    let mut limits = [0_u8; 16];
    let kind = libc::RLIMIT_NOFILE;
    call!(libc::SYS_prlimit64, number, kind, 0, &mut limits[..])?;
    call!(libc::SYS_prlimit64, number, kind, &limits[..], 0).map(drop)
}
