//! Walking a root: which folders are skills, and what lies in them.
//!
//! Level by level in sorted order, so that a limit cuts at the same place every time. Folders are
//! opened by their path below the root and closed again: a tree of any size needs few handles.

use std::path::Path;

use gongfu_core::library::Unloadable;
use gongfu_core::skill::{Diagnostic, Finding, SKILL_FILE, SKILL_FILE_LOWER, SkillPath};
use rayon::prelude::*;

use crate::disk::{self, Entry, EntryKind, FolderStamp, Listings, Root};

/// How far a walk goes before it stops and says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Levels of folders, outside of skills.
    pub depth: usize,
    /// Folders, outside of skills.
    pub folders: usize,
    /// Entries of any kind.
    pub entries: usize,
}

/// The limits of a conventional folder, which may be anything at all.
pub const CONVENTIONAL: Limits = Limits {
    depth: 8,
    folders: 2_000,
    entries: 200_000,
};
/// The limits of a folder that somebody named.
pub const NAMED: Limits = Limits {
    depth: 64,
    folders: usize::MAX,
    entries: 200_000,
};
/// How many folders are listed in one go.
const PIECE: usize = 64;
/// How many are listed until all of them are taken over.
const BATCH: usize = 2_048;
/// Levels of folders inside of a skill.
const DEPTH_IN_SKILL: usize = 64;

/// A folder that was walked.
#[derive(Debug)]
pub struct Walked {
    /// Where it is.
    pub path: SkillPath,
    /// What lies in it.
    pub entries: Vec<Entry>,
    /// The folders in it, as places in [`Walk::folders`].
    pub children: Vec<usize>,
    /// Why it couldn't be read.
    pub unreadable: Option<String>,
    /// Levels below the root.
    pub level: usize,
    /// Whether it is a skill or lies in one.
    pub in_skill: bool,
    /// How it is known what lies in it.
    pub source: Source,
}

/// How the entries of a folder came to be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// This stamp of it tells that they are as they were.
    Recalled(FolderStamp),
    /// All of them were listed while the folder had this stamp.
    Listed(FolderStamp),
    /// They were listed, and nothing tells of what.
    Unstamped,
}

impl Walked {
    /// The file that makes it a skill, in the spelling that is there; `SKILL.md` first.
    pub fn skill_file(&self) -> Option<&Entry> {
        let named = |wanted: &str| self.entries.iter().find(|entry| entry.name == wanted);
        named(SKILL_FILE).or_else(|| named(SKILL_FILE_LOWER))
    }
}

/// Everything below a root.
#[derive(Debug, Default)]
pub struct Walk {
    /// Every folder, parents before children.
    pub folders: Vec<Walked>,
    /// The folders that are skills, as places in `folders`, sorted by path.
    pub skills: Vec<usize>,
    /// What was left out, and why.
    pub left_out: Vec<Diagnostic>,
}

/// Whether a folder of that name is never looked into below a root.
pub fn is_ignored(name: &str) -> bool {
    name.starts_with('.') || name == "node_modules" || name == "_versions"
}

/// Walks a root.
pub fn walk(root: &Root, limits: Limits) -> Walk {
    walk_from(root, SkillPath::root(), limits, &Listings::default())
}

/// Walks a root; folders that are as they were in `known` are not listed again.
pub fn walk_knowing(root: &Root, limits: Limits, known: &Listings) -> Walk {
    walk_from(root, SkillPath::root(), limits, known)
}

