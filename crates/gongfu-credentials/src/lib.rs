//! Credentials: how passwords are hashed, and the key that a server signs with.
//!
//! Implements the ports `Passwords` and `Secrets`. Knows nothing of users or requests.

mod argon;
mod key;

pub use argon::Argon2Passwords;
pub use key::{KeyError, ServerKey};
