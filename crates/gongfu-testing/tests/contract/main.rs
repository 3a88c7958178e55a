//! The stories of the ports that store, on every backend: files and memory.
//!
//! `just contract` prints a table of them. A planted backend that ignores the owner must break every
//! promise about owners.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test prints its table, and fails on an impossible state"
)]

mod files;
mod memory;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use gongfu_testing::story::{Backend, Forgetful, Ground, Promise, STORIES};
use libtest_mimic::{Arguments, Failed, Trial};

/// A backend by its name; each call gives empty storage.
type NamedBackend = (&'static str, fn() -> Box<dyn Backend>);

const BACKENDS: [NamedBackend; 2] = [("files", files::backend), ("memory", memory::backend)];

fn main() -> ExitCode {
    if std::env::args().any(|argument| argument == "--table") {
        return table();
    }
    let mut trials = Vec::new();
    for story in STORIES {
        for promise in story.promises {
            for (name, backend) in BACKENDS {
                let title = format!("{}::{name}: {}", story.port, promise.text);
                trials.push(Trial::test(title, move || {
                    (promise.check)(&Ground::new(backend()));
                    Ok(())
                }));
            }
        }
        for (name, backend) in BACKENDS {
            let title = format!("{}::{name}: ignoring the owner is found out", story.port);
            trials.push(Trial::test(title, move || {
                is_found_out(story.promises, backend)
            }));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Checks a promise on a backend; true if it is kept.
fn is_kept(promise: &Promise, backend: Box<dyn Backend>) -> bool {
    let check = AssertUnwindSafe(|| (promise.check)(&Ground::new(backend)));
    catch_unwind(check).is_ok()
}

/// Checks that ignoring the owner breaks every promise about owners.
fn is_found_out(promises: &[Promise], backend: fn() -> Box<dyn Backend>) -> Result<(), Failed> {
    let mut about_owners = promises.iter().filter(|promise| promise.about_owners);
    assert!(about_owners.clone().next().is_some());
    match about_owners.find(|promise| is_kept(promise, Box::new(Forgetful(backend())))) {
        Some(promise) => Err(format!("kept without owners: {}", promise.text).into()),
        None => Ok(()),
    }
}

/// Prints which promises each backend keeps.
fn table() -> ExitCode {
    std::panic::set_hook(Box::new(|_| {}));
    let (mut kept, mut checks) = (0, 0);
    println!("| port | promise | files | memory | files, owner ignored | memory, owner ignored |");
    println!("|---|---|---|---|---|---|");
    for story in STORIES {
        for promise in story.promises {
            let mut cells = Vec::new();
            for forgetful in [false, true] {
                for (_, backend) in BACKENDS {
                    let backend = if forgetful {
                        Box::new(Forgetful(backend()))
                    } else {
                        backend()
                    };
                    let is_kept = is_kept(promise, backend);
                    let is_right = is_kept != (forgetful && promise.about_owners);
                    checks += 1;
                    kept += usize::from(is_right);
                    cells.push(match (is_right, is_kept) {
                        (true, true) => "kept",
                        (true, false) => "broken, as planted",
                        (false, true) => "NOT FOUND OUT",
                        (false, false) => "BROKEN",
                    });
                }
            }
            println!(
                "| {} | {} | {} |",
                story.port,
                promise.text,
                cells.join(" | ")
            );
        }
    }
    println!("\n{kept} of {checks} as promised");
    if kept == checks {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
