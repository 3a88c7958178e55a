//! A library with the addresses of its skills.

use std::sync::Arc;

use gongfu_core::library::{AddressTable, Library, Skill};
use gongfu_core::skill::SkillPath;

use super::address::{self, Address};
use super::page::{self, Page};
use crate::call::Call;
use crate::error::ToolError;
use crate::problem::Problem;
use crate::shelf;

/// The caller's library as it is now.
pub(crate) async fn view(call: &Call) -> Result<View, ToolError> {
    Ok(View::new(shelf::library(call).await?))
}

/// The URI of a file of a skill: the one that every surface reads it by. A skill whose name would
/// have to be encoded has none; then it tells where the file is.
///
/// # Errors
/// The library can't be read right now.
pub(crate) async fn uri(call: &Call, skill: &Skill, path: &SkillPath) -> Result<String, ToolError> {
    let view = view(call).await?;
    let root = view.root_of(skill).map_or(&*skill.full_name, |root| root);
    Ok(address::join(&address::encode(root), path.as_str()))
}

/// A library with the addresses of its skills.
pub(crate) struct View {
    pub(crate) library: Arc<Library>,
    pub(crate) table: Arc<AddressTable>,
}

impl View {
    pub(crate) fn new(library: Arc<Library>) -> Self {
        let table = Arc::clone(library.addresses());
        Self { library, table }
    }

    /// A skill by its place in the library.
    pub(crate) fn skill(&self, at: u32) -> Option<&Arc<Skill>> {
        self.library.skills().get(at as usize)
    }

    /// The address of a skill, which may be one of an earlier state of the library.
    pub(crate) fn root_of(&self, skill: &Skill) -> Option<&Arc<str>> {
        let at = self.table.place_of(&self.library, &skill.full_name)?;
        self.table.root(at)
    }

    /// A page of a list of the skills that are switched on, in order. `entry` makes the entry of a
    /// skill, or leaves it out, and says about how many bytes it takes.
    ///
    /// # Errors
    /// The cursor belongs to another list, or to a source that is gone.
    pub(crate) fn page<T>(
        &self,
        list: &str,
        cursor: Option<&str>,
        entry: impl Fn(u32, &Arc<Skill>) -> Option<(T, usize)>,
    ) -> Result<Page<T>, ToolError> {
        let start = match page::behind(list, cursor)? {
            None => 0,
            Some(name) if !self.table.has_source_of(&name) => return Err(page::foreign(list)),
            Some(name) => self.table.behind(&self.library, &name),
        };
        let order = self.table.order().get(start..).unwrap_or_default();
        let skills = order.iter().filter_map(|&at| Some((at, self.skill(at)?)));
        Ok(Page::fill(
            list,
            skills.filter(|(_, skill)| skill.enabled),
            |(_, skill)| &skill.full_name,
            |(at, skill)| entry(*at, skill),
        ))
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
