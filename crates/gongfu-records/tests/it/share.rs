//! Several processes on one database.

use gongfu_core::port::{LogChain as _, Records as _, read_record, update_record};
use gongfu_records::SqliteRecords;
use serde_json::{Map, Value};

use crate::child::{Database, command, key};

const PROCESSES: usize = 3;
const UPDATES: usize = 40;

/// Adds members to a record, each with an entry.
pub(crate) async fn update(records: &SqliteRecords, name: &str) {
    for number in 0..UPDATES {
        let add = |counter: &mut Map<String, Value>| {
            counter.insert(format!("{name}-{number}"), true.into());
        };
        update_record(records, &key("counter"), add).await.unwrap();
        records.append(&key("log"), name.as_bytes()).await.unwrap();
    }
}

pub(crate) fn updates_lose_nothing() {
    let database = Database::new();
    let spawn = |process: usize| {
        let name = process.to_string();
        command("update", &database.path, &name).spawn().unwrap()
    };
    // All of them, and this process, find no database.
    let children: Vec<_> = (0..PROCESSES).map(spawn).collect();
    let records = database.records();
    database.runtime.block_on(update(&records, "own"));
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let expected = (PROCESSES + 1) * UPDATES;
    let name = key("counter");
    let counter = read_record::<Map<String, Value>>(&records, &name);
    let counter = database.runtime.block_on(counter).unwrap();
    assert_eq!(counter.len(), expected);
    let verified = database.runtime.block_on(records.verify(&key("log")));
    assert_eq!(verified.unwrap().unwrap().number, expected as u64);
}
