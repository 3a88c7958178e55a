//! `lab bench-records`: how many changes a database commits in a second, by the number of writers.
//!
//! Each change is what a call costs a server: a record, and an entry of the audit in the same commit. A commit is answered
//! when it is on the disk, so that one writer is as fast as the disk syncs; many share one sync.
#![expect(
    clippy::cast_precision_loss,
    reason = "counts of a benchmark are far below 2^52"
)]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use gongfu_core::account::{Owner, UserId};
use gongfu_core::port::{LogChain as _, LogEntry, RecordChange, RecordKey, Transactions as _};
use gongfu_records::{Database as _, Sqlite, SqliteRecords};
use tokio::task::JoinSet;

use crate::machine;

/// An entry as long as most of the audit are.
const ENTRY: [u8; 400] = [b'x'; 400];

/// The options of `lab bench-records`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The numbers of writers
    #[arg(long, value_delimiter = ',', default_values_t = [1, 8, 64, 512])]
    writers: Vec<u16>,
    /// The seconds for which each number of writers writes
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
    /// The folder in which a new database is made and removed; that for temporary files if none is named, which may be
    /// in memory
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// Measures and prints.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    println!("{}", machine::describe());
    let folder = match &arguments.folder {
        Some(folder) => tempfile::tempdir_in(folder)?,
        None => tempfile::tempdir()?,
    };
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(async {
        let database = Sqlite::open(&folder.path().join("server.db")).await?;
        let duration = Duration::from_secs(arguments.seconds);
        for &writers in &arguments.writers {
            let begun = Instant::now();
            let mut tasks = JoinSet::new();
            for writer in 0..writers {
                let owner = Owner::User(UserId::new(&format!("{writers}-{writer}"))?);
                tasks.spawn(write(database.records(&owner), begun, duration));
            }
            let mut commits = 0;
            for outcome in tasks.join_all().await {
                commits += outcome?;
            }
            let rate = commits as f64 / duration.as_secs_f64();
            println!("{writers:>5} writers: {rate:>8.0} commits a second");
        }
        database.close().await?;
        Ok(ExitCode::SUCCESS)
    })
}

/// Commits until the time is over; answers how often, once the log was verified.
async fn write(records: SqliteRecords, begun: Instant, duration: Duration) -> Result<u64> {
    let (key, log) = (RecordKey::new("settings")?, RecordKey::new("audit")?);
    let entry = LogEntry {
        log: &log,
        entry: &ENTRY,
    };
    let (mut commits, mut expected) = (0, None);
    while begun.elapsed() < duration {
        let value = format!("{{\"number\": {commits}}}");
        let change = RecordChange {
            key: &key,
            expected,
            value: Some(value.as_bytes()),
        };
        let versions = records.commit(&[change], &[entry]).await?;
        expected = versions.into_iter().next().flatten();
        commits += 1;
    }
    let head = records.verify(&log).await??;
    ensure!(
        head.number == commits,
        "{} entries of {commits}",
        head.number
    );
    Ok(commits)
}
