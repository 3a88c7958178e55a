//! From skills to texts to terms: reads the texts that an index lacks.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use gongfu_core::library::{Library, Skill};
use gongfu_core::port::{PortError, SkillStore};
use gongfu_core::search::SearchText;
use gongfu_core::skill::Digest;
use gongfu_core::skill::document::{self, MAX_SKILL_FILE};
use rayon::prelude::*;
use tokio::runtime::Handle;

use super::Pace;
use super::group::{self, Group};
use super::index::Index;
use super::pool::Pool;
use super::progress::Progress;
use super::terms::Terms;
use super::view::View;
use gongfu_files::Home;

/// Raise it when the tokens, the fields or what goes into them change.
const SCHEMA: &str = "5";
const FOLDER: &str = "search";
/// The number of new texts from which indexing gets threads of its own.
const MANY: usize = 64;

/// The texts' origin, and the place of their index.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    /// The skills.
    pub(super) skills: &'a dyn SkillStore,
    /// The home that keeps the index, if it can be written; otherwise the index is in memory.
    pub(super) home: Option<&'a Home>,
    /// The indexes on disk that other spaces have open.
    pub(super) open: &'a OpenIndexes,
    /// Readers of words.
    pub(super) words: &'a Pool,
    /// The runtime that reads the skills.
    pub(super) runtime: &'a Handle,
    /// Shown to a person who waits.
    pub(super) progress: &'a Progress,
    /// The urgency.
    pub(super) pace: Pace,
}

/// The indexes that spaces have open, by their keys.
#[derive(Default)]
pub(super) struct OpenIndexes(Mutex<HashMap<String, Weak<Index>>>);

impl OpenIndexes {
    /// The index with this key, if a space has it open.
    fn get(&self, key: &str) -> Option<Arc<Index>> {
        let indexes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        indexes.get(key).and_then(Weak::upgrade)
    }

    /// Keeps an index, as long as a space has it open.
    fn put(&self, key: String, index: &Arc<Index>) {
        let mut indexes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if indexes.len() == indexes.capacity() {
            indexes.retain(|_, index| index.strong_count() > 0);
        }
        indexes.insert(key, Arc::downgrade(index));
    }

    /// The index with this key, opened unless another space has it open.
    fn get_or_open(
        &self,
        key: &str,
        open: impl FnOnce() -> std::io::Result<Index>,
    ) -> std::io::Result<Arc<Index>> {
        let mut indexes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = indexes.get(key).and_then(Weak::upgrade) {
            return Ok(index);
        }
        let index = Arc::new(open()?);
        indexes.insert(key.to_owned(), Arc::downgrade(&index));
        Ok(index)
    }
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
        let on_disk = place.home.filter(|_| !group.is_private).and_then(|home| {
            let known = before.and_then(|view| view.index(&group.key));
            let index = match known {
                Some(index) => Ok(index),
                None => place
                    .open
                    .get_or_open(&group.key, || open(home, &group.key)),
            };
            let updated = index.and_then(|index| {
                update(place, library, &group, &index, &wanted)?;
                Ok(index)
            });
            updated.map_or_else(|error| unwritable(&error), Some)
        });
        let index = match on_disk {
            Some(index) => index,
            None => in_memory(place, library, &group, wanted)?,
        };
        indexes.push((group, index));
    }
    View::new(library, indexes).map_err(|error| PortError::Unavailable(error.to_string()))
}

/// An index in memory of these texts. All who see the same texts of an account share one.
fn in_memory(
    place: &Place<'_>,
    library: &Library,
    group: &Group,
    wanted: BTreeSet<u64>,
) -> Result<Arc<Index>, PortError> {
    let all: Vec<u64> = wanted.into_iter().collect();
    let texts: Vec<u8> = all.iter().flat_map(|text| text.to_be_bytes()).collect();
    let key = format!("{} {}", group.key, Digest::of(&texts));
    if group.is_private
        && let Some(index) = place.open.get(&key)
    {
        return Ok(index);
    }
    let _running = (all.len() > MANY).then(|| place.progress.begin(all.len()));
    let chunks = all.chunks(64);
    let mut texts = chunks.flat_map(|some| read(place, library, group, some));
    let index = Index::in_memory(&mut texts);
    let index = Arc::new(index.map_err(|error| PortError::Unavailable(error.to_string()))?);
    // A text that couldn't be read is looked for again.
    if group.is_private
        && index
            .missing(&all.into_iter().collect())
            .is_ok_and(|missing| missing == 0)
    {
        place.open.put(key, &index);
    }
    Ok(index)
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
    let missing = index.missing(wanted)?;
    if missing <= MANY {
        return update(place);
    }
    let _running = place.progress.begin(missing);
    // Readers and threads of its own: both keep memory that isn't needed again.
    let words = &Pool::default();
    let place = &Place { words, ..*place };
    let pace = place.pace;
    let threads = rayon::ThreadPoolBuilder::new().start_handler(move |_| {
        if pace == Pace::Background {
            lower_priority();
        }
    });
    match threads.build() {
        Ok(pool) => pool.install(|| update(place)),
        Err(_) => update(place),
    }
}

/// Lowers the priority of this thread and of those that it starts, which only Linux can.
#[cfg(target_os = "linux")]
fn lower_priority() {
    // Without it the work is done all the same.
    let _ = rustix::process::setpriority_process(None, 10);
}

#[cfg(not(target_os = "linux"))]
fn lower_priority() {}

fn unwritable<T>(error: &std::io::Error) -> Option<T> {
    tracing::debug!(%error, "can't write the search index; building it in memory");
    None
}

fn open(home: &Home, key: &str) -> std::io::Result<Index> {
    let folder = home.folder(&format!("{FOLDER}/{key}-{SCHEMA}"))?;
    Index::on_disk(folder.path())
}

/// Reads the texts with these identities; one that changed meanwhile is read the next time.
fn read(
    place: &Place<'_>,
    library: &Library,
    group: &Group,
    identities: &[u64],
) -> Vec<(u64, Terms)> {
    let mut found: Vec<(u64, &Skill, Option<Vec<u8>>)> = Vec::new();
    // One after the other: a look of the store uses every core, and would wait for threads that wait
    // for it.
    for identity in identities {
        let first = group.texts.get(identity).and_then(|places| places.first());
        let skill = first.and_then(|at| group::skill(library, *at));
        let Some((skill, file)) = skill.and_then(|skill| Some((skill, group::document(skill)?)))
        else {
            continue;
        };
        let reading = place.skills.glance(skill, &file.path, MAX_SKILL_FILE);
        if let Ok(content) = place.runtime.block_on(reading) {
            found.push((*identity, skill, content.map(|content| content.bytes)));
        }
    }
    let terms = |(identity, skill, bytes): (u64, &Skill, Option<Vec<u8>>)| {
        let name = skill.name.as_str();
        let Some(bytes) = bytes else {
            let text = SearchText::of_skill(skill);
            return Some((identity, place.words.with(|words| Terms::of(&text, words))));
        };
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
    let terms = found.into_par_iter().filter_map(terms).collect();
    place.progress.add(identities.len());
    terms
}
