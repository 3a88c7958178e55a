//! `lab prove-bombs`: whatever is run, the server goes on answering and nothing is left.
//!
//! Starts the real server, as root and as a user where that is possible, has it run what takes all
//! there is of one thing, and asks for its tools meanwhile. A wrong end or a process that is left
//! fails; slow answers are reported.

mod fixture;
mod plan;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::http::client::Client;
use crate::http::wire::{Address, Path};
use crate::machine;
use crate::sample::{Sample, Unit};
use fixture::{Fixture, User, Watch};
use plan::{BOMBS, Bomb};

/// The time in which all processes of a run must be dead.
const SOON: Duration = Duration::from_secs(1);
/// The shortest time for which answers are timed beside each bomb: the slowest of a few says nothing.
const ENOUGH: Duration = Duration::from_secs(2);
/// The factor by which answers may become slower.
const SLOWER: f64 = 3.0;

/// The options of `lab prove-bombs`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The seconds for which the quiet server is asked before each bomb
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=600))]
    quiet: u64,
    /// The number of runs at once in the end
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=5_000))]
    runs: u32,
    /// Try only those bombs whose name holds this; `runs at once` for the runs alone
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// A binary to try, instead of the one that is built from the present sources
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

/// Tries everything.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let program = match &arguments.binary {
        Some(program) => program.clone(),
        None => machine::build("release")?,
    };
    println!("{}", machine::describe());
    let (mut tried, mut wrong) = (0, Vec::new());
    for user in User::all() {
        // One thread, as clients have: with more it would be timed how they wait for each other.
        let runtime = crate::http::runtime()?;
        runtime.block_on(attack(arguments, &program, user, &mut tried, &mut wrong))?;
    }
    anyhow::ensure!(tried > 0, "no bomb has a name with `{}`", arguments.only);
    for fault in &wrong {
        println!("wrong: {fault}");
    }
    println!(
        "\n{}",
        if wrong.is_empty() {
            "every run ended as it should, and nothing was left"
        } else {
            "NOT as it should be"
        }
    );
    Ok(ExitCode::from(u8::from(!wrong.is_empty())))
}

async fn attack(
    arguments: &Arguments,
    program: &std::path::Path,
    user: User,
    tried: &mut usize,
    wrong: &mut Vec<String>,
) -> Result<()> {
    let fixture = Fixture::start(program, user)?;
    let mut asking = Client::open(&fixture.address, Path::Stateless).await?;
    // Whatever is made only once is made.
    ask(&mut asking, Instant::now() + Duration::from_millis(500)).await?;
    run_one(
        fixture.address.clone(),
        json!({ "skill_name": "bomb", "command": "true" }),
    )
    .await?;
    println!(
        "\nthe server is {}, with {} of memory; the p99 of tools/list is told beside that of the quiet \
        server just before",
        user.name(),
        Unit::Mebibytes.show(fixture.memory()?),
    );
    println!(
        "{:<36} {:>10} {:>9} {:>9} {:>9} {:>7} {:>10} {:>10}",
        "", "reason", "took", "quiet", "p99", "times", "dead after", "memory"
    );
    let is_wanted = |name: &str| name.contains(&arguments.only);
    for bomb in BOMBS.iter().filter(|bomb| is_wanted(bomb.name)) {
        *tried += 1;
        let calm = calm(&mut asking, arguments.quiet).await?;
        let watch = fixture.watch();
        let answer = one(&fixture, &mut asking, bomb).await?;
        if !bomb.reasons.contains(&answer.reason.as_str()) {
            wrong.push(format!(
                "{} ended with {} and not with {:?}",
                bomb.name, answer.reason, bomb.reasons
            ));
        }
        print_report(&fixture, &watch, bomb.name, &answer, calm, wrong)?;
    }
    let name = format!("{} runs at once", arguments.runs);
    if is_wanted(&name) {
        *tried += 1;
        let calm = calm(&mut asking, arguments.quiet).await?;
        let watch = fixture.watch();
        let many = many(&fixture, &mut asking, arguments.runs).await?;
        print_report(&fixture, &watch, &name, &many, calm, wrong)?;
    }
    drop(asking);
    fixture.end()
}

/// The p99 of answers while nothing is run, in milliseconds. It is measured before each bomb, because
/// others use the machine as well.
async fn calm(asking: &mut Client, seconds: u64) -> Result<f64> {
    let quiet = ask(asking, Instant::now() + Duration::from_secs(seconds)).await?;
    quiet.percentile(99).context("nothing was answered")
}

/// The result of a bomb.
struct BombReport {
    reason: String,
    took: Duration,
    meanwhile: Sample,
}

