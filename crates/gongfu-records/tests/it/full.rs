//! A database whose file system has no room left, as the limit for the size of files makes it.

use std::process::{Command, Stdio};

use gongfu_core::port::{LogChain as _, PortError, Records as _};
use gongfu_records::SqliteRecords;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::child::{Database, command, key, say};

/// The blocks of 512 bytes that a file may have.
const LIMIT: &str = "4096";
/// The length of an entry, in bytes.
const ENTRY: usize = 128 * 1024;

/// The number of refusals until there is room: the database itself may find some after the first.
const REFUSALS: usize = 5;

/// Appends although there is no room, and once more when there is. Prints the last refusal, and what was written.
pub(crate) async fn fill(records: &SqliteRecords) {
    let (log, entry) = (key("log"), vec![b'x'; ENTRY]);
    let (mut written, mut refusals) = (0, Vec::new());
    while refusals.len() < REFUSALS {
        match records.append(&log, &entry).await {
            Ok(()) => written += 1,
            Err(PortError::Unavailable(why)) => refusals.push(why),
            Err(error) => panic!("{error:?}"),
        }
        // Everything that was answered is there, and can be read.
        let head = records.verify(&log).await.unwrap().unwrap();
        assert_eq!(head.number, written);
    }
    let maximum = getrlimit(Resource::Fsize).maximum;
    let more = Rlimit {
        current: maximum,
        maximum,
    };
    setrlimit(Resource::Fsize, more).unwrap();
    records.append(&log, &entry).await.unwrap();
    say(refusals.last().unwrap());
    say(&(written + 1).to_string());
}

pub(crate) fn nothing_is_lost() {
    let database = Database::new();
    let child = command("fill", &database.path, "");
    // The signal of the limit would end it before the write fails.
    let script = r#"trap "" XFSZ; ulimit -S -f "$0"; exec "$@""#;
    let output = Command::new("sh")
        .args(["-c", script, LIMIT])
        .arg(child.get_program())
        .args(child.get_args())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = said.lines().collect();
    let [refusal, written] = lines[..] else {
        panic!("{said}{errors}");
    };
    assert!(output.status.success(), "{said}{errors}");
    assert!(refusal.contains("server.db: "), "{refusal}");
    let written: u64 = written.parse().unwrap();
    assert!(written > 5, "there was room for something");
    let records = database.records();
    let head = database.runtime.block_on(records.verify(&key("log")));
    assert_eq!(head.unwrap().unwrap().number, written);
    println!("{written} written; {refusal}");
}
