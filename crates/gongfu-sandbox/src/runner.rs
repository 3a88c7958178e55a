//! The port's implementation: which sandbox is used, how many run at once, and who ends them.

use std::collections::BTreeMap;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gongfu_core::account::Owner;
use gongfu_core::port::{Listener, Pending, PortError, Sandbox};
use gongfu_core::sandbox::{
    Command, Exit, Input, Level, Limits, Mode, Mount, Outcome, Reason, Spec, Standing,
};
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};

use crate::backend::{BACKENDS, Backend, Failure, Surroundings, obstacle};
use crate::cgroup::Groups;
use crate::plan;
use crate::random;
use crate::spare::Spares;
use crate::tenant::Tenants;

/// How many runs there are at once for each processor; others wait.
const RUNS: usize = 4;
/// How long a trial may take.
const TRIAL: Duration = Duration::from_secs(10);
/// For how long it is believed that a level doesn't work.
const DOUBT: Duration = Duration::from_secs(3);
/// How many times longer than the trial took, at least: to try again must not be what takes the time.
const DOUBTS: u32 = 20;

/// Runs things in the strongest sandbox that works here.
pub struct Runner {
    /// The level that was asked for; `None` for the strongest that works.
    wanted: Option<Level>,
    /// Whether a run may have a control group of its own.
    grouped: AtomicBool,
    room: Arc<Semaphore>,
    /// What came of trying the levels, as far as they were.
    tried: Mutex<BTreeMap<Level, Tried>>,
    tenants: Tenants,
    spares: Arc<Spares>,
}

/// What came of trying a level.
#[derive(Debug, Clone)]
enum Tried {
    Works,
    /// It doesn't, and until when that is believed.
    Fails(String, Instant),
}

impl Runner {
    /// A runner that uses this level alone, or the strongest that works here.
    pub fn new(wanted: Option<Level>) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            wanted,
            grouped: AtomicBool::new(true),
            room: Arc::new(Semaphore::new(RUNS * processors)),
            tried: Mutex::new(BTreeMap::new()),
            tenants: Tenants::of_this_process(),
            spares: Arc::new(Spares::new(true)),
        }
    }

    /// Begins nothing ahead of time: every run is the first one.
    #[must_use]
    pub fn without_spares(mut self) -> Self {
        self.spares = Arc::new(Spares::new(false));
        self
    }

    /// Holds limits without control groups, even where there are some.
    #[must_use]
    pub fn without_groups(self) -> Self {
        self.grouped.store(false, Ordering::Relaxed);
        self
    }

    /// What things are run in here; `None` where nothing is.
    pub async fn level(&self) -> Option<Level> {
        self.strongest().await.ok().map(Backend::level)
    }

    /// Why a level doesn't work, if it doesn't. One that works isn't tried again.
    async fn obstacle(&self, backend: &'static dyn Backend) -> Option<String> {
        // Whoever else asks waits for the same trial.
        let mut tried = self.tried.lock().await;
        match tried.get(&backend.level()) {
            Some(Tried::Works) => return None,
            Some(Tried::Fails(why, until)) if Instant::now() < *until => return Some(why.clone()),
            _ => {}
        }
        let begun = Instant::now();
        let grouped = self.grouped.load(Ordering::Relaxed);
        let tenant = || self.tenants.of(&Owner::Local);
        let mut came = attempt(backend, tenant(), grouped).await;
        if came.is_err() && grouped && attempt(backend, tenant(), false).await.is_ok() {
            // Control groups that no process can come into hold nothing.
            self.grouped.store(false, Ordering::Relaxed);
            came = Ok(());
        }
        if came.is_err() && self.tenants.give_up() {
            let again = attempt(backend, tenant(), grouped).await;
            if again.is_err() {
                self.tenants.take_back();
            }
            came = again.or(came);
        }
        let obstacle = came.err().map(|failure| failure.to_string());
        let now = obstacle.clone().map_or(Tried::Works, |why| {
            let doubt = DOUBT.max(begun.elapsed() * DOUBTS);
            Tried::Fails(why, Instant::now() + doubt)
        });
        tried.insert(backend.level(), now);
        obstacle
    }

    async fn strongest(&self) -> Result<&'static dyn Backend, PortError> {
        let mut why = Vec::new();
        let is_wanted = |level| self.wanted.is_none_or(|wanted| wanted == level);
        for backend in BACKENDS.iter().filter(|one| is_wanted(one.level())) {
            match self.obstacle(*backend).await {
                None => return Ok(*backend),
                Some(obstacle) => why.push(format!("{}: {obstacle}", backend.level())),
            }
        }
        if let (Some(wanted), []) = (self.wanted, why.as_slice()) {
            why.push(obstacle::of_another_system(wanted));
        }
        let why = why.join("; ");
        Err(PortError::Unavailable(match self.wanted {
            None => format!("no sandbox works on this machine: {why}"),
            Some(_) => format!("the sandbox that was asked for doesn't work here: {why}"),
        }))
    }
}

