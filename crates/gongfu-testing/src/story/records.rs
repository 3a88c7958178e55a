//! The promises of `Records`.

use gongfu_core::account::Owner;
use gongfu_core::port::{MAX_ENTRY, PortError, RecordKey, Space, read_record, update_record};
use serde_json::{Map, Value};

use super::fixture::{Fixture, assert_refused};
use super::{Fault, Promise};

pub(super) const PROMISES: &[Promise] = &[
    Promise::new(
        "a record is created, read, replaced and removed",
        is_created_and_removed,
    ),
    Promise::broken_by(
        Fault::LastWriteWins,
        "a set with another version is a conflict and changes nothing",
        conflict_changes_nothing,
    ),
    Promise::new(
        "a value that is no JSON object is refused",
        refuses_other_values,
    ),
    Promise::new(
        "a damaged record is an error that names its place, and stays as it is",
        damage_is_an_error,
    ),
    Promise::new("records below a prefix are listed, by key", lists_by_prefix),
    Promise::new(
        "records below a prefix are read in pages, each once",
        reads_pages,
    ),
    Promise::new("concurrent updates lose nothing", updates_lose_nothing),
    Promise::new(
        "the last entries of a log are read, the oldest first",
        reads_the_last_entries,
    ),
    Promise::new(
        "an entry of several lines, or of more than 1 MiB, is refused",
        refuses_other_entries,
    ),
    Promise::new("concurrent appends lose nothing", appends_lose_nothing),
    Promise::new(
        "a log has one holder at a time, who needn't say that it ends",
        has_one_holder,
    ),
    Promise::new(
        "a removed log is gone, and begins again with its next entry",
        removes_a_log,
    ),
    Promise::broken_by(
        Fault::RestartForgets,
        "records and logs survive a restart",
        survives_a_restart,
    ),
    Promise::broken_by(
        Fault::OwnerIgnored,
        "owners have records and logs of their own",
        owners_are_apart,
    ),
    Promise::broken_by(
        Fault::OwnerIgnored,
        "the record of another owner is like an unknown one",
        foreign_is_like_unknown,
    ),
];

fn key(key: &str) -> RecordKey {
    RecordKey::new(key).unwrap()
}

fn value(fixture: &Fixture, space: &Space, name: &str) -> Option<Vec<u8>> {
    let record = fixture.wait(space.records().get(&key(name))).unwrap();
    record.map(|record| record.value)
}

fn create(fixture: &Fixture, space: &Space, name: &str, value: &[u8]) {
    let key = key(name);
    let set = fixture.wait(space.records().set(&key, None, Some(value)));
    set.unwrap_or_else(|error| panic!("{name}: {error}"));
}

fn is_created_and_removed(fixture: &Fixture) {
    let space = fixture.local();
    let (records, key) = (space.records(), key("settings"));
    assert_eq!(value(fixture, &space, "settings"), None);
    let first = fixture.wait(records.set(&key, None, Some(b"{\"a\": 1}\n")));
    let first = first.unwrap().unwrap();
    let record = fixture.wait(records.get(&key)).unwrap().unwrap();
    assert_eq!(
        (record.value.as_slice(), record.version),
        (&b"{\"a\": 1}\n"[..], first)
    );
    let second = fixture.wait(records.set(&key, Some(first), Some(b"{}")));
    let second = second.unwrap().unwrap();
    assert_ne!(first, second);
    assert_eq!(value(fixture, &space, "settings").unwrap(), b"{}");
    let removed = fixture.wait(records.set(&key, Some(second), None)).unwrap();
    assert_eq!(removed, None);
    assert_eq!(value(fixture, &space, "settings"), None);
    fixture.wait(records.set(&key, None, None)).unwrap();
}

fn conflict_changes_nothing(fixture: &Fixture) {
    let space = fixture.local();
    let (records, key) = (space.records(), key("settings"));
    let old = fixture.wait(records.set(&key, None, Some(b"{\"a\":1}")));
    let old = old.unwrap();
    fixture
        .wait(records.set(&key, old, Some(b"{\"a\":2}")))
        .unwrap();
    for expected in [None, old] {
        for value in [Some(&b"{\"a\":3}"[..]), None] {
            let set = fixture.wait(records.set(&key, expected, value));
            assert_refused!(set, PortError::Conflict(_));
        }
    }
    assert_eq!(value(fixture, &space, "settings").unwrap(), b"{\"a\":2}");
}

fn refuses_other_values(fixture: &Fixture) {
    let space = fixture.local();
    let (records, key) = (space.records(), key("settings"));
    let long = format!("{{\"a\": \"{}\"}}", "x".repeat(16 * 1024 * 1024));
    for bad in [&long, "", "[]", "1", "{", "{} {}", "null"] {
        let set = fixture.wait(records.set(&key, None, Some(bad.as_bytes())));
        assert_refused!(set, PortError::Denied(_));
    }
    assert_eq!(value(fixture, &space, "settings"), None);
}

