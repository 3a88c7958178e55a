//! Scopes: the permissions of a credential.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::capability::Access;

/// A permission of a credential (`spec`, "Accounts and authentication").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Scope {
    /// Find, list and read skills and files.
    #[serde(rename = "skills:read")]
    SkillsRead,
    /// Create, change and delete skills and files.
    #[serde(rename = "skills:write")]
    SkillsWrite,
    /// Run commands of skills.
    #[serde(rename = "skills:run")]
    SkillsRun,
    /// Manage users and the server.
    #[serde(rename = "admin")]
    Admin,
}

impl Scope {
    /// Every scope.
    pub const ALL: [Self; 4] = [
        Self::SkillsRead,
        Self::SkillsWrite,
        Self::SkillsRun,
        Self::Admin,
    ];

    /// The scope as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SkillsRead => "skills:read",
            Self::SkillsWrite => "skills:write",
            Self::SkillsRun => "skills:run",
            Self::Admin => "admin",
        }
    }

    /// The scope that a call of a tool needs.
    pub fn of(access: Access) -> Self {
        match access {
            Access::Read => Self::SkillsRead,
            Access::Write => Self::SkillsWrite,
            Access::Execute => Self::SkillsRun,
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A text that is no [`Scope`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no scope `{0}`; the scopes are skills:read, skills:write, skills:run and admin")]
pub struct UnknownScope(String);

impl FromStr for Scope {
    type Err = UnknownScope;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut all = Self::ALL.into_iter();
        all.find(|scope| scope.as_str() == text).ok_or_else(|| {
            UnknownScope(crate::text::clipped(text, 64, char::REPLACEMENT_CHARACTER))
        })
    }
}

/// A set of scopes, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Scopes(Vec<Scope>);

impl Scopes {
    /// The scopes of a token for which nobody names others.
    pub fn usual() -> Self {
        Self(vec![
            Scope::SkillsRead,
            Scope::SkillsWrite,
            Scope::SkillsRun,
        ])
    }

    /// All scopes that a user may have.
    pub fn of_user(is_admin: bool) -> Self {
        let mut scopes = Self::usual();
        if is_admin {
            scopes.0.push(Scope::Admin);
        }
        scopes
    }

    /// Returns true if the scope is in the set.
    pub fn has(&self, scope: Scope) -> bool {
        self.0.contains(&scope)
    }

    /// The scopes that are in both sets.
    #[must_use]
    pub fn within(&self, other: &Self) -> Self {
        let both = self.0.iter().copied();
        both.filter(|scope| other.has(*scope)).collect()
    }

    /// The scopes in their order.
    pub fn iter(&self) -> impl Iterator<Item = Scope> + '_ {
        self.0.iter().copied()
    }

    /// Returns true if there is no scope in the set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<T: IntoIterator<Item = Scope>>(scopes: T) -> Self {
        let mut scopes: Vec<Scope> = scopes.into_iter().collect();
        scopes.sort_unstable();
        scopes.dedup();
        Self(scopes)
    }
}

/// As OAuth writes them: separated by spaces (RFC 6749, section 3.3).
impl fmt::Display for Scopes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.iter().map(|scope| scope.as_str()).collect();
        formatter.write_str(&names.join(" "))
    }
}

impl FromStr for Scopes {
    type Err = UnknownScope;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.split_ascii_whitespace().map(str::parse).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Scope, Scopes};

    #[test]
    fn scopes_are_sets_in_one_order() {
        let read: Scopes = " skills:run  skills:read skills:run".parse().unwrap();
        assert_eq!(read.to_string(), "skills:read skills:run");
        assert!(read.has(Scope::SkillsRun) && !read.has(Scope::Admin));
        assert_eq!(
            Scopes::of_user(true).within(&read).to_string(),
            "skills:read skills:run"
        );
        assert!("skills:all".parse::<Scopes>().is_err());
        assert!("".parse::<Scopes>().unwrap().is_empty());
        let json = serde_json::to_string(&Scopes::usual()).unwrap();
        assert_eq!(json, r#"["skills:read","skills:write","skills:run"]"#);
    }
}
