//! A version of a skill, as an answer of a person remembers it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::Skill;

/// The most files whose digests are remembered.
const MAX_FILES: usize = 500;
/// The digits of the digest of a file that are remembered.
const DIGEST_DIGITS: usize = 32;

/// The version of a skill that an answer is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SkillVersion {
    /// The folder of the skill.
    pub folder: String,
    /// The name in its frontmatter.
    pub name: String,
    /// The digest of the skill.
    pub digest: String,
    /// The digests of its files; none for very many files.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
}

impl SkillVersion {
    /// The version that a skill is now.
    pub fn of(skill: &Skill) -> Self {
        Self {
            folder: skill.path.clone(),
            name: skill.name.as_str().to_owned(),
            digest: skill.digest().to_string(),
            files: if skill.files.len() + skill.unlisted.len() <= MAX_FILES {
                files(skill)
            } else {
                BTreeMap::new()
            },
        }
    }

    /// True for versions of the same skill: the folder and the name are the same.
    pub fn is_of_the_same_skill(&self, other: &Self) -> bool {
        self.folder == other.folder && self.name == other.name
    }

    /// The files that are different in a later version, for people; empty for the same version.
    pub fn difference(&self, later: &Self) -> Vec<String> {
        if self.digest == later.digest {
            return Vec::new();
        }
        if self.files.is_empty() || later.files.is_empty() {
            return vec!["some of its files".to_owned()];
        }
        let paths: BTreeSet<&String> = self.files.keys().chain(later.files.keys()).collect();
        let different = paths.into_iter().filter_map(|path| {
            match (self.files.get(path), later.files.get(path)) {
                (Some(then), Some(now)) => (then != now).then(|| format!("{path} changed")),
                (None, _) => Some(format!("{path} was added")),
                (_, None) => Some(format!("{path} was removed")),
            }
        });
        different.collect()
    }
}

/// The digests of the files of a skill by path; a file that was too large to read counts by its length.
fn files(skill: &Skill) -> BTreeMap<String, String> {
    let files = skill.files.iter().chain(&*skill.unlisted).map(|file| {
        let content = file.digest.map(|digest| digest.hex(DIGEST_DIGITS));
        let content = content.unwrap_or_else(|| file.size.to_string());
        (file.path.to_string(), content)
    });
    files.collect()
}
