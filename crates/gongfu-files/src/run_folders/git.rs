//! Tells whether git obeys a file that is to be written: a part of a repository, or what its settings name.

use std::path::{Component, Path, PathBuf};

use gongfu_core::change::git::{HOOKS, PARTS, POINTERS, SETTINGS, settings};
use gongfu_core::change::{PersonalSettings, table};
use gongfu_core::skill::SkillPath;

use crate::disk::{EntryKind, Root, kind_outside, real_outside};

/// The longest file of settings, in bytes.
const MAX_SETTINGS: u64 = 1024 * 1024;
/// The most files of settings of one repository.
const MAX_FILES: usize = 24;
/// The most folders above a file in which a repository is looked for.
const MAX_ABOVE: usize = 80;

/// Returns why git obeys a file below a root, if it does.
pub(super) fn reason(
    root: &Path,
    path: &Path,
    personal: &PersonalSettings,
) -> Option<&'static str> {
    if is_part(root, path) {
        return Some("it is a git repository");
    }
    let (real, file) = (real_outside(root), real_outside(&root.join(path)));
    let folders = file.ancestors().skip(1).take(MAX_ABOVE);
    let named = folders
        .filter_map(repository)
        .any(|(top, files)| names(files, Some(top), (&real, &file), personal));
    let named = named || names(Vec::new(), None, (&real, &file), personal);
    named.then_some("git's settings refer to it")
}

/// Returns whether the files of a repository begin in a folder.
pub(super) fn is_top(folder: &Path) -> bool {
    kind_outside(&folder.join(".git")).is_some()
}

/// Returns whether a file belongs to a folder that is a repository with it, or may become one by it.
fn is_part(root: &Path, path: &Path) -> bool {
    let mut folder = root.to_owned();
    let mut names = path.iter().peekable();
    while let Some(name) = names.next() {
        let plain = table::plain(&name.to_string_lossy());
        let has = |part: &str| {
            let called = if part == "head" { "HEAD" } else { part };
            plain == part || kind_outside(&folder.join(called)).is_some()
        };
        let is_last = names.peek().is_none();
        let is_one = has("head") && (has("commondir") || has("objects") && has("refs"));
        let may_be_settings = plain == "head" || SETTINGS.contains(&&*plain);
        let parts = || PARTS.iter().filter(|part| has(part)).count();
        let has_others = || may_be_settings && parts() > 1;
        // Settings of one worktree are no part by their name.
        let is_alone = || plain == "config.worktree" && has("head");
        if is_one || is_last && (POINTERS.contains(&&*plain) || has_others() || is_alone()) {
            return true;
        }
        folder.push(name);
    }
    false
}

/// The top of the repository that begins in a folder, with the files of its settings.
fn repository(top: &Path) -> Option<(&Path, Vec<PathBuf>)> {
    let dot = top.join(".git");
    let own = match kind_outside(&dot)? {
        EntryKind::File => {
            let text = text(&dot)?;
            top.join(text.strip_prefix("gitdir:")?.trim())
        }
        _ => dot,
    };
    let common = text(&own.join("commondir")).map(|path| own.join(path.trim()));
    let settings = common.as_ref().unwrap_or(&own).join("config");
    Some((top, vec![settings, own.join("config.worktree")]))
}

/// Returns whether settings in these files, or a person's own, name a file, or a folder that it is in.
fn names(
    mut files: Vec<PathBuf>,
    top: Option<&Path>,
    (root, file): (&Path, &Path),
    personal: &PersonalSettings,
) -> bool {
    files.extend(personal.files.iter().cloned());
    let in_home = |path: &str| match path.strip_prefix("~/") {
        Some(below) => Some(personal.home.as_ref()?.join(below)),
        None => Some(PathBuf::from(path)),
    };
    let mut at = 0;
    while let Some(one) = files.get(at).cloned() {
        at += 1;
        // Nobody can say what further ones name.
        if at > MAX_FILES {
            return true;
        }
        let Some(text) = text(&one) else {
            continue;
        };
        let beside = one.parent().unwrap_or(Path::new("/"));
        for setting in settings(&text) {
            let is_file = |name: &String| {
                let path = top.map(|top| top.join(name));
                path.is_some_and(|path| {
                    kind_outside(&path) == Some(EntryKind::File) && real_outside(&path) == file
                })
            };
            if setting.arguments().iter().any(is_file) {
                return true;
            }
            for path in setting.paths().iter().filter_map(|path| in_home(path)) {
                let top = top.filter(|_| !setting.is_include());
                let is_named = |base: &Path| {
                    let named = plain(&base.join(&path));
                    let mut tops = top.into_iter().chain([root]);
                    if tops.any(|top| top.starts_with(&named)) {
                        // A folder with everything in it; of hooks it holds those alone that git looks for.
                        let name = file.strip_prefix(&named).ok().and_then(Path::to_str);
                        return setting.is_hooks()
                            && name.is_some_and(|name| HOOKS.contains(&name));
                    }
                    file.starts_with(&named) || file.starts_with(real_outside(&named))
                };
                if top.into_iter().chain([beside]).any(is_named) {
                    return true;
                }
                if setting.is_include() {
                    let path = plain(&beside.join(path));
                    if !files.contains(&path) {
                        files.push(path);
                    }
                }
            }
        }
    }
    false
}

/// The text of a file, to which links may lead as git follows them.
fn text(path: &Path) -> Option<String> {
    let real = real_outside(path);
    let name = SkillPath::new(real.file_name()?.to_str()?).ok()?;
    let folder = Root::open(real.parent()?).ok()?;
    let content = folder.read(&name, MAX_SETTINGS).ok()?;
    Some(String::from_utf8_lossy(&content.bytes).into_owned())
}

/// A path without `.` and `..`, as far as names alone tell.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            _ => plain.push(part),
        }
    }
    plain
}
