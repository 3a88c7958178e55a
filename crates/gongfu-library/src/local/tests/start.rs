//! One start after another over the same home, with changes in between: each must see what a start
//! over an empty home sees.
#![expect(
    clippy::disallowed_methods,
    reason = "tests make the folders that they look at"
)]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use gongfu_core::port::{Clock, Timestamp};
use gongfu_core::skill::SkillPath;

use gongfu_files::Home;
use gongfu_files::disk::{Listing, Listings};

use super::open;
use crate::index;
use crate::source::Settings;

/// Longer than any kernel keeps one coarse time.
const TICK: Duration = Duration::from_millis(12);

/// The clock of the machine, wrong by some milliseconds.
#[derive(Clone, Copy)]
struct Wrong(i64);

impl Clock for Wrong {
    fn now(&self) -> Timestamp {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        Timestamp(i64::try_from(now.as_millis()).unwrap() + self.0)
    }
}

struct Fixture(tempfile::TempDir);

impl Fixture {
    fn new() -> Self {
        let fixture = Self(tempfile::tempdir().unwrap());
        fs::create_dir(fixture.lib()).unwrap();
        fixture
    }

    fn lib(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap().join("lib")
    }

    fn home(&self) -> Home {
        Home::at(self.0.path().join("home"))
    }

    fn start(&self, home: Home, clock: Wrong) -> Vec<String> {
        let settings = Settings {
            explicit: vec![self.lib()],
            ..Settings::default()
        };
        let skills = open(home, settings, Arc::new(clock));
        let library = skills.current().unwrap();
        let mut all: Vec<String> = library
            .skills()
            .iter()
            .map(|skill| format!("{skill:?}"))
            .collect();
        all.extend(library.unloadable().iter().map(|left| format!("{left:?}")));
        all
    }

    /// The skills of a start with the index of earlier ones, and of a start without an index.
    fn both(&self, clock: Wrong) -> (Vec<String>, Vec<String>) {
        let empty = tempfile::tempdir().unwrap();
        let known = self.start(self.home(), clock);
        (known, self.start(Home::at(empty.path()), clock))
    }

    /// The number of listings in the index.
    fn listings(&self) -> usize {
        let folders: Listings = index::load_listings(&self.home(), &self.lib());
        folders.len()
    }
}

fn skill(folder: &Path, description: &str) {
    fs::create_dir_all(folder).unwrap();
    let text = format!("---\nname: x\ndescription: {description}\n---\n");
    fs::write(folder.join("SKILL.md"), text).unwrap();
}

/// A generator of Knuth's: the same changes in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % end as u64).unwrap()
    }
}

const NAMES: [&str; 14] = [
    "s1",
    "s2",
    "g",
    "g/s3",
    "g/h",
    "g/h/s4",
    "s1/inner",
    "s2/references",
    "s2/references/deep",
    "s5/.x",
    "s6/node_modules",
    "g/run.py",
    "s1/SKILL.md",
    "s2/notes.md",
];

/// One change of whatever kind; most that can't be made are none.
fn change(lib: &Path, random: &mut Random, round: usize) {
    let path = lib.join(NAMES[random.below(NAMES.len())]);
    let to = lib.join(NAMES[random.below(NAMES.len())]);
    let file = path.join("notes.md");
    let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000);
    match random.below(16) {
        0 => drop(fs::remove_dir_all(&path).or_else(|_| fs::remove_file(&path))),
        1 => drop(fs::remove_file(path.join("SKILL.md"))),
        2 => drop(fs::rename(&path, &to)),
        3 => drop(fs::hard_link(path.join("SKILL.md"), to.join("linked.md"))),
        4 => drop(symlink(&to, path.join("link"))),
        5 => {
            // Another folder under the same name.
            let aside = lib.join("aside");
            drop(fs::rename(&path, &aside));
            drop(
                fs::create_dir_all(&path)
                    .and_then(|()| fs::write(path.join(format!("n{}.md", round % 3)), "x")),
            );
            drop(fs::remove_dir_all(&aside).or_else(|_| fs::remove_file(&aside)));
        }
        6 => {
            // Two folders change places.
            let aside = lib.join("aside");
            drop(fs::rename(&path, &aside));
            drop(fs::rename(&to, &path));
            drop(fs::rename(&aside, &to));
        }
        7 => {
            // Another content of the same length, and the old time.
            let time = fs::metadata(&file).and_then(|metadata| metadata.modified());
            drop(fs::write(&file, format!("{:03}", round % 1_000)));
            if let (Ok(time), Ok(file)) = (time, fs::File::options().write(true).open(&file)) {
                drop(file.set_modified(time));
            }
        }
        8 => {
            // An entry comes, and its folder gets its old time back.
            let time = fs::metadata(&path).and_then(|metadata| metadata.modified());
            drop(fs::write(path.join(format!("m{}.md", round % 5)), "x"));
            if let (Ok(time), Ok(folder)) = (time, fs::File::open(&path)) {
                drop(folder.set_modified(time));
            }
        }
        9 => {
            if let Ok(folder) = fs::File::open(&path) {
                drop(folder.set_modified(old));
            }
        }
        10 => {
            let mode = [0o000, 0o400, 0o100, 0o755][random.below(4)];
            drop(fs::set_permissions(&path, fs::Permissions::from_mode(mode)));
        }
        11 => {
            // A file where a folder was, or the other way round.
            if path.is_dir() {
                drop(fs::remove_dir_all(&path).and_then(|()| fs::write(&path, "x")));
            } else {
                drop(fs::remove_file(&path).and_then(|()| fs::create_dir(&path)));
            }
        }
        12 => drop(fs::write(&file, format!("{round}"))),
        13 => {
            drop(fs::create_dir_all(&path));
            drop(fs::write(path.join("run.py"), "register_skill"));
        }
        _ => {
            drop(fs::create_dir_all(&path));
            let text = format!("---\nname: n{round:03}\ndescription: d\n---\n");
            drop(fs::write(path.join("SKILL.md"), text));
        }
    }
}

