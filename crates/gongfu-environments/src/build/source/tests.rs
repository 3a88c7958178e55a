//! Source distributions that lie, and builds that leave more than one wheel.

#![expect(
    clippy::disallowed_methods,
    reason = "plays a build, which writes what it likes"
)]

use std::os::unix::fs::symlink;

use gongfu_files::Home;
use serde_json::json;

use super::{MAX_REQUIRES, is_wheel_of, source, take_wheel};
use crate::storage::{BuildFolder, Storage};

fn printed(requires: &serde_json::Value) -> String {
    json!({ "file": "some_name-1.0.tar.gz", "requires": requires }).to_string()
}

#[test]
fn every_requirement_of_a_build_is_checked() {
    let good = source(
        "Some.Name",
        &printed(&json!(["setuptools>=40.8", " wheel"])),
    )
    .unwrap();
    assert_eq!(
        (good.version.as_str(), good.requires),
        (
            "1.0",
            vec!["setuptools>=40.8".to_owned(), "wheel".to_owned()]
        )
    );
    for bad in [
        "a @ https://localhost/a.whl",
        "-r /etc/hosts",
        "a\n-r /etc/hosts",
        "a\r-r b",
        "./a",
        "",
    ] {
        for before in [0, 49, 50, 51, MAX_REQUIRES - 1] {
            let mut requires = vec!["setuptools"; before];
            requires.push(bad);
            assert!(
                source("some-name", &printed(&json!(requires))).is_err(),
                "{before}: {bad:?}"
            );
        }
    }
    assert!(source("some-name", &printed(&json!(vec!["a"; MAX_REQUIRES]))).is_ok());
    for bad in [
        json!(vec!["a"; MAX_REQUIRES + 1]),
        json!("a"),
        json!({"a": "b"}),
        json!([["a"]]),
        json!([1]),
        json!(null),
    ] {
        let why = source("some-name", &printed(&bad)).unwrap_err();
        assert!(why.contains("build-system.requires"), "{why}");
    }
}

#[test]
fn source_is_of_the_package_that_was_asked_for() {
    for file in [
        "other-1.0.tar.gz",
        "some_name-1.0rc1.tar.gz",
        "some_name.tar.gz",
        "some_name-1.0.zip",
        "some_name-.tar.gz",
    ] {
        let printed = json!({ "file": file, "requires": [] }).to_string();
        assert!(source("some-name", &printed).is_err(), "{file}");
    }
    assert!(source("some-name", "not json").is_err());
}

#[test]
fn wheel_has_the_name_and_the_version_that_were_built() {
    for (file, version) in [
        ("some_name-1.0-py3-none-any.whl", "1.0"),
        ("Some.Name-1-1-cp311-cp311-linux_x86_64.whl", "1.0.0"),
        ("some_name-1.0.post1-py2.py3-none-any.whl", "1.0.post1"),
        ("some_name-1.0-py3-none-any.whl", "v1.0"),
    ] {
        assert!(is_wheel_of(file, "some-name", version), "{file} {version}");
    }
    for (file, version) in [
        ("other-1.0-py3-none-any.whl", "1.0"),
        ("some_name-99.0-py3-none-any.whl", "1.0"),
        ("some_name-1.0.post1-py3-none-any.whl", "1.0"),
        ("some_name-1.0.1-py3-none-any.whl", "1.0.post1"),
        ("some_name-1.0+x-py3-none-any.whl", "1.0"),
        ("some_name-1.0rc1-py3-none-any.whl", "1.0rc1"),
        ("some_name-1.0-py3-none.whl", "1.0"),
        ("some_name-1.0-1-py3-none-any-more.whl", "1.0"),
        ("some_name-1.0-py3-none-any\u{1b}.whl", "1.0"),
        ("some_name-1.0-py3-none-any.zip", "1.0"),
        (".whl", "1.0"),
    ] {
        assert!(!is_wheel_of(file, "some-name", version), "{file} {version}");
    }
}

fn build(home: &tempfile::TempDir) -> (BuildFolder, std::path::PathBuf) {
    let storage = Storage::new(Home::at(home.path()));
    let folder = storage.start_build("k").unwrap().unwrap();
    let made = folder.scratch.join("wheels");
    std::fs::create_dir(&made).unwrap();
    (folder, made)
}

#[test]
fn one_wheel_is_taken_and_nothing_else() {
    let home = tempfile::tempdir().unwrap();
    let name = "some_name-1.0-py3-none-any.whl";
    let (folder, made) = build(&home);
    assert!(
        take_wheel(&folder, "some-name", "1.0").is_err(),
        "there is none"
    );
    std::fs::write(made.join(".gitignore"), "*").unwrap();
    std::fs::write(made.join(name), "wheel").unwrap();
    take_wheel(&folder, "some-name", "1.0").unwrap();
    let taken: Vec<_> = std::fs::read_dir(folder.inputs.join("wheels"))
        .unwrap()
        .collect();
    assert_eq!(taken.len(), 1);
    assert_eq!(
        std::fs::read_to_string(folder.inputs.join("wheels").join(name)).unwrap(),
        "wheel"
    );
    std::fs::write(made.join("good-99.0-py3-none-any.whl"), "wheel").unwrap();
    assert!(
        take_wheel(&folder, "some-name", "1.0").is_err(),
        "there are two"
    );
}

#[test]
fn link_is_no_wheel() {
    let home = tempfile::tempdir().unwrap();
    let (folder, made) = build(&home);
    let name = "some_name-1.0-py3-none-any.whl";
    let secret = home.path().join("secret");
    std::fs::write(&secret, "secret").unwrap();
    for target in [secret.to_str().unwrap(), ".gitignore"] {
        std::fs::write(made.join(".gitignore"), "*").unwrap();
        symlink(target, made.join(name)).unwrap();
        assert!(take_wheel(&folder, "some-name", "1.0").is_err(), "{target}");
        std::fs::remove_file(made.join(name)).unwrap();
    }
    std::fs::remove_file(made.join(".gitignore")).unwrap();
    std::fs::remove_dir(&made).unwrap();
    std::fs::create_dir(home.path().join("elsewhere")).unwrap();
    std::fs::write(home.path().join("elsewhere").join(name), "wheel").unwrap();
    symlink(home.path().join("elsewhere"), &made).unwrap();
    assert!(
        take_wheel(&folder, "some-name", "1.0").is_err(),
        "the folder is a link"
    );
    assert!(!folder.inputs.join("wheels").exists());
}
