//! Profiles: which tools a connection sees.

use std::str::FromStr;

/// A set of tools that a client asks for by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Profile {
    /// gongfu's own tools.
    Standard,
}

impl Profile {
    /// Every profile.
    pub const ALL: [Self; 1] = [Self::Standard];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Standard => "standard",
        }
    }
}

/// There is no profile of that name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownProfile(String);

impl std::fmt::Display for UnknownProfile {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = Profile::ALL
            .iter()
            .map(|profile| profile.as_str())
            .collect();
        write!(
            formatter,
            "there is no profile `{}`; give one or more of: {}",
            self.0,
            names.join(", ")
        )
    }
}

impl std::error::Error for UnknownProfile {}

impl FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|profile| profile.as_str() == name)
            .ok_or_else(|| UnknownProfile(name.to_owned()))
    }
}
