//! `lab prove-races`: no link that is swapped in leads a reader or a writer outside.
//!
//! One thread exchanges a folder and a file with links to the outside, as fast as it can, while two
//! others read and write them through the real store. The same is done first by files that look
//! where a path leads and then use it: they must get out, or the race proves nothing.

mod access;
mod fixture;

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use anyhow::{Result, bail};

use crate::random::Random;
use access::{FileAccess, Naive, Store};
use fixture::Fixture;

/// The number of rounds of the control.
const ROUNDS: usize = 50;

/// The options of `lab prove-races`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The number of reads and of writes, and the least number of exchanges
    #[arg(long, default_value_t = 10_000)]
    count: u64,
    /// The seed that decides what is read and written
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// The result of a race.
#[derive(Debug, Default)]
struct Outcome {
    swaps: u64,
    read: Tries,
    written: Tries,
    /// The number of files outside that were made or changed.
    outside: usize,
}

/// The result of reading, or of writing.
#[derive(Debug, Default)]
struct Tries {
    done: u64,
    refused: u64,
    /// The number of reads that returned something from outside.
    escaped: u64,
}

/// Races the files that must get out, then the store, which must not.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    if !cfg!(target_os = "linux") {
        eprintln!("error: only Linux can exchange two names in one step");
        return Ok(ExitCode::from(77));
    }
    let naive = control(arguments)?;
    report("control: look, then use", &naive);
    let store = race::<Store>(arguments)?;
    report("the store", &store);
    match verdict(&naive, &store, arguments.count) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(problem) => {
            eprintln!("error: {problem}");
            Ok(ExitCode::FAILURE)
        }
    }
}

/// Races the control until it was led outside both ways; how soon that is depends on the machine.
fn control(arguments: &Arguments) -> Result<Outcome> {
    let mut all = Outcome::default();
    for _ in 0..ROUNDS {
        let once = race::<Naive>(arguments)?;
        all.swaps += once.swaps;
        all.outside += once.outside;
        for (all, once) in [(&mut all.read, once.read), (&mut all.written, once.written)] {
            all.done += once.done;
            all.refused += once.refused;
            all.escaped += once.escaped;
        }
        if all.read.escaped > 0 && all.outside > 0 {
            break;
        }
    }
    Ok(all)
}

fn report(what: &str, outcome: &Outcome) {
    let Outcome {
        swaps,
        read,
        written,
        outside,
    } = outcome;
    println!(
        "{what}: {swaps} exchanges; {} reads went through, {} were refused, {} read from outside; {} writes went through, {} were refused, {outside} files made or changed outside",
        read.done, read.refused, read.escaped, written.done, written.refused
    );
}

fn verdict(naive: &Outcome, store: &Outcome, count: u64) -> Result<(), String> {
    if store.read.escaped > 0 || store.outside > 0 {
        return Err("SOMETHING LED OUTSIDE".to_owned());
    }
    if naive.read.escaped == 0 || naive.outside == 0 {
        return Err(
            "void: the control was not led outside, so this race proves nothing".to_owned(),
        );
    }
    if store.swaps < count {
        return Err(format!("void: only {} exchanges", store.swaps));
    }
    for (what, tries) in [("read", &store.read), ("write", &store.written)] {
        if tries.done == 0 || tries.refused == 0 {
            return Err(format!(
                "void: no {what} went through, or none met a link: {tries:?}"
            ));
        }
    }
    Ok(())
}

fn race<F: FileAccess>(arguments: &Arguments) -> Result<Outcome> {
    let fixture = Fixture::new()?;
    let before = fixture.outside()?;
    if before.is_empty() {
        bail!("there is nothing outside");
    }
    let files = F::open(&fixture)?;
    let (over, swaps) = (AtomicBool::new(false), AtomicU64::new(0));
    let (read, written) = std::thread::scope(|scope| {
        let swapper = scope.spawn(|| {
            while !over.load(Ordering::Relaxed) || swaps.load(Ordering::Relaxed) < arguments.count {
                for (one, other) in fixture.pairs() {
                    if fixture::exchange(one, other).is_err() {
                        return;
                    }
                    swaps.fetch_add(1, Ordering::Relaxed);
                    // With a single processor the others have their turn only when this one ends.
                    if swaps.load(Ordering::Relaxed).is_multiple_of(7) {
                        std::thread::yield_now();
                    }
                }
            }
        });
        let reader = scope.spawn(|| read_all(&files, arguments));
        let writer = scope.spawn(|| write_all(&files, arguments));
        let outcomes = (reader.join(), writer.join());
        over.store(true, Ordering::Relaxed);
        drop(swapper.join());
        outcomes
    });
    let (Ok(read), Ok(written)) = (read, written) else {
        bail!("a reader or writer panicked");
    };
    let after = fixture.outside()?;
    let outside = after
        .iter()
        .filter(|(path, bytes)| before.get(*path) != Some(*bytes))
        .count();
    let gone = before.keys().filter(|path| !after.contains_key(*path));
    Ok(Outcome {
        swaps: swaps.into_inner(),
        read,
        written,
        outside: outside + gone.count(),
    })
}

fn read_all(files: &impl FileAccess, arguments: &Arguments) -> Tries {
    let mut tries = Tries::default();
    let mut random = Random::of_input(arguments.seed, 0);
    for _ in 0..arguments.count {
        let path = random.pick(&fixture::READ);
        match files.read(path) {
            Some(bytes) if bytes.starts_with(fixture::CANARY) => tries.escaped += 1,
            Some(_) => tries.done += 1,
            None => tries.refused += 1,
        }
    }
    tries
}

fn write_all(files: &impl FileAccess, arguments: &Arguments) -> Tries {
    let mut tries = Tries::default();
    let mut random = Random::of_input(arguments.seed, 1);
    for number in 0..arguments.count {
        let path = random.pick(&fixture::WRITTEN);
        let path = path.replace("{}", &(number % 50).to_string());
        if files.write(&path, format!("written {number}").as_bytes()) {
            tries.done += 1;
        } else {
            tries.refused += 1;
        }
    }
    tries
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::{Arguments, Store, control, race, verdict};

    #[test]
    fn a_short_race_leads_nowhere() {
        let arguments = Arguments {
            count: 400,
            seed: 7,
        };
        let naive = control(&arguments).unwrap();
        let store = race::<Store>(&arguments).unwrap();
        assert_eq!(verdict(&naive, &store, arguments.count), Ok(()));
        assert!(
            verdict(&naive, &naive, 0).is_err(),
            "who gets out is found out"
        );
    }
}
