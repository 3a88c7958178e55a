//! A home that is read-only, full, or holds the data of a newer version: a clear error, and nothing is lost.
#![cfg(target_os = "linux")]
#![expect(
    clippy::disallowed_methods,
    reason = "the tools of the system are looked for where the environment says"
)]

use std::collections::BTreeMap;

use super::full::can_mount;
use crate::fixture::{Fixture, Ran, Run};

/// Mounts the home read-only.
const READ_ONLY: &str = "mount --bind home home; mount -o remount,bind,ro home";
/// Puts the home on a disk with no room left.
const FULL: &str = "cp -a home kept; mount -t tmpfs -o size=256k tmpfs home; cp -a kept/. home; \
    rm -rf home/search home/index; dd if=/dev/zero of=home/fill bs=1k 2>/dev/null";

/// Runs a command after these mounts; leaves the files of the home as they are then in `after`.
fn mounted(fixture: &Fixture, run: Run, mounts: &str) -> Ran {
    let after = r#""$@"; code=$?; rm -rf after kept; cp -a home after; exit $code"#;
    let script = format!(r#"exec unshare -rm sh -c '{mounts}; {after}' sh "$@""#);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let run = run.within(fixture.path("")).with("PATH", path);
    run.through(&script).run()
}

/// The files that are a person's own.
fn own(fixture: &Fixture, home: &str) -> BTreeMap<&'static str, String> {
    let names = ["config.toml", "switches.json", "grants.json"];
    names
        .map(|name| (name, fixture.read(format!("{home}/{name}"))))
        .into()
}

fn fixture() -> Fixture {
    let fixture = Fixture::with_skills();
    fixture.only(["skill", "disable", "pdf-tools"]).good();
    fixture
        .gongfu(["config", "set", "sandbox.memory_mib", "256"])
        .good();
    let grant = ["grant", "add", "release-notes", "example.com"];
    fixture.only(grant).good();
    fixture
}

#[test]
fn home_without_room_or_permission_loses_nothing_and_says_why() {
    if !can_mount() {
        return;
    }
    let fixture = fixture();
    let before = own(&fixture, "home");
    let home = fixture.path("home");
    let home = home.to_string_lossy();
    for (mounts, why) in [
        (READ_ONLY, "read-only file system"),
        (FULL, "the disk is full"),
    ] {
        let listed = mounted(&fixture, fixture.only(["skill", "list"]), mounts);
        assert_eq!(listed.code, Some(0), "{why}: {}", listed.stderr);
        assert!(listed.text().contains("pdf-tools"), "{}", listed.text());
        for change in [
            &["skill", "enable", "pdf-tools"][..],
            &["grant", "remove", "release-notes", "example.com"],
            &["config", "set", "sandbox.memory_mib", "512"],
            &["config", "unset", "sandbox.memory_mib"],
            &["source", "add", "skills"],
        ] {
            let run = match change {
                ["skill" | "grant", ..] => fixture.only(change),
                _ => fixture.gongfu(change),
            };
            let ran = mounted(&fixture, run, mounts);
            let said = &ran.stderr;
            assert_eq!(ran.code, Some(1), "{change:?}: {said}");
            assert!(
                said.contains(why) && said.contains("hint:"),
                "{change:?}: {said}"
            );
            assert!(said.contains(&*home), "{change:?}: {said}");
            // One fault is told once, in words.
            assert_eq!(said.matches(why).count(), 1, "{change:?}: {said}");
            assert!(!said.contains("os error"), "{change:?}: {said}");
            assert_eq!(own(&fixture, "after"), before, "{change:?}");
            assert_eq!(own(&fixture, "home"), before, "{change:?}");
        }
        let doctor = mounted(&fixture, fixture.only(["doctor", "--json"]), mounts).json();
        let check = doctor
            .as_array()
            .unwrap()
            .iter()
            .find(|check| check["id"] == "home");
        assert_eq!(check.unwrap()["status"], "fail", "{doctor:#}");
    }
}

#[test]
fn home_that_cannot_be_created_is_named() {
    if !can_mount() {
        return;
    }
    let fixture = Fixture::with_skills();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let script = r#"exec unshare -rm sh -c 'mount -t tmpfs -o ro tmpfs user; "$@"' sh "$@""#;
    for arguments in [
        &["init", "--offline"][..],
        &["config", "set", "server.listen", "127.0.0.1:1"],
    ] {
        let run = fixture.gongfu(arguments).within(fixture.path(""));
        let run = run
            .with("PATH", &path)
            .with("GONGFU_HOME", fixture.path("user/home"));
        let said = run.through(script).ends(1).stderr;
        assert!(
            said.contains("error[HOME_UNUSABLE]") && said.contains("GONGFU_HOME"),
            "{said}"
        );
        assert!(
            said.contains("user/home") && !said.contains("os error"),
            "{said}"
        );
    }
}

#[test]
fn data_of_a_newer_version_is_left_alone() {
    let fixture = fixture();
    for (file, newer, command) in [
        (
            "switches.json",
            r#"{"disabled":[],"until":{}}"#,
            &["skill", "enable", "pdf-tools"][..],
        ),
        (
            "grants.json",
            r#"{"grants":[],"rules":[]}"#,
            &["grant", "add", "release-notes", "a.example.com"],
        ),
        (
            "approvals.json",
            r#"{"all":[],"last_serial":1,"policy":1}"#,
            &["approve", "list"],
        ),
    ] {
        let file = format!("home/{file}");
        let before = fixture.path(&file).exists().then(|| fixture.read(&file));
        fixture.write(&file, newer);
        let ran = match command {
            ["approve", ..] => fixture.gongfu(command),
            _ => fixture.only(command),
        };
        let said = ran.ends(1).stderr;
        assert!(
            said.contains("newer gongfu") && said.contains("update"),
            "{file}: {said}"
        );
        assert!(!said.contains("remove it"), "{file}: {said}");
        assert_eq!(fixture.read(&file), newer);
        match before {
            Some(before) => drop(fixture.write(&file, &before)),
            None => std::fs::remove_file(fixture.path(&file)).unwrap(),
        }
    }
    // What can be made again is made again.
    let listed = fixture.listed();
    for folder in ["index", "search"] {
        for entry in std::fs::read_dir(fixture.path(format!("home/{folder}")))
            .into_iter()
            .flatten()
        {
            let path = entry.unwrap().path();
            if path.is_file() {
                std::fs::write(path, b"of another version").unwrap();
            }
        }
    }
    assert_eq!(fixture.listed(), listed);
    fixture.write(
        "home/config.toml",
        "[sandbox]\nmemory_mib = 256\nwarp = true\n",
    );
    let said = fixture.only(["skill", "list"]).ends(1).stderr;
    assert!(
        said.contains("line 3") && said.contains("sandbox.warp"),
        "{said}"
    );
    let told = fixture.gongfu(["config", "check"]).ends(1).text();
    assert!(
        told.contains("update gongfu if a newer version wrote it"),
        "{told}"
    );
}
