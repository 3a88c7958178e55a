//! Hashing and secrets that take no time and are no secret.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use gongfu_core::account::Password;
use gongfu_core::port::{Comparison, Passwords, Pending, PortError, Secrets, ready};
use gongfu_core::skill::Digest;

/// Hashes passwords by their digest, and counts the comparisons.
#[derive(Debug, Default)]
pub struct FakePasswords {
    compared: AtomicUsize,
    /// The parameters of today, a part of each hash.
    generation: AtomicUsize,
}

impl FakePasswords {
    /// The number of comparisons since the last question, those without a hash included.
    pub fn take_compared(&self) -> usize {
        self.compared.swap(0, Ordering::Relaxed)
    }

    /// Makes all hashes so far outdated.
    pub fn change_parameters(&self) {
        self.generation.fetch_add(1, Ordering::Relaxed);
    }

    fn of(&self, password: &Password) -> String {
        let generation = self.generation.load(Ordering::Relaxed);
        format!("{generation}${}", Digest::of(password.as_bytes()))
    }
}

impl Passwords for FakePasswords {
    fn hash<'a>(&'a self, password: &'a Password) -> Pending<'a, String> {
        ready(Ok(self.of(password)))
    }

    fn compare<'a>(
        &'a self,
        password: &'a Password,
        hash: Option<&'a str>,
    ) -> Pending<'a, Comparison> {
        self.compared.fetch_add(1, Ordering::Relaxed);
        let digest = Digest::of(password.as_bytes()).to_string();
        let is_same = hash.and_then(|hash| hash.split('$').nth(1)) == Some(&digest);
        ready(Ok(match (is_same, hash) {
            (false, _) => Comparison::Different,
            (true, hash) if hash == Some(&self.of(password)) => Comparison::Same,
            (true, _) => Comparison::Outdated,
        }))
    }
}

/// Secrets of a key that everybody knows, with numbers for random bits.
#[derive(Debug, Default)]
pub struct FakeSecrets {
    /// Another number is another server.
    pub key: u64,
    filled: AtomicU64,
}

impl FakeSecrets {
    /// The secrets of a server.
    pub fn of(key: u64) -> Self {
        Self {
            key,
            filled: AtomicU64::default(),
        }
    }
}

impl Secrets for FakeSecrets {
    fn fill(&self, bits: &mut [u8]) -> Result<(), PortError> {
        let number = self.filled.fetch_add(1, Ordering::Relaxed);
        let stream = Digest::of(format!("{} {number}", self.key).as_bytes()).to_bytes();
        for (bit, random) in bits.iter_mut().zip(stream) {
            *bit = random;
        }
        Ok(())
    }

    fn sign(&self, purpose: &'static str, message: &[u8]) -> [u8; 32] {
        let signed = [purpose.as_bytes(), &self.key.to_le_bytes(), message].concat();
        Digest::of(&signed).to_bytes()
    }

    fn verify(&self, purpose: &'static str, message: &[u8], signature: &[u8]) -> bool {
        self.sign(purpose, message) == signature
    }

    fn seal(
        &self,
        purpose: &'static str,
        context: &[u8],
        message: &[u8],
    ) -> Result<Vec<u8>, PortError> {
        let tag = self.sign(purpose, context);
        // Nobody finds the message in what is stored.
        Ok(tag
            .into_iter()
            .chain(message.iter().map(|byte| byte ^ 0xff))
            .collect())
    }

    fn unseal(&self, purpose: &'static str, context: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        let message = sealed.strip_prefix(&self.sign(purpose, context))?;
        Some(message.iter().map(|byte| byte ^ 0xff).collect())
    }
}
