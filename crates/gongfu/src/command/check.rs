//! `gongfu skill check`: what is wrong with skills, and fixing it.

mod named;
mod sarif;

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;

use gongfu_core::skill::{Diagnostic, Finding, Severity};
use gongfu_core::trust::Trusts;
use gongfu_files::disk;
use gongfu_library::check::{self, Verdict};
use gongfu_library::fix::{self, Rename};
use gongfu_library::source::{self, Place, Settings};
use gongfu_library::walk::{Limits, NAMED};
use serde_json::{Value, json};

use super::Outcome;
use crate::cli::{CheckArguments, CheckFormat};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::progress;
use crate::report::Report;
use crate::terminal::{Paint, Terminal, plain};
use crate::wiring::{self, FlagsOf};

/// The most rounds of fixing and checking: a renamed file can be fixed only then.
const MAX_ROUNDS: usize = 3;

pub(crate) fn run(
    arguments: &CheckArguments,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let fix = arguments.fix || arguments.dry_run;
    if fix && arguments.paths.is_empty() {
        let hint = "`gongfu skill check --fix PATH`, with the folder of a skill";
        return Err(Failure::usage("MISSING_ARGUMENT", "--fix needs a path", hint).into());
    }
    let paths = named::paths(arguments, environment)?;
    let places = places(arguments, environment)?;
    let folders: Vec<PathBuf> = places.iter().map(|place| place.path.clone()).collect();
    let roots = roots(&paths, places);
    if roots.is_empty() {
        let hint = "pass one: `gongfu skill check PATH`";
        let message = "there are no skills folders here";
        return Err(Failure::usage("FOLDER_NOT_FOUND", message, hint).into());
    }
    let mut skills = judged(&roots, &folders, arguments);
    let mut fixed = 0;
    for _ in 0..MAX_ROUNDS {
        if !fix {
            break;
        }
        let count: usize = skills
            .iter()
            .map(|skill| fix_skill(skill, arguments, terminal))
            .sum();
        fixed += count;
        if count == 0 || arguments.dry_run {
            break;
        }
        skills = judged(&roots, &folders, arguments);
    }
    match arguments.format() {
        CheckFormat::Json => terminal.json(&as_json(&skills, fix.then_some(fixed)))?,
        CheckFormat::Sarif => {
            terminal.json(&sarif::log(&skills, environment.directory.as_deref()))?;
        }
        CheckFormat::Text => {
            if !arguments.dry_run {
                show(&skills, environment, terminal)?;
            }
            summarise(&skills, arguments, fixed, terminal)?;
        }
    }
    let errors = skills.iter().any(|skill| !skill.valid);
    Ok(Outcome::of(!errors))
}

/// A folder that is checked, and how far it is walked.
struct CheckedRoot {
    path: PathBuf,
    limits: Limits,
    /// True if an empty one deserves a note.
    named: bool,
    /// True if a link puts it out of a project that nobody trusts.
    leads_out: bool,
}

/// Returns the places of the library. Where paths are named, only conventional ones, without asking settings: their
/// skills may be linked.
fn places(arguments: &CheckArguments, environment: &Environment) -> anyhow::Result<Vec<Place>> {
    if arguments.paths.is_empty() {
        // A folder that is missing is a finding here.
        let places = &arguments.common.places;
        let parts = wiring::parts_that_wait(FlagsOf::Person, environment, places, &[])?;
        return Ok(parts.skills.places());
    }
    let settings = Settings {
        chosen: arguments.common.places.skills_dirs.clone(),
        project: environment.directory.clone(),
        user: environment.user.clone(),
        default_dirs: true,
        discover_user: true,
        adopted: Vec::new(),
        ..Settings::default()
    };
    let home = wiring::home(environment);
    Ok(home.map_or_else(
        |_| Vec::new(),
        |home| source::places(&settings, &home, &Trusts::default()),
    ))
}

