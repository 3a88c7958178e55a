//! Environments of packages: built once in a sandbox that reaches only the package index, read-only for runs.
//!
//! The key of an environment is a digest of everything that it is built from: manifest, lock, interpreters and
//! platform. Callers that need the same one wait for the same build.

mod build;
mod compile;
mod guess;
mod imports;
mod index;
mod interpreter;
mod node;
mod python;
mod recipe;
mod sources;
mod step;
mod storage;
mod tree;
mod url;
mod uv;

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use gongfu_core::dependency::{Failure, FailureKind, Imports, Language, Manifest};
use gongfu_core::library::Skill;
use gongfu_core::port::{
    BuiltEnvironment, Clock, Environment, Environments, InstalledEnvironment, Listener,
    Materialize, Pending, PortError, Sandbox,
};
use gongfu_core::sandbox::{Contact, Limits, Mode, Mount};
use gongfu_core::skill::Digest;
use gongfu_files::Home;
use tokio::sync::{OnceCell, Semaphore};
use tokio::task::JoinHandle;

use build::BuildRequest;
use storage::{LeasedEnvironment, Storage};

pub use interpreter::Interpreters;
pub use sources::{InstallerFiles, NpmLogin, ProxySettings, Sources, Variable};

/// The limit of builds that run at once.
const MAX_BUILDS: usize = 2;
/// The time between two attempts to lock what another process builds or adds to.
const LOCK_POLL: Duration = Duration::from_millis(200);
/// The length of a key: the first digits of a digest.
const KEY_LENGTH: usize = 32;

/// The operator's settings.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The indexes; or why they can't be told.
    pub sources: Result<Sources, String>,
    /// The limits of a build.
    pub limits: Limits,
    /// Refuses a lock that doesn't fit its manifest, which otherwise is resolved anew.
    pub frozen: bool,
    /// Packages that are built if the index has no wheel of them; `*` is all of them.
    pub build: Vec<String>,
}

impl Settings {
    /// True if the operator allows this package to be built.
    fn may_build(&self, name: &str) -> bool {
        let name = python::normal_name(name);
        let mut allowed = self.build.iter();
        allowed.any(|allowed| allowed == "*" || python::normal_name(allowed) == name)
    }
}

/// The environments of a home.
#[derive(Clone)]
pub struct LocalEnvironments(Arc<Inner>);

struct Inner {
    storage: Storage,
    /// The home with the tools that build them.
    tools: Home,
    skills: Arc<dyn Materialize>,
    interpreters: Arc<Interpreters>,
    sandbox: Arc<dyn Sandbox>,
    clock: Arc<dyn Clock>,
    settings: Settings,
    /// The builds of this process, by key.
    builds: Mutex<HashMap<String, Arc<OnceCell<BuildResult>>>>,
    /// The environments that this process compiles, or has compiled, by key.
    compiling: Mutex<HashMap<String, Option<JoinHandle<()>>>>,
    slots: Semaphore,
}

/// The hosts that a build asked for, or the reason why it failed.
type BuildResult = Result<Vec<Contact>, Failure>;

impl LocalEnvironments {
    /// The environments of a home, built in this sandbox with the tools of a home, which may be another one.
    pub fn new(
        home: Home,
        tools: Home,
        skills: Arc<dyn Materialize>,
        interpreters: Arc<Interpreters>,
        sandbox: Arc<dyn Sandbox>,
        clock: Arc<dyn Clock>,
        settings: Settings,
    ) -> Self {
        Self(Arc::new(Inner {
            storage: Storage::new(home),
            tools,
            skills,
            interpreters,
            sandbox,
            clock,
            settings,
            builds: Mutex::default(),
            compiling: Mutex::default(),
            slots: Semaphore::new(MAX_BUILDS),
        }))
    }

    /// Builds an environment, or waits for the build of another call. A build goes on even if every call gives
    /// up: clients wait for a minute, and find the environment when they ask again.
    async fn build(
        &self,
        skill: &Skill,
        manifest: Manifest,
        listener: Listener,
    ) -> Result<Result<BuiltEnvironment, Failure>, PortError> {
        let inferred = manifest.is_inferred();
        let manifest = if inferred {
            match self.0.guess(skill, &manifest).await {
                Ok(guessed) => guessed,
                Err(failure) => return Ok(Err(failure)),
            }
        } else {
            manifest
        };
        let warnings = if inferred {
            manifest.warnings.clone()
        } else {
            Vec::new()
        };
        let (language, digest) = (manifest.language, manifest.digest());
        let key = self.blocking(move |inner| Ok(inner.key(language, digest)));
        let key = key.await?;
        let request = BuildRequest {
            skill: skill.clone(),
            key: key.clone(),
            manifest,
            inferred,
        };
        let build = lock(&self.0.builds).entry(key.clone()).or_default().clone();
        let result = build.get_or_init(async || {
            let inner = Arc::clone(&self.0);
            let build = async move { build::build(&inner, &request, listener).await };
            let interrupted = |_| Failure::new(FailureKind::Other, "the build was interrupted");
            tokio::spawn(build).await.map_err(interrupted).flatten()
        });
        let result = result.await.clone();
        lock(&self.0.builds).remove(&key);
        let contacts = match result {
            Ok(contacts) => contacts,
            Err(failure) => return Ok(Err(failure)),
        };
        let find = move |inner: &Inner| inner.storage.find(&key, inner.clock.now());
        let found = self.blocking(find).await?;
        let removed = || Failure::new(FailureKind::Other, "it was removed just after the build");
        Ok(found.ok_or_else(removed).map(|leased| BuiltEnvironment {
            environment: self.used(leased, warnings),
            contacts,
        }))
    }

