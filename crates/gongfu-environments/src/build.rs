//! A build: its steps run in the sandbox, then the environment is measured and published.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cap_std::fs::{Permissions, PermissionsExt as _};
use gongfu_core::dependency::{
    Failure, FailureKind, Language, Manifest, PackageSpec, Record, is_digest, locked_packages,
    package_names, requirement_problem,
};
use gongfu_core::library::Skill;
use gongfu_core::port::Listener;
use gongfu_core::sandbox::Contact;
use gongfu_core::skill::SkillPath;

use crate::imports::newest;
use crate::step::BuildSandbox;
use crate::storage::BuildFolder;
use crate::tree::measure;
use crate::{Inner, blocking, node, python};
use gongfu_files::disk::Root;

/// The limit of packages in a record.
const MAX_PACKAGES: usize = 5_000;
/// The limit of imports that may turn out to be no packages.
const MAX_GUESSES: usize = 20;
/// The longest lock, in bytes.
const MAX_LOCK: u64 = 16 * 1024 * 1024;
/// The time between two attempts to lock the build folder.
const LOCK_POLL: Duration = Duration::from_millis(200);

/// An environment to build.
pub(crate) struct BuildRequest {
    pub(crate) skill: Skill,
    pub(crate) key: String,
    pub(crate) manifest: Manifest,
}

/// Builds an environment, unless another process did so meanwhile; answers the hosts that it asked for.
pub(crate) async fn build(
    inner: &Inner,
    request: &BuildRequest,
    listener: Listener,
) -> Result<Vec<Contact>, Failure> {
    let started = Instant::now();
    let manifest = &request.manifest;
    let folder = start(inner, &request.key).await?;
    let (storage, key, now) = (
        inner.storage.clone(),
        request.key.clone(),
        inner.clock.now(),
    );
    if disk(move || storage.find(&key, now)).await?.is_some() {
        return Ok(Vec::new());
    }
    let _slot = inner.slots.acquire().await;
    let mut build = Build {
        sandbox: BuildSandbox {
            inner,
            language: manifest.language,
            folder,
            listener,
            index: None,
            contacts: Vec::new(),
        },
        skill: &request.skill,
        manifest,
        record: Record {
            key: request.key.clone(),
            language: manifest.language,
            skill: request.skill.full_name.to_string(),
            from: manifest.files.iter().map(ToString::to_string).collect(),
            inferred: manifest.is_inferred(),
            left_out: Vec::new(),
            packages: Vec::new(),
            lock: String::new(),
            interpreter: None,
            index: String::new(),
            made: String::new(),
            took_ms: 0,
            bytes: 0,
            files: 0,
            digest: String::new(),
        },
    };
    let (language, origin) = (manifest.language.title(), manifest.origin());
    let skill = &request.skill.full_name;
    build.sandbox.report(&format!(
        "building the {language} environment of {skill} from {origin}"
    ));
    for warning in &manifest.warnings {
        build.sandbox.report(&format!("ignored: {warning}"));
    }
    build.fill().await?;
    build.publish(started).await
}

/// Locks the build folder of a key.
pub(crate) async fn start(inner: &Inner, key: &str) -> Result<Arc<BuildFolder>, Failure> {
    let deadline = Instant::now() + inner.settings.limits.wall * 2;
    while Instant::now() < deadline {
        let (storage, key) = (inner.storage.clone(), key.to_owned());
        if let Some(folder) = disk(move || storage.start_build(&key)).await? {
            return Ok(Arc::new(folder));
        }
        // No blocking lock: that would hold up the end of this process.
        tokio::time::sleep(LOCK_POLL).await;
    }
    let why = "another process builds it, and exceeds its time limit";
    Err(Failure::new(FailureKind::TooSlow, why))
}

struct Build<'a> {
    sandbox: BuildSandbox<'a>,
    skill: &'a Skill,
    manifest: &'a Manifest,
    record: Record,
}

