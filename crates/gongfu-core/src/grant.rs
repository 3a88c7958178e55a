//! Grants: the hosts that a person lets a skill reach.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::library::Skill;
use crate::network::{Rule, Rules};
use crate::port::{PortError, RecordKey, Records, read_record, update_record};
use crate::sandbox::Reach;

/// A host that a skill may reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// The folder of the skill: another skill of the same name is not covered.
    pub folder: String,
    /// The full name of the skill at the time of the grant.
    pub skill: String,
    /// The name in its frontmatter: another skill that is put into the folder is not covered.
    pub name: String,
    /// The host.
    pub host: Rule,
    /// True if the host may be on this machine or its network.
    #[serde(default)]
    pub private: bool,
}

impl Grant {
    /// A grant for a skill as it is now.
    ///
    /// # Errors
    /// The folder's name isn't text, so that it could be mistaken for another one.
    pub fn new(skill: &Skill, host: Rule, private: bool) -> Result<Self, PortError> {
        if skill.path.contains(char::REPLACEMENT_CHARACTER) {
            let why = "a skill in a folder whose name isn't text can't be granted anything";
            return Err(PortError::Denied(why.to_owned()));
        }
        Ok(Self {
            folder: skill.path.clone(),
            skill: skill.full_name.to_string(),
            name: skill.name.as_str().to_owned(),
            host,
            private,
        })
    }
}

/// The grants of a space.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grants {
    /// The grants, the oldest first.
    #[serde(default)]
    pub all: Vec<Grant>,
}

impl Grants {
    /// Reads the grants of a space.
    ///
    /// # Errors
    /// They can't be read; nothing is granted then.
    pub async fn read(records: &dyn Records) -> Result<Self, PortError> {
        read_record(records, &key()?).await
    }

    /// Changes the grants of a space.
    ///
    /// # Errors
    /// They can't be read or written; then they stay as they are.
    pub async fn update<A: Send>(
        records: &dyn Records,
        change: impl FnMut(&mut Self) -> A + Send,
    ) -> Result<A, PortError> {
        update_record(records, &key()?, change).await
    }

    /// The hosts that a skill may reach.
    pub fn reach(&self, skill: &Skill) -> Reach {
        self.reach_of(&skill.path, skill.name.as_str())
    }

    fn reach_of(&self, folder: &str, name: &str) -> Reach {
        let of_skill = |grant: &&Grant| grant.folder == folder && grant.name == name;
        let grants = || self.all.iter().filter(of_skill);
        let private: BTreeSet<_> = grants()
            .filter(|grant| grant.private)
            .map(|grant| grant.host.clone())
            .collect();
        Reach {
            rules: Rules(grants().map(|grant| grant.host.clone()).collect()),
            private: Rules(private.into_iter().collect()),
            ..Reach::default()
        }
    }

    /// Adds a grant in place of an earlier one for the same host; answers whether that changed
    /// anything.
    pub fn add(&mut self, grant: Grant) -> bool {
        if self.all.contains(&grant) {
            return false;
        }
        self.remove(&grant.folder, &grant.host);
        self.all.push(grant);
        true
    }

    /// Removes the grants of a host for skills with this full name or folder; answers whether there
    /// was one.
    pub fn remove(&mut self, skill: &str, host: &Rule) -> bool {
        let before = self.all.len();
        self.all
            .retain(|grant| grant.host != *host || (grant.skill != skill && grant.folder != skill));
        self.all.len() != before
    }
}

fn key() -> Result<RecordKey, PortError> {
    Ok(RecordKey::new("grants")?)
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
    fn grant_opens_one_host_for_one_skill() {
        let mut grants = Grants::default();
        assert!(grants.add(grant("/a", "example.com", false)));
        assert!(grants.add(grant("/a", "internal.test:8443", true)));
        assert!(!grants.add(grant("/a", "example.com", false)));
        let reach = grants.reach_of("/a", "s");
        let (example, internal) = ("example.com:443", "internal.test:8443");
        let (example, internal) = (example.parse().unwrap(), internal.parse().unwrap());
        assert!(reach.rules.allow(&example) && reach.rules.allow(&internal));
        assert!(!reach.private.allow(&example) && reach.private.allow(&internal));
        assert!(grants.reach_of("/a/b", "s").rules.is_empty());
        assert!(grants.reach_of("/a", "other").rules.is_empty());
        // The later grant wins.
        assert!(grants.add(grant("/a", "internal.test:8443", false)));
        assert!(grants.reach_of("/a", "s").private.is_empty());
        assert_eq!(grants.all.len(), 2);
        assert!(grants.remove("/a", &"example.com".parse().unwrap()));
        assert!(!grants.remove("/a", &"example.com".parse().unwrap()));
        assert!(!grants.reach_of("/a", "s").rules.allow(&example));
        let internal = "internal.test:8443".parse().unwrap();
        assert!(!grants.remove("/", &internal));
        assert!(grants.remove("full/s", &internal) && grants.all.is_empty());
    }
}
