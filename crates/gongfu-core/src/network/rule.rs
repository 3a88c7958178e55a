//! Rules of an operator: a host, or all hosts below a name, at one port.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::host::{Destination, Host, HostError, port_of};

/// The prefix for all hosts below a name.
const BELOW: &str = "*.";

/// Hosts that may be reached: `example.com`, `*.example.com`, either with a port (`:8443`); 443 without.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Rule {
    host: Host,
    /// True if it is for those below the host, and not for itself.
    below: bool,
    port: u16,
}

/// Why a text is no rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// The host in it can't be the name of a host.
    #[error(transparent)]
    Host(#[from] HostError),
    /// It would be for everybody's hosts.
    #[error("`*` is only allowed as the first part of a name with a dot: `*.example.com`")]
    TooWide,
}

impl Rule {
    /// The port where none is named: everything goes by TLS.
    pub const HTTPS: u16 = 443;

    /// The rule for one host at one port.
    pub fn exactly(destination: &Destination) -> Self {
        Self {
            host: destination.host.clone(),
            below: false,
            port: destination.port,
        }
    }

    /// The one host that it is for; `None` where it is for all below a name.
    pub fn destination(&self) -> Option<Destination> {
        (!self.below).then(|| Destination {
            host: self.host.clone(),
            port: self.port,
        })
    }

    /// Returns true if a host at a port is one of these.
    pub fn allows(&self, destination: &Destination) -> bool {
        let host = destination.host.as_str();
        let is_it = if self.below {
            let above = host.strip_suffix(self.host.as_str());
            above.is_some_and(|above| above.ends_with('.'))
        } else {
            destination.host == self.host
        };
        is_it && destination.port == self.port
    }
}

impl FromStr for Rule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        if text == "*" {
            return Err(RuleError::TooWide);
        }
        // The text of a URL or an address has colons that are before no port.
        let colons = text.matches(':').count();
        if text.contains('/') || text.starts_with('[') || colons > 1 {
            let host = text.parse::<Host>().err();
            return Err(host.unwrap_or(HostError::Port).into());
        }
        let (name, port) = match text.rsplit_once(':') {
            Some((name, port)) => (name, port_of(port)?),
            None => (text, Self::HTTPS),
        };
        let below = name.strip_prefix(BELOW);
        let host: Host = below.unwrap_or(name).parse()?;
        if below.is_some() && !host.as_str().contains('.') {
            return Err(RuleError::TooWide);
        }
        let below = below.is_some();
        Ok(Self { host, below, port })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.below {
            formatter.write_str(BELOW)?;
        }
        write!(formatter, "{}", self.host)?;
        if self.port == Self::HTTPS {
            return Ok(());
        }
        write!(formatter, ":{}", self.port)
    }
}

impl TryFrom<String> for Rule {
    type Error = RuleError;

    fn try_from(text: String) -> Result<Self, RuleError> {
        text.parse()
    }
}

impl From<Rule> for String {
    fn from(rule: Rule) -> Self {
        rule.to_string()
    }
}

/// All that a run may reach; nothing, where there is no rule.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rules(pub Vec<Rule>);

impl Rules {
    /// Returns true if a host at a port may be reached.
    pub fn allow(&self, destination: &Destination) -> bool {
        self.0.iter().any(|rule| rule.allows(destination))
    }

    /// Returns true if nothing may be reached.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::{HostError, Rule, RuleError, Rules};

    fn allows(rule: &str, destination: &str) -> bool {
        let rules = Rules(vec![rule.parse().unwrap()]);
        rules.allow(&destination.parse().unwrap())
    }

    #[test]
    fn rule_allows_only_its_hosts() {
        assert!(allows("example.com", "example.com:443"));
        assert!(allows("EXAMPLE.com:8443", "example.COM:8443"));
        assert!(allows("*.example.com", "a.example.com:443"));
        assert!(allows("*.example.com", "a.b.example.com:443"));
        for (rule, destination) in [
            ("example.com", "example.com:80"),
            ("example.com:8443", "example.com:443"),
            ("example.com", "a.example.com:443"),
            ("example.com", "example.com.evil.test:443"),
            ("example.com", "notexample.com:443"),
            ("*.example.com", "example.com:443"),
            ("*.example.com", "notexample.com:443"),
            ("*.example.com", "a.example.com:80"),
        ] {
            assert!(!allows(rule, destination), "{rule} {destination}");
        }
        assert!(!Rules::default().allow(&"example.com:443".parse().unwrap()));
    }

    #[test]
    fn text_that_is_no_rule_is_refused_for_its_own_reason() {
        for (text, error) in [
            ("*", RuleError::TooWide),
            ("*.com", RuleError::TooWide),
            ("https://example.com", HostError::Url.into()),
            ("https://example.com:443/x", HostError::Url.into()),
            ("[::1]", HostError::Address.into()),
            ("::ffff:127.0.0.1", HostError::Address.into()),
            ("bücher.example:443", HostError::NotAscii.into()),
            ("example.com:x", HostError::Port.into()),
        ] {
            assert_eq!(text.parse::<Rule>(), Err(error), "{text}");
        }
    }

    #[test]
    fn rule_is_written_as_it_is_read() {
        for text in ["example.com", "*.example.com", "example.com:8443"] {
            let rule: Rule = text.parse().unwrap();
            assert_eq!(rule.to_string(), text);
            let json = serde_json::to_string(&rule).unwrap();
            assert_eq!(serde_json::from_str::<Rule>(&json).unwrap(), rule);
        }
        assert_eq!(
            "example.com:443".parse::<Rule>().unwrap().to_string(),
            "example.com"
        );
        for text in [
            "*",
            "*.",
            "*.com",
            "a.*.com",
            "**.example.com",
            "1.2.3.4",
            "",
            "x:0",
            "x:",
        ] {
            assert!(text.parse::<Rule>().is_err(), "{text:?}");
        }
        assert_eq!("*.com".parse::<Rule>(), Err(RuleError::TooWide));
    }
}
