//! Interpreters of version managers.
#![expect(
    clippy::disallowed_methods,
    reason = "tests make the folders that they look at"
)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::others;

fn put(folder: &Path, path: &str, bytes: &[u8]) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// The paths that runs see, below a folder.
fn found(folder: &Path, path: &[&str]) -> Vec<String> {
    let path: Vec<_> = path.iter().map(|below| folder.join(below)).collect();
    let mounts = others(&path, &[])
        .into_iter()
        .flat_map(|other| other.mounts);
    let below = mounts.map(|mount| {
        let source = mount.sources[0].strip_prefix(folder).unwrap();
        source.display().to_string()
    });
    below.collect()
}

const PROGRAM: &[u8] = b"\x7fELF..";

#[test]
fn interpreter_shows_itself_and_its_library_alone() {
    let folder = tempfile::tempdir().unwrap();
    let folder = fs::canonicalize(folder.path()).unwrap();
    for (path, bytes) in [
        ("nvm/v22/bin/node", PROGRAM),
        ("nvm/v22/lib/node_modules/npm/bin/npm-cli.js", b""),
        ("nvm/v22/share/x", b""),
        ("pyenv/shims/python3", b"#!/bin/sh"),
        ("pyenv/version", b"3.12.1\n"),
        ("pyenv/versions/3.12.1/bin/python3.12", PROGRAM),
        ("pyenv/versions/3.12.1/bin/pip", b"#!/bin/sh"),
        ("pyenv/versions/3.12.1/lib/python3.12/os.py", b""),
        ("pyenv/versions/3.12.1/lib/libpython3.12.so.1.0", b""),
        ("pyenv/versions/3.12.1/lib/other", b""),
        ("climbing/shims/ruby", b"#!/bin/sh"),
        ("climbing/version", b"../../nvm/v22\n"),
        ("scripts/python3", b"#!/bin/sh"),
    ] {
        put(&folder, path, bytes);
    }
    let version = folder.join("pyenv/versions/3.12.1");
    symlink("python3.12", version.join("bin/python3")).unwrap();
    let npm = folder.join("nvm/v22/bin/npm");
    symlink("../lib/node_modules/npm/bin/npm-cli.js", &npm).unwrap();
    let all = ["scripts", "nvm/v22/bin", "pyenv/shims", "climbing/shims"];
    let python = "pyenv/versions/3.12.1";
    assert_eq!(
        found(&folder, &all),
        [
            format!("{python}/bin/python3.12"),
            format!("{python}/lib/python3.12"),
            format!("{python}/lib/libpython3.12.so.1.0"),
            "nvm/v22/bin/node".to_owned(),
            "nvm/v22/lib/node_modules".to_owned(),
        ]
    );
    let node = others(&[folder.join("nvm/v22/bin")], &[]).remove(0);
    let to = folder.join("nvm/v22/lib/node_modules/npm/bin/npm-cli.js");
    let link = (npm.display().to_string(), to.display().to_string());
    assert_eq!(node.links, [link]);
    assert_eq!(found(&folder, &[]), [""; 0]);
    // The system's own comes first, so it is meant.
    assert_eq!(others(&["/usr/bin", "/bin"].map(Into::into), &[]), []);
    // Further ones of Python are named as files; what is no program isn't one.
    let further = [
        folder.join(python).join("bin/python3.12"),
        folder.join("none"),
    ];
    assert_eq!(others(&[], &further).len(), 1);
    // A link leads to where it is installed.
    symlink(folder.join("nvm/v22/bin"), folder.join("current")).unwrap();
    assert_eq!(found(&folder, &["current"]).len(), 2);
}

#[test]
fn interpreter_in_a_home_shows_nothing_else_of_it() {
    let home = tempfile::tempdir().unwrap();
    let home = fs::canonicalize(home.path()).unwrap();
    for (path, bytes) in [
        ("bin/python3", PROGRAM),
        ("bin/own-tool", PROGRAM),
        ("lib/x", b""),
        (".ssh/id_ed25519", b"key"),
        (".local/bin/php", PROGRAM),
        (".local/lib/x", b""),
        (".local/share/secret", b""),
    ] {
        put(&home, path, bytes);
    }
    assert_eq!(found(&home, &["bin"]), ["bin/python3"]);
    assert_eq!(found(&home, &[".local/bin"]), [".local/bin/php"]);
    // A library that is a link to the home, or to a folder beside it.
    let elsewhere = tempfile::tempdir().unwrap();
    for to in [&home, elsewhere.path()] {
        symlink(to, home.join("lib/python3")).unwrap();
        assert_eq!(found(&home, &["bin"]), ["bin/python3"]);
        fs::remove_file(home.join("lib/python3")).unwrap();
    }
    // The control: one that is there is shown.
    put(&home, "lib/python3/os.py", b"");
    assert_eq!(found(&home, &["bin"]), ["bin/python3", "lib/python3"]);
}
