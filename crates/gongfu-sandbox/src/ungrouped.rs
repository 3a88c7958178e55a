//! Control groups on a system that has none: nothing of this can ever be there.
//!
//! So whoever runs things asks for one as on Linux, and is told that there is none.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use gongfu_core::sandbox::Limits;
use rustix::event::PollFlags;

use crate::plan::Grouped;

/// Where groups can be made: nowhere.
#[derive(Debug)]
pub(crate) enum Groups {}

impl Groups {
    /// Those that this process can make.
    pub(crate) fn of_this_process() -> Option<&'static Self> {
        None
    }

    /// Has this thread be where the process is.
    pub(crate) fn leave_crew(&self) {
        match *self {}
    }

    /// Makes a group for the threads that carry out runs.
    pub(crate) fn crew(&self) -> Option<Crew> {
        match *self {}
    }

    /// Makes a group for a run.
    pub(crate) fn make(&self, _limits: &Limits, _watching: u64) -> io::Result<Group> {
        match *self {}
    }
}

/// A group for threads.
#[derive(Debug)]
pub(crate) enum Crew {}

impl Crew {
    /// Has this thread come into it.
    pub(crate) fn enter(&self) -> io::Result<()> {
        match *self {}
    }
}

/// A group of a run.
#[derive(Debug)]
pub(crate) enum Group {}

/// What the system counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counted {
    /// A process was ended because there was no more memory.
    pub(crate) oom: bool,
    /// There could be no more processes.
    pub(crate) crowded: bool,
}

impl Group {
    /// How the child comes into it.
    pub(crate) fn grouped(&self) -> Grouped {
        match *self {}
    }

    /// What the child needs to come into it.
    pub(crate) fn doors(&self) -> io::Result<Vec<OwnedFd>> {
        match *self {}
    }

    /// What can be waited for.
    pub(crate) fn alarm(&self) -> Option<(BorrowedFd<'_>, PollFlags)> {
        match *self {}
    }

    /// Whether the alarm that was heard is a true one.
    pub(crate) fn is_out_of_memory(&mut self) -> bool {
        match *self {}
    }

    /// What the system counted until now.
    pub(crate) fn counted(&self) -> Counted {
        match *self {}
    }

    /// Ends what is left in it.
    pub(crate) fn end(&self) -> bool {
        match *self {}
    }
}
