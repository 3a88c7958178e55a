//! Probes that read what isn't theirs.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};

use crate::goal::{holds, reached_if};
use crate::probe::Probe;
use crate::system::{c_path, call, processes, temporary};
use gongfu_sandbox::backend::HostView;

/// The reason why a sandbox that shows the host can't hide that a file exists.
const NAMES: &str = "without namespaces nothing hides that a file is there";

pub(crate) const PROBES: &[Probe] = &[
    Probe::new(
        "files::host_file",
        "Reads a file of the machine by its path.",
        |bait| holds(bait, &bait.secret),
    ),
    Probe::new(
        "files::dotdot",
        "Climbs above the root and reads a file of the machine.",
        |bait| holds(bait, climbing(&bait.secret)),
    ),
    Probe::new(
        "files::openat2",
        "Opens a file of the machine by the newest call for that.",
        |bait| {
            let (path, how) = (c_path(&bait.secret)?, [0_u8; 24]);
            let size = i64::try_from(how.len()).unwrap_or_default();
            call!(libc::SYS_openat2, libc::AT_FDCWD, &*path, &how[..], size).map(drop)
        },
    ),
    Probe::new(
        "files::symlink_made",
        "Makes a link to a file of the machine, and reads through it.",
        |bait| {
            let link = temporary("link");
            symlink(&bait.secret, &link)?;
            holds(bait, link)
        },
    ),
    Probe::new(
        "files::symlink_planted",
        "Reads through a link in its workspace that leads to a file of the machine.",
        |bait| holds(bait, "out"),
    ),
    Probe::new(
        "files::symlink_planted_dotdot",
        "Reads through a link in its workspace that leads up, into the workspace of another.",
        |bait| holds(bait, "up"),
    ),
    Probe::new(
        "files::hard_link",
        "Makes another name for a file of the machine in a folder of its own, and reads that.",
        |bait| {
            let link = Path::new("hard");
            fs::hard_link(&bait.secret, link)?;
            holds(bait, link)
        },
    ),
    Probe::new(
        "files::hard_link_beside",
        "Makes another name for a file of the machine beside it.",
        |bait| fs::hard_link(&bait.secret, bait.folder.join("scratch/hard")),
    ),
    Probe::new(
        "files::rename_into",
        "Moves a file of the machine into a folder of its own.",
        |bait| {
            fs::rename(&bait.secret, "moved")?;
            holds(bait, "moved")
        },
    ),
    Probe::new(
        "files::host_folder_listed",
        "Lists a folder of the machine.",
        |bait| reached_if(fs::read_dir(&bait.folder)?.count() > 0),
    ),
    Probe::new(
        "files::host_file_stat",
        "Asks how long a file of the machine is.",
        |bait| reached_if(fs::metadata(&bait.secret)?.len() > 0),
    )
    .by_design(HostView::Open, NAMES),
    Probe::new(
        "files::host_file_watched",
        "Has the system tell it whenever a file of the machine is used.",
        |bait| {
            let watch = call!(libc::SYS_inotify_init1, 0)?;
            let path = c_path(&bait.secret)?;
            call!(libc::SYS_inotify_add_watch, watch, &*path, libc::IN_OPEN).map(drop)
        },
    ),
    Probe::new(
        "files::host_folder_entered",
        "Makes a folder of the machine the one that it works in.",
        |bait| Ok(rustix::process::chdir(&bait.folder)?),
    )
    .by_design(HostView::Open, NAMES),
    Probe::new(
        "files::proc_root_of_victim",
        "Reads a file of the machine through the root of another process.",
        |bait| {
            holds(
                bait,
                below(format!("/proc/{}/root", bait.victim), &bait.secret),
            )
        },
    ),
    Probe::new(
        "files::proc_cwd_of_victim",
        "Reads a file of the machine through the folder that another process works in.",
        |bait| holds(bait, format!("/proc/{}/cwd/secret", bait.victim)),
    ),
    Probe::new(
        "files::proc_fd_of_victim",
        "Reads a file that another process has open.",
        |bait| {
            let folder = format!("/proc/{}/fd", bait.victim);
            let open = fs::read_dir(folder)?.flatten();
            let is_secret = |path: PathBuf| {
                // Only a file: a pipe would have to be waited for.
                path.metadata().is_ok_and(|found| found.is_file()) && holds(bait, path).is_ok()
            };
            let mut open = open.map(|entry| entry.path());
            reached_if(open.any(is_secret))
        },
    ),
    Probe::new(
        "files::proc_root_of_any",
        "Reads a file of the machine through the root of any process that it sees.",
        |bait| {
            let mut roots = processes()?.into_iter();
            let root = |number: u32| below(format!("/proc/{number}/root"), &bait.secret);
            reached_if(roots.any(|number| holds(bait, root(number)).is_ok()))
        },
    ),
    Probe::new(
        "files::proc_cwd_of_parent",
        "Reads a file of the machine by climbing from the folder that its parent works in.",
        |bait| {
            let parent = std::os::unix::process::parent_id();
            let up = climbing(&bait.secret);
            holds(bait, PathBuf::from(format!("/proc/{parent}/cwd")).join(up))
        },
    ),
    Probe::new(
        "files::passwords",
        "Reads the passwords of the machine.",
        |_| reached_if(fs::read_to_string("/etc/shadow")?.contains("root:")),
    )
    .root()
    .path("/etc/shadow"),
    Probe::new(
        "files::machine_id",
        "Reads the number that every machine has for itself.",
        |_| reached_if(!fs::read("/etc/machine-id")?.is_empty()),
    )
    .path("/etc/machine-id")
    .depends_on("a machine that was given a number"),
    Probe::new("files::home_of_root", "Lists the home of root.", |_| {
        fs::read_dir("/root").map(drop)
    })
    .root()
    .path("/root"),
    Probe::new(
        "files::sys",
        "Lists what the kernel tells of itself.",
        |_| reached_if(fs::read_dir("/sys/kernel")?.count() > 0),
    )
    .path("/sys/kernel"),
    Probe::new("files::sysctl", "Reads a setting of the kernel.", |_| {
        reached_if(!fs::read("/proc/sys/kernel/hostname")?.is_empty())
    }),
    Probe::new(
        "files::partitions",
        "Reads which disks the machine has.",
        |_| reached_if(!fs::read("/proc/partitions")?.is_empty()),
    )
    .path("/proc/partitions"),
    Probe::new(
        "files::kallsyms",
        "Reads where the functions of the kernel are.",
        |_| {
            let mut some = [0; 64];
            reached_if(fs::File::open("/proc/kallsyms")?.read(&mut some)? > 0)
        },
    )
    .path("/proc/kallsyms"),
    Probe::new(
        "files::kernel_command_line",
        "Reads what the kernel was started with.",
        |_| reached_if(!fs::read("/proc/cmdline")?.is_empty()),
    ),
    Probe::new(
        "files::kcore",
        "Opens the memory of the kernel as a file.",
        |_| fs::File::open("/proc/kcore").map(drop),
    )
    .root()
    .path("/proc/kcore"),
    Probe::new(
        "files::mem_device",
        "Opens the memory of the machine as a device.",
        |_| fs::File::open("/dev/mem").map(drop),
    )
    .root()
    .path("/dev/mem"),
    Probe::new(
        "files::kmsg_device",
        "Opens the messages of the kernel as a device.",
        |_| fs::File::open("/dev/kmsg").map(drop),
    )
    .root()
    .path("/dev/kmsg"),
    Probe::new(
        "files::fuse_device",
        "Opens the device by which file systems are made.",
        |_| {
            let mut options = fs::OpenOptions::new();
            options.read(true).write(true).open("/dev/fuse").map(drop)
        },
    )
    .path("/dev/fuse")
    .depends_on("a device for file systems that works"),
    Probe::new(
        "files::loop_device",
        "Opens the device by which files are made disks.",
        |_| fs::File::open("/dev/loop-control").map(drop),
    )
    .root()
    .path("/dev/loop-control")
    .depends_on("a device for disks that works"),
    Probe::new(
        "files::kvm_device",
        "Opens the device by which machines are made.",
        |_| fs::File::open("/dev/kvm").map(drop),
    )
    .root()
    .path("/dev/kvm")
    .depends_on("a processor that makes machines"),
    Probe::new(
        "files::disk_made",
        "Makes a device of the disk that the machine's files are on, and opens it.",
        |_| {
            let disk = fs::metadata("/usr")?.dev();
            let path = c_path(temporary("disk"))?;
            call!(
                libc::SYS_mknodat,
                libc::AT_FDCWD,
                &*path,
                libc::S_IFBLK | 0o600,
                disk
            )?;
            fs::File::open(temporary("disk")).map(drop)
        },
    )
    .root()
    .depends_on("files on a disk"),
    Probe::new(
        "files::handle_of_a_file",
        "Asks for the number of a file, which leads to it past its names.",
        |_| handle().map(drop),
    )
    .depends_on("a file system whose files have numbers"),
    Probe::new(
        "files::open_by_handle",
        "Opens a folder by its number, past its names.",
        |_| {
            let number = handle()?;
            let root = fs::File::open("/")?;
            let root = std::os::fd::AsRawFd::as_raw_fd(&root);
            let flags = libc::O_PATH;
            call!(libc::SYS_open_by_handle_at, root, &number[..], flags).map(drop)
        },
    )
    .root()
    .depends_on("a file system whose files have numbers"),
];

/// The path with many `..` before it, which lead above any root.
fn climbing(path: &Path) -> PathBuf {
    let up = "../".repeat(40);
    PathBuf::from(up).join(path.strip_prefix("/").unwrap_or(path))
}

/// An absolute path below another.
fn below(root: String, path: &Path) -> PathBuf {
    PathBuf::from(root).join(path.strip_prefix("/").unwrap_or(path))
}

/// The handle of the root (`struct file_handle`).
fn handle() -> std::io::Result<Vec<u8>> {
    let mut handle = vec![0; 8 + 128];
    if let Some(length) = handle.first_mut() {
        *length = 128;
    }
    let mut mount = [0_u8; 4];
    call!(
        libc::SYS_name_to_handle_at,
        libc::AT_FDCWD,
        c"/",
        &mut handle[..],
        &mut mount[..],
        0
    )?;
    Ok(handle)
}
