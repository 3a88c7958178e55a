//! Tests of a profile, read as the system reads it: the last matching rule decides.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::{RunRights, Unnamable, profile, quoted};

/// A word, a text, or several in parentheses.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    Word(String),
    Text(String),
    List(Vec<Node>),
}

/// Parses a profile.
fn read(text: &str) -> Vec<Node> {
    let mut open = vec![Vec::new()];
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '(' => open.push(Vec::new()),
            ')' => {
                let list = open.pop().unwrap();
                open.last_mut().unwrap().push(Node::List(list));
            }
            '"' => {
                let mut text = String::new();
                loop {
                    match letters.next().unwrap() {
                        '"' => break,
                        '\\' => text.push(letters.next().unwrap()),
                        letter => text.push(letter),
                    }
                }
                open.last_mut().unwrap().push(Node::Text(text));
            }
            letter if letter.is_whitespace() => {}
            letter => {
                let mut word = String::from(letter);
                while let Some(next) = letters.next_if(|next| !" \n()\"".contains(*next)) {
                    word.push(next);
                }
                open.last_mut().unwrap().push(Node::Word(word));
            }
        }
    }
    assert_eq!(open.len(), 1, "a parenthesis is left open: {text}");
    open.pop().unwrap()
}

/// Returns whether the word of a rule covers an operation.
fn is_of(said: &str, what: &str) -> bool {
    said == "default"
        || said == what
        || said
            .strip_suffix('*')
            .is_some_and(|all| what.starts_with(all))
}

/// Returns whether a filter matches a path.
fn fits(filter: &Node, path: &Path) -> bool {
    let Node::List(parts) = filter else {
        return false;
    };
    let [Node::Word(kind), Node::Text(of)] = parts.as_slice() else {
        return false;
    };
    match kind.as_str() {
        "literal" => path == Path::new(of),
        "subpath" => path.starts_with(of),
        _ => false,
    }
}

/// Returns whether a profile allows an operation on a path.
fn may(profile: &str, what: &str, path: &str) -> bool {
    let mut answer = true;
    for rule in read(profile) {
        let Node::List(mut parts) = rule else {
            panic!("{rule:?} is no rule");
        };
        if parts.first() == Some(&Node::Word("if".to_owned())) {
            let Some(Node::List(inner)) = parts.pop() else {
                panic!("{parts:?} does nothing");
            };
            parts = inner;
        }
        let verdict = match parts.first() {
            Some(Node::Word(word)) if word == "allow" => true,
            Some(Node::Word(word)) if word == "deny" => false,
            _ => continue,
        };
        let is_meant = parts.iter().skip(1).any(|part| match part {
            Node::Word(said) => is_of(said, what),
            _ => false,
        });
        let mut filters = parts.iter().filter(|part| matches!(part, Node::List(_)));
        let is_for_all = filters.clone().next().is_none();
        if is_meant && (is_for_all || filters.any(|filter| fits(filter, Path::new(path)))) {
            answer = verdict;
        }
    }
    answer
}

/// A profile of a run that may read a skill and write to a workspace.
fn usual() -> String {
    let readable = [
        PathBuf::from("/private/var/folders/ab/T/gongfu-run-7"),
        PathBuf::from("/Users/me/skills/pdf"),
    ];
    let writable = [
        PathBuf::from("/private/var/folders/ab/T/gongfu-run-7/tmp"),
        PathBuf::from("/Users/me/work"),
    ];
    let rights = RunRights {
        itself: Path::new("/Users/me/.cargo/bin/gongfu"),
        readable: &readable,
        writable: &writable,
    };
    profile(&rights).unwrap()
}

#[test]
fn only_granted_paths_are_readable_and_executable() {
    let profile = usual();
    for path in [
        "/Users/me/skills/pdf/scripts/run.py",
        "/Users/me/work/notes",
        "/private/var/folders/ab/T/gongfu-run-7/seen/skill",
        "/usr/bin/python3",
        "/System/Library/Frameworks/CoreFoundation.framework/CoreFoundation",
        "/Users/me/.cargo/bin/gongfu",
    ] {
        for what in [
            "file-read-data",
            "file-read-metadata",
            "process-exec",
            "file-map-executable",
        ] {
            assert!(may(&profile, what, path), "{what} {path}");
        }
    }
    for path in [
        "/Users/me/.ssh/id_ed25519",
        "/Users/me/skills/pdf2/SKILL.md",
        "/Users/me/skills",
        "/Users/me/.cargo/bin/other",
        "/Users/you/skills/pdf/SKILL.md",
        "/System/Volumes/Data/Users/me/.ssh/id_ed25519",
        "/private/etc/master.passwd",
        "/private/var/folders/ab/T/gongfu-run-8/tmp/x",
        "/opt/homebrew/var/db",
        "/dev/disk0",
        "/dev/tty",
    ] {
        for what in ["file-read-data", "process-exec", "file-map-executable"] {
            assert!(!may(&profile, what, path), "{what} {path}");
        }
    }
    // That a folder is there may be seen, where something in it may be read, and not what else is in it.
    assert!(may(&profile, "file-read-metadata", "/Users/me"));
    assert!(!may(&profile, "file-read-metadata", "/Users/me/.ssh"));
    assert!(may(&profile, "file-test-existence", "/usr/bin/env"));
    assert!(!may(&profile, "file-test-existence", "/Users/me/.ssh"));
}