/// Returns the paths named on the command line, else every place of the library.
fn roots(paths: &[PathBuf], places: Vec<Place>) -> Vec<CheckedRoot> {
    if !paths.is_empty() {
        let named = |path: &PathBuf| CheckedRoot {
            path: path.clone(),
            limits: NAMED,
            named: true,
            leads_out: false,
        };
        return paths.iter().map(named).collect();
    }
    let places = places.into_iter().map(|place| CheckedRoot {
        named: place.is_named,
        leads_out: place.leads_out(),
        limits: place.limits,
        path: place.path,
    });
    let is_there = |root: &CheckedRoot| root.named || disk::kind_outside(&root.path).is_some();
    places.filter(is_there).collect()
}

fn judged(roots: &[CheckedRoot], places: &[PathBuf], arguments: &CheckArguments) -> Vec<Verdict> {
    let mut seen = HashSet::new();
    let mut skills = progress::during("checking skills", || {
        let of_root = |root: &CheckedRoot| {
            if root.leads_out {
                return vec![check::outside(&root.path)];
            }
            let mut skills = check::check(&root.path, places, root.limits, arguments.strict);
            // A place of the library that holds nothing is no fault.
            skills.retain(|skill| root.named || !is_empty(skill));
            skills
        };
        roots.iter().flat_map(of_root).collect::<Vec<_>>()
    });
    skills.retain(|skill| seen.insert(skill.path.clone()));
    check::withhold_names(&mut skills);
    check::report_taken(&mut skills);
    skills
}

fn is_empty(skill: &Verdict) -> bool {
    matches!(skill.diagnostics.as_slice(), [only] if only.finding == Finding::SkillFileMissing)
}

/// Applies the fixes of one skill; answers how many.
fn fix_skill(skill: &Verdict, arguments: &CheckArguments, terminal: &mut Terminal) -> usize {
    let files: BTreeSet<&str> = skill
        .diagnostics
        .iter()
        .filter(|found| found.edits().is_some())
        .filter_map(|found| found.file.as_deref())
        .collect();
    let changes = files
        .into_iter()
        .map(|file| (file, fix_file(skill, file, arguments.dry_run)));
    let mut changes: Vec<_> = changes.collect();
    if let Some(rename) = fix::rename(skill) {
        changes.push((rename.from, rename_file(skill, rename, arguments.dry_run)));
    }
    let mut fixed = 0;
    for (file, change) in changes {
        match change {
            Ok(Some((applied, diff))) => {
                fixed += applied;
                if arguments.dry_run && arguments.format() == CheckFormat::Text {
                    // Nobody reads it when standard output is gone.
                    let _ = terminal.file(diff.as_bytes());
                }
            }
            Ok(None) => {}
            Err(error) => terminal.note(&format!(
                "error: {}/{file} was not changed: {error}",
                plain(&skill.path.to_string_lossy())
            )),
        }
    }
    fixed
}

/// Fixes a file; answers how many findings, and the change as a diff when nothing is to be written.
fn fix_file(skill: &Verdict, file: &str, dry_run: bool) -> anyhow::Result<Option<(usize, String)>> {
    let Some(proposal) = fix::propose(skill, file)? else {
        return Ok(None);
    };
    let applied = proposal.fixed.applied;
    if !dry_run {
        proposal.write()?;
        return Ok(Some((applied, String::new())));
    }
    let before = String::from_utf8_lossy(&proposal.before);
    let after = String::from_utf8_lossy(&proposal.fixed.bytes);
    let name = skill.path.join(file).display().to_string();
    let diff = similar::TextDiff::from_lines(&*before, &*after);
    let diff = diff
        .unified_diff()
        .context_radius(2)
        .header(&name, &name)
        .to_string();
    Ok(Some((applied, diff)))
}

/// Renames a file; the change in the form of git when nothing is to be written.
fn rename_file(
    skill: &Verdict,
    rename: Rename<'_>,
    dry_run: bool,
) -> anyhow::Result<Option<(usize, String)>> {
    if !dry_run {
        rename.write()?;
        return Ok(Some((1, String::new())));
    }
    let shown = |name: &str| skill.path.join(name).display().to_string();
    let (from, to) = (shown(rename.from), shown(rename.to));
    Ok(Some((1, format!("rename from {from}\nrename to {to}\n"))))
}

