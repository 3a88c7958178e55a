//! A build: its steps run in the sandbox, then the environment is measured and published.

mod source;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use cap_std::fs::{Permissions, PermissionsExt as _};
use gongfu_core::dependency::{
    Failure, FailureKind, Language, Manifest, PackageSpec, Record, is_digest, left_out_entry,
    locked_packages, requirement_problem, shortened,
};
use gongfu_core::library::Skill;
use gongfu_core::port::Listener;
use gongfu_core::sandbox::Contact;
use gongfu_core::skill::SkillPath;

use crate::recipe::{Recipe, Step};
use crate::step::BuildSandbox;
use crate::storage::BuildFolder;
use crate::tree::measure;
use crate::{Inner, LOCK_POLL, blocking, node, python};
use gongfu_files::disk::Root;

/// The limit of packages in a record.
const MAX_PACKAGES: usize = 5_000;
/// The limit of what a record tells that was left out.
pub(crate) const MAX_LEFT_OUT: usize = 50;
/// The limit of interpreters that a message names.
const MAX_INTERPRETERS: usize = 50;
/// The longest lock, in bytes.
const MAX_LOCK: u64 = 16 * 1024 * 1024;

/// An environment to build.
pub(crate) struct BuildRequest {
    pub(crate) skill: Skill,
    pub(crate) key: String,
    pub(crate) manifest: Manifest,
    /// True if the packages were guessed from imports.
    pub(crate) inferred: bool,
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
        discard(folder).await;
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
        manifest,
        record: Record {
            key: request.key.clone(),
            language: manifest.language,
            skill: request.skill.full_name.to_string(),
            from: manifest.files.iter().map(ToString::to_string).collect(),
            inferred: request.inferred,
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
            compiled: true,
        },
    };
    let language = manifest.language.title();
    let origin = if request.inferred {
        "what its scripts import".to_owned()
    } else {
        manifest.origin()
    };
    let skill = &request.skill.full_name;
    build.sandbox.report(&format!(
        "building the {language} environment of {skill} from {origin}"
    ));
    for warning in &manifest.warnings {
        build.sandbox.report(warning);
    }
    let folder = Arc::clone(&build.sandbox.folder);
    let built = match build.fill().await {
        Ok(()) => build.publish(started).await,
        Err(failure) => Err(failure),
    };
    if built.is_err() {
        discard(folder).await;
    }
    built
}

/// Removes all of a build that isn't published. What can't be removed now is removed by a sweep.
pub(crate) async fn discard(folder: Arc<BuildFolder>) {
    let _ = disk(move || folder.discard()).await;
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
    let why = "another process is building it and exceeds its time limit";
    Err(Failure::new(FailureKind::TooSlow, why))
}

struct Build<'a> {
    sandbox: BuildSandbox<'a>,
    manifest: &'a Manifest,
    record: Record,
}

