//! What the tests stand on: folders, a runner, and words for what came out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gongfu_core::account::Owner;
use gongfu_core::port::PortError;
use gongfu_core::sandbox::{
    Command, Exit, Input, Level, Limits, Mode, Mount, Outcome, Reach, Said, Spec,
};
use libtest_mimic::{Failed, Trial};
use tempfile::TempDir;

/// The argument by which this program runs something until it is killed.
pub(crate) const VICTIM: &str = "victim";

/// The kinds whose differences tests know.
pub(crate) const NAMESPACES: Level = Level::new("namespaces");
pub(crate) const LITE: Level = Level::new("lite");
pub(crate) const DOCKER: Level = Level::new("docker");

/// A skill, a workspace, and what is kept.
pub(crate) struct Ground {
    /// In what it runs.
    pub(crate) level: Level,
    pub(crate) folder: TempDir,
    pub(crate) limits: Limits,
    /// Whether runs may have control groups.
    pub(crate) grouped: bool,
}

impl Ground {
    pub(crate) fn new(level: Level) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["skill", "layer", "workspace", "logs"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let limits = Limits {
            wall: Duration::from_mins(1),
            ..Limits::default()
        };
        Self {
            level,
            folder,
            limits,
            grouped: true,
        }
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    pub(crate) fn write(&self, below: &str, text: &str) {
        let path = self.path(below);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, below: &str) -> String {
        std::fs::read_to_string(self.path(below)).unwrap()
    }

    pub(crate) fn spec(&self, command: Command) -> Spec {
        let mount = |sources: &[&str], target: &str, keep: &str| Mount {
            sources: sources.iter().map(|source| self.path(source)).collect(),
            target: target.to_owned(),
            mode: Mode::Layered,
            keep: Some(self.path(keep)),
        };
        Spec {
            command,
            folder: "/skill".to_owned(),
            mounts: vec![
                mount(&["layer", "skill"], "/skill", "layer"),
                mount(&["workspace"], "/workspace", "workspace"),
            ],
            programs: Vec::new(),
            environment: BTreeMap::new(),
            input: Input::Nothing,
            reach: Reach::default(),
            limits: self.limits,
            logs: Some(self.path("logs")),
        }
    }

    pub(crate) fn runs(&self, command: Command) -> Result<Outcome, PortError> {
        let runtime = runtime();
        let runner = crate::runner(self.level);
        let runner = if self.grouped {
            runner
        } else {
            runner.without_groups()
        };
        let running = runner.run(&Owner::Local, self.spec(command), Arc::new(|_, _| {}));
        runtime.block_on(running)
    }

    /// A line of a shell with the places where this kind of sandbox has them: lite has no view of its
    /// own, and says by variables where they are.
    pub(crate) fn placed(&self, line: &str) -> String {
        if self.level != LITE {
            return line.to_owned();
        }
        line.replace("/workspace", "$GONGFU_WORKSPACE")
            .replace("/skill", "$GONGFU_SKILL")
            .replace("/tmp/", "$TMPDIR/")
    }

    /// Runs a line for a shell.
    pub(crate) fn line(&self, line: &str) -> Outcome {
        self.runs(Command::Line(line.to_owned())).unwrap()
    }

    /// Runs a line that ends well; answers what it says.
    pub(crate) fn says(&self, line: &str) -> String {
        let outcome = self.line(line);
        assert_eq!(outcome.exit, Some(Exit::Code(0)), "{line}: {outcome:?}");
        text(&outcome.stdout)
    }
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build().unwrap()
}

pub(crate) fn text(said: &Said) -> String {
    assert_eq!(said.left_out, 0);
    String::from_utf8(said.head.clone()).unwrap()
}

/// Runs something that takes long, in the level and on the folder that come next, and waits to be
/// killed.
pub(crate) fn victim() -> ExitCode {
    let mut arguments = std::env::args().skip(2);
    let level = arguments.next().unwrap();
    let level = crate::kinds()
        .into_iter()
        .map(|(one, _)| one)
        .find(|one| one.as_str() == level);
    let (folder, line) = (arguments.next().unwrap(), arguments.next().unwrap());
    let spec = Spec {
        command: Command::Line(line),
        folder: "/".to_owned(),
        mounts: Vec::new(),
        programs: Vec::new(),
        environment: BTreeMap::new(),
        input: Input::Nothing,
        reach: Reach::default(),
        limits: Limits::default(),
        logs: Some(folder.into()),
    };
    let runner = crate::runner(level.unwrap());
    let running = runner.run(
        &Owner::Local,
        spec,
        Arc::new(|_, bytes| {
            let _ = std::io::Write::write_all(&mut std::io::stdout(), bytes);
        }),
    );
    let _ = runtime().block_on(running);
    ExitCode::SUCCESS
}

/// The control groups that a process made for its runs, and that are still there.
pub(crate) fn groups_of(process: u32) -> Vec<PathBuf> {
    let begins = format!("gongfu-{process}-");
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            if entry.file_name().to_string_lossy().starts_with(&begins) {
                found.push(entry.path());
            } else {
                folders.push(entry.path());
            }
        }
    }
    found
}

/// How many processes of this machine have a word in their command line.
pub(crate) fn alive(word: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let told = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    let has = |told: &Vec<u8>| told.windows(word.len()).any(|part| part == word.as_bytes());
    told.filter(has).count()
}

/// Waits until no process has a word in its command line; answers how long that took.
pub(crate) fn gone(word: &str) -> Duration {
    let begun = Instant::now();
    while alive(word) > 0 {
        assert!(begun.elapsed() < Duration::from_secs(10), "{word} lives on");
        std::thread::sleep(Duration::from_millis(10));
    }
    begun.elapsed()
}

/// A word that no other process has.
pub(crate) fn word(path: &Path) -> String {
    let name = path.file_name().unwrap().to_string_lossy();
    format!(
        "9{}",
        name.bytes()
            .map(|byte| (byte % 10).to_string())
            .collect::<String>()
    )
}

/// A test of one kind of sandbox, and its name.
pub(crate) type Test = (&'static str, fn(Level));

/// Tests that every kind of sandbox must pass, once for each that can be here.
///
/// A kind that doesn't work here fails them, unless what it is made with isn't installed: then they
/// are ignored, but not where everything is to be tried.
pub(crate) fn of_every_level(all: &[Test]) -> Vec<Trial> {
    let of_one = |(level, is_ignored): (Level, bool)| {
        all.iter().map(move |(name, test)| {
            let test = *test;
            let run = move || {
                test(level);
                Ok::<(), Failed>(())
            };
            Trial::test(format!("{level}::{name}"), run).with_ignored_flag(is_ignored)
        })
    };
    levels().flat_map(of_one).collect()
}

/// Every kind of sandbox that this program tests, and whether it is ignored here: what it is made with
/// isn't installed, and not everything is to be tried.
pub(crate) fn levels() -> impl Iterator<Item = (Level, bool)> {
    let everything = std::env::var_os("CI").is_some();
    let all = crate::kinds().into_iter();
    all.map(move |(level, is_installed)| (level, !is_installed && !everything))
}
