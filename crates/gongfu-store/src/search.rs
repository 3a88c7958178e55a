//! Search over skills: an inverted index by tantivy, kept on disk where there is a home.
//!
//! Derived from the SKILL.md files alone: deleting it loses nothing. A text is indexed once, however
//! many skills have it and however many processes look; what is better than what is decided by
//! [`gongfu_core::search::rank`].

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use gongfu_core::account::Owner;
use gongfu_core::library::Library;
use gongfu_core::port::{Pending, PortError, SkillSearch, SkillStore};
use gongfu_core::search::{Answer, Query};
use tokio::runtime::Handle;

use crate::home::Home;

mod answer;
mod directory;
mod group;
mod index;
mod indexing;
mod pool;
mod score;
mod view;

use pool::Pool;
use view::View;

/// How many spaces are kept ready at once.
const MAX_SPACES: usize = 256;
/// How much memory the spaces that are kept ready may take together, in bytes.
const MAX_MEMORY: usize = 32 * 1024 * 1024;

/// Search over the skills of a store.
pub struct Search {
    skills: Arc<dyn SkillStore>,
    /// Where the index of the local owner is kept; everybody else's lies in memory.
    home: Option<Home>,
    spaces: Mutex<Spaces>,
    words: Arc<Pool>,
}

/// What is kept ready, and when it was last used.
#[derive(Default)]
struct Spaces {
    by_owner: HashMap<Owner, (Arc<Space>, u64)>,
    uses: u64,
}

/// The skills of one owner, ready to be searched.
#[derive(Default)]
struct Space {
    ready: Mutex<Option<Ready>>,
    /// Held by the one who makes it ready anew.
    updating: tokio::sync::Mutex<()>,
}

#[derive(Clone)]
struct Ready {
    library: Arc<Library>,
    view: Arc<View>,
}

impl Search {
    /// Search over `skills`, with an index below `home` for the local owner.
    pub fn new(skills: Arc<dyn SkillStore>, home: Option<Home>) -> Self {
        Self {
            skills,
            home,
            spaces: Mutex::default(),
            words: Arc::default(),
        }
    }

    /// How many spaces are kept ready, and how much memory they take in bytes, as far as known.
    pub fn kept(&self) -> (usize, usize) {
        let spaces = lock(&self.spaces);
        let memory = spaces.by_owner.values().map(|(space, _)| space.memory());
        (spaces.by_owner.len(), memory.sum())
    }

    /// Brings the index up to date with the library, as a search would.
    ///
    /// # Errors
    /// The library can't be read.
    pub async fn prepare(&self, owner: &Owner) -> Result<(), PortError> {
        self.ready(owner).await.map(drop)
    }

    async fn ready(&self, owner: &Owner) -> Result<Ready, PortError> {
        let library = self.skills.library(owner).await?;
        let space = self.space(owner);
        if let Some(ready) = space.current(&library) {
            return Ok(ready);
        }
        let updating = space.updating.lock().await;
        if let Some(ready) = space.current(&library) {
            return Ok(ready);
        }
        let (skills, home) = (Arc::clone(&self.skills), self.home.clone());
        let words = Arc::clone(&self.words);
        let (of, wanted, before) = (owner.clone(), Arc::clone(&library), space.view());
        let made = tokio::task::spawn_blocking(move || {
            let home = home.filter(|_| of == Owner::Local);
            let place = indexing::Place {
                skills: &*skills,
                owner: &of,
                home: home.as_ref(),
                words: &words,
                runtime: &Handle::current(),
            };
            indexing::view(&place, &wanted, before.as_deref())
        });
        let view = match made.await {
            Ok(view) => Arc::new(view?),
            Err(fault) => return Err(PortError::Unavailable(format!("search failed: {fault}"))),
        };
        let ready = Ready { library, view };
        *lock(&space.ready) = Some(ready.clone());
        drop(updating);
        self.evict(owner);
        Ok(ready)
    }

    fn space(&self, owner: &Owner) -> Arc<Space> {
        let mut spaces = lock(&self.spaces);
        spaces.uses += 1;
        let now = spaces.uses;
        let (space, used) = spaces.by_owner.entry(owner.clone()).or_default();
        *used = now;
        Arc::clone(space)
    }

    /// Lets go of the spaces that were not used for longest, until the rest fits.
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
            // Some more than needed, so that not every new space has to look for another one.
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
    fn current(&self, library: &Arc<Library>) -> Option<Ready> {
        let ready = lock(&self.ready);
        let current = ready
            .as_ref()
            .filter(|ready| Arc::ptr_eq(&ready.library, library));
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
    fn search<'a>(&'a self, owner: &'a Owner, query: &'a Query) -> Pending<'a, Answer> {
        Box::pin(async move {
            let asked = answer::Asked {
                skills: &*self.skills,
                owner,
                words: &self.words,
                query,
            };
            let ready = self.ready(owner).await?;
            match asked.answer(&ready.library, &ready.view).await {
                Err(PortError::Unavailable(reason)) => {
                    // The index was damaged while it was open: opened anew, it is made anew.
                    tracing::warn!(%reason, "the search index is opened anew");
                    *lock(&self.space(owner).ready) = None;
                    let ready = self.ready(owner).await?;
                    asked.answer(&ready.library, &ready.view).await
                }
                answered => answered,
            }
        })
    }
}

#[cfg(test)]
mod tests;
