//! How much memory a run uses, counted from within where no control group does.

use std::fs;
use std::io;

use rustix::fs::statvfs;

/// What a process has, one page for each that has it, and the tables that it takes to find them.
const ROUGH: [&str; 4] = ["VmRSS:", "VmSwap:", "VmPTE:", "HugetlbPages:"];
/// The same without what `smaps_rollup` counts once.
const BESIDES: [&str; 2] = ["VmPTE:", "HugetlbPages:"];
/// What a process has, each page shared among those that have it.
const EXACT: [&str; 3] = ["Pss_Anon:", "Pss_Shmem:", "SwapPss:"];

/// Bytes of memory that all processes and all that was written use; each page once, however many
/// processes share it, once it is more than half of `most`.
///
/// # Errors
/// The processes can't be listed: then nobody knows, and the run must end.
pub(super) fn used(most: u64) -> io::Result<u64> {
    let written = statvfs(c"/tmp").map(|space| {
        let blocks = space.f_blocks.saturating_sub(space.f_bfree);
        blocks.saturating_mul(space.f_frsize)
    })?;
    Ok(held(&numbers()?, written, most))
}

/// Bytes of memory that these processes and what was written use.
pub(super) fn held(numbers: &[u32], written: u64, most: u64) -> u64 {
    let rough = written.saturating_add(of_all(numbers, &ROUGH, "status"));
    if rough <= most / 2 {
        return rough;
    }
    let exact = of_all(numbers, &EXACT, "smaps_rollup");
    let exact = exact.saturating_add(of_all(numbers, &BESIDES, "status"));
    rough.min(written.saturating_add(exact))
}

/// How many processes and threads there are.
///
/// # Errors
/// They can't be listed.
pub(super) fn processes() -> io::Result<u64> {
    Ok(threads(&numbers()?))
}

/// How many threads these processes have.
pub(super) fn threads(numbers: &[u32]) -> u64 {
    let threads = |number: &u32| {
        let status = fs::read_to_string(format!("/proc/{number}/status"));
        sum(&status.unwrap_or_default(), &["Threads:"])
    };
    numbers.iter().map(threads).sum()
}

fn of_all(numbers: &[u32], names: &[&str], file: &str) -> u64 {
    let bytes = numbers
        .iter()
        .map(|number| of_one(*number, names, file).saturating_mul(1024));
    bytes.fold(0, u64::saturating_add)
}

/// Of one process, in kilobytes. One whose first thread has ended tells nothing by its own name, and
/// all by that of another thread.
fn of_one(number: u32, names: &[&str], file: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{number}/{file}")).unwrap_or_default();
    let told = sum(&text, names);
    if told > 0 {
        return told;
    }
    let threads = fs::read_dir(format!("/proc/{number}/task"))
        .into_iter()
        .flatten();
    let each = threads.flatten().map(|thread| {
        let thread = thread.file_name().to_string_lossy().into_owned();
        let text = fs::read_to_string(format!("/proc/{thread}/{file}"));
        sum(&text.unwrap_or_default(), names)
    });
    each.max().unwrap_or_default()
}

/// The processes, the first one aside.
fn numbers() -> io::Result<Vec<u32>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let number = entry?
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<u32>().ok());
        numbers.extend(number.filter(|number| *number != 1));
    }
    Ok(numbers)
}

/// The sum of these lines, in the unit that stands in them.
fn sum(text: &str, names: &[&str]) -> u64 {
    let lines = text.lines().filter_map(|line| {
        let name = names.iter().find(|name| line.starts_with(**name))?;
        let number = line.strip_prefix(name)?.split_whitespace().next()?;
        number.parse::<u64>().ok()
    });
    lines.fold(0, u64::saturating_add)
}
