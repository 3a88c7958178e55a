//! The library while folders change: what is seen, when, and who is told.
//!
//! The clock stands still, so that without watches nothing would be looked at a second time.
#![expect(
    clippy::disallowed_methods,
    reason = "tests make the folders that they look at"
)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use gongfu_core::account::Owner;
use gongfu_core::library::{Library, Revision};
use gongfu_core::port::{Clock, SkillStore as _, Timestamp};

use crate::home::Home;
use crate::local::LocalSkills;
use crate::source::Settings;
use crate::watch::{Limit, Unwatchable};

/// Longer than any machine takes.
const PATIENCE: Duration = Duration::from_secs(30);

/// A clock that stands, far ahead of every file, until somebody moves it.
#[derive(Clone)]
struct Still(Arc<AtomicI64>);

impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Relaxed))
    }
}

impl Still {
    fn new() -> Self {
        Self(Arc::new(AtomicI64::new(4_000_000_000_000)))
    }
}

struct Ground {
    folder: tempfile::TempDir,
    clock: Still,
}

impl Ground {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            clock: Still::new(),
        }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(below)
    }

    fn write(&self, below: &str, text: &str) {
        fs::create_dir_all(self.path(below).parent().unwrap()).unwrap();
        fs::write(self.path(below), text).unwrap();
    }

    fn skill(&self, folder: &str, description: &str) {
        let name = folder.rsplit('/').next().unwrap();
        self.write(
            &format!("{folder}/SKILL.md"),
            &format!("---\nname: {name}\ndescription: {description}\n---\nbody\n"),
        );
    }

    fn settings(&self) -> Settings {
        Settings {
            explicit: vec![self.path("lib")],
            ..Settings::default()
        }
    }

    fn library(&self, settings: Settings, home: &str) -> Arc<LocalSkills> {
        let home = Home::at(self.path(home));
        let clock = Arc::new(self.clock.clone());
        Arc::new(LocalSkills::new(home, settings, clock))
    }

    /// A library that is watched, and one that isn't.
    fn both(&self) -> (Arc<LocalSkills>, Arc<LocalSkills>) {
        let watched = self.library(self.settings(), "home");
        let control = self.library(self.settings(), "home-control");
        let states = watched.watching(Limit::default());
        assert!(
            states.iter().all(|state| state.unwatched.is_none()),
            "{states:?}"
        );
        control.current().unwrap();
        (watched, control)
    }

    /// What somebody sees who comes only now.
    fn fresh(&self, settings: Settings) -> Vec<String> {
        let home = tempfile::tempdir().unwrap();
        let clock = Arc::new(self.clock.clone());
        shape(&LocalSkills::new(Home::at(home.path()), settings, clock))
    }
}

/// Everything about a library that anybody can see.
fn shape(skills: &LocalSkills) -> Vec<String> {
    let library = skills.current().unwrap();
    let mut all: Vec<String> = library
        .skills()
        .iter()
        .map(|skill| format!("{skill:?}"))
        .collect();
    all.extend(library.unloadable().iter().map(|left| format!("{left:?}")));
    all
}

fn listed(skills: &LocalSkills) -> Vec<String> {
    let library = skills.current().unwrap();
    let one = |skill: &Arc<gongfu_core::library::Skill>| {
        format!("{}: {}", skill.full_name, skill.description)
    };
    library.skills().iter().map(one).collect()
}

/// Something that happens to the folders.
type Change = fn(&Ground);

