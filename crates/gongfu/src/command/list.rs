//! `gongfu list` and `gongfu skill list`: the skills of the library in columns.

use std::path::{Component, Path};
use std::sync::Arc;

use gongfu_core::library::{Library, ResolveError, Skill};
use gongfu_core::search::Filter;
use gongfu_core::skill::SKILL_FILE;
use gongfu_files::disk::{self, EntryKind};
use serde_json::{Value, json};

use super::{Outcome, search};
use crate::cli::{ListArguments, quoted};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::progress;
use crate::table::{clip, count, pad, width};
use crate::terminal::{Paint, Terminal, plain};
use crate::wiring::{self, Parts};

/// The columns that are enough for a table; with fewer a skill takes two lines.
const TABLE: usize = 60;
/// The most columns that the name and the source take, before longer ones stand out.
const MAX_NAME: usize = 24;
const MAX_SOURCE: usize = 18;

pub(crate) fn run(
    arguments: ListArguments,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let common = &arguments.common;
    if arguments.task.is_some() || arguments.budget.is_some() {
        let wanted = json!({ "task": arguments.task, "budget": arguments.budget });
        return search::catalogue(wanted, common, environment, terminal);
    }
    let parts = wiring::unwarned_parts(environment, &common.places, &[])?;
    if let Some(Failure {
        code,
        message,
        hint,
        ..
    }) = &parts.unwritable
    {
        let message = format!("{message}, so the built-in skills are missing");
        terminal.warning(code, &message, hint);
    }
    let library = library(&parts)?;
    let filter = Filter {
        source: arguments.source,
        tag: arguments.tag,
    };
    if let Some(source) = &filter.source {
        check_source(&library, source)?;
    }
    let is_filtered = filter != Filter::default() || arguments.disabled || arguments.shadowed;
    let shown: Vec<&Skill> = library
        .skills()
        .iter()
        .map(AsRef::as_ref)
        .filter(|skill| filter.admits(skill))
        .filter(|skill| !arguments.disabled || !skill.enabled)
        .filter(|skill| !arguments.shadowed || library.shadowed_by(skill).is_some())
        .collect();
    for left in library.unloadable().iter().filter(|_| !is_filtered) {
        for found in &left.diagnostics {
            let text = gongfu_core::text::finding(&found.finding);
            let (message, hint) = (text.message, text.hint);
            terminal.note(&format!("note: {}: {message}; {hint}", left.path));
        }
    }
    if common.json {
        let entries = shown.iter().map(|one| entry(&library, one));
        terminal.json(&entries.collect::<Vec<Value>>())?;
        return Ok(Outcome::Good);
    }
    print(&shown, &library, terminal)?;
    note_untrusted(&library, terminal);
    if library.skills().is_empty() && parts.unwritable.is_some() {
        terminal.note("no skills found");
    } else {
        terminal.note(&summary(&shown, &library, is_filtered));
    }
    Ok(Outcome::Good)
}

/// Says which project isn't trusted, where one with skills isn't.
fn note_untrusted(library: &Library, terminal: &mut Terminal) {
    let skills = library.skills().iter();
    let mut projects = skills.filter_map(|skill| library.untrusted_project(skill));
    if let Some(project) = projects.next() {
        let project = plain(project);
        let skills = count(projects.count() + 1, "skill");
        terminal.note(&format!(
            "note: the project {project} isn't trusted, so scripts of its {skills} don't run; review them, then: gongfu trust {project}"
        ));
    }
}

/// Reads the library, with a sign of life where that takes long.
pub(super) fn library(parts: &Parts) -> anyhow::Result<Arc<Library>> {
    Ok(progress::during("reading skills", || parts.library())?)
}