/// Runs something that uses what every run may need: it changes a file of a folder in a layer.
async fn attempt(
    backend: &'static dyn Backend,
    tenant: Option<plan::Owner>,
    grouped: bool,
) -> Result<(), Failure> {
    let ground = tokio::task::spawn_blocking(TrialGround::new).await;
    let ground = ground.map_err(std::io::Error::other)?.map_err(|error| {
        let why = "no folder can be made to try it in; let TMPDIR be one that can be written";
        Failure::Unavailable(format!("{why} ({error})"))
    })?;
    let spec = Spec {
        command: Command::Line(format!("echo >> {TRIED_FILE}")),
        folder: TRIED.to_owned(),
        mounts: vec![Mount {
            sources: vec![ground.folder.clone()],
            target: TRIED.to_owned(),
            mode: Mode::Layered,
            keep: None,
        }],
        programs: Vec::new(),
        environment: BTreeMap::new(),
        input: Input::Nothing,
        limits: Limits {
            wall: TRIAL,
            ..Limits::default()
        },
        logs: None,
    };
    let listener: Listener = Arc::new(|_, _| {});
    // What it tries is whether one can be begun.
    let spares = Arc::new(Spares::new(false));
    let outcome = begin(backend, spec, tenant, grouped, &spares, listener, None);
    let outcome = outcome.await?;
    if outcome.exit == Some(Exit::Code(0)) {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&outcome.stderr.head);
    let said = said.lines().next().unwrap_or("it said nothing");
    let why = match (outcome.reason, outcome.exit) {
        (Reason::Timeout, _) => {
            "a trial took longer than 10 s; try again when the machine has less to do".to_owned()
        }
        (reason, Some(Exit::Code(code))) => format!(
            "a trial, which writes a line to a file, ended with code {code} ({}): {said}; see to it \
             that what a shell needs is installed below /usr",
            reason.as_str()
        ),
        (reason, exit) => format!(
            "a trial, which writes a line to a file, was ended ({}, {exit:?}); look for what the \
             machine's log says of it",
            reason.as_str()
        ),
    };
    Err(Failure::Unavailable(why))
}

/// Where the folder of a trial is seen.
const TRIED: &str = "/workspace";
/// The file in it.
const TRIED_FILE: &str = "tried";

/// A folder with a file for a trial; it goes with this.
struct TrialGround {
    folder: PathBuf,
}

impl TrialGround {
    fn new() -> std::io::Result<Self> {
        use std::os::unix::fs::DirBuilderExt as _;
        let name = format!("gongfu-trial-{:016x}", u64::from_ne_bytes(random::bytes()?));
        let folder = std::env::temp_dir().join(name);
        // Nobody else's: one that is there already is an error.
        std::fs::DirBuilder::new().mode(0o700).create(&folder)?;
        let ground = Self { folder };
        std::fs::write(ground.folder.join(TRIED_FILE), "")?;
        Ok(ground)
    }
}

impl Drop for TrialGround {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.folder.join(TRIED_FILE));
        let _ = std::fs::remove_dir(&self.folder);
    }
}

/// Runs it on a thread of its own; ends it when nobody waits any more.
async fn begin(
    backend: &'static dyn Backend,
    spec: Spec,
    tenant: Option<plan::Owner>,
    grouped: bool,
    spares: &Arc<Spares>,
    listener: Listener,
    room: Option<OwnedSemaphorePermit>,
) -> Result<Outcome, Failure> {
    // The run ends when the one end is closed, by whoever drops it.
    let (wanted, cancel) = UnixStream::pair()?;
    let spares = Arc::clone(spares);
    let running = tokio::task::spawn_blocking(move || {
        let _room = room;
        let surroundings = Surroundings {
            tenant,
            groups: grouped.then(Groups::of_this_process).flatten(),
            spares: &spares,
            cancel: cancel.as_fd(),
            listener: &*listener,
        };
        backend.run(&spec, &surroundings)
    });
    let ended = running.await;
    drop(wanted);
    ended.unwrap_or_else(|error| Err(Failure::Io(std::io::Error::other(error))))
}

impl Sandbox for Runner {
    fn standing(&self) -> Pending<'_, Vec<Standing>> {
        Box::pin(async move {
            let mut standing = Vec::new();
            for backend in BACKENDS {
                standing.push(Standing {
                    level: backend.level(),
                    obstacle: self.obstacle(*backend).await,
                });
            }
            Ok(standing)
        })
    }

    fn run<'a>(&'a self, owner: &'a Owner, spec: Spec, listener: Listener) -> Pending<'a, Outcome> {
        Box::pin(async move {
            let backend = self.strongest().await?;
            if let (Level::Seatbelt, Owner::User(_)) = (backend.level(), owner) {
                // Whoever runs there is always whoever gongfu is, and so would be everybody.
                let why = "seatbelt is for one person alone; serve several people from Linux";
                return Err(PortError::Unavailable(why.to_owned()));
            }
            // It is never closed. It is kept until the run has really ended, whoever waits for that.
            let room = Arc::clone(&self.room).acquire_owned().await.ok();
            let grouped = self.grouped.load(Ordering::Relaxed);
            let tenant = self.tenants.of(owner);
            let ran = begin(backend, spec, tenant, grouped, &self.spares, listener, room).await;
            ran.map_err(|failure| match failure {
                Failure::Unavailable(why) => PortError::Unavailable(why),
                Failure::Refused(why) => PortError::Denied(why),
                Failure::Io(error) => PortError::Other(Box::new(error)),
            })
        })
    }
}

#[cfg(test)]
mod tests;