fn show(
    skills: &[Verdict],
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<()> {
    let here = environment.directory.as_deref();
    for skill in skills {
        let mut report = Report::new(skill, here, terminal.color());
        for found in &skill.diagnostics {
            terminal.bytes(report.render(found).as_bytes())?;
        }
    }
    Ok(())
}

fn summarise(
    skills: &[Verdict],
    arguments: &CheckArguments,
    fixed: usize,
    terminal: &mut Terminal,
) -> anyhow::Result<()> {
    let count = counts(skills);
    let paint = if count.valid == skills.len() {
        Paint::Green
    } else {
        Paint::Red
    };
    let valid = terminal.paint(paint, &format!("{} valid", count.valid));
    let line = format!(
        "{}, {} loadable, {valid}; {}, {}",
        counted(skills.len(), "skill"),
        count.loadable,
        counted(count.errors, "error"),
        counted(count.warnings, "warning")
    );
    let fixable = skills
        .iter()
        .flat_map(|skill| &skill.diagnostics)
        .filter(|found| found.fixable())
        .count();
    let more = match (arguments.fix, arguments.dry_run) {
        (_, true) => format!(
            "; --fix without --dry-run would fix {}",
            counted(fixed, "finding")
        ),
        (true, false) => format!("; {} fixed", counted(fixed, "finding")),
        _ if fixable > 0 => format!("; --fix can fix {fixable}"),
        _ => String::new(),
    };
    terminal.line(&format!("{line}{more}"))?;
    Ok(())
}

fn counted(number: usize, what: &str) -> String {
    if number == 1 {
        format!("1 {what}")
    } else {
        format!("{number} {what}s")
    }
}

#[derive(Default)]
struct Counts {
    loadable: usize,
    valid: usize,
    errors: usize,
    warnings: usize,
}

fn counts(skills: &[Verdict]) -> Counts {
    let mut counts = Counts::default();
    for skill in skills {
        counts.loadable += usize::from(skill.loadable);
        counts.valid += usize::from(skill.valid);
        counts.errors += skill
            .diagnostics
            .iter()
            .filter(|found| found.severity() == Severity::Error)
            .count();
        counts.warnings += skill
            .diagnostics
            .iter()
            .filter(|found| found.severity() == Severity::Warning)
            .count();
    }
    counts
}

fn as_json(skills: &[Verdict], fixed: Option<usize>) -> Value {
    let count = counts(skills);
    let listed: Vec<Value> = skills
        .iter()
        .map(|skill| {
            json!({
                "path": skill.path.to_string_lossy(),
                "name": skill.name,
                "loadable": skill.loadable,
                "valid": skill.valid,
                "diagnostics": diagnostics_json(&skill.diagnostics),
            })
        })
        .collect();
    let mut summary = json!({ "skills": skills.len(), "loadable": count.loadable, "valid": count.valid, "errors": count.errors, "warnings": count.warnings });
    if let (Some(fixed), Value::Object(members)) = (fixed, &mut summary) {
        members.insert("fixed".to_owned(), fixed.into());
    }
    json!({ "skills": listed, "summary": summary })
}

/// Diagnostics as every JSON answer shows them.
pub(crate) fn diagnostics_json(diagnostics: &[Diagnostic]) -> Vec<Value> {
    let one = |found: &Diagnostic| {
        let text = gongfu_core::text::finding(&found.finding);
        json!({
            "code": found.finding.code(),
            "severity": found.severity(),
            "file": found.file,
            "line": found.position.map(|at| at.line),
            "column": found.position.map(|at| at.column),
            "message": text.message,
            "hint": text.hint,
            "fixable": found.fixable(),
        })
    };
    diagnostics.iter().map(one).collect()
}
