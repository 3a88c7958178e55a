//! Probes that change what is mounted where, or what the root is.

use crate::goal::{looked_at, own_mounts, reached_if};
use crate::probe::Probe;
use crate::system::{call, native_bytes};

// The library has no names for these newer calls.
const STATMOUNT: i64 = 457;
const LISTMOUNT: i64 = 458;
/// The root mount of the namespace, instead of the number of a mount (`LSMT_ROOT`).
const ROOT_MOUNT: u64 = u64::MAX;

pub(crate) const PROBES: &[Probe] = &[
    Probe::new("kernel::mount", "Mounts a file system.", |bait| {
        own_mounts(bait)?;
        call!(libc::SYS_mount, c"none", c"/tmp", c"tmpfs", 0, 0).map(drop)
    })
    .root(),
    Probe::new(
        "kernel::mount_call",
        "Makes the call that mounts, with a place that isn't there.",
        |_| {
            let answer = call!(libc::SYS_mount, c"none", c"/no/such/place", c"tmpfs", 0, 0);
            looked_at(answer, &[libc::ENOENT])
        },
    ),
    Probe::new(
        "kernel::remount_writable",
        "Has a file system be written to that may only be read.",
        |bait| {
            own_mounts(bait)?;
            let bind = libc::MS_BIND;
            if bait.shares_mounts {
                call!(libc::SYS_mount, c"/usr", c"/usr", 0, bind, 0)?;
            }
            call!(libc::SYS_mount, 0, c"/usr", 0, bind | libc::MS_REMOUNT, 0).map(drop)
        },
    )
    .root(),
    Probe::new(
        "kernel::umount",
        "Takes a mount away, and sees what is below it.",
        |bait| {
            own_mounts(bait)?;
            call!(libc::SYS_umount2, c"/proc", libc::MNT_DETACH).map(drop)
        },
    )
    .root(),
    Probe::new(
        "kernel::open_tree",
        "Copies the mounts of the machine.",
        |_| call!(libc::SYS_open_tree, libc::AT_FDCWD, c"/", 1).map(drop),
    )
    .root(),
    Probe::new(
        "kernel::fsopen",
        "Begins to mount by the newer calls.",
        |_| call!(libc::SYS_fsopen, c"tmpfs", 0).map(drop),
    )
    .root(),
    Probe::new(
        "kernel::fspick",
        "Begins to change a mount by the newer calls.",
        |_| call!(libc::SYS_fspick, libc::AT_FDCWD, c"/", 0).map(drop),
    )
    .root(),
    Probe::new(
        "kernel::move_mount",
        "Moves a mount, if there were one.",
        |_| {
            let answer = call!(libc::SYS_move_mount, -1, c"", -1, c"", 0);
            looked_at(answer, &[libc::EBADF, libc::ENOENT, libc::EINVAL])
        },
    )
    .root(),
    Probe::new(
        "kernel::mount_setattr",
        "Changes what may be done in a mount, if there were one.",
        |_| {
            let attributes = [0_u8; 32];
            let answer = call!(libc::SYS_mount_setattr, -1, c"no", 0, &attributes[..], 32);
            looked_at(answer, &[libc::EBADF])
        },
    )
    .depends_on("Linux 5.12"),
    Probe::new("kernel::listmount", "Has all mounts listed.", |_| {
        let mut room = [0_u8; 1024];
        let request = mount_request(ROOT_MOUNT, 0);
        let count = i64::try_from(room.len() / 8).unwrap_or_default();
        reached_if(call!(LISTMOUNT, &request[..], &mut room[..], count, 0)? > 0)
    })
    .depends_on("Linux 6.8"),
    Probe::new(
        "kernel::statmount",
        "Asks what a mount is, if there were one.",
        |_| {
            let mut room = [0_u8; 1024];
            let request = mount_request(1 << 40, 1);
            let size = i64::try_from(room.len()).unwrap_or_default();
            let answer = call!(STATMOUNT, &request[..], &mut room[..], size, 0);
            looked_at(answer, &[libc::ENOENT])
        },
    )
    .depends_on("Linux 6.8"),
    Probe::new("kernel::chroot", "Has another folder be its root.", |_| {
        call!(libc::SYS_chroot, c"/").map(drop)
    })
    .root(),
    Probe::new(
        "kernel::pivot_root",
        "Has another mount be its root.",
        |bait| {
            own_mounts(bait)?;
            call!(libc::SYS_mount, c"none", c"/tmp", c"tmpfs", 0, 0)?;
            std::fs::create_dir("/tmp/old")?;
            call!(libc::SYS_pivot_root, c"/tmp", c"/tmp/old").map(drop)
        },
    )
    .root()
    .depends_on("a root that can be changed"),
];

/// A request about a mount (`struct mnt_id_req`).
fn mount_request(mount: u64, what: u64) -> Vec<u8> {
    native_bytes(&[24, mount, what])
}
