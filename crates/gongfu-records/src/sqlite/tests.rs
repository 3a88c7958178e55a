//! A database on a real disk: what is opened and what isn't, damage, chains, backups.
#![expect(
    clippy::disallowed_methods,
    reason = "tests make the files that they look at"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use gongfu_core::account::{Owner, UserId};
use gongfu_core::port::{
    ChainBreak, ChainHead, LogChain as _, LogEntry, PortError, RecordChange, RecordKey,
    Records as _, Transactions as _, update_record,
};
use serde_json::{Map, Value};
use sqlx::{AssertSqlSafe, Connection as _};
use tempfile::TempDir;

use super::{Sqlite, connection};
use crate::Database as _;

fn key(key: &str) -> RecordKey {
    RecordKey::new(key).unwrap()
}

fn ann() -> Owner {
    Owner::User(UserId::new("ann").unwrap())
}

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = fs::canonicalize(folder.path()).unwrap().join("server.db");
    (folder, path)
}

/// The files of a folder with their content, apart from the empty ones that reading a database leaves beside it.
fn files(folder: &Path) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.to_str().unwrap();
        let metadata = fs::symlink_metadata(&path).unwrap();
        if name.ends_with("-shm") || (name.ends_with("-wal") && metadata.len() == 0) {
            continue;
        }
        let content = metadata.is_file().then(|| fs::read(&path).unwrap());
        files.push((path, content));
    }
    files.sort();
    files
}

/// The reason why a path isn't opened. It and everything beside it stay as they are.
async fn refusal(path: &Path) -> String {
    let folder = path.parent().unwrap();
    let before = folder.exists().then(|| files(folder));
    let refused = Sqlite::open(path).await.unwrap_err();
    assert!(matches!(refused, PortError::Unavailable(_)), "{refused:?}");
    let after = folder.exists().then(|| files(folder));
    assert!(before == after, "{refused} changes something");
    let why = refused.to_string();
    assert!(why.contains(&path.display().to_string()), "{why}");
    why
}

/// Runs a statement beside the database, as a person with another program does.
async fn run(path: &Path, sql: &str) {
    let mut other = connection::write(path).await.unwrap();
    sqlx::raw_sql(AssertSqlSafe(sql.to_owned()))
        .execute(&mut other)
        .await
        .unwrap();
    other.close().await.unwrap();
}

async fn open_with_data(path: &Path) -> Sqlite {
    let database = Sqlite::open(path).await.unwrap();
    let records = database.records(&Owner::Local);
    records.set(&key("a"), None, Some(b"{}")).await.unwrap();
    for number in 1..=600 {
        let entry = format!("{{\"n\":{number}}}");
        records
            .append(&key("audit"), entry.as_bytes())
            .await
            .unwrap();
    }
    database
}

#[tokio::test]
async fn new_database_is_private() {
    let (folder, _) = folder();
    let path = folder.path().join("a/b/server.db");
    let database = Sqlite::open(&path).await.unwrap();
    let records = database.records(&Owner::Local);
    records.set(&key("a"), None, Some(b"{}")).await.unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder.path().join("a")), 0o700);
    let parent = path.parent().unwrap();
    assert_eq!(mode(parent), 0o700);
    let names = || {
        let entries = fs::read_dir(parent).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    assert_eq!(names(), ["server.db", "server.db-shm", "server.db-wal"]);
    for name in names() {
        assert_eq!(mode(&parent.join(&name)), 0o600, "{name}");
    }
    // Closed, it is one file with everything in it.
    database.close().await.unwrap();
    assert_eq!(names(), ["server.db"]);
    // A mode that a person chose stays.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    Sqlite::open(&path).await.unwrap();
    assert_eq!(mode(&path), 0o640);
}

#[tokio::test]
async fn several_open_a_new_database_at_once() {
    let (_folder, path) = folder();
    let opened: Vec<_> = (0..8)
        .map(|_| {
            let path = path.clone();
            tokio::spawn(async move { Sqlite::open(&path).await })
        })
        .collect();
    for (number, opened) in opened.into_iter().enumerate() {
        let database = opened.await.unwrap().unwrap();
        let records = database.records(&Owner::Local);
        let key = key(&format!("a/{number}"));
        records.set(&key, None, Some(b"{}")).await.unwrap();
    }
    let database = Sqlite::open(&path).await.unwrap();
    let found = database.records(&Owner::Local).list(&key("a")).await;
    assert_eq!(found.unwrap().len(), 8);
}

