//! What a client tells its model about the skills before any tool is called.
//!
//! The catalogue of the caller's library with the words of the profile's own tools, within a budget
//! of characters. It goes into the instructions of a server and the descriptions of tools.

use gongfu_core::catalogue::{Catalogue, Form};
use gongfu_core::library::Library;

use crate::dialect;
use crate::overview;
use crate::profile::Profile;

/// How a profile speaks about skills.
#[derive(Clone, Copy)]
pub(crate) struct Guide {
    /// What skills are for and which tool is called when.
    pub(crate) introduction: &'static str,
    /// What stands above the list of skills.
    pub(crate) heading: &'static str,
    /// The line of a skill.
    pub(crate) line: fn(name: &str, description: &str) -> String,
    /// Where those are that have no room, of so many skills.
    pub(crate) more: fn(skills: usize) -> &'static str,
    /// Whether its tools take full names, or bare ones alone.
    pub(crate) full_names: bool,
}

/// How gongfu's own tools speak.
const STANDARD: Guide = Guide {
    introduction: "gongfu keeps a library of skills: instructions written by people who know how a task is done well. \
        Before you start a task, look whether a skill fits it: below, or with skill_search. If one does, load it with \
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

/// The instructions of a server that shows these profiles: what the skills are, within so many
/// characters for the catalogue.
pub(crate) fn instructions(
    profiles: &[Profile],
    library: Option<&Library>,
    budget: usize,
) -> String {
    let standard = |profile: &Profile| matches!(profile, Profile::Standard | Profile::All);
    let mut guides: Vec<Guide> = Vec::new();
    if profiles.iter().any(standard) {
        guides.push(STANDARD);
    } else {
        guides.extend(dialect::chosen(profiles).map(|dialect| dialect.guide));
    }
    let mut text = String::new();
    for (number, guide) in guides.iter().enumerate() {
        if number > 0 {
            text.push_str("\n\n");
        }
        text.push_str(guide.introduction);
    }
    // One list is enough, whatever ways there are to load from it.
    let Some(guide) = guides.first() else {
        return text;
    };
    text.push_str("\n\n");
    text.push_str(guide.heading);
    let Some(library) = library else {
        text.push_str("\nthe library can't be told right now; the tools say what there is");
        return text;
    };
    let catalogue = catalogue(library, guide, budget);
    if catalogue.shown + catalogue.left_out == 0 {
        text.push_str(if library.skills().is_empty() {
            "\nthere are no skills yet"
        } else {
            "\nno skill is switched on"
        });
    } else {
        text.push('\n');
        text.push_str(catalogue.text.trim_end());
    }
    text
}

/// The catalogue for the description of a tool of gongfu's own.
pub(crate) fn for_tool(library: &Library, budget: usize) -> Catalogue {
    catalogue(library, &STANDARD, budget)
}

fn catalogue(library: &Library, guide: &Guide, budget: usize) -> Catalogue {
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
