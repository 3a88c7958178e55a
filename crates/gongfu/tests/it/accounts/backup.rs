//! Backups: everything of users is in them as it is, and one that was changed restores nothing.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use gongfu_testing::json::text_at;
use serde_json::{Value, json};

use super::{Users, add};
use crate::fixture::{Fixture, Ran, Run};

/// A user with a workspace, and a backup of it.
struct Workspace {
    fixture: Fixture,
    /// The name of the workspace's folder.
    name: String,
}

/// Names that are fine on disk, and that no path of a skill could be.
const ODD: [&[u8]; 6] = [b"a:b", b"a\\b", b"a\tb", b"a\nb", b"\xff\xfe", b" .x. "];

impl Workspace {
    fn new() -> Self {
        let fixture = Fixture::new();
        add(&fixture, "ann");
        let users = fixture.gongfu(["user", "list", "--json"]).good().json();
        let name = format!("user-{}", text_at(&users, "/users/0/id"));
        let workspace = fixture.path("home/workspaces").join(&name);
        fs::create_dir_all(workspace.join("sub")).unwrap();
        for odd in ODD {
            fs::write(workspace.join(OsStr::from_bytes(odd)), odd).unwrap();
            let below = workspace.join("sub").join(OsStr::from_bytes(odd));
            fs::create_dir(&below).unwrap();
            fs::write(below.join("x"), "x").unwrap();
        }
        fs::write(workspace.join("run.sh"), "#!/bin/sh\n").unwrap();
        fs::set_permissions(workspace.join("run.sh"), Permissions::from_mode(0o750)).unwrap();
        symlink("run.sh", workspace.join("latest")).unwrap();
        symlink("/etc", workspace.join("sub/outside")).unwrap();
        symlink("nowhere", workspace.join("broken")).unwrap();
        Self { fixture, name }
    }

    fn backup(&self) -> Run {
        let copy = self.fixture.path("copy");
        self.fixture
            .gongfu([OsStr::new("backup"), copy.as_os_str()])
    }

    fn restore(&self) -> Run {
        let copy = self.fixture.path("copy");
        let restore = [OsStr::new("restore"), copy.as_os_str()];
        self.fixture
            .gongfu(restore)
            .with("GONGFU_HOME", self.home())
    }

    /// The home into which it is restored.
    fn home(&self) -> PathBuf {
        self.fixture.path("restored/home")
    }

    /// A path in the workspace, as the backup has it.
    fn copied(&self, path: &str) -> PathBuf {
        self.fixture
            .path("copy/workspaces")
            .join(&self.name)
            .join(path)
    }

    fn listed(&self) -> Value {
        let list = fs::read(self.fixture.path("copy/backup.json")).unwrap();
        serde_json::from_slice(&list).unwrap()
    }

    /// Refuses to restore with this code, and leaves nothing.
    fn is_refused(&self, code: &str, what: &str) -> Ran {
        let refused = self.restore().ends(1);
        let stderr = &refused.stderr;
        assert!(stderr.contains(&format!("error[{code}]")), "{stderr}");
        assert!(stderr.contains(what), "{what}: {stderr}");
        assert!(stderr.contains("hint: "), "{stderr}");
        assert!(!self.fixture.path("restored").exists());
        refused
    }
}

