//! A workspace and its mounts on a real disk: what is reached, kept, refused.
#![expect(
    clippy::disallowed_methods,
    reason = "tests make the folders that they look at"
)]

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use gongfu_core::place::Location;
use gongfu_core::port::{Change, Files as _, FolderEntryKind, PortError};
use gongfu_testing::now;

use super::LocalWorkspace;
use crate::home::Home;
use crate::mount::Mount;
use crate::private::PrivatePaths;

fn write(workspace: &LocalWorkspace, path: &str, bytes: &[u8]) -> Result<bool, PortError> {
    change(workspace, path, bytes, None)
}

fn change(
    workspace: &LocalWorkspace,
    path: &str,
    bytes: &[u8],
    expected: Option<&[u8]>,
) -> Result<bool, PortError> {
    let place = Location::parse(path).unwrap();
    let change = Change { bytes, expected };
    now(workspace.write(&place, change))
}

fn read(workspace: &LocalWorkspace, path: &str) -> Result<Vec<u8>, PortError> {
    let place = Location::parse(path).unwrap();
    now(workspace.read(&place, 1_000)).map(|content| content.bytes)
}

fn names(workspace: &LocalWorkspace, path: &str) -> Result<Vec<String>, PortError> {
    let place = Location::parse(path).unwrap();
    let entries = now(workspace.list(&place))?;
    let shown = entries.into_iter().map(|entry| match entry.kind {
        FolderEntryKind::File(size) => format!("{} {size}", entry.name),
        FolderEntryKind::Folder => format!("{}/", entry.name),
        FolderEntryKind::Other(what) => format!("{}: {what}", entry.name),
    });
    Ok(shown.collect())
}

#[test]
fn a_workspace_is_made_when_it_is_written_to() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("home/workspaces/x");
    let workspace = LocalWorkspace::new(path.clone(), &[]).unwrap();
    assert_eq!(names(&workspace, "").unwrap(), [""; 0]);
    assert!(matches!(names(&workspace, "a"), Err(PortError::NotFound)));
    assert!(matches!(read(&workspace, "a"), Err(PortError::NotFound)));
    assert!(!path.exists());
    assert!(write(&workspace, "a/b/c.txt", b"one").unwrap());
    assert!(!write(&workspace, "a/b/c.txt", b"two").unwrap());
    assert_eq!(read(&workspace, "a/b/c.txt").unwrap(), b"two");
    assert_eq!(read(&workspace, "/workspace/a/b/c.txt").unwrap(), b"two");
    assert_eq!(names(&workspace, "a/b").unwrap(), ["c.txt 3"]);
    fs::remove_dir_all(&path).unwrap();
    assert!(write(&workspace, "again", b"one").unwrap());
    assert_eq!(names(&workspace, "").unwrap(), ["again 3"]);
}

#[test]
fn reports_and_leaves_entries_that_are_no_files() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    fs::write(folder.path().join("file"), "f").unwrap();
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        folder.path().join("pipe"),
        rustix::fs::Mode::RUSR,
    )
    .unwrap();
    let workspace = LocalWorkspace::new(folder.path().to_owned(), &[]).unwrap();
    assert!(matches!(
        write(&workspace, "sub", b""),
        Err(PortError::IsAFolder)
    ));
    assert!(matches!(
        write(&workspace, "", b""),
        Err(PortError::IsAFolder)
    ));
    assert!(matches!(read(&workspace, "sub"), Err(PortError::IsAFolder)));
    assert!(matches!(
        names(&workspace, "file"),
        Err(PortError::NotAFolder)
    ));
    assert!(matches!(
        write(&workspace, "file/x", b""),
        Err(PortError::NotAFolder)
    ));
    assert!(matches!(
        write(&workspace, "pipe", b""),
        Err(PortError::Denied(_))
    ));
    assert!(matches!(
        read(&workspace, "pipe"),
        Err(PortError::Denied(_))
    ));
    assert_eq!(
        names(&workspace, "").unwrap(),
        ["file 1", "pipe: a named pipe", "sub/"]
    );
}

