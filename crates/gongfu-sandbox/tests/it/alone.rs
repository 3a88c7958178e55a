//! Tests that need a process of their own, because a process has only one of their subject.

use std::collections::BTreeMap;
use std::process::{Command as Process, ExitCode};
use std::time::{Duration, Instant};

use libtest_mimic::{Failed, Trial};

use crate::fork_server;

/// The argument that makes this program run one of these tests.
pub(crate) const ALONE: &str = "alone";
/// The time that a process may take to end.
const END_TIMEOUT: Duration = Duration::from_mins(1);

pub(crate) fn trials() -> Vec<Trial> {
    let trials = fork_server::ALL.map(|(name, _)| {
        let run = move || {
            let ran = Process::new(std::env::current_exe().unwrap())
                .args([ALONE, name])
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&ran.stderr).into_owned();
            ran.status.success().then_some(()).ok_or(Failed::from(said))
        };
        Trial::test(format!("fork_server::{name}"), run)
    });
    trials.into()
}

/// Runs one of these tests in this process.
pub(crate) fn alone() -> ExitCode {
    let wanted = std::env::args().nth(2);
    let mut all = fork_server::ALL.iter();
    let found = all.find(|(name, _)| wanted.as_deref() == Some(name));
    found.unwrap().1();
    ExitCode::SUCCESS
}

/// The descendants of this process with this name.
pub(crate) fn children(called: &str) -> Vec<u32> {
    let mut parents = BTreeMap::new();
    let mut named = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(process) = entry.file_name().to_string_lossy().parse::<u32>() else {
            continue;
        };
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let Some((name, rest)) = stat.rsplit_once(") ") else {
            continue;
        };
        let mut fields = rest.split(' ');
        let is_over = fields.next() == Some("Z");
        parents.insert(process, fields.next().unwrap().parse::<u32>().unwrap());
        if name.ends_with(&format!("({called}")) && !is_over {
            named.push(process);
        }
    }
    let is_ours = |process: &u32| {
        let mut at = *process;
        for _ in 0..100 {
            match parents.get(&at) {
                Some(parent) if *parent == std::process::id() => return true,
                Some(parent) => at = *parent,
                None => return false,
            }
        }
        false
    };
    named.into_iter().filter(is_ours).collect()
}

/// Returns whether a process hasn't ended.
fn alive(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// Waits for the end of a process.
pub(crate) fn wait_for_end(process: u32) {
    let start = Instant::now();
    while alive(process) {
        assert!(start.elapsed() < END_TIMEOUT, "{process} lives on");
        std::thread::sleep(Duration::from_millis(5));
    }
}