#[test]
fn backup_has_files_of_any_name_and_links_that_nothing_follows() {
    let saved = Workspace::new();
    let from = saved.fixture.path("home/workspaces").join(&saved.name);
    let _socket = UnixListener::bind(from.join("sub/socket")).unwrap();
    let told = saved.backup().good();
    assert!(
        told.text().contains("13 files and 3 links"),
        "{}",
        told.text()
    );
    let warned = &told.stderr;
    assert!(
        warned.contains("warning[LEFT_OUT]") && warned.contains("sub/socket"),
        "{warned}"
    );
    let listed = saved.listed();
    assert_eq!(listed["left_out"], 1);
    let path = format!("workspaces/{}/sub/socket", saved.name);
    assert_eq!(
        listed["left_out_paths"],
        json!([{"path": path, "why": "it is a socket"}])
    );

    saved.restore().good();
    let to = saved.home().join("workspaces").join(&saved.name);
    for odd in ODD.map(OsStr::from_bytes) {
        assert_eq!(fs::read(to.join(odd)).unwrap(), odd.as_bytes());
        assert_eq!(fs::read(to.join("sub").join(odd).join("x")).unwrap(), b"x");
    }
    let mode = fs::metadata(to.join("run.sh"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o750);
    let target = |path: &str| fs::read_link(to.join(path)).unwrap();
    assert_eq!(target("latest"), Path::new("run.sh"));
    assert_eq!(target("sub/outside"), Path::new("/etc"));
    assert_eq!(target("broken"), Path::new("nowhere"));
    assert!(!saved.home().join(".restore").exists());
}

#[test]
fn file_of_a_workspace_that_was_changed_in_a_backup_restores_nothing() {
    let saved = Workspace::new();
    saved.backup().good();
    let (script, added) = (saved.copied("run.sh"), saved.copied("sub/added"));
    fs::write(&script, "#!/bin/zsh\n").unwrap();
    saved.is_refused("BACKUP_DAMAGED", "run.sh was changed");
    fs::remove_file(&script).unwrap();
    saved.is_refused("BACKUP_DAMAGED", "run.sh is missing");
    symlink("/bin/true", &script).unwrap();
    saved.is_refused("BACKUP_DAMAGED", "run.sh was changed");
    fs::remove_file(&script).unwrap();
    fs::write(&script, "#!/bin/sh\n").unwrap();
    fs::write(&added, "x").unwrap();
    saved.is_refused("BACKUP_DAMAGED", "sub/added was added");
    fs::remove_file(&added).unwrap();
    let link = saved.copied("latest");
    fs::remove_file(&link).unwrap();
    symlink("/etc/passwd", &link).unwrap();
    saved.is_refused("BACKUP_DAMAGED", "latest was changed");
    fs::remove_file(&link).unwrap();
    symlink("run.sh", &link).unwrap();

    let files = saved.fixture.path("copy/files.jsonl");
    let lines = fs::read(&files).unwrap();
    fs::write(&files, &lines[..lines.len() - 1]).unwrap();
    saved.is_refused("BACKUP_DAMAGED", "files.jsonl was changed");
    fs::write(&files, lines).unwrap();
    saved.restore().good();
}

#[test]
fn home_without_users_takes_a_backup_and_one_with_users_keeps_them() {
    let saved = Workspace::new();
    saved.backup().good();
    let home = saved.home();
    let looked = saved.fixture.gongfu(["user", "list"]);
    looked.with("GONGFU_HOME", &home).good();
    assert!(home.join("server.db").exists());
    // Files of the same user, which a restore that broke off once left behind.
    let left = home.join("workspaces").join(&saved.name);
    fs::create_dir_all(&left).unwrap();
    fs::write(left.join("old"), "x").unwrap();
    let before = entries(&home);
    let refused = saved.restore().ends(1).stderr;
    assert!(refused.contains("error[HOME_IN_USE]"), "{refused}");
    assert!(refused.contains(&saved.name), "{refused}");
    assert_eq!(entries(&home), before);
    fs::remove_file(left.join("old")).unwrap();
    saved.restore().good();
    let users = saved.fixture.gongfu(["user", "list"]);
    let users = users.with("GONGFU_HOME", &home).good();
    assert!(users.text().contains("ann@example.com"), "{}", users.text());

    let before = entries(&home);
    let again = saved.restore().ends(1);
    assert!(
        again.stderr.contains("error[HOME_IN_USE]"),
        "{}",
        again.stderr
    );
    assert_eq!(entries(&home), before);
}

#[test]
fn failed_restore_leaves_the_home_as_it_was() {
    let users = Users::new();
    let create = json!({"name": "budget", "description": "Reads budgets. Use it for budgets."});
    assert_eq!(users.tool(&users.ann, "skill_create", create).status, 200);
    let write = json!({"path": "notes.txt", "content": "mine"});
    assert_eq!(users.tool(&users.ann, "file_write", write).status, 200);
    let saved = Workspace {
        fixture: users.fixture,
        name: String::new(),
    };
    saved.backup().good();
    let blob = blob(&saved.fixture.path("copy/users"));
    let whole = fs::read(&blob).unwrap();
    fs::write(&blob, "x").unwrap();
    saved.is_refused("BACKUP_DAMAGED", "another digest");
    fs::remove_file(&blob).unwrap();
    saved.is_refused("BACKUP_DAMAGED", "the content");

    // A home with something in it keeps that alone.
    let home = saved.home();
    fs::create_dir_all(home.join("workspaces/mine")).unwrap();
    fs::write(home.join("config.toml"), "").unwrap();
    let before = entries(&home);
    saved.restore().ends(1);
    assert_eq!(entries(&home), before);
    fs::write(&blob, whole).unwrap();
    let database = saved.fixture.path("copy/server.db");
    let aside = saved.fixture.path("copy/aside");
    fs::rename(&database, &aside).unwrap();
    let missing = saved.restore().ends(1).stderr;
    assert!(
        missing.contains("error[BACKUP_DAMAGED]") && missing.contains("server.db is missing"),
        "{missing}"
    );
    assert_eq!(entries(&home), before);
    fs::rename(&aside, &database).unwrap();
    saved.restore().good();
    assert!(home.join("workspaces/mine").exists());
}

#[test]
fn grants_and_switches_of_the_operator_are_in_a_backup() {
    let saved = Workspace::new();
    let home = saved.fixture.path("home");
    let grants = r#"{"version": 1}"#;
    fs::write(home.join("grants.json"), grants).unwrap();
    saved.backup().good();
    let copy = saved.fixture.path("copy/grants.json");
    fs::write(&copy, "{}").unwrap();
    saved.is_refused("BACKUP_DAMAGED", "grants.json was changed");
    fs::write(&copy, grants).unwrap();

    fs::create_dir_all(saved.home()).unwrap();
    fs::write(saved.home().join("grants.json"), "{}").unwrap();
    let refused = saved.restore().ends(1).stderr;
    assert!(refused.contains("error[HOME_IN_USE]"), "{refused}");
    fs::remove_file(saved.home().join("grants.json")).unwrap();
    saved.restore().good();
    let restored = fs::read_to_string(saved.home().join("grants.json")).unwrap();
    assert_eq!(restored, grants);
    assert!(!saved.home().join("switches.json").exists());
}

#[test]
fn backup_that_another_version_made_and_folders_that_cant_be_one_say_the_way_on() {
    let saved = Workspace::new();
    saved.backup().good();
    let list = saved.fixture.path("copy/backup.json");
    for (format, hint) in [(99, "update gongfu"), (1, "with that gongfu")] {
        let other = json!({"format": format, "something": "new"});
        fs::write(&list, other.to_string()).unwrap();
        saved.is_refused("BACKUP_FORMAT", hint);
    }
    fs::remove_file(&list).unwrap();
    saved.is_refused("BACKUP_UNUSABLE", "isn't complete");
    for folder in ["/dev/null", "/dev/null/below", "/proc/new"] {
        let refused = saved.fixture.gongfu(["backup", folder]).ends(1).stderr;
        assert!(refused.contains("error[FOLDER_UNUSABLE]"), "{refused}");
        assert!(refused.contains("hint: "), "{refused}");
    }
}

#[test]
fn backup_that_is_read_only_is_restored() {
    let workspace = Workspace::new();
    workspace.backup().good();
    let fixture = &workspace.fixture;
    let shut = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    let copy = fixture.path("copy");
    let below = entries(&copy);
    for path in below.iter().filter(|path| !path.is_symlink()) {
        shut(path, if path.is_dir() { 0o555 } else { 0o444 });
    }
    shut(&copy, 0o555);
    for open in [".", "project"] {
        shut(&fixture.path(open), 0o777);
    }
    let mut restore = workspace.restore();
    // Root may write anything, so that somebody else has to restore it.
    if rustix::process::getuid().is_root() {
        let program = fixture.path("gongfu");
        fs::copy(env!("CARGO_BIN_EXE_gongfu"), &program).unwrap();
        shut(&program, 0o755);
        restore = restore.owned_by(program, 65_534);
    }
    restore.good();
    assert!(workspace.home().join("server.db").exists());
    assert_eq!(entries(&copy), below);
    for path in below
        .iter()
        .filter(|path| path.is_dir() && !path.is_symlink())
    {
        shut(path, 0o755);
    }
    shut(&copy, 0o755);
}

/// All paths below a folder.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.is_symlink() {
                open.push(path.clone());
            }
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The first content of a skill.
fn blob(users: &Path) -> PathBuf {
    let mut found = entries(users);
    found.retain(|path| path.is_file());
    found.remove(0)
}
