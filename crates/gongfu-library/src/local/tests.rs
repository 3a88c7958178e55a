//! The local library over real folders.
#![expect(
    clippy::disallowed_methods,
    reason = "tests make the folders that they look at"
)]

#[cfg(target_os = "linux")]
mod start;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use gongfu_core::port::{Clock, SkillStore as _, Timestamp};
use gongfu_core::skill::SkillPath;
use gongfu_core::switches::Switches;
use gongfu_files::Home;
use gongfu_records::FileRecords;
use gongfu_testing::{FixedClock, now};

use super::LocalSkills;
use super::state::Stage;
use crate::source::Settings;
use crate::switches::SwitchRecord;

/// The skills that `settings` lead to, with all else below a home.
pub(super) fn open(home: Home, settings: Settings, clock: Arc<dyn Clock>) -> LocalSkills {
    let records = FileRecords::new(home.clone());
    let file = records.path_of(&Switches::key().unwrap());
    let switches = SwitchRecord::new(Arc::new(records)).in_file(file);
    LocalSkills::new(home, settings, switches, clock)
}

fn skills(home: &Path, roots: &[&Path]) -> LocalSkills {
    let settings = Settings {
        explicit: roots.iter().map(|root| root.to_path_buf()).collect(),
        ..Settings::default()
    };
    open(
        Home::at(home),
        settings,
        // Far ahead of every file; every answer is stale at once.
        Arc::new(FixedClock::stepping(Timestamp(4_000_000_000_000), 2_000)),
    )
}

fn put(root: &Path, folder: &str, description: &str) {
    fs::create_dir_all(root.join(folder)).unwrap();
    let name = folder.rsplit('/').next().unwrap();
    fs::write(
        root.join(folder).join("SKILL.md"),
        format!("---\nname: {name}\ndescription: {description}\n---\nbody\n"),
    )
    .unwrap();
}

#[test]
fn no_request_waits_while_watches_are_made() {
    let (home, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    put(root.path(), "one", "first");
    let settings = Settings {
        explicit: vec![root.path().to_path_buf()],
        ..Settings::default()
    };
    let clock = FixedClock::stepping(Timestamp(4_000_000_000_000), 1_500);
    let skills = open(Home::at(home.path()), settings, Arc::new(clock));
    skills.lock().watch.stage = Stage::Starting;
    let first = skills.current().unwrap();
    // As the thread that makes the watches.
    let busy = skills.lock();
    let known = skills.at_once().expect("more than a second later");
    assert_eq!(known.revision(), first.revision());
    for _ in 0..3 {
        skills.at_once();
    }
    assert!(skills.at_once().is_none(), "it is too old");
    drop(busy);
    put(root.path(), "two", "second");
    assert_eq!(skills.current().unwrap().skills().len(), 2);
}

fn listed(skills: &LocalSkills) -> Vec<String> {
    skills
        .current()
        .unwrap()
        .skills()
        .iter()
        .map(|skill| format!("{}: {}", skill.full_name, skill.description))
        .collect()
}

#[test]
fn sees_every_change_and_reads_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("lib");
    put(&root, "a", "one");
    put(&root, "b/c", "two");
    let library = skills(&folder.path().join("home"), &[&root]);
    assert_eq!(listed(&library), ["lib/a: one", "lib/b/c: two"]);
    let before = library.current().unwrap();
    assert!(
        Arc::ptr_eq(&before, &library.current().unwrap()),
        "an unchanged library is the same one"
    );
    put(&root, "a", "changed");
    put(&root, "d", "new");
    fs::remove_dir_all(root.join("b")).unwrap();
    assert_eq!(listed(&library), ["lib/a: changed", "lib/d: new"]);
    fs::write(root.join("a/extra.md"), "x").unwrap();
    assert_eq!(
        library.current().unwrap().resolve("a").unwrap().files.len(),
        2
    );
    fs::remove_dir_all(&root).unwrap();
    assert_eq!(listed(&library), [] as [&str; 0]);
    assert_eq!(
        library.current().unwrap().unloadable().len(),
        1,
        "a named folder that is gone is told"
    );
}

#[test]
fn the_index_is_used_and_can_be_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let (root, home) = (folder.path().join("lib"), folder.path().join("home"));
    put(&root, "a", "one");
    assert_eq!(listed(&skills(&home, &[&root])), ["lib/a: one"]);
    let index: Vec<_> = fs::read_dir(home.join("index")).unwrap().collect();
    assert_eq!(index.len(), 2);
    assert_eq!(listed(&skills(&home, &[&root])), ["lib/a: one"]);
    // Content that changed behind unchanged stamps is served from the index: that it is used shows.
    let file = root.join("a/SKILL.md");
    let canonical = fs::canonicalize(&root).unwrap();
    let settled: Vec<bool> =
        crate::index::load(&Home::at(&home), &canonical, |row, _| Ok(row.settled));
    assert_eq!(settled, [true]);
    fs::remove_dir_all(home.join("index")).unwrap();
    assert_eq!(listed(&skills(&home, &[&root])), ["lib/a: one"]);
    fs::write(&file, "changed").unwrap();
    assert_eq!(listed(&skills(&home, &[&root])), ["lib/a: changed"]);
}

