//! Reads one skill from disk: its files, their digests, its document, and all findings.

use std::cmp::Ordering;

use gongfu_core::skill::check::{self, hidden, script};
use gongfu_core::skill::digest::Hasher;
use gongfu_core::skill::document::MAX_SKILL_FILE;
use gongfu_core::skill::{
    self, Diagnostic, Digest, Document, FileEntry, FileKind, Finding, Folder, Position, SKILL_FILE,
    SKILL_FILE_LOWER, SkillPath, strict,
};

use crate::walk::Walk;
use gongfu_files::disk::{self, EntryKind, Root, Stamp};

/// The largest file that gets a digest while indexing, in bytes: what every host accepts at most.
const MAX_DIGESTED: u64 = 16 * 1024 * 1024;

/// The files of a skill before any of them is opened.
#[derive(Debug, Default)]
pub(crate) struct Inventory {
    /// Regular files and links to regular files inside the skill, sorted by path.
    pub files: Vec<(SkillPath, Stamp)>,
    /// Entries that can't be served.
    pub odd: Vec<Diagnostic>,
    /// Folders of skills inside of this one: their scripts are checked there.
    nested: Vec<SkillPath>,
}

/// A skill that was read.
#[derive(Debug)]
pub(crate) struct Reading {
    /// Its files with their digests.
    pub folder: Folder,
    /// Its document; `None` when it can't be loaded.
    pub document: Option<Document>,
    /// The findings.
    pub diagnostics: Vec<Diagnostic>,
    /// The refusals of the reference validator, if they were asked for.
    pub refusals: Option<Vec<strict::Refusal>>,
}

/// Returns whether a skill certainly has exactly these files with these stamps. Makes no list, because most
/// skills are unchanged.
pub(crate) fn is_unchanged(walk: &Walk, at: usize, files: &[FileEntry], stamps: &[Stamp]) -> bool {
    let Some(top) = walk.folders.get(at) else {
        return false;
    };
    let prefix = match top.path.as_str().len() {
        0 => 0,
        length => length + 1,
    };
    let mut count = 0;
    let mut open = vec![at];
    while let Some(folder) = open.pop().and_then(|at| walk.folders.get(at)) {
        open.extend(&folder.children);
        let below = folder.path.as_str().get(prefix..).unwrap_or_default();
        if folder.unreadable.is_some() {
            return false;
        }
        for entry in &folder.entries {
            match entry.kind {
                EntryKind::Folder => continue,
                EntryKind::File => {}
                // Links and special files need a closer look.
                _ => return false,
            }
            count += 1;
            let order = |file: &FileEntry| compared(file.path.as_str(), below, &entry.name);
            let same = files
                .binary_search_by(order)
                .is_ok_and(|known| stamps.get(known) == Some(&entry.stamp));
            if !same {
                return false;
            }
        }
    }
    count == files.len() && count == stamps.len()
}

/// Compares a path with that of a name in a folder.
fn compared(path: &str, folder: &str, name: &str) -> Ordering {
    let (mut path, slash) = (path.as_bytes(), if folder.is_empty() { "" } else { "/" });
    // In pieces, because a start compares a hundred thousand paths.
    for piece in [folder, slash] {
        let (start, rest) = path.split_at(piece.len().min(path.len()));
        match start.cmp(piece.as_bytes()) {
            Ordering::Equal => path = rest,
            other => return other,
        }
    }
    path.cmp(name.as_bytes())
}

