//! The skills of a scope that only the lock of `npx skills` has as they are.

use std::collections::BTreeSet;

use gongfu_files::disk::{self, EntryKind, Root};
use serde_json::Value;

use super::copy::SkillFolder;
use super::origin::KnownOrigin;
use super::provenance::agreement;
use super::{LockAgreement, key, reading};
use crate::agents::AGENTS;
use crate::candidate::folder_name;
use crate::error::{ImportCode, ImportError};
use crate::lock::own::{LockedSkill, OwnLock};
use crate::scope::Scope;

/// A skill that `npx skills` installed, and that gongfu's lock doesn't have, or not as it is.
#[derive(Debug, Clone)]
pub struct UnlockedSkill {
    /// The key that it would have in gongfu's lock.
    pub key: String,
    /// Its name in the lock of `npx skills`.
    pub name: String,
    /// The entry that it would have; without files where its folder isn't there.
    pub entry: LockedSkill,
    /// The agreement of its files with that lock; none where its folder isn't there.
    pub agreement: Option<LockAgreement>,
}

/// The skills of a scope that `npx skills` locked and gongfu didn't, and those of gongfu's lock that changed since.
///
/// # Errors
/// The lock of `npx skills` or a skill can't be read.
pub fn unlocked(
    scope: &Scope,
    lock: &OwnLock,
    changed: &BTreeSet<&String>,
) -> Result<Vec<UnlockedSkill>, ImportError> {
    let Some((kind, path)) = &scope.npx_lock else {
        return Ok(Vec::new());
    };
    let document = kind.read(path)?;
    let raw = document.skills()?;
    let mut found = Vec::new();
    for (name, entry) in kind.entries(&document)? {
        let raw = raw.get(&name).unwrap_or(&Value::Null);
        let origin = KnownOrigin::npx("npx skills", &entry, raw);
        let folder = folder_name(&name);
        let own = scope.skills.join(&folder);
        let of_agents = AGENTS
            .iter()
            .map(|agent| scope.base.join(agent.project).join(&folder));
        let mut places = std::iter::once(own.clone()).chain(of_agents);
        let there = places.find(|place| disk::kind_outside(place) == Some(EntryKind::Folder));
        let Some(key) = key(there.as_ref().unwrap_or(&own), scope) else {
            continue;
        };
        if lock.skills.contains_key(&key) && !changed.contains(&key) {
            continue;
        }
        let mut skill = UnlockedSkill {
            entry: origin.locked_skill(),
            agreement: None,
            key,
            name,
        };
        if let Some(place) = there {
            let read = Root::open(&place)
                .map_err(|error| reading::unreadable(&error))
                .and_then(|root| SkillFolder::read(&root));
            let read = read.map_err(|why| {
                let message = format!("{}: {why}", place.display());
                ImportError::new(
                    ImportCode::SkillChanged,
                    message,
                    "remove what isn't part of the skill",
                )
            })?;
            skill.entry.digest = Some(read.digest());
            skill.agreement = Some(agreement(&origin.hash, &read));
            skill.entry.files = read.files;
        }
        found.push(skill);
    }
    Ok(found)
}