impl Build<'_> {
    async fn fill(&mut self) -> Result<(), Failure> {
        let (manifest, settings) = (self.manifest, &self.sandbox.inner.settings);
        let outcome = self.install(&manifest.packages).await;
        let Err(failure) = outcome else {
            return Ok(());
        };
        let is_stale = failure.kind == FailureKind::LockStale && !settings.frozen;
        let Some(packages) = manifest.packages.without_lock().filter(|_| is_stale) else {
            return Err(failure);
        };
        self.leave_out(&format!(
            "the lock doesn't match the requirements, so versions were resolved again: {}",
            failure.why
        ));
        let folder = Arc::clone(&self.sandbox.folder);
        disk(move || folder.clear()).await?;
        self.install(&packages).await
    }

    /// Notes what isn't installed, and why.
    fn leave_out(&mut self, what: &str) {
        let what = left_out_entry(what);
        if self.record.left_out.len() < MAX_LEFT_OUT {
            self.sandbox.report(&format!("left out: {what}"));
        }
        self.record.left_out.push(what);
    }

    /// Runs the step that resolves. Where a package can't be had, it is left out for the sake of the others.
    async fn resolve(&mut self, recipe: &mut Recipe, step: Step) -> Result<(), Failure> {
        let Err(failure) = self.resolve_with_builds(recipe, step).await else {
            return Ok(());
        };
        let each = recipe.each.filter(|_| failure.kind.is_of_a_package());
        let Some(each) = each else {
            return Err(failure);
        };
        // If nothing can be had at all, the first failure tells why.
        let Ok(printed) = self.sandbox.run(recipe, each).await else {
            return Err(failure);
        };
        let printed = self.sandbox.hide(&printed);
        for (package, failure) in refused(self.record.language, &printed) {
            let advice = match (failure.kind, &failure.package) {
                (FailureKind::NothingBuilt, Some(name)) => format!(
                    "; a person can have {name} built, by its name in `build` below `[dependencies]` in the settings"
                ),
                _ => String::new(),
            };
            let (kind, why) = (failure.kind.as_str(), failure.why.trim_end());
            self.leave_out(&format!("{package}: {kind}: {why}{advice}"));
        }
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
        self.prepare(&mut recipe).await?;
        let given = recipe
            .inputs
            .iter()
            .find(|(name, _)| *name == recipe.lock_file);
        let mut lock = given.map(|(_, text)| text.clone());
        let install = recipe.install;
        match recipe.lock {
            Some(step) => {
                let is_project = matches!(packages, PackageSpec::Project { .. });
                let resolved = self.lock(&mut recipe, step, is_project).await?;
                lock = Some(match self.sandbox.run(&recipe, install).await {
                    // The caches of an index don't always agree: the page that resolved has a release, the next doesn't.
                    Err(failure) if failure.kind == FailureKind::Conflict && !is_project => {
                        let why = "the index doesn't list a version that it listed a moment ago; resolving again";
                        self.sandbox.report(why);
                        let resolved = self.lock(&mut recipe, step, is_project).await?;
                        self.sandbox.run(&recipe, install).await?;
                        resolved
                    }
                    outcome => outcome.map(|_| resolved)?,
                });
            }
            None => self.resolve(&mut recipe, install).await?,
        }
        self.record.compiled = self.record.interpreter.is_none();
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

    /// Runs the step that writes the lock; answers the lock, which is an input of later steps from then on.
    async fn lock(
        &mut self,
        recipe: &mut Recipe,
        step: Step,
        is_project: bool,
    ) -> Result<String, Failure> {
        let resolved = self.resolve(recipe, step).await;
        resolved.map_err(|failure| match failure.kind {
            FailureKind::TooSlow | FailureKind::ToolMissing | FailureKind::Sandbox => failure,
            // The text of the skill is all that this step reads.
            _ if is_project => Failure {
                kind: FailureKind::LockStale,
                ..failure
            },
            _ => failure,
        })?;
        let text = self.read(recipe.lock_file)?;
        check_lock(&text)?;
        self.write_input(recipe.lock_file, &text)?;
        Ok(text)
    }

    /// Makes the environment anew, with nothing of a package in it.
    async fn prepare(&mut self, recipe: &mut Recipe) -> Result<(), Failure> {
        let Some(step) = recipe.prepare else {
            return Ok(());
        };
        let folder = Arc::clone(&self.sandbox.folder);
        disk(move || folder.clear_environment()).await?;
        if let Err(failure) = self.sandbox.run(recipe, step).await {
            return Err(self.with_interpreters(recipe, failure).await);
        }
        // Only `uv` has written yet: later, a package could have replaced the file.
        let path = self.interpreter()?;
        let name = python::INTERPRETER_VARIABLE.to_owned();
        recipe.variables.insert(name, path.clone());
        self.record.interpreter = Some(path);
        Ok(())
    }

    /// Adds the interpreters that there are to a failure for lack of one.
    async fn with_interpreters(&mut self, recipe: &Recipe, mut failure: Failure) -> Failure {
        if failure.kind == FailureKind::Interpreter
            && let Ok(printed) = self.sandbox.run(recipe, python::INTERPRETERS).await
        {
            let versions: Vec<&str> = printed.split_whitespace().take(MAX_INTERPRETERS).collect();
            failure.why += "; the interpreters here: Python ";
            failure.why += &versions.join(", ");
        }
        failure
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
        self.record.left_out = shortened(self.record.left_out, MAX_LEFT_OUT);
        let (storage, mut record) = (inner.storage.clone(), self.record);
        let folder = Arc::clone(&self.sandbox.folder);
        let publish = move || {
            let root = Root::open(&folder.root)?;
            if let Some(interpreter) = &record.interpreter {
                link_interpreter(&root, interpreter)?;
            }
            let measured = measure(&root)?;
            measured.write_to(&mut record);
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

/// The packages that a step left out, each with what the installer printed.
fn refused(language: Language, printed: &str) -> Vec<(String, Failure)> {
    let mut all: Vec<(String, String)> = Vec::new();
    for line in printed.lines() {
        match (line.strip_prefix("  "), all.last_mut()) {
            (Some(why), Some((_, text))) => {
                text.push_str(why);
                text.push('\n');
            }
            _ => all.push((line.to_owned(), String::new())),
        }
    }
    let failed = all.into_iter();
    failed
        .map(|(package, why)| (package, Failure::from_output(language, &why)))
        .collect()
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
    clear_place(root, "bin/python");
    root.dir().symlink_contents(interpreter, "bin/python")?;
    replace(root, "bin/uv", python::UV_STUB, 0o755)
}

/// Writes a file in place of whatever stands there; a link isn't followed.
fn replace(root: &Root, path: &str, text: &str, mode: u32) -> io::Result<()> {
    clear_place(root, path);
    root.dir().write(path, text)?;
    let permissions = Permissions::from_mode(mode);
    root.dir().set_permissions(path, permissions)
}

/// Removes whatever stands at a path; the target of a link stays. What can't be removed fails what comes after.
fn clear_place(root: &Root, path: &str) {
    if root.dir().remove_file(path).is_err() {
        let _ = root.dir().remove_dir_all(path);
    }
}

/// Does something that waits for disks.
pub(crate) async fn disk<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, Failure> {
    blocking(work).await.map_err(io_failure)
}

/// A failure of the home.
pub(crate) fn io_failure(error: io::Error) -> Failure {
    let why = format!("can't write the environments in gongfu's home: {error}");
    Failure::new(FailureKind::Other, why)
}

#[cfg(test)]
mod tests {
    use super::{link_interpreter, replace};
    use gongfu_files::disk::Root;

    #[test]
    fn interpreter_takes_the_place_of_whatever_a_package_put_there() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::open(folder.path()).unwrap();
        root.dir().create_dir_all("bin/python/bin").unwrap();
        root.dir().create_dir_all("bin/uv").unwrap();
        replace(&root, "bin/python/bin/python", "#!/bin/sh\n", 0o755).unwrap();
        for _ in 0..2 {
            link_interpreter(&root, "/usr/bin/python3").unwrap();
            let target = root.dir().read_link_contents("bin/python").unwrap();
            assert_eq!(target.to_str(), Some("/usr/bin/python3"));
            assert!(root.dir().metadata("bin/uv").unwrap().is_file());
        }
    }
}