#[test]
fn each_change_is_seen_by_the_next_call() {
    let ground = Ground::new();
    ground.skill("lib/a", "one");
    ground.skill("lib/group/b", "two");
    let (watched, control) = ground.both();
    let old = listed(&control);
    let changes: [(&str, Change); 24] = [
        ("a file is added", |g| g.write("lib/a/extra.md", "x")),
        ("a file changes", |g| g.write("lib/a/extra.md", "[x](y.md)")),
        ("a file goes", |g| {
            fs::remove_file(g.path("lib/a/extra.md")).unwrap();
        }),
        ("the document changes", |g| g.skill("lib/a", "changed")),
        ("a save by rename", |g| {
            g.write(
                "lib/a/SKILL.md.tmp",
                "---\nname: a\ndescription: saved\n---\n",
            );
            fs::rename(g.path("lib/a/SKILL.md.tmp"), g.path("lib/a/SKILL.md")).unwrap();
        }),
        ("a folder comes with files", |g| {
            g.write("lib/a/references/deep/er.md", "x");
        }),
        ("in it something changes", |g| {
            g.write("lib/a/references/deep/er.md", "yy");
        }),
        ("a folder is renamed", |g| {
            fs::rename(g.path("lib/a/references"), g.path("lib/a/docs")).unwrap();
        }),
        ("in it something changes again", |g| {
            g.write("lib/a/docs/deep/er.md", "zzz");
        }),
        ("a folder goes", |g| {
            fs::remove_dir_all(g.path("lib/a/docs")).unwrap();
        }),
        ("a skill comes", |g| g.skill("lib/c", "three")),
        ("a skill comes deep", |g| {
            g.skill("lib/group/more/d", "four");
        }),
        ("it changes", |g| g.skill("lib/group/more/d", "five")),
        ("a skill is renamed", |g| {
            fs::rename(g.path("lib/c"), g.path("lib/cc")).unwrap();
        }),
        ("the renamed one changes", |g| g.skill("lib/cc", "six")),
        ("its old name comes again", |g| g.skill("lib/c", "seven")),
        ("SKILL.md goes", |g| {
            fs::remove_file(g.path("lib/c/SKILL.md")).unwrap();
        }),
        ("SKILL.md comes back", |g| g.skill("lib/c", "eight")),
        ("a group becomes a skill", |g| g.skill("lib/group", "nine")),
        ("and is none again", |g| {
            fs::remove_file(g.path("lib/group/SKILL.md")).unwrap();
        }),
        ("a link within", |g| {
            symlink("SKILL.md", g.path("lib/c/link.md")).unwrap();
        }),
        ("a link out to a skill", |g| {
            g.skill("elsewhere", "x");
            symlink("../elsewhere", g.path("lib/out")).unwrap();
        }),
        ("a skill in code", |g| {
            g.write("lib/code/run.py", "SKILL_MANIFEST = 1");
        }),
        ("a skill goes", |g| {
            fs::remove_dir_all(g.path("lib/group/more")).unwrap();
        }),
    ];
    for (what, change) in changes {
        let before = watched.current().unwrap();
        change(&ground);
        assert_eq!(shape(&watched), ground.fresh(ground.settings()), "{what}");
        let after = watched.current().unwrap();
        assert!(after.revision() > before.revision(), "{what}");
        assert!(Arc::ptr_eq(&after, &watched.current().unwrap()), "{what}");
    }
    assert_eq!(
        listed(&control),
        old,
        "without watches nothing is looked at"
    );
}

#[test]
fn the_root_itself_comes_and_goes() {
    let ground = Ground::new();
    let (watched, control) = ground.both();
    assert_eq!(listed(&watched), [] as [&str; 0]);
    ground.skill("lib/a", "one");
    assert_eq!(listed(&watched), ["lib/a: one"]);
    fs::rename(ground.path("lib"), ground.path("away")).unwrap();
    assert_eq!(listed(&watched), [] as [&str; 0]);
    assert_eq!(watched.current().unwrap().unloadable().len(), 1);
    ground.skill("away/b", "unseen");
    fs::rename(ground.path("away"), ground.path("lib")).unwrap();
    assert_eq!(listed(&watched), ["lib/a: one", "lib/b: unseen"]);
    // Another folder in its place, without a moment in between that anybody sees.
    ground.skill("other/c", "three");
    fs::rename(ground.path("lib"), ground.path("old")).unwrap();
    fs::rename(ground.path("other"), ground.path("lib")).unwrap();
    assert_eq!(listed(&watched), ["lib/c: three"]);
    ground.skill("lib/c", "four");
    ground.skill("old/a", "not ours any more");
    assert_eq!(listed(&watched), ["lib/c: four"]);
    fs::remove_dir_all(ground.path("lib")).unwrap();
    assert_eq!(listed(&watched), [] as [&str; 0]);
    assert_eq!(listed(&control), [] as [&str; 0], "it saw none of it");
    assert_eq!(control.current().unwrap().revision(), Revision(1));
}

