//! The memory and the threads of processes, read from `/proc` where no control group counts them.

use std::fs;
use std::io;

/// Memory of a process; pages that several processes share are counted for each of them.
const ROUGH_MEMORY: [&str; 4] = ["VmRSS:", "VmSwap:", "VmPTE:", "HugetlbPages:"];
/// The part of it that `smaps_rollup` doesn't count.
const PAGE_TABLE_MEMORY: [&str; 2] = ["VmPTE:", "HugetlbPages:"];
/// Memory of a process; shared pages are divided among those who share them.
const EXACT_MEMORY: [&str; 3] = ["Pss_Anon:", "Pss_Shmem:", "SwapPss:"];

/// The most that the system keeps for a socket with its default buffer, in bytes: that of the buffer, and of the
/// last message. A program can't make a buffer larger.
const SOCKET_MEMORY: u64 = 256 * 1024;

/// Bytes of memory that this number of sockets may hold.
pub(super) fn memory_of_sockets(sockets: u64) -> u64 {
    sockets.saturating_mul(SOCKET_MEMORY)
}

/// The number of sockets in the network of this process.
pub(super) fn sockets_of_network() -> u64 {
    let counts = fs::read_to_string("/proc/self/net/sockstat").unwrap_or_default();
    sum(&counts, &["sockets: used"])
}

/// The number of sockets that these processes have open; one that several have is counted for each.
pub(super) fn sockets(processes: &[u32]) -> u64 {
    let of_one = |process: &u32| {
        let handles = fs::read_dir(format!("/proc/{process}/fd"));
        let handles = handles.into_iter().flatten().flatten();
        let sockets = handles.filter(|handle| {
            let to = fs::read_link(handle.path());
            to.is_ok_and(|to| to.to_string_lossy().starts_with("socket:"))
        });
        sockets.count() as u64
    };
    processes.iter().map(of_one).sum()
}

/// Bytes of memory of these processes, and of files of `written` bytes. The exact figure is slow to read, so
/// it counts only above half of `limit`.
pub(super) fn memory(processes: &[u32], written: u64, limit: u64) -> u64 {
    let rough = written.saturating_add(sum_of_all(processes, &ROUGH_MEMORY, "status"));
    if rough <= limit / 2 {
        return rough;
    }
    let exact = sum_of_all(processes, &EXACT_MEMORY, "smaps_rollup");
    let exact = exact.saturating_add(sum_of_all(processes, &PAGE_TABLE_MEMORY, "status"));
    rough.min(written.saturating_add(exact))
}

/// The number of threads of these processes.
pub(super) fn threads(processes: &[u32]) -> u64 {
    let threads = |process: &u32| {
        let status = fs::read_to_string(format!("/proc/{process}/status"));
        sum(&status.unwrap_or_default(), &["Threads:"])
    };
    processes.iter().map(threads).sum()
}

/// The number of threads of a user on this machine.
pub(super) fn threads_of_user(user: u32) -> u64 {
    let is_theirs = |status: &String| sum(status, &["Uid:"]) == u64::from(user);
    let processes = all_processes().unwrap_or_default().into_iter();
    let statuses =
        processes.filter_map(|one| fs::read_to_string(format!("/proc/{one}/status")).ok());
    let statuses = statuses.filter(is_theirs);
    statuses.map(|status| sum(&status, &["Threads:"])).sum()
}

/// Lists the processes of this PID namespace.
///
/// # Errors
/// They can't be listed.
pub(super) fn all_processes() -> io::Result<Vec<u32>> {
    let mut processes = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        processes.extend(name.to_str().and_then(|name| name.parse::<u32>().ok()));
    }
    Ok(processes)
}

fn sum_of_all(processes: &[u32], names: &[&str], file: &str) -> u64 {
    let bytes = processes
        .iter()
        .map(|process| sum_of_one(*process, names, file).saturating_mul(1024));
    bytes.fold(0, u64::saturating_add)
}

/// Kilobytes of one process. Where its first thread has ended, only another thread's file has numbers.
fn sum_of_one(process: u32, names: &[&str], file: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{process}/{file}")).unwrap_or_default();
    let found = sum(&text, names);
    if found > 0 {
        return found;
    }
    let threads = fs::read_dir(format!("/proc/{process}/task"))
        .into_iter()
        .flatten();
    let each = threads.flatten().map(|thread| {
        let thread = thread.file_name().to_string_lossy().into_owned();
        let text = fs::read_to_string(format!("/proc/{thread}/{file}"));
        sum(&text.unwrap_or_default(), names)
    });
    each.max().unwrap_or_default()
}

/// The sum of the first numbers of these lines.
fn sum(text: &str, names: &[&str]) -> u64 {
    let lines = text.lines().filter_map(|line| {
        let name = names.iter().find(|name| line.starts_with(**name))?;
        let number = line.strip_prefix(name)?.split_whitespace().next()?;
        number.parse::<u64>().ok()
    });
    lines.fold(0, u64::saturating_add)
}
