//! The library in lines for a model: a name and what it is for, as many as one answer carries.
//!
//! Descriptions are cut evenly before any skill is left out, and what is left out is counted.

use gongfu_core::library::{Library, Skill};

use crate::shelf::{self, one_line};

/// The most characters of all lines together. Asked for by a model at the start of a task, so it may
/// be more than a prompt would carry: about 8,000 tokens.
const BUDGET: usize = 32_000;
/// What a line takes beside name and description, in characters.
const FRAME: usize = 8;
/// A description is not cut below this many characters: what is shorter says nothing.
const LEAST: usize = 40;

/// The lines, and what is not among them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Overview {
    /// One for each skill, in order of precedence.
    pub(crate) lines: Vec<Line>,
    /// How many skills had no room.
    pub(crate) left: usize,
    /// Full names of skills whose bare name another one holds.
    pub(crate) shadowed: Vec<String>,
}

/// A skill in a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// What it is reached by.
    pub(crate) name: String,
    /// What it is for.
    pub(crate) description: String,
}

impl Overview {
    /// Which skills can't be reached by a bare name, in words.
    pub(crate) fn shadowed_note(&self) -> Option<String> {
        let names: Vec<&str> = self.shadowed.iter().take(10).map(String::as_str).collect();
        let more = self.shadowed.len().saturating_sub(names.len());
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        (!names.is_empty()).then(|| {
            format!(
                "[not listed, because another skill holds their name: {}{more}]",
                names.join(", ")
            )
        })
    }
}

/// Every skill that is switched on: by its name, or by its full name when another one holds that.
pub(crate) fn lines(library: &Library) -> Overview {
    let enabled = library.skills().iter().filter(|skill| skill.enabled);
    let named = enabled.map(|skill| match library.shadowed_by(skill) {
        Some(_) => (&*skill.full_name, skill.as_ref()),
        None => (skill.name.as_str(), skill.as_ref()),
    });
    fitted(named.collect())
}

/// The skills that are reached by their bare names.
pub(crate) fn names(library: &Library) -> Overview {
    let reachable = shelf::reachable(library).into_iter();
    let overview = fitted(
        reachable
            .map(|skill| (skill.name.as_str(), skill.as_ref()))
            .collect(),
    );
    let enabled = library.skills().iter().filter(|skill| skill.enabled);
    let shadowed = enabled.filter(|skill| library.shadowed_by(skill).is_some());
    Overview {
        shadowed: shadowed.map(|skill| skill.full_name.to_string()).collect(),
        ..overview
    }
}

fn fitted(skills: Vec<(&str, &Skill)>) -> Overview {
    let mut lines: Vec<Line> = skills
        .into_iter()
        .map(|(name, skill)| Line {
            name: one_line(name),
            description: one_line(&skill.description),
        })
        .collect();
    let most = longest(&lines);
    let mut used = 0;
    let mut count = 0;
    for line in &mut lines {
        line.description = gongfu_core::text::clipped(&line.description, most, ' ');
        used += length(line, usize::MAX);
        if used > BUDGET {
            break;
        }
        count += 1;
    }
    let left = lines.len() - count;
    lines.truncate(count);
    Overview {
        lines,
        left,
        shadowed: Vec::new(),
    }
}

/// How long a description may be so that all lines fit, if one can be that short.
fn longest(lines: &[Line]) -> usize {
    let fits = |most: usize| lines.iter().map(|line| length(line, most)).sum::<usize>() <= BUDGET;
    if fits(usize::MAX) {
        return usize::MAX;
    }
    let (mut least, mut most) = (LEAST, BUDGET);
    while least + 1 < most {
        let middle = least.midpoint(most);
        if fits(middle) {
            least = middle;
        } else {
            most = middle;
        }
    }
    least
}

/// The characters of a line whose description is cut to `most`, and of the mark that says so.
fn length(line: &Line, most: usize) -> usize {
    let description = line.description.chars().count();
    line.name.chars().count() + description.min(most.saturating_add(1)) + FRAME
}