fn damage_is_an_error(fixture: &Fixture) {
    let space = fixture.local();
    let (records, key) = (space.records(), key("settings"));
    create(fixture, &space, "settings", b"{}");
    let place = fixture.wait(records.get(&key)).unwrap().unwrap().place;
    for damaged in ["{\"all\": [", "[]", ""] {
        fixture
            .backend
            .damage_record(&Owner::Local, &key, damaged.as_bytes());
        let typed = fixture.wait(read_record::<Map<String, Value>>(records, &key));
        assert!(typed.unwrap_err().to_string().contains(&place));
        assert_refused!(fixture.wait(records.get(&key)), PortError::Unavailable(_));
        let set = fixture.wait(records.set(&key, None, Some(b"{\"a\":1}")));
        assert_refused!(set, PortError::Unavailable(_));
        let kept = fixture.backend.record(&Owner::Local, &key);
        assert_eq!(kept, damaged.as_bytes());
    }
    fixture
        .backend
        .damage_record(&Owner::Local, &key, b"{\"b\": 1}");
    assert_eq!(value(fixture, &space, "settings").unwrap(), b"{\"b\": 1}");
}

fn lists_by_prefix(fixture: &Fixture) {
    let space = fixture.local();
    let names = ["a", "a-b", "ab", "a/b", "a/b/c", "a/b/c/d", "a/c-1_x", "b"];
    for name in names {
        create(fixture, &space, name, b"{}");
    }
    let list = |prefix: &str| -> Vec<String> {
        let found = fixture.wait(space.records().list(&key(prefix))).unwrap();
        assert!(found.iter().all(|(_, record)| record.value == b"{}"));
        found.into_iter().map(|(key, _)| key.to_string()).collect()
    };
    assert_eq!(list("a"), ["a", "a/b", "a/b/c", "a/b/c/d", "a/c-1_x"]);
    assert_eq!(list("a/b"), ["a/b", "a/b/c", "a/b/c/d"]);
    assert_eq!(list("ab"), ["ab"]);
    assert_eq!(list("c"), [""; 0]);
}

fn reads_pages(fixture: &Fixture) {
    let space = fixture.local();
    let names = [
        "a", "a-b", "a-b/c", "a/b", "a/b/c", "a/c-1_x", "a/d", "a0", "b",
    ];
    for name in names {
        create(fixture, &space, name, b"{}");
    }
    let page = |prefix: &str, after: Option<&str>, limit| -> Vec<String> {
        let (prefix, after) = (key(prefix), after.map(key));
        let page = space.records().page(&prefix, after.as_ref(), limit);
        let found = fixture.wait(page).unwrap();
        assert!(found.iter().all(|(_, record)| record.value == b"{}"));
        found.into_iter().map(|(key, _)| key.to_string()).collect()
    };
    let all = ["a", "a/b", "a/b/c", "a/c-1_x", "a/d"];
    for limit in 1..=6 {
        let mut read: Vec<String> = Vec::new();
        loop {
            let next = page("a", read.last().map(String::as_str), limit);
            assert!(next.len() <= limit);
            if next.is_empty() {
                break;
            }
            read.extend(next);
        }
        assert_eq!(read, all, "in pages of {limit}");
    }
    // A record that is gone is still a place to go on from, as is one that isn't below the prefix.
    assert_eq!(page("a", Some("a/bb"), 2), ["a/c-1_x", "a/d"]);
    assert_eq!(page("a/b", Some("a"), 9), ["a/b", "a/b/c"]);
    assert_eq!(page("a", Some("b"), 9), [""; 0]);
    assert_eq!(page("a", None, 0), [""; 0]);
}

fn updates_lose_nothing(fixture: &Fixture) {
    for name in ["counter", "nested/counter"] {
        fixture.write_at_once(|space, writer| {
            for number in 0..8 {
                let add = |counter: &mut Map<String, Value>| {
                    counter.insert(format!("{writer}-{number}"), true.into());
                };
                fixture
                    .wait(update_record(space.records(), &key(name), add))
                    .unwrap();
            }
        });
        let all = read_record::<Map<String, Value>>;
        let all = fixture
            .wait(all(fixture.local().records(), &key(name)))
            .unwrap();
        assert_eq!(all.len(), 32);
    }
}

fn entries(fixture: &Fixture, space: &Space, log: &str, limit: usize) -> Vec<String> {
    let entries = fixture
        .wait(space.records().entries(&key(log), limit))
        .unwrap();
    let text = |entry| String::from_utf8(entry).unwrap();
    entries.into_iter().map(text).collect()
}

fn append(fixture: &Fixture, space: &Space, log: &str, entry: &str) {
    let log = key(log);
    let append = space.records().append(&log, entry.as_bytes());
    fixture.wait(append).unwrap();
}

fn reads_the_last_entries(fixture: &Fixture) {
    let space = fixture.local();
    assert_eq!(entries(fixture, &space, "log", 10), [""; 0]);
    for number in 1..=5 {
        append(fixture, &space, "log", &format!("{{\"n\":{number}}}"));
    }
    append(fixture, &space, "log/of/another", "{}");
    let last = ["{\"n\":3}", "{\"n\":4}", "{\"n\":5}"];
    assert_eq!(entries(fixture, &space, "log", 3), last);
    assert_eq!(entries(fixture, &space, "log", 100).len(), 5);
    assert_eq!(entries(fixture, &space, "log", 0), [""; 0]);
    assert_eq!(entries(fixture, &space, "log/of/another", 9), ["{}"]);
}

