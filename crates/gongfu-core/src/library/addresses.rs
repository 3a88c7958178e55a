//! The addresses of skills as resources, for one revision of a library.
//!
//! A skill is served under its name, whatever its folder is called: at `<source>/<parent>/<name>`,
//! where an enclosing skill stands for its folder (SEP-2640, nested skills). Where something else
//! lies there, the folder is inserted before the name. No address leads to two skills, and the
//! same library always has the same ones, whatever is switched off in it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::{Library, Skill};
use crate::skill::FileEntry;

/// The limit of folders that are inserted before the skill has no address.
const MAX_INSERTED: usize = 64;

/// The addresses of a library's skills.
#[derive(Debug, Default)]
pub struct AddressTable {
    /// The address of each skill, by its place in the library.
    roots: Vec<Option<Arc<str>>>,
    at: HashMap<Arc<str>, u32>,
    /// Skills with an address, by address.
    by_root: Vec<u32>,
    /// All skills, by source and full name.
    order: Vec<u32>,
    /// Rank of each source.
    rank: HashMap<Arc<str>, usize>,
    /// The length of the longest address.
    longest: usize,
}

impl AddressTable {
    /// Computes the addresses of all skills.
    pub fn new(library: &Library) -> Self {
        let sources = library.sources().iter().enumerate();
        let mut table = Self {
            rank: sources
                .map(|(rank, source)| (Arc::clone(&source.id), rank))
                .collect(),
            ..Self::default()
        };
        table.roots = PlannedAddress::all(library.skills());
        for (at, root) in (0..).zip(&mut table.roots) {
            // By construction nobody else is there; should that fail, a skill without an address
            // does less harm than a page that no host takes.
            if let Some(taken) = root
                && table.at.contains_key(taken)
            {
                *root = None;
            }
            if let Some(root) = root {
                table.longest = table.longest.max(root.len());
                table.at.insert(Arc::clone(root), at);
                table.by_root.push(at);
            }
        }
        let roots = &table.roots;
        table.by_root.sort_by_key(|&at| roots.get(at as usize));
        let skills = library.skills();
        let mut order: Vec<u32> = (0..).zip(skills).map(|(at, _)| at).collect();
        order.sort_by_cached_key(|&at| {
            let name = skills.get(at as usize).map(|skill| &*skill.full_name);
            name.map(|name| (table.rank_of(name), name))
        });
        table.order = order;
        table
    }

    /// The address of a skill; `None` for a name that can't stand in a URI.
    pub fn root(&self, at: u32) -> Option<&Arc<str>> {
        self.roots.get(at as usize)?.as_ref()
    }

    /// Skills in the order in which they are listed.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// The position in [`Self::order`] after a full name, which need not exist any more.
    pub fn behind(&self, library: &Library, full_name: &str) -> usize {
        let wanted = (self.rank_of(full_name), full_name);
        let skills = library.skills();
        self.order.partition_point(|&at| {
            let name = skills.get(at as usize).map(|skill| &*skill.full_name);
            name.is_some_and(|name| (self.rank_of(name), name) <= wanted)
        })
    }

    /// The index of a skill in the library, by its full name.
    pub fn place_of(&self, library: &Library, full_name: &str) -> Option<u32> {
        let behind = self.behind(library, full_name);
        let at = *self.order.get(behind.checked_sub(1)?)?;
        let skill = library.skills().get(at as usize)?;
        (*skill.full_name == *full_name).then_some(at)
    }

    /// Returns true if a full name belongs to a source that is there.
    pub fn has_source_of(&self, full_name: &str) -> bool {
        self.rank_of(full_name) < usize::MAX
    }

    fn rank_of(&self, full_name: &str) -> usize {
        let source = full_name.split('/').next().unwrap_or_default();
        self.rank.get(source).copied().unwrap_or(usize::MAX)
    }

    /// The skills that a place lies in, the innermost one first, with the path below each.
    pub fn roots_above<'p>(
        &self,
        place: &'p str,
    ) -> impl Iterator<Item = (u32, &'p str)> + use<'_, 'p> {
        let mut end = Some(place.len());
        std::iter::from_fn(move || {
            let here = end?;
            end = place.get(..here)?.rfind('/');
            Some(here)
        })
        // A hostile place of ten thousand parts is looked up no deeper than any skill lies.
        .filter(|&end| end <= self.longest)
        .filter_map(move |end| {
            let at = *self.at.get(place.get(..end)?)?;
            let below = place.get(end..)?;
            Some((at, below.strip_prefix('/').unwrap_or(below)))
        })
    }

    /// The addresses below a folder, in order, with their skills; of all for the empty one.
    pub fn roots_below<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = (&'a str, u32)> {
        let root = |at: u32| self.root(at).map_or("", |root| &**root);
        let start = self.by_root.partition_point(|&at| root(at) < folder);
        let rest = self.by_root.get(start..).unwrap_or_default();
        rest.iter()
            .map(move |&at| (root(at), at))
            .take_while(move |(root, _)| root.starts_with(folder))
            .filter(move |(root, _)| path_below(root, folder).is_some())
    }
}

/// The rest of a place below a folder; `None` when it doesn't lie there.
pub fn path_below<'p>(place: &'p str, folder: &str) -> Option<&'p str> {
    if folder.is_empty() {
        return Some(place);
    }
    place.strip_prefix(folder)?.strip_prefix('/')
}

