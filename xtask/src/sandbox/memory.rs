//! What a sandbox holds in memory while something runs in it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use gongfu_core::account::Owner;
use gongfu_core::port::Sandbox as _;

use super::contender::{Contender, Ground};
use crate::bench::server::Memory;

/// How many there are at once.
const COUNT: usize = 8;
/// How long it may take until all of them run.
const PATIENCE: Duration = Duration::from_secs(30);

/// Mebibytes of one sandbox of each kind, all of its processes together.
pub(super) fn measure(ground: &Ground, contenders: &[Contender]) -> Result<Vec<(String, f64)>> {
    let mut measured = Vec::new();
    for contender in contenders {
        let Some(runner) = &contender.runner else {
            continue;
        };
        // A length of sleep that tells them from others.
        let word = format!("86{}", std::process::id());
        let before = of_descendants();
        let mut running = tokio::task::JoinSet::new();
        for _ in 0..COUNT {
            let (runner, spec) = (Arc::clone(runner), ground.spec(&["sleep", &word]));
            running.spawn_on(
                async move { runner.run(&Owner::Local, spec, Arc::new(|_, _| {})).await },
                ground.runtime.handle(),
            );
        }
        let begun = Instant::now();
        while sleeping(&word) < COUNT {
            if begun.elapsed() > PATIENCE {
                bail!("{} sandboxes of {COUNT} run", sleeping(&word));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let held = of_descendants() - before;
        ground.runtime.block_on(running.shutdown());
        while sleeping(&word) > 0 && begun.elapsed() < PATIENCE {
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

fn sleeping(word: &str) -> usize {
    let line = format!("sleep\0{word}\0");
    let is_one = |process: &u32| {
        std::fs::read(format!("/proc/{process}/cmdline")).is_ok_and(|told| told == line.as_bytes())
    };
    processes().filter(is_one).count()
}

/// The memory of every process that this one began, or that one of those did; of its servers as well.
fn of_descendants() -> f64 {
    let parents: HashMap<u32, u32> = processes()
        .filter_map(|process| Some((process, parent(process)?)))
        .collect();
    let itself = std::process::id();
    let descends = |mut process: u32| {
        for _ in 0..64 {
            match parents.get(&process) {
                Some(parent) if *parent == itself => return true,
                Some(parent) => process = *parent,
                None => return false,
            }
        }
        false
    };
    let ours = parents.keys().filter(|process| descends(**process));
    ours.filter_map(|process| Memory::of(*process))
        .map(|memory| memory.proportional)
        .sum()
}

fn parent(process: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    line.trim().parse().ok()
}