/// Walks what lies at and below a folder that is in no skill, unless it is one itself.
pub fn walk_from(root: &Root, from: SkillPath, limits: Limits, known: &Listings) -> Walk {
    let mut walk = Walk::default();
    let mut counts = Counts::default();
    let mut level: Vec<Step> = vec![Step {
        level: from
            .as_str()
            .split('/')
            .filter(|part| !part.is_empty())
            .count(),
        path: from,
        parent: None,
        in_skill: false,
    }];
    while !level.is_empty() {
        let room = limits.folders.saturating_sub(counts.folders);
        let outside = level.iter().filter(|step| !step.in_skill).count();
        if outside > room {
            let mut kept = 0;
            let mut first_cut = None;
            level.retain(|step| {
                kept += usize::from(!step.in_skill);
                let keep = step.in_skill || kept <= room;
                if !keep && first_cut.is_none() {
                    first_cut = Some(step.path.to_string());
                }
                keep
            });
            let finding = Finding::FoldersLeftOut {
                limit: limits.folders,
                example: first_cut.unwrap_or_default(),
            };
            walk.left_out.push(Diagnostic::about_folder(finding));
        }
        let mut next = Vec::new();
        walk.folders.reserve(level.len());
        let mut steps = level.into_iter();
        while counts.entries <= limits.entries {
            let some: Vec<Step> = steps.by_ref().take(BATCH).collect();
            if some.is_empty() {
                break;
            }
            let listed: Vec<Listed> = some
                .par_iter()
                // Small pieces: whoever is done with something else helps at once.
                .with_max_len(PIECE)
                .map(|step| list(root, &step.path, known))
                .collect();
            for (step, listed) in some.into_iter().zip(listed) {
                if counts.entries > limits.entries {
                    break;
                }
                next.extend(add(&mut walk, step, listed, limits, &mut counts));
            }
        }
        if counts.entries > limits.entries {
            walk.left_out
                .push(Diagnostic::about_folder(Finding::EntriesLeftOut {
                    limit: limits.entries,
                }));
            break;
        }
        level = next;
    }
    let folders = &walk.folders;
    walk.skills
        .sort_by(|&left, &right| folders[left].path.cmp(&folders[right].path));
    walk
}

/// Looks into one folder that is in no skill, and not below it.
pub fn alone(root: &Root, path: SkillPath) -> Walk {
    let mut walk = Walk::default();
    let listed = list(root, &path, &Listings::default());
    let step = Step {
        level: path
            .as_str()
            .split('/')
            .filter(|part| !part.is_empty())
            .count(),
        path,
        parent: None,
        in_skill: false,
    };
    add(&mut walk, step, listed, NAMED, &mut Counts::default());
    // It is known to be none: what makes it one is told in another way.
    walk.skills.clear();
    walk
}

struct Step {
    path: SkillPath,
    parent: Option<usize>,
    level: usize,
    in_skill: bool,
}

type Listed = std::io::Result<(Vec<Entry>, Source)>;

/// What lies in a folder, recalled where it can be.
fn list(root: &Root, path: &SkillPath, known: &Listings) -> Listed {
    if let Some(listing) = known.get(path)
        && let Some(entries) = root.recall(path, listing)
    {
        return Ok((entries, Source::Recalled(listing.stamp)));
    }
    let (entries, stamp) = root.list_stamped(path)?;
    Ok((entries, stamp.map_or(Source::Unstamped, Source::Listed)))
}

/// What of the limits is taken.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    /// Folders outside of skills.
    pub folders: usize,
    /// Entries of any kind.
    pub entries: usize,
}

/// Adds a listed folder; answers the folders to go into next.
fn add(
    walk: &mut Walk,
    step: Step,
    listed: Listed,
    limits: Limits,
    counts: &mut Counts,
) -> Vec<Step> {
    let (mut entries, mut source, unreadable) = match listed {
        Ok((entries, source)) => (entries, source, None),
        Err(error) => (Vec::new(), Source::Unstamped, Some(disk::reason(&error))),
    };
    counts.entries = counts.entries.saturating_add(entries.len());
    let room = limits
        .entries
        .saturating_sub(counts.entries - entries.len());
    if entries.len() > room {
        entries.truncate(room);
        // A part of a folder is nothing to recall it by.
        source = Source::Unstamped;
    }
    let at = walk.folders.len();
    let mut folder = Walked {
        path: step.path,
        entries,
        children: Vec::new(),
        unreadable,
        level: step.level,
        in_skill: step.in_skill,
        source,
    };
    let is_skill = folder.skill_file().is_some();
    counts.folders += usize::from(!step.in_skill);
    folder.in_skill |= is_skill;
    let deepest = if folder.in_skill {
        limits.depth.max(DEPTH_IN_SKILL)
    } else {
        limits.depth
    };
    let names = folder
        .entries
        .iter()
        .filter(|entry| entry.kind == EntryKind::Folder && !is_ignored(&entry.name))
        .map(|entry| entry.name.as_str());
    let mut next = Vec::new();
    for name in names {
        match folder.path.join(name) {
            Ok(path) if folder.level < deepest => next.push(Step {
                path,
                parent: Some(at),
                level: folder.level + 1,
                in_skill: folder.in_skill,
            }),
            _ => {
                let example = clipped(&format!("{}/{name}", folder.path));
                let finding = Finding::DepthLeftOut {
                    limit: deepest,
                    example,
                };
                walk.left_out.push(Diagnostic::about_folder(finding));
                break;
            }
        }
    }
    if is_skill {
        walk.skills.push(at);
    }
    if let Some(parent) = step.parent.and_then(|parent| walk.folders.get_mut(parent)) {
        parent.children.push(at);
    }
    walk.folders.push(folder);
    next
}

