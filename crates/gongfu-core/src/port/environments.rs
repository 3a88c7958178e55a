//! Environments: the packages that scripts of skills need.

use std::any::Any;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::{Listener, Pending, Timestamp};
use crate::dependency::{Failure, Imports, Manifest, Record};
use crate::library::Skill;
use crate::sandbox::{Contact, Mount};

/// An environment as runs see it; it stays in place while this is held.
#[derive(Clone)]
pub struct Environment {
    /// Its manifest, lock and packages.
    pub record: Arc<Record>,
    /// The folder that a run sees; `None` where nothing is installed.
    pub mount: Option<Mount>,
    /// The folders with its programs, as a run sees them.
    pub programs: Vec<String>,
    /// The variables that a run gets.
    pub variables: BTreeMap<String, String>,
    /// Keeps the environment in place.
    pub hold: Arc<dyn Any + Send + Sync>,
}

/// An environment that was just built.
pub struct BuiltEnvironment {
    /// The environment.
    pub environment: Environment,
    /// The hosts that the build contacted.
    pub contacts: Vec<Contact>,
}

/// An installed environment in a list.
#[derive(Debug, Clone)]
pub struct InstalledEnvironment {
    /// Its key.
    pub key: String,
    /// Its folder.
    pub folder: PathBuf,
    /// Its record and when it was last used; or the reason why that can't be read, for people.
    pub record: Result<(Record, Timestamp), String>,
}

/// The packages that scripts of skills need: installed once, and only read by runs.
pub trait Environments: Send + Sync {
    /// The environment of a manifest; `None` where it wasn't built yet.
    fn find<'a>(&'a self, manifest: &'a Manifest) -> Pending<'a, Option<Environment>>;

    /// Builds the environment of a manifest; the listener gets the output. The build goes on when
    /// the caller stops waiting.
    fn build<'a>(
        &'a self,
        skill: &'a Skill,
        manifest: Manifest,
        listener: Listener,
    ) -> Pending<'a, Result<BuiltEnvironment, Failure>>;

    /// The imports of a manifest's scripts that neither the language nor the skill itself provides.
    fn imports<'a>(
        &'a self,
        skill: &'a Skill,
        manifest: &'a Manifest,
    ) -> Pending<'a, Result<Imports, Failure>>;

    /// All installed environments.
    fn list(&self) -> Pending<'_, Vec<InstalledEnvironment>>;

    /// Removes an environment that nobody uses; answers whether it did.
    fn remove<'a>(&'a self, key: &'a str) -> Pending<'a, bool>;

    /// Returns true if the files of an environment differ from the recorded digest.
    fn is_changed<'a>(&'a self, key: &'a str) -> Pending<'a, bool>;

    /// Removes the remains of builds that were interrupted.
    fn sweep(&self) -> Pending<'_, ()>;
}
