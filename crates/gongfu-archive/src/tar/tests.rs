//! Archives that are taken, and archives that attack.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use gongfu_core::archive::{ArchiveError, ArchiveFile, ArchiveLimits};
use tar::{Builder, EntryType, Header};

use crate::read;

const LIMITS: ArchiveLimits = ArchiveLimits::SKILL;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut writer = GzEncoder::new(Vec::new(), Compression::best());
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap()
}

/// A head whose name is written as it stands.
fn head(name: &[u8], kind: u8, mode: u32, size: u64) -> Header {
    let mut header = Header::new_ustar();
    header.as_mut_bytes()[..name.len()].copy_from_slice(name);
    header.set_mode(mode);
    header.set_size(size);
    header.set_entry_type(EntryType::new(kind));
    header.set_cksum();
    header
}

/// An entry: a head, and content that is filled up.
fn entry(name: &[u8], kind: u8, mode: u32, content: &[u8]) -> Vec<u8> {
    let head = head(name, kind, mode, content.len() as u64);
    let mut entry = head.as_bytes().to_vec();
    entry.extend(content);
    entry.resize(entry.len().next_multiple_of(512), 0);
    entry
}

/// An archive of entries.
fn archive(entries: &[Vec<u8>]) -> Vec<u8> {
    let mut archive = entries.concat();
    archive.resize(archive.len() + 1024, 0);
    archive
}

fn file(name: &str) -> Vec<u8> {
    entry(name.as_bytes(), b'0', 0o644, b"x")
}

/// A record of pax.
fn record(key: &str, value: &[u8]) -> Vec<u8> {
    let rest = key.len() + value.len() + 3;
    let length = (1..10)
        .map(|digits| rest + digits)
        .find(|length| length.to_string().len() + rest == *length)
        .unwrap();
    let mut record = format!("{length} {key}=").into_bytes();
    record.extend(value);
    record.push(b'\n');
    record
}

fn pax(kind: u8, records: &[Vec<u8>]) -> Vec<u8> {
    entry(b"PaxHeader", kind, 0o644, &records.concat())
}

fn files(bytes: &[u8]) -> Result<Vec<ArchiveFile>, ArchiveError> {
    read(bytes, LIMITS).map(|archive| archive.expect("it is an archive").files)
}

/// The paths of an archive, a program with `*`, or the kind of its refusal.
fn told(bytes: &[u8]) -> String {
    match files(bytes) {
        Ok(files) => {
            let shown = files.iter().map(|file| {
                let star = if file.is_executable == Some(true) {
                    "*"
                } else {
                    ""
                };
                format!("{}{star}", file.path)
            });
            shown.collect::<Vec<String>>().join(" ")
        }
        Err(error) => format!("!{error:?}").split('(').next().unwrap().to_owned(),
    }
}

/// The same for one entry.
fn one(entry: Vec<u8>) -> String {
    told(&archive(&[entry]))
}

#[test]
fn what_others_write_is_read() {
    let long = format!("{}/{}.md", "a".repeat(120), "b".repeat(120));
    let prefixed = format!("{}/{}.md", "c".repeat(80), "d".repeat(80));
    let mut builder = Builder::new(Vec::new());
    let mut add = |name: &str, mode, bytes: &[u8]| {
        let mut header = Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(mode);
        header.set_cksum();
        builder.append_data(&mut header, name, bytes).unwrap();
    };
    add("skill/SKILL.md", 0o644, b"---\n");
    add("skill/run", 0o755, &[b'x'; 512]);
    add(&long, 0o600, b"long");
    add(&prefixed, 0o644, &vec![b'y'; 100_000]);
    let plain = builder.into_inner().unwrap();
    for bytes in [plain.clone(), gzip(&plain)] {
        let files = files(&bytes).unwrap();
        let shown: Vec<(&str, Option<bool>, usize)> = files
            .iter()
            .map(|file| (file.path.as_str(), file.is_executable, file.bytes.len()))
            .collect();
        let expected = [
            ("skill/SKILL.md", Some(false), 4),
            ("skill/run", Some(true), 512),
            (long.as_str(), Some(false), 4),
            (prefixed.as_str(), Some(false), 100_000),
        ];
        assert_eq!(shown, expected);
    }
}