/// A skill on its way to an address.
struct PlannedAddress<'a> {
    skill: &'a Skill,
    /// `<source>/<path>`; the source alone for one that is the root of its source.
    real: &'a str,
    /// True if its name can stand in a URI.
    plain: bool,
    /// The innermost skill around it that has an address.
    around: Option<usize>,
}

impl<'a> PlannedAddress<'a> {
    fn all(skills: &'a [Arc<Skill>]) -> Vec<Option<Arc<str>>> {
        let mut planned: Vec<Self> = skills.iter().map(|skill| Self::new(skill)).collect();
        let by_real: HashMap<&str, usize> = planned
            .iter()
            .enumerate()
            .filter(|(_, planned)| planned.plain)
            .map(|(at, planned)| (planned.real, at))
            .collect();
        for planned in &mut planned {
            planned.around = above(planned.real).find_map(|above| by_real.get(above).copied());
        }
        let mut taken: HashSet<&str> = HashSet::new();
        let mut wanted: HashMap<(Option<usize>, String), usize> = HashMap::new();
        for planned in planned.iter().filter(|planned| planned.plain) {
            if planned.around.is_none() {
                taken.insert(planned.real);
                taken.extend(above(planned.real));
            }
            if !planned.is_natural() {
                *wanted
                    .entry((planned.around, planned.renamed()))
                    .or_default() += 1;
            }
        }
        // The enclosing skill comes before what it encloses: its path is shorter.
        let mut order: Vec<usize> = (0..planned.len()).collect();
        order.sort_by_key(|&at| planned.get(at).map(|planned| planned.real.len()));
        let mut roots: Vec<Option<Arc<str>>> = vec![None; planned.len()];
        for at in order {
            let Some(one) = planned.get(at).filter(|planned| planned.plain) else {
                continue;
            };
            let around = one
                .around
                .and_then(|at| Some((planned.get(at)?, roots.get(at)?.as_ref()?)));
            let root = match around {
                None => Some(one.outer(&taken, &wanted)),
                Some((outer, root)) => one.inner(outer, root, &wanted),
            };
            if let Some(place) = roots.get_mut(at) {
                *place = root;
            }
        }
        roots
    }

    fn new(skill: &'a Skill) -> Self {
        let real = skill.full_name.strip_suffix("/.");
        Self {
            skill,
            real: real.unwrap_or(&skill.full_name),
            plain: skill.name.is_plain_in_uri(),
            around: None,
        }
    }

    /// The folder above it, and its own; the source and nothing for the root of a source.
    fn split(&self) -> (&'a str, Option<&'a str>) {
        match self.real.rsplit_once('/') {
            Some((parent, folder)) => (parent, Some(folder)),
            None => (self.real, None),
        }
    }

    /// Returns true if its folder has its name.
    fn is_natural(&self) -> bool {
        self.split().1 == Some(self.skill.name.as_str())
    }

    /// Its real place, but with its name.
    fn renamed(&self) -> String {
        format!("{}/{}", self.split().0, self.skill.name)
    }

    /// The address of a skill that no other one is around.
    ///
    /// Nothing lies below its own folder but what it encloses, so the second choice is free.
    fn outer(
        &self,
        taken: &HashSet<&str>,
        wanted: &HashMap<(Option<usize>, String), usize>,
    ) -> Arc<str> {
        if self.is_natural() {
            return Arc::clone(&self.skill.full_name);
        }
        let renamed = self.renamed();
        let alone = wanted.get(&(None, renamed.clone())) == Some(&1);
        if alone && !taken.contains(&*renamed) {
            renamed.into()
        } else {
            format!("{}/{}", self.real, self.skill.name).into()
        }
    }

    /// The address of a skill inside of another one, whose files have addresses, too.
    fn inner(
        &self,
        outer: &Self,
        root: &str,
        wanted: &HashMap<(Option<usize>, String), usize>,
    ) -> Option<Arc<str>> {
        let path = path_below(self.real, outer.real)?;
        if self.is_natural() {
            // Most are where they really lie, and need no second copy of that.
            return Some(if root == outer.real {
                Arc::clone(&self.skill.full_name)
            } else {
                format!("{root}/{path}").into()
            });
        }
        let name = self.skill.name.as_str();
        let (parent, folder) = path.rsplit_once('/').unwrap_or(("", path));
        let alone = wanted.get(&(self.around, self.renamed())) == Some(&1);
        let mut between = parent.to_owned();
        for inserted in 0..MAX_INSERTED {
            let choice = joined(&between, name);
            let free = !holds(&outer.skill.files, &choice);
            if free && (inserted > 0 || alone) {
                return Some(format!("{root}/{choice}").into());
            }
            between = joined(&between, folder);
        }
        None
    }
}

fn joined(parent: &str, name: &str) -> String {
    if parent.is_empty() {
        name.to_owned()
    } else {
        format!("{parent}/{name}")
    }
}

/// Yields the places above a place, the nearest first.
fn above(place: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(place), |place| {
        place.rsplit_once('/').map(|(above, _)| above)
    })
    .skip(1)
}

/// Returns true if a file lies at or below a path.
fn holds(files: &[FileEntry], path: &str) -> bool {
    let at = |file: &FileEntry| {
        let file = file.path.as_str();
        file == path || path_below(file, path).is_some()
    };
    let start = files.partition_point(|file| file.path.as_str() < path);
    // Between `a` and `a/b` may come `a-b`, but nothing that doesn't begin with `a`.
    files
        .iter()
        .skip(start)
        .take_while(|file| file.path.as_str().starts_with(path))
        .any(at)
}

#[cfg(test)]
mod tests;
