//! The cookies: one for a session, one for a browser without a session, one for the language.

use http::HeaderMap;
use http::header::COOKIE;

/// A cookie of the pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cookie {
    /// The secret of a session.
    Session,
    /// Random bits that the forms of a browser without a session belong to.
    Visit,
    /// The language that was chosen.
    Language,
}

/// The life of the choice of a language, in seconds.
const LANGUAGE_LIFE: u32 = 365 * 24 * 60 * 60;

impl Cookie {
    /// The name. The prefix has browsers hold to what it promises: TLS, this host, every path.
    fn name(self, is_secure: bool) -> &'static str {
        match (self, is_secure) {
            (Self::Session, true) => "__Host-gongfu",
            (Self::Session, false) => "gongfu",
            (Self::Visit, true) => "__Host-gongfu-visit",
            (Self::Visit, false) => "gongfu-visit",
            (Self::Language, _) => "gongfu-language",
        }
    }

    /// The value in a request. One that is there twice was set by somebody else, so it counts as none.
    pub(super) fn read(self, headers: &HeaderMap, is_secure: bool) -> Option<&str> {
        let name = self.name(is_secure);
        let pairs = headers.get_all(COOKIE).iter();
        let pairs = pairs.filter_map(|value| value.to_str().ok());
        let mut values = pairs
            .flat_map(|value| value.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .filter(|(found, _)| *found == name)
            .map(|(_, value)| value);
        let value = values.next()?;
        values.next().is_none().then_some(value)
    }

    /// The header that sets it, or removes it for an empty value.
    pub(super) fn set(self, value: &str, is_secure: bool) -> String {
        let secure = if is_secure { "; Secure" } else { "" };
        let life = match self {
            _ if value.is_empty() => "; Max-Age=0".to_owned(),
            Self::Language => format!("; Max-Age={LANGUAGE_LIFE}"),
            Self::Session | Self::Visit => String::new(),
        };
        let name = self.name(is_secure);
        format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax{secure}{life}")
    }
}