#[test]
fn one_real_folder_is_one_skill() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("lib");
    put(&root, "a", "outer");
    put(&root, "a/inner", "inner");
    fs::create_dir_all(root.join("a/copy")).unwrap();
    fs::copy(root.join("a/SKILL.md"), root.join("a/copy/SKILL.md")).unwrap();
    let library = skills(&folder.path().join("home"), &[&root, &root.join("a")]);
    assert_eq!(listed(&library), ["lib/a: outer", "lib/a/inner: inner"]);
    let current = library.current().unwrap();
    let files: Vec<&str> = current.skills()[0]
        .files
        .iter()
        .map(|file| file.path.as_str())
        .collect();
    assert_eq!(
        files,
        ["SKILL.md", "copy/SKILL.md", "inner/SKILL.md"],
        "files of an inner skill belong to the outer one too"
    );
}

#[test]
fn switch_holds_across_starts() {
    let folder = tempfile::tempdir().unwrap();
    let (root, home) = (folder.path().join("lib"), folder.path().join("home"));
    put(&root, "a", "one");
    let library = skills(&home, &[&root]);
    let current = library.current().unwrap();
    let skill = current.resolve("a").unwrap();
    assert!(now(library.set_enabled(skill, false)).unwrap());
    assert!(library.current().unwrap().resolve("a").is_err());
    assert!(
        skills(&home, &[&root])
            .current()
            .unwrap()
            .resolve("a")
            .is_err()
    );
    assert!(now(library.set_enabled(skill, true)).unwrap());
    assert!(
        skills(&home, &[&root])
            .current()
            .unwrap()
            .resolve("a")
            .is_ok()
    );
}

#[test]
fn reads_current_content_and_nothing_outside() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("lib");
    put(&root, "a", "one");
    fs::write(root.join("secret"), "secret").unwrap();
    std::os::unix::fs::symlink("../secret", root.join("a/link")).unwrap();
    let library = skills(&folder.path().join("home"), &[&root]);
    let current = library.current().unwrap();
    let skill = current.resolve("a").unwrap();
    let read = |path: &str| now(library.read(skill, &SkillPath::new(path).unwrap(), 1000));
    fs::write(root.join("a/SKILL.md"), "now").unwrap();
    assert_eq!(read("SKILL.md").unwrap().bytes, b"now");
    assert_eq!(
        fs::read_to_string(root.join("a/link")).unwrap(),
        "secret",
        "else the test is void"
    );
    assert_eq!(
        read("link").unwrap_err().to_string(),
        "it leads outside its folder"
    );
    assert_eq!(read("none").unwrap_err().to_string(), "not found");
}

#[tokio::test]
async fn change_of_a_file_that_is_not_listed_is_a_change_of_the_skill() {
    let home = tempfile::tempdir().unwrap();
    let root = tempfile::tempdir().unwrap();
    put(root.path(), "plain", "Nothing but its document.");
    put(root.path(), "s", "Has more than its document.");
    let folder = root.path().join("s");
    for path in [".lib/a.py", "lib/node_modules/x/index.js", ".git/index"] {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "1").unwrap();
    }
    std::os::unix::fs::symlink("a.py", folder.join(".lib/link")).unwrap();
    let large = fs::File::create(folder.join("model.bin")).unwrap();
    large.set_len(17 * 1024 * 1024).unwrap();
    let skills = skills(home.path(), &[root.path()]);
    let now = async |name: &str| {
        let skill = skills.current().unwrap().resolve(name).unwrap().clone();
        let whole = skills.with_unlisted(&skill).await.unwrap();
        (whole.digest(), whole.unlisted.len())
    };
    assert_eq!(now("plain").await.1, 0);
    let (mut before, count) = now("s").await;
    assert_eq!(count, 4, "two files, a link, and the large one");
    assert_eq!(now("s").await.0, before);
    fs::write(folder.join(".git/index"), "2").unwrap();
    assert_eq!(now("s").await.0, before, "git changes its files by itself");
    for path in [".lib/a.py", "lib/node_modules/x/index.js", "model.bin"] {
        // Its length changes: two changes within one tick of the clock have one time.
        let file = fs::OpenOptions::new().append(true).open(folder.join(path));
        std::io::Write::write_all(&mut file.unwrap(), b"2").unwrap();
        let after = now("s").await.0;
        assert_ne!(after, before, "{path}");
        before = after;
    }
    fs::remove_file(folder.join(".lib/link")).unwrap();
    std::os::unix::fs::symlink("other.py", folder.join(".lib/link")).unwrap();
    assert_ne!(now("s").await.0, before, "a link leads elsewhere");
}
