//! The net under each input: a panic is caught with its place, and what hangs is named.

use std::any::Any;
use std::cell::RefCell;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};

use super::property::{Fixture, Kind};

/// So long may one input take.
const HANGS: Duration = Duration::from_secs(30);

/// The most memory that all inputs together may take, in bytes.
#[cfg(unix)]
const MEMORY: u64 = 6 * 1024 * 1024 * 1024;

thread_local! {
    /// The place of the last panic of this thread.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// The outcome of an input.
pub(super) struct Outcome {
    pub(super) took: Duration,
    /// The violated property, or the panic.
    pub(super) broken: Option<String>,
}

/// The input that a worker is busy with.
pub(super) struct Slot {
    doing: Mutex<Option<Doing>>,
    /// Says it too, for when the whole program is ended.
    file: File,
}

#[derive(Clone)]
pub(super) struct Doing {
    pub(super) kind: Kind,
    pub(super) number: u64,
    pub(super) input: Vec<u8>,
    since: Instant,
}

/// An input that takes more and more memory ends this program, not the machine.
pub(super) fn limit_memory() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, setrlimit};
        let limit = Rlimit {
            current: Some(MEMORY),
            maximum: Some(MEMORY),
        };
        // Without the limit everything works as well.
        let _ = setrlimit(Resource::As, limit);
    }
}

/// Keeps panics for the caller of [`caught`] instead of printing them.
pub(super) fn quiet() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        PLACE.with(|kept| *kept.borrow_mut() = place.unwrap_or_default());
    }));
}

/// Checks an input; a panic is something that doesn't hold.
pub(super) fn caught(kind: Kind, fixture: &Fixture, input: &[u8]) -> Outcome {
    let started = Instant::now();
    let verdict = catch_unwind(AssertUnwindSafe(|| kind.check(fixture, input)));
    let took = started.elapsed();
    let broken = match verdict {
        Ok(verdict) => verdict.err(),
        Err(panic) => {
            let place = PLACE.with(|kept| kept.borrow().clone());
            Some(format!("panic at {place}: {}", words(panic.as_ref())))
        }
    };
    Outcome { took, broken }
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()))
        .unwrap_or_default()
}

impl Slot {
    /// A slot that also writes down what is being done, in a file of this folder.
    pub(super) fn new(folder: &Path, worker: usize) -> Result<Self> {
        let path = folder.join(format!("running-{worker}"));
        let file =
            File::create(&path).with_context(|| format!("could not make {}", path.display()))?;
        Ok(Self {
            doing: Mutex::default(),
            file,
        })
    }

    /// Notes what is being done.
    pub(super) fn begin(&self, kind: Kind, number: u64, input: &[u8]) {
        self.write(&format!("{} input {number}", kind.as_str()));
        self.put(Some(Doing {
            kind,
            number,
            input: input.to_vec(),
            since: Instant::now(),
        }));
    }

    /// Notes that it is done.
    pub(super) fn end(&self) {
        self.put(None);
    }

    /// Checks an input, visible to the watch.
    pub(super) fn check(
        &self,
        kind: Kind,
        number: u64,
        fixture: &Fixture,
        input: &[u8],
    ) -> Outcome {
        self.begin(kind, number, input);
        let outcome = caught(kind, fixture, input);
        self.end();
        outcome
    }

    fn put(&self, doing: Option<Doing>) {
        *self.doing.lock().unwrap_or_else(PoisonError::into_inner) = doing;
    }

    /// One short write over the one before; that it may fail hurts nobody.
    pub(super) fn write(&self, line: &str) {
        #[cfg(unix)]
        let _ =
            std::os::unix::fs::FileExt::write_at(&self.file, format!("{line:<60}\n").as_bytes(), 0);
        #[cfg(not(unix))]
        let _ = line;
    }

    fn hangs(&self) -> Option<Doing> {
        let doing = self.doing.lock().unwrap_or_else(PoisonError::into_inner);
        doing
            .as_ref()
            .filter(|doing| doing.since.elapsed() > HANGS)
            .cloned()
    }
}

/// Runs a worker for each slot; when one of them hangs, reports it and ends the program.
pub(super) fn watched<T: Send>(
    slots: &[Slot],
    report_hang: impl Fn(&Doing),
    work: impl Fn(&Slot) -> T + Sync,
) -> Result<Vec<T>> {
    std::thread::scope(|scope| {
        let work = &work;
        let started: Vec<_> = slots
            .iter()
            .map(|slot| scope.spawn(move || work(slot)))
            .collect();
        while started.iter().any(|worker| !worker.is_finished()) {
            std::thread::sleep(Duration::from_millis(20));
            if let Some(doing) = slots.iter().find_map(Slot::hangs) {
                report_hang(&doing);
                // The thread can't be ended, and waiting for it is no use.
                std::process::exit(1);
            }
        }
        started
            .into_iter()
            .map(|worker| worker.join().map_err(|_| anyhow!("a worker ended early")))
            .collect()
    })
}
