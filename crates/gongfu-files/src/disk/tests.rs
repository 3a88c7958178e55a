//! Every way out of a root, with the same file read outside as control.
#![expect(
    clippy::disallowed_methods,
    reason = "tests make the folders that they look at"
)]

use std::os::unix::fs::symlink;

use gongfu_core::port::Change;
use gongfu_core::skill::SkillPath;

use super::{EntryKind, Root, is_escape, is_loop, temporary_name};

fn path(path: &str) -> SkillPath {
    SkillPath::new(path).unwrap()
}

#[test]
fn no_link_leads_out() {
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("inside");
    std::fs::create_dir_all(inside.join("sub")).unwrap();
    std::fs::write(folder.path().join("secret"), "secret").unwrap();
    std::fs::write(inside.join("own"), "own").unwrap();
    symlink(folder.path().join("secret"), inside.join("absolute")).unwrap();
    symlink("../secret", inside.join("relative")).unwrap();
    symlink("..", inside.join("up")).unwrap();
    symlink("/proc/self/root", inside.join("magic")).unwrap();
    symlink("../own", inside.join("sub/allowed")).unwrap();
    symlink("circle", inside.join("circle")).unwrap();
    let root = Root::open(&inside).unwrap();
    // The control: without the handle, each of these is readable.
    for name in ["absolute", "relative", "up/secret"] {
        assert_eq!(
            std::fs::read_to_string(inside.join(name)).unwrap(),
            "secret",
            "{name}: the test is void"
        );
        assert!(
            is_escape(&root.read(&path(name), 10).unwrap_err()),
            "{name}"
        );
    }
    assert!(
        is_escape(&root.read(&path("magic/etc/hostname"), 10).unwrap_err())
            || is_loop(&root.read(&path("magic/etc/hostname"), 10).unwrap_err())
    );
    assert_eq!(root.read(&path("sub/allowed"), 10).unwrap().bytes, b"own");
    assert!(
        is_escape(
            &root
                .below(&path("sub"))
                .unwrap()
                .read(&path("allowed"), 10)
                .unwrap_err()
        ),
        "a narrower root is narrower"
    );
    assert!(is_loop(&root.read(&path("circle"), 10).unwrap_err()));
}

#[test]
fn a_pipe_does_not_hang_and_is_no_file() {
    let folder = tempfile::tempdir().unwrap();
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        folder.path().join("pipe"),
        rustix::fs::Mode::RUSR,
    )
    .unwrap();
    let root = Root::open(folder.path()).unwrap();
    let error = root.read(&path("pipe"), 10).unwrap_err();
    assert_eq!(error.to_string(), "a named pipe is not a regular file");
    assert_eq!(
        root.list(&SkillPath::root()).unwrap()[0].kind,
        EntryKind::Special("a named pipe")
    );
}

#[test]
fn a_file_is_cut_at_the_limit_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("f"), "0123456789").unwrap();
    let root = Root::open(folder.path()).unwrap();
    let content = root.read(&path("f"), 4).unwrap();
    assert_eq!(
        (content.bytes.as_slice(), content.size, content.is_cut()),
        (&b"0123"[..], 10, true)
    );
    assert!(!root.read(&path("f"), 10).unwrap().is_cut());
    root.replace("f", b"new", true).unwrap();
    assert_eq!(root.read(&path("f"), 10).unwrap().bytes, b"new");
    assert_eq!(
        root.list(&SkillPath::root()).unwrap().len(),
        1,
        "nothing temporary is left"
    );
}

#[test]
fn reports_a_foreign_name() {
    use std::os::unix::ffi::OsStrExt as _;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(std::ffi::OsStr::from_bytes(b"\xff")), "").unwrap();
    std::fs::write(folder.path().join("back\\slash"), "").unwrap();
    let kinds: Vec<EntryKind> = Root::open(folder.path())
        .unwrap()
        .list(&SkillPath::root())
        .unwrap()
        .iter()
        .map(|entry| entry.kind)
        .collect();
    assert_eq!(kinds, [EntryKind::Unnameable, EntryKind::Unnameable]);
}

#[cfg(unix)]
#[test]
fn only_a_link_leads_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(folder.path().join("socket")).unwrap();
    symlink("socket", folder.path().join("link")).unwrap();
    let root = Root::open(folder.path()).unwrap();
    for (name, leads) in [("socket", false), ("link", true)] {
        let change = Change {
            bytes: b"x",
            expected: None,
        };
        let said = format!("{:?}", root.put(&path(name), change).unwrap_err());
        assert!(said.contains("gongfu doesn't write through"), "{said}");
        assert_eq!(said.contains("its target"), leads, "{said}");
    }
}

#[test]
fn next_write_removes_what_a_killed_one_left() {
    let folder = tempfile::tempdir().unwrap();
    let root = Root::open(folder.path()).unwrap();
    let [old, young, large] = [(); 3].map(|()| temporary_name("data.txt"));
    let others = [
        ".data.txt.0123456789abcdef",
        ".data.txt.0123456789abcde.gongfu-new",
        ".data.txt.0123456789ABCDEF.gongfu-new",
        "data.txt.0123456789abcdef.gongfu-new",
    ];
    let ago = |name: &str, seconds| {
        let file = std::fs::File::open(folder.path().join(name)).unwrap();
        let age = std::time::Duration::from_secs(seconds);
        file.set_modified(std::time::SystemTime::now() - age)
            .unwrap();
    };
    std::fs::create_dir(folder.path().join(&large)).unwrap();
    std::fs::write(folder.path().join(&large).join("part"), "x").unwrap();
    ago(&large, 3_600);
    for name in [&old, &young] {
        std::fs::write(folder.path().join(name), "half").unwrap();
    }
    ago(&old, 3_600);
    // Its writer may be at work.
    let file = std::fs::File::open(folder.path().join(&young)).unwrap();
    let later = std::time::SystemTime::now() + std::time::Duration::from_hours(1);
    file.set_modified(later).unwrap();
    for name in others {
        std::fs::write(folder.path().join(name), "of somebody").unwrap();
        ago(name, 3_600);
    }
    let left = |name: &str| folder.path().join(name).exists();
    assert!([&old, &young, &large].iter().all(|name| left(name)));
    root.replace("data.txt", b"new", false).unwrap();
    assert_eq!(
        (left(&old), left(&large), left(&young)),
        (false, false, true)
    );
    assert!(others.iter().all(|name| left(name)));
    // The other ways to write sweep, too.
    let at = path("other.txt");
    let change = Change {
        bytes: b"x",
        expected: None,
    };
    ago(&young, 3_600);
    root.put(&at, change).unwrap();
    assert!(!left(&young));
    std::fs::write(folder.path().join(&old), "half").unwrap();
    ago(&old, 3_600);
    root.put_folder("made", &[("a", b"x")]).unwrap();
    assert!(!left(&old) && left("made/a") && left("data.txt"));
}
