//! Times of files, and the time at which a run began to see them.
//!
//! The kernel stamps files by a clock that moves in ticks, of up to ten milliseconds. A run begins at a tick: every
//! change from then on has this time or a later one. So has a change that came before in the same tick, which counts
//! as one by somebody else. Changes by this process are often that close to the next run, so a run waits for the
//! tick after them.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use rustix::fs::Stat;
use rustix::time::{ClockId, Timespec, clock_gettime};
use serde::{Deserialize, Serialize};

/// The clock that goes on while the machine sleeps, and is never set.
#[cfg(target_os = "linux")]
const STEADY: ClockId = ClockId::Boottime;
#[cfg(not(target_os = "linux"))]
const STEADY: ClockId = ClockId::Monotonic;
/// The clock that stamps files.
#[cfg(target_os = "linux")]
const STAMPS: ClockId = ClockId::RealtimeCoarse;
#[cfg(not(target_os = "linux"))]
const STAMPS: ClockId = ClockId::Realtime;
/// The most by which the two clocks drift apart while nobody sets one, as a part of the time that passes: a
/// thousandth, twice what the kernel may slew.
const DRIFT: i128 = 1000;
/// The error of reading two clocks after each other, in nanoseconds.
const READING_ERROR: i128 = 1_000_000;
/// The time of the last change of files by this process, in nanoseconds since 1970.
static LAST_CHANGE: AtomicI64 = AtomicI64::new(0);
/// A step of waiting for the clock of files.
const STEP: Duration = Duration::from_micros(200);
/// The most steps.
const MAX_STEPS: u32 = 100;
/// More than the longest tick, in nanoseconds.
const MAX_TICK: i128 = 20_000_000;
const SECOND: i128 = 1_000_000_000;

/// The age at which a beginning is taken anew: files that changed meanwhile count as changed by others.
const MAX_AGE: i128 = 5_000_000;

/// A time of a file, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct FileTime(i128);

impl FileTime {
    /// The time of the last modification of the content.
    #[expect(
        clippy::useless_conversion,
        reason = "its fields differ between systems"
    )]
    pub(crate) fn modified(found: &Stat) -> Self {
        Self::new(found.st_mtime.into(), found.st_mtime_nsec)
    }

    /// The time of the last change, that of a name or a mode included, which nobody can set.
    #[expect(
        clippy::useless_conversion,
        reason = "its fields differ between systems"
    )]
    pub(crate) fn changed(found: &Stat) -> Self {
        Self::new(found.st_ctime.into(), found.st_ctime_nsec)
    }

    fn new(seconds: i64, rest: impl TryInto<i64>) -> Self {
        Self(i128::from(seconds) * SECOND + i128::from(rest.try_into().unwrap_or_default()))
    }

    fn of(clock: ClockId) -> Self {
        let Timespec { tv_sec, tv_nsec } = clock_gettime(clock);
        Self::new(tv_sec, tv_nsec)
    }

    /// The time between the two; negative where this one is earlier.
    pub(crate) fn since(self, other: Self) -> i128 {
        self.0 - other.0
    }
}

/// The time at which a run began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Beginning {
    time: FileTime,
    steady: FileTime,
}

impl Beginning {
    /// The present tick, which none of the changes that were noted belongs to: waits for the next one if need be.
    pub(crate) fn now() -> Self {
        let last = FileTime(LAST_CHANGE.load(Ordering::Relaxed).into());
        for _ in 0..MAX_STEPS {
            // The clock may have been set back.
            let is_close = FileTime::of(ClockId::Realtime).since(last) < MAX_TICK;
            if !is_close || FileTime::of(STAMPS) > last {
                break;
            }
            std::thread::sleep(STEP);
        }
        Self {
            time: FileTime::of(STAMPS),
            steady: FileTime::of(STEADY),
        }
    }

    /// Milliseconds since 1970, by the clock as it was.
    pub(crate) fn milliseconds(self) -> u64 {
        u64::try_from(self.time.0 / 1_000_000).unwrap_or_default()
    }

    /// The same, or the present time if it has passed for a while.
    pub(crate) fn recent(self) -> Self {
        if FileTime::of(STEADY).since(self.steady) > MAX_AGE {
            Self::now()
        } else {
            self
        }
    }

    /// The time in terms of the clock as it is now: every file that changed since the beginning has this time or a
    /// later one. Where the clock was set back meanwhile, some that changed before have one as well.
    pub(crate) fn time(self) -> FileTime {
        let passed = FileTime::of(STEADY).since(self.steady);
        let expected = FileTime::of(ClockId::Realtime).since(FileTime(passed));
        let tolerance = READING_ERROR + passed / DRIFT;
        if self.time.0 - expected > tolerance {
            // Its tick began earlier.
            FileTime(expected - tolerance - MAX_TICK)
        } else {
            self.time
        }
    }
}

/// Returns whether a file has changed since a time. Some file systems count in seconds; there a change within the
/// same second counts as well.
pub(crate) fn has_changed_since(found: &Stat, time: FileTime) -> bool {
    let changed = FileTime::changed(found);
    let is_coarse = changed.0 % SECOND == 0;
    changed >= time || is_coarse && changed.0 >= time.0 - time.0 % SECOND
}

/// Returns whether somebody may have moved a folder to where it is since a time, with files in it that are older;
/// `parent_modified` is the last modification of the folder that it is in.
pub(crate) fn may_be_moved_since(found: &Stat, parent_modified: FileTime, time: FileTime) -> bool {
    has_changed_since(found, time) && parent_modified >= time
}

/// Notes that this process has just changed files, which the next run sees.
pub(crate) fn note_change() {
    let now = FileTime::of(ClockId::Realtime).0;
    LAST_CHANGE.store(i64::try_from(now).unwrap_or_default(), Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rustix::fs::stat;

    use super::{Beginning, FileTime, SECOND, has_changed_since, note_change};

    #[test]
    fn file_counts_as_changed_only_after_the_beginning() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for _ in 0..50 {
            fs::write(&path, "before").unwrap();
            note_change();
            let beginning = Beginning::now();
            assert!(!has_changed_since(&stat(&path).unwrap(), beginning.time()));
            fs::write(&path, "after").unwrap();
            assert!(has_changed_since(&stat(&path).unwrap(), beginning.time()));
        }
    }

    #[test]
    fn clock_that_is_set_back_moves_the_beginning() {
        let now = Beginning::now();
        let hour = 3_600 * SECOND;
        // As if the clock had been an hour ahead.
        let ahead = Beginning {
            time: FileTime(now.time.0 + hour),
            ..now
        };
        assert!(ahead.time() <= now.time);
        let behind = Beginning {
            time: FileTime(now.time.0 - hour),
            ..now
        };
        assert_eq!(behind.time(), behind.time);
    }
}
