//! The port's implementation: which sandbox is used, how many run at once, and who ends them.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gongfu_core::account::Owner;
use gongfu_core::port::{Listener, Pending, PortError, Sandbox};
use gongfu_core::sandbox::{
    Command, Docker, Exit, Input, Level, Limits, Mode, Mount, Outcome, Reach, Reason, Spec,
    Standing,
};
use tokio::sync::{Mutex, oneshot};

use crate::backend::{BACKENDS, Backend, Containers, Failure, Surroundings, levels, obstacle};
use crate::cgroup::Groups;
use crate::pace::{Pace, Room};
use crate::place::Place;
use crate::plan;
use crate::spare::Spares;
use crate::tenant::Tenants;
use crate::threads::Threads;

/// How long it is waited for runs that nobody wants any more.
const ENDING: Duration = Duration::from_secs(10);
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
    /// Whether users of a server may be given a level that is for one person alone.
    crowded: bool,
    /// Whether a run may have a control group of its own.
    grouped: AtomicBool,
    pace: Arc<Pace>,
    /// What came of trying the levels, as far as they were.
    tried: Mutex<BTreeMap<Level, Tried>>,
    tenants: Tenants,
    spares: Arc<Spares>,
    containers: Arc<Containers>,
    threads: Arc<Threads>,
}

/// On what a run stands on this machine.
#[derive(Debug, Clone)]
struct Footing {
    /// Whose run it is.
    owner: Owner,
    /// Whom it is, where it isn't whoever runs gongfu.
    tenant: Option<plan::Owner>,
    /// Whether it has a control group of its own.
    grouped: bool,
}

