//! The key of a server: a file of its home that only its owner may read.
//!
//! Anyone with the key can sign as the server, so it isn't in the database, whose copies go elsewhere. Without
//! it every session ends; nothing else is lost.

use std::io::{self, Read as _};

use gongfu_core::port::{PortError, Secrets};
use gongfu_core::skill::SkillPath;
use gongfu_files::Home;
use gongfu_files::disk::Root;
use hmac::{Hmac, KeyInit as _, Mac as _};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use sha2::Sha256;

const FILE: &str = "server.key";
/// The length of the key, in bytes.
const LENGTH: usize = 32;
/// The length of a block of SHA-256, in bytes.
const BLOCK: usize = 64;

/// The key that a server signs with.
pub struct ServerKey([u8; LENGTH]);

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file can't be read or written.
    #[error("{place} can't be used: {error}")]
    Io {
        /// The file.
        place: String,
        /// The reason.
        error: io::Error,
    },
    /// Others could read it.
    #[error(
        "{0} is readable by others; remove it, so that a new one is created and everybody signs in again"
    )]
    Readable(String),
    /// It isn't a key.
    #[error(
        "{0} is not a key; remove it, so that a new one is created and everybody signs in again"
    )]
    Damaged(String),
}

impl ServerKey {
    /// Reads the key of a home, and creates it at the first need.
    ///
    /// # Errors
    /// The file can't be used, or others may read it.
    pub fn of(home: &Home) -> Result<Self, KeyError> {
        if let Some(key) = Self::read(home)? {
            return Ok(key);
        }
        let place = || home.path().join(FILE).display().to_string();
        let failed = |error| KeyError::Io {
            place: place(),
            error,
        };
        let mut key = [0; LENGTH];
        getrandom::fill(&mut key).map_err(|error| failed(io::Error::other(error.to_string())))?;
        let created = home
            .open()
            .and_then(|root| root.create_private_file(FILE, &key));
        match created {
            Ok(()) => Ok(Self(key)),
            // Another gongfu was faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Self::read(home)?.ok_or_else(|| failed(error))
            }
            Err(error) => Err(failed(error)),
        }
    }

    fn read(home: &Home) -> Result<Option<Self>, KeyError> {
        let place = home.path().join(FILE).display().to_string();
        let Ok(name) = SkillPath::new(FILE) else {
            return Err(KeyError::Damaged(place));
        };
        let opened = Root::open(home.path()).and_then(|root| root.open_file(&name));
        let file = match opened {
            Ok((file, _)) => file.into_std(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(KeyError::Io { place, error }),
        };
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            match file.metadata() {
                Ok(metadata) if metadata.permissions().mode() & 0o077 != 0 => {
                    return Err(KeyError::Readable(place));
                }
                Ok(_) => {}
                Err(error) => return Err(KeyError::Io { place, error }),
            }
        }
        let mut bytes = Vec::new();
        let read = file.take(LENGTH as u64 + 1).read_to_end(&mut bytes);
        if let Err(error) = read {
            return Err(KeyError::Io { place, error });
        }
        match <[u8; LENGTH]>::try_from(bytes) {
            Ok(key) => Ok(Some(Self(key))),
            Err(_) => Err(KeyError::Damaged(place)),
        }
    }

    fn mac(&self, purpose: &'static str, message: &[u8]) -> Hmac<Sha256> {
        // HMAC fills a key up to the block of its hash with zeros (RFC 2104).
        let mut block = [0; BLOCK];
        for (byte, key) in block.iter_mut().zip(self.0) {
            *byte = key;
        }
        let mut mac = Hmac::<Sha256>::new(&block.into());
        mac.update(&(purpose.len() as u64).to_be_bytes());
        mac.update(purpose.as_bytes());
        mac.update(message);
        mac
    }

    /// The key that encrypts for a purpose.
    fn cipher(&self, purpose: &'static str) -> Option<LessSafeKey> {
        let key = self.sign(purpose, b"encryption");
        let key = UnboundKey::new(&CHACHA20_POLY1305, &key).ok()?;
        Some(LessSafeKey::new(key))
    }
}

