//! Reports of changes, and waiting for one.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use gongfu_core::library::{Library, Revision};
use gongfu_core::port::SkillStore as _;

use super::{Fixture, listed};
use crate::local::LocalSkills;
use crate::watch::Limit;
use gongfu_files::Home;

/// Longer than any machine takes.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Waits until something holds.
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < TIMEOUT, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn reported(skills: &LocalSkills) -> Revision {
    *skills.reported.borrow()
}

fn is_at(skills: &LocalSkills, wanted: impl Fn(&Library) -> bool) -> bool {
    wanted(&skills.state.lock().unwrap().library)
}

#[test]
fn thread_sees_and_reports_changes() {
    let fixture = Fixture::new();
    fixture.skill("lib/a", "one");
    let watched = fixture.library(fixture.settings(), "home");
    watched.watch(Limit::default());
    watched.watch(Limit::default());
    eventually("it is ready", || watched.lock().watch.is_ready());
    let first = reported(&watched);
    assert_eq!(first, Revision(1), "the first reading is no change");
    // A change that nobody asks for.
    fixture.skill("lib/b", "two");
    eventually("reported", || reported(&watched) > first);
    assert!(is_at(&watched, |library| library.skills().len() == 2));
    // A change that somebody sees before it is told.
    let before = reported(&watched);
    fixture.skill("lib/c", "three");
    assert_eq!(listed(&watched).len(), 3);
    eventually("reported, too", || reported(&watched) > before);
    assert_eq!(reported(&watched), watched.current().unwrap().revision());
    // A burst, and then a touch: as many reports as there were looks that found something.
    let before = reported(&watched);
    let mut reports = watched.reported.subscribe();
    reports.mark_unchanged();
    for number in 0..300 {
        fixture.skill(&format!("lib/burst{number}"), "x");
    }
    eventually("the burst is seen", || {
        is_at(&watched, |library| library.skills().len() == 303)
    });
    eventually("and reported", || {
        reported(&watched) == watched.current().unwrap().revision()
    });
    assert!(
        reported(&watched).0 - before.0 < 100,
        "{before:?} {:?}",
        reported(&watched)
    );
    let before = reported(&watched);
    fixture.write(
        "lib/a/SKILL.md",
        "---\nname: a\ndescription: one\n---\nbody\n",
    );
    fixture.skill("lib/z", "last");
    eventually("only the last is reported", || reported(&watched) > before);
    let library = watched.current().unwrap();
    eventually("all of it", || reported(&watched) == library.revision());
    let held = Arc::downgrade(&watched);
    drop(watched);
    eventually("the thread ends with the last user", || {
        held.strong_count() == 0
    });
}

#[test]
fn thread_polls_unwatched_folders() {
    let fixture = Fixture::new();
    for number in 0..30 {
        fixture.skill(&format!("lib/s{number}"), "x");
    }
    let watched = fixture.library(fixture.settings(), "home");
    watched.watch(Limit(25));
    eventually("it is ready", || watched.lock().watch.is_ready());
    let before = reported(&watched);
    fixture.skill("lib/new", "x");
    // It may be seen while it is being written.
    eventually("it is seen", || {
        is_at(&watched, |library| library.skills().len() == 31)
    });
    eventually("and reported", || reported(&watched) > before);
}

#[test]
fn waiting_ends_with_a_change() {
    let fixture = Fixture::new();
    fixture.skill("lib/a", "one");
    let watched = fixture.library(fixture.settings(), "home");
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let mut first = watched.changed(Revision::default());
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
    let mut next = watched.changed(Revision(1));
    assert!(next.as_mut().poll(&mut context).is_pending());
    watched.watching(Limit::default());
    fixture.skill("lib/b", "two");
    watched.current().unwrap();
    let ready = next.as_mut().poll(&mut context);
    assert!(
        matches!(ready, std::task::Poll::Ready(Ok(Revision(2)))),
        "{ready:?}"
    );
}

#[test]
fn changes_reach_the_index() {
    let fixture = Fixture::new();
    fixture.skill("lib/a", "one");
    let watched = fixture.library(fixture.settings(), "home");
    watched.watch(Limit::default());
    let kept = |name: &str| {
        let home = Home::at(fixture.path("home"));
        let all: Vec<_> = crate::index::load(&home, &fixture.path("lib"), |row, _| {
            Ok((row.name.to_owned(), row.settled))
        });
        all.iter()
            .any(|(stored, settled)| stored == name && *settled)
    };
    eventually("kept at the start", || kept("a"));
    fixture.skill("lib/b", "two");
    eventually("kept after a change", || kept("b"));
}

#[test]
fn network_file_system_is_recognised() {
    assert!(!crate::watch::is_remote(Path::new("/")));
    assert!(!crate::watch::is_remote(Path::new("/does-not-exist")));
}

#[test]
fn waiting_for_a_look_takes_no_thread() {
    const REQUESTS: usize = 64;
    let fixture = Fixture::new();
    fixture.skill("lib/a", "one");
    let library = fixture.library(fixture.settings(), "home");
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_time().build().unwrap();
    let threads = || fs::read_dir("/proc/self/task").unwrap().count();
    // As the thread does that watches, for as long as it looks at everything.
    let looking = library.lock();
    let before = threads();
    let started = Arc::new(AtomicI64::new(0));
    let asking: Vec<_> = (0..REQUESTS)
        .map(|_| {
            let (library, started) = (Arc::clone(&library), Arc::clone(&started));
            runtime.spawn(async move {
                started.fetch_add(1, Ordering::Relaxed);
                library.library().await.unwrap().skills().len()
            })
        })
        .collect();
    eventually("all of them ask", || {
        started.load(Ordering::Relaxed) == i64::try_from(REQUESTS).unwrap()
    });
    // Others are answered meanwhile.
    let other = runtime.spawn(async { 1 });
    let answered = runtime.block_on(async { tokio::time::timeout(TIMEOUT, other).await });
    assert_eq!(answered.unwrap().unwrap(), 1);
    let more = threads() - before;
    assert!(
        more <= 4,
        "{more} threads more for {REQUESTS} who wait for the same"
    );
    drop(looking);
    for asked in asking {
        assert_eq!(runtime.block_on(asked).unwrap(), 1);
    }
}