fn clipped(path: &str) -> String {
    if path.chars().count() <= 120 {
        path.to_owned()
    } else {
        format!(
            "…{}",
            path.chars()
                .rev()
                .take(120)
                .collect::<Vec<_>>()
                .into_iter()
                .rev()
                .collect::<String>()
        )
    }
}

/// Everything below a root that is no skill and worth a word: what was left out, folders that can't
/// be read, skills in code only and, with `links`, links that lead out to skills; each with the
/// folder that it lies in.
pub fn left_out(root: &Root, walk: &Walk, links: bool) -> Vec<(SkillPath, Unloadable)> {
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
    }
    if links {
        for link in links_to_skills(root, walk) {
            let finding = Finding::SkillLinkOutside;
            let found = about(&link, vec![Diagnostic::about_folder(finding)]);
            unloadable.push((link.parent(), found));
        }
    }
    unloadable
}

/// Links that lead out of the root to the folder of a skill: they are not followed, but told.
fn links_to_skills(root: &Root, walk: &Walk) -> Vec<SkillPath> {
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
        target.is_some_and(|target| disk::kind_outside(&target.join(SKILL_FILE)).is_some())
    };
    links.filter(is_skill).collect()
}

/// A Python file that defines a skill in code, where no SKILL.md does (seed 004).
fn code_marker(root: &Root, folder: &Walked) -> Option<&'static str> {
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

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "tests make the folders that they look at"
)]
mod tests {
    use super::{Limits, NAMED, Walk, walk};
    use crate::disk::Root;

    fn tree(paths: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for path in paths {
            let file = folder.path().join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "x").unwrap();
        }
        folder
    }

    fn skills(walk: &Walk) -> Vec<&str> {
        walk.skills
            .iter()
            .map(|&at| walk.folders[at].path.as_str())
            .collect()
    }

    #[test]
    fn skills_are_found_at_any_level_and_inside_of_each_other() {
        let folder = tree(&[
            "a/SKILL.md",
            "a/nested/deep/SKILL.md",
            "b/c/skill.md",
            "no/README.md",
            ".hidden/x/SKILL.md",
            "a/node_modules/p/SKILL.md",
            "_versions/1/SKILL.md",
        ]);
        let found = walk(&Root::open(folder.path()).unwrap(), NAMED);
        assert_eq!(skills(&found), ["a", "a/nested/deep", "b/c"]);
        assert!(found.left_out.is_empty());
    }

    #[test]
    fn a_limit_never_stops_silently() {
        let folder = tree(&["a/SKILL.md", "b/SKILL.md", "c/SKILL.md", "d/e/f/SKILL.md"]);
        let root = Root::open(folder.path()).unwrap();
        for (limits, code) in [
            (
                Limits {
                    folders: 3,
                    ..NAMED
                },
                "folders-left-out",
            ),
            (
                Limits {
                    entries: 4,
                    ..NAMED
                },
                "entries-left-out",
            ),
            (Limits { depth: 1, ..NAMED }, "depth-left-out"),
        ] {
            let found = walk(&root, limits);
            assert!(
                found
                    .left_out
                    .iter()
                    .any(|left| left.finding.code() == code),
                "{code}: {:?}",
                found.left_out
            );
            assert!(skills(&found).len() < 4, "{code}");
        }
    }

    #[test]
    fn a_circle_of_links_is_not_walked() {
        let folder = tree(&["a/SKILL.md"]);
        std::os::unix::fs::symlink("..", folder.path().join("a/up")).unwrap();
        assert_eq!(
            skills(&walk(&Root::open(folder.path()).unwrap(), NAMED)),
            ["a"]
        );
    }
}