#[test]
fn a_folder_above_the_root_may_be_renamed() {
    let ground = Ground::new();
    ground.skill("x/y/lib/a", "one");
    let settings = Settings {
        explicit: vec![ground.path("x/y/lib")],
        ..Settings::default()
    };
    let watched = ground.library(settings, "home");
    watched.watching(Limit::default());
    assert_eq!(listed(&watched), ["lib/a: one"]);
    fs::rename(ground.path("x"), ground.path("z")).unwrap();
    assert_eq!(listed(&watched), [] as [&str; 0]);
    fs::create_dir(ground.path("x")).unwrap();
    fs::rename(ground.path("z/y"), ground.path("x/y")).unwrap();
    assert_eq!(listed(&watched), ["lib/a: one"]);
    ground.skill("x/y/lib/a", "two");
    assert_eq!(listed(&watched), ["lib/a: two"]);
}

#[test]
fn places_that_come_later_are_found() {
    let ground = Ground::new();
    for folder in ["project/sub", "person", "env"] {
        fs::create_dir_all(ground.path(folder)).unwrap();
    }
    let settings = Settings {
        project: Some(ground.path("project/sub")),
        user: Some(ground.path("person")),
        environment: vec![ground.path("env")],
        default_dirs: true,
        discover_user: true,
        ..Settings::default()
    };
    let watched = ground.library(settings.clone(), "home");
    let control = ground.library(settings.clone(), "home");
    watched.watching(Limit::default());
    let old = listed(&control);
    let steps: [(&str, &str); 7] = [
        ("project/sub/.claude/skills/a", "project-claude/a: x"),
        ("person/.agents/skills/b", "user-agents/b: x"),
        ("home/skills/c", "home/c: x"),
        ("project/skills/d", ""),
        ("project/.git/e", "project-skills-2/d: x"),
        ("env/f", "environment/f: x"),
        ("env/skills/g", "environment/g: x"),
    ];
    for (folder, wanted) in steps {
        ground.skill(folder, "x");
        let now = listed(&watched);
        assert!(
            wanted.is_empty() || now.iter().any(|skill| skill == wanted),
            "{folder}: {now:?}"
        );
        let mut home = ground.settings();
        home.clone_from(&settings);
        assert_eq!(
            shape(&watched),
            shape(&ground.library(home, "home")),
            "{folder}"
        );
    }
    // What a person links into their own folder is a place of its own.
    ground.skill("far/h", "x");
    symlink(ground.path("far"), ground.path("person/.agents/skills/far")).unwrap();
    assert!(
        listed(&watched).contains(&"user-agents-far/h: x".to_owned()),
        "{:?}",
        listed(&watched)
    );
    ground.skill("far/h", "y");
    assert!(listed(&watched).contains(&"user-agents-far/h: y".to_owned()));
    fs::remove_file(ground.path("person/.agents/skills/far")).unwrap();
    assert!(!listed(&watched).contains(&"user-agents-far/h: y".to_owned()));
    assert_eq!(listed(&control), old);
}

#[test]
fn a_switch_of_another_process_is_seen() {
    let ground = Ground::new();
    ground.skill("lib/a", "one");
    let (watched, control) = ground.both();
    let path = ground.path("lib/a").display().to_string();
    for _ in 0..3 {
        crate::switches::Switches::set(&Home::at(ground.path("home")), &path, false).unwrap();
        assert!(watched.current().unwrap().resolve("a").is_err());
        crate::switches::Switches::set(&Home::at(ground.path("home")), &path, true).unwrap();
        assert!(watched.current().unwrap().resolve("a").is_ok());
    }
    ground.write("home/switches.json", "{");
    assert!(
        watched.current().is_err() && watched.current().is_err(),
        "told each time"
    );
    ground.write(
        "home/switches.json",
        &format!("{{\"disabled\": [{path:?}]}}"),
    );
    assert!(watched.current().unwrap().resolve("a").is_err());
    assert!(control.current().unwrap().resolve("a").is_ok());
}