#[test]
fn links_lead_nowhere_but_inside() {
    let folder = tempfile::tempdir().unwrap();
    let (inside, outside) = (folder.path().join("in"), folder.path().join("out"));
    fs::create_dir_all(inside.join("real")).unwrap();
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret"), "secret").unwrap();
    symlink(&outside, inside.join("away")).unwrap();
    symlink("../out/secret", inside.join("file")).unwrap();
    symlink("../out/new", inside.join("dangling")).unwrap();
    symlink("real", inside.join("near")).unwrap();
    symlink("real/x", inside.join("link")).unwrap();
    // The control: by the system's own calls each of them leads out.
    assert_eq!(
        fs::read_to_string(inside.join("away/secret")).unwrap(),
        "secret"
    );
    assert_eq!(fs::read_to_string(inside.join("file")).unwrap(), "secret");
    let workspace = LocalWorkspace::new(inside.clone(), &[]).unwrap();
    for path in [
        "away/secret",
        "away/new",
        "away/deep/new",
        "file",
        "dangling",
        "link",
    ] {
        let refused = write(&workspace, path, b"planted");
        assert!(
            matches!(refused, Err(PortError::Denied(_))),
            "{path}: {refused:?}"
        );
    }
    for path in ["away/secret", "file"] {
        assert!(
            matches!(read(&workspace, path), Err(PortError::Denied(_))),
            "{path}"
        );
    }
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    assert_eq!(
        fs::read_to_string(outside.join("secret")).unwrap(),
        "secret"
    );
    assert!(write(&workspace, "near/x", b"through").unwrap());
    assert_eq!(fs::read(inside.join("real/x")).unwrap(), b"through");
    assert_eq!(read(&workspace, "link").unwrap(), b"through");
    assert_eq!(
        names(&workspace, "").unwrap(),
        [
            "away: a link: it leads outside its folder",
            "dangling: a link: it leads outside its folder",
            "file: a link: it leads outside its folder",
            "link 7",
            "near/",
            "real/"
        ]
    );
}

#[test]
fn replaced_file_keeps_its_mode_and_leaves_its_hard_links() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.sh");
    fs::write(&file, "old").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o750)).unwrap();
    fs::hard_link(&file, folder.path().join("other")).unwrap();
    let workspace = LocalWorkspace::new(folder.path().to_owned(), &[]).unwrap();
    write(&workspace, "run.sh", b"new").unwrap();
    assert_eq!(fs::metadata(&file).unwrap().mode() & 0o7777, 0o750);
    assert_eq!(fs::read(folder.path().join("other")).unwrap(), b"old");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
    assert!(matches!(
        write(&workspace, "run.sh", b"x"),
        Err(PortError::Unavailable(_))
    ));
    let long = "n".repeat(255);
    assert!(write(&workspace, &long, b"long").unwrap());
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        3,
        "nothing temporary is left"
    );
}

#[test]
fn refuses_an_edit_of_a_changed_file() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = LocalWorkspace::new(folder.path().to_owned(), &[]).unwrap();
    write(&workspace, "f", b"one").unwrap();
    assert!(!change(&workspace, "f", b"two", Some(b"one")).unwrap());
    for expected in [&b"one"[..], b"two more", b"tw", b""] {
        let refused = change(&workspace, "f", b"three", Some(expected));
        assert!(
            matches!(refused, Err(PortError::Conflict(_))),
            "{refused:?}"
        );
    }
    assert_eq!(read(&workspace, "f").unwrap(), b"two");
}

#[test]
fn one_of_two_writers_wins_whole() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = LocalWorkspace::new(folder.path().to_owned(), &[]).unwrap();
    let texts = [vec![b'a'; 100_000], vec![b'b'; 200_000]];
    std::thread::scope(|scope| {
        for text in &texts {
            scope.spawn(|| {
                (0..20).for_each(|_| {
                    write(&workspace, "f", text).unwrap();
                });
            });
        }
        scope.spawn(|| {
            for _ in 0..200 {
                if let Ok(content) = fs::read(folder.path().join("f")) {
                    assert!(texts.contains(&content), "{} bytes", content.len());
                }
            }
        });
    });
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn edits_at_once_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = LocalWorkspace::new(folder.path().to_owned(), &[]).unwrap();
    write(&workspace, "f", b"").unwrap();
    let done: usize = std::thread::scope(|scope| {
        let editors: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let tries = (0..20).filter(|_| {
                        let before = read(&workspace, "f").unwrap();
                        let after = [&before[..], b"x"].concat();
                        change(&workspace, "f", &after, Some(&before)).is_ok()
                    });
                    tries.count()
                })
            })
            .collect();
        editors
            .into_iter()
            .map(|editor| editor.join().unwrap())
            .sum()
    });
    assert_eq!(read(&workspace, "f").unwrap().len(), done);
}

