//! Ways to run a program: plainly, by bubblewrap alone, in each of our sandboxes, and through MCP.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use gongfu_core::account::Owner;
use gongfu_core::sandbox::{Command, Exit, Input, Level, Limits, Mode, Mount, Reach, Spec};
use gongfu_docker::plain::{self, PlainCommand, WarmContainer};
use gongfu_docker::{Docker, Settings};
use gongfu_sandbox::Runner;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::http;
use crate::server::{Recipe, Server};

pub(super) const PLAIN: &str = "plain spawn";
pub(super) const ALONE: &str = "bubblewrap alone";
pub(super) const RUN: &str = "docker run";
pub(super) const EXEC: &str = "docker exec, warm";
pub(super) const OVER_STDIO: &str = "skill_run over MCP, stdio";
pub(super) const OVER_HTTP: &str = "skill_run over MCP, HTTP";

/// The folders of programs, in a sandbox and outside.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// The usual options of bubblewrap.
const BARE: [&str; 12] = [
    "--unshare-all",
    "--die-with-parent",
    "--ro-bind",
    "/",
    "/",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
    "--tmpfs",
    "/tmp",
    "--",
];

/// Runs words to their end; answers how long that took.
type Run = Box<dyn FnMut(&[&str]) -> Result<Duration>>;

/// A way to run a program.
pub(super) struct Contender {
    pub(super) name: String,
    pub(super) run: Run,
    /// The sandbox, where it is one of ours.
    pub(super) runner: Option<Arc<Runner>>,
}

/// A skill, a workspace and what is needed to run things.
pub(super) struct Fixture {
    folder: TempDir,
    pub(super) program: PathBuf,
    pub(super) runtime: Arc<Runtime>,
}

impl Fixture {
    pub(super) fn new(program: PathBuf) -> Result<Self> {
        let folder = TempDir::new()?;
        for name in ["skills/bench", "layer", "workspace", "home"] {
            std::fs::create_dir_all(folder.path().join(name))?;
        }
        let document = "---\nname: bench\ndescription: Is run\n---\n\n# Bench\n";
        std::fs::write(folder.path().join("skills/bench/SKILL.md"), document)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()?;
        Ok(Self {
            folder,
            program,
            runtime: Arc::new(runtime),
        })
    }

    fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    /// A run as `skill_run` makes it.
    pub(super) fn spec(&self, words: &[&str]) -> Spec {
        let layered = |sources: &[&str], target: &str, keep: &str| Mount {
            sources: sources.iter().map(|source| self.path(source)).collect(),
            target: target.to_owned(),
            mode: Mode::Layered,
            keep: Some(self.path(keep)),
        };
        Spec {
            command: Command::Program(words.iter().map(|word| (*word).to_owned()).collect()),
            folder: "/skill".to_owned(),
            mounts: vec![
                layered(&["layer", "skills/bench"], "/skill", "layer"),
                layered(&["workspace"], "/workspace", "workspace"),
            ],
            programs: Vec::new(),
            environment: BTreeMap::new(),
            input: Input::Nothing,
            dialogue: None,
            reach: Reach::default(),
            limits: Limits::default(),
            logs: None,
            links: Vec::new(),
            hidden: Vec::new(),
            holding: None,
        }
    }

    /// The recipe of a server over the skill.
    pub(super) fn recipe(&self, command: &[&str]) -> Recipe {
        let mut arguments: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
        arguments.extend(["--no-default-dirs".to_owned(), "--skills-dir".to_owned()]);
        arguments.push(self.path("skills").display().to_string());
        Recipe {
            program: self.program.clone(),
            arguments,
            variables: vec![
                (
                    "GONGFU_HOME".to_owned(),
                    self.path("home").display().to_string(),
                ),
                // The same interpreters as everybody else's.
                ("PATH".to_owned(), PATH.to_owned()),
            ],
        }
    }
}

/// The arguments of a call that runs words.
pub(super) fn call(words: &[&str]) -> Value {
    let (program, arguments) = words.split_first().unwrap_or((&"true", &[]));
    json!({ "skill_name": "bench", "command": program, "arguments": arguments })
}

