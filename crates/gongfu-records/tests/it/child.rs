//! The other process: this program again, with a role.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gongfu_core::account::Owner;
use gongfu_core::port::{LogEntry, RecordChange, RecordKey, Transactions as _};
use gongfu_records::{Sqlite, SqliteRecords};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use crate::{full, share};

/// The first argument of a child.
pub(crate) const MARK: &str = "--child";

/// The number of tasks of a child that write at once.
const WRITERS: u64 = 8;

/// A database in a folder of its own.
pub(crate) struct Database {
    _folder: tempfile::TempDir,
    pub(crate) path: PathBuf,
    pub(crate) runtime: Runtime,
}

impl Database {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self {
            path: folder.path().join("server.db"),
            _folder: folder,
            runtime: Runtime::new().unwrap(),
        }
    }

    /// The local person's records, as this process sees them.
    pub(crate) fn records(&self) -> SqliteRecords {
        let opened = self.runtime.block_on(Sqlite::open(&self.path));
        opened.unwrap().records(&Owner::Local)
    }
}

/// A command that starts a child with a role; its output is for the test.
pub(crate) fn command(role: &str, path: &Path, argument: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([MARK, role]).arg(path).arg(argument);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

/// Plays a role.
pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let [role, path, argument] = arguments else {
        return ExitCode::FAILURE;
    };
    let runtime = Runtime::new().unwrap();
    runtime.block_on(async {
        let database = Sqlite::open(Path::new(path)).await.unwrap();
        let records = database.records(&Owner::Local);
        match role.as_str() {
            "write" => write(&records, argument.parse().unwrap()).await,
            "update" => share::update(&records, argument).await,
            "fill" => full::fill(&records).await,
            _ => return ExitCode::FAILURE,
        }
        ExitCode::SUCCESS
    })
}

pub(crate) fn key(key: &str) -> RecordKey {
    RecordKey::new(key).unwrap()
}

/// Prints a line at once.
pub(crate) fn say(line: &str) {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{line}").unwrap();
    output.flush().unwrap();
}

/// Commits records and an entry for each number, and prints the number afterwards, until it is killed.
async fn write(records: &SqliteRecords, first: u64) {
    let next = Arc::new(AtomicU64::new(first));
    let mut writers = JoinSet::new();
    for _ in 0..WRITERS {
        writers.spawn(write_next(records.clone(), Arc::clone(&next)));
    }
    writers.join_all().await;
}

async fn write_next(records: SqliteRecords, next: Arc<AtomicU64>) {
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        commit(&records, number).await;
        say(&number.to_string());
    }
}

/// Two records and an entry that belong together.
async fn commit(records: &SqliteRecords, number: u64) {
    let keys = [
        key(&format!("left/{number}")),
        key(&format!("right/{number}")),
    ];
    let log = key("log");
    let number = number.to_string();
    let changes = [0, 1].map(|side| RecordChange {
        key: &keys[side],
        expected: None,
        value: Some(b"{}"),
    });
    let entry = LogEntry {
        log: &log,
        entry: number.as_bytes(),
    };
    records.commit(&changes, &[entry]).await.unwrap();
}
