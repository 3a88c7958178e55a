//! Passwords by Argon2id (RFC 9106), in memory that is bounded and used again.
//!
//! A hash takes 19 MiB, and anybody may ask for one by a wrong login. So two are computed at once, each in a
//! buffer that stays; the others wait without any.

use std::sync::{Arc, Mutex, PoisonError};

use argon2::{Algorithm, Argon2, Block, Params, Version};
use gongfu_core::account::Password;
use gongfu_core::port::{Comparison, Passwords, Pending, PortError};
use password_hash::phc::{Output, ParamsString, PasswordHash, Salt};
use tokio::sync::Semaphore;

/// The parameters of new hashes: OWASP's first choice of 19 MiB, two passes, one lane.
const MEMORY: u32 = 19_456;
const PASSES: u32 = 2;
const LANES: u32 = 1;
/// The most memory of a hash that is compared, in KiB: one that was brought from elsewhere may want more.
const MAX_MEMORY: u32 = 65_536;
/// The hashes that are computed at once.
const AT_ONCE: usize = 2;
/// The length of a salt and of a hash, in bytes.
const SALT: usize = 16;
const OUTPUT: usize = 32;

/// Hashes passwords with Argon2id.
pub struct Argon2Passwords {
    permits: Semaphore,
    /// The memory that isn't used just now.
    buffers: Arc<Mutex<Vec<Vec<Block>>>>,
}

impl Default for Argon2Passwords {
    fn default() -> Self {
        Self {
            permits: Semaphore::new(AT_ONCE),
            buffers: Arc::default(),
        }
    }
}

impl Argon2Passwords {
    /// Computes on a thread that may block, once there is a permit.
    async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Vec<Block>) -> Result<T, PortError> + Send + 'static,
    ) -> Result<T, PortError> {
        let closed = |_| PortError::Unavailable("the server is shutting down".to_owned());
        let _permit = self.permits.acquire().await.map_err(closed)?;
        let buffers = Arc::clone(&self.buffers);
        let computing = tokio::task::spawn_blocking(move || {
            let lock = || buffers.lock().unwrap_or_else(PoisonError::into_inner);
            let mut buffer = lock().pop().unwrap_or_default();
            let result = work(&mut buffer);
            lock().push(buffer);
            result
        });
        computing
            .await
            .unwrap_or_else(|error| Err(PortError::Other(error.into())))
    }
}

impl Passwords for Argon2Passwords {
    fn hash<'a>(&'a self, password: &'a Password) -> Pending<'a, String> {
        let password = password.as_bytes().to_vec();
        Box::pin(self.compute(move |buffer| hash(&password, buffer)))
    }

    fn compare<'a>(
        &'a self,
        password: &'a Password,
        hash: Option<&'a str>,
    ) -> Pending<'a, Comparison> {
        let password = password.as_bytes().to_vec();
        let hash = hash.map(str::to_owned);
        Box::pin(self.compute(move |buffer| compare(&password, hash.as_deref(), buffer)))
    }
}

/// The parameters of new hashes.
fn params() -> Result<Params, PortError> {
    Params::new(MEMORY, PASSES, LANES, Some(OUTPUT)).map_err(broken)
}

fn hash(password: &[u8], buffer: &mut Vec<Block>) -> Result<String, PortError> {
    let mut salt = [0; SALT];
    getrandom::fill(&mut salt).map_err(broken)?;
    let params = params()?;
    let output = output(password, &salt, &params, buffer)?;
    let hash = PasswordHash {
        algorithm: Algorithm::Argon2id.ident(),
        version: Some(Version::V0x13.into()),
        params: ParamsString::try_from(&params).map_err(broken)?,
        salt: Some(Salt::new(&salt).map_err(broken)?),
        hash: Some(Output::new(&output).map_err(broken)?),
    };
    Ok(hash.to_string())
}