/// All that there are here, the plain spawn first, and why others are missing.
pub(super) fn contenders(fixture: &Fixture) -> Result<(Vec<Contender>, Vec<String>)> {
    let mut notes = Vec::new();
    let mut all = vec![Contender {
        name: PLAIN.to_owned(),
        run: Box::new(process),
        runner: None,
    }];
    match bubblewrap() {
        Some(program) => all.push(Contender {
            name: ALONE.to_owned(),
            run: Box::new(move |words| {
                let bare = [program.as_str()].into_iter().chain(BARE);
                process(&bare.chain(words.iter().copied()).collect::<Vec<_>>())
            }),
            runner: None,
        }),
        None => notes.push("bubblewrap isn't installed here".to_owned()),
    }
    let docker = docker();
    match WarmContainer::new(docker.clone()) {
        Ok(warm) => {
            let of = docker.clone();
            all.push(Contender {
                name: RUN.to_owned(),
                run: Box::new(move |words| contained(&of, words)),
                runner: None,
            });
            all.push(Contender {
                name: EXEC.to_owned(),
                run: Box::new(move |words| executed(&warm, words)),
                runner: None,
            });
        }
        Err(error) => notes.push(format!("no Docker daemon is asked: {error}")),
    }
    let runner = |wanted| {
        let docker = Arc::new(Docker::new(docker.clone()));
        Arc::new(Runner::new(wanted).with_backend(docker))
    };
    for level in runner(None).profiles().map(|profile| profile.level) {
        let runner = runner(Some(level));
        if fixture.runtime.block_on(runner.level()).is_none() {
            notes.push(format!("{level} doesn't work here"));
            continue;
        }
        all.push(sandboxed(fixture, level, runner));
    }
    all.push(over_stdio(fixture)?);
    all.push(over_http(fixture)?);
    Ok((all, notes))
}

/// The daemon that is asked, as `docker` itself asks it.
fn docker() -> Settings {
    Settings {
        socket: std::env::var("DOCKER_HOST").ok(),
        image: None,
    }
}

/// Runs it in a new container, with what every container is given and nothing else said about it.
fn contained(docker: &Settings, words: &[&str]) -> Result<Duration> {
    let what = PlainCommand {
        words: words.iter().map(|word| (*word).to_owned()).collect(),
        folder: "/".to_owned(),
        ..PlainCommand::default()
    };
    let begun = Instant::now();
    let ended = plain::run(docker, &what)?;
    if ended.code != Some(0) {
        bail!("it ended with {:?}", ended.code);
    }
    Ok(begun.elapsed())
}

/// Runs it in a container that is there already.
fn executed(warm: &WarmContainer, words: &[&str]) -> Result<Duration> {
    let begun = Instant::now();
    let code = warm.exec(words)?;
    if code != Some(0) {
        bail!("it ended with {code:?}");
    }
    Ok(begun.elapsed())
}

/// The path of bubblewrap, if it is installed.
pub(super) fn bubblewrap() -> Option<String> {
    let folders = PATH.split(':').map(|folder| format!("{folder}/bwrap"));
    folders.into_iter().find(|file| Path::new(file).exists())
}

/// A process, started and waited for with what it says.
pub(super) fn process(words: &[&str]) -> Result<Duration> {
    let (program, arguments) = words.split_first().context("nothing is to be run")?;
    let begun = Instant::now();
    let output = Process::new(program)
        .args(arguments)
        .env_clear()
        .env("PATH", PATH)
        .stdin(Stdio::null())
        .output()?;
    if !output.status.success() {
        bail!(
            "{}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(begun.elapsed())
}

fn sandboxed(fixture: &Fixture, level: Level, runner: Arc<Runner>) -> Contender {
    let (used, runtime) = (Arc::clone(&runner), Arc::clone(&fixture.runtime));
    let spec = fixture.spec(&[]);
    Contender {
        name: level.as_str().to_owned(),
        run: Box::new(move |words| {
            let words = words.iter().map(|word| (*word).to_owned()).collect();
            let spec = Spec {
                command: Command::Program(words),
                ..spec.clone()
            };
            let begun = Instant::now();
            let outcome = runtime.block_on(used.run(&Owner::Local, spec, Arc::new(|_, _| {})))?;
            if outcome.exit != Some(Exit::Code(0)) {
                bail!("it ended with {:?}", outcome.exit);
            }
            Ok(begun.elapsed())
        }),
        runner: Some(runner),
    }
}

fn over_stdio(fixture: &Fixture) -> Result<Contender> {
    let mut server = Server::begin(&fixture.recipe(&["mcp"]))?;
    Ok(Contender {
        name: OVER_STDIO.to_owned(),
        run: Box::new(move |words| {
            let answer = server.call("skill_run", call(words))?;
            good(&answer.result)?;
            Ok(answer.took)
        }),
        runner: None,
    })
}

fn over_http(fixture: &Fixture) -> Result<Contender> {
    let mut server =
        http::process::Process::start(&fixture.recipe(&["serve", "--listen", "127.0.0.1:0"]))?;
    let address = server.address()?;
    let runtime = Arc::clone(&fixture.runtime);
    let opened = http::client::Client::open(&address, http::wire::Path::Stateless);
    let mut client = runtime.block_on(opened)?;
    Ok(Contender {
        name: OVER_HTTP.to_owned(),
        run: Box::new(move |words| {
            // It lives for as long as it is asked.
            let _ = &server;
            let parameters = json!({ "name": "skill_run", "arguments": call(words) });
            let answer = runtime.block_on(client.ask("tools/call", parameters))?;
            good(&answer.result)?;
            Ok(answer.took)
        }),
        runner: None,
    })
}

/// A run that ended well.
pub(super) fn good(result: &Value) -> Result<()> {
    let code = result.pointer("/structuredContent/exit_code");
    if code != Some(&json!(0)) {
        bail!("the run failed: {result}");
    }
    Ok(())
}
