//! The runner: chooses a backend, limits the runs at once, and ends them.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gongfu_core::account::Owner;
use gongfu_core::port::{Listener, Pending, PortError};
use gongfu_core::sandbox::{
    BackendStatus, Command, Exit, Input, Level, Limits, Mode, Mount, Outcome, Reach, Reason, Spec,
};
use tokio::sync::{Mutex, oneshot};

use crate::backend::{Backend, Failure, Profile, RunContext, unavailable};
use crate::file_time::{self, Beginning};
use crate::plan::UnixId;
use crate::platform::cgroup::Groups;
use crate::run_dir::RunDir;
use crate::tenant::Tenants;
use crate::threads::Threads;
use crate::throttle::{Slot, Throttle};

/// The time that [`Runner::end`] waits for cancelled runs.
const END_TIMEOUT: Duration = Duration::from_secs(10);
/// The time that a trial may take.
const TRIAL_TIMEOUT: Duration = Duration::from_secs(10);
/// The time after which a backend that doesn't work is tried again.
const RETRY_INTERVAL: Duration = Duration::from_secs(3);
/// The same as a multiple of the time that the trial took.
const RETRY_FACTOR: u32 = 20;

/// The backends of this system, the strongest first.
fn backends() -> Vec<Arc<dyn Backend>> {
    #[cfg(target_os = "linux")]
    return crate::backend::all();
    #[cfg(target_os = "macos")]
    return vec![Arc::new(crate::macos::Seatbelt)];
}

/// Runs jobs in the strongest sandbox that works here.
pub struct Runner {
    /// The strongest one first.
    backends: Vec<Arc<dyn Backend>>,
    /// The level to use; `None` for the strongest that works.
    wanted: Option<Level>,
    /// Users of a server may get a level that is for a single person.
    allows_levels_for_one: bool,
    /// Runs get control groups.
    uses_groups: AtomicBool,
    throttle: Arc<Throttle>,
    trials: Mutex<BTreeMap<Level, Trial>>,
    tenants: Tenants,
    threads: Arc<Threads>,
}

/// The identity of a run on this machine.
#[derive(Debug, Clone)]
struct Identity {
    owner: Owner,
    /// The user of the run; `None` for gongfu's own.
    tenant: Option<UnixId>,
    /// It gets a control group.
    uses_groups: bool,
}

/// The result of trying a backend.
#[derive(Debug, Clone)]
enum Trial {
    Works,
    /// The reason why it doesn't work, and when it is tried again.
    Fails(String, Instant),
}