fn compare(
    password: &[u8],
    hash: Option<&str>,
    buffer: &mut Vec<Block>,
) -> Result<Comparison, PortError> {
    let today = params()?;
    let Some(text) = hash else {
        // As long as a comparison takes, so that nobody learns who has a password.
        output(password, &[0; SALT], &today, buffer)?;
        return Ok(Comparison::Different);
    };
    let hash = PasswordHash::new(text).map_err(broken)?;
    let is_known = hash.algorithm == Algorithm::Argon2id.ident()
        && hash.version == Some(Version::V0x13.into());
    let (Some(salt), Some(wanted), true) = (hash.salt, hash.hash, is_known) else {
        let why = "the hash of a password isn't one of Argon2id; set the password again";
        return Err(PortError::Unavailable(why.to_owned()));
    };
    let params = Params::try_from(&hash).map_err(broken)?;
    if params.m_cost() > MAX_MEMORY {
        let why = "the hash of a password needs more than 64 MiB; set the password again";
        return Err(PortError::Unavailable(why.to_owned()));
    }
    let found = output(password, &salt, &params, buffer)?;
    // `Output` compares in constant time.
    let is_same = Output::new(&found).map_err(broken)? == wanted;
    let is_outdated = (params.m_cost(), params.t_cost(), params.p_cost())
        != (today.m_cost(), today.t_cost(), today.p_cost());
    Ok(match (is_same, is_outdated) {
        (false, _) => Comparison::Different,
        (true, false) => Comparison::Same,
        (true, true) => Comparison::Outdated,
    })
}

/// The hash of a password, in memory that is used again.
fn output(
    password: &[u8],
    salt: &[u8],
    params: &Params,
    buffer: &mut Vec<Block>,
) -> Result<Vec<u8>, PortError> {
    let mut found = vec![0; params.output_len().unwrap_or(OUTPUT)];
    let blocks = params.block_count();
    if buffer.len() < blocks {
        buffer.resize(blocks, Block::new());
    }
    let memory = buffer.get_mut(..blocks).unwrap_or_default();
    let argon = Argon2::new(Algorithm::Argon2id, Version::V0x13, params.clone());
    argon
        .hash_password_into_with_memory(password, salt, &mut found, memory)
        .map_err(broken)?;
    Ok(found)
}

fn broken(error: impl std::fmt::Display) -> PortError {
    PortError::Unavailable(format!("passwords can't be hashed: {error}"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use gongfu_core::account::Password;
    use gongfu_core::port::{Comparison, Passwords as _};

    use super::Argon2Passwords;

    fn password(text: &str) -> Password {
        Password::given(text.to_owned()).unwrap()
    }

    #[tokio::test]
    async fn password_matches_its_hash_alone() {
        let passwords = Argon2Passwords::default();
        let right = password("three unrelated words");
        let hash = passwords.hash(&right).await.unwrap();
        assert!(
            hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"),
            "{hash}"
        );
        assert_ne!(hash, passwords.hash(&right).await.unwrap());
        let compare = async |password: &Password, hash: Option<&str>| {
            passwords.compare(password, hash).await.unwrap()
        };
        assert_eq!(compare(&right, Some(&hash)).await, Comparison::Same);
        let wrong = password("three unrelated word");
        assert_eq!(compare(&wrong, Some(&hash)).await, Comparison::Different);
        assert_eq!(compare(&right, None).await, Comparison::Different);
    }

    #[tokio::test]
    async fn hash_with_other_parameters_is_outdated() {
        // Of `password` with the salt `somesalt`, from the reference implementation's tests.
        let old =
            "$argon2id$v=19$m=256,t=2,p=2$c29tZXNhbHQ$bQk8UB/VmZZF4Oo79iDXuL5/0ttZwg2f/5U52iv1cDc";
        let passwords = Argon2Passwords::default();
        let compared = passwords.compare(&password("password"), Some(old)).await;
        assert_eq!(compared.unwrap(), Comparison::Outdated);
        for broken in ["", "x", "$2b$12$abc", &old.replace("m=256", "m=4000000")] {
            let compared = passwords.compare(&password("password"), Some(broken)).await;
            assert!(compared.is_err(), "{broken}");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn many_at_once_share_two_buffers() {
        let passwords = Arc::new(Argon2Passwords::default());
        let mut running = tokio::task::JoinSet::new();
        for _ in 0..12 {
            let passwords = Arc::clone(&passwords);
            running.spawn(async move {
                let password = password("three unrelated words");
                passwords.compare(&password, None).await.unwrap()
            });
        }
        while running.join_next().await.is_some() {}
        assert!(passwords.buffers.lock().unwrap().len() <= 2);
    }
}