    /// An environment for a run, with what was left out of the guesses.
    fn used(&self, mut leased: LeasedEnvironment, left_out: Vec<String>) -> Environment {
        self.compile(&leased.record);
        leased.record.left_out.splice(0..0, left_out);
        environment(leased)
    }

    /// Does something that waits for disks.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Inner) -> io::Result<T> + Send + 'static,
    ) -> Result<T, PortError> {
        let inner = Arc::clone(&self.0);
        blocking(move || work(&inner)).await.map_err(|error| {
            PortError::Unavailable(format!(
                "can't use the environments in gongfu's home: {error}"
            ))
        })
    }
}

impl Inner {
    /// The key of an environment, by the digest of its manifest.
    fn key(&self, language: Language, manifest: Digest) -> String {
        let interpreters = self.interpreters.identity(language);
        let platform = (std::env::consts::OS, std::env::consts::ARCH);
        // What was resolved anew is another environment than the lock's.
        let settings = (self.settings.frozen, &self.settings.build);
        let all = serde_json::json!([manifest.to_string(), interpreters, platform, settings]);
        let digest = Digest::of(all.to_string().as_bytes()).to_string();
        let digits = digest.chars().skip("sha256:".len());
        digits.take(KEY_LENGTH).collect()
    }

    /// The operator's CA certificates.
    fn certificates(&self) -> Option<&Path> {
        let sources = self.settings.sources.as_ref().ok()?;
        sources.certificates.as_deref()
    }
}

/// An environment as runs see it.
fn environment(leased: LeasedEnvironment) -> Environment {
    let (folder, target, programs, variables) = match leased.record.language {
        Language::Python => (
            leased.root,
            python::TARGET,
            format!("{}/bin", python::TARGET),
            python::variables(),
        ),
        Language::Node => (
            leased.root.join(node::PACKAGES),
            node::TARGET,
            format!("{}/.bin", node::TARGET),
            BTreeMap::new(),
        ),
    };
    // Without packages there is nothing to see.
    let is_empty = leased.record.packages.is_empty();
    Environment {
        record: Arc::new(leased.record),
        mount: (!is_empty).then(|| read_only(&folder, target)),
        programs: (!is_empty).then_some(programs).into_iter().collect(),
        variables: if is_empty { BTreeMap::new() } else { variables },
        hold: Arc::new(leased.lease),
    }
}

impl Environments for LocalEnvironments {
    fn find<'a>(&'a self, manifest: &'a Manifest) -> Pending<'a, Option<Environment>> {
        let manifest = manifest.clone();
        let find = move |inner: &Inner| {
            let guessed = manifest.is_inferred().then(|| inner.guessed(&manifest));
            let (manifest, left_out) = match guessed.transpose()? {
                Some(None) => return Ok(None),
                Some(Some(guessed)) => (guessed.clone(), guessed.warnings),
                None => (manifest, Vec::new()),
            };
            let key = inner.key(manifest.language, manifest.digest());
            let found = inner.storage.find(&key, inner.clock.now())?;
            Ok(found.map(|found| (found, left_out)))
        };
        Box::pin(async move {
            let found = self.blocking(find).await?;
            Ok(found.map(|(found, left_out)| self.used(found, left_out)))
        })
    }

    fn build<'a>(
        &'a self,
        skill: &'a Skill,
        manifest: Manifest,
        listener: Listener,
    ) -> Pending<'a, Result<BuiltEnvironment, Failure>> {
        Box::pin(self.build(skill, manifest, listener))
    }

    fn imports<'a>(
        &'a self,
        skill: &'a Skill,
        manifest: &'a Manifest,
    ) -> Pending<'a, Result<Imports, Failure>> {
        Box::pin(async move { Ok(self.0.imports(skill, manifest).await) })
    }

    fn list(&self) -> Pending<'_, Vec<InstalledEnvironment>> {
        Box::pin(self.blocking(|inner| inner.storage.list()))
    }

    fn remove<'a>(&'a self, key: &'a str) -> Pending<'a, bool> {
        let key = key.to_owned();
        Box::pin(self.blocking(move |inner| inner.storage.remove(&key)))
    }

    fn is_changed<'a>(&'a self, key: &'a str) -> Pending<'a, bool> {
        let deadline = Instant::now() + self.0.settings.limits.wall * 2;
        Box::pin(async move {
            loop {
                let wanted = key.to_owned();
                let compared = self.blocking(move |inner| inner.storage.is_changed(&wanted));
                if let Some(is_changed) = compared.await? {
                    return Ok(is_changed);
                }
                if Instant::now() > deadline {
                    return Err(PortError::Unavailable(format!(
                        "another process is still building the environment {key}; try again when it has finished"
                    )));
                }
                tokio::time::sleep(LOCK_POLL).await;
            }
        })
    }

    fn sweep(&self) -> Pending<'_, ()> {
        Box::pin(self.blocking(|inner| inner.storage.sweep(inner.clock.now())))
    }
}

/// Runs something that waits for disks.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let outcome = tokio::task::spawn_blocking(work).await;
    outcome.unwrap_or_else(|error| Err(io::Error::other(error)))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read_only(source: &Path, target: &str) -> Mount {
    Mount {
        sources: vec![source.to_owned()],
        target: target.to_owned(),
        mode: Mode::ReadOnly,
        keep: None,
    }
}
