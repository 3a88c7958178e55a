//! Archives that are taken, and archives that attack.

use std::io::{Cursor, Write as _};

use gongfu_core::archive::{ArchiveError, ArchiveFile, ArchiveLimits, ArchiveLink};
use gongfu_core::skill::SkillPath;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::{is_zip, read, write};

fn file(path: &str, bytes: &[u8], is_executable: bool) -> ArchiveFile {
    ArchiveFile {
        path: SkillPath::new(path).unwrap(),
        is_executable: Some(is_executable),
        bytes: bytes.to_vec(),
    }
}

/// An archive of these names, modes and contents.
fn packed(entries: &[(&str, u32, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, mode, bytes) in entries {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .unix_permissions(*mode);
        writer.start_file(*name, options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// Replaces bytes by as many others everywhere in an archive.
fn patched(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut patched = bytes.to_vec();
    let mut count = 0;
    for at in 0..=bytes.len() - from.len() {
        if bytes[at..].starts_with(from) {
            patched[at..at + to.len()].copy_from_slice(to);
            count += 1;
        }
    }
    assert!(count >= 1);
    patched
}

fn kind(refused: Result<Vec<ArchiveFile>, ArchiveError>) -> String {
    let refused = refused.map(|files| files.len());
    format!("{refused:?}")
        .split(['(', ')'])
        .nth(1)
        .unwrap()
        .to_owned()
}

#[test]
fn what_is_written_is_read_again() {
    let files = vec![
        file("SKILL.md", b"---\nname: pdf\n---\n", false),
        file("scripts/run", &[0, 159, 146, 150], true),
        file("\u{5408}\u{5e76}.md", &[b'x'; 100_000], false),
        file("long", &[b'x'; 3_000_000], false),
        file("empty", b"", false),
    ];
    let bytes = write("pdf", &files).unwrap();
    assert!(is_zip(&bytes));
    assert_eq!(bytes, write("pdf", &files).unwrap());
    assert_eq!(read(&bytes).unwrap(), files);
}

#[test]
fn attacks_are_refused() {
    let plain = |name: &str| packed(&[(name, 0o644, b"x")]);
    assert_eq!(kind(read(&plain("abcdefgh"))), "1");
    for (to, why) in [
        (&b"../../ab"[..], "Path"),
        (b"/etc/abc", "Path"),
        (b"a\\..\\abc", "Path"),
        (b"abc\0.txt", "Path"),
        (b"CON.text", "Name"),
        (b"caf\xe9.txt", "Encoding"),
    ] {
        let attack = patched(&plain("abcdefgh"), b"abcdefgh", to);
        assert_eq!(kind(read(&attack)), why, "{to:?}");
    }
    // The mode is in the upper half of the external attributes.
    let program = packed(&[("a", 0o755, b"x")]);
    assert_eq!(kind(read(&program)), "1");
    assert_eq!(
        kind(read(&patched(&program, &[0xed, 0x81], &[0xed, 0x89]))),
        "Setuid"
    );
    let twice = packed(&[("SKILL.md", 0o644, b"x"), ("skill.MD", 0o644, b"y")]);
    assert_eq!(kind(read(&twice)), "Duplicate");
    let long = packed(&[("a", 0o644, &[b'x'; 1_000])]);
    for length in [0_u32, 999, 1_001, u32::MAX - 1] {
        let lying = patched(&long, &1_000_u32.to_le_bytes(), &length.to_le_bytes());
        assert_eq!(kind(read(&lying)), "Unreadable", "{length}");
    }
    let entry = long.windows(4).position(|part| part == b"PK\x01\x02");
    let at = entry.unwrap() + 20;
    let short = &long[at..at + 4];
    let lying = patched(&long, short, &100_000_u32.to_le_bytes());
    assert_eq!(kind(read(&lying)), "Unreadable");
    let mut links = ZipWriter::new(Cursor::new(Vec::new()));
    links
        .add_symlink("link", "/etc/passwd", SimpleFileOptions::default())
        .unwrap();
    let links = links.finish().unwrap().into_inner();
    assert_eq!(kind(read(&links)), "Kind");
    // Where links are judged by their targets, they come with them.
    let found = crate::read(&links, ArchiveLimits::COLLECTION).unwrap();
    let link = ArchiveLink {
        path: SkillPath::new("link").unwrap(),
        target: b"/etc/passwd".to_vec(),
        is_hard: false,
    };
    assert_eq!(found.unwrap().links, [link]);
}

#[test]
fn bombs_stop_at_their_limits() {
    let zeros = vec![0; 40 * 1024 * 1024];
    let bomb = packed(&[("bomb", 0o644, &zeros)]);
    assert!(bomb.len() < 100_000);
    assert_eq!(kind(read(&bomb)), "Ratio");
    let stored = |length: usize| {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        for (number, piece) in zeros[..length].chunks(32 * 1024 * 1024).enumerate() {
            writer.start_file(number.to_string(), options).unwrap();
            writer.write_all(piece).unwrap();
        }
        for number in 2..4 {
            writer.start_file(number.to_string(), options).unwrap();
            writer.write_all(&zeros[..30 * 1024 * 1024]).unwrap();
        }
        writer.finish().unwrap().into_inner()
    };
    assert_eq!(kind(read(&stored(3 * 1024 * 1024))), "3");
    assert!(matches!(
        read(&stored(32 * 1024 * 1024)),
        Err(ArchiveError::Total(_))
    ));
    let mut large = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    large.start_file("large", options).unwrap();
    large.write_all(&zeros[..=32 * 1024 * 1024]).unwrap();
    let large = large.finish().unwrap().into_inner();
    assert_eq!(kind(read(&large)), "FileLength");
    let names: Vec<String> = (0..2_001).map(|number| number.to_string()).collect();
    let many: Vec<(&str, u32, &[u8])> = names
        .iter()
        .map(|name| (name.as_str(), 0o644, &b""[..]))
        .collect();
    assert!(matches!(
        read(&packed(&many)),
        Err(ArchiveError::Entries(2_000))
    ));
    assert_eq!(read(&packed(&many[..2_000])).unwrap().len(), 2_000);
}

#[test]
fn no_damage_is_a_panic() {
    let good = write(
        "pdf",
        &[
            file("SKILL.md", &[b'x'; 300], false),
            file("a/b", b"y", true),
        ],
    );
    let good = good.unwrap();
    assert!(read(&good).is_ok());
    for at in 0..good.len() {
        for bit in [0x01, 0x80, 0xff] {
            let mut damaged = good.clone();
            damaged[at] ^= bit;
            let _ = read(&damaged);
        }
        let _ = read(&good[..at]);
    }
    for nonsense in [&b""[..], b"PK", b"not an archive at all", &[0; 1_000]] {
        assert!(matches!(read(nonsense), Err(ArchiveError::Unreadable(_))));
    }
}
