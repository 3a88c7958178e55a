//! The text in which gongfu or a dialect introduces skills, with the catalogue of a library in it.
//!
//! They go into the instructions of a server and the descriptions of tools.

use gongfu_core::catalogue::{Catalogue, Form};
use gongfu_core::library::Library;

use crate::overview;
use crate::shelf;

/// The words of a profile about skills.
#[derive(Clone, Copy)]
pub(crate) struct Guide {
    /// True if the number of skills stands before the introduction: a client may cut the rest.
    pub(crate) counts: bool,
    /// The purpose of skills, and which tool is called when.
    pub(crate) introduction: &'static str,
    /// The line above the list of skills.
    pub(crate) heading: &'static str,
    /// The line of a skill.
    pub(crate) line: fn(name: &str, description: &str) -> String,
    /// The place of the skills that have no room, of so many skills.
    pub(crate) more: fn(skills: usize) -> &'static str,
    /// True if its tools take full names, false for bare ones alone.
    pub(crate) full_names: bool,
}

/// The words of gongfu's own tools.
pub(crate) const STANDARD: Guide = Guide {
    counts: true,
    introduction: "Before you start a task, find the skill that fits it with `skill_search`, load it with `skill_load` and follow it. \
        Read the files that it mentions with `skill_read`, and run its scripts with `skill_run`, in a sandbox. \
        A skill is a set of instructions by people who know how to do a task well.",
    heading: "Skills, those of this project and of the user first:",
    line,
    more: |_| "use skill_search",
    full_names: true,
};

/// The line of a skill where a profile has no form of its own.
pub(crate) fn line(name: &str, description: &str) -> String {
    format!("- {name}: {description}")
}

/// The catalogue for the description of a tool of gongfu's own.
pub(crate) fn for_tool(library: &Library, budget: usize) -> Catalogue {
    catalogue(library, &STANDARD, budget)
}

/// The number of skills in the catalogue of a library.
pub(crate) fn count(library: &Library, guide: &Guide) -> usize {
    if guide.full_names {
        library
            .skills()
            .iter()
            .filter(|skill| skill.enabled)
            .count()
    } else {
        shelf::names(library).len()
    }
}

/// The catalogue of a library with the words of a guide.
pub(crate) fn catalogue(library: &Library, guide: &Guide, budget: usize) -> Catalogue {
    let lines = if guide.full_names {
        overview::lines(library, budget)
    } else {
        overview::names(library, budget)
    };
    let more = (guide.more)(lines.total());
    let form = Form {
        line: &guide.line,
        more: &|count| format!("… and {count} more: {more}"),
    };
    lines.catalogue(budget, &form)
}