/// The skill of a name, disabled or not; also by the path of its folder or of its SKILL.md.
pub(super) fn named(library: &Library, name: &str) -> Result<Arc<Skill>, ResolveError> {
    let unresolved = match library.resolve(name) {
        Ok(skill) => return Ok(Arc::clone(skill)),
        Err(unresolved) => unresolved,
    };
    let mut skills = library.skills().iter();
    let found = match &unresolved {
        ResolveError::Disabled { full_name } => skills.find(|skill| skill.full_name == *full_name),
        _ if name.contains(['/', '\\']) || name.starts_with('.') => {
            // As shells complete the name of a folder.
            if let Ok(skill) = library.resolve(name.trim_end_matches('/')) {
                return Ok(Arc::clone(skill));
            }
            let path = Path::new(name);
            let is_file = path.file_name().is_some_and(|name| name == SKILL_FILE);
            let folder = path.parent().filter(|_| is_file).unwrap_or(path);
            let folder = disk::real_outside(&std::path::absolute(folder).unwrap_or_default());
            skills.find(|skill| disk::real_outside(Path::new(&skill.path)) == folder)
        }
        _ => None,
    };
    found.cloned().ok_or(unresolved)
}

/// The failure of a name that is a folder without a SKILL.md in a folder of skills; `None` for any other.
pub(super) fn without_skill_file(library: &Library, name: &str) -> Option<Failure> {
    if !matches!(
        Path::new(name).components().collect::<Vec<_>>()[..],
        [Component::Normal(_)]
    ) {
        return None;
    }
    let folders = library.sources().iter();
    let mut folders = folders.map(|source| Path::new(&source.root).join(name));
    let folder = folders.find(|folder| disk::kind_outside(folder) == Some(EntryKind::Folder))?;
    let folder = folder.to_string_lossy();
    let message = format!(
        "there is no skill `{}`: {} has no SKILL.md",
        plain(name),
        plain(&folder)
    );
    let hint = format!(
        "`gongfu skill check {}` says what it needs",
        quoted(&folder)
    );
    Some(Failure::new("SKILL_NOT_FOUND", message, hint))
}

/// A skill as JSON.
pub(super) fn entry(library: &Library, skill: &Skill) -> Value {
    let mut entry = json!({
        "name": skill.name.as_str(),
        "full_name": &*skill.full_name,
        "description": skill.description,
        "source": &*skill.source,
        "path": skill.path,
        "enabled": skill.enabled,
        "files": skill.files.len(),
        "bytes": skill.bytes(),
        "diagnostics": skill.findings.total(),
    });
    if let (Some(project), Value::Object(members)) = (library.untrusted_project(skill), &mut entry)
    {
        members.insert("untrusted_project".to_owned(), (&**project).into());
    }
    if let (Some(winner), Value::Object(members)) = (library.shadowed_by(skill), &mut entry) {
        members.insert(
            "shadowed_by".to_owned(),
            Value::String(winner.full_name.to_string()),
        );
    }
    entry
}

fn check_source(library: &Library, source: &str) -> Result<(), Failure> {
    let known = || library.sources().iter().map(|source| &*source.id);
    if known().any(|id| id == source) {
        return Ok(());
    }
    let nearest = gongfu_core::near::nearest_first(source, known());
    let hint = match nearest.as_slice() {
        [] => "there are no sources: pass --skills-dir DIR".to_owned(),
        nearest => format!("the sources are: {}", plain(&nearest.join(", "))),
    };
    let hint = match gongfu_core::near::meant(source, known()) {
        Some(meant) => format!("did you mean `{}`? {hint}", plain(meant)),
        None => hint,
    };
    let message = format!("there is no source `{}`", plain(source));
    Err(Failure::usage("UNKNOWN_SOURCE", message, hint))
}

/// A skill as a person sees it at once: what reaches it, and what is unusual about it.
struct Row {
    name: String,
    source: String,
    marks: String,
    description: String,
}

