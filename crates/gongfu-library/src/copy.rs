//! Copies: a skill that occurs twice inside of one enclosing skill is listed once.

use std::collections::HashMap;

use gongfu_core::skill::digest::Hasher;
use gongfu_core::skill::{Digest, FileEntry, SKILL_FILE, SKILL_FILE_LOWER, SkillPath};

/// A skill to compare: its folder below the root, and its files.
pub(crate) type Candidate<'a> = (&'a SkillPath, &'a [FileEntry]);

/// Decides which skills to keep; they are sorted by path.
///
/// A copy has the same files with the same contents, those of skills inside of it left out.
pub(crate) fn keep(skills: &[Candidate<'_>]) -> Vec<bool> {
    let mut alike: HashMap<(SkillPath, Digest), Vec<usize>> = HashMap::new();
    // A skill beside all others has no copy: that is most of a large library.
    let is_root = skills.first().is_some_and(|(path, _)| path.is_root());
    let mut last = ("", false);
    let inner: Vec<&SkillPath> = skills
        .iter()
        .map(|(path, _)| *path)
        .filter(|path| !is_root && path.as_str().contains('/'))
        .filter(|path| {
            // Sorted by path, neighbours lie in the same folder.
            let folder = path.as_str().rsplit_once('/').map(|(folder, _)| folder);
            let folder = folder.unwrap_or_default();
            if last.0 != folder {
                last = (folder, holds(folder, skills));
            }
            last.1
        })
        .collect();
    if inner.is_empty() && !is_root {
        return vec![true; skills.len()];
    }
    for (at, (path, files)) in skills.iter().enumerate() {
        if let Some(document) = document(files) {
            let key = (outermost(path, skills), document);
            alike.entry(key).or_default().push(at);
        }
    }
    let mut keep = vec![true; skills.len()];
    for group in alike.into_values().filter(|group| group.len() > 1) {
        let mut seen: Vec<Digest> = Vec::new();
        for at in group {
            let Some(candidate) = skills.get(at) else {
                continue;
            };
            let own = fingerprint(candidate, skills);
            if seen.contains(&own)
                && let Some(kept) = keep.get_mut(at)
            {
                *kept = false;
            }
            seen.push(own);
        }
    }
    keep
}

fn document(files: &[FileEntry]) -> Option<Digest> {
    let named = |name: &str| files.iter().find(|file| file.path.as_str() == name);
    let file = named(SKILL_FILE).or_else(|| named(SKILL_FILE_LOWER));
    file.and_then(|file| file.digest)
}

/// Returns whether a folder, or one above it, is a skill.
fn holds(folder: &str, skills: &[Candidate<'_>]) -> bool {
    let ends = folder.match_indices('/').map(|(at, _)| at);
    let mut above = ends
        .chain([folder.len()])
        .filter_map(|end| folder.get(..end));
    above.any(|path| {
        let found = skills.binary_search_by(|(known, _)| known.as_str().cmp(path));
        found.is_ok()
    })
}

/// The outermost skill that a path lies in, or the path itself.
fn outermost(path: &SkillPath, skills: &[Candidate<'_>]) -> SkillPath {
    let mut top = path.clone();
    let mut here = path.clone();
    while !here.is_root() {
        here = here.parent();
        if skills
            .binary_search_by(|(known, _)| (*known).cmp(&here))
            .is_ok()
        {
            top = here.clone();
        }
    }
    top
}

/// The digest of all files of a skill, those of skills inside of it left out.
fn fingerprint((path, files): &Candidate<'_>, skills: &[Candidate<'_>]) -> Digest {
    let inner = skills
        .iter()
        .filter(|(other, _)| other != path && other.is_within(path));
    let prefix = if path.is_root() {
        0
    } else {
        path.as_str().len() + 1
    };
    let inner: Vec<&str> = inner
        .filter_map(|(other, _)| other.as_str().get(prefix..))
        .collect();
    let is_inner = |file: &str| {
        let below = |folder: &&str| {
            file.strip_prefix(*folder)
                .is_some_and(|rest| rest.starts_with('/'))
        };
        inner.iter().any(below)
    };
    let mut hasher = Hasher::default();
    for file in files.iter().filter(|file| !is_inner(file.path.as_str())) {
        hasher.update(file.path.as_str().as_bytes());
        hasher.update(&[0]);
        // A file without a digest equals no other.
        let digest = file
            .digest
            .unwrap_or_else(|| Digest::of(path.as_str().as_bytes()));
        hasher.update(&digest.to_bytes());
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use gongfu_core::skill::{Digest, FileEntry, FileKind, SkillPath};

    fn files(list: &[(&str, &str)]) -> Vec<FileEntry> {
        let file = |(path, content): &(&str, &str)| FileEntry {
            path: SkillPath::new(path).unwrap(),
            size: content.len() as u64,
            digest: Some(Digest::of(content.as_bytes())),
            kind: FileKind::Text,
        };
        list.iter().map(file).collect()
    }

    fn keep(skills: &[(&str, Vec<FileEntry>)]) -> Vec<bool> {
        let paths: Vec<SkillPath> = skills
            .iter()
            .map(|(path, _)| SkillPath::new(path).unwrap())
            .collect();
        let pairs = paths.iter().zip(skills);
        let candidates: Vec<_> = pairs
            .map(|(path, (_, files))| (path, files.as_slice()))
            .collect();
        super::keep(&candidates)
    }

    #[test]
    fn only_a_skill_with_the_same_files_is_a_copy() {
        let same = || files(&[("SKILL.md", "x"), ("run.sh", "1")]);
        let other = files(&[("SKILL.md", "x"), ("run.sh", "2")]);
        let outer = files(&[
            ("SKILL.md", "x"),
            ("c/SKILL.md", "x"),
            ("c/run.sh", "1"),
            ("run.sh", "1"),
        ]);
        assert_eq!(
            keep(&[("a", outer), ("a/c", same())]),
            [true, false],
            "an inner copy of the outer one"
        );
        let top = || files(&[("SKILL.md", "top")]);
        assert_eq!(
            keep(&[("t", top()), ("t/a", same()), ("t/b", same())]),
            [true, true, false]
        );
        assert_eq!(
            keep(&[("t", top()), ("t/a", same()), ("t/b", other)]),
            [true, true, true]
        );
        assert_eq!(
            keep(&[("a", same()), ("b", same())]),
            [true, true],
            "no enclosing skill"
        );
    }
}