#[test]
fn mounts_reach_as_far_as_they_say() {
    let folder = tempfile::tempdir().unwrap();
    let at = |below: &str| folder.path().join(below);
    for below in ["w", "data/deep", "other"] {
        fs::create_dir_all(at(below)).unwrap();
    }
    fs::write(at("data/file"), "data").unwrap();
    fs::write(at("data/deep/file"), "deep").unwrap();
    let host = |below: &str| at(below).to_string_lossy().into_owned();
    let mounts = [
        host("data"),
        format!("{}:/short:ro", host("data")),
        format!("{}:/short/deep", host("other")),
    ]
    .map(|text| text.parse::<Mount>().unwrap());
    let workspace = LocalWorkspace::new(at("w"), &mounts).unwrap();
    assert_eq!(read(&workspace, &host("data/file")).unwrap(), b"data");
    assert!(write(&workspace, &host("data/new"), b"n").unwrap());
    assert_eq!(read(&workspace, "/short/new").unwrap(), b"n");
    assert!(matches!(
        write(&workspace, "/short/x", b""),
        Err(PortError::ReadOnly { .. })
    ));
    assert!(
        write(&workspace, "/short/deep/x", b"").unwrap(),
        "the innermost mount"
    );
    assert!(at("other/x").exists());
    for outside in [
        host("other/x"),
        host("data2"),
        host(""),
        "/etc/passwd".to_owned(),
        "/shorter".to_owned(),
        "/".to_owned(),
    ] {
        let refused = read(&workspace, &outside);
        assert!(
            matches!(refused, Err(PortError::Denied(_))),
            "{outside}: {refused:?}"
        );
    }
}

#[test]
fn a_mount_is_declared_in_one_line() {
    let parse = |text: &str| {
        text.parse::<Mount>()
            .map(|mount| (mount.host, mount.guest.to_string(), mount.read_only))
            .map_err(|error| error.to_string())
    };
    let host = || Path::new("/a/b").to_owned();
    assert_eq!(parse("/a/b"), Ok((host(), "a/b".into(), false)));
    assert_eq!(parse("/a/b:ro"), Ok((host(), "a/b".into(), true)));
    assert_eq!(parse("/a/b:/c/"), Ok((host(), "c".into(), false)));
    assert_eq!(parse("/a/b:/c:ro"), Ok((host(), "c".into(), true)));
    for (text, why) in [
        ("", "has no host folder"),
        (":/x", "has no host folder"),
        ("/a:b", "is not an absolute path"),
        ("/a:/b:/c", "too many colons"),
        ("/a:/b/../c", "contains `..`"),
        ("/a:/", "whole file system"),
        ("/a:/workspace/x", "reserved for the workspace"),
    ] {
        let error = parse(text).unwrap_err();
        assert!(
            error.contains(why) && error.contains("HOST"),
            "{text}: {error}"
        );
    }
    let missing = "/nowhere/at/all".parse().unwrap();
    let error = LocalWorkspace::new("/w".into(), &[missing]).unwrap_err();
    assert!(
        error.to_string().contains("use a folder that exists"),
        "{error}"
    );
}

