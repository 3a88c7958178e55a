//! The library while folders change.
//!
//! The clock stands still, so that without watches nothing would be looked at a second time.
#![expect(
    clippy::disallowed_methods,
    reason = "tests make the folders that they look at"
)]

mod change;
mod report;
mod stamp;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use gongfu_core::port::Timestamp;
use gongfu_files::Home;
use gongfu_testing::FixedClock;

use crate::local::LocalSkills;
use crate::local::tests::open;
use crate::source::Settings;
use crate::watch::Limit;

/// The clock stands far ahead of every file, until a test moves it.
struct Fixture {
    folder: tempfile::TempDir,
    clock: Arc<FixedClock>,
}

impl Fixture {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            clock: Arc::new(FixedClock::at(Timestamp(4_000_000_000_000))),
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
        Arc::new(open(home, settings, Arc::<FixedClock>::clone(&self.clock)))
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

    /// The library as a first start sees it.
    fn fresh(&self, settings: Settings) -> Vec<String> {
        let home = tempfile::tempdir().unwrap();
        let clock = Arc::<FixedClock>::clone(&self.clock);
        shape(&open(Home::at(home.path()), settings, clock))
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
