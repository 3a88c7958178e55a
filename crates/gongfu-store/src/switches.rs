//! Which skills are switched off, kept across starts and shared by all processes of a home.
//!
//! A skill is known by its folder's real path, so that the switch stays with it whatever its
//! source is called in the next start.

use std::collections::BTreeSet;
use std::io;

use serde::{Deserialize, Serialize};

use crate::home::Home;
use crate::record::Record;

/// The file that they are kept in.
pub(crate) const FILE: &str = "switches.json";
const LOCK: &str = "switches.lock";

/// The skills that are switched off.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Switches {
    /// Real paths of skill folders.
    #[serde(default)]
    pub disabled: BTreeSet<String>,
}

impl Switches {
    /// Reads the switches; a home without any has none off.
    ///
    /// # Errors
    /// The file is there and can't be read or understood: nothing is guessed about it.
    pub fn read(home: &Home) -> io::Result<Self> {
        record(home).read(FILE)
    }

    /// Switches one skill; answers whether that changed anything.
    ///
    /// One process at a time: others wait for the lock, none loses what another wrote.
    ///
    /// # Errors
    /// The home can't be written.
    pub fn set(home: &Home, skill: &str, enabled: bool) -> io::Result<bool> {
        record(home).change(FILE, |switches: &mut Self| {
            if enabled {
                switches.disabled.remove(skill)
            } else {
                switches.disabled.insert(skill.to_owned())
            }
        })
    }
}

fn record(home: &Home) -> Record {
    Record::new(home.clone(), LOCK)
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "tests make the folders that they look at"
)]
mod tests {
    use super::Switches;
    use crate::home::Home;

    #[test]
    fn many_writers_lose_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("home"));
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let home = &home;
                scope.spawn(move || {
                    for number in 0..10 {
                        let skill = format!("/{writer}/{number}");
                        assert!(Switches::set(home, &skill, false).unwrap());
                    }
                });
            }
        });
        assert_eq!(Switches::read(&home).unwrap().disabled.len(), 80);
        assert!(Switches::set(&home, "/0/0", true).unwrap());
        assert!(!Switches::set(&home, "/0/0", true).unwrap());
        assert_eq!(Switches::read(&home).unwrap().disabled.len(), 79);
    }

    #[test]
    fn a_damaged_file_is_told_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("switches.json"), "{\"disabled\": [").unwrap();
        let home = Home::at(folder.path());
        assert!(
            Switches::read(&home)
                .unwrap_err()
                .to_string()
                .contains("damaged")
        );
        assert!(Switches::set(&home, "/x", false).is_err());
        assert_eq!(
            std::fs::read_to_string(folder.path().join("switches.json")).unwrap(),
            "{\"disabled\": ["
        );
    }
}