impl Build<'_> {
    async fn fill(&mut self) -> Result<(), Failure> {
        let language = self.manifest.language;
        if !self.manifest.is_inferred() {
            return self.install(&self.manifest.packages).await;
        }
        let imports = self.sandbox.inner.imports(self.skill, self.manifest);
        let imports = imports.await?;
        self.record.left_out.extend(imports.unread);
        let modules = imports.modules.keys().map(String::as_str);
        let mut names = package_names(language, modules);
        names.retain(|name| language == Language::Node || requirement_problem(name).is_none());
        while !names.is_empty() {
            let shown = names.join(", ");
            self.sandbox
                .report(&format!("packages by the imports: {shown}"));
            let Err(failure) = self.install(&newest(language, &names)).await else {
                return Ok(());
            };
            self.leave_out(&mut names, failure)?;
            let folder = Arc::clone(&self.sandbox.folder);
            disk(move || folder.clear()).await?;
        }
        Ok(())
    }

    /// Leaves out a guess that the index doesn't have, for the sake of the others.
    fn leave_out(&mut self, names: &mut Vec<String>, failure: Failure) -> Result<(), Failure> {
        let is_wrong_guess = matches!(
            failure.kind,
            FailureKind::PackageUnknown | FailureKind::NothingBuilt
        );
        // Indexes compare names like this (PEP 503).
        let normal = |name: &str| name.to_ascii_lowercase().replace(['_', '.'], "-");
        let wrong = failure.package.as_deref().map(normal);
        let at = names.iter().position(|name| Some(normal(name)) == wrong);
        let left_out = &mut self.record.left_out;
        let Some(at) = at.filter(|_| is_wrong_guess && left_out.len() < MAX_GUESSES) else {
            return Err(failure);
        };
        left_out.push(format!("{}: {}", names.remove(at), failure.kind.as_str()));
        Ok(())
    }

    async fn install(&mut self, packages: &PackageSpec) -> Result<(), Failure> {
        let inner = self.sandbox.inner;
        let has_certificates = inner.certificates().is_some();
        let mut recipe = match self.record.language {
            Language::Python => python::recipe(packages, inner.uv()?, has_certificates),
            Language::Node => node::recipe(packages, has_certificates),
        };
        for (name, text) in &recipe.inputs {
            self.write_input(name, text)?;
        }
        if let Some(step) = recipe.prepare {
            self.sandbox.run(&recipe, step).await?;
            // Only `uv` has written yet: later, a package could have replaced the file.
            let path = self.interpreter()?;
            let name = python::INTERPRETER_VARIABLE.to_owned();
            recipe.variables.insert(name, path.clone());
            self.record.interpreter = Some(path);
        }
        let given = recipe
            .inputs
            .iter()
            .find(|(name, _)| *name == recipe.lock_file);
        let mut lock = given.map(|(_, text)| text.clone());
        if let Some(step) = recipe.lock {
            self.sandbox.run(&recipe, step).await?;
            let text = self.read(recipe.lock_file)?;
            check_lock(&text)?;
            self.write_input(recipe.lock_file, &text)?;
            lock = Some(text);
        }
        self.sandbox.run(&recipe, recipe.install).await?;
        if let Some(step) = recipe.finish {
            self.sandbox.run(&recipe, step).await?;
        }
        let lock = lock.map_or_else(|| self.read(recipe.lock_file), Ok)?;
        // A package could have replaced the lock.
        let root = Root::open(&self.sandbox.folder.root).map_err(io_failure)?;
        replace(&root, recipe.lock_file, &lock, 0o644).map_err(io_failure)?;
        let mut packages = locked_packages(self.record.language, &lock);
        packages.truncate(MAX_PACKAGES);
        self.record.packages = packages;
        recipe.lock_file.clone_into(&mut self.record.lock);
        self.record.index = self.sandbox.index_shown();
        Ok(())
    }

    fn write_input(&self, name: &str, text: &str) -> Result<(), Failure> {
        let folder = &self.sandbox.folder;
        folder.write_input(name, text).map_err(io_failure)
    }

    /// Reads a file that a step wrote.
    fn read(&self, name: &str) -> Result<String, Failure> {
        let path = SkillPath::new(name);
        let path = path.map_err(|error| Failure::new(FailureKind::Other, error.to_string()))?;
        let root = Root::open(&self.sandbox.folder.root);
        let content = root.and_then(|root| root.read(&path, MAX_LOCK));
        let content = content.map_err(io_failure)?;
        if content.size > MAX_LOCK {
            let why = format!("{name} is longer than {} MiB", MAX_LOCK >> 20);
            return Err(Failure::new(FailureKind::TooLarge, why));
        }
        Ok(String::from_utf8_lossy(&content.bytes).into_owned())
    }

    /// The interpreter that `uv` chose; runs must be able to see it.
    fn interpreter(&self) -> Result<String, Failure> {
        let text = self.read(python::INTERPRETER_FILE)?;
        let path = text.trim();
        if !self.sandbox.inner.interpreters.is_visible(Path::new(path)) {
            let why = "the build doesn't say which interpreter it is for";
            return Err(Failure::new(FailureKind::Other, why));
        }
        Ok(path.to_owned())
    }

    async fn publish(mut self, started: Instant) -> Result<Vec<Contact>, Failure> {
        let inner = self.sandbox.inner;
        let took = started.elapsed();
        self.record.made = inner.clock.now().to_seconds();
        self.record.took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let (count, seconds) = (self.record.packages.len(), took.as_secs_f32());
        let (storage, mut record) = (inner.storage.clone(), self.record);
        let folder = Arc::clone(&self.sandbox.folder);
        let publish = move || {
            let root = Root::open(&folder.root)?;
            if let Some(interpreter) = &record.interpreter {
                link_interpreter(&root, interpreter)?;
            }
            let measured = measure(&root)?;
            record.bytes = measured.bytes;
            record.files = measured.files;
            record.digest = measured.digest.to_string();
            storage.publish(&folder, &record)?;
            Ok(measured.bytes >> 20)
        };
        let size = disk(publish).await?;
        self.sandbox.report(&format!(
            "built: {count} packages, {size} MiB, {seconds:.1} s"
        ));
        Ok(self.sandbox.contacts)
    }
}

