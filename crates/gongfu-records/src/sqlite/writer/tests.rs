//! Groups of writes: what they share, and what they don't.
#![expect(
    clippy::disallowed_methods,
    reason = "a test looks at the file that SQLite writes"
)]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use gongfu_core::account::Owner;
use gongfu_core::port::{LogChain as _, MAX_ENTRY, PortError, RecordKey, Records as _};
use sqlx::{Connection as _, SqliteConnection};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::{ROOM, UNIT, units_of};
use crate::Database as _;
use crate::sqlite::{Sqlite, connection};

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("server.db");
    (folder, path)
}

fn key(key: &str) -> RecordKey {
    RecordKey::new(key).unwrap()
}

/// Another program's connection that holds the lock for writing.
async fn locked(path: &Path) -> SqliteConnection {
    let mut other = connection::write(path).await.unwrap();
    run(&mut other, "BEGIN IMMEDIATE").await;
    other
}

async fn run(connection: &mut SqliteConnection, sql: &'static str) {
    sqlx::raw_sql(sql).execute(connection).await.unwrap();
}

/// The number of commits in the write-ahead log. Each was synced before it was answered, as `synchronous` says.
fn commits(path: &Path) -> usize {
    let wal = std::fs::read(path.with_file_name("server.db-wal")).unwrap();
    let number = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().unwrap());
    let page = usize::try_from(number(&wal[8..12])).unwrap();
    // The last frame of a commit has the size of the database.
    let frames = wal[32..].chunks_exact(24 + page);
    frames.filter(|frame| number(&frame[4..8]) > 0).count()
}

