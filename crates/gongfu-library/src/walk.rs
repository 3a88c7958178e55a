//! Walks a root: finds the folders that are skills, and their entries.
//!
//! Level by level in sorted order, so that a limit cuts at the same place every time. Folders are
//! opened by their path below the root and closed again: a tree of any size needs few handles.

use gongfu_core::skill::{Diagnostic, Finding, SKILL_FILE, SKILL_FILE_LOWER, SkillPath};
use rayon::prelude::*;

use gongfu_files::disk::{self, Entry, EntryKind, FolderStamp, Listings, Root};

/// The limits of a walk, which stops there and says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Levels of folders, outside of skills.
    pub depth: usize,
    /// Folders, outside of skills.
    pub folders: usize,
    /// Entries of any kind.
    pub entries: usize,
}

/// The limits of a conventional folder, which may belong to anything.
pub const CONVENTIONAL: Limits = Limits {
    depth: 8,
    folders: 2_000,
    entries: 200_000,
};
/// The limits of a folder that a person named.
pub const NAMED: Limits = Limits {
    depth: 64,
    folders: usize::MAX,
    entries: 200_000,
};
/// The number of folders that a thread lists in one go.
const PIECE: usize = 64;
/// The number of folders that are listed before they are added.
const BATCH: usize = 2_048;
/// The levels of folders inside of a skill.
const DEPTH_IN_SKILL: usize = 64;

/// A folder of a walk.
#[derive(Debug)]
pub(crate) struct WalkFolder {
    /// Its path below the root.
    pub(crate) path: SkillPath,
    /// Its entries.
    pub(crate) entries: Vec<Entry>,
    /// The folders in it, as indexes of [`Walk::folders`].
    pub(crate) children: Vec<usize>,
    /// The reason why it can't be read.
    pub(crate) unreadable: Option<String>,
    /// Levels below the root.
    pub(crate) level: usize,
    /// True if it is a skill or lies in one.
    pub(crate) in_skill: bool,
    /// The origin of the entries.
    pub(crate) origin: Origin,
}

/// The origin of a folder's entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A listing that is valid for this stamp.
    Cached(FolderStamp),
    /// They were listed while the folder had this stamp.
    Listed(FolderStamp),
    /// They were listed, and no stamp shows a change.
    Unstamped,
}

impl WalkFolder {
    /// The file that makes it a skill; `SKILL.md` before `skill.md`.
    pub(crate) fn skill_file(&self) -> Option<&Entry> {
        let named = |wanted: &str| self.entries.iter().find(|entry| entry.name == wanted);
        named(SKILL_FILE).or_else(|| named(SKILL_FILE_LOWER))
    }
}

/// Everything below a root.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    /// Every folder, parents before children.
    pub(crate) folders: Vec<WalkFolder>,
    /// The folders that are skills, as indexes of `folders`, by path.
    pub(crate) skills: Vec<usize>,
    /// The parts that a limit cut off.
    pub(crate) left_out: Vec<Diagnostic>,
}

/// Returns whether folders of that name are skipped.
pub(crate) fn is_ignored(name: &str) -> bool {
    name.starts_with('.') || name == "node_modules" || name == "_versions"
}

/// Walks a root.
pub(crate) fn walk(root: &Root, limits: Limits) -> Walk {
    walk_from(root, SkillPath::root(), limits, &Listings::default())
}

/// Walks a root; folders with a valid listing are not listed again.
pub(crate) fn walk_with(root: &Root, limits: Limits, known: &Listings) -> Walk {
    walk_from(root, SkillPath::root(), limits, known)
}

