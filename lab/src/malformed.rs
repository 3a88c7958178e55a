//! `lab prove-malformed`: no malformed request makes the server panic, hang, end or grow.
//!
//! Sends made-up messages to the real binary, over standard input and output and over HTTP, and
//! checks what comes back against rules of its own. The same is done first with servers that have a
//! fault: each must be found, or the proof is void.

mod expectation;
mod http;
mod message;
mod process;
mod request;
mod stdio;
mod stub;
mod tally;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};

use crate::machine;
use crate::random::Random;
use http::HttpPeer;
use message::Era;
use process::Process;
use stdio::StdioPeer;
use stub::Fault;
use tally::Tally;

/// The number of skills that the server has.
const SKILLS: usize = 3;
/// The number of inputs between two controls.
const CONTROL: u64 = 100;
/// The number of inputs that make a server warm: it may keep the memory that it has then.
const WARM: u64 = 200;
/// By how many mebibytes a warm server may grow.
const GROWTH: f64 = 48.0;
/// The number of inputs that a server with a fault gets.
const FAULTY: u64 = 600;

/// The options of `lab prove-malformed`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The number of inputs, over all transports
    #[arg(long, default_value_t = 200_000)]
    count: u64,
    /// The seed that all inputs come from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The time limit of an answer, in milliseconds
    #[arg(long, default_value_t = 1_000)]
    timeout: u64,
    /// Only the input of this number, shown
    #[arg(long, value_name = "NUMBER")]
    at: Option<u64>,
    /// A binary to prove, instead of the one that is built from the present sources
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Only this transport
    #[arg(long, value_name = "TRANSPORT")]
    only: Option<Transport>,
    /// Prove a server with this fault instead, to see that it is found
    #[arg(long, value_name = "FAULT")]
    plant: Option<Fault>,
    /// Be the server with this fault
    #[arg(long, value_name = "FAULT", hide = true)]
    stub: Option<Fault>,
}

/// A transport between client and server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Transport {
    Stdio,
    Http,
}

impl Transport {
    const ALL: [Self; 2] = [Self::Stdio, Self::Http];

    fn name(self) -> &'static str {
        match self {
            Self::Stdio => "standard input and output",
            Self::Http => "HTTP",
        }
    }

    /// The answers that must come now and then, or the proof is void.
    fn answers(self) -> &'static [&'static str] {
        match self {
            Self::Stdio => &["-32700", "-32600", "-32601", "-32602", "result", "silence"],
            Self::Http => &[
                "200 result",
                "202",
                "400 -32700",
                "400 -32600",
                "403 problem",
                "404 problem",
                "413 -32600",
                "closed",
            ],
        }
    }
}