#[tokio::test]
async fn every_write_is_synced_and_many_share_one_sync() {
    let (_folder, path) = folder();
    let database = Sqlite::open(&path).await.unwrap();
    let mut writer = connection::write(&path).await.unwrap();
    let synchronous: i32 = sqlx::query_scalar("PRAGMA synchronous")
        .fetch_one(&mut writer)
        .await
        .unwrap();
    assert_eq!(synchronous, 2, "FULL");
    let records = database.records(&Owner::Local);
    for _ in 0..30 {
        records.append(&key("log"), b"{}").await.unwrap();
    }
    let one_by_one = commits(&path);
    assert_eq!(one_by_one, 30);
    let writers: Vec<_> = (0..64)
        .map(|_| {
            let records = records.clone();
            tokio::spawn(async move {
                for _ in 0..5 {
                    records.append(&key("log"), b"{}").await.unwrap();
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let together = commits(&path) - one_by_one;
    assert!(
        (5..=64).contains(&together),
        "{together} commits for 320 writes"
    );
}

#[tokio::test]
async fn queue_is_bounded_and_everything_in_it_is_written() {
    let (_folder, path) = folder();
    let database = Sqlite::open(&path).await.unwrap();
    let mut other = locked(&path).await;
    let writes: Vec<_> = (0..ROOM + 500)
        .map(|number| {
            let records = database.records(&Owner::Local);
            let key = key(&format!("a/{number}"));
            tokio::spawn(async move { records.set(&key, None, Some(b"{}")).await })
        })
        .collect();
    let room = Arc::clone(&database.0.writer.room);
    while room.available_permits() > 0 {
        tokio::task::yield_now().await;
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(writes.iter().all(|write| !write.is_finished()));
    run(&mut other, "ROLLBACK").await;
    for write in writes {
        write.await.unwrap().unwrap();
    }
    assert_eq!(room.available_permits(), ROOM as usize);
    let records = database.records(&Owner::Local);
    let found = records.list(&key("a")).await.unwrap();
    assert_eq!(found.len(), ROOM as usize + 500);
}

#[tokio::test]
async fn long_writes_take_more_room_of_the_queue() {
    let (_folder, path) = folder();
    let database = Sqlite::open(&path).await.unwrap();
    let mut other = locked(&path).await;
    let append = |_| {
        let records = database.records(&Owner::Local);
        let entry = vec![b'x'; MAX_ENTRY];
        tokio::spawn(async move { records.append(&key("log"), &entry).await })
    };
    let writes: Vec<_> = (0..8).map(append).collect();
    // Each takes 1 MiB, and not the place of one of 1,024 writes.
    let room = Arc::clone(&database.0.writer.room);
    while room.available_permits() > ROOM as usize - 8 * 16 {
        tokio::task::yield_now().await;
    }
    assert_eq!(room.available_permits(), ROOM as usize - 8 * 16);
    run(&mut other, "ROLLBACK").await;
    for write in writes {
        write.await.unwrap().unwrap();
    }
    let head = database.records(&Owner::Local).verify(&key("log")).await;
    assert_eq!(head.unwrap().unwrap().number, 8);
    // One that is longer than the queue isn't refused.
    for (size, expected) in [(0, 1), (1, 1), (UNIT + 1, 2), (usize::MAX, ROOM)] {
        assert_eq!(units_of(size), expected);
    }
}

/// A commit that fails alone, as one that touches a damaged page does.
#[tokio::test]
async fn write_that_fails_takes_no_other_with_it() {
    let (_folder, path) = folder();
    let database = Sqlite::open(&path).await.unwrap();
    let mut other = connection::write(&path).await.unwrap();
    run(
        &mut other,
        "CREATE TRIGGER refuse BEFORE INSERT ON record WHEN NEW.key = 'a/7'
         BEGIN SELECT RAISE(FAIL, 'planted'); END",
    )
    .await;
    run(&mut other, "BEGIN IMMEDIATE").await;
    let writes: Vec<_> = (0..20)
        .map(|number| {
            let records = database.records(&Owner::Local);
            let key = key(&format!("a/{number}"));
            tokio::spawn(async move { records.set(&key, None, Some(b"{}")).await })
        })
        .collect();
    // All of them wait, and so are one group.
    while database.0.writer.room.available_permits() > ROOM as usize - 20 {
        tokio::task::yield_now().await;
    }
    run(&mut other, "ROLLBACK").await;
    for (number, write) in writes.into_iter().enumerate() {
        let written = write.await.unwrap();
        assert_eq!(written.is_ok(), number != 7, "{written:?}");
        if let Err(error) = written {
            assert!(matches!(error, PortError::Unavailable(_)), "{error:?}");
        }
    }
    let found = database.records(&Owner::Local).list(&key("a")).await;
    assert_eq!(found.unwrap().len(), 19);
}

#[tokio::test]
async fn closing_finishes_what_waits_and_refuses_the_rest() {
    let (_folder, path) = folder();
    let database = Sqlite::open(&path).await.unwrap();
    let records = database.records(&Owner::Local);
    let mut other = locked(&path).await;
    let (first, second) = (records.clone(), records.clone());
    let waiting = tokio::spawn(async move { first.append(&key("log"), b"1").await });
    while database.0.writer.room.available_permits() == ROOM as usize {
        tokio::task::yield_now().await;
    }
    let room = Arc::clone(&database.0.writer.room);
    let closing = tokio::spawn(async move { database.close().await });
    while !room.is_closed() {
        tokio::task::yield_now().await;
    }
    let late = second.append(&key("log"), b"2").await.unwrap_err();
    assert!(matches!(late, PortError::Unavailable(_)), "{late:?}");
    assert!(late.to_string().contains("it is closed"), "{late}");
    run(&mut other, "ROLLBACK").await;
    waiting.await.unwrap().unwrap();
    closing.await.unwrap().unwrap();
    let read = records.entries(&key("log"), 9).await.unwrap_err();
    assert!(read.to_string().contains("it is closed"), "{read}");
    other.close().await.unwrap();
    let again = Sqlite::open(&path).await.unwrap();
    let entries = again.records(&Owner::Local).entries(&key("log"), 9).await;
    assert_eq!(entries.unwrap(), [b"1"]);
}

#[test]
fn writer_whose_runtime_ended_refuses_writes() {
    let (_folder, path) = folder();
    let (first, second) = (Runtime::new().unwrap(), Runtime::new().unwrap());
    let database = first.block_on(Sqlite::open(&path)).unwrap();
    let records = database.records(&Owner::Local);
    let (log, one) = (key("log"), b"1");
    second.block_on(records.append(&log, one)).unwrap();
    drop(first);
    let refused = second.block_on(records.append(&log, one)).unwrap_err();
    assert!(matches!(refused, PortError::Unavailable(_)), "{refused:?}");
    assert_eq!(second.block_on(records.entries(&log, 9)).unwrap(), [one]);
}