#[test]
fn what_changes_nothing_is_no_change() {
    let ground = Ground::new();
    ground.skill("lib/a", "one");
    ground.write("lib/a/x.md", "x");
    let (watched, _) = ground.both();
    let before = watched.current().unwrap();
    ground.write("lib/a/x.md", "x");
    fs::rename(ground.path("lib/a/x.md"), ground.path("lib/a/y.md")).unwrap();
    fs::rename(ground.path("lib/a/y.md"), ground.path("lib/a/x.md")).unwrap();
    ground.write("lib/notes.txt", "x");
    ground.write("lib/.git/HEAD", "x");
    ground.write("lib/node_modules/p/SKILL.md", "x");
    let after = watched.current().unwrap();
    assert!(
        Arc::ptr_eq(&before, &after),
        "{:?} {:?}",
        before.revision(),
        after.revision()
    );
    ground.write("lib/a/x.md", "y");
    assert!(
        !Arc::ptr_eq(&before, &watched.current().unwrap()),
        "else the test is void"
    );
}

#[test]
fn watches_of_folders_that_went_are_dropped() {
    let ground = Ground::new();
    ground.skill("lib/a", "one");
    let (watched, _) = ground.both();
    let count = || watched.lock().live.watches.as_ref().unwrap().len();
    let folders = || watched.watching(Limit::default())[0].folders;
    let before = (count(), folders());
    assert_eq!(before.1, 2, "the root and the skill");
    for round in 0..20 {
        ground.write(&format!("lib/s{round}/references/x.md"), "x");
        ground.skill(&format!("lib/s{round}"), "x");
        ground.write("lib/a/node_modules/p/x.md", "never watched");
        listed(&watched);
    }
    assert_eq!((count(), folders()), (before.0 + 40, before.1 + 40));
    for round in 0..20 {
        if round % 2 == 0 {
            fs::remove_dir_all(ground.path(&format!("lib/s{round}"))).unwrap();
        } else {
            fs::rename(
                ground.path(&format!("lib/s{round}")),
                ground.path(&format!("r{round}")),
            )
            .unwrap();
        }
        listed(&watched);
    }
    assert_eq!((count(), folders()), before);
}

#[test]
fn a_root_that_can_t_be_watched_is_looked_at() {
    let ground = Ground::new();
    for number in 0..30 {
        ground.skill(&format!("lib/s{number}"), "x");
    }
    let watched = ground.library(ground.settings(), "home");
    let states = watched.watching(Limit(25));
    assert_eq!(states[0].unwatched, Some(Unwatchable::Exhausted));
    assert_eq!(states[0].folders, 0, "what it had is free for others");
    assert_eq!(listed(&watched).len(), 30);
    ground.skill("lib/new", "x");
    assert_eq!(listed(&watched).len(), 30, "not yet a second old");
    for jump in [1_001, -7_200_000, 7_200_000, -1] {
        ground.clock.0.fetch_add(jump, Ordering::Relaxed);
        ground.skill(&format!("lib/jump{}", jump + 10_000_000), "x");
        assert_eq!(
            shape(&watched),
            ground.fresh(ground.settings()),
            "a jump by {jump} ms"
        );
    }
    // The control: with more room the same is watched.
    let roomy = ground.library(ground.settings(), "home");
    assert_eq!(roomy.watching(Limit(200))[0].unwatched, None);
}

#[test]
fn a_clock_that_jumps_hides_nothing() {
    let ground = Ground::new();
    ground.skill("lib/a", "one");
    let (watched, control) = ground.both();
    for (round, hours) in [-5_i64, 3, -300_000, 300_000, 0].into_iter().enumerate() {
        ground
            .clock
            .0
            .fetch_add(hours * 3_600_000, Ordering::Relaxed);
        ground.skill("lib/a", &format!("round {round}"));
        assert_eq!(
            listed(&watched),
            [format!("lib/a: round {round}")],
            "{hours} hours"
        );
        if hours != 0 {
            assert_eq!(
                listed(&control),
                listed(&watched),
                "{hours} hours, without watches"
            );
        }
    }
}