/// Proves the transports; fails when something isn't as it has to be.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let only = arguments.only;
    if let Some(fault) = arguments.stub {
        return match only {
            Some(Transport::Http) => stub::serve(fault, SKILLS),
            _ => stub::run(fault, SKILLS),
        };
    }
    let transports = Transport::ALL
        .into_iter()
        .filter(|transport| only.is_none_or(|only| only == *transport));
    if let Some(fault) = arguments.plant {
        for transport in transports {
            let tally = proved(transport, &|| stub(transport, fault), arguments, FAULTY)?;
            println!("{}\n{}", tally.table(), tally.summary());
        }
        return Ok(ExitCode::SUCCESS);
    }
    let fixture = Fixture::new()?;
    let binary = match &arguments.binary {
        Some(binary) => std::path::absolute(binary)?,
        // As fast as a release and as suspicious as a test.
        None => machine::build("checked")?,
    };
    let transports: Vec<Transport> = transports.collect();
    let each = arguments.count.div_ceil(transports.len().max(1) as u64);
    for transport in transports {
        println!("{}", transport.name());
        if arguments.at.is_none() {
            controls(transport, arguments)?;
        }
        let server = || Ok(fixture.server(&binary, transport));
        let tally = proved(transport, &server, arguments, each)?;
        println!("{}\n{}\n", tally.table(), tally.summary());
        if arguments.at.is_none() {
            ensure!(tally.inputs >= each, "void: only {} inputs", tally.inputs);
            for answer in transport.answers() {
                ensure!(tally.of(answer) > 0, "void: nothing came back as {answer}");
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Finds the fault of each server that has one, and none in the one without.
fn controls(transport: Transport, arguments: &Arguments) -> Result<()> {
    let sound = proved(
        transport,
        &|| stub(transport, Fault::None),
        arguments,
        FAULTY,
    );
    sound.context("void: a server without a fault is found to have one")?;
    for fault in Fault::ALL {
        match proved(transport, &|| stub(transport, fault), arguments, FAULTY) {
            Ok(_) => bail!("void: a server with the fault {fault:?} is found to be good"),
            Err(error) => println!(
                "control: {fault:?} is found: {:.100}",
                error.root_cause().to_string().escape_debug().to_string()
            ),
        }
    }
    Ok(())
}

fn stub(transport: Transport, fault: Fault) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    let (fault, transport) = (format!("{fault:?}"), format!("{transport:?}"));
    command
        .args(["prove-malformed", "--stub", &fault.to_lowercase()])
        .args(["--only", &transport.to_lowercase()]);
    Ok(command)
}

/// Proves one server of each era.
fn proved(
    transport: Transport,
    server: &(dyn Fn() -> Result<Command> + Sync),
    arguments: &Arguments,
    count: u64,
) -> Result<Tally> {
    let mut tally = Tally::default();
    let outcomes = std::thread::scope(|scope| {
        let prove = |era, first| {
            scope.spawn(move || -> Result<Tally> {
                let mut command = server()?;
                let mut peer: Box<dyn Peer> = match transport {
                    Transport::Stdio => {
                        Box::new(StdioPeer::start(&mut command, era, timeout(arguments))?)
                    }
                    Transport::Http => {
                        Box::new(HttpPeer::start(&mut command, era, timeout(arguments))?)
                    }
                };
                let tally = conversation(peer.as_mut(), arguments, (first..count).step_by(2))?;
                peer.end()?;
                Ok(tally)
            })
        };
        let running = [prove(Era::Session, 0), prove(Era::Stateless, 1)];
        running.map(std::thread::ScopedJoinHandle::join)
    });
    for outcome in outcomes {
        match outcome {
            Ok(outcome) => tally.add(outcome?),
            Err(_) => bail!("the proof itself panicked"),
        }
    }
    Ok(tally)
}

/// The time limit of an answer.
fn timeout(arguments: &Arguments) -> Duration {
    Duration::from_millis(arguments.timeout)
}

/// A server that is spoken with.
trait Peer {
    /// Sends the input of this number.
    fn attempt(&mut self, input: Input<'_>) -> Result<Outcome>;

    /// Calls a tool, which must list all skills.
    fn control(&mut self, skills: usize, timeout: Duration) -> Result<()>;

    /// The server's process.
    fn process(&self) -> &Process;

    /// Lets the server end, and fails when it doesn't end well.
    fn end(self: Box<Self>) -> Result<()>;
}

/// The outcome of an input.
struct Outcome {
    /// The change that was made.
    kind: &'static str,
    /// The answers that came back, by name.
    answers: Vec<String>,
    /// The time from the first byte sent to the last answer, without the proof's own computing.
    took: Duration,
}

/// An input, before it is made.
struct Input<'a> {
    random: &'a mut Random,
    number: u64,
    timeout: Duration,
    /// It is printed.
    shown: bool,
}

impl Input<'_> {
    /// The input for people, in case of a failure.
    fn describe(&self, kind: &str, bytes: &[u8]) -> String {
        let start = bytes.get(..600).unwrap_or(bytes);
        let text = String::from_utf8_lossy(start);
        let text = format!("input {} ({kind}): {}", self.number, text.escape_debug());
        if self.shown {
            println!("{text}");
        }
        text
    }
}

fn conversation(
    peer: &mut dyn Peer,
    arguments: &Arguments,
    numbers: impl Iterator<Item = u64>,
) -> Result<Tally> {
    let timeout = timeout(arguments);
    let mut tally = Tally::default();
    // The first answer may wait for the library.
    peer.control(SKILLS, timeout.max(Duration::from_secs(10)))?;
    let mut warm = 0.0;
    for number in numbers {
        if arguments.at.is_some_and(|at| at != number) {
            continue;
        }
        let mut random = Random::of_input(arguments.seed, number);
        let input = Input {
            random: &mut random,
            number,
            timeout,
            shown: arguments.at.is_some(),
        };
        let outcome = peer.attempt(input)?;
        tally.slowest = tally.slowest.max(outcome.took);
        tally.inputs += 1;
        for answer in outcome.answers {
            tally.count(outcome.kind, answer);
        }
        if tally.inputs % CONTROL == 0 {
            let after = || format!("the control after input {number}");
            peer.control(SKILLS, timeout).with_context(after)?;
            tally.controls += 1;
        }
        if tally.inputs == WARM {
            warm = peer.process().memory().resident;
        }
    }
    peer.control(SKILLS, timeout)?;
    let memory = peer.process().memory();
    let end = memory.resident;
    tally.memory.push((warm, end, memory.peak));
    ensure!(
        warm <= 0.0 || end <= warm + GROWTH,
        "the server grew from {warm:.0} to {end:.0} MiB"
    );
    Ok(tally)
}

/// Skills, and a home that is thrown away.
struct Fixture {
    folder: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        for name in ["alpha", "beta", "gamma"] {
            let skill = folder.path().join("skills").join(name);
            std::fs::create_dir_all(&skill)?;
            let text = format!(
                "---\nname: {name}\ndescription: Says {name}. Use it for {name}.\n---\n\n# {name}\n\nSay {name}.\n"
            );
            std::fs::write(skill.join("SKILL.md"), text)?;
        }
        Ok(Self { folder })
    }

    /// The binary, and nothing of the machine's.
    fn server(&self, binary: &Path, transport: Transport) -> Command {
        let folder = self.folder.path();
        let mut server = Command::new(binary);
        match transport {
            Transport::Stdio => server.arg("mcp"),
            Transport::Http => server.args(["serve", "--listen", "127.0.0.1:0"]),
        };
        server
            .arg("--no-default-dirs")
            .arg("--skills-dir")
            .arg(folder.join("skills"))
            .env("GONGFU_HOME", folder.join("home"))
            .env("HOME", folder)
            .current_dir(folder);
        server
    }
}
