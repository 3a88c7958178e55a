//! The promises of `Transactions`.

use gongfu_core::port::{LogEntry, PortError, RecordChange, RecordKey, Transactions, Version};
use serde_json::{Map, Value};

use super::fixture::{Fixture, assert_refused};
use super::{Fault, Promise};

pub(super) const PROMISES: &[Promise] = &[
    Promise::new(
        "a commit creates, replaces and removes records, and adds entries",
        does_everything,
    ),
    Promise::broken_by(
        Fault::PiecemealCommit,
        "a commit of which one change is refused changes nothing",
        refused_changes_nothing,
    ),
    Promise::broken_by(
        Fault::LastWriteWins,
        "a commit with another version is a conflict",
        another_version_is_a_conflict,
    ),
    Promise::new(
        "a commit that changes a record twice is refused",
        refuses_changes_of_one_record,
    ),
    Promise::broken_by(
        Fault::PiecemealCommit,
        "a commit with a value that is no JSON object, or an entry of several lines, changes nothing",
        refuses_other_values,
    ),
    Promise::new(
        "concurrent commits lose nothing, and move what they move once",
        commits_lose_nothing,
    ),
    Promise::broken_by(
        Fault::RestartForgets,
        "commits survive a restart",
        survives_a_restart,
    ),
    Promise::broken_by(
        Fault::OwnerIgnored,
        "commits of owners are apart",
        owners_are_apart,
    ),
];

/// The number of moves of each writer.
const MOVES: usize = 10;

fn key(key: &str) -> RecordKey {
    RecordKey::new(key).unwrap()
}

/// The records of one owner, with keys as text.
struct Ledger<'a> {
    fixture: &'a Fixture,
    records: &'a dyn Transactions,
}

/// A change by the text of its key.
type TextChange<'a> = (&'a str, Option<Version>, Option<&'a str>);

impl Ledger<'_> {
    fn commit(
        &self,
        changes: &[TextChange<'_>],
        entries: &[(&str, &str)],
    ) -> Result<Vec<Option<Version>>, PortError> {
        let keys: Vec<RecordKey> = changes.iter().map(|(name, ..)| key(name)).collect();
        let logs: Vec<RecordKey> = entries.iter().map(|(name, _)| key(name)).collect();
        let changes: Vec<RecordChange<'_>> = keys
            .iter()
            .zip(changes)
            .map(|(key, &(_, expected, value))| RecordChange {
                key,
                expected,
                value: value.map(str::as_bytes),
            })
            .collect();
        let entries: Vec<LogEntry<'_>> = logs
            .iter()
            .zip(entries)
            .map(|(log, &(_, entry))| LogEntry {
                log,
                entry: entry.as_bytes(),
            })
            .collect();
        self.fixture.wait(self.records.commit(&changes, &entries))
    }

    fn value(&self, name: &str) -> Option<String> {
        let record = self.fixture.wait(self.records.get(&key(name))).unwrap();
        record.map(|record| String::from_utf8(record.value).unwrap())
    }

    fn version(&self, name: &str) -> Option<Version> {
        let record = self.fixture.wait(self.records.get(&key(name))).unwrap();
        record.map(|record| record.version)
    }

    fn entries(&self, log: &str) -> Vec<String> {
        let entries = self.fixture.wait(self.records.entries(&key(log), 1_000));
        let text = |entry| String::from_utf8(entry).unwrap();
        entries.unwrap().into_iter().map(text).collect()
    }
}

fn ledger<'a>(fixture: &'a Fixture, records: &'a dyn Transactions) -> Ledger<'a> {
    Ledger { fixture, records }
}

fn does_everything(fixture: &Fixture) {
    let records = fixture.transactions();
    let ledger = ledger(fixture, &*records);
    let created = ledger.commit(
        &[("a", None, Some("{\"n\":1}")), ("b/c", None, Some("{}"))],
        &[("log", "one"), ("other", "two"), ("log", "three")],
    );
    let created = created.unwrap();
    assert_eq!(created, [ledger.version("a"), ledger.version("b/c")]);
    let changed = ledger.commit(
        &[
            ("a", created[0], Some("{\"n\":2}")),
            ("b/c", created[1], None),
            ("d", None, Some("{}")),
            ("e", None, None),
        ],
        &[("log", "four")],
    );
    let changed = changed.unwrap();
    assert_eq!(changed[0], ledger.version("a"));
    assert_eq!((changed[1], changed[3]), (None, None));
    assert_eq!(ledger.value("a").unwrap(), "{\"n\":2}");
    assert_eq!(ledger.value("b/c"), None);
    assert_eq!(ledger.value("d").unwrap(), "{}");
    assert_eq!(ledger.entries("log"), ["one", "three", "four"]);
    assert_eq!(ledger.entries("other"), ["two"]);
    assert_eq!(ledger.commit(&[], &[]).unwrap(), []);
    // The records of a space are the same ones.
    let space = fixture.local();
    let record = fixture.wait(space.records().get(&key("d"))).unwrap();
    assert_eq!(record.unwrap().value, b"{}");
}

fn refused_changes_nothing(fixture: &Fixture) {
    let records = fixture.transactions();
    let ledger = ledger(fixture, &*records);
    let old = ledger.commit(&[("a", None, Some("{}")), ("z", None, Some("{}"))], &[]);
    let old = old.unwrap();
    let new = Some("{\"new\":1}");
    // The last of them is refused, the first, and one in the middle.
    for refused in 0..3 {
        let mut changes = [("a", old[0], new), ("m", None, new), ("z", old[1], None)];
        changes[refused].1 = match changes[refused].1 {
            None => old[0],
            Some(_) => None,
        };
        let commit = ledger.commit(&changes, &[("log", "never")]);
        assert_refused!(commit, PortError::Conflict(_));
        assert_eq!(ledger.value("a").unwrap(), "{}");
        assert_eq!(ledger.value("m"), None);
        assert_eq!(ledger.value("z").unwrap(), "{}");
        assert_eq!(ledger.entries("log"), [""; 0]);
    }
    // It isn't the commit that can't be made.
    let changes = [("a", old[0], new), ("m", None, new), ("z", old[1], None)];
    ledger.commit(&changes, &[("log", "once")]).unwrap();
    assert_eq!(ledger.entries("log"), ["once"]);
}

