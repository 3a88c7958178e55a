//! Which level is used, and whose the runs are.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use gongfu_core::sandbox::{Enforcement, Exit, Level, Means, Outcome, Reason, Said, Spec};

use super::{Runner, Tried};
use crate::backend::{Backend, Failure, Surroundings};

/// Doesn't work so many times, and then does.
struct Moody {
    failures: usize,
    tries: AtomicUsize,
}

impl Moody {
    fn leaked(failures: usize) -> &'static Self {
        Box::leak(Box::new(Self {
            failures,
            tries: AtomicUsize::new(0),
        }))
    }

    fn tries(&self) -> usize {
        self.tries.load(Ordering::SeqCst)
    }
}

impl Backend for Moody {
    fn level(&self) -> Level {
        Level::Lite
    }

    fn run(&self, _: &Spec, _: &Surroundings<'_>) -> Result<Outcome, Failure> {
        if self.tries.fetch_add(1, Ordering::SeqCst) < self.failures {
            return Err(Failure::Unavailable("not today".to_owned()));
        }
        Ok(Outcome {
            level: self.level(),
            enforcement: Enforcement {
                memory: Means::Watchdog,
                processes: Means::ProcessLimit,
                disk: Means::SizedFileSystem,
            },
            exit: Some(Exit::Code(0)),
            reason: Reason::Ok,
            stdout: Said::default(),
            stderr: Said::default(),
            artifacts: Vec::new(),
            changed: 0,
            contacts: Vec::new(),
            took: Duration::ZERO,
            cpu: Duration::ZERO,
            memory: 0,
        })
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(future)
}

#[test]
fn what_fails_is_tried_again_in_a_while_and_what_works_is_not() {
    let backend = Moody::leaked(1);
    let runner = Runner::new(None).without_groups();
    block_on(async {
        let obstacle = runner.obstacle(backend).await;
        assert!(obstacle.unwrap().contains("not today"));
        assert!(runner.obstacle(backend).await.is_some());
        assert_eq!(backend.tries(), 1, "it wasn't asked again so soon");
        let mut tried = runner.tried.lock().await;
        let Some(Tried::Fails(_, until)) = tried.get_mut(&Level::Lite) else {
            panic!("{tried:?}");
        };
        assert!(*until > Instant::now());
        *until = Instant::now();
        drop(tried);
        assert_eq!(runner.obstacle(backend).await, None);
        assert_eq!(runner.obstacle(backend).await, None);
        assert_eq!(backend.tries(), 2);
    });
}

#[test]
#[cfg(target_os = "linux")]
fn a_level_of_another_system_says_so_and_what_there_is_here() {
    let runner = Runner::new(Some(Level::Seatbelt));
    let Err(why) = block_on(runner.strongest(&gongfu_core::account::Owner::Local)) else {
        panic!("it works");
    };
    let why = why.to_string();
    assert!(
        why.contains("seatbelt: sandbox-exec is part of macOS"),
        "{why}"
    );
    assert!(
        why.contains("namespaces, bubblewrap, docker, lite"),
        "{why}"
    );
    assert!(crate::levels().all(|level| level != Level::Seatbelt));
}

#[test]
fn groups_that_stand_in_the_way_are_left() {
    let backend = Moody::leaked(1);
    let runner = Runner::new(None);
    assert_eq!(block_on(runner.obstacle(backend)), None);
    assert_eq!(backend.tries(), 2);
    assert!(!runner.grouped.load(Ordering::SeqCst));
    // What fails in both ways isn't the groups' fault.
    let backend = Moody::leaked(2);
    let runner = Runner::new(None);
    assert!(block_on(runner.obstacle(backend)).is_some());
    assert!(runner.grouped.load(Ordering::SeqCst));
}
