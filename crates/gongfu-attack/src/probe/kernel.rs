//! Probes that make calls of the kernel which could get around a sandbox: namespaces, modules, `io_uring`
//! and others that few programs need.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;

use crate::goal::{looked_at, reached_if};
use crate::probe::Probe;
use crate::system::{call, native_bytes, process_handle};

/// The requests that type into a terminal and paste into a console. The library has them with a type
/// that differs by platform.
const TIOCSTI: u64 = 0x5412;
const TIOCLINUX: u64 = 0x541C;

/// The feature that lets users other than root make namespaces.
const USER_NAMESPACES: &str = "user namespaces for everybody";

pub(crate) const PROBES: &[Probe] = &[
    Probe::new(
        "kernel::unshare_user",
        "Moves into a user namespace, in which it has every capability.",
        |_| call!(libc::SYS_unshare, libc::CLONE_NEWUSER).map(drop),
    )
    .depends_on(USER_NAMESPACES),
    Probe::new(
        "kernel::unshare_any",
        "Moves into any kind of namespace.",
        |_| {
            let kinds = [
                libc::CLONE_NEWNS,
                libc::CLONE_NEWUTS,
                libc::CLONE_NEWIPC,
                libc::CLONE_NEWNET,
                libc::CLONE_NEWPID,
                libc::CLONE_NEWCGROUP,
            ];
            let mut kinds = kinds.into_iter();
            reached_if(kinds.any(|kind| call!(libc::SYS_unshare, kind).is_ok()))
        },
    )
    .root(),
    Probe::new(
        "kernel::clone_user",
        "Begins a process in a user namespace.",
        |_| {
            born(call!(
                libc::SYS_clone,
                libc::CLONE_NEWUSER | libc::SIGCHLD,
                0,
                0,
                0,
                0
            ))
        },
    )
    .depends_on(USER_NAMESPACES),
    Probe::new(
        "kernel::clone3_user",
        "Begins a process in a user namespace by the call whose arguments no filter sees.",
        |_| {
            // The flags come first, and the signal that tells of its end fifth.
            let mut how = [0_u64; 11];
            how[0] = u64::from(libc::CLONE_NEWUSER.unsigned_abs());
            how[4] = u64::from(libc::SIGCHLD.unsigned_abs());
            let how = native_bytes(&how);
            born(call!(libc::SYS_clone3, &how[..], 88))
        },
    )
    .depends_on(USER_NAMESPACES),
    Probe::new(
        "kernel::setns",
        "Moves into a network namespace that it knows by a file.",
        |_| {
            let namespace = File::open("/proc/self/ns/net")?;
            call!(libc::SYS_setns, namespace.as_raw_fd(), 0).map(drop)
        },
    )
    .root(),
    Probe::new(
        "kernel::setns_of_victim",
        "Moves into the namespaces of another process.",
        |bait| {
            let victim = process_handle(bait.victim)?;
            call!(libc::SYS_setns, victim, libc::CLONE_NEWNET).map(drop)
        },
    )
    .root(),
    Probe::new("kernel::add_key", "Keeps a key in the kernel.", |_| {
        let keyring = -2;
        call!(
            libc::SYS_add_key,
            c"user",
            c"gongfu-probe",
            c"x",
            1,
            keyring
        )
        .map(drop)
    })
    .depends_on("keys in the kernel"),
    Probe::new(
        "kernel::keyctl",
        "Asks for the keys of its session.",
        |_| call!(libc::SYS_keyctl, 0, -3, 1).map(drop),
    )
    .depends_on("keys in the kernel"),
    Probe::new(
        "kernel::request_key",
        "Asks for a key, for which the kernel may begin a program as root.",
        |_| {
            let answer = call!(libc::SYS_request_key, c"user", c"gongfu-no-such-key", 0, 0);
            looked_at(answer, &[libc::ENOKEY])
        },
    )
    .depends_on("keys in the kernel"),
    Probe::new(
        "kernel::bpf",
        "Loads something that runs in the kernel.",
        |_| {
            let mut attributes = [0_u8; 128];
            // A table of one entry.
            for (place, value) in [(0, 2), (4, 4), (8, 4), (12, 1)] {
                if let Some(byte) = attributes.get_mut(place) {
                    *byte = value;
                }
            }
            call!(libc::SYS_bpf, 0, &attributes[..], 128).map(drop)
        },
    )
    .root()
    .depends_on("programs in the kernel"),
    Probe::new(
        "kernel::perf_event_open",
        "Watches what the processor does.",
        |_| {
            let mut attributes = [0_u8; 128];
            // A software counter, in a structure of this size.
            for (place, value) in [(0, 1), (4, 128)] {
                if let Some(byte) = attributes.get_mut(place) {
                    *byte = value;
                }
            }
            call!(libc::SYS_perf_event_open, &attributes[..], 0, -1, -1, 0).map(drop)
        },
    )
    .root()
    .depends_on("counters of events"),
    Probe::new(
        "kernel::userfaultfd",
        "Takes over what happens when memory is missing.",
        |_| call!(libc::SYS_userfaultfd, libc::O_CLOEXEC).map(drop),
    )
    .root()
    .depends_on("faults that a program can handle"),
    Probe::new(
        "kernel::io_uring",
        "Has calls be made by the kernel, past all filters.",
        |_| {
            let mut parameters = [0_u8; 120];
            call!(libc::SYS_io_uring_setup, 4, &mut parameters[..]).map(drop)
        },
    )
    .depends_on("io_uring that isn't disabled"),
    Probe::new(
        "kernel::fanotify",
        "Has itself asked about every file that anybody opens.",
        |_| call!(libc::SYS_fanotify_init, 0, libc::O_RDONLY).map(drop),
    )
    .root()
    .depends_on("fanotify"),
    Probe::new(
        "kernel::log",
        "Asks for the messages of the kernel.",
        |_| call!(libc::SYS_syslog, 10, 0, 0).map(drop),
    )
    .root(),
    Probe::new(
        "kernel::sethostname",
        "Sets what the machine is called, to nothing that could be.",
        |_| looked_at(call!(libc::SYS_sethostname, c"x", -1), &[libc::EINVAL]),
    )
    .root(),
    Probe::new(
        "kernel::setdomainname",
        "Sets what the machine belongs to, to nothing that could be.",
        |_| looked_at(call!(libc::SYS_setdomainname, c"x", -1), &[libc::EINVAL]),
    )
    .root(),
    Probe::new(
        "kernel::settimeofday",
        "Sets the clock, to no time.",
        |_| call!(libc::SYS_settimeofday, 0, 0).map(drop),
    )
    .root(),
    Probe::new(
        "kernel::clock_adjtime",
        "Makes the call that has the clock run faster.",
        |_| {
            let mut how = [0_u8; 512];
            call!(libc::SYS_clock_adjtime, 0, &mut how[..]).map(drop)
        },
    ),
    Probe::new(
        "kernel::reboot",
        "Makes the call that ends the machine, without its password.",
        |_| looked_at(call!(libc::SYS_reboot, 0, 0, 0, 0), &[libc::EINVAL]),
    )
    .root(),
    Probe::new(
        "kernel::kexec",
        "Makes the call that begins another kernel, with flags that there aren't.",
        |_| {
            let answer = call!(libc::SYS_kexec_load, 0, 0, 0, 0xFFFF);
            looked_at(answer, &[libc::EINVAL])
        },
    )
    .root()
    .depends_on("a kernel that begins others"),
    Probe::new(
        "kernel::init_module",
        "Loads nothing as a module into the kernel.",
        |_| {
            let answer = call!(libc::SYS_init_module, c"", 0, c"");
            looked_at(answer, &[libc::ENOEXEC, libc::EINVAL, libc::EFAULT])
        },
    )
    .root()
    .depends_on("modules"),
    Probe::new(
        "kernel::finit_module",
        "Loads no file as a module into the kernel.",
        |_| {
            let answer = call!(libc::SYS_finit_module, -1, c"", 0);
            looked_at(answer, &[libc::EBADF])
        },
    )
    .root()
    .depends_on("modules"),
    Probe::new(
        "kernel::delete_module",
        "Takes a module out of the kernel that isn't there.",
        |_| {
            let answer = call!(
                libc::SYS_delete_module,
                c"gongfu_no_such_module",
                libc::O_NONBLOCK
            );
            looked_at(answer, &[libc::ENOENT])
        },
    )
    .root()
    .depends_on("modules that can be removed"),
    Probe::new(
        "kernel::acct",
        "Has the kernel write down what everybody does, to a file that isn't there.",
        |_| looked_at(call!(libc::SYS_acct, c"/no/such/file"), &[libc::ENOENT]),
    )
    .root()
    .depends_on("accounting of processes"),
    Probe::new(
        "kernel::swapon",
        "Has a file that isn't there be used as memory.",
        |_| {
            looked_at(
                call!(libc::SYS_swapon, c"/no/such/file", 0),
                &[libc::ENOENT],
            )
        },
    )
    .root()
    .depends_on("swapping"),
    Probe::new(
        "kernel::quotactl",
        "Asks about the quota of a disk that isn't there.",
        |_| {
            // Q_GETINFO of users.
            let command = 0x8000_0500_u32;
            let answer = call!(libc::SYS_quotactl, command, c"/no/such/disk", 0, 0);
            looked_at(answer, &[libc::ENOENT])
        },
    )
    .depends_on("quotas"),
    #[cfg(target_arch = "x86_64")]
    Probe::new(
        "kernel::ioperm",
        "Speaks with a port of the machine itself.",
        |_| call!(libc::SYS_ioperm, 0x80, 1, 1).map(drop),
    )
    .root()
    .depends_on("ports"),
    #[cfg(target_arch = "x86_64")]
    Probe::new(
        "kernel::iopl",
        "Speaks with all ports of the machine.",
        |_| call!(libc::SYS_iopl, 3).map(drop),
    )
    .root()
    .depends_on("ports"),
    #[cfg(target_arch = "x86_64")]
    Probe::new(
        "kernel::modify_ldt",
        "Asks for the table of its segments.",
        |_| {
            let mut room = [0_u8; 64];
            call!(libc::SYS_modify_ldt, 0, &mut room[..], 64).map(drop)
        },
    )
    .depends_on("segments"),
    #[cfg(target_arch = "x86_64")]
    Probe::new(
        "kernel::x32_calls",
        "Makes a call by the x32 convention, which filters forget.",
        |_| {
            // Most kernels have it not, and say so: they looked at it.
            let answer = call!(0x4000_0000 | libc::SYS_getpid);
            looked_at(answer, &[libc::ENOSYS])
        },
    ),
    #[cfg(target_arch = "x86_64")]
    Probe::new(
        "kernel::i386_calls",
        "Makes a call as 32-bit programs do, whose numbers are others.",
        |_| {
            const GETPID: u32 = 20;
            reached_if(gongfu_sandbox::syscall::of_a_32_bit_program(GETPID) > 0)
        },
    )
    .depends_on("32-bit programs"),
    Probe::new(
        "kernel::tiocsti",
        "Types into a terminal of its own, as into that of its starter.",
        |_| terminal(),
    )
    .root()
    .path("/dev/ptmx"),
    Probe::new(
        "kernel::tiocsti_call",
        "Makes the call that types into a terminal.",
        |_| typed(TIOCSTI),
    ),
    Probe::new(
        "kernel::tiocsti_high_bits",
        "Makes the call that types into a terminal, hidden by bits that the kernel doesn't look at.",
        |_| typed(TIOCSTI | 1 << 32),
    ),
    Probe::new(
        "kernel::tioclinux_call",
        "Makes the call that pastes into a console.",
        |_| typed(TIOCLINUX),
    ),
    Probe::new(
        "kernel::tioclinux_high_bits",
        "Makes the call that pastes into a console, hidden by bits that the kernel doesn't look at.",
        |_| typed(TIOCLINUX | 1 << 63),
    ),
];

