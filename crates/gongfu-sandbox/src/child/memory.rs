//! How much memory a run uses, counted from within where no control group does.

use std::fs;

use rustix::fs::statvfs;

/// Bytes of memory that all processes and all that was written use; each page once, however many
/// processes share it.
pub(super) fn used(most: u64) -> u64 {
    let written = statvfs(c"/tmp").map_or(0, |space| {
        space
            .f_blocks
            .saturating_sub(space.f_bfree)
            .saturating_mul(space.f_frsize)
    });
    let rough = written.saturating_add(of_all(&["VmRSS:"], "status"));
    if rough <= most / 2 {
        return rough;
    }
    // What processes share was counted for each of them; this takes longer and counts it once.
    let exact = written.saturating_add(of_all(&["Pss_Anon:", "Pss_Shmem:"], "smaps_rollup"));
    exact.min(rough)
}

/// How many processes and threads there are.
pub(super) fn processes() -> u64 {
    of_each("status")
        .map(|text| kilobytes(&text, &["Threads:"]))
        .sum()
}

fn of_all(names: &[&str], file: &str) -> u64 {
    of_each(file)
        .map(|text| kilobytes(&text, names).saturating_mul(1024))
        .sum()
}

/// A file of each process, the first one aside.
fn of_each(file: &str) -> impl Iterator<Item = String> {
    let listed = fs::read_dir("/proc").into_iter().flatten().flatten();
    listed.filter_map(move |entry| {
        let name = entry.file_name();
        let number: u32 = name.to_str()?.parse().ok()?;
        (number != 1).then(|| fs::read_to_string(format!("/proc/{number}/{file}")).ok())?
    })
}

/// The sum of these lines of a file, in the unit that stands in it.
fn kilobytes(text: &str, names: &[&str]) -> u64 {
    let lines = text.lines().filter_map(|line| {
        let name = names.iter().find(|name| line.starts_with(**name))?;
        line.strip_prefix(name)?
            .split_whitespace()
            .next()?
            .parse::<u64>()
            .ok()
    });
    lines.sum()
}