#[test]
fn records_of_pax_are_understood() {
    let commit = pax(b'g', &[record("comment", b"0123abcd")]);
    // A value may hold line feeds and equals signs.
    let name = "e".repeat(150);
    let records = [
        record("SCHILY.xattr.a", b"\n9 path=b\n\n"),
        record("path", name.as_bytes()),
        record("mtime", b"1.5"),
    ];
    let bytes = archive(&[
        commit,
        entry(b"folder/", b'5', 0o755, b""),
        pax(b'x', &records),
        file("short"),
        entry(b"old/", 0, 0o755, b""),
        file("folder/a"),
    ]);
    assert_eq!(told(&bytes), format!("{name} folder/a"));
}

#[test]
fn other_bytes_are_no_archive() {
    for bytes in [
        &b""[..],
        b"---\nname: a\n---\n",
        &[0; 2_000],
        b"PK",
        b"\x1f",
    ] {
        assert_eq!(read(bytes, LIMITS), Ok(None));
    }
    for bytes in [&b"text"[..], b"", &[0; 2_000]] {
        assert_eq!(told(&gzip(bytes)), "!Unreadable");
    }
}

#[test]
fn only_plain_files_and_folders_are_taken() {
    assert_eq!(one(file("a")), "a");
    assert_eq!(one(entry(b"a", b'0', 0o100_755, b"x")), "a*");
    for kind in *b"3467SMVDNX9" {
        assert_eq!(one(entry(b"a", kind, 0o644, b"")), "!Kind", "{kind}");
    }
    for mode in [0o4_755, 0o2_755, 0o6_644] {
        assert_eq!(one(entry(b"a", b'0', mode, b"x")), "!Setuid", "{mode:o}");
    }
    let sparse = pax(b'x', &[record("GNU.sparse.major", b"1")]);
    assert_eq!(told(&archive(&[sparse, file("a")])), "!Kind");
    assert_eq!(one(entry(b"a", b'5', 0o755, b"x")), "!Unreadable");
    assert_eq!(one(entry(b"a/", b'0', 0o755, b"x")), "!Unreadable");
}

#[test]
fn links_come_with_what_they_lead_to() {
    let link = |kind: u8, target: &[u8]| {
        let mut link = head(b"link", kind, 0o777, 0);
        link.as_mut_bytes()[157..157 + target.len()].copy_from_slice(target);
        link.set_cksum();
        link.as_bytes().to_vec()
    };
    let long = "t".repeat(300);
    let by_gnu = entry(b"long", b'K', 0o644, format!("{long}\0").as_bytes());
    let by_pax = pax(b'x', &[record("linkpath", long.as_bytes())]);
    let links = |entries: &[Vec<u8>]| {
        let archive = read(&archive(entries), LIMITS).unwrap().unwrap();
        let shown = archive.links.into_iter().map(|link| {
            let target = String::from_utf8(link.target).unwrap();
            format!("{} {target} {}", link.path, link.is_hard)
        });
        shown.collect::<Vec<_>>().join(", ")
    };
    assert_eq!(links(&[link(b'2', b"../a")]), "link ../a false");
    assert_eq!(links(&[file("a"), link(b'1', b"a")]), "link a true");
    for before in [&by_gnu, &by_pax] {
        let entries = [before.clone(), link(b'2', b"a")];
        assert_eq!(links(&entries), format!("link {long} false"));
        assert_eq!(told(&archive(&[before.clone(), file("a")])), "!Unreadable");
    }
    let both = [by_gnu.clone(), by_pax, link(b'2', b"a")];
    assert_eq!(told(&archive(&both)), "!Unreadable");
    let alone = [link(b'2', b"a"), by_gnu];
    assert_eq!(told(&archive(&alone)), "!Unreadable");
    assert_eq!(one(entry(b"link", b'2', 0o777, b"x")), "!Unreadable");
    for other in ["link", "LINK", "link/below"] {
        let twice = archive(&[link(b'2', b"a"), file(other)]);
        assert_eq!(told(&twice), "!Duplicate", "{other}");
    }
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    for (name, why) in [
        (&b"../a"[..], "!Path"),
        (b"/etc/passwd", "!Path"),
        (b"a/../../b", "!Path"),
        (b"a\\b", "!Path"),
        (b"a\nb", "!Path"),
        (b"CON", "!Name"),
        (b"caf\xe9", "!Encoding"),
        (b"", "!Kind"),
    ] {
        assert_eq!(one(entry(name, b'0', 0o644, b"x")), why, "{name:?}");
        let by_pax = archive(&[pax(b'x', &[record("path", name)]), file("a")]);
        assert_eq!(told(&by_pax), why, "{name:?}");
        let by_gnu = archive(&[entry(b"long", b'L', 0o644, name), file("a")]);
        assert_eq!(told(&by_gnu), why, "{name:?}");
    }
    let hidden = archive(&[entry(b"long", b'L', 0o644, b"a\0/b"), file("a")]);
    assert_eq!(told(&hidden), "!Path");
    let mut prefixed = head(b"b", b'0', 0o644, 0);
    prefixed.as_ustar_mut().unwrap().prefix[..2].copy_from_slice(b"..");
    prefixed.set_cksum();
    assert_eq!(one(prefixed.as_bytes().to_vec()), "!Path");
}