fn another_version_is_a_conflict(fixture: &Fixture) {
    let records = fixture.transactions();
    let ledger = ledger(fixture, &*records);
    let old = ledger
        .commit(&[("a", None, Some("{\"n\":1}"))], &[])
        .unwrap()[0];
    ledger
        .commit(&[("a", old, Some("{\"n\":2}"))], &[])
        .unwrap();
    for expected in [None, old] {
        for value in [Some("{}"), None] {
            let commit = ledger.commit(&[("a", expected, value)], &[("log", "never")]);
            assert_refused!(commit, PortError::Conflict(_));
        }
    }
    assert_eq!(ledger.value("a").unwrap(), "{\"n\":2}");
    assert_eq!(ledger.entries("log"), [""; 0]);
}

fn refuses_changes_of_one_record(fixture: &Fixture) {
    let records = fixture.transactions();
    let ledger = ledger(fixture, &*records);
    let commit = ledger.commit(&[("a", None, Some("{}")), ("a", None, Some("{}"))], &[]);
    assert_refused!(commit, PortError::Denied(_));
    assert_eq!(ledger.value("a"), None);
}

fn refuses_other_values(fixture: &Fixture) {
    let records = fixture.transactions();
    let ledger = ledger(fixture, &*records);
    let first = ("a", None, Some("{}"));
    for bad in ["", "[]", "{"] {
        let commit = ledger.commit(&[first, ("b", None, Some(bad))], &[]);
        assert_refused!(commit, PortError::Denied(_));
        assert_eq!(ledger.value("a"), None);
    }
    let commit = ledger.commit(&[first], &[("log", "one"), ("log", "two\nlines")]);
    assert_refused!(commit, PortError::Denied(_));
    assert_eq!(ledger.value("a"), None);
    assert_eq!(ledger.entries("log"), [""; 0]);
}

/// Every writer moves units from one account to another, each with an entry.
fn commits_lose_nothing(fixture: &Fixture) {
    let records = fixture.transactions();
    let start = ledger(fixture, &*records);
    let accounts = ["account/a", "account/b"];
    let amount = |ledger: &Ledger<'_>, name: &str| -> i64 {
        let value = ledger.value(name).unwrap();
        let value: Map<String, Value> = serde_json::from_str(&value).unwrap();
        value["amount"].as_i64().unwrap()
    };
    let initial = Some("{\"amount\":1000}");
    let created = accounts.map(|account| (account, None, initial));
    start.commit(&created, &[]).unwrap();
    fixture.commit_at_once(|records, writer| {
        let ledger = ledger(fixture, records);
        for number in 0..MOVES {
            let moved = i64::try_from(writer * MOVES + number).unwrap();
            loop {
                // The version first: a value that is newer than it makes a conflict.
                let versions = accounts.map(|account| ledger.version(account));
                let amounts = accounts.map(|account| amount(&ledger, account));
                let after = [amounts[0] - moved, amounts[1] + moved]
                    .map(|amount| format!("{{\"amount\":{amount},\"by\":\"{writer}-{number}\"}}"));
                let changes = [0, 1].map(|account| {
                    let value = after[account].as_str();
                    (accounts[account], versions[account], Some(value))
                });
                let entry = moved.to_string();
                match ledger.commit(&changes, &[("moves", &entry)]) {
                    Ok(_) => break,
                    Err(PortError::Conflict(_)) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        }
    });
    let mut moves: Vec<i64> = start
        .entries("moves")
        .iter()
        .map(|entry| entry.parse().unwrap())
        .collect();
    moves.sort_unstable();
    let expected: Vec<i64> = (0..40).collect();
    assert_eq!(moves, expected);
    let sum: i64 = expected.iter().sum();
    assert_eq!(
        accounts.map(|account| amount(&start, account)),
        [1000 - sum, 1000 + sum]
    );
}

fn survives_a_restart(fixture: &Fixture) {
    let records = fixture.transactions();
    ledger(fixture, &*records)
        .commit(&[("a/b", None, Some("{}"))], &[("log", "one")])
        .unwrap();
    let again = fixture.reopened_transactions();
    let again = ledger(fixture, &*again);
    assert_eq!(again.value("a/b").unwrap(), "{}");
    assert_eq!(again.entries("log"), ["one"]);
}

fn owners_are_apart(fixture: &Fixture) {
    let (local, other) = (fixture.transactions(), fixture.other_transactions());
    let (local, other) = (ledger(fixture, &*local), ledger(fixture, &*other));
    let created = local.commit(&[("a", None, Some("{}"))], &[("log", "local")]);
    let version = created.unwrap()[0];
    let foreign = other.commit(&[("a", version, None)], &[("log", "other")]);
    assert_refused!(foreign, PortError::Conflict(_));
    assert_eq!(other.value("a"), None);
    assert_eq!(other.entries("log"), [""; 0]);
    other
        .commit(
            &[("a", None, Some("{\"of\":\"other\"}"))],
            &[("log", "other")],
        )
        .unwrap();
    assert_eq!(local.value("a").unwrap(), "{}");
    assert_eq!(local.entries("log"), ["local"]);
}