#[tokio::test]
async fn whatever_is_no_database_is_refused_and_stays() {
    let (folder, path) = folder();
    let other = folder.path().join("other.db");
    open_with_data(&other).await.close().await.unwrap();
    std::os::unix::fs::symlink(&other, &path).unwrap();
    assert!(refusal(&path).await.contains("it is a link"));
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(refusal(&path).await.contains("it is a folder"));
    fs::remove_dir(&path).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RUSR).unwrap();
    assert!(refusal(&path).await.contains("not a regular file"));
    fs::remove_file(&path).unwrap();
    fs::write(&path, "").unwrap();
    assert!(refusal(&path).await.contains("empty"));
    fs::write(&path, "garbage ".repeat(10_000)).unwrap();
    assert!(refusal(&path).await.contains("not a database"));
    let whole = fs::read(&other).unwrap();
    for length in [whole.len() / 2, 4096, 512, 100, 50, 1] {
        fs::write(&path, &whole[..length]).unwrap();
        let why = refusal(&path).await;
        assert!(
            why.contains("it is damaged")
                || why.contains("not a database")
                || why.contains("cut off"),
            "{length} bytes: {why}"
        );
    }
    fs::remove_file(&path).unwrap();
    fs::write(folder.path().join("server.db-wal"), "x").unwrap();
    assert!(refusal(&path).await.contains("`-wal`"));
    fs::remove_file(folder.path().join("server.db-wal")).unwrap();
    assert!(
        refusal(Path::new("/proc/nothing/server.db"))
            .await
            .contains("nothing")
    );
    // The file itself is one that is opened.
    fs::write(&path, &whole).unwrap();
    Sqlite::open(&path).await.unwrap();
}

#[tokio::test]
async fn databases_of_others_and_newer_ones_are_refused_and_stay() {
    let (_folder, path) = folder();
    fs::write(&path, "").unwrap();
    run(&path, "CREATE TABLE bookmark (url TEXT)").await;
    assert!(refusal(&path).await.contains("another program"));
    fs::remove_file(&path).unwrap();
    open_with_data(&path).await.close().await.unwrap();
    run(&path, "PRAGMA user_version = 9").await;
    let why = refusal(&path).await;
    assert!(
        why.contains("schema 9") && why.contains("update gongfu"),
        "{why}"
    );
    run(&path, "PRAGMA user_version = 1").await;
    Sqlite::open(&path).await.unwrap();
}

#[tokio::test]
async fn scopes_are_apart() {
    let (_folder, path) = folder();
    let database = Sqlite::open(&path).await.unwrap();
    let named = |name: &str| Owner::User(UserId::new(name).unwrap());
    let all = [
        database.records(&Owner::Local),
        database.server_records(),
        database.records(&named("ann")),
        database.records(&named("Ann")),
        database.records(&named("local")),
        database.records(&named("server")),
    ];
    for records in &all {
        assert_eq!(records.get(&key("a")).await.unwrap(), None);
        records.set(&key("a"), None, Some(b"{}")).await.unwrap();
        records.append(&key("log"), b"{}").await.unwrap();
    }
    for records in &all {
        assert_eq!(records.list(&key("a")).await.unwrap().len(), 1);
        assert_eq!(records.entries(&key("log"), 9).await.unwrap().len(), 1);
    }
}

#[tokio::test]
async fn changed_bytes_of_a_record_are_found() {
    let (_folder, path) = folder();
    let database = open_with_data(&path).await;
    let records = database.records(&Owner::Local);
    let version = records.get(&key("a")).await.unwrap().unwrap().version;
    run(&path, "UPDATE record SET value = CAST('{\"a\":1}' AS BLOB)").await;
    for refused in [
        records.get(&key("a")).await.map(drop),
        records.list(&key("a")).await.map(drop),
        records.set(&key("a"), None, Some(b"{}")).await.map(drop),
    ] {
        let why = refused.unwrap_err().to_string();
        assert!(
            why.contains("`a` of `local`") && why.contains("another digest"),
            "{why}"
        );
        assert!(why.contains(&path.display().to_string()), "{why}");
    }
    // One who read the record before may replace it, as always.
    records
        .set(&key("a"), Some(version), Some(b"{}"))
        .await
        .unwrap();
    assert!(records.get(&key("a")).await.unwrap().is_some());
}