#[test]
fn keys_and_the_home_of_gongfu_are_hidden_below_mounts() {
    let folder = tempfile::tempdir().unwrap();
    let at = |below: &str| folder.path().join(below);
    for (path, text) in [
        (".ssh/id", "key"),
        (".config/gh/hosts.yml", "token"),
        (".local/share/gongfu/approvals.json", "{}"),
        (".local/share/gongfu/workspaces/x/file", "own"),
        ("dotfiles/aws/credentials", "key"),
        ("project/file", "text"),
        ("project/.npmrc", "own"),
        ("other/.bashrc", ""),
        ("other/.npmrc", "token"),
    ] {
        fs::create_dir_all(at(path).parent().unwrap()).unwrap();
        fs::write(at(path), text).unwrap();
    }
    symlink("dotfiles/aws", at(".aws")).unwrap();
    symlink("../.ssh", at("project/keys")).unwrap();
    symlink(".ssh/id", at("link")).unwrap();
    let home = Home::at(at(".local/share/gongfu"));
    let private = || PrivatePaths::new(&home, Some(folder.path()));
    let of = |path: &str, mounts: &[Mount]| {
        let workspace = LocalWorkspace::new(at(path), mounts).unwrap();
        workspace.with_private(private())
    };
    let whole = of("", &[]).unwrap();
    let private_paths = [
        ".ssh/id",
        ".ssh/new",
        ".config/gh/hosts.yml",
        ".aws/credentials",
        "dotfiles/aws/credentials",
        "link",
        "project/keys/id",
        ".local/share/gongfu/approvals.json",
        ".local/share/gongfu/workspaces/x/file",
    ];
    for path in private_paths {
        let refused = read(&whole, path);
        assert!(
            matches!(refused, Err(PortError::Denied(_))),
            "{path}: {refused:?}"
        );
        let refused = write(&whole, path, b"x");
        assert!(
            matches!(refused, Err(PortError::Denied(_))),
            "{path}: {refused:?}"
        );
    }
    // The control: the same without.
    let open = LocalWorkspace::new(folder.path().to_owned(), &[]).unwrap();
    assert_eq!(read(&open, ".ssh/id").unwrap(), b"key");
    assert_eq!(read(&whole, "project/file").unwrap(), b"text");
    // A run sees none of them.
    let seen = |workspace: &LocalWorkspace, source: &str| {
        workspace.hidden(&[gongfu_core::sandbox::Mount {
            sources: vec![at(source).canonicalize().unwrap()],
            target: "/workspace".to_owned(),
            mode: gongfu_core::sandbox::Mode::Layered,
            keep: None,
        }])
    };
    let hidden = seen(&whole, "");
    let expected = [
        "/workspace/.config/gh",
        "/workspace/.local/share/gongfu",
        "/workspace/.ssh",
        "/workspace/dotfiles/aws",
    ];
    assert_eq!(hidden, expected);
    assert_eq!(seen(&whole, "project"), [""; 0]);
    // A project's own file, and that of a home which nobody named.
    assert_eq!(read(&whole, "project/.npmrc").unwrap(), b"own");
    assert_eq!(seen(&whole, "other"), ["/workspace/.npmrc"]);
    // What is named itself is reached; gongfu's own folder isn't, but for workspaces.
    let keys = of(".ssh", &[]).unwrap();
    assert_eq!(read(&keys, "id").unwrap(), b"key");
    for refused in [
        ".local/share/gongfu",
        ".local/share/gongfu/audit",
        ".local/share/gongfu/workspaces",
    ] {
        fs::create_dir_all(at(refused)).unwrap();
        let error = of(refused, &[]).unwrap_err().to_string();
        assert!(error.contains("gongfu's own folder"), "{error}");
        let mount = at(refused).display().to_string().parse().unwrap();
        assert!(of("project", &[mount]).is_err(), "{refused}");
    }
    let own = of(".local/share/gongfu/workspaces/x", &[]).unwrap();
    assert_eq!(read(&own, "file").unwrap(), b"own");
}

#[test]
fn long_answers_are_kept_outside_of_the_folder_and_the_oldest_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("project");
    let workspace = LocalWorkspace::new(path.clone(), &[]).unwrap();
    let keep = |workspace: &LocalWorkspace, number: usize| {
        let name = format!("{number:03}-tool");
        now(workspace.keep(&name, "answer.json", b"[1]"))
    };
    assert!(matches!(keep(&workspace, 0), Err(PortError::Denied(_))));
    let workspace = workspace.with_logs(folder.path().join("logs"));
    let first = keep(&workspace, 0).unwrap();
    assert_eq!(read(&workspace, &first).unwrap(), b"[1]");
    assert!(keep(&workspace, 0).is_err(), "an answer replaced another");
    assert!(write(&workspace, &first, b"other").is_err());
    for number in 1..=super::MAX_OUTPUTS + 5 {
        keep(&workspace, number).unwrap();
    }
    assert!(read(&workspace, &first).is_err());
    assert!(names(&workspace, "/runs").unwrap().len() <= super::MAX_OUTPUTS + 1);
    assert!(!path.exists());
}