#[test]
fn a_time_in_the_future_is_never_trusted() {
    let ground = Ground::new();
    ground.skill("lib/a", "one");
    let file = fs::File::options()
        .write(true)
        .open(ground.path("lib/a/SKILL.md"))
        .unwrap();
    let modified = file.metadata().unwrap().modified().unwrap();
    for (now, settled) in [
        (0, false),
        (-7_200, false),
        (1, false),
        (3, true),
        (7_200, true),
    ] {
        let since = modified.duration_since(std::time::UNIX_EPOCH).unwrap();
        let now = i64::try_from(since.as_millis()).unwrap() + now * 1000;
        ground.clock.0.store(now, Ordering::Relaxed);
        let home = tempfile::tempdir().unwrap();
        let skills = LocalSkills::new(
            Home::at(home.path()),
            ground.settings(),
            Arc::new(ground.clock.clone()),
        );
        skills.current().unwrap();
        let unsettled = skills.lock().roots[0].1.unsettled().count();
        assert_eq!(unsettled == 0, settled, "at {now}");
    }
}

#[test]
fn any_changes_come_to_what_a_fresh_start_sees() {
    let ground = Ground::new();
    for number in 0..12 {
        ground.skill(&format!("lib/s{number}"), "x");
    }
    let (watched, _) = ground.both();
    // A generator of Knuth's: the same changes in every run.
    let mut seed: u64 = 12_345;
    let mut random = |below: u64| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let names = [
        "s1",
        "s2",
        "g",
        "g/s3",
        "g/h/s4",
        "s1/inner",
        "s2/references",
        "g/h",
        "s5/.x",
        "g/run.py",
    ];
    for round in 0..400 {
        for _ in 0..=random(4) {
            let name = names[usize::try_from(random(names.len() as u64)).unwrap()];
            let other = names[usize::try_from(random(names.len() as u64)).unwrap()];
            let (path, to) = (
                ground.path("lib").join(name),
                ground.path("lib").join(other),
            );
            match random(7) {
                0 => drop(fs::remove_dir_all(&path)),
                1 => drop(fs::remove_file(path.join("SKILL.md"))),
                2 => drop(fs::rename(&path, &to)),
                3 => drop(
                    fs::create_dir_all(&path)
                        .and_then(|()| fs::write(path.join("run.py"), "register_skill")),
                ),
                4 => drop(symlink(&to, path.join("link"))),
                _ => drop(fs::create_dir_all(&path).and_then(|()| {
                    let text = format!("---\nname: n{round}\ndescription: {name}\n---\n");
                    fs::write(path.join("SKILL.md"), text)
                })),
            }
        }
        assert_eq!(
            shape(&watched),
            ground.fresh(ground.settings()),
            "round {round}"
        );
    }
}

/// Waits until something holds.
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn told(skills: &LocalSkills) -> Revision {
    *skills.told.borrow()
}

fn is_at(skills: &LocalSkills, wanted: impl Fn(&Library) -> bool) -> bool {
    wanted(&skills.state.lock().unwrap().library)
}

#[test]
fn a_thread_sees_changes_and_tells_of_them() {
    let ground = Ground::new();
    ground.skill("lib/a", "one");
    let watched = ground.library(ground.settings(), "home");
    watched.watch(Limit::default());
    watched.watch(Limit::default());
    eventually("it stands", || watched.lock().live.is_standing());
    let first = told(&watched);
    assert_eq!(first, Revision(1), "the first reading is no change");
    // A change that nobody asks for.
    ground.skill("lib/b", "two");
    eventually("told", || told(&watched) > first);
    assert!(is_at(&watched, |library| library.skills().len() == 2));
    // A change that somebody sees before it is told.
    let before = told(&watched);
    ground.skill("lib/c", "three");
    assert_eq!(listed(&watched).len(), 3);
    eventually("told, too", || told(&watched) > before);
    assert_eq!(told(&watched), watched.current().unwrap().revision());
    // A burst, and then a touch: as many tellings as there were looks that found something.
    let before = told(&watched);
    let mut tellings = watched.told.subscribe();
    tellings.mark_unchanged();
    for number in 0..300 {
        ground.skill(&format!("lib/burst{number}"), "x");
    }
    eventually("the burst is seen", || {
        is_at(&watched, |library| library.skills().len() == 303)
    });
    eventually("and told", || {
        told(&watched) == watched.current().unwrap().revision()
    });
    assert!(
        told(&watched).0 - before.0 < 100,
        "{before:?} {:?}",
        told(&watched)
    );
    let before = told(&watched);
    ground.write(
        "lib/a/SKILL.md",
        "---\nname: a\ndescription: one\n---\nbody\n",
    );
    ground.skill("lib/z", "last");
    eventually("only the last is told", || told(&watched) > before);
    let library = watched.current().unwrap();
    eventually("all of it", || told(&watched) == library.revision());
    let held = Arc::downgrade(&watched);
    drop(watched);
    eventually("the thread ends with the last user", || {
        held.strong_count() == 0
    });
}

