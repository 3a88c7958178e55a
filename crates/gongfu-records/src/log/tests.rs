//! A log on a real disk: whole lines, rotation, and files that other programs touch.
#![expect(
    clippy::disallowed_methods,
    reason = "tests make the folders that they look at"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::{Log, LogReader, MAX_BYTES, MAX_ROTATED};

fn log(home: &Path) -> Log {
    Log::new(home.join("audit"), "audit")
}

fn lines(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn rotates_a_full_file_and_reads_across_the_rotation() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("audit/audit.jsonl");
    let mut log = log(home.path());
    assert_eq!(log.entries(10).unwrap(), [b""; 0]);
    log.append(b"first").unwrap();
    let long = vec![b'x'; usize::try_from(MAX_BYTES).unwrap()];
    for round in 0..=MAX_ROTATED {
        log.append(&long).unwrap();
        log.append(round.to_string().as_bytes()).unwrap();
        assert_eq!(lines(&file), [round.to_string()]);
    }
    assert!(home.path().join("audit/audit.4.jsonl").exists());
    assert!(!home.path().join("audit/audit.5.jsonl").exists());
    let entries = log.entries(100).unwrap();
    assert_eq!(entries.len(), 2 * MAX_ROTATED + 1, "the oldest are gone");
    assert_eq!(log.entries(3).unwrap(), entries[entries.len() - 3..]);
    // A line that was cut short by a full disk is no entry.
    fs::write(&file, "whole\nha").unwrap();
    assert_eq!(log.entries(1).unwrap(), [b"whole"]);
}

#[test]
fn is_private_unless_a_person_lets_others_read() {
    let home = tempfile::tempdir().unwrap();
    log(home.path()).append(b"{}").unwrap();
    let file = home.path().join("audit/audit.jsonl");
    let mode = || fs::metadata(&file).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(), 0o600);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    log(home.path()).append(b"{}").unwrap();
    assert_eq!(mode(), 0o640);
}

#[test]
fn follows_a_file_that_was_removed_replaced_or_rotated() {
    let home = tempfile::tempdir().unwrap();
    let mut log = log(home.path());
    let folder = home.path().join("audit");
    let file = folder.join("audit.jsonl");
    log.append(b"1").unwrap();
    fs::remove_file(&file).unwrap();
    log.append(b"2").unwrap();
    assert_eq!(lines(&file), ["2"]);
    fs::remove_dir_all(&folder).unwrap();
    log.append(b"3").unwrap();
    assert_eq!(lines(&file), ["3"]);
    // As another process rotates it.
    fs::rename(&file, folder.join("audit.1.jsonl")).unwrap();
    log.append(b"4").unwrap();
    assert_eq!(lines(&file), ["4"]);
    fs::write(folder.join("other"), "").unwrap();
    fs::rename(folder.join("other"), &file).unwrap();
    log.append(b"5").unwrap();
    assert_eq!(lines(&file), ["5"]);
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    log.append(b"6").unwrap_err();
}

#[test]
fn torn_line_costs_only_itself() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("audit/audit.jsonl");
    let mut open = log(home.path());
    open.append(b"one").unwrap();
    let tear = || {
        let mut torn = fs::OpenOptions::new().append(true).open(&file).unwrap();
        std::io::Write::write_all(&mut torn, b"torn").unwrap();
    };
    tear();
    // By the process that has it open, and by another one.
    open.append(b"two").unwrap();
    tear();
    log(home.path()).append(b"three").unwrap();
    assert_eq!(lines(&file), ["one", "torn", "two", "torn", "three"]);
    assert_eq!(open.entries(1).unwrap(), [b"three"]);
}

/// The lines that a reader reports now.
fn read(reader: &mut LogReader) -> Vec<String> {
    let mut lines = Vec::new();
    let line = |line: &[u8]| {
        lines.push(String::from_utf8_lossy(line).into_owned());
        Ok(())
    };
    reader.read(line).unwrap();
    lines
}

#[test]
fn reader_follows_a_log_across_rotations_and_removals() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("audit");
    let file = folder.join("audit.jsonl");
    let mut log = log(home.path());
    let mut reader = LogReader::new(folder.clone(), "audit");
    assert_eq!(read(&mut reader), [""; 0]);
    log.append(b"1").unwrap();
    log.append(b"2").unwrap();
    assert_eq!(read(&mut reader), ["1", "2"]);
    // Two rotations between two looks.
    for line in ["3", "4", "5"] {
        log.append(line.as_bytes()).unwrap();
        if line != "5" {
            for number in (1..MAX_ROTATED).rev() {
                let name = |number| folder.join(format!("audit.{number}.jsonl"));
                let _ = fs::rename(name(number), name(number + 1));
            }
            fs::rename(&file, folder.join("audit.1.jsonl")).unwrap();
        }
    }
    assert_eq!(read(&mut reader), ["3", "4", "5"]);
    let mut another = LogReader::new(folder.clone(), "audit");
    assert_eq!(read(&mut another), ["1", "2", "3", "4", "5"]);
    fs::remove_file(&file).unwrap();
    log.append(b"6").unwrap();
    assert_eq!(read(&mut reader), ["6"]);
    fs::write(&file, "").unwrap();
    assert_eq!(read(&mut reader), [""; 0]);
    // A line is reported once it is whole; a torn one ends with the next.
    let add = |text: &[u8]| {
        let mut file = fs::OpenOptions::new().append(true).open(&file).unwrap();
        std::io::Write::write_all(&mut file, text).unwrap();
    };
    add(b"se");
    assert_eq!(read(&mut reader), [""; 0]);
    add(b"ven\n\n");
    assert_eq!(read(&mut reader), ["seven"]);
    add(b"torn");
    log.append(b"8").unwrap();
    assert_eq!(read(&mut reader), ["torn", "8"]);
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(read(&mut reader), [""; 0]);
    log.append(b"9").unwrap();
    assert_eq!(read(&mut reader), ["9"]);
}
