//! The skills in the instructions of gongfu's own agent (seed 001, §2.3; seed 003, §2).

use gongfu_core::catalogue::Form;
use gongfu_core::library::{Library, Skill};

use crate::overview;
use crate::shelf;

/// The most tasks with a skill that must be loaded for them.
const MAX_TASKS: usize = 40;
/// The member of a skill's `metadata` that says for which task it must be loaded first.
const LOAD_WHEN: &str = "load-when";

/// The form of the list.
const FORM: Form<'static> = Form {
    line: &|name, description| {
        format!(
            "  - {name}: {description} — call skill_load(skill_name='{name}') to load instructions when relevant"
        )
    },
    more: &|count| format!("  … and {count} more: call skill_search"),
};

/// The skills that a list of `budget` characters has room for, by name; `None` if all have.
pub(crate) fn listed(library: &Library, budget: usize) -> Option<Vec<String>> {
    let lines = overview::lines(library, budget);
    let shown = lines.catalogue(budget, &FORM).shown;
    let is_part = shown < lines.total();
    is_part.then(|| lines.first_by_name(shown).names())
}

/// The block about skills, whose list takes at most `budget` characters. Empty without skills.
///
/// The list has the skills of `listed`, or all. Which are the most useful ones changes with each use, so that a turn
/// chooses them once: its instructions stay the same, and a replay of it has the same ones.
pub(crate) fn block(library: &Library, budget: usize, listed: Option<&[String]>) -> String {
    let lines = overview::lines(library, budget);
    if lines.total() == 0 {
        return String::new();
    }
    let total = lines.total();
    let lines = listed.map_or_else(
        || lines.first_by_name(total),
        |names| overview::named(library, names),
    );
    let catalogue = lines.catalogue(budget, &FORM);
    let mut text = format!(
        "# Skills\n\nWhen the request matches the purpose of a skill, load that skill first and follow it.\n\n\
         Available skills:\n{}",
        catalogue.text.trim_end()
    );
    let enabled = library.skills().iter().filter(|skill| skill.enabled);
    let mut enabled: Vec<&Skill> = enabled.map(AsRef::as_ref).collect();
    enabled.sort_by_key(|skill| library.name_of(skill));
    let tasks = enabled.into_iter().filter_map(|skill| {
        let task = shelf::metadata(skill, LOAD_WHEN)?;
        Some(format!("  - {task}: {}", library.name_of(skill)))
    });
    let tasks: Vec<String> = tasks.take(MAX_TASKS).collect();
    if !tasks.is_empty() {
        text.push_str("\n\nFor these tasks the skill must be loaded before anything else:\n");
        text.push_str(&tasks.join("\n"));
    }
    text
}
