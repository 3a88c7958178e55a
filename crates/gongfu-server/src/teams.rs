//! Changes of teams that spaces see at once.

use gongfu_core::port::Pending;

/// Told when teams changed, so that the next call sees it.
pub trait TeamsChanged: Send + Sync {
    /// Makes spaces look at the teams of their users again.
    fn changed(&self) -> Pending<'_, ()>;
}

/// Nobody keeps teams.
impl TeamsChanged for () {
    fn changed(&self) -> Pending<'_, ()> {
        gongfu_core::port::ready(Ok(()))
    }
}