#[test]
fn no_path_is_there_twice() {
    for (first, second) in [("a", "a"), ("a", "A"), ("a", "a/b"), ("a/b", "a")] {
        let bytes = archive(&[file(first), file(second)]);
        assert_eq!(told(&bytes), "!Duplicate", "{first} {second}");
    }
}

#[test]
fn what_two_programs_read_differently_is_refused() {
    let path = |path: &[u8]| record("path", path);
    let size = |size: &[u8]| record("size", size);
    assert_eq!(told(&archive(&[pax(b'x', &[size(b"1")]), file("a")])), "a");
    let gnu = || entry(b"long", b'L', 0o644, b"name\0");
    for (what, entries) in [
        ("two lengths", vec![pax(b'x', &[size(b"2")]), file("a")]),
        ("no length", vec![pax(b'x', &[size(b"x")]), file("a")]),
        (
            "two paths",
            vec![pax(b'x', &[path(b"a"), path(b"b")]), file("a")],
        ),
        (
            "two lists",
            vec![pax(b'x', &[path(b"a")]), pax(b'x', &[]), file("a")],
        ),
        ("two names", vec![gnu(), gnu(), file("a")]),
        ("both", vec![gnu(), pax(b'x', &[path(b"a")]), file("a")]),
        ("a path of all", vec![pax(b'g', &[path(b"a")]), file("b")]),
        ("a name alone", vec![file("a"), gnu()]),
        ("records alone", vec![file("a"), pax(b'x', &[path(b"a")])]),
        (
            "too long",
            vec![pax(b'x', &[b"99 path=a\n".to_vec()]), file("a")],
        ),
        (
            "too short",
            vec![pax(b'x', &[b"5 path=a\n".to_vec()]), file("a")],
        ),
        (
            "signed",
            vec![pax(b'x', &[b"+10 path=a\n".to_vec()]), file("a")],
        ),
        (
            "no value",
            vec![pax(b'x', &[b"7 path\n".to_vec()]), file("a")],
        ),
    ] {
        assert_eq!(told(&archive(&entries)), "!Unreadable", "{what}");
    }
}