#[test]
fn only_granted_paths_are_writable() {
    let profile = usual();
    for path in [
        "/Users/me/work/new",
        "/private/var/folders/ab/T/gongfu-run-7/tmp/x",
    ] {
        for what in [
            "file-write-create",
            "file-write-data",
            "file-write-unlink",
            "file-write-mode",
        ] {
            assert!(may(&profile, what, path), "{what} {path}");
        }
        assert!(!may(&profile, "file-write-setugid", path), "{path}");
        assert!(!may(&profile, "file-link", path), "{path}");
    }
    assert!(may(&profile, "file-write-data", "/dev/null"));
    for path in [
        "/Users/me/skills/pdf/SKILL.md",
        "/Users/me/.cargo/bin/gongfu",
        "/private/var/folders/ab/T/gongfu-run-7/seen",
        "/private/var/folders/ab/T/gongfu-run-7/programs/python",
        "/usr/local/bin/new",
        "/dev/null",
        "/Users/me/worker",
    ] {
        for what in ["file-write-create", "file-write-unlink", "file-write-mode"] {
            assert!(!may(&profile, what, path), "{what} {path}");
        }
    }
    // A place can't be swapped for a link to another one.
    for what in ["file-write-create", "file-write-unlink"] {
        assert!(!may(&profile, what, "/Users/me/work"), "{what}");
    }
}

#[test]
fn network_services_and_other_processes_are_denied() {
    let profile = usual();
    for what in [
        "network-outbound",
        "network-inbound",
        "network-bind",
        "mach-register",
        "mach-priv-task-port",
        "iokit-open",
        "nvram-get",
        "sysctl-write",
        "job-creation",
        "appleevent-send",
        "lsopen",
        "ipc-posix-shm-write-data",
        "file-mount",
    ] {
        assert!(!may(&profile, what, "/Users/me/work/x"), "{what}");
    }
    assert!(profile.contains("(allow signal (target same-sandbox))"));
    assert!(!profile.contains("(allow signal)") && !profile.contains("(allow default)"));
    assert_eq!(profile.matches("global-name").count(), 1);
    // By these the variables of every process could be read.
    assert!(!profile.contains("kern.proc") && !profile.contains("(allow sysctl-read)"));
}

#[test]
fn path_is_quoted_or_refused() {
    let text = |path: &str| quoted(Path::new(path));
    assert_eq!(text("/a b/ü").unwrap(), "\"/a b/ü\"");
    assert_eq!(text(r#"/a"b"#).unwrap(), r#""/a\"b""#);
    assert_eq!(text(r"/a\").unwrap(), r#""/a\\""#);
    for path in [
        "", "/", "a", "./a", "../a", "/a/..", "/a/../b", "/a/./b", "/a//b", "/a/", "/a/.",
    ] {
        assert_eq!(text(path), None, "{path}");
    }
    for path in ["/a\nb", "/a\0b", "/a\u{7f}", "/a\u{85}b"] {
        assert_eq!(text(path), None, "{path:?}");
    }
    assert_eq!(quoted(Path::new(OsStr::from_bytes(b"/\xff"))), None);
}

#[test]
fn path_can_not_break_out_of_its_quotes() {
    let odd = PathBuf::from(r#"/Users/me/x") (subpath "/Users") (literal "\"#);
    let readable = [odd.clone()];
    let rights = RunRights {
        itself: Path::new("/usr/local/bin/gongfu"),
        readable: &readable,
        writable: &[],
    };
    let profile = profile(&rights).unwrap();
    assert!(may(&profile, "file-read-data", odd.to_str().unwrap()));
    assert!(!may(&profile, "file-read-data", "/Users/me/.ssh/id"));
    assert!(!may(&profile, "file-write-data", odd.to_str().unwrap()));
}

#[test]
fn relative_path_and_root_are_errors() {
    for (readable, writable) in [("/", "/w"), ("/r", "/"), ("r", "/w"), ("/r", "/w\n")] {
        let (readable, writable) = ([PathBuf::from(readable)], [PathBuf::from(writable)]);
        let rights = RunRights {
            itself: Path::new("/usr/local/bin/gongfu"),
            readable: &readable,
            writable: &writable,
        };
        let Err(Unnamable(path)) = profile(&rights) else {
            panic!("{rights:?}");
        };
        assert!(readable.contains(&path) || writable.contains(&path));
    }
    let rights = RunRights {
        itself: Path::new("gongfu"),
        readable: &[],
        writable: &[],
    };
    assert!(
        profile(&rights)
            .unwrap_err()
            .to_string()
            .contains("`gongfu`")
    );
}
