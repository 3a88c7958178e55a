//! Making one environment: what it is made of is laid out, steps are run in the sandbox, and what they leave
//! is measured and put where runs find it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use gongfu_core::account::Owner;
use gongfu_core::dependency::{
    Failure, Installed, Kind, Language, Manifest, Record, Wanted, distributions, packages, unfit,
};
use gongfu_core::network::Destination;
use gongfu_core::port::Listener;
use gongfu_core::sandbox::{
    Command, Contact, Input, Limits, Mode, Mount, Outcome, Reach, Spec, Stream,
};
use gongfu_core::skill::SkillPath;

use super::ended::{fits, judged, of_io, of_port};
use super::guess::{guessed, imports, normal};
use super::index::Index;
use super::kept::{self, Making};
use super::recipe::{CERTIFICATES, IN, Recipe};
use super::{Inner, Progress, node, only_read, python};
use crate::disk::Root;

/// How many packages a record names.
const MOST: usize = 5_000;
/// How long it is waited between two looks whether somebody else is done.
const PAUSE: Duration = Duration::from_millis(200);
/// How often an index may name another host before it is believed to name them without end.
const TRIES: usize = 10;
/// How many names are left out of what scripts import before nothing of it is believed.
const LEFT_OUT: usize = 20;
/// How much of what a step says is looked at, in bytes.
const SHOWN: usize = 1024 * 1024;
/// The longest lock that is kept, in bytes.
const LOCK: u64 = 16 * 1024 * 1024;

/// What is made, and for whom.
pub(super) struct Of {
    pub(super) owner: Owner,
    pub(super) skill: String,
    /// Where the skill lies.
    pub(super) folder: PathBuf,
    pub(super) key: String,
    pub(super) manifest: Manifest,
}

/// Makes it; answers which hosts were asked for.
pub(super) async fn run(
    inner: &Arc<Inner>,
    of: &Of,
    progress: &Arc<Progress>,
) -> Result<Vec<Contact>, Failure> {
    let begun = Instant::now();
    let room = inner.room.acquire().await;
    let _room = room.map_err(|error| Failure::new(Kind::Other, error.to_string()))?;
    let title = of.manifest.language.title();
    tell(
        progress,
        &format!(
            "making the {title} environment of {} from {}",
            of.skill,
            of.manifest.from()
        ),
    );
    for passed_over in &of.manifest.passed_over {
        tell(progress, &format!("passed over: {passed_over}"));
    }
    let making = begin(inner, &of.key).await?;
    if inner
        .find(&of.key)
        .map_err(|error| of_port(&error))?
        .is_some()
    {
        // Another process made it meanwhile.
        return Ok(Vec::new());
    }
    let mut work = Work::new(inner, of, progress, making);
    let filled = work.fill().await?;
    let said = work.publish(filled, begun.elapsed()).await?;
    tell(progress, &said);
    Ok(work.contacts)
}

/// What an environment was filled with.
struct Filled {
    /// The file that says it.
    lock: &'static str,
    packages: Vec<Installed>,
    /// Where it is from.
    index: String,
    interpreter: Option<String>,
}

/// The making of an environment.
pub(super) struct Work<'a> {
    inner: &'a Arc<Inner>,
    of: &'a Of,
    progress: &'a Arc<Progress>,
    making: Making,
    contacts: Vec<Contact>,
    left_out: Vec<String>,
}

impl<'a> Work<'a> {
    /// Nothing is done yet.
    pub(super) fn new(
        inner: &'a Arc<Inner>,
        of: &'a Of,
        progress: &'a Arc<Progress>,
        making: Making,
    ) -> Self {
        Self {
            inner,
            of,
            progress,
            making,
            contacts: Vec::new(),
            left_out: Vec::new(),
        }
    }

    /// What was made so far.
    pub(super) fn root(&self) -> Result<Root, Failure> {
        self.making.open().map_err(|error| of_io(&error))
    }

