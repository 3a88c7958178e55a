//! From skills to texts to terms, and which of them have to be read.

use std::collections::BTreeSet;
use std::sync::Arc;

use gongfu_core::account::Owner;
use gongfu_core::library::{Library, Skill};
use gongfu_core::port::{PortError, SkillStore};
use gongfu_core::search::SearchText;
use gongfu_core::search::pair;
use gongfu_core::search::rank::FIELDS;
use gongfu_core::search::word::{Kind, Words};
use gongfu_core::skill::Digest;
use gongfu_core::skill::document::{self, MAX_SKILL_FILE};
use rayon::prelude::*;
use tokio::runtime::Handle;

use super::group::{self, Group};
use super::index::Index;
use super::pool::Pool;
use super::view::View;
use crate::home::Home;
use crate::passing::{Pace, on_passing_threads};

/// Raise it when the tokens, the fields or what goes into them change.
const SCHEMA: &str = "5";
const FOLDER: &str = "search";
/// Up to so many new texts are indexed by threads that are there anyway.
const FEW: usize = 64;

/// The terms of a text, part by part.
#[derive(Debug, Clone, Default)]
pub(super) struct Terms {
    /// The terms of each part, with spaces between them.
    pub(super) texts: [String; FIELDS.len()],
    /// How many words each part has.
    pub(super) lengths: [usize; FIELDS.len()],
    /// The pairs of words, packed.
    pub(super) pairs: Vec<u8>,
}

impl Terms {
    /// The terms of a text.
    pub(super) fn of(text: &SearchText, words: &mut Words) -> Self {
        let mut terms = Self::default();
        let mut pairs = Vec::new();
        for (number, ((part, joined), length)) in text
            .parts()
            .into_iter()
            .zip(&mut terms.texts)
            .zip(&mut terms.lengths)
            .enumerate()
        {
            words.each(part, &mut |term| {
                let frequency = match term.kind {
                    Kind::Pair => pair::NEAR,
                    Kind::WidePair => pair::NEAR / 2,
                    kind => {
                        *length += usize::from(matches!(kind, Kind::Stem | Kind::Dense));
                        return push(joined, kind, term.text);
                    }
                };
                if number < pair::PARTS {
                    pairs.push((pair::Place::new(term.text, number), frequency));
                }
            });
        }
        terms.pairs = pair::pack(pairs);
        terms
    }

    /// How much memory they take, in bytes.
    pub(super) fn size(&self) -> usize {
        self.texts.iter().map(String::len).sum::<usize>() + self.pairs.len()
    }
}

/// Adds a term as it stands in the index; none has a space in it.
///
/// A word as it stands is kept apart from stems by a sign that no word has.
pub(super) fn push(to: &mut String, kind: Kind, text: &str) {
    if kind == Kind::Surface {
        to.push('=');
    }
    to.push_str(text);
    to.push(' ');
}

/// Where texts come from, and where their index is kept.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    /// The skills.
    pub(super) skills: &'a dyn SkillStore,
    /// Whose skills.
    pub(super) owner: &'a Owner,
    /// Below this an index is kept where it can be written; else it is made in memory.
    pub(super) home: Option<&'a Home>,
    /// Readers of words.
    pub(super) words: &'a Pool,
    /// What the skills are read by.
    pub(super) runtime: &'a Handle,
}

/// The library, ready to be searched.
pub(super) fn view(
    place: &Place<'_>,
    library: &Library,
    before: Option<&View>,
) -> Result<View, PortError> {
    let mut indexes = Vec::new();
    for group in group::groups(library) {
        let wanted: BTreeSet<u64> = group.texts.keys().copied().collect();
        let kept = place.home.and_then(|home| {
            let known = before.and_then(|view| view.index(&group.key));
            let index = known.map_or_else(|| open(home, &group.key).map(Arc::new), Ok);
            let updated = index.and_then(|index| {
                update(place, library, &group, &index, &wanted)?;
                Ok(index)
            });
            updated.map_or_else(|error| told(&error), Some)
        });
        let index = if let Some(index) = kept {
            index
        } else {
            let all: Vec<u64> = wanted.into_iter().collect();
            let chunks = all.chunks(64);
            let mut texts = chunks.flat_map(|some| read(place, library, &group, some));
            let index = Index::in_memory(&mut texts);
            Arc::new(index.map_err(|error| PortError::Unavailable(error.to_string()))?)
        };
        indexes.push((group, index));
    }
    View::new(library, indexes).map_err(|error| PortError::Unavailable(error.to_string()))
}

/// Makes an index hold the wanted texts of a group.
fn update(
    place: &Place<'_>,
    library: &Library,
    group: &Group,
    index: &Index,
    wanted: &BTreeSet<u64>,
) -> std::io::Result<()> {
    let update =
        |place: &Place<'_>| index.update(wanted, &mut |some| read(place, library, group, some));
    if index.missing(wanted)? <= FEW {
        return update(place);
    }
    // Readers of its own as well: what they remember of so many texts goes with them.
    let words = &Pool::default();
    on_passing_threads(Pace::Prompt, || update(&Place { words, ..*place }))
}

fn told<T>(error: &std::io::Error) -> Option<T> {
    tracing::debug!(%error, "the search index can't be kept: it is made in memory");
    None
}

fn open(home: &Home, key: &str) -> std::io::Result<Index> {
    let folder = home.folder(&format!("{FOLDER}/{key}-{SCHEMA}"))?;
    Index::on_disk(folder.path())
}

/// Reads the texts with these identities; one that changed meanwhile is left for the next time.
fn read(
    place: &Place<'_>,
    library: &Library,
    group: &Group,
    identities: &[u64],
) -> Vec<(u64, Terms)> {
    let mut found: Vec<(u64, &Skill, Vec<u8>)> = Vec::new();
    // One after the other: a store that is being read looks after itself with every core, and would
    // wait for the very threads that wait for it.
    for identity in identities {
        let first = group.texts.get(identity).and_then(|places| places.first());
        let skill = first.and_then(|at| group::skill(library, *at));
        let Some((skill, file)) = skill.and_then(|skill| Some((skill, group::document(skill)?)))
        else {
            continue;
        };
        let reading = place
            .skills
            .read(place.owner, skill, &file.path, MAX_SKILL_FILE);
        if let Ok(content) = place.runtime.block_on(reading) {
            found.push((*identity, skill, content.bytes));
        }
    }
    let terms = |(identity, skill, bytes): (u64, &Skill, Vec<u8>)| {
        let name = skill.name.as_str();
        if group::identity_of(name, Digest::of(&bytes)) != identity {
            return None;
        }
        let document = document::parse(&bytes, name)?;
        let text = SearchText {
            name: name.to_owned(),
            ..SearchText::of(&document)
        };
        let terms = place.words.with(|words| Terms::of(&text, words));
        Some((identity, terms))
    };
    found.into_par_iter().filter_map(terms).collect()
}
