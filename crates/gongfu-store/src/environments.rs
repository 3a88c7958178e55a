//! Environments of dependencies: made once in a sandbox that reaches the package index alone, and only read
//! by every run after that (spec, "Dependency environments").
//!
//! Each is known by a digest of what it was made of: what is wanted, the lock, the interpreters and the
//! machine. Whoever wants one that is being made waits for it; who no longer waits doesn't end it.

mod build;
mod ended;
mod get;
mod guess;
mod index;
mod kept;
mod node;
mod python;
mod recipe;

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gongfu_core::account::Owner;
use gongfu_core::dependency::{Failure, Imported, Kind, Language, Manifest, Record as Known};
use gongfu_core::library::Skill;
use gongfu_core::port::{
    Clock, Environment, Environments, Kept as Listed, Listener, Made, Pending, PortError, Sandbox,
};
use gongfu_core::sandbox::{Contact, Limits, Mode, Mount, Stream};
use gongfu_core::skill::Digest;
use tokio::sync::{Semaphore, watch};

use crate::home::Home;
use crate::interpreter::Interpreters;
use crate::local::LocalSkills;
use crate::record::Record;
use kept::{Kept, Shelf};

pub use index::{Files, Sources};

/// How many are made at once.
const AT_ONCE: usize = 2;
/// How much of a digest is the key: nobody else's begins like it.
const KEY: usize = 32;

/// What the operator says of environments.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where packages come from; or why that can't be told.
    pub sources: Result<Sources, String>,
    /// What making one may use.
    pub limits: Limits,
}

/// The environments of a home.
#[derive(Clone)]
pub struct LocalEnvironments(Arc<Inner>);

struct Inner {
    shelf: Shelf,
    /// What is learned of indexes.
    learned: Record,
    home: Home,
    skills: Arc<LocalSkills>,
    interpreters: Arc<Interpreters>,
    sandbox: Arc<dyn Sandbox>,
    clock: Arc<dyn Clock>,
    settings: Settings,
    /// What is being made, by its key.
    making: Mutex<HashMap<String, Arc<Progress>>>,
    room: Semaphore,
}

/// What came of making one: the hosts that were asked for.
type Came = Result<Vec<Contact>, Failure>;

/// One that is being made.
struct Progress {
    /// Those who hear how it goes on.
    listeners: Mutex<Vec<Listener>>,
    came: watch::Receiver<Option<Came>>,
}

impl LocalEnvironments {
    /// The environments below a home, made in this sandbox.
    pub fn new(
        home: Home,
        skills: Arc<LocalSkills>,
        interpreters: Arc<Interpreters>,
        sandbox: Arc<dyn Sandbox>,
        clock: Arc<dyn Clock>,
        settings: Settings,
    ) -> Self {
        Self(Arc::new(Inner {
            shelf: Shelf::new(home.clone()),
            learned: Record::new(home.clone(), index::LOCK),
            home,
            skills,
            interpreters,
            sandbox,
            clock,
            settings,
            making: Mutex::default(),
            room: Semaphore::new(AT_ONCE),
        }))
    }
}

impl Inner {
    /// What an environment is known by.
    fn key(&self, manifest: &Manifest) -> String {
        let interpreters = self.interpreters.identity(manifest.language);
        let machine = (std::env::consts::OS, std::env::consts::ARCH);
        let all = serde_json::json!([manifest.digest().to_string(), interpreters, machine]);
        let digest = Digest::of(all.to_string().as_bytes()).to_string();
        digest.chars().skip("sha256:".len()).take(KEY).collect()
    }

    fn find(&self, key: &str) -> Result<Option<Environment>, PortError> {
        let found = self.shelf.find(key, self.clock.now());
        Ok(found.map_err(|error| unusable(&error))?.map(seen))
    }

    fn held(&self) -> MutexGuard<'_, HashMap<String, Arc<Progress>>> {
        self.making.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where `uv` is: in the search path, or where gongfu put it.
    fn uv(&self) -> Result<PathBuf, Failure> {
        let own = self.home.tool("uv");
        let found = self.interpreters.program("uv");
        let own = crate::interpreter::is_program(&own).then_some(own);
        found.or(own).ok_or_else(|| {
            Failure::new(
                Kind::ToolMissing,
                "`uv` isn't installed, which packages of Python are installed by",
            )
        })
    }
}

/// How runs see one.
fn seen(kept: Kept) -> Environment {
    let language = kept.record.language;
    let (folder, target, programs, variables) = match language {
        Language::Python => (
            kept.root,
            python::SEEN,
            format!("{}/bin", python::SEEN),
            python::variables(),
        ),
        Language::Node => (
            kept.root.join(node::PACKAGES),
            node::SEEN,
            format!("{}/.bin", node::SEEN),
            node::variables(),
        ),
    };
    let is_empty = kept.record.packages.is_empty();
    let mount = Mount {
        sources: vec![folder],
        target: target.to_owned(),
        mode: Mode::ReadOnly,
        keep: None,
    };
    Environment {
        record: Arc::new(kept.record),
        // One without any packages is known, and nothing is to be seen of it.
        mount: (!is_empty).then_some(mount),
        programs: if is_empty { Vec::new() } else { vec![programs] },
        variables: if is_empty { BTreeMap::new() } else { variables },
        held: Arc::new(kept.held),
    }
}

