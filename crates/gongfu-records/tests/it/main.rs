//! A database under processes: killed, sharing it, and without room on the disk.
//!
//! This program is its own child as well, so it has no harness of the compiler's.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "these are tests, which clippy can't tell without the harness"
)]

mod child;
mod full;
mod kill;
mod share;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some(child::MARK) {
        return child::run(&arguments.collect::<Vec<_>>());
    }
    let trial = |name, check: fn()| {
        Trial::test(name, move || {
            check();
            Ok(())
        })
    };
    let trials = vec![
        trial(
            "acknowledged writes survive 20 kills, and no commit is halved",
            kill::nothing_acknowledged_is_lost,
        ),
        trial(
            "several processes change the same records, and lose nothing",
            share::updates_lose_nothing,
        ),
        trial(
            "a full disk refuses writes, loses none, and is over when there is room",
            full::nothing_is_lost,
        ),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
