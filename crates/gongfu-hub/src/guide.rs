//! The text in which gongfu or a dialect introduces skills, with the catalogue of a library in it.
//!
//! They go into the instructions of a server and the descriptions of tools.

use gongfu_core::catalogue::{Catalogue, Form};
use gongfu_core::library::Library;

use crate::overview;

/// The words of a profile about skills.
#[derive(Clone, Copy)]
pub(crate) struct Guide {
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
    introduction: "gongfu keeps a library of skills: instructions written by people who know how a task is done well. \
        Before you start a task, check whether a skill fits: below, or with skill_search. If one does, load it with \
        skill_load and follow it; read the files that it mentions with skill_read.",
    heading: "Skills:",
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
