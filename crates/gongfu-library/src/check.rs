//! Checks the skills below a path, for `gongfu skill check`.
//!
//! Reads everything from disk, never from the index.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use gongfu_core::library::Unloadable;
use gongfu_core::skill::document::is_valid;
use gongfu_core::skill::source_text::SourceText;
use gongfu_core::skill::strict::Refusal;
use gongfu_core::skill::{Diagnostic, Finding, Position, SKILL_FILE};
use rayon::prelude::*;

use crate::copy::{self, Candidate};
use crate::reading::{self, Reading};
use crate::walk::{self, Limits, Walk, WalkFolder};
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
    /// All findings.
    pub diagnostics: Vec<Diagnostic>,
}

/// Checks a skill's folder, a folder of skills, or a SKILL.md. Never fails: an impossible path is one
/// verdict with the reason.
pub fn check(path: &Path, limits: Limits, strict: bool) -> Vec<Verdict> {
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
    for (_, left) in walk::left_out(&root, &walk, true) {
        add_left_out(&mut checked, left, strict);
    }
    if checked.is_empty() {
        let misspelt = walk.folders.first().and_then(misspelt);
        let findings = misspelt.into_iter().chain([Finding::SkillFileMissing]);
        let diagnostics = findings.map(Diagnostic::about_folder).collect();
        checked.push(without_skill(root.path().to_owned(), diagnostics));
    }
    checked
}

/// A SKILL.md in the wrong case.
fn misspelt(folder: &WalkFolder) -> Option<Finding> {
    let mut names = folder.entries.iter().map(|entry| &entry.name);
    let name = names.find(|name| name.eq_ignore_ascii_case(SKILL_FILE))?;
    Some(Finding::SkillFileSpelling { name: name.clone() })
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
        path,
        name,
        loadable,
        valid,
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
