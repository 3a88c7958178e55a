//! The library in lines for a model: a name and what it is for, as many as there is room for.

use gongfu_core::catalogue::{self, Catalogue, Entry, Form};
use gongfu_core::library::{Library, Skill};

use crate::shelf::one_line;

/// The most characters of the lines that a model asks for at the start of a task: more than a prompt
/// would carry, about 8,000 tokens.
pub(crate) const ASKED: usize = 32_000;

/// Skills in lines, and how many more there are.
pub(crate) struct Lines {
    /// The first ones, in the order of a catalogue.
    pub(crate) entries: Vec<Entry>,
    /// The number of skills after them.
    pub(crate) others: usize,
}

impl Lines {
    /// As many as there can be room for.
    fn within<'a>(
        budget: usize,
        skills: Vec<&'a Skill>,
        line: impl Fn(&'a Skill) -> Entry,
    ) -> Self {
        let first = skills.len().min(catalogue::most(budget));
        Self {
            others: skills.len() - first,
            entries: skills.into_iter().take(first).map(line).collect(),
        }
    }

    /// The catalogue of these skills.
    pub(crate) fn catalogue(&self, budget: usize, form: &Form<'_>) -> Catalogue {
        catalogue::write(&self.entries, self.others, budget, form)
    }

    /// The first ones by name, with all others left out.
    pub(crate) fn first_by_name(self, count: usize) -> Self {
        let total = self.total();
        let mut entries = self.entries;
        entries.truncate(count);
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        Self {
            others: total - entries.len(),
            entries,
        }
    }

    /// The names.
    pub(crate) fn names(self) -> Vec<String> {
        self.entries.into_iter().map(|entry| entry.name).collect()
    }

    /// Returns the number of skills in all.
    pub(crate) fn total(&self) -> usize {
        self.entries.len() + self.others
    }
}

/// Every enabled skill, in the order of a catalogue: by its name, or by its full name when another one
/// holds that.
pub(crate) fn lines(library: &Library, budget: usize) -> Lines {
    let enabled = library.skills().iter().filter(|skill| skill.enabled);
    let mut enabled: Vec<&Skill> = enabled.map(AsRef::as_ref).collect();
    library.sort_for_catalogue(&mut enabled);
    Lines::within(budget, enabled, |skill| line(library, skill))
}

/// The enabled skills of these names, by name, with all others left out.
pub(crate) fn named(library: &Library, names: &[String]) -> Lines {
    let enabled = library.skills().iter().filter(|skill| skill.enabled);
    let mut all: Vec<Entry> = enabled.map(|skill| line(library, skill)).collect();
    let total = all.len();
    all.retain(|entry| names.contains(&entry.name));
    all.sort_by(|one, other| one.name.cmp(&other.name));
    Lines {
        others: total - all.len(),
        entries: all,
    }
}

/// A skill as [`lines`] shows it.
pub(crate) fn line(library: &Library, skill: &Skill) -> Entry {
    entry(library.name_of(skill), skill)
}

/// The skills that are reached by their bare names, in the order of a catalogue.
pub(crate) fn names(library: &Library, budget: usize) -> Lines {
    Lines::within(budget, reachable(library), |skill| {
        entry(skill.name.as_str(), skill)
    })
}

/// The skills themselves that [`names`] shows.
pub(crate) fn reachable(library: &Library) -> Vec<&Skill> {
    let mut reachable: Vec<&Skill> = library.reachable().map(AsRef::as_ref).collect();
    library.sort_for_catalogue(&mut reachable);
    reachable
}

fn entry(name: &str, skill: &Skill) -> Entry {
    Entry {
        name: one_line(name),
        description: one_line(&skill.description),
    }
}

/// Names the skills that can't be reached by a bare name, in words.
pub(crate) fn shadowed_note(library: &Library) -> Option<String> {
    let enabled = library.skills().iter().filter(|skill| skill.enabled);
    let shadowed: Vec<&str> = enabled
        .filter(|skill| library.shadowed_by(skill).is_some())
        .map(|skill| &*skill.full_name)
        .collect();
    let names: Vec<&str> = shadowed.iter().take(10).copied().collect();
    let more = shadowed.len().saturating_sub(names.len());
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    (!names.is_empty()).then(|| {
        format!(
            "[not listed, because another skill takes precedence under the same name: {}{more}]",
            names.join(", ")
        )
    })
}
