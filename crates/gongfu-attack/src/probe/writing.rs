//! Probes that write where they may not, or leave files that harm the next reader.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt as _, chown, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use crate::decoys::Decoys;
use crate::goal::{can_be_made_in, can_be_written, is_changed, nothing_there, times_can_be_set};
use crate::probe::Probe;
use crate::system::{c_path, call};

pub(crate) const PROBES: &[Probe] = &[
    Probe::new(
        "files::write_root",
        "Makes a file in the root of the machine.",
        |bait| can_be_made_in(bait, "/"),
    )
    .root(),
    Probe::new(
        "files::write_usr",
        "Makes a file beside the machine's programs.",
        |bait| can_be_made_in(bait, "/usr"),
    )
    .root(),
    Probe::new(
        "files::write_programs",
        "Makes a program where others are looked for.",
        |bait| can_be_made_in(bait, "/usr/local/bin"),
    )
    .root()
    .path("/usr/local/bin"),
    Probe::new(
        "files::write_libraries",
        "Makes a file among the libraries of all programs.",
        |bait| can_be_made_in(bait, "/usr/lib"),
    )
    .root(),
    Probe::new(
        "files::write_settings",
        "Makes a file among the settings of the machine.",
        |bait| can_be_made_in(bait, "/etc"),
    )
    .root(),
    Probe::new(
        "files::write_devices",
        "Makes a file among the devices.",
        |bait| can_be_made_in(bait, "/dev"),
    )
    .root(),
    Probe::new(
        "files::write_run",
        "Makes a file where services keep their sockets.",
        |bait| can_be_made_in(bait, "/run"),
    )
    .root()
    .path("/run"),
    Probe::new(
        "files::write_var",
        "Makes a file where services keep what they know.",
        |bait| can_be_made_in(bait, "/var"),
    )
    .root()
    .path("/var"),
    Probe::new(
        "files::write_shown",
        "Makes a file in a folder that is shown to be read.",
        |bait| can_be_made_in(bait, &bait.shown),
    ),
    Probe::new(
        "files::overwrite_shown",
        "Opens a file for writing that is shown to be read.",
        |bait| can_be_written(bait.shown.join("file")),
    ),
    Probe::new(
        "files::times_of_shown",
        "Sets the times of a file that is shown to be read.",
        |bait| times_can_be_set(bait.shown.join("file")),
    ),
    Probe::new(
        "files::mode_of_shown",
        "Sets who may read a file that is shown to be read.",
        |bait| mode(&bait.shown.join("file")),
    ),
    Probe::new(
        "files::overwrite",
        "Opens a file of the machine for writing.",
        |bait| can_be_written(&bait.secret),
    ),
    Probe::new(
        "files::overwrite_by_link",
        "Writes through a link in its workspace that leads to a file of the machine.",
        |_| can_be_written("out"),
    ),
    Probe::new(
        "files::truncate",
        "Takes away what is in a file of the machine.",
        |bait| {
            let path = c_path(&bait.secret)?;
            call!(libc::SYS_truncate, &*path, 0).map(drop)
        },
    ),
    Probe::new(
        "files::remove",
        "Removes a file of the machine.",
        |bait| fs::remove_file(&bait.secret),
    ),
    Probe::new(
        "files::replace",
        "Puts a file in the place of one of the machine.",
        |bait| {
            let other = bait.folder.join("scratch/other");
            fs::write(&other, "")?;
            fs::rename(other, &bait.secret)
        },
    ),
    Probe::new(
        "files::mode",
        "Sets who may read a file of the machine.",
        |bait| mode(&bait.secret),
    ),
    Probe::new(
        "files::owner",
        "Sets whose a file of the machine is.",
        |bait| {
            let itself = rustix::process::geteuid().as_raw();
            chown(&bait.secret, Some(itself), None)
        },
    ),
    Probe::new(
        "files::times",
        "Sets the times of a file of the machine.",
        |bait| times_can_be_set(&bait.secret),
    ),
    Probe::new(
        "files::attribute",
        "Gives a file of the machine an attribute.",
        |bait| {
            let path = c_path(&bait.secret)?;
            let none = rustix::fs::XattrFlags::empty();
            Ok(rustix::fs::setxattr(&*path, c"user.planted", b"x", none)?)
        },
    )
    .depends_on("a file system with attributes"),
    Probe::new(
        "files::own_program",
        "Sets the times of the program that it is itself.",
        |_| times_can_be_set("/proc/self/exe"),
    )
    .root(),
    Probe::new(
        "files::program_behind_it",
        "Sets the times of the program that watches over it.",
        |_| times_can_be_set(parents("exe")),
    )
    .root(),
    Probe::new(
        "files::program_behind_it_read",
        "Reads the program that watches over it.",
        |_| fs::File::open(parents("exe")).map(drop),
    ),
    Probe::new(
        "files::core_pattern",
        "Opens for writing what the kernel begins as root when a program fails.",
        |_| can_be_written("/proc/sys/kernel/core_pattern"),
    )
    .root(),
    Probe::new(
        "files::modprobe",
        "Opens for writing what the kernel begins as root when it lacks a module.",
        |_| can_be_written("/proc/sys/kernel/modprobe"),
    )
    .root()
    .path("/proc/sys/kernel/modprobe"),
    Probe::new(
        "files::binfmt_misc",
        "Opens for writing which programs run which files.",
        |_| can_be_written("/proc/sys/fs/binfmt_misc/register"),
    )
    .root()
    .path("/proc/sys/fs/binfmt_misc/register"),
    Probe::new(
        "files::sysrq_trigger",
        "Opens for writing what restarts the machine.",
        |_| can_be_written("/proc/sysrq-trigger"),
    )
    .root()
    .path("/proc/sysrq-trigger"),
    Probe::new(
        "files::uevent_helper",
        "Opens for writing what the kernel begins as root when there is a new device.",
        |_| can_be_written("/sys/kernel/uevent_helper"),
    )
    .root()
    .path("/sys/kernel/uevent_helper"),
    Probe::new(
        "files::release_agent",
        "Opens for writing what the kernel begins as root when a control group is empty.",
        |_| can_be_written("/sys/fs/cgroup/memory/release_agent"),
    )
    .root()
    .path("/sys/fs/cgroup/memory/release_agent"),
    Probe::new(
        "files::control_group",
        "Opens for writing which processes are in a control group.",
        |_| {
            let paths = ["/sys/fs/cgroup", "/sys/fs/cgroup/memory"];
            let open = |path: &str| can_be_written(Path::new(path).join("cgroup.procs"));
            paths.into_iter().map(open).find(Result::is_ok).ok_or(nothing_there())?
        },
    )
    .root()
    .path("/sys/fs/cgroup")
    .depends_on("control groups"),
    Probe::new(
        "files::leave_setuid",
        "Leaves a program in its workspace that runs as the user of gongfu.",
        |_| {
            fs::write("setuid", "")?;
            fs::set_permissions("setuid", Permissions::from_mode(0o6755))
        },
    )
    .found(|decoys| {
        let found = fs::metadata(decoys.workspace().join("setuid"));
        found.is_ok_and(|found| found.permissions().mode() & 0o6000 != 0)
    }),
    Probe::new(
        "files::leave_device",
        "Leaves a device in its workspace.",
        |_| call!(libc::SYS_mknodat, libc::AT_FDCWD, c"device", libc::S_IFCHR | 0o666, 0x0103).map(drop),
    )
    .root()
    .found(|decoys| left(decoys, "device", FileTypeExt::is_char_device)),
    Probe::new(
        "files::leave_fifo",
        "Leaves a pipe in its workspace, which makes every reader wait.",
        |_| call!(libc::SYS_mknodat, libc::AT_FDCWD, c"fifo", libc::S_IFIFO | 0o666, 0).map(drop),
    )
    .found(|decoys| left(decoys, "fifo", FileTypeExt::is_fifo)),
    Probe::new(
        "files::leave_socket",
        "Leaves a socket in its workspace.",
        |_| UnixListener::bind("left").map(drop),
    )
    .found(|decoys| left(decoys, "left", FileTypeExt::is_socket)),
    Probe::new(
        "files::leave_link",
        "Leaves a link in its workspace to a file of the machine.",
        |bait| symlink(&bait.secret, "left"),
    )
    .found(|decoys| left(decoys, "left", fs::FileType::is_symlink)),
    Probe::new(
        "files::leave_link_dotdot",
        "Leaves a link in its workspace that leads up.",
        |_| symlink("../secret", "left"),
    )
    .found(|decoys| left(decoys, "left", fs::FileType::is_symlink)),
    Probe::new(
        "files::leave_capability",
        "Leaves a program in its workspace that is given capabilities.",
        |_| {
            fs::write("capable", "")?;
            let rights = [1, 0, 0, 2, 0xFF, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
            let none = rustix::fs::XattrFlags::empty();
            let name = c"security.capability";
            Ok(rustix::fs::setxattr(c"capable", name, &rights, none)?)
        },
    )
    .root()
    .found(|decoys| {
        let path = c_path(decoys.workspace().join("capable"));
        path.is_ok_and(|path| {
            rustix::fs::getxattr(&*path, c"security.capability", &mut [0_u8; 64]).is_ok()
        })
    }),
    Probe::new(
        "files::leave_through_link",
        "Has a link stand where its folder was, so that what it writes comes to a folder of another.",
        |bait| fs::write("folder/planted", &bait.token),
    )
    .after(|bait| symlink(&bait.neighbour, "folder"))
    .found(|decoys| decoys.bait.neighbour.join("planted").exists()),
];

/// A file of the parent process in `/proc`.
fn parents(name: &str) -> String {
    format!("/proc/{}/{name}", std::os::unix::process::parent_id())
}

/// Reached when the mode can be set; it is set to what it is.
fn mode(path: &Path) -> io::Result<()> {
    is_changed(path, |path| {
        fs::set_permissions(path, Permissions::from_mode(0o644))
    })
}

/// True when something of this kind was left in the workspace.
fn left(decoys: &Decoys, name: &str, is_it: fn(&fs::FileType) -> bool) -> bool {
    let found = fs::symlink_metadata(decoys.workspace().join(name));
    found.is_ok_and(|found| is_it(&found.file_type()))
}
