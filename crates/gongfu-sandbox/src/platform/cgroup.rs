//! The control groups of a system without any: no value of these types ever exists.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use gongfu_core::sandbox::Limits;
use rustix::event::PollFlags;

use crate::plan::Grouping;

/// Makes no groups.
#[derive(Debug)]
pub(crate) enum Groups {}

impl Groups {
    /// Nothing.
    pub(crate) fn of_this_process() -> Option<&'static Self> {
        None
    }

    /// Never called.
    pub(crate) fn make(&self, _limits: &Limits, _supervisors: u64) -> io::Result<Group> {
        match *self {}
    }
}

/// No group.
#[derive(Debug)]
pub(crate) enum Group {}

/// The limits that a run has hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LimitHits {
    /// A process was killed for lack of memory.
    pub(crate) oom: bool,
    /// A process couldn't be started.
    pub(crate) crowded: bool,
}

impl Group {
    /// Never called.
    pub(crate) fn grouping(&self) -> Grouping {
        match *self {}
    }

    /// Never called.
    pub(crate) fn join_handles(&self) -> io::Result<Vec<OwnedFd>> {
        match *self {}
    }

    /// Never called.
    pub(crate) fn alarm(&self) -> Option<(BorrowedFd<'_>, PollFlags)> {
        match *self {}
    }

    /// Never called.
    pub(crate) fn is_out_of_memory(&mut self) -> bool {
        match *self {}
    }

    /// Never called.
    pub(crate) fn limit_hits(&self) -> LimitHits {
        match *self {}
    }

    /// Never called.
    pub(crate) fn end(&self) -> bool {
        match *self {}
    }
}
