//! Calls at random, which harm nothing outside: for a moment as a test, and for as long as one likes.

use std::process::ExitCode;
use std::time::Duration;

use gongfu_core::sandbox::Level;
use gongfu_sandbox::probe::{Fuzz, Fuzzed, fuzz};
use libtest_mimic::Trial;

use crate::ground;

/// The argument by which this program makes calls at random for as long as it is told to.
pub(crate) const PROVE: &str = "prove-syscalls";
/// For how long, unless it is told.
const SECONDS: u64 = 60;

pub(crate) fn trials() -> Vec<Trial> {
    // Without namespaces they could reach what isn't laid out for them.
    let levels = ground::levels().filter(|(level, _)| *level != Level::Lite);
    let trial = |(level, is_left_out)| {
        let name = format!("{level}::fuzz::calls_at_random_harm_nothing");
        let run = move || {
            harm_nothing(level);
            Ok(())
        };
        Trial::test(name, run).with_ignored_flag(is_left_out)
    };
    levels.map(trial).collect()
}

fn harm_nothing(level: Level) {
    let what = Fuzz {
        level,
        docker: ground::docker(),
        seed: 1,
        time: Duration::from_millis(2_500),
    };
    let fuzzed = fuzz(what, |_| {}).unwrap();
    assert!(fuzzed.harmed.is_empty(), "{fuzzed:?}");
    assert!(fuzzed.calls > 100, "{fuzzed:?}");
}

/// Makes calls at random in each kind of sandbox: `prove-syscalls [--seconds N] [--seed N]`.
pub(crate) fn prove() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let option = |name: &str, otherwise: u64| {
        let at = arguments.iter().position(|argument| argument == name);
        let value = at.and_then(|at| arguments.get(at + 1));
        value.map_or(otherwise, |value| value.parse().unwrap())
    };
    let (seconds, seed) = (option("--seconds", SECONDS), option("--seed", 1));
    let mut harmed = false;
    for (level, is_left_out) in ground::levels() {
        if level == Level::Lite || is_left_out {
            continue;
        }
        let what = Fuzz {
            level,
            docker: ground::docker(),
            seed,
            time: Duration::from_secs(seconds),
        };
        let fuzzed = fuzz(what, |_| {}).unwrap();
        let Fuzzed {
            runs, calls, ended, ..
        } = &fuzzed;
        println!("{level}, seed {seed}: {calls} calls in {runs} runs, which ended by {ended:?}");
        for what in &fuzzed.harmed {
            println!("  {what}");
        }
        harmed = harmed || !fuzzed.harmed.is_empty();
    }
    if harmed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}
