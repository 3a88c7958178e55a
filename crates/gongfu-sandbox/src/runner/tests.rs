//! Tests of trying and choosing backends.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use gongfu_core::sandbox::{
    CapturedOutput, Enforcement, Exit, Level, Means, Outcome, Reason, Spec,
};

use super::{Runner, Trial};
use crate::backend::{Backend, Failure, HostView, Profile, RunContext};

/// A backend that fails so many times, and then works.
struct Flaky {
    failures: usize,
    tries: AtomicUsize,
}

static PROFILE: Profile = Profile {
    level: Level::new("moody"),
    about: "moody",
    is_single_tenant: false,
    is_opt_in: false,
    reaches_hosts: false,
    host: HostView::Hidden,
    processes: Means::ProcessLimit,
    disk: Means::SizedFileSystem,
};

impl Flaky {
    fn new(failures: usize) -> Arc<Self> {
        Arc::new(Self {
            failures,
            tries: AtomicUsize::new(0),
        })
    }

    fn tries(&self) -> usize {
        self.tries.load(Ordering::SeqCst)
    }
}

impl Backend for Flaky {
    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    fn execute(&self, _: &Spec, _: &RunContext<'_>) -> Result<Outcome, Failure> {
        if self.tries.fetch_add(1, Ordering::SeqCst) < self.failures {
            return Err(Failure::Unavailable("not today".to_owned()));
        }
        Ok(Outcome {
            level: PROFILE.level,
            enforcement: Enforcement {
                memory: Means::Watchdog,
                processes: Means::ProcessLimit,
                disk: Means::SizedFileSystem,
            },
            exit: Some(Exit::Code(0)),
            reason: Reason::Ok,
            stdout: CapturedOutput::default(),
            stderr: CapturedOutput::default(),
            artifacts: Vec::new(),
            changed: 0,
            held: None,
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
fn tries_a_failing_backend_again_after_a_while() {
    let backend = Flaky::new(1);
    let used: Arc<dyn Backend> = Arc::<Flaky>::clone(&backend);
    let runner = Runner::new(None).without_groups();
    block_on(async {
        let reason = runner.failure_reason(&used).await;
        assert!(reason.unwrap().contains("not today"));
        assert!(runner.failure_reason(&used).await.is_some());
        assert_eq!(backend.tries(), 1, "it wasn't asked again so soon");
        let mut trials = runner.trials.lock().await;
        let Some(Trial::Fails(_, until)) = trials.get_mut(&PROFILE.level) else {
            panic!("{trials:?}");
        };
        assert!(*until > Instant::now());
        *until = Instant::now();
        drop(trials);
        assert_eq!(runner.failure_reason(&used).await, None);
        assert_eq!(runner.failure_reason(&used).await, None);
        assert_eq!(backend.tries(), 2);
    });
}

#[test]
#[cfg(target_os = "linux")]
fn explains_a_level_of_another_system() {
    let runner = Runner::new(Some(Level::new("seatbelt")));
    let Err(why) = block_on(runner.strongest(&gongfu_core::account::Owner::Local)) else {
        panic!("it works");
    };
    let why = why.to_string();
    assert!(
        why.contains("seatbelt: sandbox-exec is part of macOS"),
        "{why}"
    );
    assert!(why.contains("namespaces, bubblewrap, lite"), "{why}");
    let mut here = runner.profiles();
    assert!(here.all(|profile| profile.level != Level::new("seatbelt")));
}

#[test]
fn disables_groups_that_no_process_can_join() {
    let backend = Flaky::new(1);
    let used: Arc<dyn Backend> = Arc::<Flaky>::clone(&backend);
    let runner = Runner::new(None);
    assert_eq!(block_on(runner.failure_reason(&used)), None);
    assert_eq!(backend.tries(), 2);
    assert!(!runner.uses_groups.load(Ordering::SeqCst));
    // What fails in both ways isn't the groups' fault.
    let used: Arc<dyn Backend> = Flaky::new(2);
    let runner = Runner::new(None);
    assert!(block_on(runner.failure_reason(&used)).is_some());
    assert!(runner.uses_groups.load(Ordering::SeqCst));
}
