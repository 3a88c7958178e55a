//! The stories of the ports that store, on every backend: files, memory and SQLite.
//!
//! `just contract` prints a table of them. A fault that is planted in a port must break every promise
//! that names it, on every backend.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test prints its table, and fails on an impossible state"
)]

mod disk;
mod files;
mod memory;
mod sqlite;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use gongfu_testing::story::{Backend, Fault, Faulty, Fixture, Port, Promise};
use libtest_mimic::{Arguments, Failed, Trial};

/// A backend by its name; each call gives empty storage.
type NamedBackend = (&'static str, fn() -> Box<dyn Backend>);

/// One line for each backend.
const BACKENDS: &[NamedBackend] = &[
    ("files", files::backend),
    ("memory", memory::backend),
    ("sqlite", sqlite::backend),
];

fn main() -> ExitCode {
    if std::env::args().any(|argument| argument == "--table") {
        return table();
    }
    let mut trials = vec![Trial::test(
        "every port has a promise against each fault",
        each_port_has_plants,
    )];
    for port in Port::ALL {
        for promise in port.promises() {
            for &(name, backend) in BACKENDS {
                if !backend().offers(port) {
                    continue;
                }
                let title = format!("{}::{name}: {}", port.as_str(), promise.text);
                trials.push(Trial::test(title, move || {
                    (promise.check)(&Fixture::new(backend()));
                    Ok(())
                }));
                let Some(fault) = promise.broken_by else {
                    continue;
                };
                let title = format!(
                    "{}::{name}: {} breaks it: {}",
                    port.as_str(),
                    fault.as_str(),
                    promise.text
                );
                trials.push(Trial::test(title, move || {
                    let faulty = Faulty::new(backend, port, fault);
                    if is_kept(promise, Box::new(faulty)) {
                        return Err(Failed::from("the fault is not found"));
                    }
                    Ok(())
                }));
            }
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Checks that each fault is planted in every port that can have it.
fn each_port_has_plants() -> Result<(), Failed> {
    for port in Port::ALL {
        for fault in Fault::ALL {
            let mut promises = port.promises().iter();
            let is_planted = promises.any(|promise| promise.broken_by == Some(fault));
            if is_planted != fault.is_possible_in(port) {
                return Err(format!("{}: {}", port.as_str(), fault.as_str()).into());
            }
        }
    }
    Ok(())
}

/// Checks a promise on a backend; true if it is kept.
fn is_kept(promise: &Promise, backend: Box<dyn Backend>) -> bool {
    let check = AssertUnwindSafe(|| (promise.check)(&Fixture::new(backend)));
    catch_unwind(check).is_ok()
}

/// Prints which promises each backend keeps, and which of them a planted fault breaks.
fn table() -> ExitCode {
    std::panic::set_hook(Box::new(|_| {}));
    let (mut right, mut checks) = (0, 0);
    let names: Vec<&str> = BACKENDS.iter().map(|(name, _)| *name).collect();
    let names = names.join(" | ");
    println!("| port | promise | {names} | planted | {names} |");
    println!("|{}", "---|".repeat(3 + 2 * BACKENDS.len()));
    for port in Port::ALL {
        for promise in port.promises() {
            let mut cell = |is_right: bool, good: &'static str, bad: &'static str| {
                checks += 1;
                right += usize::from(is_right);
                if is_right { good } else { bad }
            };
            let backends = BACKENDS.iter().map(|(_, backend)| *backend);
            let sound: Vec<_> = backends
                .clone()
                .map(|backend| match backend() {
                    backend if backend.offers(port) => {
                        cell(is_kept(promise, backend), "kept", "BROKEN")
                    }
                    _ => "",
                })
                .collect();
            let faulty: Vec<_> = backends
                .map(|backend| match promise.broken_by {
                    Some(fault) if backend().offers(port) => {
                        let faulty = Box::new(Faulty::new(backend, port, fault));
                        cell(!is_kept(promise, faulty), "found", "NOT FOUND")
                    }
                    _ => "",
                })
                .collect();
            println!(
                "| {} | {} | {} | {} | {} |",
                port.as_str(),
                promise.text,
                sound.join(" | "),
                promise.broken_by.map_or("", Fault::as_str),
                faulty.join(" | ")
            );
        }
    }
    println!("\n{right} of {checks} as promised");
    if right == checks {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
