//! Parameters of a request, as a form has them. None may be there twice (RFC 6749, section 3.1).

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::OAuthError;

/// The most parameters of a request.
const MAX_PARAMETERS: usize = 64;
/// The longest value, in bytes.
const MAX_VALUE: usize = 16 * 1_024;

/// The parameters of a request.
#[derive(Debug, Clone, Default)]
pub struct Parameters {
    /// The values by name; `None` for a name that was there twice.
    values: BTreeMap<String, Option<String>>,
}

impl Parameters {
    /// Reads a query or the body of a form.
    ///
    /// # Errors
    /// There are too many, or one is too long.
    pub fn read(text: &[u8]) -> Result<Self, OAuthError> {
        let mut values: BTreeMap<String, Option<String>> = BTreeMap::new();
        for (count, (name, value)) in url::form_urlencoded::parse(text).enumerate() {
            let is_long = name.len() > MAX_VALUE || value.len() > MAX_VALUE;
            if count >= MAX_PARAMETERS || is_long {
                return Err(OAuthError::request(
                    "a request has at most 64 parameters of 16 KiB each",
                ));
            }
            values
                .entry(name.into_owned())
                .and_modify(|value| *value = None)
                .or_insert(Some(value.into_owned()));
        }
        Ok(Self { values })
    }

    /// The value of a parameter. An empty one counts as missing (RFC 6749, section 3.1).
    ///
    /// # Errors
    /// It is there twice.
    pub fn get(&self, name: &str) -> Result<Option<&str>, OAuthError> {
        match self.values.get(name) {
            None => Ok(None),
            Some(Some(value)) => Ok((!value.is_empty()).then_some(value)),
            Some(None) => Err(OAuthError::request(format!("`{name}` is there twice"))),
        }
    }

    /// The value of a parameter that must be there.
    ///
    /// # Errors
    /// It is missing, or there twice.
    pub fn require(&self, name: &str) -> Result<&str, OAuthError> {
        let missing = || OAuthError::request(format!("`{name}` is missing"));
        self.get(name)?.ok_or_else(missing)
    }

    /// Checks that no parameter is there twice.
    ///
    /// # Errors
    /// One is.
    pub fn check_single(&self) -> Result<(), OAuthError> {
        match self.values.iter().find(|(_, value)| value.is_none()) {
            None => Ok(()),
            Some((name, _)) => {
                let name: Cow<'_, str> = crate::text::visible(name);
                Err(OAuthError::request(format!("`{name}` is there twice")))
            }
        }
    }
}