impl Row {
    fn of(skill: &Skill, library: &Library) -> Self {
        let is_shadowed = !library.holds_name(skill);
        let errors = skill.findings.errors;
        let errors = (errors > 0).then(|| count(errors, "error"));
        let marks: Vec<String> = [
            (!skill.enabled).then(|| "disabled".to_owned()),
            is_shadowed.then(|| "shadowed".to_owned()),
            (library.untrusted_project(skill).is_some()).then(|| "not trusted".to_owned()),
            errors,
        ]
        .into_iter()
        .flatten()
        .collect();
        let name = library.name_of(skill);
        Self {
            name: plain(name),
            // A full name begins with it.
            source: if is_shadowed {
                String::new()
            } else {
                plain(&skill.source)
            },
            marks: if marks.is_empty() {
                String::new()
            } else {
                format!("[{}] ", marks.join(", "))
            },
            description: plain(&skill.description),
        }
    }
}

fn print(shown: &[&Skill], library: &Library, terminal: &mut Terminal) -> anyhow::Result<()> {
    let rows: Vec<Row> = shown.iter().map(|skill| Row::of(skill, library)).collect();
    if rows.is_empty() {
        return Ok(());
    }
    let total = terminal.width();
    let widest = |text: fn(&Row) -> &str, most: usize| {
        let widths = rows.iter().map(|row| width(text(row)));
        widths.filter(|width| *width <= most).max().unwrap_or(0)
    };
    let name = widest(|row| &row.name, MAX_NAME).max("NAME".len());
    let source = widest(|row| &row.source, MAX_SOURCE).max("SOURCE".len());
    let is_table = total.is_none_or(|total| total >= TABLE);
    let has_sources = rows.iter().any(|row| !row.source.is_empty());
    if is_table {
        let head = if has_sources {
            format!("{}  {}", pad("NAME", name), pad("SOURCE", source))
        } else {
            pad("NAME", widest(|row| &row.name, usize::MAX))
        };
        let head = format!("{head}  DESCRIPTION");
        terminal.line(&terminal.paint(Paint::Dim, &head))?;
    }
    for row in &rows {
        let marks = terminal.paint(Paint::Yellow, &row.marks);
        let bold = terminal.paint(Paint::Bold, &row.name);
        if !is_table {
            terminal.line(format!("{bold} {marks}").trim_end())?;
            let line = clip(&row.description, total.map(|total| total.saturating_sub(2)));
            terminal.line(&format!("  {line}"))?;
            continue;
        }
        let name_and_source = if row.source.is_empty() {
            row.name.clone()
        } else {
            format!("{}  {}", pad(&row.name, name), row.source)
        };
        let before = format!("{}  ", pad(&name_and_source, name + 2 + source));
        let used = width(&before) + width(&row.marks);
        let line = clip(
            &row.description,
            total.map(|total| total.saturating_sub(used)),
        );
        let after_name = before.strip_prefix(row.name.as_str()).unwrap_or_default();
        let after_name = terminal.paint(Paint::Dim, after_name);
        terminal.line(&format!("{bold}{after_name}{marks}{line}"))?;
    }
    Ok(())
}

/// The last line: how many there are, and how many of them are unusual.
fn summary(shown: &[&Skill], library: &Library, is_filtered: bool) -> String {
    let all = library.skills().len();
    if all == 0 {
        return "no skills found: create .agents/skills, or pass --skills-dir DIR".to_owned();
    }
    if is_filtered {
        return format!("{} of {}", shown.len(), count(all, "skill"));
    }
    let number = |is: &dyn Fn(&Skill) -> bool| shown.iter().filter(|skill| is(skill)).count();
    let marks = [
        (number(&|skill| !skill.enabled), "disabled"),
        (
            number(&|skill| library.shadowed_by(skill).is_some()),
            "shadowed",
        ),
        (number(&|skill| skill.findings.errors > 0), "with errors"),
    ];
    let marks = marks.iter().filter(|(number, _)| *number > 0);
    let marks = marks.map(|(number, what)| format!(", {number} {what}"));
    let sources = count(library.sources().len(), "source");
    let marks: String = marks.collect();
    format!("{} from {sources}{marks}", count(all, "skill"))
}