#[test]
fn an_archive_is_whole_and_alone() {
    let whole = archive(&[file("a"), file("b")]);
    // One block of zeros ends it, too.
    assert_eq!(told(&whole[..whole.len() - 512]), "a b");
    for length in [511, 512, 600, 1024, 1536, 2048, 2049, 2559] {
        assert_eq!(told(&whole[..length.max(262)]), "!Unreadable", "{length}");
    }
    let second = archive(&[file("c")]);
    let mut other = whole.clone();
    other.extend(&second);
    assert_eq!(told(&other), "!Unreadable");
    assert_eq!(told(&gzip(&other)), "!Unreadable");
    assert_eq!(told(&[gzip(&whole), gzip(&second)].concat()), "!Unreadable");
    assert_eq!(
        told(&[gzip(&whole), b"garbage".to_vec()].concat()),
        "!Unreadable"
    );
    // `tar` reads the parts as one, and so does this.
    let (first, rest) = whole.split_at(700);
    assert_eq!(told(&[gzip(first), gzip(rest)].concat()), "a b");
    let packed = gzip(&whole);
    assert_eq!(told(&packed[..packed.len() - 1]), "!Unreadable");
    let mut wrong = whole.clone();
    wrong[0] = b'z';
    assert_eq!(told(&wrong), "!Unreadable");
    for (size, why) in [
        (2_000, "!Unreadable"),
        (u64::MAX, "!FileLength"),
        (1 << 40, "!FileLength"),
    ] {
        let lying = head(b"a", b'0', 0o644, size).as_bytes().to_vec();
        assert_eq!(one(lying), why, "{size}");
        let lying = head(b"a", b'x', 0o644, size).as_bytes().to_vec();
        assert_eq!(one(lying), "!Unreadable", "{size}");
    }
}

#[test]
fn bombs_stop_at_their_limits() {
    let zeros = vec![0; 33 * 1024 * 1024];
    let noise: Vec<u8> = (0_u32..)
        .flat_map(|number| number.wrapping_mul(2_654_435_761).to_be_bytes())
        .take(zeros.len())
        .collect();
    let large = |bytes: &[u8]| archive(&[entry(b"large", b'0', 0o644, bytes)]);
    assert_eq!(told(&gzip(&large(&zeros[..20 * 1024 * 1024]))), "!Ratio");
    assert_eq!(told(&large(&noise)), "!FileLength");
    let half = &noise[..30 * 1024 * 1024];
    let total = |count: u8| {
        let entries = (b'a'..b'a' + count).map(|name| entry(&[name], b'0', 0o644, half));
        archive(&entries.collect::<Vec<_>>())
    };
    assert_eq!(told(&total(2)), "a b");
    assert_eq!(told(&total(3)), "!Total");
    let small = ArchiveLimits {
        entries: 3,
        file: 1_000,
        total: 1_000,
        depth: 2,
    };
    let numbered = |count: u8| {
        let entries = (b'a'..b'a' + count).map(|name| entry(&[name], b'0', 0o644, b""));
        archive(&entries.collect::<Vec<_>>())
    };
    assert!(read(&numbered(3), small).is_ok());
    assert_eq!(read(&numbered(4), small), Err(ArchiveError::Entries(3)));
    let mut long = numbered(3);
    long.resize(20_000, 0);
    let long = gzip(&long);
    assert_eq!(read(&long, small), Err(ArchiveError::Total(1_000)));
    let deep = archive(&[file("a/b/c")]);
    let refused = ArchiveError::Depth("a/b/c".to_owned(), 2);
    assert_eq!(read(&deep, small), Err(refused));
}

#[test]
fn no_damage_is_a_panic() {
    let entries = [
        pax(b'x', &[record("path", b"long name")]),
        file("a"),
        entry(b"long", b'L', 0o644, b"other name\0"),
        file("b"),
    ];
    let good = archive(&entries);
    assert_eq!(told(&good), "long name other name");
    for at in 0..good.len() {
        for bit in [0x01, 0x80, 0xff] {
            let mut damaged = good.clone();
            damaged[at] ^= bit;
            let _ = read(&damaged, LIMITS);
        }
        let _ = read(&good[..at], LIMITS);
    }
    let packed = gzip(&good);
    for at in 0..packed.len() {
        let mut damaged = packed.clone();
        damaged[at] ^= 0x10;
        let _ = read(&damaged, LIMITS);
        let _ = read(&packed[..at], LIMITS);
    }
}
