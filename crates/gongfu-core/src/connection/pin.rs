//! Pins: the approval of a connection, so that nothing of it changes unseen.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Connection, Definition, Difference, Target};

/// The approval of a connection by a person.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConnectionPin {
    /// The digest of its target; empty where nothing is approved.
    #[serde(default)]
    pub target: String,
    /// The approved tools, by name.
    #[serde(default)]
    pub tools: BTreeMap<String, PinnedTool>,
    /// The time of the approval, in milliseconds since 1970.
    #[serde(default)]
    pub approved: i64,
}

/// A tool as a person approved it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinnedTool {
    /// Its definition.
    pub definition: Definition,
    /// The digest of that, so that a change is seen at once.
    pub digest: String,
}

/// The offer of a server beside the approved one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The names of tools that can be used.
    pub usable: Vec<String>,
    /// Tools whose definition changed: they can't be used until they are approved again.
    pub changed: Vec<Difference>,
    /// Tools that nobody has approved yet.
    pub new: Vec<Difference>,
    /// The names of tools that are wanted, and that the server doesn't offer.
    pub missing: Vec<String>,
}

impl ConnectionPin {
    /// Returns true if a person approved this target.
    pub fn covers(&self, target: &Target) -> bool {
        self.target == target.digest().to_string()
    }

    /// The definitions that a person approved and wants.
    pub fn definitions<'a>(
        &'a self,
        connection: &'a Connection,
    ) -> impl Iterator<Item = &'a Definition> {
        let all = self.tools.values().map(|tool| &tool.definition);
        all.filter(|definition| connection.wants(&definition.name))
    }

    /// Compares what a server offers with what a person approved.
    pub fn judge<'a>(
        &self,
        connection: &Connection,
        offered: impl IntoIterator<Item = &'a PinnedTool>,
    ) -> Verdict {
        let mut verdict = Verdict::default();
        let mut names = BTreeSet::new();
        for tool in offered {
            let now = &tool.definition;
            names.insert(&*now.name);
            if !connection.wants(&now.name) {
                continue;
            }
            let difference = |before: Option<&PinnedTool>| Difference {
                name: now.name.clone(),
                before: before.map(|tool| tool.definition.text()),
                now: Some(now.text()),
            };
            match self.tools.get(&now.name) {
                Some(known) if known.digest == tool.digest => {
                    verdict.usable.push(now.name.clone());
                }
                Some(known) => verdict.changed.push(difference(Some(known))),
                None => verdict.new.push(difference(None)),
            }
        }
        let declared = connection.tools.iter().flatten();
        let pinned = self.tools.keys().filter(|name| connection.wants(name));
        let missing = declared
            .chain(pinned)
            .filter(|name| !names.contains(&***name));
        verdict.missing = missing.cloned().collect();
        verdict.missing.sort_unstable();
        verdict.missing.dedup();
        verdict
    }
}

impl PinnedTool {
    /// A definition with its digest.
    pub fn new(definition: Definition) -> Self {
        Self {
            digest: definition.digest().to_string(),
            definition,
        }
    }
}

impl Connection {
    /// Returns true if a tool of its server is wanted.
    pub fn wants(&self, tool: &str) -> bool {
        let listed = self.tools.as_ref();
        listed.is_none_or(|listed| listed.iter().any(|name| name == tool))
    }
}
