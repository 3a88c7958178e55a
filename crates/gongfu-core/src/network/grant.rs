//! What an operator granted to skills: each a host for one skill, which lies in one place.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::rule::{Rule, Rules};
use crate::sandbox::Reach;

/// A host that a skill may reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// The folder that the skill lies in: another one of its name is another skill.
    pub folder: String,
    /// What the skill was called then.
    pub skill: String,
    /// The host.
    pub host: Rule,
    /// Whether it may be of this machine or its network.
    #[serde(default)]
    pub private: bool,
}

/// All of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grants {
    /// The oldest first.
    #[serde(default)]
    pub all: Vec<Grant>,
}

impl Grants {
    /// What the skill in a folder reaches.
    pub fn reach(&self, folder: &str) -> Reach {
        let of_it = || self.all.iter().filter(|grant| grant.folder == folder);
        let private = of_it().filter(|grant| grant.private);
        let private: BTreeSet<_> = private.map(|grant| grant.host.clone()).collect();
        let rules = of_it().map(|grant| grant.host.clone()).collect();
        Reach {
            rules: Rules(rules),
            private: Rules(private.into_iter().collect()),
        }
    }

    /// Adds one, in place of what was said about the same host before; answers whether anything is
    /// otherwise now.
    pub fn add(&mut self, grant: Grant) -> bool {
        if self.all.contains(&grant) {
            return false;
        }
        self.remove(&grant.folder, &grant.host);
        self.all.push(grant);
        true
    }

    /// Takes one away; answers whether it was there.
    pub fn remove(&mut self, folder: &str, host: &Rule) -> bool {
        let before = self.all.len();
        self.all
            .retain(|grant| grant.folder != folder || grant.host != *host);
        self.all.len() != before
    }
}

#[cfg(test)]
mod tests {
    use super::{Grant, Grants};

    fn grant(folder: &str, host: &str, private: bool) -> Grant {
        Grant {
            folder: folder.to_owned(),
            skill: "s".to_owned(),
            host: host.parse().unwrap(),
            private,
        }
    }

    #[test]
    fn a_grant_is_for_one_skill_and_one_host() {
        let mut grants = Grants::default();
        assert!(grants.add(grant("/a", "example.com", false)));
        assert!(grants.add(grant("/a", "internal.test:8443", true)));
        assert!(!grants.add(grant("/a", "example.com", false)));
        let reach = grants.reach("/a");
        let (example, internal) = ("example.com:443", "internal.test:8443");
        let (example, internal) = (example.parse().unwrap(), internal.parse().unwrap());
        assert!(reach.rules.allow(&example) && reach.rules.allow(&internal));
        assert!(!reach.private.allow(&example) && reach.private.allow(&internal));
        assert!(grants.reach("/a/b").rules.is_empty());
        // What is said later holds.
        assert!(grants.add(grant("/a", "internal.test:8443", false)));
        assert!(grants.reach("/a").private.is_empty());
        assert_eq!(grants.all.len(), 2);
        assert!(grants.remove("/a", &"example.com".parse().unwrap()));
        assert!(!grants.remove("/a", &"example.com".parse().unwrap()));
        assert!(!grants.reach("/a").rules.allow(&example));
    }
}