    /// Fills it; answers with what, or `None` where nothing is wanted.
    async fn fill(&mut self) -> Result<Option<Filled>, Failure> {
        let manifest = &self.of.manifest;
        if !manifest.is_inferred() {
            return self.install(&manifest.wanted).await.map(Some);
        }
        let imported = imports(self.inner, &self.of.owner, &self.of.folder, manifest).await?;
        self.left_out.extend(imported.unread);
        let mut names = distributions(
            manifest.language,
            imported.modules.keys().map(String::as_str),
        );
        names.retain(|name| unfit(name).is_none() || manifest.language == Language::Node);
        loop {
            if names.is_empty() {
                return Ok(None);
            }
            let shown = names.join(", ");
            tell(
                self.progress,
                &format!("what its scripts import is taken for: {shown}"),
            );
            let failure = match self.install(&guessed(manifest.language, &names)).await {
                Ok(filled) => return Ok(Some(filled)),
                Err(failure) => failure,
            };
            // A guess that is none doesn't take the others with it.
            let is_guess = matches!(failure.kind, Kind::PackageUnknown | Kind::NothingBuilt);
            let wrong = failure.package.as_ref().filter(|_| is_guess);
            let at = wrong.and_then(|wrong| {
                let is_it = |name: &String| normal(name) == normal(wrong);
                names.iter().position(is_it)
            });
            match at {
                Some(at) if self.left_out.len() < LEFT_OUT => {
                    let name = names.remove(at);
                    self.left_out
                        .push(format!("{name}: {}", failure.kind.as_str()));
                    self.making.empty().map_err(|error| of_io(&error))?;
                }
                _ => return Err(failure),
            }
        }
    }

    /// Installs it.
    async fn install(&mut self, wanted: &Wanted) -> Result<Filled, Failure> {
        let sources = self.inner.settings.sources.clone();
        let sources = sources.map_err(|why| Failure::new(Kind::Other, why))?;
        let mut index = Index::of(self.of.manifest.language, &sources, &self.inner.learned)?;
        let mut recipe = match self.of.manifest.language {
            Language::Python => python::recipe(wanted, &index, self.inner.uv()?),
            Language::Node => node::recipe(wanted, &index),
        };
        for (name, text) in &recipe.inputs {
            self.give(name, text)?;
        }
        let mut interpreter = None;
        if let Some(line) = recipe.prepare {
            self.step(&recipe, line).await?;
            // Nothing of anybody's is there yet that could say something else.
            let told = self.interpreter()?;
            let name = python::VARIABLE.to_owned();
            recipe.variables.insert(name, told.clone());
            interpreter = Some(told);
        }
        let lock = self.locked(&recipe, &mut index).await?;
        if let Some(lock) = &lock {
            self.give(recipe.lock, lock)?;
        }
        self.reaching(&recipe, recipe.fetch, &mut index).await?;
        if let Some(line) = recipe.finish {
            tell(self.progress, "compiling its modules");
            self.step(&recipe, line).await?;
        }
        let given = recipe.inputs.iter().find(|(name, _)| *name == recipe.lock);
        let lock = match lock.or_else(|| given.map(|(_, text)| text.clone())) {
            Some(lock) => lock,
            None => self.read(recipe.lock)?,
        };
        // Whatever packages brought in its place, this is what was installed.
        let root = self.root()?;
        put(&root, recipe.lock, &lock, 0o644).map_err(|error| of_io(&error))?;
        let mut installed = packages(self.of.manifest.language, &lock);
        installed.truncate(MOST);
        Ok(Filled {
            lock: recipe.lock,
            packages: installed,
            index: index.shown(),
            interpreter,
        })
    }

    /// The lock that is installed: a project's, or what is resolved; `None` where it is given already.
    async fn locked(
        &mut self,
        recipe: &Recipe,
        index: &mut Index,
    ) -> Result<Option<String>, Failure> {
        let lock = if let Some(line) = recipe.export {
            let outcome = self.step(recipe, line).await?;
            if outcome.stdout.left_out > 0 {
                let why = "the lock is longer than 1 MiB";
                return Err(Failure::new(Kind::TooLarge, why));
            }
            String::from_utf8_lossy(&outcome.stdout.head).into_owned()
        } else if let Some(line) = recipe.resolve {
            self.reaching(recipe, line, index).await?;
            self.read(recipe.lock)?
        } else {
            return Ok(None);
        };
        fits(&lock)?;
        Ok(Some(lock))
    }

    fn give(&self, name: &str, text: &str) -> Result<(), Failure> {
        self.making.give(name, text).map_err(|error| of_io(&error))
    }

    /// A file that a step left.
    fn read(&self, name: &str) -> Result<String, Failure> {
        let path = SkillPath::new(name);
        let path = path.map_err(|error| Failure::new(Kind::Other, error.to_string()))?;
        let content = self.root()?.read(&path, LOCK);
        let content = content.map_err(|error| of_io(&error))?;
        Ok(String::from_utf8_lossy(&content.bytes).into_owned())
    }

