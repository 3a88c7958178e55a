//! Locks between processes.

use std::any::Any;

use super::Pending;

/// Locks that hold for every process of one home.
pub trait Locks: Send + Sync {
    /// Waits for a lock; it is held until the answer is dropped, or its process ends.
    ///
    /// [`super::PortError::Unavailable`] where another process holds it for too long.
    fn lock<'a>(&'a self, name: &'a str) -> Pending<'a, Box<dyn Any + Send>>;
}
