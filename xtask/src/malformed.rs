//! `cargo xtask prove-malformed`: no malformed request makes the server panic, hang, end or grow.
//!
//! Sends made-up messages to the real binary, over standard input and output and over HTTP, and
//! checks what comes back against rules of its own. The same is done first with servers that have a
//! fault: each must be found, or the proof is void.

mod due;
mod line;
mod message;
mod process;
mod stub;
mod tally;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use crate::prove::random::Random;
use crate::tree;
use line::Line;
use message::{Era, message};
use stub::Fault;
use tally::Tally;

/// How many skills the server has.
const SKILLS: usize = 3;
/// How many inputs lie between two controls that look closely.
const CONTROL: u64 = 100;
/// How many inputs make a server warm: what it holds then it may hold for ever.
const WARM: u64 = 200;
/// By how many mebibytes a warm server may grow.
const GROWTH: u64 = 48;
/// How many inputs a server with a fault gets.
const FAULTY: u64 = 600;

/// The options of `cargo xtask prove-malformed`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How many inputs, over all transports
    #[arg(long, default_value_t = 200_000)]
    count: u64,
    /// The seed that all inputs come from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How long an answer may take, in milliseconds
    #[arg(long, default_value_t = 1_000)]
    patience: u64,
    /// Only the input of this number, shown
    #[arg(long, value_name = "NUMBER")]
    at: Option<u64>,
    /// A binary to prove, instead of the one that is built from the present sources
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Prove a server with this fault instead, to see that it is found
    #[arg(long, value_name = "FAULT")]
    plant: Option<Fault>,
    /// Be the server with this fault
    #[arg(long, value_name = "FAULT", hide = true)]
    stub: Option<Fault>,
}

/// Proves the transports; fails when something isn't as it has to be.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    if let Some(fault) = arguments.stub {
        return stub::run(fault, SKILLS);
    }
    if let Some(fault) = arguments.plant {
        let tally = lines(&|_| stub(fault), arguments, arguments.count)?;
        println!("{}\n{}", tally.table(), tally.summary());
        return Ok(ExitCode::SUCCESS);
    }
    let ground = Ground::new()?;
    let binary = match &arguments.binary {
        Some(binary) => std::path::absolute(binary)?,
        None => build(&tree::root()?)?,
    };
    if arguments.at.is_none() {
        controls(arguments)?;
    }
    let tally = lines(
        &|_| Ok(ground.server(&binary, "mcp")),
        arguments,
        arguments.count,
    )?;
    println!(
        "standard input and output\n{}\n{}\n",
        tally.table(),
        tally.summary()
    );
    if arguments.at.is_none() {
        ensure!(
            tally.inputs >= arguments.count,
            "void: only {} inputs",
            tally.inputs
        );
        for answer in ["-32700", "-32600", "-32601", "-32602", "result", "silence"] {
            ensure!(tally.of(answer) > 0, "void: nothing came back as {answer}");
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Finds the fault of each server that has one, and none in the one without.
fn controls(arguments: &Arguments) -> Result<()> {
    let sound = lines(&|_| stub(Fault::None), arguments, FAULTY);
    sound.context("void: a server without a fault is found to have one")?;
    for fault in Fault::ALL {
        match lines(&|_| stub(fault), arguments, FAULTY) {
            Ok(_) => bail!("void: a server with the fault {fault:?} is found to be good"),
            Err(error) => println!(
                "control: {fault:?} is found: {:.100}",
                error.root_cause().to_string()
            ),
        }
    }
    println!();
    Ok(())
}

fn stub(fault: Fault) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    let name = format!("{fault:?}").to_lowercase();
    command.args(["prove-malformed", "--stub", &name]);
    Ok(command)
}

/// Proves one server of each era over standard input and output.
fn lines(
    server: &(dyn Fn(Era) -> Result<Command> + Sync),
    arguments: &Arguments,
    count: u64,
) -> Result<Tally> {
    let mut tally = Tally::default();
    let outcomes = std::thread::scope(|scope| {
        let prove = |era, first| {
            scope.spawn(move || {
                let numbers = (first..count).step_by(2);
                era_of_lines(&mut server(era)?, era, arguments, numbers)
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

fn era_of_lines(
    command: &mut Command,
    era: Era,
    arguments: &Arguments,
    numbers: impl Iterator<Item = u64>,
) -> Result<Tally> {
    let patience = Duration::from_millis(arguments.patience);
    let mut line = Line::start(command, era, patience)?;
    let mut tally = Tally::default();
    line.control(SKILLS, patience.max(Duration::from_secs(10)))?;
    let mut warm = 0;
    for number in numbers {
        if arguments.at.is_some_and(|at| at != number) {
            continue;
        }
        let mut random = Random::of_input(arguments.seed, number);
        let input = message(&mut random, number, line::MOST, era);
        let shown = || {
            let start = input.bytes.get(..300).unwrap_or(&input.bytes);
            format!(
                "input {number} ({}): {}",
                input.kind,
                String::from_utf8_lossy(start)
            )
        };
        if arguments.at.is_some() {
            println!("{}", shown());
        }
        let started = Instant::now();
        let answers = line.attempt(&input.bytes, patience).with_context(shown)?;
        tally.slowest = tally.slowest.max(started.elapsed());
        tally.inputs += 1;
        for answer in answers {
            tally.count(input.kind, answer);
        }
        if tally.inputs % CONTROL == 0 {
            line.control(SKILLS, patience).with_context(shown)?;
            tally.controls += 1;
        }
        if tally.inputs == WARM {
            warm = line.process.memory().0;
        }
    }
    line.control(SKILLS, patience)?;
    let (end, most) = line.process.memory();
    tally.memory.push((warm, end, most));
    ensure!(
        warm == 0 || end <= warm + GROWTH,
        "the server grew from {warm} to {end} MiB"
    );
    line.process.end()?;
    Ok(tally)
}

/// Skills, and a home that is thrown away.
struct Ground {
    folder: tempfile::TempDir,
}

impl Ground {
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

    /// The binary with this command, and nothing of the machine's.
    fn server(&self, binary: &Path, command: &str) -> Command {
        let folder = self.folder.path();
        let mut server = Command::new(binary);
        server
            .arg(command)
            .arg("--no-default-dirs")
            .arg("--skills-dir")
            .arg(folder.join("skills"))
            .env("GONGFU_HOME", folder.join("home"))
            .env("HOME", folder)
            .current_dir(folder);
        server
    }
}

/// Builds the binary as fast as a release and as suspicious as a test; answers where it is.
fn build(root: &Path) -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args([
            "build",
            "--quiet",
            "--profile",
            "checked",
            "--package",
            "gongfu",
        ])
        .current_dir(root)
        .status()
        .context("could not start cargo")?;
    ensure!(status.success(), "the binary does not build");
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let name = format!("gongfu{}", std::env::consts::EXE_SUFFIX);
    Ok(root.join(target).join("checked").join(name))
}
