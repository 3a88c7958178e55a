//! The approval of a server's skills: bound to the digests of their files, and ended by a change.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Difference, OfferedSkill, Target};

/// The approval of a server's skills by a person.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SkillPin {
    /// The digest of the target of the connection.
    #[serde(default)]
    pub target: String,
    /// The skills, by URI.
    #[serde(default)]
    pub skills: BTreeMap<String, PinnedSkill>,
}

/// A skill as a person approved it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinnedSkill {
    /// The skill.
    pub skill: OfferedSkill,
    /// The digest of that.
    pub digest: String,
    /// True once the server offered it in another form, or no more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_ended: bool,
}

/// The skills of a server beside the approved ones.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillVerdict {
    /// Skills that changed.
    pub changed: Vec<Difference>,
    /// Skills that nobody has approved, or no longer.
    pub new: Vec<Difference>,
    /// The URIs of approved skills that the server offers no more.
    pub missing: Vec<String>,
}

impl SkillPin {
    /// The approval of these skills of a target.
    pub fn new(target: &Target, skills: Vec<OfferedSkill>) -> Self {
        if skills.is_empty() {
            return Self::default();
        }
        let skills = skills.into_iter().map(|skill| {
            let digest = skill.digest().to_string();
            let pinned = PinnedSkill {
                digest,
                skill,
                is_ended: false,
            };
            (pinned.skill.uri.clone(), pinned)
        });
        Self {
            target: target.digest().to_string(),
            skills: skills.collect(),
        }
    }

    /// The skills that are approved now, if their target is.
    pub fn usable(&self, target: &Target) -> impl Iterator<Item = &PinnedSkill> {
        let is_covered = !self.skills.is_empty() && self.target == target.digest().to_string();
        let skills = self.skills.values();
        skills.filter(move |pinned| is_covered && !pinned.is_ended)
    }

    /// The names of skills whose approval has ended.
    pub fn ended(&self) -> impl Iterator<Item = &str> {
        let ended = self.skills.values().filter(|pinned| pinned.is_ended);
        ended.map(|pinned| pinned.skill.name())
    }

    /// Ends the approval of everything that a server offers no longer in the approved form; answers whether that
    /// changed anything.
    pub fn end(&mut self, offered: &[OfferedSkill]) -> bool {
        let offered = digests(offered);
        let mut is_changed = false;
        for (uri, pinned) in &mut self.skills {
            let is_ended = pinned.is_ended || offered.get(&**uri) != Some(&pinned.digest);
            is_changed |= is_ended != pinned.is_ended;
            pinned.is_ended = is_ended;
        }
        is_changed
    }

    /// Compares what a server offers with what a person approved.
    pub fn judge(&self, offered: &[OfferedSkill]) -> SkillVerdict {
        let mut verdict = SkillVerdict::default();
        let now = digests(offered);
        for skill in offered {
            let difference = |before: Option<&PinnedSkill>| Difference {
                name: skill.uri.clone(),
                before: before.map(|pinned| pinned.skill.text()),
                now: Some(skill.text()),
            };
            let known = self.skills.get(&skill.uri);
            match known.map(|known| (known, now.get(&*skill.uri) == Some(&known.digest))) {
                Some((known, true)) if !known.is_ended => {}
                Some((known, false)) => verdict.changed.push(difference(Some(known))),
                Some((_, true)) | None => verdict.new.push(difference(None)),
            }
        }
        let known = self.skills.keys();
        let missing = known.filter(|uri| !now.contains_key(&***uri));
        verdict.missing = missing.cloned().collect();
        verdict
    }
}

/// The digests of skills, by URI.
fn digests(skills: &[OfferedSkill]) -> BTreeMap<&str, String> {
    let skills = skills.iter();
    let pairs = skills.map(|skill| (&*skill.uri, skill.digest().to_string()));
    pairs.collect()
}

#[cfg(test)]
mod tests;