/// Reached when a process was started; that one ends at once.
#[expect(
    clippy::disallowed_methods,
    reason = "it is another process, which has nothing to do"
)]
fn born(answer: io::Result<i64>) -> io::Result<()> {
    match answer? {
        0 => std::process::exit(0),
        _ => Ok(()),
    }
}

/// Makes the request with a file that is no terminal.
fn typed(request: u64) -> io::Result<()> {
    let nothing = File::open("/dev/null")?;
    let answer = call!(libc::SYS_ioctl, nothing.as_raw_fd(), request, c"x");
    looked_at(answer, &[libc::ENOTTY])
}

/// Makes a terminal, starts a session on it, and types into it.
fn terminal() -> io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.read(true).write(true);
    let master = options.open("/dev/ptmx")?;
    let mut number = [0_u8; 4];
    let handle = master.as_raw_fd();
    call!(libc::SYS_ioctl, handle, libc::TIOCSPTLCK, &[0_u8; 4][..])?;
    call!(libc::SYS_ioctl, handle, libc::TIOCGPTN, &mut number[..])?;
    call!(libc::SYS_setsid)?;
    let terminal = options.open(format!("/dev/pts/{}", u32::from_ne_bytes(number)))?;
    call!(libc::SYS_ioctl, terminal.as_raw_fd(), libc::TIOCSCTTY, 0)?;
    call!(libc::SYS_ioctl, terminal.as_raw_fd(), TIOCSTI, c"x")?;
    // Closing this end would hang up the terminal, and so end this process.
    std::mem::forget(master);
    Ok(())
}