/// Checks that a lock names nothing but packages of an index.
fn check_lock(lock: &str) -> Result<(), Failure> {
    let lines = lock.split(['\n', '\r']).map(str::trim);
    let lines = lines.map(|line| line.strip_suffix('\\').unwrap_or(line).trim_end());
    for line in lines.filter(|line| !line.is_empty()) {
        let is_digest = line.strip_prefix("--").is_some_and(is_digest);
        if let Some(why) = requirement_problem(line).filter(|_| !is_digest) {
            let why = format!("the lock: {why}");
            return Err(Failure::new(FailureKind::ManifestInvalid, why));
        }
    }
    Ok(())
}

/// Links the interpreter and the stub of `uv`, whatever a package has put in their place. The link leads out
/// of the environment, so that a step can't make it.
fn link_interpreter(root: &Root, interpreter: &str) -> io::Result<()> {
    let _ = root.dir().remove_file("bin/python");
    root.dir().symlink_contents(interpreter, "bin/python")?;
    replace(root, "bin/uv", python::UV_STUB, 0o755)
}

/// Writes a file in place of whatever stands there; a link isn't followed.
fn replace(root: &Root, path: &str, text: &str, mode: u32) -> io::Result<()> {
    let _ = root.dir().remove_file(path);
    root.dir().write(path, text)?;
    let permissions = Permissions::from_mode(mode);
    root.dir().set_permissions(path, permissions)
}

/// Does something that waits for disks.
async fn disk<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, Failure> {
    blocking(work).await.map_err(io_failure)
}

/// A failure of the home.
fn io_failure(error: io::Error) -> Failure {
    let why = format!("the environments in the home can't be written: {error}");
    Failure::new(FailureKind::Other, why)
}