impl Runner {
    /// A runner that uses this level only, or the strongest that works here.
    pub fn new(wanted: Option<Level>) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            backends: backends(),
            wanted,
            allows_levels_for_one: false,
            uses_groups: AtomicBool::new(true),
            throttle: Arc::new(Throttle::new(processors)),
            trials: Mutex::new(BTreeMap::new()),
            tenants: Tenants::of_this_process(),
            threads: Arc::default(),
        }
    }

    /// Adds a backend, before those that are for a single person.
    #[must_use]
    pub fn with_backend(mut self, backend: Arc<dyn Backend>) -> Self {
        let is_single_tenant = |one: &Arc<dyn Backend>| one.profile().is_single_tenant;
        let at = self.backends.iter().position(is_single_tenant);
        let at = at.unwrap_or(self.backends.len());
        self.backends.insert(at, backend);
        self
    }

    /// The backends of this system, the strongest first; they may not work here.
    pub fn profiles(&self) -> impl Iterator<Item = &'static Profile> {
        self.backends.iter().map(|backend| backend.profile())
    }

    /// Every level that settings may name, with a description; some exist only on other systems.
    pub fn known(&self) -> impl Iterator<Item = (Level, &'static str)> {
        let here = self
            .profiles()
            .map(|profile| (profile.level, profile.about));
        here.chain(unavailable::foreign())
    }

    /// A runner of the level that reaches hosts, where this one's level doesn't.
    pub fn for_hosts(&self) -> Option<Self> {
        let wanted = self.wanted?;
        let reaching = self.profiles().find(|profile| profile.reaches_hosts)?;
        (reaching.level != wanted).then(|| Self::new(Some(reaching.level)))
    }

    /// A runner for programs that need folders of the machine at their own paths, and hosts: other levels don't have
    /// both.
    pub fn for_servers() -> Self {
        let mut all = backends().into_iter().map(|backend| backend.profile());
        let reaching = all.find(|profile| profile.reaches_hosts);
        Self::new(reaching.map(|profile| profile.level))
    }

    /// Lets users of a server have a level that is for a single person, if `is_allowed`: the operator trusts
    /// all of them then.
    #[must_use]
    pub fn with_levels_for_one(mut self, is_allowed: bool) -> Self {
        self.allows_levels_for_one = is_allowed;
        self
    }

    /// Enforces limits without control groups, even where there are some.
    #[must_use]
    pub fn without_groups(self) -> Self {
        self.uses_groups.store(false, Ordering::Relaxed);
        self
    }

    /// Waits a few seconds for cancelled runs, and removes the warm sandboxes. The next server removes what is left
    /// without this.
    pub fn end(&self) {
        self.threads.join(END_TIMEOUT);
        for backend in &self.backends {
            backend.close();
        }
    }

    /// The level of the runs of the local person; `None` where no backend works.
    pub async fn level(&self) -> Option<Level> {
        self.strongest(&Owner::Local)
            .await
            .ok()
            .map(|backend| backend.profile().level)
    }

    /// Explains why a backend doesn't work, if it doesn't. One that works isn't tried again.
    async fn failure_reason(&self, backend: &Arc<dyn Backend>) -> Option<String> {
        // Others wait for the same trial.
        let mut trials = self.trials.lock().await;
        let level = backend.profile().level;
        match trials.get(&level) {
            Some(Trial::Works) => return None,
            Some(Trial::Fails(why, retry)) if Instant::now() < *retry => return Some(why.clone()),
            _ => {}
        }
        let start = Instant::now();
        let uses_groups = self.uses_groups.load(Ordering::Relaxed);
        let mut tried = self.attempt(backend, uses_groups).await;
        if tried.is_err() && uses_groups && self.attempt(backend, false).await.is_ok() {
            // Control groups that no process can join are of no use.
            self.uses_groups.store(false, Ordering::Relaxed);
            tried = Ok(());
        }
        if tried.is_err() && self.tenants.disable() {
            let again = self.attempt(backend, uses_groups).await;
            if again.is_err() {
                self.tenants.enable();
            }
            tried = again.or(tried);
        }
        let reason = tried.err().map(|failure| failure.to_string());
        let trial = reason.clone().map_or(Trial::Works, |why| {
            let interval = RETRY_INTERVAL.max(start.elapsed() * RETRY_FACTOR);
            Trial::Fails(why, Instant::now() + interval)
        });
        trials.insert(level, trial);
        reason
    }

    /// The strongest backend that works here, and that this owner may have.
    async fn strongest(&self, owner: &Owner) -> Result<&Arc<dyn Backend>, PortError> {
        let mut why = Vec::new();
        let is_one_of_many = *owner != Owner::Local && !self.allows_levels_for_one;
        for backend in &self.backends {
            let profile = backend.profile();
            let level = profile.level;
            let is_other = self
                .wanted
                .map_or(profile.is_opt_in, |wanted| wanted != level);
            if is_other {
                continue;
            }
            if is_one_of_many && profile.is_single_tenant {
                why.push(format!(
                    "{level}: it isolates only a single person's runs, and this server has users; to use it anyway, set `levels_for_one = true` below `[sandbox]` in the settings"
                ));
                continue;
            }
            match self.failure_reason(backend).await {
                None => return Ok(backend),
                Some(reason) => why.push(format!("{level}: {reason}")),
            }
        }
        if let (Some(wanted), []) = (self.wanted, why.as_slice()) {
            why.push(format!("{wanted}: {}", self.not_of_this_system(wanted)));
        }
        let why = why.join("; ");
        Err(PortError::Unavailable(match self.wanted {
            None => format!("no sandbox works on this machine: {why}"),
            Some(_) => format!("the requested sandbox doesn't work here: {why}"),
        }))
    }

    fn not_of_this_system(&self, wanted: Level) -> String {
        let here = self.profiles().map(|profile| profile.level);
        unavailable::not_of_this_system(wanted, here)
    }

    /// Tries a backend with a job that needs what every run may need: it changes a file in a layer.
    async fn attempt(&self, backend: &Arc<dyn Backend>, uses_groups: bool) -> Result<(), Failure> {
        let folder = tokio::task::spawn_blocking(trial_folder).await;
        let folder = folder.map_err(io::Error::other)?.map_err(|error| {
            let why = "can't create a folder to try it in; set TMPDIR to a writable folder";
            Failure::Unavailable(format!("{why} ({error})"))
        })?;
        let job = Spec {
            command: Command::Line(format!("echo >> {TRIAL_FILE}")),
            folder: TRIAL_MOUNT.to_owned(),
            mounts: vec![Mount {
                sources: vec![folder.path.clone()],
                target: TRIAL_MOUNT.to_owned(),
                mode: Mode::Layered,
                keep: None,
            }],
            programs: Vec::new(),
            environment: BTreeMap::new(),
            input: Input::Nothing,
            dialogue: None,
            reach: Reach::default(),
            limits: Limits {
                wall: TRIAL_TIMEOUT,
                ..Limits::default()
            },
            logs: None,
            links: Vec::new(),
            hidden: Vec::new(),
            holding: None,
        };
        let listener: Listener = Arc::new(|_, _| {});
        let identity = self.identity(&Owner::Local, uses_groups);
        let outcome = self.start(backend, job, identity, listener, None).await?;
        if outcome.exit == Some(Exit::Code(0)) {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&outcome.stderr.head);
        let said = said.lines().next().unwrap_or("it said nothing");
        let why = match (outcome.reason, outcome.exit) {
            (Reason::Timeout, _) => {
                "a test run took longer than 10 s; try again when the machine is less busy"
                    .to_owned()
            }
            (reason, Some(Exit::Code(code))) => format!(
                "a test run, which writes a line to a file, exited with {code} ({}): {said}; check that a shell and its libraries are installed below /usr",
                reason.as_str()
            ),
            (reason, exit) => format!(
                "a test run, which writes a line to a file, was killed ({}, {exit:?}); check the machine's log",
                reason.as_str()
            ),
        };
        Err(Failure::Unavailable(why))
    }

    fn identity(&self, owner: &Owner, uses_groups: bool) -> Identity {
        Identity {
            owner: owner.clone(),
            tenant: self.tenants.of(owner),
            uses_groups,
        }
    }

    /// Runs a job on a thread of its own; dropping the future ends it. Without a slot it is a trial.
    async fn start(
        &self,
        backend: &Arc<dyn Backend>,
        job: Spec,
        identity: Identity,
        listener: Listener,
        slot: Option<Slot>,
    ) -> Result<Outcome, Failure> {
        // Dropping `wanted` closes the other end, which ends the run.
        let (wanted, cancel) = UnixStream::pair()?;
        let (sender, receiver) = oneshot::channel();
        let (threads, throttle) = (Arc::clone(&self.threads), Arc::clone(&self.throttle));
        let backend = Arc::clone(backend);
        let is_trial = slot.is_none();
        let groups = identity.uses_groups.then(Groups::of_this_process).flatten();
        let since = slot.as_ref().map_or_else(Instant::now, |slot| slot.since);
        self.threads.spawn("run", move || {
            let began = Beginning::now();
            let context = RunContext {
                tenant: identity.tenant,
                owner: &identity.owner,
                is_trial,
                groups,
                threads: &threads,
                throttle: &throttle,
                since,
                began,
                cancel: cancel.as_fd(),
                listener: &*listener,
            };
            let outcome = backend.execute(&job, &context);
            // Only now has the run really ended.
            drop(slot);
            // The receiver of a cancelled run is gone.
            let _ = sender.send(outcome);
        })?;
        let outcome = receiver.await;
        drop(wanted);
        outcome.unwrap_or_else(|error| Err(Failure::Io(io::Error::other(error))))
    }
}

