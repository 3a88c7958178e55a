//! The group of those threads of the server that carry out runs: what a run takes of the processors
//! before it is in its own group isn't taken from those threads that answer.
//!
//! Only the first version lets threads of one process be in different groups; in the second they stay.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use super::place::{self, Place, Version};
use super::{SHARES, is_busy, next, write};

/// How often it is tried to take it away: a thread that has ended is still counted for a moment.
const TRIES: u32 = 3_000;

/// A group for threads; it goes with this.
#[derive(Debug)]
pub(crate) struct Crew {
    folder: PathBuf,
}

impl Crew {
    /// Makes one; `None` where there can't be one.
    pub(super) fn make(places: &[Place]) -> Option<Self> {
        let is_it = |place: &&Place| place.processors && place.version == Version::One;
        let place = places.iter().find(is_it)?;
        let folder = place.folder.join(place::name(next()));
        std::fs::create_dir(&folder).ok()?;
        let crew = Self { folder };
        // Half of what a run has.
        write(&crew.folder.join("cpu.shares"), &(SHARES / 2).to_string()).ok()?;
        Some(crew)
    }

    /// Has this thread come into it.
    ///
    /// # Errors
    /// It was taken away.
    pub(crate) fn enter(&self) -> io::Result<()> {
        write(&self.folder.join("tasks"), "0")
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        for _ in 0..TRIES {
            match std::fs::remove_dir(&self.folder) {
                Err(error) if is_busy(&error) => std::thread::sleep(Duration::from_millis(1)),
                _ => return,
            }
        }
    }
}
