//! Judging the skills below a path: what `gongfu skill check` finds.
//!
//! Reads everything fresh from disk, never from the index.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use gongfu_core::skill::document::is_valid;
use gongfu_core::skill::source_text::SourceText;
use gongfu_core::skill::strict::Refusal;
use gongfu_core::skill::{Diagnostic, Digest, Finding, Position, SKILL_FILE, SkillPath};
use rayon::prelude::*;

use crate::disk::{self, EntryKind, Root};
use crate::reading::{self, Reading};
use crate::walk::{self, NAMED, Walk};

/// The verdict on one skill.
#[derive(Debug)]
pub struct Checked {
    /// Its folder, absolute.
    pub path: PathBuf,
    /// What it goes by.
    pub name: String,
    /// Whether it can be loaded.
    pub loadable: bool,
    /// Whether it is valid: without errors, or, when strict, by the reference's verdict.
    pub valid: bool,
    /// Everything that is wrong.
    pub diagnostics: Vec<Diagnostic>,
}

/// Checks a skill's folder, a folder of skills, or a SKILL.md; never fails, an impossible path is
/// one entry that says why.
pub fn check(path: &Path, strict: bool) -> Vec<Checked> {
    let root = match open(path) {
        Ok(root) => root,
        Err(checked) => return vec![*checked],
    };
    let walk = walk::walk(&root, NAMED);
    let mut readings: Vec<(usize, Reading)> = walk
        .skills
        .par_iter()
        .map(|&at| {
            (
                at,
                reading::read(
                    &root,
                    &walk,
                    at,
                    reading::inventory(&root, &walk, at),
                    strict,
                ),
            )
        })
        .collect();
    drop_copies(&walk, &mut readings);
    let mut checked: Vec<Checked> = readings
        .into_iter()
        .map(|(at, reading)| judge(&root, &walk, at, reading, strict))
        .collect();
    report_taken(&mut checked);
    checked.extend(
        walk::links_to_skills(&root, &walk)
            .iter()
            .map(|link| linked(&root, link)),
    );
    if checked.is_empty() || !walk.left_out.is_empty() {
        checked.insert(0, without_skill(&root, &walk));
    }
    checked
}

fn open(path: &Path) -> Result<Root, Box<Checked>> {
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
            _ => Finding::SkillFileUnreadable {
                reason: disk::reason(&error),
            },
        };
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        Box::new(Checked {
            name: absolute
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default(),
            path: absolute,
            loadable: false,
            valid: false,
            diagnostics: vec![Diagnostic::about_folder(finding)],
        })
    })
}

/// The entry for a link that leads out to a skill: it is not followed.
fn linked(root: &Root, link: &SkillPath) -> Checked {
    Checked {
        path: root.path().join(link.as_str()),
        name: link.file_name().to_owned(),
        loadable: false,
        valid: false,
        diagnostics: vec![Diagnostic::about_folder(Finding::SkillFileUnreadable {
            reason: "its folder is a link that leads out of the one that was named".to_owned(),
        })],
    }
}

/// The entry for the path itself: there is no skill, or something below it was left out.
fn without_skill(root: &Root, walk: &Walk) -> Checked {
    let mut diagnostics = walk.left_out.clone();
    if walk.skills.is_empty() {
        let top = walk.folders.first();
        let finding = match top.and_then(|top| walk::code_marker(root, top)) {
            Some(marker) => Finding::SkillFileIsCode { marker },
            None => match top.and_then(|top| top.unreadable.clone()) {
                Some(reason) => Finding::SkillFileUnreadable { reason },
                None => Finding::SkillFileMissing,
            },
        };
        diagnostics.push(Diagnostic::about_folder(finding));
    }
    Checked {
        path: root.path().to_owned(),
        name: root.name(),
        loadable: false,
        valid: is_valid(&diagnostics),
        diagnostics,
    }
}

fn drop_copies(walk: &Walk, readings: &mut Vec<(usize, Reading)>) {
    let keys: Vec<(&SkillPath, Option<Digest>)> = readings
        .iter()
        .filter_map(|(at, reading)| {
            let digest = reading
                .folder
                .files
                .iter()
                .find(|file| file.path.as_str() == SKILL_FILE)
                .and_then(|file| file.digest);
            walk.folders.get(*at).map(|folder| (&folder.path, digest))
        })
        .collect();
    let mut keep = reading::without_copies(&keys).into_iter();
    readings.retain(|_| keep.next().unwrap_or(true));
}

fn judge(root: &Root, walk: &Walk, at: usize, reading: Reading, strict: bool) -> Checked {
    let below = walk
        .folders
        .get(at)
        .map_or("", |folder| folder.path.as_str());
    let mut diagnostics = reading.diagnostics;
    let loadable = reading.document.is_some();
    // Without its bytes there is no verdict of the reference to repeat: that is invalid.
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
    Checked {
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

fn report_taken(checked: &mut [Checked]) {
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
