//! Checks the skills below a path, for `gongfu skill check`.
//!
//! Reads everything from disk, never from the index.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use gongfu_core::library::Unloadable;
use gongfu_core::near;
use gongfu_core::skill::document::is_valid;
use gongfu_core::skill::fix;
use gongfu_core::skill::source_text::SourceText;
use gongfu_core::skill::strict::Refusal;
use gongfu_core::skill::{Diagnostic, Finding, Position, SKILL_FILE};
use rayon::prelude::*;

use crate::copy::{self, Candidate};
use crate::left_out;
use crate::reading::{self, Reading};
use crate::walk::{self, Limits, Walk};
use gongfu_files::disk::{self, EntryKind, Root};

/// The verdict on one skill.
#[derive(Debug)]
pub struct Verdict {
    /// Its folder, absolute.
    pub path: PathBuf,
    /// Its name.
    pub name: String,
    /// True if it can be loaded.
    pub loadable: bool,
    /// True if it is valid: without errors, or, when strict, by the reference's verdict.
    pub valid: bool,
    /// True if a fix must not change its name, though it isn't its folder's: another skill has the folder's name, or the
    /// folder is a clone of a repository, which may be called anything.
    pub keeps_name: bool,
    /// All findings.
    pub diagnostics: Vec<Diagnostic>,
}

/// Checks a skill's folder, a folder of skills, or a SKILL.md; links to skills in one of `places` are ordinary. Never
/// fails: an impossible path is one verdict with the reason.
pub fn check(path: &Path, places: &[PathBuf], limits: Limits, strict: bool) -> Vec<Verdict> {
    let root = match open(path) {
        Ok(root) => root,
        Err(checked) => return vec![*checked],
    };
    let walk = walk::walk(&root, limits);
    let read = |&at: &usize| {
        let inventory = reading::inventory(&root, &walk, at);
        let reading = reading::read(&root, &walk, at, inventory, strict);
        (at, reading)
    };
    let mut readings: Vec<(usize, Reading)> = walk.skills.par_iter().map(read).collect();
    drop_copies(&walk, &mut readings);
    let mut checked: Vec<Verdict> = readings
        .into_iter()
        .map(|(at, reading)| judge(&root, &walk, at, reading, strict))
        .collect();
    for (_, left) in left_out::left_out(&root, &walk, Some(places)) {
        add_left_out(&mut checked, left, strict);
    }
    if checked.is_empty() {
        let diagnostics = vec![Diagnostic::about_folder(Finding::SkillFileMissing)];
        checked.push(without_skill(root.path().to_owned(), diagnostics));
    }
    checked
}

/// The verdict on a folder of skills that a link puts out of a project which nobody trusts.
pub fn outside(path: &Path) -> Verdict {
    let finding = Finding::SkillsLinkOutside;
    without_skill(path.to_owned(), vec![Diagnostic::about_folder(finding)])
}

/// Adds findings to the skill of their path, or as a verdict of their own.
fn add_left_out(checked: &mut Vec<Verdict>, left: Unloadable, strict: bool) {
    let path = PathBuf::from(left.path);
    match checked.iter_mut().find(|skill| skill.path == path) {
        Some(skill) => {
            skill.diagnostics.extend(left.diagnostics);
            if !strict {
                skill.valid = is_valid(&skill.diagnostics);
            }
        }
        None => checked.push(without_skill(path, left.diagnostics)),
    }
}

/// The verdict on a folder where no skill can be loaded.
fn without_skill(path: PathBuf, diagnostics: Vec<Diagnostic>) -> Verdict {
    let name = path.file_name();
    let name = name.map(|name| name.to_string_lossy().into_owned());
    Verdict {
        name: name.unwrap_or_default(),
        path,
        loadable: false,
        valid: is_valid(&diagnostics),
        keeps_name: false,
        diagnostics,
    }
}

fn open(path: &Path) -> Result<Root, Box<Verdict>> {
    let file = path
        .file_name()
        .is_some_and(|name| name.eq_ignore_ascii_case(SKILL_FILE))
        && disk::kind_outside(path) == Some(EntryKind::File);
    let folder = if file {
        path.parent()
            .filter(|parent| !parent.as_os_str().is_empty())
            .unwrap_or(Path::new("."))
    } else {
        path
    };
    Root::open(folder).map_err(|error| {
        let shown = path.display().to_string();
        let finding = match error.kind() {
            std::io::ErrorKind::NotFound => Finding::PathMissing { path: shown },
            std::io::ErrorKind::NotADirectory => Finding::PathNotAFolder { path: shown },
            _ => Finding::FolderUnreadable {
                reason: disk::reason(&error),
            },
        };
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let diagnostics = vec![Diagnostic::about_folder(finding)];
        Box::new(without_skill(absolute, diagnostics))
    })
}