    /// Which interpreter it is for; one that runs see, and nothing else.
    fn interpreter(&self) -> Result<String, Failure> {
        let told = self.read(python::INTERPRETER)?;
        let told = told.trim();
        if !self.inner.interpreters.has(Path::new(told)) {
            let why = "the build doesn't say which interpreter it is for";
            return Err(Failure::new(Kind::Other, why));
        }
        Ok(told.to_owned())
    }

    /// Does something with the index in reach. Where it is, and where it keeps files, is asked by what no skill
    /// has a say in: before the first time, and again where something lies elsewhere by now.
    pub(super) async fn reaching(
        &mut self,
        recipe: &Recipe,
        line: &str,
        index: &mut Index,
    ) -> Result<(), Failure> {
        let is_new = index.is_new();
        if is_new {
            self.ask(recipe, index).await?;
        }
        let known = self.contacts.len();
        let reach = index.reach();
        let Err(failure) = self.heard(recipe, line, Some(reach.clone()), false).await else {
            return Ok(());
        };
        let new = self.contacts.get(known..).unwrap_or_default();
        let is_elsewhere = |contact: &Contact| {
            let destination = contact.host.parse::<Destination>();
            destination.is_ok_and(|destination| !reach.rules.allow(&destination))
        };
        if is_new || !new.iter().any(is_elsewhere) {
            return Err(failure);
        }
        self.ask(recipe, index).await?;
        if index.reach() == reach {
            return Err(failure);
        }
        if let Some(line) = recipe.prepare {
            self.making.empty().map_err(|error| of_io(&error))?;
            self.step(recipe, line).await?;
        }
        self.heard(recipe, line, Some(index.reach()), false).await?;
        Ok(())
    }

    /// Learns where the index is and where it keeps files.
    async fn ask(&mut self, recipe: &Recipe, index: &mut Index) -> Result<(), Failure> {
        tell(self.progress, "asking where packages come from");
        let mut probe = recipe.clone();
        let impatient = recipe.impatient.iter();
        let impatient = impatient.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        probe.variables.extend(impatient);
        for _ in 0..TRIES {
            let known = self.contacts.len();
            let asked = self.heard(&probe, recipe.probe, Some(index.reach()), true);
            let Err(failure) = asked.await else {
                return index.is_asked(&self.inner.learned);
            };
            let new = self.contacts.get(known..).unwrap_or_default();
            if let Some(host) = index.learn(new, &self.inner.learned)? {
                tell(self.progress, &format!("packages come from {host}"));
                continue;
            }
            return match failure.kind {
                Kind::TooSlow | Kind::ToolMissing | Kind::Sandbox => Err(failure),
                // It can't be reached now; whoever wants something is told.
                Kind::IndexUnreachable => Ok(()),
                // It answers, and hasn't what others have.
                _ => index.is_asked(&self.inner.learned),
            };
        }
        let why = format!("the index {} names one host after the other", index.shown());
        Err(Failure::new(Kind::IndexUnreachable, why))
    }

    /// Runs one step to its end, without a network.
    async fn step(&mut self, recipe: &Recipe, line: &str) -> Result<Outcome, Failure> {
        self.heard(recipe, line, None, false).await
    }

    /// Runs one step to its end; nobody hears of one that `is_quiet`.
    async fn heard(
        &mut self,
        recipe: &Recipe,
        line: &str,
        reach: Option<Reach>,
        is_quiet: bool,
    ) -> Result<Outcome, Failure> {
        let mut environment = recipe.variables.clone();
        if reach.is_some() {
            environment.extend(recipe.reaching.clone());
        }
        let shown = self.inner.interpreters.shown();
        let mut mounts = vec![
            Mount {
                sources: vec![self.making.root()],
                target: recipe.seen.to_owned(),
                mode: Mode::Layered,
                keep: Some(self.making.root()),
            },
            only_read(&self.making.inputs(), IN),
        ];
        mounts.extend(recipe.mounts.iter().cloned());
        if let Ok(sources) = &self.inner.settings.sources
            && let Some(file) = &sources.certificates
        {
            mounts.push(only_read(file, CERTIFICATES));
        }
        let mut programs = recipe.programs.clone();
        for (mount, program) in shown {
            mounts.push(mount);
            programs.push(program);
        }
        let spec = Spec {
            command: Command::Line(line.to_owned()),
            folder: "/tmp".to_owned(),
            mounts,
            programs,
            environment,
            input: Input::Nothing,
            reach: reach.unwrap_or_default(),
            limits: Limits {
                shown: SHOWN,
                ..self.inner.settings.limits
            },
            logs: None,
        };
        let (heard, said) = self.listening(is_quiet);
        let outcome = self.inner.sandbox.run(&self.of.owner, spec, heard).await;
        let outcome = outcome.map_err(|error| of_port(&error))?;
        self.contacts.extend(outcome.contacts.iter().cloned());
        let said = said.lock().unwrap_or_else(PoisonError::into_inner).clone();
        judged(self.of.manifest.language, outcome, &said)
    }

