//! A fixture of its own for each test: a home, a person, a project, a folder of skills, and the
//! program in it with nothing inherited.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write as _};
use std::ops::Deref;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use gongfu_testing::TestFolder;
use gongfu_testing::client::TIMEOUT;
use serde_json::Value;

use crate::stdio::Client;

/// Folders that nothing else touches.
pub(crate) struct Fixture(TestFolder);

impl Deref for Fixture {
    type Target = TestFolder;

    fn deref(&self) -> &TestFolder {
        &self.0
    }
}

impl Fixture {
    /// An empty fixture.
    pub(crate) fn new() -> Self {
        Self(TestFolder::new(&["user", "project", "skills"]))
    }

    /// A fixture with the skill of the story and one more.
    pub(crate) fn with_skills() -> Self {
        let fixture = Self::new();
        fixture.add_sample_skills();
        fixture
    }

    /// The program, about to be started with these arguments.
    pub(crate) fn gongfu<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Run {
        let mut run = Run {
            program: PathBuf::from(env!("CARGO_BIN_EXE_gongfu")),
            arguments: arguments
                .into_iter()
                .map(|argument| argument.as_ref().to_owned())
                .collect(),
            environment: Vec::new(),
            directory: self.path("project"),
            input: Vec::new(),
            user: None,
        };
        run.environment
            .push(("HOME".into(), self.path("user").into()));
        run.environment
            .push(("GONGFU_HOME".into(), self.path("home").into()));
        run
    }

    /// The same, looking at the folder of skills alone.
    pub(crate) fn only<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Run {
        self.over(&["skills"], arguments)
    }

    /// The same, looking at these folders alone.
    pub(crate) fn over<S: AsRef<OsStr>>(
        &self,
        folders: &[&str],
        arguments: impl IntoIterator<Item = S>,
    ) -> Run {
        let mut run = self.gongfu(arguments);
        let mut places = vec!["--no-default-dirs".into()];
        for folder in folders {
            places.extend(["--skills-dir".into(), self.path(folder).into()]);
        }
        // What follows `--` is no option.
        let end = run.arguments.iter().position(|argument| argument == "--");
        let end = end.unwrap_or(run.arguments.len());
        run.arguments.splice(end..end, places);
        run
    }

    /// The server over the folder of skills alone, with a client that has greeted it.
    pub(crate) fn client(&self) -> Client {
        let mut client = self.silent_client();
        client.initialize("2025-11-25");
        client
    }

    /// The same, without a greeting.
    pub(crate) fn silent_client(&self) -> Client {
        Client::start(&self.only(["mcp"]))
    }

    /// What the program lists, as JSON, of the folder of skills alone.
    pub(crate) fn listed(&self) -> Vec<Value> {
        match self.only(["skill", "list", "--json"]).good().json() {
            Value::Array(skills) => skills,
            other => panic!("not a list: {other}"),
        }
    }
}

/// The program before it is started.
pub(crate) struct Run {
    program: PathBuf,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    directory: PathBuf,
    input: Vec<u8>,
    user: Option<u32>,
}

impl Run {
    /// Adds a variable, or replaces one.
    pub(crate) fn with(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.environment.retain(|(known, _)| known != name);
        self.environment
            .push((name.into(), value.as_ref().to_owned()));
        self
    }

    /// Starts it in another folder.
    pub(crate) fn within(mut self, directory: PathBuf) -> Self {
        self.directory = directory;
        self
    }

    /// Gives it something to read.
    pub(crate) fn reading(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    /// Starts it through a shell that runs this script first, with the program as `"$@"`.
    pub(crate) fn through(mut self, script: &str) -> Self {
        let program = std::mem::replace(&mut self.program, "/bin/sh".into());
        let shell = ["-c".into(), script.into(), "sh".into(), program.into()];
        self.arguments.splice(0..0, shell);
        self
    }

    /// Starts a copy of the program that lies elsewhere.
    pub(crate) fn at(mut self, program: &std::path::Path) -> Self {
        program.clone_into(&mut self.program);
        self
    }

    /// Starts a copy of it as another user; only root can.
    pub(crate) fn owned_by(mut self, program: PathBuf, user: u32) -> Self {
        self.program = program;
        self.user = Some(user);
        self
    }

    /// Starts it, with pipes on all three streams.
    #[expect(
        clippy::disallowed_methods,
        reason = "the tests start the program that they judge"
    )]
    pub(crate) fn start(&self) -> Child {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        #[cfg(unix)]
        if let Some(user) = self.user {
            use std::os::unix::process::CommandExt as _;
            command.uid(user).gid(user);
        }
        command.spawn().unwrap()
    }

    /// Runs it to its end, which must come in time and without a panic.
    pub(crate) fn run(&self) -> Ran {
        let mut child = self.start();
        let (stdout, stderr) = (
            collected(child.stdout.take()),
            collected(child.stderr.take()),
        );
        let mut stdin = child.stdin.take().unwrap();
        let input = self.input.clone();
        // It may end without having read everything: that is its right.
        let writer = thread::spawn(move || drop(stdin.write_all(&input)));
        let status = ended(&mut child, TIMEOUT);
        writer.join().unwrap();
        let ran = Ran {
            code: status.and_then(|status| status.code()),
            stdout: stdout.join().unwrap(),
            stderr: String::from_utf8_lossy(&stderr.join().unwrap()).into_owned(),
        };
        assert!(
            status.is_some(),
            "{:?} hangs: {}",
            self.arguments,
            ran.stderr
        );
        assert!(
            !ran.stderr.contains("panicked"),
            "{:?}: {}",
            self.arguments,
            ran.stderr
        );
        ran
    }

    /// Runs it; it must end with this code.
    pub(crate) fn ends(&self, code: i32) -> Ran {
        let ran = self.run();
        assert_eq!(
            ran.code,
            Some(code),
            "{:?}\n{}\n{}",
            self.arguments,
            ran.text(),
            ran.stderr
        );
        ran
    }

    /// Runs it; it must succeed.
    pub(crate) fn good(&self) -> Ran {
        self.ends(0)
    }
}

/// What a run left behind.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Ran {
    /// Standard output as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Standard output as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}\n{}", self.text(), self.stderr))
    }
}

/// Reads a stream to its end on a thread, so that nothing waits for anything.
pub(crate) fn collected<R: Read + Send + 'static>(stream: Option<R>) -> JoinHandle<Vec<u8>> {
    let mut stream = stream.unwrap();
    thread::spawn(move || {
        let mut all = Vec::new();
        let _ = stream.read_to_end(&mut all);
        all
    })
}

/// Waits until a program ends; when it takes too long it is ended, and that is told.
pub(crate) fn ended(child: &mut Child, patience: Duration) -> Option<ExitStatus> {
    let started = Instant::now();
    while started.elapsed() < patience {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    None
}
