//! Grants: the hosts that a person lets a skill reach.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::library::{Skill, SkillVersion};
use crate::network::{Rule, Rules};
use crate::port::{PortError, RecordKey, Records, read_record, update_record};
use crate::sandbox::Reach;
use crate::skill::Digest;

/// The digits of an id.
const ID_DIGITS: usize = 32;

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
    /// The digest of the skill: another version of it is not covered.
    #[serde(default)]
    pub digest: String,
    /// The digests of its files, to tell what is different in another version; none for very many files.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
}

impl Grant {
    /// A grant for a skill as it is now.
    ///
    /// # Errors
    /// The folder's name isn't text, so that it could be mistaken for another one.
    pub fn new(skill: &Skill, host: Rule, private: bool) -> Result<Self, PortError> {
        if skill.path.contains(char::REPLACEMENT_CHARACTER) {
            let why = "a skill whose folder name is not UTF-8 can't have grants";
            return Err(PortError::Denied(why.to_owned()));
        }
        let version = SkillVersion::of(skill);
        Ok(Self {
            folder: version.folder,
            skill: skill.full_name.to_string(),
            name: version.name,
            host,
            private,
            digest: version.digest,
            files: version.files,
        })
    }

    /// The id, the same for the same host and folder: 32 hexadecimal digits.
    pub fn id(&self) -> String {
        Digest::of(format!("{}\n{}", self.folder, self.host).as_bytes()).hex(ID_DIGITS)
    }

    fn is_of(&self, skill: &Skill) -> bool {
        self.folder == skill.path && self.name == skill.name.as_str()
    }

    /// The files that are different in a skill from those that the grant is for; empty for the same version.
    pub fn difference(&self, skill: &Skill) -> Vec<String> {
        let version = SkillVersion {
            folder: self.folder.clone(),
            name: self.name.clone(),
            digest: self.digest.clone(),
            files: self.files.clone(),
        };
        version.difference(&SkillVersion::of(skill))
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

    /// Returns whether there are grants of a skill, in whatever version.
    pub fn are_any(&self, skill: &Skill) -> bool {
        self.all.iter().any(|grant| grant.is_of(skill))
    }

    /// The grants of other versions of a skill, which it can't use.
    pub fn stale<'a>(&'a self, skill: &'a Skill) -> impl Iterator<Item = &'a Grant> {
        let digest = skill.digest().to_string();
        let of_skill = self.all.iter().filter(|grant| grant.is_of(skill));
        of_skill.filter(move |grant| grant.digest != digest)
    }

    /// The hosts that a skill may reach.
    pub fn reach(&self, skill: &Skill) -> Reach {
        let digest = skill.digest().to_string();
        let of_skill = |grant: &&Grant| grant.is_of(skill) && grant.digest == digest;
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

    /// Removes the grant with an id; answers whether there was one.
    pub fn remove_id(&mut self, id: &str) -> bool {
        let before = self.all.len();
        self.all.retain(|grant| grant.id() != id);
        self.all.len() != before
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
    use std::sync::Arc;

    use super::{Grant, Grants};
    use crate::library::{FindingCount, Skill};
    use crate::skill::{Digest, FileEntry, FileKind, SkillName, SkillPath};

    fn skill(path: &str, name: &str, files: &[(&str, &str)]) -> Skill {
        let files = files.iter().map(|(path, text)| FileEntry {
            path: SkillPath::new(path).unwrap(),
            size: text.len() as u64,
            digest: Some(Digest::of(text.as_bytes())),
            kind: FileKind::Text,
        });
        Skill {
            name: SkillName::new(name).unwrap(),
            full_name: "full/s".into(),
            description: String::new(),
            frontmatter: "{}".into(),
            source: "full".into(),
            folder: SkillPath::new("s").unwrap(),
            path: path.to_owned(),
            files: files.collect::<Arc<[_]>>(),
            unlisted: Arc::default(),
            findings: FindingCount::default(),
            enabled: true,
        }
    }

    fn grant(skill: &Skill, host: &str, private: bool) -> Grant {
        Grant::new(skill, host.parse().unwrap(), private).unwrap()
    }

    #[test]
    fn grant_opens_one_host_for_one_skill() {
        let of = |path: &str, name: &str| skill(path, name, &[("SKILL.md", "text")]);
        let own = of("/a", "s");
        let mut grants = Grants::default();
        assert!(grants.add(grant(&own, "example.com", false)));
        assert!(grants.add(grant(&own, "internal.test:8443", true)));
        assert!(!grants.add(grant(&own, "example.com", false)));
        let reach = grants.reach(&own);
        let (example, internal) = ("example.com:443", "internal.test:8443");
        let (example, internal) = (example.parse().unwrap(), internal.parse().unwrap());
        assert!(reach.rules.allow(&example) && reach.rules.allow(&internal));
        assert!(!reach.private.allow(&example) && reach.private.allow(&internal));
        assert!(grants.reach(&of("/a/b", "s")).rules.is_empty());
        assert!(grants.reach(&of("/a", "other")).rules.is_empty());
        // The later grant wins.
        assert!(grants.add(grant(&own, "internal.test:8443", false)));
        assert!(grants.reach(&own).private.is_empty());
        assert_eq!(grants.all.len(), 2);
        assert!(grants.remove("/a", &"example.com".parse().unwrap()));
        assert!(!grants.remove("/a", &"example.com".parse().unwrap()));
        assert!(!grants.reach(&own).rules.allow(&example));
        let internal = "internal.test:8443".parse().unwrap();
        assert!(!grants.remove("/", &internal));
        assert!(grants.remove("full/s", &internal) && grants.all.is_empty());
    }

    #[test]
    fn another_version_of_the_skill_is_not_covered() {
        let of = |files: &[(&str, &str)]| skill("/a", "s", files);
        let reviewed = of(&[("SKILL.md", "text"), ("a.py", "1"), ("b.py", "1")]);
        let mut grants = Grants::default();
        grants.add(grant(&reviewed, "example.com", false));
        assert!(!grants.reach(&reviewed).is_off());
        assert_eq!(grants.stale(&reviewed).count(), 0);
        let other = of(&[("SKILL.md", "text"), ("a.py", "2"), ("c.py", "1")]);
        assert!(grants.reach(&other).is_off());
        let stale: Vec<&Grant> = grants.stale(&other).collect();
        assert_eq!(
            stale[0].difference(&other),
            ["a.py changed", "b.py was removed", "c.py was added"]
        );
        // It is granted again for that version.
        assert!(grants.add(grant(&other, "example.com", false)));
        assert!(!grants.reach(&other).is_off() && grants.reach(&reviewed).is_off());
        // A grant of an earlier gongfu names no version.
        let old = r#"{"all":[{"folder":"/a","skill":"full/s","name":"s","host":"example.com"}]}"#;
        let old: Grants = serde_json::from_str(old).unwrap();
        assert!(old.reach(&reviewed).is_off());
        assert_eq!(old.stale(&reviewed).count(), 1);
    }
}