/// What runs find that were begun before, and leave to others.
struct Kept(Arc<Spares>, Arc<Containers>);

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
            crowded: false,
            grouped: AtomicBool::new(true),
            pace: Arc::new(Pace::new(processors)),
            tried: Mutex::new(BTreeMap::new()),
            tenants: Tenants::of_this_process(),
            spares: Arc::new(Spares::new(true)),
            containers: Arc::new(Containers::new(Docker::default())),
            threads: Arc::default(),
        }
    }

    /// Uses this Docker daemon, where its level is asked for.
    #[must_use]
    pub fn with_docker(mut self, docker: Docker) -> Self {
        self.containers = Arc::new(Containers::new(docker));
        self
    }

    /// Begins nothing ahead of time: every run is the first one.
    #[must_use]
    pub fn without_spares(mut self) -> Self {
        self.spares = Arc::new(Spares::new(false));
        self
    }

    /// Gives users of a server also a level that is for one person alone, if `is_allowed`: whoever asks
    /// for that trusts all of them.
    #[must_use]
    pub fn with_levels_for_one(mut self, is_allowed: bool) -> Self {
        self.crowded = is_allowed;
        self
    }

    /// Holds limits without control groups, even where there are some.
    #[must_use]
    pub fn without_groups(self) -> Self {
        self.grouped.store(false, Ordering::Relaxed);
        self
    }

    /// Takes away what is kept for later runs, and waits for those to end that nobody wants any more, for
    /// a few seconds at most. Whoever ends without it leaves that to the next one. Nothing is begun ahead
    /// of time after it.
    pub fn end(&self) {
        self.spares.close();
        self.threads.end(ENDING);
        self.containers.close();
    }

    /// What things are run in here; `None` where nothing is.
    pub async fn level(&self) -> Option<Level> {
        self.strongest(&Owner::Local).await.ok().map(Backend::level)
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
        let footing = |grouped| Footing {
            owner: Owner::Local,
            tenant: self.tenants.of(&Owner::Local),
            grouped,
        };
        let mut came = self.attempt(backend, footing(grouped)).await;
        if came.is_err() && grouped && self.attempt(backend, footing(false)).await.is_ok() {
            // Control groups that no process can come into hold nothing.
            self.grouped.store(false, Ordering::Relaxed);
            came = Ok(());
        }
        if came.is_err() && self.tenants.give_up() {
            let again = self.attempt(backend, footing(grouped)).await;
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

    /// The strongest level that works here and is strong enough for this owner.
    async fn strongest(&self, owner: &Owner) -> Result<&'static dyn Backend, PortError> {
        let mut why = Vec::new();
        let is_one_of_many = matches!(owner, Owner::User(_)) && !self.crowded;
        let is_wanted = |level: Level| match self.wanted {
            Some(wanted) => wanted == level,
            None => !level.must_be_asked_for(),
        };
        for backend in BACKENDS.iter().filter(|one| is_wanted(one.level())) {
            let level = backend.level();
            if is_one_of_many && level.is_for_one() {
                why.push(format!(
                    "{level}: it is for one person alone, and this server has users; to use it all the \
                     same, set `levels_for_one = true` below `[sandbox]` in the settings"
                ));
                continue;
            }
            match self.obstacle(*backend).await {
                None => return Ok(*backend),
                Some(obstacle) => why.push(format!("{}: {obstacle}", backend.level())),
            }
        }
        if let (Some(wanted), []) = (self.wanted, why.as_slice()) {
            why.push(format!("{wanted}: {}", obstacle::of_another_system(wanted)));
        }
        let why = why.join("; ");
        Err(PortError::Unavailable(match self.wanted {
            None => format!("no sandbox works on this machine: {why}"),
            Some(_) => format!("the sandbox that was asked for doesn't work here: {why}"),
        }))
    }

    /// Runs something that uses what every run may need: it changes a file of a folder in a layer.
    async fn attempt(
        &self,
        backend: &'static dyn Backend,
        footing: Footing,
    ) -> Result<(), Failure> {
        let ground = tokio::task::spawn_blocking(trial_ground).await;
        let ground = ground.map_err(io::Error::other)?.map_err(|error| {
            let why = "no folder can be made to try it in; let TMPDIR be one that can be written";
            Failure::Unavailable(format!("{why} ({error})"))
        })?;
        let spec = Spec {
            command: Command::Line(format!("echo >> {TRIED_FILE}")),
            folder: TRIED.to_owned(),
            mounts: vec![Mount {
                sources: vec![ground.path.clone()],
                target: TRIED.to_owned(),
                mode: Mode::Layered,
                keep: None,
            }],
            programs: Vec::new(),
            environment: BTreeMap::new(),
            input: Input::Nothing,
            reach: Reach::default(),
            limits: Limits {
                wall: TRIAL,
                ..Limits::default()
            },
            logs: None,
        };
        let listener: Listener = Arc::new(|_, _| {});
        // What it tries is whether one can be begun.
        let containers = Arc::new(self.containers.for_once());
        let kept = Kept(Arc::new(Spares::new(false)), containers);
        let outcome = self
            .begin(backend, spec, footing, kept, listener, None)
            .await?;
        if outcome.exit == Some(Exit::Code(0)) {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&outcome.stderr.head);
        let said = said.lines().next().unwrap_or("it said nothing");
        let why = match (outcome.reason, outcome.exit) {
            (Reason::Timeout, _) => {
                "a trial took longer than 10 s; try again when the machine has less to do"
                    .to_owned()
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

    /// Runs it on a thread of its own; ends it when nobody waits any more.
    async fn begin(
        &self,
        backend: &'static dyn Backend,
        spec: Spec,
        footing: Footing,
        kept: Kept,
        listener: Listener,
        room: Option<Room>,
    ) -> Result<Outcome, Failure> {
        // The run ends when the one end is closed, by whoever drops it.
        let (wanted, cancel) = UnixStream::pair()?;
        let (tells, ended) = oneshot::channel();
        let (threads, pace) = (Arc::clone(&self.threads), Arc::clone(&self.pace));
        let Kept(spares, containers) = kept;
        let groups = footing.grouped.then(Groups::of_this_process).flatten();
        let since = room.as_ref().map_or_else(Instant::now, |room| room.since);
        self.threads.begin("run", groups, move || {
            let surroundings = Surroundings {
                tenant: footing.tenant,
                owner: &footing.owner,
                groups,
                threads: &threads,
                pace: &pace,
                since,
                spares: &spares,
                containers: &containers,
                cancel: cancel.as_fd(),
                listener: &*listener,
            };
            let ended = backend.run(&spec, &surroundings);
            drop(room);
            // Whoever no longer listens doesn't want to know.
            let _ = tells.send(ended);
        })?;
        let ended = ended.await;
        drop(wanted);
        ended.unwrap_or_else(|error| Err(Failure::Io(io::Error::other(error))))
    }
}

/// Where the folder of a trial is seen.
const TRIED: &str = "/workspace";
/// The file in it.
const TRIED_FILE: &str = "tried";

/// A folder with a file for a trial; it goes with this.
fn trial_ground() -> io::Result<Place> {
    // Looked for once, on a thread that may wait.
    let _ = Groups::of_this_process();
    let ground = Place::new(false)?;
    std::fs::write(ground.path.join(TRIED_FILE), "")?;
    Ok(ground)
}

impl Drop for Runner {
    fn drop(&mut self) {
        self.end();
    }
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
            // Nobody else hears of those that this system never has.
            if let Some(level) = self
                .wanted
                .filter(|level| levels().all(|one| one != *level))
            {
                standing.push(Standing {
                    level,
                    obstacle: Some(obstacle::of_another_system(level)),
                });
            }
            Ok(standing)
        })
    }

    fn make_way(&self) {
        self.pace.make_way();
    }

    fn run<'a>(&'a self, owner: &'a Owner, spec: Spec, listener: Listener) -> Pending<'a, Outcome> {
        Box::pin(async move {
            let backend = self.strongest(owner).await?;
            if backend.level() != Level::Namespaces && !spec.reach.is_off() {
                // There its network would be the machine's, or nobody could listen in it.
                let why = "hosts can be reached from a sandbox of gongfu's own namespaces alone, which doesn't work here; see gongfu doctor";
                return Err(PortError::Denied(why.to_owned()));
            }
            // It is kept until the run has really ended, whoever waits for that.
            let room = self.pace.room().await;
            let footing = Footing {
                owner: owner.clone(),
                tenant: self.tenants.of(owner),
                grouped: self.grouped.load(Ordering::Relaxed),
            };
            let kept = Kept(Arc::clone(&self.spares), Arc::clone(&self.containers));
            let ran = self.begin(backend, spec, footing, kept, listener, room);
            ran.await.map_err(|failure| match failure {
                Failure::Unavailable(why) => PortError::Unavailable(why),
                Failure::Refused(why) => PortError::Denied(why),
                Failure::Io(error) => PortError::Other(Box::new(error)),
            })
        })
    }
}

#[cfg(test)]
mod tests;