/// Walks everything at and below a folder that is in no other skill.
pub(crate) fn walk_from(root: &Root, from: SkillPath, limits: Limits, known: &Listings) -> Walk {
    let mut walk = Walk::default();
    let mut counts = Counts::default();
    let mut level = vec![Step::first(from)];
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
            let listed: Vec<FolderResult> = some
                .par_iter()
                // In small pieces, so that other threads can help.
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

/// Lists one folder that is in no skill, and nothing below it.
pub(crate) fn alone(root: &Root, path: SkillPath) -> Walk {
    let mut walk = Walk::default();
    let listed = list(root, &path, &Listings::default());
    let step = Step::first(path);
    add(&mut walk, step, listed, NAMED, &mut Counts::default());
    // A SKILL.md that appears in it is handled as a change of the whole folder.
    walk.skills.clear();
    walk
}

struct Step {
    path: SkillPath,
    parent: Option<usize>,
    level: usize,
    in_skill: bool,
}

impl Step {
    /// The first step of a walk.
    fn first(path: SkillPath) -> Self {
        let parts = path.as_str().split('/');
        Self {
            level: parts.filter(|part| !part.is_empty()).count(),
            path,
            parent: None,
            in_skill: false,
        }
    }
}

type FolderResult = std::io::Result<(Vec<Entry>, Origin)>;

/// Lists a folder, from the cache where that is valid.
fn list(root: &Root, path: &SkillPath, known: &Listings) -> FolderResult {
    if let Some(listing) = known.get(path)
        && let Some(entries) = root.list_cached(path, listing)
    {
        return Ok((entries, Origin::Cached(listing.stamp)));
    }
    let (entries, stamp) = root.list_stamped(path)?;
    Ok((entries, stamp.map_or(Origin::Unstamped, Origin::Listed)))
}

/// The use of the limits so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    /// Folders outside of skills.
    pub(crate) folders: usize,
    /// Entries of any kind.
    pub(crate) entries: usize,
}

/// Adds a folder; answers the folders to walk next.
fn add(
    walk: &mut Walk,
    step: Step,
    listed: FolderResult,
    limits: Limits,
    counts: &mut Counts,
) -> Vec<Step> {
    let (mut entries, mut origin, unreadable) = match listed {
        Ok((entries, source)) => (entries, source, None),
        Err(error) => (Vec::new(), Origin::Unstamped, Some(disk::reason(&error))),
    };
    counts.entries = counts.entries.saturating_add(entries.len());
    let room = limits
        .entries
        .saturating_sub(counts.entries - entries.len());
    if entries.len() > room {
        entries.truncate(room);
        // A part of the entries is no listing.
        origin = Origin::Unstamped;
    }
    // What a killed writer left is no file of a skill.
    entries.retain(|entry| entry.kind != EntryKind::File || !disk::is_temporary(&entry.name));
    let at = walk.folders.len();
    let mut folder = WalkFolder {
        path: step.path,
        entries,
        children: Vec::new(),
        unreadable,
        level: step.level,
        in_skill: step.in_skill,
        origin,
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

/// The end of a path, if it is long.
fn clipped(path: &str) -> String {
    let surplus = path.chars().count().saturating_sub(120);
    match path.char_indices().nth(surplus) {
        Some((at, _)) if surplus > 0 => format!("…{}", path.get(at..).unwrap_or_default()),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "tests make the folders that they look at"
)]
mod tests {
    use super::{Limits, NAMED, Walk, walk};
    use gongfu_files::disk::Root;

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
    fn finds_skills_at_any_level_and_inside_of_each_other() {
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
    fn what_a_killed_writer_left_is_no_file_of_a_skill() {
        let left = gongfu_files::disk::temporary_name("data.txt");
        let paths = [
            "a/SKILL.md",
            "a/.data.txt.0123456789abcdef",
            &format!("a/{left}"),
        ];
        let folder = tree(&paths);
        let found = walk(&Root::open(folder.path()).unwrap(), NAMED);
        let entries = found.folders.iter().flat_map(|folder| &folder.entries);
        let names: Vec<&str> = entries.map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, ["a", ".data.txt.0123456789abcdef", "SKILL.md"]);
    }

    #[test]
    fn limit_is_reported() {
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
    fn circle_of_links_is_not_walked() {
        let folder = tree(&["a/SKILL.md"]);
        std::os::unix::fs::symlink("..", folder.path().join("a/up")).unwrap();
        assert_eq!(
            skills(&walk(&Root::open(folder.path()).unwrap(), NAMED)),
            ["a"]
        );
    }
}