    /// Passes on what a step says of how it goes, and keeps it.
    fn listening(&self, is_quiet: bool) -> (Listener, Arc<Mutex<String>>) {
        let said = Arc::new(Mutex::new(String::new()));
        let (progress, kept) = (Arc::clone(self.progress), Arc::clone(&said));
        let heard: Listener = Arc::new(move |stream, bytes| {
            if stream == Stream::Stderr && !is_quiet {
                progress.tell(stream, bytes);
            }
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.len() < SHOWN {
                kept.push_str(&String::from_utf8_lossy(bytes));
            }
        });
        (heard, said)
    }

    /// Puts it where runs find it; answers what it is, for people.
    async fn publish(&self, filled: Option<Filled>, took: Duration) -> Result<String, Failure> {
        let manifest = &self.of.manifest;
        let root = self.root()?;
        let interpreter = filled
            .as_ref()
            .and_then(|filled| filled.interpreter.clone());
        if let Some(interpreter) = &interpreter {
            link_interpreter(&root, interpreter).map_err(|error| of_io(&error))?;
        }
        let measured = tokio::task::spawn_blocking(move || kept::measure(&root)).await;
        let measured = measured.map_err(|error| of_io(&io::Error::other(error)))?;
        let measured = measured.map_err(|error| of_io(&error))?;
        let record = Record {
            key: self.of.key.clone(),
            language: manifest.language,
            skill: self.of.skill.clone(),
            from: manifest.files.iter().map(ToString::to_string).collect(),
            inferred: manifest.is_inferred(),
            left_out: self.left_out.clone(),
            lock: filled
                .as_ref()
                .map(|filled| filled.lock.to_owned())
                .unwrap_or_default(),
            index: filled
                .as_ref()
                .map(|filled| filled.index.clone())
                .unwrap_or_default(),
            packages: filled.map(|filled| filled.packages).unwrap_or_default(),
            interpreter,
            made: self.inner.clock.now().to_seconds(),
            took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            bytes: measured.bytes,
            files: measured.files,
            digest: measured.digest.to_string(),
        };
        self.inner
            .shelf
            .publish(&self.making, &record)
            .map_err(|error| of_io(&error))?;
        let (count, seconds) = (record.packages.len(), took.as_secs_f32());
        Ok(format!(
            "made: {count} packages, {} MiB, {seconds:.1} s",
            record.bytes >> 20
        ))
    }
}

/// Has the environment be run by the interpreter that it was made for: a link that leads out of it, so a step
/// can't leave it there. Whatever stands in its place, nothing of it is followed.
fn link_interpreter(root: &Root, interpreter: &str) -> io::Result<()> {
    let _ = root.dir().remove_file("bin/python");
    root.dir().symlink_contents(interpreter, "bin/python")?;
    put(root, "bin/uv", python::UV, 0o755)
}

/// Puts a file into an environment, in place of whatever stands there.
fn put(root: &Root, path: &str, text: &str, mode: u32) -> io::Result<()> {
    let _ = root.dir().remove_file(path);
    root.dir().write(path, text)?;
    #[cfg(unix)]
    {
        use cap_std::fs::PermissionsExt as _;
        let mode = cap_std::fs::Permissions::from_mode(mode);
        root.dir().set_permissions(path, mode)?;
    }
    Ok(())
}

/// Waits until nobody else makes it, and begins to.
pub(super) async fn begin(inner: &Arc<Inner>, key: &str) -> Result<Making, Failure> {
    let until = Instant::now() + inner.settings.limits.wall * 2;
    loop {
        // Another process may be at it for minutes: whoever ends this one needn't wait for that.
        let begun = inner.shelf.begin(key).map_err(|error| of_io(&error))?;
        if let Some(begun) = begun {
            return Ok(begun);
        }
        if Instant::now() > until {
            let why = "another process makes it, and takes longer than it may";
            return Err(Failure::new(Kind::TooSlow, why));
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn tell(progress: &Progress, line: &str) {
    progress.tell(Stream::Stderr, format!("gongfu: {line}\n").as_bytes());
}
