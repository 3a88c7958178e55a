//! Environments in memory: none is installed until it is built.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use gongfu_core::dependency::{Failure, Imports, Manifest, Record, locked_packages};
use gongfu_core::library::Skill;
use gongfu_core::port::{
    BuiltEnvironment, Environment, Environments, InstalledEnvironment, Listener, Pending, ready,
};
use gongfu_core::sandbox::{Contact, Mode, Mount, Stream};

/// Environments whose builds succeed unless a test scripts a failure.
#[derive(Default)]
pub struct FakeEnvironments {
    installed: Mutex<Vec<Manifest>>,
    builds: Mutex<usize>,
    failure: Mutex<Option<Failure>>,
}

impl FakeEnvironments {
    /// Makes every following build fail, or succeed again.
    pub fn fail(&self, failure: Option<Failure>) {
        *self.failure.lock().unwrap() = failure;
    }

    /// Removes every environment.
    pub fn clear(&self) {
        self.installed.lock().unwrap().clear();
    }

    /// The manifests whose environments are installed.
    pub fn installed(&self) -> Vec<Manifest> {
        self.installed.lock().unwrap().clone()
    }

    /// The number of builds so far.
    pub fn builds(&self) -> usize {
        *self.builds.lock().unwrap()
    }
}

fn environment(manifest: &Manifest) -> Environment {
    let record = Record {
        key: manifest.digest().to_string().chars().skip(7).collect(),
        language: manifest.language,
        skill: "lib/pdf".to_owned(),
        from: vec![manifest.origin()],
        inferred: manifest.is_inferred(),
        left_out: Vec::new(),
        packages: locked_packages(manifest.language, "six==1.17.0 \\\n"),
        lock: String::new(),
        interpreter: None,
        index: String::new(),
        made: String::new(),
        took_ms: 0,
        bytes: 0,
        files: 0,
        digest: String::new(),
        compiled: true,
    };
    Environment {
        record: Arc::new(record),
        mount: Some(Mount {
            sources: vec!["environment".into()],
            target: "/env".to_owned(),
            mode: Mode::ReadOnly,
            keep: None,
        }),
        programs: vec!["/env/bin".to_owned()],
        variables: [("VIRTUAL_ENV".to_owned(), "/env".to_owned())].into(),
        hold: Arc::new(()),
    }
}

impl Environments for FakeEnvironments {
    fn find<'a>(&'a self, manifest: &'a Manifest) -> Pending<'a, Option<Environment>> {
        let is_installed = self.installed.lock().unwrap().contains(manifest);
        ready(Ok(is_installed.then(|| environment(manifest))))
    }

    fn build<'a>(
        &'a self,
        _skill: &'a Skill,
        manifest: Manifest,
        listener: Listener,
    ) -> Pending<'a, Result<BuiltEnvironment, Failure>> {
        *self.builds.lock().unwrap() += 1;
        if let Some(failure) = self.failure.lock().unwrap().clone() {
            return ready(Ok(Err(failure)));
        }
        listener(Stream::Stderr, b"making it\n");
        let built = BuiltEnvironment {
            environment: environment(&manifest),
            contacts: vec![Contact {
                host: "index.example:443".to_owned(),
                refused: None,
            }],
        };
        self.installed.lock().unwrap().push(manifest);
        ready(Ok(Ok(built)))
    }

    fn imports<'a>(
        &'a self,
        _skill: &'a Skill,
        _manifest: &'a Manifest,
    ) -> Pending<'a, Result<Imports, Failure>> {
        let modules = ["yaml", "PIL"].map(|name| (name.to_owned(), vec!["x.py".to_owned()]));
        ready(Ok(Ok(Imports {
            modules: modules.into(),
            doubtful: BTreeMap::new(),
            needed: ["yaml".to_owned()].into(),
            unread: Vec::new(),
        })))
    }

    fn list(&self) -> Pending<'_, Vec<InstalledEnvironment>> {
        ready(Ok(Vec::new()))
    }

    fn remove<'a>(&'a self, _key: &'a str) -> Pending<'a, bool> {
        ready(Ok(false))
    }

    fn is_changed<'a>(&'a self, _key: &'a str) -> Pending<'a, bool> {
        ready(Ok(false))
    }

    fn sweep(&self) -> Pending<'_, ()> {
        ready(Ok(()))
    }
}
