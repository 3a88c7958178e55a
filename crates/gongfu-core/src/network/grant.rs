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
    /// Its full name then.
    pub skill: String,
    /// The name that it gives itself: another one that comes to lie there is another skill as well.
    pub name: String,
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
    /// What the skill of this name in a folder reaches: whatever else comes to lie there is another one.
    pub fn reach(&self, folder: &str, name: &str) -> Reach {
        let is_its = |grant: &&Grant| grant.folder == folder && grant.name == name;
        let of_it = || self.all.iter().filter(is_its);
        let private = of_it().filter(|grant| grant.private);
        let private: BTreeSet<_> = private.map(|grant| grant.host.clone()).collect();
        let rules = of_it().map(|grant| grant.host.clone()).collect();
        Reach {
            rules: Rules(rules),
            private: Rules(private.into_iter().collect()),
            ..Reach::default()
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

    /// Takes away those of a host to skills of this full name or in this folder, wherever they have gone; answers
    /// whether there was one.
    pub fn forget(&mut self, skill: &str, host: &Rule) -> bool {
        let before = self.all.len();
        self.all
            .retain(|grant| grant.host != *host || (grant.skill != skill && grant.folder != skill));
        self.all.len() != before
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
            skill: "full/s".to_owned(),
            name: "s".to_owned(),
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
        let reach = grants.reach("/a", "s");
        let (example, internal) = ("example.com:443", "internal.test:8443");
        let (example, internal) = (example.parse().unwrap(), internal.parse().unwrap());
        assert!(reach.rules.allow(&example) && reach.rules.allow(&internal));
        assert!(!reach.private.allow(&example) && reach.private.allow(&internal));
        assert!(grants.reach("/a/b", "s").rules.is_empty());
        assert!(grants.reach("/a", "other").rules.is_empty());
        // What is said later holds.
        assert!(grants.add(grant("/a", "internal.test:8443", false)));
        assert!(grants.reach("/a", "s").private.is_empty());
        assert_eq!(grants.all.len(), 2);
        assert!(grants.remove("/a", &"example.com".parse().unwrap()));
        assert!(!grants.remove("/a", &"example.com".parse().unwrap()));
        assert!(!grants.reach("/a", "s").rules.allow(&example));
        let internal = "internal.test:8443".parse().unwrap();
        assert!(!grants.forget("/", &internal));
        assert!(grants.forget("full/s", &internal) && grants.all.is_empty());
    }
}