#[test]
fn a_thread_looks_where_nothing_is_told() {
    let ground = Ground::new();
    for number in 0..30 {
        ground.skill(&format!("lib/s{number}"), "x");
    }
    let watched = ground.library(ground.settings(), "home");
    watched.watch(Limit(25));
    eventually("it stands", || watched.lock().live.is_standing());
    let before = told(&watched);
    ground.skill("lib/new", "x");
    eventually("seen and told", || told(&watched) > before);
    assert!(is_at(&watched, |library| library.skills().len() == 31));
}

#[test]
fn waiting_ends_with_a_change() {
    let ground = Ground::new();
    ground.skill("lib/a", "one");
    let watched = ground.library(ground.settings(), "home");
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let mut first = watched.changed(&Owner::Local, Revision::default());
    assert!(
        first.as_mut().poll(&mut context).is_pending(),
        "nothing was read yet"
    );
    watched.current().unwrap();
    let ready = first.as_mut().poll(&mut context);
    assert!(
        matches!(ready, std::task::Poll::Ready(Ok(Revision(1)))),
        "{ready:?}"
    );
    let mut next = watched.changed(&Owner::Local, Revision(1));
    assert!(next.as_mut().poll(&mut context).is_pending());
    watched.watching(Limit::default());
    ground.skill("lib/b", "two");
    watched.current().unwrap();
    let ready = next.as_mut().poll(&mut context);
    assert!(
        matches!(ready, std::task::Poll::Ready(Ok(Revision(2)))),
        "{ready:?}"
    );
}

#[test]
fn what_is_seen_is_kept_for_the_next_start() {
    let ground = Ground::new();
    ground.skill("lib/a", "one");
    let watched = ground.library(ground.settings(), "home");
    watched.watch(Limit::default());
    let kept = |name: &str| {
        let home = Home::at(ground.path("home"));
        let all: Vec<_> = crate::index::load(&home, &ground.path("lib"), |stored| stored);
        all.iter()
            .any(|stored| stored.name == name && stored.settled)
    };
    eventually("kept at the start", || kept("a"));
    ground.skill("lib/b", "two");
    eventually("kept after a change", || kept("b"));
}

#[test]
fn a_network_file_system_is_known() {
    assert!(!crate::watch::is_remote(Path::new("/")));
    assert!(!crate::watch::is_remote(Path::new("/does-not-exist")));
}

#[test]
fn whoever_waits_for_a_look_takes_no_thread() {
    const ASKING: usize = 64;
    let ground = Ground::new();
    ground.skill("lib/a", "one");
    let library = ground.library(ground.settings(), "home");
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_time().build().unwrap();
    let threads = || fs::read_dir("/proc/self/task").unwrap().count();
    // As the thread does that watches, for as long as it looks at everything.
    let looking = library.lock();
    let before = threads();
    let begun = Arc::new(AtomicI64::new(0));
    let asking: Vec<_> = (0..ASKING)
        .map(|_| {
            let (library, begun) = (Arc::clone(&library), Arc::clone(&begun));
            runtime.spawn(async move {
                begun.fetch_add(1, Ordering::Relaxed);
                library.library(&Owner::Local).await.unwrap().skills().len()
            })
        })
        .collect();
    eventually("all of them ask", || {
        begun.load(Ordering::Relaxed) == i64::try_from(ASKING).unwrap()
    });
    // Others are answered meanwhile.
    let other = runtime.spawn(async { 1 });
    let answered = runtime.block_on(async { tokio::time::timeout(PATIENCE, other).await });
    assert_eq!(answered.unwrap().unwrap(), 1);
    let more = threads() - before;
    assert!(
        more <= 4,
        "{more} threads more for {ASKING} who wait for the same"
    );
    drop(looking);
    for asked in asking {
        assert_eq!(runtime.block_on(asked).unwrap(), 1);
    }
}
