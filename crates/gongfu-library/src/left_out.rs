//! Finds of a walk that look like skills and aren't loaded: packed, misspelled, in code only, behind a link.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use gongfu_core::library::Unloadable;
use gongfu_core::skill::{Diagnostic, Finding, SKILL_FILE, SkillPath};
use gongfu_files::disk::{self, EntryKind, Root};

use crate::walk::{Walk, WalkFolder};

/// The most archives of a folder that are reported.
const MAX_PACKED: usize = 20;
/// The end of an archive that is searched for a SKILL.md, in bytes: the directory of a small one.
const ARCHIVE_TAIL: u64 = 256 * 1024;

/// Findings about folders that are no skills: limits that were reached, unreadable folders, skills in
/// code only, packed skills, misspelled files and, with `places`, links that lead out to skills that are in none of
/// these; each with the folder that it lies in.
pub(crate) fn left_out(
    root: &Root,
    walk: &Walk,
    places: Option<&[PathBuf]>,
) -> Vec<(SkillPath, Unloadable)> {
    let about = |path: &SkillPath, diagnostics: Vec<Diagnostic>| {
        let path = if path.is_root() {
            root.path().to_owned()
        } else {
            root.path().join(path.as_str())
        };
        Unloadable {
            path: path.to_string_lossy().into_owned(),
            diagnostics,
        }
    };
    let mut unloadable = Vec::new();
    if !walk.left_out.is_empty() {
        let all = about(&SkillPath::root(), walk.left_out.clone());
        unloadable.push((SkillPath::root(), all));
    }
    for folder in walk.folders.iter().filter(|folder| !folder.in_skill) {
        let finding = match &folder.unreadable {
            Some(reason) => Some(Finding::FolderUnreadable {
                reason: reason.clone(),
            }),
            None if folder.level > 1 => None,
            None => code_marker(root, folder).map(|marker| Finding::SkillFileIsCode { marker }),
        };
        if let Some(finding) = finding {
            let diagnostics = vec![Diagnostic::about_folder(finding)];
            unloadable.push((folder.path.clone(), about(&folder.path, diagnostics)));
        }
        if let Some(name) = misspelled(folder) {
            let finding = Finding::SkillFileSpelling { name: name.clone() };
            let spelling = Diagnostic::about_file(finding, name).with_rename(SKILL_FILE);
            let missing = Diagnostic::about_folder(Finding::SkillFileMissing);
            let found = about(&folder.path, vec![spelling, missing]);
            unloadable.push((folder.path.clone(), found));
        }
        for packed in packed_skills(root, folder) {
            let found = about(
                &packed,
                vec![Diagnostic::about_folder(Finding::SkillPacked)],
            );
            unloadable.push((folder.path.clone(), found));
        }
    }
    if let Some(places) = places {
        for link in links_to_skills(root, walk, places) {
            let finding = Finding::SkillLinkOutside;
            let found = about(&link, vec![Diagnostic::about_folder(finding)]);
            unloadable.push((link.parent(), found));
        }
    }
    unloadable
}

/// A SKILL.md in another case than readers look for.
fn misspelled(folder: &WalkFolder) -> Option<String> {
    let mut files = folder.entries.iter();
    let file = files
        .find(|entry| entry.kind == EntryKind::File && entry.name.eq_ignore_ascii_case(SKILL_FILE));
    file.map(|file| file.name.clone())
}

/// The archives of skills that lie in a folder. Any file may be called `.zip`, so it must hold a SKILL.md.
fn packed_skills(root: &Root, folder: &WalkFolder) -> Vec<SkillPath> {
    if folder.level > 1 {
        return Vec::new();
    }
    let is_packed = |path: &SkillPath| match path.extension().as_str() {
        "skill" => true,
        "zip" => holds_skill_file(root, path),
        _ => false,
    };
    let files = folder.entries.iter();
    let files = files.filter(|entry| entry.kind == EntryKind::File);
    let paths = files.filter_map(|entry| folder.path.join(&entry.name).ok());
    paths.filter(is_packed).take(MAX_PACKED).collect()
}

/// Returns true if the directory at the end of an archive names a SKILL.md.
fn holds_skill_file(root: &Root, archive: &SkillPath) -> bool {
    let tail = || {
        let (mut file, size) = root.open_file(archive)?;
        file.seek(SeekFrom::Start(size.saturating_sub(ARCHIVE_TAIL)))?;
        let mut tail = Vec::new();
        file.take(ARCHIVE_TAIL).read_to_end(&mut tail)?;
        Ok::<_, std::io::Error>(tail)
    };
    tail().is_ok_and(|tail| {
        tail.windows(SKILL_FILE.len())
            .any(|part| part == SKILL_FILE.as_bytes())
    })
}

/// Links that lead out of the root to the folder of a skill in no other place: they are reported, not followed.
fn links_to_skills(root: &Root, walk: &Walk, places: &[PathBuf]) -> Vec<SkillPath> {
    let folders = walk.folders.iter().filter(|folder| !folder.in_skill);
    let links = folders.flat_map(|folder| {
        let links = folder
            .entries
            .iter()
            .filter(|entry| entry.kind == EntryKind::Link);
        links.filter_map(|link| folder.path.join(&link.name).ok())
    });
    let is_skill = |link: &SkillPath| {
        let target = root.outside(link);
        target.is_some_and(|target| {
            disk::kind_outside(&target.join(SKILL_FILE)).is_some()
                && !is_in_place(&target, places, root.path())
        })
    };
    links.filter(is_skill).collect()
}

/// The marker of a Python file that defines a skill in code, without a SKILL.md (seed 004).
fn code_marker(root: &Root, folder: &WalkFolder) -> Option<&'static str> {
    const MARKERS: [&str; 2] = ["SKILL_MANIFEST", "register_skill"];
    let python = folder.entries.iter().filter(|entry| {
        entry.kind == EntryKind::File
            && Path::new(&entry.name)
                .extension()
                .is_some_and(|ending| ending == "py")
    });
    python.take(5).find_map(|entry| {
        let path = folder.path.join(&entry.name).ok()?;
        let content = root.read(&path, 64 * 1024).ok()?;
        let text = String::from_utf8_lossy(&content.bytes).into_owned();
        MARKERS.into_iter().find(|marker| text.contains(marker))
    })
}

/// Returns whether a real folder lies in one of these places, or where the installers of skills keep those that they
/// link into the folder of one client: `.agents/skills` beside `.claude/skills`.
fn is_in_place(target: &Path, places: &[PathBuf], root: &Path) -> bool {
    let beside = root.parent().and_then(Path::parent);
    let beside = beside.map(|base| base.join(".agents/skills"));
    let mut folders = places.iter().chain(&beside);
    folders.any(|place| target.starts_with(disk::real_outside(place)))
}
