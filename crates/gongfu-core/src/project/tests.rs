//! The rule over machines that are made up.

use std::path::{Path, PathBuf};

use super::NoProject::{AboveHome, Home, Own, Root, Settings, Shared, System};
use super::{Machine, NoProject, project};

/// The project of a folder on a machine where these folders are repositories.
fn found(start: &str, marked: &[&str]) -> Result<PathBuf, NoProject> {
    let machine = Machine {
        user: Some(Path::new("/home/me")),
        homes: &["/home/me".into(), "/home/you".into(), "/var/www".into()],
        own: Path::new("/home/me/.local/share/gongfu"),
        is_marked: &|folder| marked.iter().any(|one| folder == Path::new(one)),
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
        ("/tmp", Shared),
        ("/opt", Shared),
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