fn refuses_other_entries(fixture: &Fixture) {
    let space = fixture.local();
    let append = fixture.wait(space.records().append(&key("log"), b"{}\n{}"));
    assert_refused!(append, PortError::Denied(_));
    let longest = vec![b'x'; MAX_ENTRY];
    let longer = [&longest, &b"x"[..]].concat();
    let append = fixture.wait(space.records().append(&key("log"), &longer));
    assert_refused!(append, PortError::Denied(_));
    assert_eq!(entries(fixture, &space, "log", 10), [""; 0]);
    fixture
        .wait(space.records().append(&key("log"), &longest))
        .unwrap();
    assert_eq!(entries(fixture, &space, "log", 10).len(), 1);
}

fn appends_lose_nothing(fixture: &Fixture) {
    fixture.write_at_once(|space, writer| {
        for number in 0..25 {
            append(fixture, space, "log", &format!("{writer} {number:>40}"));
        }
    });
    let all = entries(fixture, &fixture.local(), "log", 1_000);
    assert_eq!(all.len(), 100);
    for writer in 0..4 {
        let own = all
            .iter()
            .filter(|entry| entry.starts_with(&writer.to_string()));
        let expected = (0..25).map(|number| format!("{writer} {number:>40}"));
        assert!(
            own.eq(expected.collect::<Vec<_>>().iter()),
            "in order, and whole"
        );
    }
}

fn has_one_holder(fixture: &Fixture) {
    let space = fixture.local();
    let hold = |log: &str| fixture.wait(space.records().hold_log(&key(log))).unwrap();
    let held = hold("log/one").unwrap();
    assert!(hold("log/one").is_none());
    assert!(hold("log/other").is_some());
    append(fixture, &space, "log/one", "entry");
    drop(held);
    let held = hold("log/one").unwrap();
    fixture
        .wait(space.records().remove_log(&key("log/one")))
        .unwrap();
    drop(held);
    assert!(hold("log/one").is_some());
}

fn removes_a_log(fixture: &Fixture) {
    let space = fixture.local();
    let remove = |log: &str| fixture.wait(space.records().remove_log(&key(log)));
    remove("log/one").unwrap();
    for log in ["log/one", "log/one/below", "log/other"] {
        append(fixture, &space, log, "old");
    }
    create(fixture, &space, "log/one", b"{}");
    remove("log/one").unwrap();
    assert_eq!(entries(fixture, &space, "log/one", 9), [""; 0]);
    append(fixture, &space, "log/one", "new");
    assert_eq!(entries(fixture, &space, "log/one", 9), ["new"]);
    assert_eq!(entries(fixture, &space, "log/one/below", 9), ["old"]);
    assert_eq!(entries(fixture, &space, "log/other", 9), ["old"]);
    assert_eq!(value(fixture, &space, "log/one").unwrap(), b"{}");
}

fn survives_a_restart(fixture: &Fixture) {
    create(fixture, &fixture.local(), "a/b", b"{\"a\":1}");
    append(fixture, &fixture.local(), "log", "{}");
    let again = fixture.reopened();
    assert_eq!(value(fixture, &again, "a/b").unwrap(), b"{\"a\":1}");
    assert_eq!(entries(fixture, &again, "log", 9), ["{}"]);
}

fn owners_are_apart(fixture: &Fixture) {
    let (local, other) = (fixture.local(), fixture.other());
    create(fixture, &local, "a/b", b"{\"of\":\"local\"}");
    append(fixture, &local, "log", "local");
    assert_eq!(value(fixture, &other, "a/b"), None);
    assert_eq!(fixture.wait(other.records().list(&key("a"))).unwrap(), []);
    let page = key("a");
    let page = other.records().page(&page, None, 9);
    assert_eq!(fixture.wait(page).unwrap(), []);
    assert_eq!(entries(fixture, &other, "log", 9), [""; 0]);
    create(fixture, &other, "a/b", b"{\"of\":\"other\"}");
    append(fixture, &other, "log", "other");
    assert_eq!(
        value(fixture, &local, "a/b").unwrap(),
        b"{\"of\":\"local\"}"
    );
    assert_eq!(entries(fixture, &local, "log", 9), ["local"]);
}

fn foreign_is_like_unknown(fixture: &Fixture) {
    let (local, other) = (fixture.local(), fixture.other());
    let known = key("known");
    let version = fixture.wait(local.records().set(&known, None, Some(b"{}")));
    let version = version.unwrap();
    let answer = |name: &str| {
        let key = key(name);
        let set = fixture.wait(other.records().set(&key, version, Some(b"{}")));
        let set = set.map(drop).unwrap_err().to_string();
        (value(fixture, &other, name), set.replace(name, "…"))
    };
    assert_eq!(answer("known"), answer("never"));
}