/// Lists the files of a skill, those of skills inside of it included (SEP-2640).
pub(crate) fn inventory(root: &Root, walk: &Walk, at: usize) -> Inventory {
    let mut inventory = Inventory::default();
    let Some(top) = walk.folders.get(at) else {
        return inventory;
    };
    let prefix = if top.path.is_root() {
        0
    } else {
        top.path.as_str().len() + 1
    };
    let mut links: Vec<SkillPath> = Vec::new();
    let mut open = vec![at];
    while let Some(folder) = open.pop().and_then(|at| walk.folders.get(at)) {
        open.extend(&folder.children);
        let below = folder.path.as_str().get(prefix..).unwrap_or_default();
        if !below.is_empty() && folder.skill_file().is_some() {
            inventory.nested.extend(SkillPath::new(below));
        }
        if let Some(reason) = &folder.unreadable {
            inventory.odd.push(Diagnostic::about_file(
                Finding::FileUnreadable {
                    reason: reason.clone(),
                },
                below,
            ));
        }
        for entry in &folder.entries {
            let joined = if below.is_empty() {
                entry.name.clone()
            } else {
                format!("{below}/{}", entry.name)
            };
            match (entry.kind, SkillPath::new(&joined)) {
                (EntryKind::File, Ok(path)) => inventory.files.push((path, entry.stamp)),
                (EntryKind::Link, Ok(path)) => links.push(path),
                (EntryKind::Folder, _) => {}
                (EntryKind::Special(kind), _) => inventory.odd.push(Diagnostic::about_file(
                    Finding::FileSpecial { kind },
                    joined,
                )),
                (EntryKind::Unnameable, _) | (_, Err(_)) => {
                    let name = format!("{:?}", entry.name);
                    let finding = Finding::FileNameUnusable { name };
                    inventory.odd.push(Diagnostic::about_folder(finding));
                }
            }
        }
    }
    if !links.is_empty()
        && let Ok(skill) = root.below(&top.path)
    {
        for link in links {
            follow(&skill, link, &mut inventory);
        }
    }
    inventory
        .files
        .sort_by(|(left, _), (right, _)| left.cmp(right));
    inventory
}

fn follow(skill: &Root, link: SkillPath, inventory: &mut Inventory) {
    let finding = match skill.stat(&link) {
        Ok((EntryKind::File, stamp)) => return inventory.files.push((link, stamp)),
        // The files of a linked folder are listed in the folder itself.
        Ok((EntryKind::Folder, _)) => return,
        Ok((kind, _)) => Finding::FileSpecial {
            kind: disk::described(kind),
        },
        Err(error) if disk::is_escape(&error) => Finding::LinkOutside,
        Err(error) if disk::is_loop(&error) => Finding::LinkLoop,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Finding::LinkDangling,
        Err(error) => Finding::FileUnreadable {
            reason: disk::reason(&error),
        },
    };
    inventory
        .odd
        .push(Diagnostic::about_file(finding, link.as_str()));
}

/// Reads a whole skill; with `strict` the verdict of the reference validator as well.
pub(crate) fn read(
    root: &Root,
    walk: &Walk,
    at: usize,
    inventory: Inventory,
    strict: bool,
) -> Reading {
    let mut reading = Reading {
        folder: Folder::default(),
        document: None,
        diagnostics: Vec::new(),
        refusals: None,
    };
    let Some(top) = walk.folders.get(at) else {
        return reading;
    };
    reading.folder.name = if top.path.is_root() {
        root.name()
    } else {
        top.path.file_name().to_owned()
    };
    let upper = top
        .skill_file()
        .is_none_or(|entry| entry.name == SKILL_FILE);
    let skill_file = if upper { SKILL_FILE } else { SKILL_FILE_LOWER };
    let skill = match root.below(&top.path) {
        Ok(skill) => skill,
        Err(error) => {
            let diagnostic = unreadable(skill_file, disk::reason(&error));
            reading.diagnostics.push(diagnostic);
            return reading;
        }
    };
    let opened = open_files(&skill, skill_file, &inventory, &mut reading);
    match &opened.document {
        Some(bytes) => {
            let folder = &reading.folder.name;
            reading.document = skill::load(bytes, folder, &mut reading.diagnostics);
            reading.refusals = strict.then(|| strict::validate(bytes, folder));
        }
        None => reading.diagnostics.push(why_unreadable(&skill, skill_file)),
    }
    if !upper {
        report_spelling(&mut reading.diagnostics);
    }
    if let Some(document) = &reading.document {
        check::folder(&reading.folder, document, &mut reading.diagnostics);
        for (path, bytes) in &opened.scripts {
            script::check(path, bytes, &reading.folder, &mut reading.diagnostics);
        }
    }
    // A file that can't be served isn't missing as well.
    let is_odd = |target: &str| {
        let mut odd = inventory.odd.iter();
        odd.any(|found| found.file.as_deref() == Some(target))
    };
    reading.diagnostics.retain(
        |found| !matches!(&found.finding, Finding::ReferenceDangling { target } if is_odd(target)),
    );
    // The SKILL.md itself was reported above, in other words.
    let odd = inventory.odd.into_iter();
    let others = odd.filter(|found| found.file.as_deref() != Some(skill_file));
    reading.diagnostics.extend(others);
    reading
}

/// The contents that are checked.
#[derive(Default)]
struct Contents {
    document: Option<Vec<u8>>,
    scripts: Vec<(SkillPath, Vec<u8>)>,
}