/// Has a bomb run; one that is over soon again and again.
async fn one(fixture: &Fixture, asking: &mut Client, bomb: &Bomb) -> Result<BombReport> {
    let call = json!({ "skill_name": "bomb", "command": bomb.line, "timeout": bomb.seconds });
    let mut seen = BombReport {
        reason: String::new(),
        took: Duration::ZERO,
        meanwhile: Sample::default(),
    };
    let mut timed = Duration::ZERO;
    while timed < ENOUGH {
        let begun = Instant::now();
        let running = tokio::spawn(run_one(fixture.address.clone(), call.clone()));
        asked_while(asking, &mut seen.meanwhile, || !running.is_finished()).await?;
        let reason = running.await??;
        let took = begun.elapsed();
        timed += took;
        seen.took = seen.took.max(took);
        // One wrong end is reported, however the others were.
        if seen.reason.is_empty() || !bomb.reasons.contains(&reason.as_str()) {
            seen.reason = reason;
        }
    }
    Ok(seen)
}

/// Asks for the tools again and again while something else goes on.
async fn asked_while(
    asking: &mut Client,
    meanwhile: &mut Sample,
    goes_on: impl Fn() -> bool,
) -> Result<()> {
    while goes_on() {
        meanwhile.time(asking.ask("tools/list", json!({})).await?.took);
    }
    Ok(())
}

/// Runs something on a connection of its own; answers why it ended.
async fn run_one(address: Address, call: Value) -> Result<String> {
    let mut client = Client::open(&address, Path::Stateless).await?;
    let answer = client
        .ask(
            "tools/call",
            json!({ "name": "skill_run", "arguments": call }),
        )
        .await?;
    let reason = answer
        .result
        .pointer("/structuredContent/reason")
        .and_then(Value::as_str);
    reason
        .map(str::to_owned)
        .with_context(|| format!("no run: {}", answer.result))
}

async fn many(fixture: &Fixture, asking: &mut Client, count: u32) -> Result<BombReport> {
    let mut running = tokio::task::JoinSet::new();
    for number in 0..count {
        let mut client = Client::open(&fixture.address, Path::Stateless).await?;
        let line = format!("echo {number} > /workspace/{number}; cat /workspace/{number}");
        let call =
            json!({ "name": "skill_run", "arguments": { "skill_name": "bomb", "command": line } });
        running.spawn(async move {
            let answer = client.ask("tools/call", call).await?;
            let said = answer
                .result
                .pointer("/structuredContent/stdout")
                .and_then(Value::as_str);
            anyhow::ensure!(
                said == Some(&*format!("{number}\n")),
                "run {number}: {}",
                answer.result
            );
            Ok(())
        });
    }
    let begun = Instant::now();
    let all = tokio::spawn(async move {
        while let Some(ended) = running.join_next().await {
            ended??;
        }
        anyhow::Ok(())
    });
    let mut meanwhile = Sample::default();
    asked_while(asking, &mut meanwhile, || !all.is_finished()).await?;
    all.await??;
    Ok(BombReport {
        reason: "ok".to_owned(),
        took: begun.elapsed(),
        meanwhile,
    })
}

/// Asks for the tools again and again.
async fn ask(client: &mut Client, until: Instant) -> Result<Sample> {
    let mut sample = Sample::default();
    while Instant::now() < until {
        sample.time(client.ask("tools/list", json!({})).await?.took);
    }
    Ok(sample)
}

/// Prints a line about a bomb, once none of its processes is left.
fn print_report(
    fixture: &Fixture,
    watch: &Watch,
    name: &str,
    seen: &BombReport,
    calm: f64,
    wrong: &mut Vec<String>,
) -> Result<()> {
    let (dead, count) = watch.dead_after();
    // What is over before anybody looks is seen by nobody.
    if count == 0 && seen.took > SOON {
        wrong.push(format!("{name}: no process was ever seen"));
    }
    if dead.is_none_or(|dead| dead > SOON) {
        wrong.push(format!("{name}: processes were left, {dead:?}"));
    }
    let slow = seen.meanwhile.percentile(99).unwrap_or_default();
    let times = slow / calm;
    println!(
        "{name:<36} {:>10} {:>7.1} s {:>9} {:>9} {times:>6.1}{} {:>10} {:>10}",
        seen.reason,
        seen.took.as_secs_f64(),
        Unit::Milliseconds.show(calm),
        Unit::Milliseconds.show(slow),
        if times < SLOWER { " " } else { "!" },
        dead.map_or_else(
            || "never".to_owned(),
            |dead| format!("{} ms", dead.as_millis())
        ),
        Unit::Mebibytes.show(fixture.memory()?),
    );
    Ok(())
}
