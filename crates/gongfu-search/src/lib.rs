//! Search over skills: an inverted index by tantivy, on disk where there is a home.
//!
//! Derived from the SKILL.md files alone: deleting it loses nothing. A text is indexed once, for all
//! skills that have it and all processes; [`gongfu_core::search::rank`] decides about the order.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use gongfu_core::account::Owner;
use gongfu_core::library::Library;
use gongfu_core::port::{Pending, PortError, SkillSearch, SkillStore, TextIndex};
use gongfu_core::search::{Answer, Query, SearchText};
use tokio::runtime::Handle;

use gongfu_files::Home;

mod answer;
mod directory;
mod group;
mod index;
mod indexing;
mod pool;
mod progress;
mod score;
mod terms;
mod text_index;
mod view;

use indexing::OpenIndexes;
use pool::Pool;
use progress::Progress;
use text_index::MemoryIndex;
use view::View;

/// The most spaces that are ready at once.
const MAX_SPACES: usize = 256;
/// The most memory of the spaces that are ready, in bytes.
const MAX_MEMORY: usize = 32 * 1024 * 1024;

/// Search over the skills of one space.
pub struct Search {
    owner: Owner,
    skills: Arc<dyn SkillStore>,
    /// The home that keeps the index; without one it is made in memory.
    home: Option<Home>,
    cache: Arc<SearchCache>,
    progress: Arc<Progress>,
}

/// The urgency of indexing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    /// Somebody waits.
    Foreground,
    /// Nobody waits: other work of the machine comes first.
    Background,
}

/// The memory that the searches of all spaces share: spaces that weren't used for long give way.
#[derive(Default)]
pub struct SearchCache {
    spaces: Mutex<Spaces>,
    words: Arc<Pool>,
    open: Arc<OpenIndexes>,
}

/// The spaces that are ready, and when each was last used.
#[derive(Default)]
struct Spaces {
    by_owner: HashMap<Owner, (Arc<Space>, u64)>,
    uses: u64,
}

/// The skills of one owner, ready to be searched.
#[derive(Default)]
struct Space {
    ready: Mutex<Option<Ready>>,
    /// Held while it is made ready again.
    updating: tokio::sync::Mutex<()>,
}

#[derive(Clone)]
struct Ready {
    library: Arc<Library>,
    view: Arc<View>,
}

impl Search {
    /// Search over the skills of the local owner, with an index below `home`.
    pub fn new(skills: Arc<dyn SkillStore>, home: Option<Home>) -> Self {
        let cache = Arc::default();
        Self {
            home,
            ..Self::in_memory(Owner::Local, skills, cache)
        }
    }

    /// Search over the skills of an owner, with an index in memory.
    pub fn in_memory(owner: Owner, skills: Arc<dyn SkillStore>, cache: Arc<SearchCache>) -> Self {
        Self {
            owner,
            skills,
            home: None,
            cache,
            progress: Arc::default(),
        }
    }

    /// Search over the skills that an account sees. The index of shared ones is below `home`, that of its own in memory.
    pub fn of_account(
        owner: Owner,
        skills: Arc<dyn SkillStore>,
        cache: Arc<SearchCache>,
        home: Home,
    ) -> Self {
        Self {
            home: Some(home),
            ..Self::in_memory(owner, skills, cache)
        }
    }

    /// Brings the index up to date with the library, as a search would, at a low priority.
    ///
    /// # Errors
    /// The library can't be read.
    pub async fn prepare(&self) -> Result<(), PortError> {
        self.ready(Pace::Background).await.map(drop)
    }

    /// The skills that are being indexed right now: how many are done, and how many there are. `None` while nothing
    /// is, or only a few are.
    pub fn indexing(&self) -> Option<(usize, usize)> {
        self.progress.get()
    }

