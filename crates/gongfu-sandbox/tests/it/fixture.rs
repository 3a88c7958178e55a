//! The fixture of the tests: folders, a runner, and helpers to judge the outcome.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use gongfu_core::account::Owner;
use gongfu_core::port::PortError;
use gongfu_core::sandbox::{
    CapturedOutput, Command, Exit, Input, Level, Limits, Mode, Mount, Outcome, Reach, Spec,
};
use libtest_mimic::{Failed, Trial};
use tempfile::TempDir;

/// The argument that makes this program a server with one run, until it is killed.
pub(crate) const VICTIM: &str = "victim";

/// The levels whose differences tests know.
pub(crate) const NAMESPACES: Level = Level::new("namespaces");
pub(crate) const LITE: Level = Level::new("lite");
pub(crate) const DOCKER: Level = Level::new("docker");

/// The folders of a skill, its layer and a workspace, and the limits of runs.
pub(crate) struct Fixture {
    /// The level of the runs.
    pub(crate) level: Level,
    pub(crate) folder: TempDir,
    pub(crate) limits: Limits,
    /// Runs may have control groups.
    pub(crate) uses_groups: bool,
}

impl Fixture {
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
            uses_groups: true,
        }
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    /// Writes a file; later runs see it.
    pub(crate) fn write(&self, below: &str, text: &str) {
        let path = self.path(below);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        // A change in the same tick of the clock of files counts as one during the run.
        std::thread::sleep(Duration::from_millis(12));
    }

    pub(crate) fn read(&self, below: &str) -> String {
        std::fs::read_to_string(self.path(below)).unwrap()
    }

    pub(crate) fn spec(&self, command: Command) -> Spec {
        Spec {
            limits: self.limits,
            ..Self::spec_in(self.folder.path(), command)
        }
    }

    /// A job with the folders of a fixture.
    pub(crate) fn spec_in(folder: &Path, command: Command) -> Spec {
        let mount = |sources: &[&str], target: &str, keep: &str| Mount {
            sources: sources.iter().map(|source| folder.join(source)).collect(),
            target: target.to_owned(),
            mode: Mode::Layered,
            keep: Some(folder.join(keep)),
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
            dialogue: None,
            reach: Reach::default(),
            limits: Limits::default(),
            logs: Some(folder.join("logs")),
            links: Vec::new(),
            hidden: Vec::new(),
            holding: None,
        }
    }

    pub(crate) fn run(&self, command: Command) -> Result<Outcome, PortError> {
        let runtime = runtime();
        let runner = crate::runner(self.level);
        let runner = if self.uses_groups {
            runner
        } else {
            runner.without_groups()
        };
        let running = runner.run(&Owner::Local, self.spec(command), Arc::new(|_, _| {}));
        runtime.block_on(running)
    }

    /// A line with the guest paths of this level: lite has no view of its own, and passes them in variables.
    pub(crate) fn guest_line(&self, line: &str) -> String {
        if self.level != LITE {
            return line.to_owned();
        }
        line.replace("/workspace", "$GONGFU_WORKSPACE")
            .replace("/skill", "$GONGFU_SKILL")
            .replace("/tmp/", "$TMPDIR/")
    }

    /// Runs a line for a shell.
    pub(crate) fn run_line(&self, line: &str) -> Outcome {
        self.run(Command::Line(line.to_owned())).unwrap()
    }

    /// Runs a line that must succeed; returns its output.
    pub(crate) fn output_of(&self, line: &str) -> String {
        let outcome = self.run_line(line);
        assert_eq!(outcome.exit, Some(Exit::Code(0)), "{line}: {outcome:?}");
        text(&outcome.stdout)
    }
}

/// Standard input that begins when it is told to: a run waits for it.
pub(crate) struct Gate(pub(crate) mpsc::Receiver<()>);

impl Read for Gate {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.0.recv().is_err() {
            return Ok(0);
        }
        buffer[..1].copy_from_slice(b"\n");
        Ok(1)
    }
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build().unwrap()
}

pub(crate) fn text(said: &CapturedOutput) -> String {
    assert_eq!(said.left_out, 0);
    String::from_utf8(said.head.clone()).unwrap()
}

/// Runs a line at a level, with a folder for logs, and waits to be killed; the arguments name all three.
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
        dialogue: None,
        reach: Reach::default(),
        limits: Limits::default(),
        logs: Some(folder.into()),
        links: Vec::new(),
        hidden: Vec::new(),
        holding: None,
    };
    let runner = crate::runner(level.unwrap());
    let running = runner.run(
        &Owner::Local,
        spec,
        Arc::new(|_, bytes| {
            let _ = io::Write::write_all(&mut io::stdout(), bytes);
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

/// Counts the processes of this machine with a word in their command line.
pub(crate) fn alive(word: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    let has = |line: &Vec<u8>| line.windows(word.len()).any(|part| part == word.as_bytes());
    lines.filter(has).count()
}

/// Waits until no process has a word in its command line; returns how long that took.
pub(crate) fn gone(word: &str) -> Duration {
    let start = Instant::now();
    while alive(word) > 0 {
        assert!(start.elapsed() < Duration::from_secs(10), "{word} lives on");
        std::thread::sleep(Duration::from_millis(10));
    }
    start.elapsed()
}

/// A word that no other process has in its command line.
pub(crate) fn word(path: &Path) -> String {
    let name = path.file_name().unwrap().to_string_lossy();
    format!(
        "9{}",
        name.bytes()
            .map(|byte| (byte % 10).to_string())
            .collect::<String>()
    )
}

/// A test of one level, with its name.
pub(crate) type Test = (&'static str, fn(Level));

/// Lists test functions with their names, below the name of a group.
macro_rules! tests {
    ($group:literal: $($test:ident),* $(,)?) => {
        [$((concat!($group, "::", stringify!($test)), $test)),*]
    };
}
pub(crate) use tests;

/// Tests that every level must pass, once for each level of this system.
///
/// A level that doesn't work here fails them. Where its program isn't installed they are ignored, except under CI.
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

/// The levels that this program tests, each with the fact that it is ignored here: its program isn't installed.
pub(crate) fn levels() -> impl Iterator<Item = (Level, bool)> {
    let everything = std::env::var_os("CI").is_some();
    let all = crate::kinds().into_iter();
    all.map(move |(level, is_installed)| (level, !is_installed && !everything))
}
