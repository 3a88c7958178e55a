//! Waiting for handles.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Waits until a handle is readable, or at its end; returns whether it is.
pub(crate) fn is_readable_within(handle: impl AsFd, timeout: Duration) -> bool {
    let mut handles = [PollFd::new(&handle, PollFlags::IN)];
    let deadline = Instant::now() + timeout;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match poll(&mut handles, Some(&timespec(left))) {
            Err(rustix::io::Errno::INTR) => {}
            polled => break matches!(polled, Ok(1)),
        }
    }
}

/// Returns whether a handle is readable, or at its end, by now.
pub(crate) fn is_readable(handle: impl AsFd) -> bool {
    is_readable_within(handle, Duration::ZERO)
}

/// Converts a duration.
pub(crate) fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(duration.subsec_nanos()),
    }
}