#[test]
fn sees_any_change_between_starts() {
    let fixture = Fixture::new();
    let mut random = Random(2_024);
    let mut listings = 0;
    for round in 0..600 {
        // A clock that runs ahead trusts every stamp at once: then only they can tell. By that of the
        // machine nothing of this test is old enough, and one that jumps back trusts nothing.
        let ahead = random.below(3) > 0;
        let clock = match random.below(8) {
            _ if ahead => Wrong(10_000),
            0 => Wrong(-3_600_000),
            _ => Wrong(0),
        };
        let (known, fresh) = fixture.both(clock);
        assert_eq!(known, fresh, "round {round}");
        listings += fixture.listings();
        if ahead {
            std::thread::sleep(TICK);
        }
        for _ in 0..=random.below(4) {
            change(&fixture.lib(), &mut random, round);
        }
    }
    assert!(listings > 1_000, "else the test is void: {listings}");
}

#[test]
fn unchanged_folder_is_not_listed() {
    let fixture = Fixture::new();
    for number in 0..20 {
        skill(&fixture.lib().join(format!("s{number}/references")), "x");
        skill(&fixture.lib().join(format!("s{number}")), "x");
    }
    let ahead = Wrong(10_000);
    let (known, fresh) = fixture.both(ahead);
    assert_eq!((known, fixture.listings()), (fresh, 41));
    // An index that tells of entries that aren't there is believed: that it is asked shows.
    std::thread::sleep(TICK);
    let home = fixture.home();
    let folders: Listings = index::load_listings(&home, &fixture.lib());
    let stamp = folders.get(&SkillPath::root()).unwrap().stamp;
    let empty = Listing::new(stamp, &[]).unwrap();
    let nothing = [(&SkillPath::root(), empty)];
    index::save_listings(&home, &fixture.lib(), nothing.into_iter()).unwrap();
    assert_eq!(fixture.start(home, ahead), [] as [&str; 0]);
    assert_eq!(fixture.listings(), 1, "what is gone is dropped");
    skill(&fixture.lib().join("new"), "x");
    let (known, fresh) = fixture.both(ahead);
    assert_eq!(known, fresh);
    assert_eq!(fixture.listings(), 42);
}

#[test]
fn young_folder_has_no_stored_listing() {
    let fixture = Fixture::new();
    skill(&fixture.lib().join("a"), "x");
    for (wrong, folders) in [(0, 0), (-7_200_000, 0), (1_000, 0), (3_000, 2), (0, 2)] {
        let (known, fresh) = fixture.both(Wrong(wrong));
        assert_eq!(known, fresh);
        assert_eq!(fixture.listings(), folders, "wrong by {wrong} ms");
    }
    // A folder that changes is not recalled any more, and the rest is.
    std::thread::sleep(TICK);
    fs::write(fixture.lib().join("a/more.md"), "x").unwrap();
    let (known, fresh) = fixture.both(Wrong(0));
    assert_eq!(known, fresh);
    assert_eq!(fixture.listings(), 1);
}

#[test]
fn damaged_listings_are_made_again() {
    let fixture = Fixture::new();
    skill(&fixture.lib().join("a"), "x");
    let ahead = Wrong(10_000);
    let fresh = fixture.start(fixture.home(), ahead);
    let index = fixture.0.path().join("home/index");
    let mut files = fs::read_dir(&index)
        .unwrap()
        .map(|file| file.unwrap().path());
    let file = files.find(|path| path.extension().is_some_and(|ending| ending == "folders"));
    let file = file.unwrap();
    let good = fs::read(&file).unwrap();
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1;
        fs::write(&file, &bad).unwrap();
        assert_eq!(fixture.listings(), 0, "byte {at}");
    }
    assert_eq!(fixture.start(fixture.home(), ahead), fresh);
    assert_eq!(fs::read(&file).unwrap(), good);
}
