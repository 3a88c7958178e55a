//! The readers and writers: the real store, and naive ones that look first and use the path afterwards.

use std::future::Future as _;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

use anyhow::{Context as _, Result};
use gongfu_core::library::Skill;
use gongfu_core::place::Location;
use gongfu_core::port::{Change, Files as _, Pending, SkillStore as _, Timestamp};
use gongfu_core::skill::SkillPath;
use gongfu_files::{Home, LocalWorkspace};
use gongfu_library::source::Settings;
use gongfu_library::{LocalSkills, SwitchRecord};
use gongfu_testing::{FixedClock, MemoryRecords};

use super::fixture::Fixture;

/// The number of bytes that are read of a file.
const LIMIT: u64 = 1_000;

/// Something that reads and writes below the place.
pub(super) trait FileAccess: Sync + Sized {
    /// Access to the files of a fixture.
    fn open(fixture: &Fixture) -> Result<Self>;
    /// The content of a file; `None` when it can't be read.
    fn read(&self, path: &str) -> Option<Vec<u8>>;
    /// Writes a file; answers whether that was done.
    fn write(&self, path: &str, bytes: &[u8]) -> bool;
}

/// By turns one and the other, so that both are in each race.
#[derive(Default)]
struct Turn(AtomicBool);

impl Turn {
    fn next(&self) -> bool {
        self.0.fetch_xor(true, Ordering::Relaxed)
    }
}

/// Looks whether a path leads out, and then uses it: the control.
pub(super) struct Naive {
    roots: [PathBuf; 2],
    reads: Turn,
    writes: Turn,
}

impl Naive {
    /// The path, when it stays inside at this moment.
    fn looked_at(&self, first: bool, path: &str) -> Option<PathBuf> {
        let root = &self.roots[usize::from(first)];
        let path = root.join(path);
        let folder = path.parent()?;
        std::fs::create_dir_all(folder).ok()?;
        let inside = |path: &std::path::Path| {
            let real = path.canonicalize();
            real.is_ok_and(|real| real.starts_with(root))
        };
        let is_new = path.symlink_metadata().is_err();
        let stays = inside(folder) && (is_new || inside(&path));
        // Between the look and the use others have their turn, sooner or later: here at once.
        std::thread::yield_now();
        stays.then_some(path)
    }
}

impl FileAccess for Naive {
    fn open(fixture: &Fixture) -> Result<Self> {
        Ok(Self {
            roots: [
                fixture.work().canonicalize()?,
                fixture.skills().join("alpha").canonicalize()?,
            ],
            reads: Turn::default(),
            writes: Turn::default(),
        })
    }

    fn read(&self, path: &str) -> Option<Vec<u8>> {
        let is_folder = path.ends_with('/');
        let path = self.looked_at(self.reads.next(), path.trim_end_matches('/'))?;
        if !is_folder {
            return std::fs::read(path).ok();
        }
        let entries = std::fs::read_dir(path).ok()?.flatten();
        Some(joined(entries.map(|entry| {
            entry.file_name().to_string_lossy().into_owned()
        })))
    }

    fn write(&self, path: &str, bytes: &[u8]) -> bool {
        let path = self.looked_at(self.writes.next(), path);
        path.is_some_and(|path| std::fs::write(path, bytes).is_ok())
    }
}

/// The store that gongfu has: its workspace and its skills.
pub(super) struct Store {
    workspace: LocalWorkspace,
    skills: LocalSkills,
    skill: Arc<Skill>,
    reads: Turn,
    writes: Turn,
}

impl FileAccess for Store {
    fn open(fixture: &Fixture) -> Result<Self> {
        let settings = Settings {
            explicit: vec![fixture.skills()],
            writable: Some(fixture.skills()),
            ..Settings::default()
        };
        let skills = LocalSkills::new(
            Home::at(fixture.home()),
            settings,
            SwitchRecord::new(Arc::new(MemoryRecords::default())),
            Arc::new(FixedClock::at(Timestamp(4_000_000_000_000))),
        );
        let library = skills.current()?;
        let skill = library
            .skills()
            .iter()
            .find(|skill| skill.name.as_str() == "alpha");
        let skill = Arc::clone(skill.context("there is no skill to race about")?);
        Ok(Self {
            workspace: LocalWorkspace::new(fixture.work(), &[])?,
            skills,
            skill,
            reads: Turn::default(),
            writes: Turn::default(),
        })
    }

    fn read(&self, path: &str) -> Option<Vec<u8>> {
        if let Some(folder) = path.strip_suffix('/') {
            let folder = Location::parse(folder).ok()?;
            let entries = now(self.workspace.list(&folder))?;
            return Some(joined(entries.into_iter().map(|entry| entry.name)));
        }
        let content = if self.reads.next() {
            let path = SkillPath::new(path).ok()?;
            now(self.skills.read(&self.skill, &path, LIMIT))
        } else {
            let place = Location::parse(path).ok()?;
            now(self.workspace.read(&place, LIMIT))
        };
        content.map(|content| content.bytes)
    }

    fn write(&self, path: &str, bytes: &[u8]) -> bool {
        let change = Change {
            bytes,
            expected: None,
        };
        let written = if self.writes.next() {
            let Ok(path) = SkillPath::new(path) else {
                return false;
            };
            now(self.skills.write(&self.skill, &path, change))
        } else {
            let Ok(place) = Location::parse(path) else {
                return false;
            };
            now(self.workspace.write(&place, change))
        };
        written.is_some()
    }
}

/// The names of a folder, sorted.
fn joined(names: impl Iterator<Item = String>) -> Vec<u8> {
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    names.join("\n").into_bytes()
}

/// The answer of a port that is ready at once; `None` for an error.
fn now<T>(pending: Pending<'_, T>) -> Option<T> {
    match pin!(pending).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer.ok(),
        Poll::Pending => None,
    }
}
