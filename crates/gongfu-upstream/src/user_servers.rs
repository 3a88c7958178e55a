//! The servers that an operator offers to users: approved once, and with sessions of each user's own.
//!
//! A session may know what its user did before, so no two users share one. They share the approval, and what a new session
//! shows of the server.

use std::sync::Arc;

use gongfu_core::capability::Safety;

use crate::parts::{ConnectionEntry, ServerParts};
use crate::room::Room;
use crate::servers::LocalServers;
use crate::upstream::Upstream;

/// The servers that an operator offers to users.
pub struct UserServers {
    upstreams: Vec<Arc<Upstream>>,
    default_safety: Safety,
    room: Arc<Room>,
}

impl UserServers {
    /// The servers of these connections, with room for so many sessions of all users together.
    pub fn new(declared: Vec<ConnectionEntry>, parts: &ServerParts, sessions: usize) -> Self {
        let room = Arc::new(Room::new(sessions));
        let upstream = |declared| {
            let room = Arc::clone(&room);
            Arc::new(Upstream::new(declared, parts.clone(), Some(room)))
        };
        Self {
            upstreams: declared.into_iter().map(upstream).collect(),
            default_safety: parts.default_safety,
            room,
        }
    }

    /// The same servers for one user, or to list what all users see.
    pub fn of_one(&self) -> LocalServers {
        LocalServers::of(self.upstreams.iter().map(Arc::clone), self.default_safety)
    }

    /// The number of sessions that go on.
    pub fn sessions(&self) -> usize {
        self.room.taken()
    }
}