#[tokio::test]
async fn changed_entries_break_the_chain() {
    let (_folder, path) = folder();
    let database = open_with_data(&path).await;
    let records = database.records(&Owner::Local);
    let audit = key("audit");
    let mut head = ChainHead::of_empty("local", &audit);
    assert_eq!(
        records.verify(&key("never")).await.unwrap().unwrap().number,
        0
    );
    for number in 1..=600 {
        head = head.after(format!("{{\"n\":{number}}}").as_bytes());
    }
    assert_eq!(records.verify(&audit).await.unwrap(), Ok(head));
    let save = "CREATE TABLE saved AS SELECT * FROM log";
    let restore = "DELETE FROM log; INSERT INTO log SELECT * FROM saved";
    run(&path, save).await;
    for (change, number) in [
        ("UPDATE log SET entry = CAST('{}' AS BLOB) WHERE number = 300", 300),
        ("UPDATE log SET hash = zeroblob(32) WHERE number = 256", 256),
        ("UPDATE log SET hash = zeroblob(1) WHERE number = 257", 257),
        ("DELETE FROM log WHERE number = 1", 1),
        ("DELETE FROM log WHERE number = 599", 599),
        ("UPDATE log SET number = -1 WHERE number = 7", 7),
        (
            "UPDATE log SET number = 1000 WHERE number = 10; UPDATE log SET number = 10 WHERE number = 11;
             UPDATE log SET number = 11 WHERE number = 1000",
            10,
        ),
        // The chain of another owner.
        (
            "DELETE FROM log; INSERT INTO log SELECT 'local', log, number, entry, hash
             FROM log2",
            1,
        ),
    ] {
        if change.contains("log2") {
            let other = database.records(&ann());
            other.append(&audit, b"{\"n\":1}").await.unwrap();
            run(
                &path,
                "CREATE TABLE log2 AS SELECT * FROM log WHERE scope = 'user/ann'",
            )
            .await;
        }
        run(&path, change).await;
        let verified = records.verify(&audit).await.unwrap();
        assert_eq!(verified, Err(ChainBreak { number }), "{change}");
        // What comes later repairs nothing.
        records.append(&audit, b"{}").await.unwrap();
        assert_eq!(records.verify(&audit).await.unwrap(), verified, "{change}");
        run(&path, restore).await;
        assert_eq!(records.verify(&audit).await.unwrap(), Ok(head));
    }
    // Only the head tells that the last entries are gone.
    run(&path, "DELETE FROM log WHERE number > 500").await;
    let shorter = records.verify(&audit).await.unwrap().unwrap();
    assert_eq!(shorter.number, 500);
}

