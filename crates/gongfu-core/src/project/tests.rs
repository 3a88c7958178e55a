//! The rule over machines that are made up.

use std::path::{Path, PathBuf};

use super::NoProject::{AboveHome, Home, Own, Root, Settings, Shared, System};
use super::{MARKERS, Machine, NoProject, project};

const ME: u32 = 1000;
const OTHER: u32 = 1001;

/// The project of a folder on a machine where these folders are repositories.
fn found(start: &str, marked: &[&str]) -> Result<PathBuf, NoProject> {
    let is_marked = |folder: &Path| marked.iter().any(|one| folder == Path::new(one));
    let owner = |path: &Path| {
        let is_marker = MARKERS.iter().any(|marker| path.ends_with(marker));
        (!is_marker || path.parent().is_some_and(is_marked)).then_some(ME)
    };
    found_where(start, ME, &owner)
}

/// The same where this user runs gongfu, and the files belong to these.
fn found_where(
    start: &str,
    runner: u32,
    owner: &dyn Fn(&Path) -> Option<u32>,
) -> Result<PathBuf, NoProject> {
    let machine = Machine {
        user: Some(Path::new("/home/me")),
        homes: &["/home/me".into(), "/home/you".into(), "/var/www".into()],
        own: Path::new("/home/me/.local/share/gongfu"),
        runner,
        owner,
        is_private: &|folder| folder.starts_with("/home/me/.ssh"),
    };
    project(Path::new(start), &machine)
}

#[test]
fn nearest_repository_is_the_project_else_the_folder_itself() {
    let marked = ["/home/me/work", "/home/me/work/lib", "/data/x"];
    for (start, wanted) in [
        ("/home/me/work", "/home/me/work"),
        ("/home/me/work/src/deep", "/home/me/work"),
        ("/home/me/work/lib/src", "/home/me/work/lib"),
        ("/home/me/notes", "/home/me/notes"),
        ("/home/me/notes/2026", "/home/me/notes/2026"),
        ("/data/x/y", "/data/x"),
        ("/data/y", "/data/y"),
        ("/tmp/x", "/tmp/x"),
        ("/var/www/site", "/var/www/site"),
        ("/home/you/shared", "/home/you/shared"),
    ] {
        assert_eq!(found(start, &marked), Ok(wanted.into()), "{start}");
    }
}

#[test]
fn folders_that_nobody_means_are_no_projects() {
    for (start, wanted) in [
        ("/", Root),
        ("/home/me", Home),
        ("/home/you", Home),
        ("/var/www", Home),
        ("/home", AboveHome),
        ("/home/me/.local/share/gongfu", Own),
        ("/home/me/.local/share/gongfu/workspaces/x", Own),
        ("/etc", System),
        ("/etc/nginx/sites", System),
        ("/usr/lib/python3", System),
        ("/proc/self", System),
        ("/mnt/c/Windows/System32", System),
        ("/tmp", Shared),
        ("/opt", Shared),
        ("/home/bob", Home),
        ("/Users/me", Home),
        ("/var/home/bob", Home),
        ("/mnt/c/Users/me", Home),
        ("/home/me/.ssh", Settings),
        ("/home/me/.config/app", Settings),
    ] {
        assert_eq!(found(start, &[]), Err(wanted), "{start}");
        // Not even as a repository.
        if !start.contains(".config") {
            assert_eq!(found(start, &[start]), Err(wanted), "{start}");
        }
    }
}

#[test]
fn repository_of_a_home_or_a_system_folder_takes_in_nothing_below_it() {
    let marked = ["/", "/home/me", "/etc", "/tmp", "/home/me/.ssh"];
    assert_eq!(found("/home/me/x", &marked), Ok("/home/me/x".into()));
    assert_eq!(found("/tmp/x", &marked), Ok("/tmp/x".into()));
    assert_eq!(found("/etc/x", &marked), Err(System));
    assert_eq!(found("/home/me/.ssh/x", &marked), Err(Settings));
}

#[test]
fn settings_that_are_a_repository_are_a_project() {
    let marked = ["/home/me/.config/nvim"];
    for start in ["/home/me/.config/nvim", "/home/me/.config/nvim/lua/x"] {
        assert_eq!(found(start, &marked), Ok(marked[0].into()), "{start}");
    }
}

#[test]
fn disks_and_folders_of_services_are_projects_only_as_repositories() {
    for disk in [
        "/mnt/c",
        "/media/cd",
        "/media/me/stick",
        "/Volumes/stick",
        "/var/log",
    ] {
        assert_eq!(found(disk, &[]), Err(Shared), "{disk}");
        assert_eq!(found(disk, &[disk]), Ok(disk.into()), "{disk}");
        let below = format!("{disk}/x");
        assert_eq!(found(&below, &[disk]), Ok(disk.into()), "{disk}");
        if !disk.starts_with("/media/cd") {
            assert_eq!(found(&below, &[]), Ok(below.clone().into()), "{disk}");
        }
    }
    assert_eq!(
        found("/home/bob/x", &["/home/bob"]),
        Ok("/home/bob/x".into())
    );
}

#[test]
fn marker_of_somebody_else_makes_no_project() {
    // The runner, the owners of `/data`, `/data/.git` and `/data/x`, and whether `/data` is the project of `/data/x`.
    for (runner, holder, marker, worker, is_project) in [
        (ME, ME, ME, ME, true),
        (ME, 0, ME, ME, true),
        (ME, 0, 0, ME, true),
        // A folder that many write to.
        (ME, 0, OTHER, ME, false),
        (0, 0, OTHER, 0, false),
        (ME, ME, OTHER, ME, false),
        // Its owner may rename any file to `.git`.
        (ME, OTHER, ME, ME, false),
        (ME, OTHER, 0, ME, false),
        // In a folder of somebody who invites into it, but not above it.
        (ME, OTHER, OTHER, OTHER, true),
        (ME, 0, OTHER, OTHER, false),
        (ME, OTHER, ME, OTHER, true),
        // As root, in a container, on somebody's volume.
        (0, ME, ME, ME, true),
        (0, ME, OTHER, ME, false),
    ] {
        let owner = |path: &Path| match path.to_str().unwrap() {
            "/data" => Some(holder),
            "/data/.git" => Some(marker),
            "/data/x" => Some(worker),
            _ => None,
        };
        let wanted = if is_project { "/data" } else { "/data/x" };
        let case = (runner, holder, marker, worker);
        assert_eq!(
            found_where("/data/x", runner, &owner),
            Ok(wanted.into()),
            "{case:?}"
        );
    }
}

#[test]
fn repository_of_somebody_else_is_in_none_around_it() {
    for (marker, wanted) in [(ME, "/data/vendor"), (OTHER, "/data/vendor/src")] {
        let owner = |path: &Path| match path.to_str().unwrap() {
            "/data/vendor/.git" => Some(marker),
            path if path.contains("/.") && path != "/data/.git" => None,
            _ => Some(ME),
        };
        let found = |start| found_where(start, ME, &owner);
        assert_eq!(found("/data/vendor/src"), Ok(wanted.into()));
        assert_eq!(found("/data/vendor"), Ok("/data/vendor".into()));
        assert_eq!(found("/data/src"), Ok("/data".into()));
    }
}