/// The folder of a trial, as the trial sees it.
const TRIAL_MOUNT: &str = "/workspace";
/// The file in it.
const TRIAL_FILE: &str = "tried";

/// Makes a folder with a file for a trial.
fn trial_folder() -> io::Result<RunDir> {
    // Finding groups takes a while, and this thread may block.
    let _ = Groups::of_this_process();
    let folder = RunDir::new(false)?;
    std::fs::write(folder.path.join(TRIAL_FILE), "")?;
    Ok(folder)
}

impl Drop for Runner {
    fn drop(&mut self) {
        self.end();
    }
}

impl Runner {
    /// The backends of this machine, the strongest first, with the reason why one doesn't work.
    pub fn statuses(&self) -> Pending<'_, Vec<BackendStatus>> {
        Box::pin(async move {
            let mut statuses = Vec::new();
            for backend in &self.backends {
                let profile = backend.profile();
                statuses.push(BackendStatus {
                    level: profile.level,
                    about: profile.about,
                    is_opt_in: profile.is_opt_in,
                    unavailable_reason: self.failure_reason(backend).await,
                });
            }
            // One of another system is listed only where settings name it.
            let is_foreign = |level: &Level| self.profiles().all(|one| one.level != *level);
            if let Some(level) = self.wanted.filter(is_foreign) {
                let known = self.known().find(|(one, _)| *one == level);
                statuses.push(BackendStatus {
                    level,
                    about: known.map_or("", |(_, about)| about),
                    is_opt_in: false,
                    unavailable_reason: Some(self.not_of_this_system(level)),
                });
            }
            Ok(statuses)
        })
    }

    /// Notes that this process has just changed files: for the next run, those are no changes by somebody else.
    pub fn note_change(&self) {
        file_time::note_change();
    }

    /// Counts a request that runs nothing: the next run of a queue starts a little later.
    pub fn yield_to_request(&self) {
        self.throttle.count_answer();
    }

    /// Runs something for an owner; see [`gongfu_core::port::Sandbox::run`].
    pub fn run<'a>(
        &'a self,
        owner: &'a Owner,
        job: Spec,
        listener: Listener,
    ) -> Pending<'a, Outcome> {
        Box::pin(async move {
            let backend = self.strongest(owner).await?;
            if !backend.profile().reaches_hosts && !job.reach.is_off() {
                // Elsewhere its network would be the host's, or the proxy couldn't listen in it.
                let why = "only the namespaces sandbox can reach hosts, and it doesn't work here; see gongfu doctor";
                return Err(PortError::Denied(why.to_owned()));
            }
            let slot = self.throttle.slot(job.dialogue.is_some()).await;
            let identity = self.identity(owner, self.uses_groups.load(Ordering::Relaxed));
            let running = self.start(backend, job, identity, listener, slot);
            running.await.map_err(|failure| match failure {
                Failure::Unavailable(why) => PortError::Unavailable(why),
                Failure::Refused(why) => PortError::Denied(why),
                Failure::Io(error) => PortError::Other(Box::new(error)),
            })
        })
    }
}

#[cfg(test)]
mod tests;