impl Secrets for ServerKey {
    fn fill(&self, bits: &mut [u8]) -> Result<(), PortError> {
        getrandom::fill(bits).map_err(|error| {
            PortError::Unavailable(format!("the system has no random numbers: {error}"))
        })
    }

    fn sign(&self, purpose: &'static str, message: &[u8]) -> [u8; 32] {
        self.mac(purpose, message).finalize().into_bytes().into()
    }

    fn verify(&self, purpose: &'static str, message: &[u8], signature: &[u8]) -> bool {
        self.mac(purpose, message).verify_slice(signature).is_ok()
    }

    fn seal(
        &self,
        purpose: &'static str,
        context: &[u8],
        message: &[u8],
    ) -> Result<Vec<u8>, PortError> {
        let mut nonce = [0; NONCE_LEN];
        self.fill(&mut nonce)?;
        let failed = || PortError::Unavailable("the message can't be encrypted".to_owned());
        let cipher = self.cipher(purpose).ok_or_else(failed)?;
        let mut sealed = message.to_vec();
        let once = Nonce::assume_unique_for_key(nonce);
        let sealing = cipher.seal_in_place_append_tag(once, Aad::from(context), &mut sealed);
        sealing.map_err(|_| failed())?;
        Ok([&nonce[..], &sealed].concat())
    }

    fn unseal(&self, purpose: &'static str, context: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, message) = sealed.split_first_chunk::<NONCE_LEN>()?;
        let mut message = message.to_vec();
        let once = Nonce::assume_unique_for_key(*nonce);
        let cipher = self.cipher(purpose)?;
        let opened = cipher.open_in_place(once, Aad::from(context), &mut message);
        opened.ok().map(|opened| opened.to_vec())
    }
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "a test damages the file behind its back"
)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use gongfu_core::port::Secrets as _;
    use gongfu_files::Home;

    use super::{FILE, KeyError, ServerKey};

    #[test]
    fn key_is_created_once_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("home"));
        let key = ServerKey::of(&home).unwrap();
        let file = home.path().join(FILE);
        assert_eq!(
            fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o600
        );
        let again = ServerKey::of(&home).unwrap();
        let signature = key.sign("a", b"bc");
        assert!(again.verify("a", b"bc", &signature));
        for (purpose, message) in [("b", &b"bc"[..]), ("a", b"b"), ("ab", b"c")] {
            assert!(!again.verify(purpose, message, &signature), "{purpose}");
        }
        assert!(!again.verify("a", b"bc", &signature[..31]));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(ServerKey::of(&home), Err(KeyError::Readable(_))));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        for damaged in [&b""[..], &[7; 31], &[7; 33]] {
            fs::write(&file, damaged).unwrap();
            assert!(matches!(ServerKey::of(&home), Err(KeyError::Damaged(_))));
        }
        fs::remove_file(&file).unwrap();
        let other = ServerKey::of(&home).unwrap();
        assert!(!other.verify("a", b"bc", &signature));
    }
    #[test]
    fn message_is_read_by_its_key_for_its_purpose_and_context_alone() {
        let folder = tempfile::tempdir().unwrap();
        let key = ServerKey::of(&Home::at(folder.path().join("one"))).unwrap();
        let other = ServerKey::of(&Home::at(folder.path().join("other"))).unwrap();
        let sealed = key.seal("a", b"ann", b"secret").unwrap();
        assert_eq!(key.unseal("a", b"ann", &sealed).unwrap(), b"secret");
        assert_eq!(key.unseal("b", b"ann", &sealed), None);
        assert_eq!(key.unseal("a", b"bob", &sealed), None);
        assert_eq!(other.unseal("a", b"ann", &sealed), None);
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert_eq!(key.unseal("a", b"ann", &changed), None, "{at}");
            assert_eq!(key.unseal("a", b"ann", &sealed[..at]), None, "{at}");
        }
        assert_ne!(key.seal("a", b"ann", b"secret").unwrap(), sealed);
    }
}
