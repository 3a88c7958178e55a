//! Who is told of a change, and who waits for it.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use gongfu_core::account::Owner;
use gongfu_core::library::{Library, Revision};
use gongfu_core::port::SkillStore as _;

use super::{Ground, listed};
use crate::home::Home;
use crate::local::LocalSkills;
use crate::watch::Limit;

/// Longer than any machine takes.
const PATIENCE: Duration = Duration::from_secs(30);

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
