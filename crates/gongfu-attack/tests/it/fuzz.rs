//! Calls at random, which harm nothing outside: for a moment as a test, and for as long as one likes.

use std::process::ExitCode;
use std::time::Duration;

use gongfu_attack::{Arena as _, Fuzz, FuzzReport, fuzz};
use libtest_mimic::Trial;

use gongfu_sandbox::backend::{HostView, Profile};

use crate::{DOCKER, TestArena, kinds};

/// The argument by which this program makes calls at random for as long as it is told to.
pub(crate) const PROVE: &str = "prove-syscalls";
/// For how long, unless it is told.
const SECONDS: u64 = 60;

pub(crate) fn trials() -> Vec<Trial> {
    // Where the host is seen they could reach what isn't laid out for them.
    let kinds = kinds().into_iter();
    let kinds = kinds.filter(|(profile, _)| profile.host != HostView::Open);
    let trial = |(profile, is_left_out): (&'static Profile, bool)| {
        let name = format!("{}::fuzz::calls_at_random_harm_nothing", profile.level);
        let run = move || {
            harm_nothing(profile);
            Ok(())
        };
        Trial::test(name, run).with_ignored_flag(is_left_out)
    };
    kinds.map(trial).collect()
}

fn fuzz_of(profile: &'static Profile, seed: u64, time: Duration) -> Fuzz {
    Fuzz {
        profile,
        runner: TestArena.runner(Some(profile.level)),
        // A daemon mounts what its containers see.
        own_mounts: if profile.level.as_str() == DOCKER {
            &["overlay", "nsfs"]
        } else {
            &[]
        },
        seed,
        time,
    }
}

fn harm_nothing(profile: &'static Profile) {
    let what = fuzz_of(profile, 1, Duration::from_millis(2_500));
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
    for (profile, is_left_out) in kinds() {
        if profile.host == HostView::Open || is_left_out {
            continue;
        }
        let level = profile.level;
        let what = fuzz_of(profile, seed, Duration::from_secs(seconds));
        let fuzzed = fuzz(what, |_| {}).unwrap();
        let FuzzReport {
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