#[tokio::test]
async fn log_is_read_in_pages() {
    let (_folder, path) = folder();
    let database = open_with_data(&path).await;
    let records = database.records(&Owner::Local);
    let audit = key("audit");
    let (mut number, mut head) = (0, ChainHead::of_empty("local", &audit));
    loop {
        let page = records.entries_after(&audit, number, 250).await.unwrap();
        let Some(last) = page.last() else { break };
        number = last.number;
        for entry in page {
            head = head.after(&entry.entry);
            assert_eq!((head.number, head.hash), (entry.number, entry.hash));
        }
    }
    assert_eq!(records.verify(&audit).await.unwrap(), Ok(head));
    assert_eq!(head.number, 600);
    let last = records.entries(&audit, 2).await.unwrap();
    assert_eq!(last, [b"{\"n\":599}", b"{\"n\":600}"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn updates_of_64_writers_lose_nothing() {
    let (_folder, path) = folder();
    // Half of them by another handle, as another process has one.
    let databases = [
        Sqlite::open(&path).await.unwrap(),
        Sqlite::open(&path).await.unwrap(),
    ];
    let writers: Vec<_> = (0..64)
        .map(|writer| {
            let records = databases[writer % 2].records(&Owner::Local);
            tokio::spawn(async move {
                let counter = key(&format!("counter/{}", writer % 8));
                for number in 0..5 {
                    let add = |counter: &mut Map<String, Value>| {
                        counter.insert(format!("{writer}-{number}"), true.into());
                    };
                    update_record(&records, &counter, add).await.unwrap();
                    records.append(&key("log"), b"{}").await.unwrap();
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let records = databases[0].records(&Owner::Local);
    let counters = records.list(&key("counter")).await.unwrap();
    let count = |value: &[u8]| {
        let counter: Map<String, Value> = serde_json::from_slice(value).unwrap();
        counter.len()
    };
    let counted = counters.iter().map(|(_, record)| count(&record.value));
    assert_eq!(counted.collect::<Vec<_>>(), [40; 8]);
    let head = records.verify(&key("log")).await.unwrap().unwrap();
    assert_eq!(head.number, 320);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn backup_is_whole_while_others_write() {
    let (folder, path) = folder();
    let database = open_with_data(&path).await;
    let writer = database.records(&ann());
    let writing = tokio::spawn(async move {
        // Each commit changes both, so that a copy of half of one shows.
        let mut versions = [None, None];
        for number in 1..=300 {
            let value = format!("{{\"n\":{number}}}");
            let keys = [key("left"), key("right")];
            let changes = [0, 1].map(|side| RecordChange {
                key: &keys[side],
                expected: versions[side],
                value: Some(value.as_bytes()),
            });
            let log = key("log");
            let entry = LogEntry {
                log: &log,
                entry: value.as_bytes(),
            };
            let committed = writer.commit(&changes, &[entry]).await.unwrap();
            versions = [committed[0], committed[1]];
        }
    });
    let mut counts = Vec::new();
    for number in 0..5 {
        let to = folder.path().join(format!("backups/{number}.db"));
        database.backup(&to).await.unwrap();
        let mode = fs::metadata(&to).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600);
        let copy = Sqlite::open(&to).await.unwrap();
        let audit = copy.records(&Owner::Local).verify(&key("audit")).await;
        assert_eq!(audit.unwrap().unwrap().number, 600);
        let records = copy.records(&ann());
        let count = records.verify(&key("log")).await.unwrap().unwrap().number;
        let expected = (count > 0).then(|| format!("{{\"n\":{count}}}").into_bytes());
        for side in ["left", "right"] {
            let record = records.get(&key(side)).await.unwrap();
            assert_eq!(record.map(|record| record.value), expected);
        }
        counts.push(count);
        copy.close().await.unwrap();
    }
    writing.await.unwrap();
    assert!(counts.is_sorted(), "{counts:?}");
    let names = fs::read_dir(folder.path().join("backups")).unwrap();
    assert_eq!(names.count(), 5, "nothing temporary is left");
}

#[tokio::test]
async fn backup_replaces_nothing() {
    let (folder, path) = folder();
    let database = open_with_data(&path).await;
    let to = folder.path().join("mine.txt");
    fs::write(&to, "mine").unwrap();
    for taken in [&to, &path] {
        let refused = database.backup(taken).await.unwrap_err();
        assert!(matches!(refused, PortError::Denied(_)), "{refused:?}");
    }
    assert_eq!(fs::read(&to).unwrap(), b"mine");
    let refused = database.backup(Path::new("/proc/nothing/copy.db")).await;
    assert!(matches!(refused, Err(PortError::Unavailable(_))));
    // The database is still in order.
    let records = database.records(&Owner::Local);
    assert!(records.verify(&key("audit")).await.unwrap().is_ok());
}

#[tokio::test]
async fn file_that_was_replaced_takes_no_more_writes() {
    let (folder, path) = folder();
    let database = open_with_data(&path).await;
    let records = database.records(&Owner::Local);
    let moved = folder.path().join("moved.db");
    fs::rename(&path, &moved).unwrap();
    let refused = records.append(&key("audit"), b"{}").await.unwrap_err();
    assert!(refused.to_string().contains("restart gongfu"), "{refused}");
    fs::rename(&moved, &path).unwrap();
    records.append(&key("audit"), b"{}").await.unwrap();
    let head = records.verify(&key("audit")).await.unwrap().unwrap();
    assert_eq!(head.number, 601);
}
