//! Tests of what is private where a folder is shown by another path, as a bind mount does.
#![expect(
    clippy::disallowed_methods,
    reason = "tests make the folders that they look at"
)]

use std::fs;
use std::path::{Path, PathBuf};

use super::PrivatePaths;
use crate::home::Home;

/// Another path to the same folder, which isn't a link to it as far as names tell.
fn other(path: &Path) -> PathBuf {
    Path::new("/proc/self/root").join(path.strip_prefix("/").unwrap_or(path))
}

#[test]
fn private_folders_are_known_by_every_path() {
    let folder = tempfile::tempdir().unwrap();
    let user = folder.path().canonicalize().unwrap();
    for path in [
        ".ssh",
        ".config/gh",
        ".config/other",
        ".local/share/gongfu/changes/1",
        ".local/share/gongfu/workspaces/x",
        "project",
    ] {
        fs::create_dir_all(user.join(path)).unwrap();
    }
    let home = Home::at(user.join(".local/share/gongfu"));
    let private = PrivatePaths::new(&home, Some(&user));
    for (path, is_refused) in [
        (".local/share/gongfu", true),
        (".local/share/gongfu/changes/1", true),
        (".local/share/gongfu/workspaces", true),
        (".local/share/gongfu/workspaces/x", false),
        (".local/share", false),
        ("project", false),
    ] {
        for path in [user.join(path), other(&user.join(path))] {
            assert_eq!(private.refuses(&path), is_refused, "{path:?}");
        }
    }
    for (path, hidden) in [
        ("", &[".config/gh", ".local/share/gongfu", ".ssh"][..]),
        (".config", &["gh"]),
        (".local", &["share/gongfu"]),
        (".local/share/gongfu/workspaces/x", &[]),
        ("project", &[]),
    ] {
        for path in [user.join(path), other(&user.join(path))] {
            let expected: Vec<PathBuf> = hidden.iter().map(|one| path.join(one)).collect();
            assert_eq!(private.below(&path), expected, "{path:?}");
        }
    }
}
