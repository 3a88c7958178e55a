//! Probes that look for what belongs to the server or to another tenant.

use std::fs;
use std::io;

use crate::bait::Bait;
use crate::decoys::{LEFT, VARIABLE};
use crate::goal::{holds, own_mounts, reached_if};
use crate::probe::Probe;
use crate::system::{c_path, call, command_line, contains, processes};
use gongfu_sandbox::backend::HostView;

pub(crate) const PROBES: &[Probe] = &[
    Probe::new(
        "tenancy::neighbours_file",
        "Reads a file in the workspace of another tenant.",
        |bait| holds(bait, bait.neighbour.join("private")),
    ),
    Probe::new(
        "tenancy::neighbours_folder",
        "Lists the workspace of another tenant.",
        |bait| reached_if(fs::read_dir(&bait.neighbour)?.count() > 0),
    ),
    Probe::new(
        "tenancy::write_to_neighbour",
        "Makes a file in the workspace of another tenant.",
        |bait| fs::write(bait.neighbour.join("planted"), ""),
    )
    .root(),
    Probe::new(
        "tenancy::own_environment",
        "Has a secret of the server in its environment.",
        |_| reached_if(has_secret("self")?),
    ),
    Probe::new(
        "tenancy::environment_of_parent",
        "Reads the environment of what watches over it.",
        |_| {
            reached_if(has_secret(
                &std::os::unix::process::parent_id().to_string(),
            )?)
        },
    ),
    Probe::new(
        "tenancy::environment_of_any",
        "Reads the environment of any process that it sees.",
        |_| {
            let mut all = processes()?.into_iter();
            reached_if(all.any(|number| has_secret(&number.to_string()).unwrap_or_default()))
        },
    ),
    Probe::new(
        "tenancy::command_lines",
        "Reads how any process that it sees was started.",
        |bait| {
            let mut all = processes()?.into_iter();
            let token = bait.token.as_bytes();
            reached_if(all.any(|number| contains(&command_line(number), token)))
        },
    ),
    Probe::new(
        "tenancy::inherited_handles",
        "Has a file open that the server forgot to close.",
        |_| {
            let open: Vec<_> = fs::read_dir("/proc/self/fd")?.flatten().collect();
            // The three of the standard, and the one by which they are listed.
            reached_if(open.len() > 4)
        },
    ),
    Probe::new(
        "tenancy::leftover_in_tmp",
        "Reads what somebody left in the folder for what is soon forgotten.",
        |bait| {
            let [leftover, _] = &bait.leftovers;
            holds(bait, leftover)
        },
    ),
    Probe::new(
        "tenancy::leftover_in_shm",
        "Reads what somebody left in the memory that all share.",
        |bait| {
            let [_, leftover] = &bait.leftovers;
            holds(bait, leftover)
        },
    ),
    Probe::new(
        "tenancy::left_for_next_in_tmp",
        "Leaves something for the next run in the folder for what is soon forgotten.",
        |bait| found(bait, 0),
    )
    .after(|bait| leave(bait, 0)),
    Probe::new(
        "tenancy::left_for_next_in_shm",
        "Leaves something for the next run in the memory that all share.",
        |bait| found(bait, 1),
    )
    .after(|bait| leave(bait, 1)),
    Probe::new(
        "tenancy::left_for_next_in_ipc",
        "Leaves something for the next run in memory with a number.",
        |bait| {
            let id = call!(libc::SYS_shmget, key(bait), 4096, 0o600)?;
            call!(libc::SYS_shmctl, id, libc::IPC_RMID, 0).map(drop)
        },
    )
    .after(|bait| call!(libc::SYS_shmget, key(bait), 4096, libc::IPC_CREAT | 0o600).map(drop)),
    Probe::new(
        "tenancy::paths_in_mounts",
        "Reads where the folders that it sees are on the machine.",
        |bait| {
            if bait.shares_mounts && own_mounts(bait).is_ok() {
                let (from, to) = (c_path(&bait.shown)?, c_path(bait.folder.join("scratch"))?);
                call!(libc::SYS_mount, &*from, &*to, 0, libc::MS_BIND, 0)?;
            }
            let files = ["mountinfo", "mounts", "mountstats"];
            let mut told = files
                .into_iter()
                .map(|file| fs::read(format!("/proc/self/{file}")));
            reached_if(
                told.any(|told| told.is_ok_and(|told| contains(&told, bait.token.as_bytes()))),
            )
        },
    )
    .root()
    .by_design(
        HostView::Paths,
        "what it mounts has the path that it has on the machine",
    ),
    Probe::new(
        "tenancy::path_of_program",
        "Reads where its own program is on the machine.",
        |bait| {
            let path = fs::read_link("/proc/self/exe")?;
            reached_if(path == bait.program)
        },
    )
    .by_design(
        HostView::Open,
        "without namespaces a file has one path alone",
    ),
    Probe::new(
        "tenancy::control_group",
        "Reads in which control group of the machine it is.",
        |_| {
            let text = fs::read_to_string("/proc/self/cgroup")?;
            reached_if(text.lines().any(|line| !line.ends_with(":/")))
        },
    )
    .depends_on("a control group for each user"),
    Probe::new(
        "tenancy::name_of_machine",
        "Asks what the machine is called.",
        |bait| {
            let name = rustix::system::uname();
            reached_if(name.nodename().to_bytes() == bait.machine.as_bytes())
        },
    )
    .by_design(HostView::Open, "without namespaces a machine has one name"),
];

/// True when a process has the server's secret in its environment.
fn has_secret(process: &str) -> io::Result<bool> {
    let read = fs::read(format!("/proc/{process}/environ"))?;
    Ok(contains(&read, VARIABLE.as_bytes()))
}

/// Leaves a file for the next run.
fn leave(bait: &Bait, place: usize) -> io::Result<()> {
    let path = bait.leftovers.get(place).ok_or(io::ErrorKind::NotFound)?;
    fs::write(path.with_extension(LEFT), &bait.token)
}

/// Reached when that file is there.
fn found(bait: &Bait, place: usize) -> io::Result<()> {
    let path = bait.leftovers.get(place).ok_or(io::ErrorKind::NotFound)?;
    holds(bait, path.with_extension(LEFT))
}

/// The key of shared memory that nobody else uses.
fn key(bait: &Bait) -> u32 {
    let digits = bait.token.get(..7).unwrap_or_default();
    u32::from_str_radix(digits, 16).unwrap_or(1).max(1)
}
