//! Interpreters of version managers.
#![expect(
    clippy::disallowed_methods,
    reason = "tests make the folders that they look at"
)]

use std::fs;
use std::path::Path;

use super::prefixes;

fn put(folder: &Path, path: &str, bytes: &[u8]) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

fn found(folder: &Path, path: &[&str]) -> Vec<String> {
    let path: Vec<_> = path.iter().map(|below| folder.join(below)).collect();
    let found = prefixes(&path);
    let below = found.iter().map(|path| path.strip_prefix(folder).unwrap());
    below.map(|path| path.display().to_string()).collect()
}

#[test]
fn only_prefixes_of_version_managers_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let folder = fs::canonicalize(folder.path()).unwrap();
    for (path, bytes) in [
        ("nvm/v22/bin/node", b"\x7fELF..".as_slice()),
        ("nvm/v22/lib/x", b""),
        ("pyenv/shims/python3", b"#!/bin/sh"),
        ("pyenv/version", b"3.12.1\n"),
        ("pyenv/versions/3.12.1/bin/python3", b"\x7fELF.."),
        ("pyenv/versions/3.12.1/lib/x", b""),
        ("climbing/shims/ruby", b"#!/bin/sh"),
        ("climbing/version", b"../../nvm/v22\n"),
        ("scripts/python3", b"#!/bin/sh"),
        (".local/bin/php", b"\x7fELF.."),
        (".local/lib/x", b""),
        (".local/share/secret", b""),
        ("bare/bin/perl", b"\x7fELF.."),
    ] {
        put(&folder, path, bytes);
    }
    let all = [
        "scripts",
        "nvm/v22/bin",
        "pyenv/shims",
        "climbing/shims",
        ".local/bin",
        "bare/bin",
    ];
    assert_eq!(found(&folder, &all), ["pyenv/versions/3.12.1", "nvm/v22"]);
    assert_eq!(found(&folder, &[]), [""; 0]);
    // The system's own comes first, so it is meant.
    assert_eq!(
        prefixes(&["/usr/bin", "/bin"].map(Into::into)),
        [""; 0].map(Path::new)
    );
    // A link leads to where it is installed.
    std::os::unix::fs::symlink(folder.join("nvm/v22/bin"), folder.join("current")).unwrap();
    assert_eq!(found(&folder, &["current"]), ["nvm/v22"]);
}
