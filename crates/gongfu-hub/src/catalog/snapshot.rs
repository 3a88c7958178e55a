//! A snapshot of the catalog: every entry at one moment, replaced as a whole.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use gongfu_core::account::Owner;
use gongfu_core::capability::Origin;
use gongfu_core::library::Library;

use crate::dialect::{self, Dialect, MANY};
use crate::entry::Entry;
use crate::profile::{self, Profile};
use crate::tool::ToolSpec;

/// The tool that a dialect gains when it has more skills than it can list.
pub(super) const SEARCH: &str = "skill_search";

type Entries = Vec<Arc<dyn Entry>>;

/// Entries of another origin, and the space that sees them.
#[derive(Clone)]
struct EntryGroup {
    /// `None` for every space.
    owner: Option<Owner>,
    entries: Vec<Arc<dyn Entry>>,
}

/// Two entries of one name in one space.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("two tools are named `{name}`; rename one of them")]
pub struct NameCollision {
    /// The name.
    pub name: Arc<str>,
}

/// Every entry at one moment.
#[derive(Clone)]
pub(super) struct Snapshot {
    native: Arc<[Arc<dyn Entry>]>,
    dialects: Arc<[(&'static Dialect, Entries)]>,
    provided: BTreeMap<(Origin, Option<Owner>), EntryGroup>,
}

impl Snapshot {
    /// The tools of gongfu's own and of all dialects.
    pub(super) fn new(native: Vec<Arc<dyn Entry>>) -> Self {
        let dialects = dialect::all().iter();
        Self {
            native: native.into(),
            dialects: dialects
                .map(|dialect| (*dialect, dialect.entries()))
                .collect(),
            provided: BTreeMap::new(),
        }
    }

    /// The same snapshot with these entries of an origin in place of its former ones.
    pub(super) fn with(
        &self,
        origin: Origin,
        owner: Option<Owner>,
        entries: Vec<Arc<dyn Entry>>,
    ) -> Result<Self, NameCollision> {
        let mut next = self.clone();
        let key = (origin, owner.clone());
        next.provided.remove(&key);
        if entries.is_empty() {
            return Ok(next);
        }
        let seen = next.names_seen_with(owner.as_ref());
        let mut taken: HashSet<Arc<str>> = seen.map(Arc::clone).collect();
        for entry in &entries {
            let name = &entry.spec().name;
            if !taken.insert(Arc::clone(name)) {
                return Err(NameCollision {
                    name: Arc::clone(name),
                });
            }
        }
        next.provided.insert(key, EntryGroup { owner, entries });
        Ok(next)
    }

    /// The names that could be listed beside entries for this owner; `None` stands for every space.
    fn names_seen_with<'a>(
        &'a self,
        owner: Option<&'a Owner>,
    ) -> impl Iterator<Item = &'a Arc<str>> {
        let dialects = self.dialects.iter().flat_map(|(_, entries)| entries);
        let provided = self.provided.values().filter(move |provided| {
            provided.owner.is_none() || owner.is_none() || provided.owner.as_ref() == owner
        });
        let provided = provided.flat_map(|provided| &provided.entries);
        let all = self.native.iter().chain(dialects).chain(provided);
        all.map(|entry| &entry.spec().name)
    }

    /// The entries that these profiles show to an owner; `is_many` when there are more skills than a
    /// dialect can list.
    pub(super) fn visible<'a>(
        &'a self,
        profiles: &'a [Profile],
        owner: &'a Owner,
        is_many: bool,
    ) -> impl Iterator<Item = &'a Arc<dyn Entry>> {
        let all = profile::shows_foreign(profiles);
        let searches = is_many && profile::dialects(profiles).any(|dialect| dialect.gains_search);
        let native = self.native.iter();
        let native = native.filter(move |entry| all || (searches && *entry.spec().name == *SEARCH));
        let dialects = self.dialects.iter();
        let spoken = dialects
            .filter(move |(dialect, _)| profiles.iter().any(|profile| profile.shows(dialect)))
            .flat_map(|(_, entries)| entries);
        let provided = self.provided.values().filter(move |provided| {
            all && provided
                .owner
                .as_ref()
                .is_none_or(|seen_by| seen_by == owner)
        });
        let provided = provided.flat_map(|provided| &provided.entries);
        native.chain(spoken).chain(provided)
    }

    /// Returns true if the list of these profiles depends on the library.
    pub(super) fn needs_library(&self, profiles: &[Profile], owner: &Owner) -> bool {
        self.visible(profiles, owner, false)
            .any(|entry| entry.is_dynamic())
            || profile::dialects(profiles).any(|dialect| dialect.gains_search)
    }

    /// The descriptions of those visible entries that are shown, by name.
    pub(super) fn described(
        &self,
        profiles: &[Profile],
        owner: &Owner,
        library: Option<&Library>,
        is_shown: impl Fn(&ToolSpec) -> bool,
    ) -> Vec<ToolSpec> {
        let describe = |entry: &Arc<dyn Entry>| {
            let adapted = library.and_then(|library| entry.spec_for(library));
            adapted.unwrap_or_else(|| entry.spec().clone())
        };
        let mut specs: Vec<ToolSpec> = self
            .visible(profiles, owner, library.is_some_and(is_many))
            .filter(|entry| is_shown(entry.spec()))
            .map(describe)
            .collect();
        specs.sort_by(|one, other| one.name.cmp(&other.name));
        specs
    }
}

/// Returns true if a library has more names than a dialect lists in a schema.
pub(super) fn is_many(library: &Library) -> bool {
    library.reachable().nth(MANY).is_some()
}
