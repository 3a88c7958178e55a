//! A library together with its table of addresses, which is made once for each state of it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use gongfu_core::account::Owner;
use gongfu_core::library::{Library, Skill};

use super::address::{self, Address};
use super::table::Table;
use crate::error::ToolError;
use crate::problem::Problem;
use crate::shelf;
use crate::tool::Context;

/// For how many owners a table is kept.
const MOST: usize = 256;

/// The tables of the libraries that were asked for lately.
#[derive(Default)]
pub(crate) struct Tables(Mutex<HashMap<Owner, Kept>>);

/// A table and the library that it belongs to, which isn't kept alive by it.
struct Kept {
    library: Weak<Library>,
    table: Arc<Table>,
}

impl Tables {
    /// The caller's library as it is now, with its table.
    pub(crate) async fn view(&self, context: &Context) -> Result<View, ToolError> {
        let library = shelf::library(context).await?;
        let owner = &context.actor.owner;
        let known = self.known(owner, &library);
        let table = known.unwrap_or_else(|| {
            // Made outside of the lock: two at once make it twice, and nobody waits.
            let table = Arc::new(Table::new(&library));
            self.keep(owner, &library, &table);
            table
        });
        Ok(View { library, table })
    }

    fn known(&self, owner: &Owner, library: &Arc<Library>) -> Option<Arc<Table>> {
        let tables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = tables.get(owner)?;
        // The memory of a library that somebody points to isn't given to another one.
        let same = std::ptr::eq(kept.library.as_ptr(), Arc::as_ptr(library));
        same.then(|| Arc::clone(&kept.table))
    }

    fn keep(&self, owner: &Owner, library: &Arc<Library>, table: &Arc<Table>) {
        let mut tables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if tables.len() >= MOST {
            tables.retain(|_, kept| kept.library.strong_count() > 0);
        }
        if tables.len() >= MOST {
            tables.clear();
        }
        let kept = Kept {
            library: Arc::downgrade(library),
            table: Arc::clone(table),
        };
        tables.insert(owner.clone(), kept);
    }
}

/// The caller's library as it is now, with its table.
pub(crate) async fn view(context: &Context) -> Result<View, ToolError> {
    context.tables.view(context).await
}

/// A library with its table.
pub(crate) struct View {
    pub(crate) library: Arc<Library>,
    pub(crate) table: Arc<Table>,
}

impl View {
    /// A skill by its place in the library.
    pub(crate) fn skill(&self, at: u32) -> Option<&Arc<Skill>> {
        self.library.skills().get(at as usize)
    }

    /// The address of a skill, which may be one of an earlier state of the library.
    pub(crate) fn root_of(&self, skill: &Skill) -> Option<&Arc<str>> {
        let at = self.table.place_of(&self.library, &skill.full_name)?;
        self.table.root(at)
    }

    /// The skills that are switched on, in order, behind a full name.
    pub(crate) fn skills_behind<'a>(
        &'a self,
        after: Option<&str>,
    ) -> impl Iterator<Item = (u32, &'a Arc<Skill>)> {
        let start = after.map_or(0, |after| self.table.behind(&self.library, after));
        let order = self.table.order().get(start..).unwrap_or_default();
        let skills = order.iter().filter_map(|&at| Some((at, self.skill(at)?)));
        skills.filter(|(_, skill)| skill.enabled)
    }

    /// The skill that an address lies in, with the path below its root; the innermost one that is
    /// switched on.
    pub(crate) fn found<'p>(&self, address: &'p Address) -> Option<(u32, &Arc<Skill>, &'p str)> {
        self.table
            .roots_above(address.as_str())
            .find_map(|(at, below)| {
                let skill = self.skill(at).filter(|skill| skill.enabled)?;
                Some((at, skill, below))
            })
    }

    /// The roots of skills that are switched on and lie below a folder.
    pub(crate) fn roots_below<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = &'a str> {
        let below = self.table.roots_below(folder);
        below
            .filter(|(_, at)| self.skill(*at).is_some_and(|skill| skill.enabled))
            .map(|(root, _)| root)
    }
}

/// Reads a URI.
pub(crate) fn address(uri: &str) -> Result<Address, ToolError> {
    address::decode(uri).map_err(|why| {
        Problem::ResourceUri {
            uri: uri.to_owned(),
            reason: why.reason().to_owned(),
        }
        .error()
    })
}