fn drop_copies(walk: &Walk, readings: &mut Vec<(usize, Reading)>) {
    let candidates: Vec<Candidate<'_>> = readings
        .iter()
        .filter_map(|(at, reading)| {
            let folder = walk.folders.get(*at)?;
            Some((&folder.path, reading.folder.files.as_slice()))
        })
        .collect();
    let mut keep = copy::keep(&candidates).into_iter();
    readings.retain(|_| keep.next().unwrap_or(true));
}

fn judge(root: &Root, walk: &Walk, at: usize, reading: Reading, strict: bool) -> Verdict {
    let below = walk
        .folders
        .get(at)
        .map_or("", |folder| folder.path.as_str());
    let mut diagnostics = reading.diagnostics;
    let loadable = reading.document.is_some();
    // Without its bytes the reference has no verdict: that is invalid.
    let valid = if strict {
        reading.refusals.as_ref().is_some_and(Vec::is_empty)
    } else {
        is_valid(&diagnostics)
    };
    let source = reading.document.as_ref().map(|document| &document.source);
    diagnostics.extend(
        reading
            .refusals
            .unwrap_or_default()
            .into_iter()
            .map(|refusal| placed(refusal, source)),
    );
    diagnostics.sort_by_key(|found| (found.severity(), found.file.clone(), found.position));
    let name = reading.document.as_ref().map_or_else(
        || reading.folder.name.clone(),
        |document| document.name.to_string(),
    );
    let path = if below.is_empty() {
        root.path().to_owned()
    } else {
        root.path().join(below)
    };
    Verdict {
        name,
        loadable,
        valid,
        keeps_name: disk::kind_outside(&path.join(".git")).is_some(),
        path,
        diagnostics,
    }
}

fn placed(refusal: Refusal, source: Option<&SourceText>) -> Diagnostic {
    let position = match (refusal.offset, source) {
        (Some(offset), Some(source)) => Some(source.position(offset.saturating_sub(source.lead))),
        (Some(_), None) => Some(Position { line: 1, column: 1 }),
        _ => None,
    };
    Diagnostic {
        position,
        ..Diagnostic::about_file(Finding::Strict(refusal.reason), SKILL_FILE)
    }
}

/// Takes the fixes away that would give a skill the name of another one, or that of a clone of a repository.
pub fn withhold_names(checked: &mut [Verdict]) {
    let writes_name = |found: &Diagnostic| found.fixable() && fix::writes_name(&found.finding);
    let mut count: HashMap<String, usize> = HashMap::new();
    for skill in checked.iter() {
        let names = wanted_name(skill)
            .filter(|_| skill.diagnostics.iter().any(writes_name))
            .into_iter()
            .chain([skill.name.clone()]);
        let names: HashSet<String> = names.map(|name| near::folded(&name)).collect();
        for name in names {
            *count.entry(name).or_default() += 1;
        }
    }
    for skill in checked {
        let wanted = wanted_name(skill).map(|name| near::folded(&name));
        skill.keeps_name |= wanted.is_some_and(|name| count.get(&name) > Some(&1));
        if skill.keeps_name {
            let mut found = skill.diagnostics.iter_mut();
            if let Some(found) = found.find(|found| writes_name(found)) {
                found.fix = None;
            }
        }
    }
}

/// The name of a skill's folder.
fn wanted_name(skill: &Verdict) -> Option<String> {
    let name = skill.path.file_name()?;
    Some(name.to_string_lossy().into_owned())
}

/// Reports skills whose name an earlier one has.
pub fn report_taken(checked: &mut [Verdict]) {
    let mut holders: HashMap<String, String> = HashMap::new();
    for skill in checked.iter_mut().filter(|skill| skill.loadable) {
        let shown = skill.path.display().to_string();
        if let Some(winner) = holders.get(&skill.name) {
            let finding = Finding::NameTaken {
                name: skill.name.clone(),
                winner: winner.clone(),
            };
            skill.diagnostics.push(Diagnostic::about_folder(finding));
        } else {
            holders.insert(skill.name.clone(), shown);
        }
    }
}