fn open_files(
    skill: &Root,
    skill_file: &str,
    inventory: &Inventory,
    reading: &mut Reading,
) -> Contents {
    let mut opened = Contents::default();
    for (path, stamp) in &inventory.files {
        let path = path.clone();
        let nested = inventory.nested.iter().any(|skill| path.is_within(skill));
        let is_document = path.as_str() == skill_file;
        match contents(skill, &path, stamp.size) {
            Ok((digest, kind, bytes)) => {
                let size = stamp.size.max(bytes.len() as u64);
                if !is_document && !nested && kind == FileKind::Text {
                    reading.diagnostics.extend(hidden_text(&path, &bytes));
                }
                if is_document && digest.is_some() {
                    opened.document = Some(bytes);
                } else if !nested && script::is_script(&path) && bytes.len() <= script::MAX_SCRIPT {
                    opened.scripts.push((path.clone(), bytes));
                }
                reading.folder.files.push(FileEntry {
                    path,
                    size,
                    digest,
                    kind,
                });
            }
            Err(error) => {
                let reason = disk::reason(&error);
                if !is_document {
                    let finding = Finding::FileUnreadable { reason };
                    let found = Diagnostic::about_file(finding, path.as_str());
                    reading.diagnostics.push(found);
                }
                let (size, kind) = (stamp.size, FileKind::Binary);
                reading.folder.files.push(FileEntry {
                    path,
                    size,
                    digest: None,
                    kind,
                });
            }
        }
    }
    opened
}

/// Finds hidden characters in Markdown files: a model reads references like the SKILL.md.
fn hidden_text(path: &SkillPath, bytes: &[u8]) -> Option<Diagnostic> {
    let text = std::str::from_utf8(bytes).ok();
    let text = text.filter(|_| path.extension() == "md")?;
    let found = hidden::find(text)?;
    let before = text.get(..found.offset).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    let position = Position {
        line: before.matches('\n').count() + 1,
        column: line.chars().count() + 1,
    };
    let finding = Finding::HiddenCharacters {
        count: found.count,
        first: found.first,
    };
    Some(Diagnostic {
        position: Some(position),
        ..Diagnostic::about_file(finding, path.as_str())
    })
}

/// Names the file `skill.md` in findings about the SKILL.md, and adds one about its spelling.
fn report_spelling(diagnostics: &mut Vec<Diagnostic>) {
    for found in diagnostics.iter_mut() {
        if found.file.as_deref() == Some(SKILL_FILE) {
            found.file = Some(SKILL_FILE_LOWER.to_owned());
        }
    }
    let finding = Finding::SkillFileSpelling {
        name: SKILL_FILE_LOWER.to_owned(),
    };
    let found = Diagnostic::about_file(finding, SKILL_FILE_LOWER);
    diagnostics.push(found.with_rename(SKILL_FILE));
}

type FileBytes = (Option<Digest>, FileKind, Vec<u8>);

/// A file's digest, kind and bytes; of a file that is too large only the kind, by its start.
fn contents(skill: &Root, path: &SkillPath, size: u64) -> std::io::Result<FileBytes> {
    if size > MAX_DIGESTED {
        let start = skill.read(path, 64 * 1024)?;
        let text = !start.bytes.contains(&0)
            && std::str::from_utf8(&start.bytes)
                .map_or_else(|error| error.error_len().is_none(), |_| true);
        return Ok((
            None,
            if text {
                FileKind::Text
            } else {
                FileKind::Binary
            },
            Vec::new(),
        ));
    }
    let content = skill.read(path, MAX_DIGESTED)?;
    let kind = FileKind::of(&content.bytes);
    let mut hasher = Hasher::default();
    hasher.update(&content.bytes);
    Ok((
        (!content.is_cut()).then(|| hasher.finish()),
        kind,
        content.bytes,
    ))
}

fn why_unreadable(skill: &Root, file: &str) -> Diagnostic {
    let Ok(path) = SkillPath::new(file) else {
        return unreadable(file, String::new());
    };
    match skill.open_file(&path) {
        Ok((_, size)) => Diagnostic::about_file(
            Finding::SkillFileTooLarge {
                bytes: size,
                limit: MAX_SKILL_FILE,
            },
            file,
        ),
        Err(error) => unreadable(file, disk::reason(&error)),
    }
}

fn unreadable(file: &str, reason: String) -> Diagnostic {
    Diagnostic::about_file(Finding::SkillFileUnreadable { reason }, file)
}
