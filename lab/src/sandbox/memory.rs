//! The memory of a sandbox while something runs in it.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use gongfu_core::account::Owner;

use super::contender::{Contender, Fixture};
use crate::child::Memory;

/// The number of sandboxes at once.
const COUNT: usize = 8;
/// The time in which all of them must run.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Mebibytes of one sandbox of each kind, all of its processes together.
pub(super) fn measure(fixture: &Fixture, contenders: &[Contender]) -> Result<Vec<(String, f64)>> {
    let mut measured = Vec::new();
    for contender in contenders {
        let Some(runner) = &contender.runner else {
            continue;
        };
        // What a container takes is the daemon's, which begins it: it descends from nobody here.
        if contender.name == "docker" {
            continue;
        }
        // A length of sleep that no other process has.
        let word = format!("86{}", std::process::id());
        let mut running = tokio::task::JoinSet::new();
        for _ in 0..COUNT {
            let (runner, spec) = (Arc::clone(runner), fixture.spec(&["sleep", &word]));
            running.spawn_on(
                async move { runner.run(&Owner::Local, spec, Arc::new(|_, _| {})).await },
                fixture.runtime.handle(),
            );
        }
        let begun = Instant::now();
        while sleeping(&word).len() < COUNT {
            if begun.elapsed() > START_TIMEOUT {
                bail!("{} sandboxes of {COUNT} run", sleeping(&word).len());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let held = of_sandboxes(&sleeping(&word));
        fixture.runtime.block_on(running.shutdown());
        while !sleeping(&word).is_empty() && begun.elapsed() < START_TIMEOUT {
            std::thread::sleep(Duration::from_millis(20));
        }
        #[expect(clippy::cast_precision_loss, reason = "a handful")]
        measured.push((contender.name.clone(), held / COUNT as f64));
    }
    Ok(measured)
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn sleeping(word: &str) -> Vec<u32> {
    let line = format!("sleep\0{word}\0");
    let is_one = |process: &u32| line.as_bytes() == told(*process);
    processes().filter(is_one).collect()
}

/// The memory of these processes and of those that watch over them, each counted once: all above them
/// that are gongfu's children, but for the one that began those.
fn of_sandboxes(programs: &[u32]) -> f64 {
    let is_of_one = |process: &u32| {
        let told = told(*process);
        let mut words = told.split(|byte| *byte == 0);
        let (program, kind) = (words.next(), words.next().unwrap_or_default());
        let name = std::fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
        name.trim() == "gongfu-run"
            || kind == b"sandbox-launched-init"
            || program.is_some_and(is_bubblewrap)
    };
    let above = |program: &u32| {
        let mut at = parent(*program).filter(is_of_one);
        let all = std::iter::from_fn(move || {
            let one = at?;
            at = parent(one).filter(is_of_one);
            Some(one)
        });
        all.take(8).collect::<Vec<_>>()
    };
    let mut all: HashSet<u32> = programs.iter().flat_map(above).collect();
    all.extend(programs);
    let held = all.into_iter().filter_map(Memory::of);
    held.map(|memory| memory.proportional).sum()
}

fn is_bubblewrap(program: &[u8]) -> bool {
    program.ends_with(b"bwrap")
}

/// The command line of a process.
fn told(process: u32) -> Vec<u8> {
    std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default()
}

fn parent(process: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    line.trim().parse().ok()
}