impl LocalEnvironments {
    /// Has it be made, unless somebody already does, and waits for that.
    async fn made(
        &self,
        owner: &Owner,
        skill: &Skill,
        manifest: Manifest,
        listener: Listener,
    ) -> Result<Result<Made, Failure>, PortError> {
        let key = self.0.key(&manifest);
        let mut came = {
            let mut making = self.0.held();
            if let Some(progress) = making.get(&key) {
                progress.hears(listener);
                progress.came.clone()
            } else {
                let (tell, came) = watch::channel(None);
                let progress = Arc::new(Progress {
                    listeners: Mutex::new(vec![listener]),
                    came: came.clone(),
                });
                making.insert(key.clone(), Arc::clone(&progress));
                drop(making);
                let root = self.0.skills.root_of(skill)?.path().to_owned();
                let of = build::Of {
                    owner: owner.clone(),
                    skill: skill.full_name.to_string(),
                    folder: root,
                    key: key.clone(),
                    manifest,
                };
                let ended = Ended(Arc::clone(&self.0), key.clone());
                let inner = Arc::clone(&self.0);
                // A client gives up after a minute; what it waited for is there when it asks again.
                tokio::spawn(async move {
                    let outcome = build::run(&inner, &of, &progress).await;
                    drop(ended);
                    let _ = tell.send(Some(outcome));
                });
                came
            }
        };
        let outcome = came.wait_for(Option::is_some).await;
        let outcome = outcome.ok().and_then(|outcome| outcome.clone());
        let contacts = match outcome {
            Some(Ok(contacts)) => contacts,
            Some(Err(failure)) => return Ok(Err(failure)),
            None => {
                return Ok(Err(Failure::new(
                    Kind::Other,
                    "it was interrupted while it was made",
                )));
            }
        };
        let found = self.0.find(&key)?;
        Ok(found
            .map(|environment| Made {
                environment,
                contacts,
            })
            .ok_or_else(|| Failure::new(Kind::Other, "it was taken away as soon as it was made")))
    }
}

/// Forgets what is being made, however that ends.
struct Ended(Arc<Inner>, String);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.held().remove(&self.1);
    }
}

impl Progress {
    fn hears(&self, listener: Listener) {
        let mut listeners = self
            .listeners
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        listeners.push(listener);
    }

    /// Has everybody hear something.
    fn tell(&self, stream: Stream, bytes: &[u8]) {
        let listeners = self
            .listeners
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for listener in listeners.iter() {
            listener(stream, bytes);
        }
    }
}

fn unusable(error: &io::Error) -> PortError {
    PortError::Unavailable(format!(
        "the environments in the home can't be used: {error}"
    ))
}

impl Environments for LocalEnvironments {
    fn find<'a>(
        &'a self,
        _owner: &'a Owner,
        manifest: &'a Manifest,
    ) -> Pending<'a, Option<Environment>> {
        let key = self.0.key(manifest);
        Box::pin(std::future::ready(self.0.find(&key)))
    }

    fn make<'a>(
        &'a self,
        owner: &'a Owner,
        skill: &'a Skill,
        manifest: Manifest,
        listener: Listener,
    ) -> Pending<'a, Result<Made, Failure>> {
        Box::pin(self.made(owner, skill, manifest, listener))
    }

    fn imports<'a>(
        &'a self,
        owner: &'a Owner,
        skill: &'a Skill,
        manifest: &'a Manifest,
    ) -> Pending<'a, Result<Imported, Failure>> {
        Box::pin(async move {
            let folder = self.0.skills.root_of(skill)?.path().to_owned();
            Ok(guess::imports(&self.0, owner, &folder, manifest).await)
        })
    }

    fn list<'a>(&'a self, _owner: &'a Owner) -> Pending<'a, Vec<Listed>> {
        let listed = || {
            let all = self.0.shelf.all().map_err(|error| unusable(&error))?;
            let all = all.into_iter().map(|(key, read)| Listed {
                folder: self.0.shelf.root_of(&key),
                known: read.map_err(|error| error.to_string()),
                key,
            });
            Ok(all.collect())
        };
        Box::pin(std::future::ready(listed()))
    }

    fn remove<'a>(&'a self, _owner: &'a Owner, key: &'a str) -> Pending<'a, bool> {
        let removed = self.0.shelf.remove(key);
        let removed = removed.or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => Ok(false),
            _ => Err(unusable(&error)),
        });
        Box::pin(std::future::ready(removed))
    }

    fn changed<'a>(&'a self, _owner: &'a Owner, key: &'a str) -> Pending<'a, bool> {
        let looked = || {
            let all = self.0.shelf.all()?;
            let found = all.into_iter().find(|(known, _)| known == key);
            let (record, _): (Known, _) =
                found.map_or_else(|| Err(io::ErrorKind::NotFound.into()), |(_, read)| read)?;
            let root = crate::disk::Root::open(&self.0.shelf.root_of(key))?;
            Ok(kept::measure(&root)?.digest.to_string() != record.digest)
        };
        let looked: io::Result<bool> = looked();
        Box::pin(std::future::ready(looked.map_err(|error| unusable(&error))))
    }

    fn sweep<'a>(&'a self, _owner: &'a Owner) -> Pending<'a, ()> {
        let swept = self.0.shelf.sweep();
        Box::pin(std::future::ready(swept.map_err(|error| unusable(&error))))
    }
}

/// A folder as runs see it, which they only read.
fn only_read(folder: &Path, target: &str) -> Mount {
    Mount {
        sources: vec![folder.to_owned()],
        target: target.to_owned(),
        mode: Mode::ReadOnly,
        keep: None,
    }
}
