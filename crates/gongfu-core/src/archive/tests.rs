//! Entries that are taken, and entries that aren't.

use super::{
    ArchiveCheck, ArchiveError, ArchiveFile, ArchiveLimits, EntryHead, SMALL, without_top_folder,
};
use crate::skill::SkillPath;

const LIMITS: ArchiveLimits = ArchiveLimits::SKILL;

fn head(name: &str) -> EntryHead<'_> {
    EntryHead {
        name: name.as_bytes(),
        is_folder: false,
        mode: Some(0o100_644),
        is_encrypted: false,
        packed: 1_000,
    }
}

fn refused(head: EntryHead<'_>) -> String {
    let refused = ArchiveCheck::new(LIMITS).admit(head).unwrap_err();
    format!("{refused:?}").split('(').next().unwrap().to_owned()
}

#[test]
fn plain_files_and_folders_are_taken() {
    let mut check = ArchiveCheck::new(LIMITS);
    let mut admit = |head| check.admit(head).unwrap();
    let folder = |mode| EntryHead { mode, ..head("a/") };
    assert_eq!(admit(folder(Some(0o040_755))), None);
    assert_eq!(admit(folder(None)), None);
    let file = admit(head("a/run.sh")).unwrap();
    assert_eq!(
        (file.path.as_str(), file.is_executable),
        ("a/run.sh", Some(false))
    );
    let program = EntryHead {
        mode: Some(0o100_755),
        ..head("./a/tool")
    };
    let file = admit(program).unwrap();
    assert_eq!(
        (file.path.as_str(), file.is_executable),
        ("a/tool", Some(true))
    );
    let unknown = EntryHead {
        mode: None,
        ..head("合并/说明.md")
    };
    assert_eq!(admit(unknown).unwrap().is_executable, None);
    for name in [
        "SKILL.md",
        ".hidden",
        "comma,space file.txt",
        "console.txt",
        "com.txt",
        "com10",
    ] {
        admit(head(name));
    }
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    for name in [
        "/etc/passwd",
        "../a",
        "a/../../b",
        "a\\b",
        "C:/a",
        "c:\\a",
        "~/a",
        "a\0b",
        "a\nb",
        "file://a",
    ] {
        assert_eq!(refused(head(name)), "Path", "{name:?}");
    }
    for name in [
        "CON", "con.txt", "a/Aux", "nul .txt", "COM1", "lpt9.md", "com¹", "a.", "a ", "a/b ./c",
        "ab:c", "a?", "a*", "<a>",
    ] {
        assert_eq!(refused(head(name)), "Name", "{name:?}");
    }
    let deep = |depth: usize| vec!["a"; depth].join("/");
    assert!(ArchiveCheck::new(LIMITS).admit(head(&deep(12))).is_ok());
    assert_eq!(refused(head(&deep(13))), "Depth");
    let latin = EntryHead {
        name: b"caf\xe9",
        ..head("")
    };
    assert_eq!(refused(latin), "Encoding");
}

#[test]
fn only_plain_files_are_taken() {
    for (mode, why) in [
        (0o120_777, "Kind"),
        (0o010_644, "Kind"),
        (0o020_644, "Kind"),
        (0o140_644, "Kind"),
        (0o040_755, "taken"),
        (0o104_755, "Setuid"),
        (0o102_755, "Setuid"),
        (0o101_755, "taken"),
        (0o000_644, "taken"),
    ] {
        let entry = EntryHead {
            mode: Some(mode),
            ..head("a")
        };
        let admitted = ArchiveCheck::new(LIMITS).admit(entry);
        let found = admitted.map_or_else(
            |error| format!("{error:?}").split('(').next().unwrap().to_owned(),
            |_| "taken".to_owned(),
        );
        assert_eq!(found, why, "{mode:o}");
    }
    let encrypted = EntryHead {
        is_encrypted: true,
        ..head("a")
    };
    assert_eq!(refused(encrypted), "Encrypted");
    assert_eq!(refused(head("")), "Kind");
}

#[test]
fn no_path_is_there_twice() {
    for (first, second) in [
        ("a", "a"),
        ("a", "A"),
        ("dir/a", "DIR/A"),
        ("é", "e\u{301}"),
        ("a", "a/b"),
        ("a/b", "a"),
        ("A/b", "a"),
        ("./a", "a"),
    ] {
        let mut check = ArchiveCheck::new(LIMITS);
        check.admit(head(first)).unwrap();
        let second = check.admit(head(second));
        assert!(matches!(second, Err(ArchiveError::Duplicate(_))), "{first}");
    }
}

#[test]
fn lengths_are_limited() {
    let mut check = ArchiveCheck::new(LIMITS);
    let mut limit = |name: &str, packed, read| {
        let file = check
            .admit(EntryHead {
                packed,
                ..head(name)
            })
            .unwrap()
            .unwrap();
        check.count(read);
        (
            file.limit,
            format!("{:?}", file.over)
                .split('(')
                .next()
                .unwrap()
                .to_owned(),
        )
    };
    assert_eq!(limit("a", 10, 0), (SMALL, "Ratio".to_owned()));
    assert_eq!(limit("b", 20_000, 0), (2_000_000, "Ratio".to_owned()));
    assert_eq!(
        limit("c", u64::MAX, LIMITS.file),
        (LIMITS.file, "FileLength".to_owned())
    );
    assert_eq!(
        limit("d", LIMITS.file, LIMITS.file),
        (LIMITS.file, "FileLength".to_owned())
    );
    assert_eq!(limit("e", LIMITS.total, 0), (0, "Total".to_owned()));
    let mut many = ArchiveCheck::new(LIMITS);
    for number in 0..LIMITS.entries {
        many.admit(head(&number.to_string())).unwrap();
    }
    assert_eq!(
        many.admit(head("one more")),
        Err(ArchiveError::Entries(2_000))
    );
}

#[test]
fn one_folder_around_everything_is_removed() {
    let paths = |paths: &[&str]| {
        let files = paths.iter().map(|path| ArchiveFile {
            path: SkillPath::new(path).unwrap(),
            is_executable: None,
            bytes: Vec::new(),
        });
        let files = without_top_folder(files.collect());
        let shown: Vec<String> = files.iter().map(|file| file.path.to_string()).collect();
        shown.join(" ")
    };
    assert_eq!(paths(&["pdf/SKILL.md", "pdf/a/b"]), "SKILL.md a/b");
    assert_eq!(paths(&["SKILL.md", "pdf/a"]), "SKILL.md pdf/a");
    assert_eq!(
        paths(&["pdf/SKILL.md", "png/SKILL.md"]),
        "pdf/SKILL.md png/SKILL.md"
    );
    assert_eq!(paths(&[]), "");
}