    async fn ready(&self, pace: Pace) -> Result<Ready, PortError> {
        let library = self.skills.library().await?;
        let space = self.cache.space(&self.owner);
        if let Some(ready) = space.current(&library) {
            return Ok(ready);
        }
        let updating = space.updating.lock().await;
        if let Some(ready) = space.current(&library) {
            return Ok(ready);
        }
        let (skills, home) = (Arc::clone(&self.skills), self.home.clone());
        let words = Arc::clone(&self.cache.words);
        let open = Arc::clone(&self.cache.open);
        let (wanted, before) = (Arc::clone(&library), space.view());
        let progress = Arc::clone(&self.progress);
        let view = tokio::task::spawn_blocking(move || {
            let place = indexing::Place {
                skills: &*skills,
                home: home.as_ref(),
                open: &open,
                words: &words,
                runtime: &Handle::current(),
                progress: &progress,
                pace,
            };
            indexing::view(&place, &wanted, before.as_deref())
        });
        let view = match view.await {
            Ok(view) => Arc::new(view?),
            Err(fault) => return Err(PortError::Unavailable(format!("search failed: {fault}"))),
        };
        let ready = Ready { library, view };
        *lock(&space.ready) = Some(ready.clone());
        drop(updating);
        self.cache.evict(&self.owner);
        Ok(ready)
    }
}

impl SearchCache {
    /// The number of spaces that are ready, and the memory that they take in bytes, as far as known.
    pub fn usage(&self) -> (usize, usize) {
        let spaces = lock(&self.spaces);
        let memory = spaces.by_owner.values().map(|(space, _)| space.memory());
        (spaces.by_owner.len(), memory.sum())
    }

    fn space(&self, owner: &Owner) -> Arc<Space> {
        let mut spaces = lock(&self.spaces);
        spaces.uses += 1;
        let now = spaces.uses;
        let (space, used) = spaces.by_owner.entry(owner.clone()).or_default();
        *used = now;
        Arc::clone(space)
    }

    /// Drops the spaces that were used longest ago, until the rest fits.
    fn evict(&self, keep: &Owner) {
        let mut spaces = lock(&self.spaces);
        let mut all: Vec<(u64, usize, Owner)> = spaces
            .by_owner
            .iter()
            .map(|(owner, (space, used))| (*used, space.memory(), owner.clone()))
            .collect();
        let mut memory: usize = all.iter().map(|(_, memory, _)| memory).sum();
        if all.len() <= MAX_SPACES && memory <= MAX_MEMORY {
            return;
        }
        all.sort_unstable();
        let mut count = all.len();
        for (_, size, owner) in all {
            // More than needed, so that not every new space drops another one.
            if count <= MAX_SPACES * 7 / 8 && memory <= MAX_MEMORY / 8 * 7 {
                break;
            }
            if owner != *keep {
                spaces.by_owner.remove(&owner);
                memory -= size;
                count -= 1;
            }
        }
    }
}

impl Space {
    fn current(&self, library: &Library) -> Option<Ready> {
        let ready = lock(&self.ready);
        let current = ready
            .as_ref()
            .filter(|ready| ready.library.revision() == library.revision());
        current.cloned()
    }

    fn view(&self) -> Option<Arc<View>> {
        let ready = lock(&self.ready);
        ready.as_ref().map(|ready| Arc::clone(&ready.view))
    }

    fn memory(&self) -> usize {
        let ready = lock(&self.ready);
        ready.as_ref().map_or(0, |ready| ready.view.memory())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SkillSearch for Search {
    fn search<'a>(&'a self, query: &'a Query) -> Pending<'a, Answer> {
        Box::pin(async move {
            let asked = answer::Request {
                skills: &*self.skills,
                words: &self.cache.words,
                query,
            };
            let ready = self.ready(Pace::Foreground).await?;
            match asked.answer(&ready.library, &ready.view).await {
                Err(PortError::Unavailable(reason)) => {
                    // The index was damaged while it was open: it is made again.
                    tracing::warn!(%reason, "reopening the search index");
                    *lock(&self.cache.space(&self.owner).ready) = None;
                    let ready = self.ready(Pace::Foreground).await?;
                    asked.answer(&ready.library, &ready.view).await
                }
                answered => answered,
            }
        })
    }

    fn index(&self, texts: Vec<SearchText>) -> Pending<'_, Arc<dyn TextIndex>> {
        let words = Arc::clone(&self.cache.words);
        Box::pin(async move {
            let building = tokio::task::spawn_blocking(move || MemoryIndex::new(&texts, words));
            match building.await {
                Ok(index) => Ok(Arc::new(index?) as Arc<dyn TextIndex>),
                Err(fault) => Err(PortError::Unavailable(format!("search failed: {fault}"))),
            }
        })
    }
}

#[cfg(test)]
mod tests;
