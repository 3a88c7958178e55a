//! A writer that is killed at random.

use std::collections::BTreeSet;
use std::hash::{BuildHasher as _, Hasher as _};
use std::io::{BufRead as _, BufReader, Read as _};
use std::time::Duration;

use gongfu_core::port::{LogChain as _, Records as _};
use gongfu_records::SqliteRecords;

use crate::child::{Database, command, key};

const KILLS: u64 = 20;
/// The longest time for which a child writes before it is killed, in milliseconds.
const MAX_DELAY: u64 = 120;

/// The numbers of the records on both sides, and of the entries.
fn numbers(database: &Database, records: &SqliteRecords) -> [BTreeSet<u64>; 3] {
    let side = |side: &str| {
        let found = database.runtime.block_on(records.list(&key(side)));
        let keys = found.unwrap().into_iter().map(|(key, _)| key);
        let number = |key: gongfu_core::port::RecordKey| {
            let (_, number) = key.as_str().split_once('/').unwrap();
            number.parse().unwrap()
        };
        keys.map(number).collect()
    };
    let log = key("log");
    let entries = records.entries(&log, usize::MAX);
    let entries = database.runtime.block_on(entries).unwrap();
    let number = |entry: Vec<u8>| String::from_utf8(entry).unwrap().parse().unwrap();
    [
        side("left"),
        side("right"),
        entries.into_iter().map(number).collect(),
    ]
}

pub(crate) fn nothing_acknowledged_is_lost() {
    let database = Database::new();
    let mut acknowledged = BTreeSet::new();
    let mut first = 0;
    let mut unanswered = 0;
    for kill in 0..KILLS {
        let mut child = command("write", &database.path, &first.to_string())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut answered = String::new();
        output.read_line(&mut answered).unwrap();
        assert!(!answered.is_empty(), "the child writes");
        let random = std::hash::RandomState::new().build_hasher().finish();
        std::thread::sleep(Duration::from_millis(random % MAX_DELAY));
        child.kill().unwrap();
        let status = child.wait().unwrap();
        assert_eq!(
            status.code(),
            None,
            "it was killed, and didn't end by itself"
        );
        output.read_to_string(&mut answered).unwrap();
        // A line without its end was no answer.
        let whole = answered
            .split_inclusive('\n')
            .filter_map(|line| line.strip_suffix('\n'));
        acknowledged.extend(whole.map(|line| line.parse::<u64>().unwrap()));
        let records = database.records();
        let [left, right, entries] = numbers(&database, &records);
        let lost: Vec<_> = acknowledged.difference(&entries).collect();
        assert!(lost.is_empty(), "after kill {kill}: {lost:?}");
        assert_eq!(left, entries, "half a commit after kill {kill}");
        assert_eq!(right, entries, "half a commit after kill {kill}");
        let verified = database.runtime.block_on(records.verify(&key("log")));
        assert_eq!(verified.unwrap().unwrap().number, entries.len() as u64);
        unanswered = entries.len() - acknowledged.len();
        first = entries.last().map_or(0, |last| last + 1);
    }
    // Otherwise the kills came when nothing was going on.
    assert!(acknowledged.len() as u64 > 10 * KILLS);
    println!(
        "{} acknowledged, {unanswered} written without an answer",
        acknowledged.len()
    );
}
