//! The needs of accounts outside the core: hashing of passwords, random bits, a key of the server.

use super::{Pending, PortError};
use crate::account::Password;

/// The result of comparing a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// It is another one, or there is nothing to compare with.
    Different,
    /// It is the same.
    Same,
    /// It is the same, and was hashed with parameters of before: hash it again.
    Outdated,
}

/// Hashes passwords slowly, so that a stolen hash is of little use.
///
/// Implementations bound the memory that all calls take together; calls wait for it.
pub trait Passwords: Send + Sync {
    /// The hash of a password, as a PHC string.
    fn hash<'a>(&'a self, password: &'a Password) -> Pending<'a, String>;

    /// Compares a password with a hash. Without a hash it takes as long, so that the time tells nothing.
    fn compare<'a>(
        &'a self,
        password: &'a Password,
        hash: Option<&'a str>,
    ) -> Pending<'a, Comparison>;
}

/// Random bits, and signatures by a key that never leaves the server.
pub trait Secrets: Send + Sync {
    /// Fills a buffer with random bits.
    ///
    /// # Errors
    /// The system has none.
    fn fill(&self, bits: &mut [u8]) -> Result<(), PortError>;

    /// The signature of a message (HMAC-SHA-256). A `purpose` keeps signatures of one kind from passing for
    /// another.
    fn sign(&self, purpose: &'static str, message: &[u8]) -> [u8; 32];

    /// Returns true if a signature is the one of a message. The time that this takes tells nothing about it.
    fn verify(&self, purpose: &'static str, message: &[u8], signature: &[u8]) -> bool;

    /// Encrypts a message, so that only this server reads it, for the same purpose and with the same context.
    ///
    /// # Errors
    /// The system has no random bits.
    fn seal(
        &self,
        purpose: &'static str,
        context: &[u8],
        message: &[u8],
    ) -> Result<Vec<u8>, PortError>;

    /// The message that was encrypted; `None` where it was changed, or for another server, purpose or context.
    fn unseal(&self, purpose: &'static str, context: &[u8], sealed: &[u8]) -> Option<Vec<u8>>;
}
