//! The git repository around a folder, by its files: git itself isn't run.

use std::path::{Path, PathBuf};

use gongfu_core::skill::SkillPath;
use gongfu_files::disk::{self, EntryKind};

use super::InventoryProblem;
use super::origin::KnownOrigin;
use super::reading::text;

/// The witness of an origin that a clone says.
pub(crate) const CLONE: &str = "git clone";

/// The repository around a folder, below `top`. Its own files are in `bounds`, where there are some.
pub(super) fn around(
    folder: &Path,
    top: &Path,
    bounds: Option<&Path>,
    problems: &mut Vec<InventoryProblem>,
) -> Option<KnownOrigin> {
    let mut above = folder.ancestors();
    let root = above
        .by_ref()
        .take_while(|folder| folder.starts_with(top) && *folder != top)
        .find(|folder| disk::kind_outside(&folder.join(".git")).is_some())?;
    let own = git_folder(root, problems)?;
    // A further working tree has its own HEAD, and shares all else.
    let common = text(&own.join("commondir"), problems);
    let common = common.map_or_else(|| own.clone(), |common| own.join(common.trim()));
    let is_inside =
        |folder: &Path| bounds.is_none_or(|bounds| disk::real_outside(folder).starts_with(bounds));
    if !is_inside(&own) || !is_inside(&common) {
        return None;
    }
    let address = origin_url(&text(&common.join("config"), problems)?)?;
    let head = text(&own.join("HEAD"), problems)?;
    let head = head.trim();
    let branch = head.strip_prefix("ref: ");
    let commit = match branch {
        Some(branch) => reference(&common, branch, problems),
        None => Some(head.to_owned()),
    };
    let path = folder.strip_prefix(root).ok()?;
    let path = SkillPath::new(path.to_str()?).ok()?;
    let log = text(&own.join("logs/HEAD"), problems);
    Some(KnownOrigin {
        reference: branch
            .and_then(|branch| branch.strip_prefix("refs/heads/"))
            .map(str::to_owned),
        commit: commit.filter(|commit| is_commit(commit)),
        path: Some(path).filter(|path| !path.is_root()),
        time: log.and_then(|log| last_change(&log)),
        ..KnownOrigin::git(CLONE, &address)
    })
}

/// The folder with the files of git.
fn git_folder(root: &Path, problems: &mut Vec<InventoryProblem>) -> Option<PathBuf> {
    let path = root.join(".git");
    if disk::kind_outside(&path) == Some(EntryKind::Folder) {
        return Some(path);
    }
    let text = text(&path, problems)?;
    let folder = text.trim().strip_prefix("gitdir:")?;
    Some(root.join(folder.trim()))
}

/// The address of `origin`, else of the first remote.
fn origin_url(config: &str) -> Option<String> {
    let mut section = "";
    let mut first = None;
    for line in config.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
        } else if let Some((key, value)) = line.split_once('=')
            && key.trim().eq_ignore_ascii_case("url")
            && section.starts_with("[remote ")
        {
            let value = value.trim().trim_matches('"').to_owned();
            if section == "[remote \"origin\"]" {
                return Some(value);
            }
            first = first.or(Some(value));
        }
    }
    first
}

/// The commit of a branch.
fn reference(git: &Path, branch: &str, problems: &mut Vec<InventoryProblem>) -> Option<String> {
    let path = SkillPath::new(branch).ok()?;
    if let Some(commit) = text(&git.join(path.as_str()), problems) {
        return Some(commit.trim().to_owned());
    }
    let packed = text(&git.join("packed-refs"), problems)?;
    let mut lines = packed.lines().filter_map(|line| line.split_once(' '));
    let found = lines.find(|(_, name)| *name == branch);
    found.map(|(commit, _)| commit.to_owned())
}

fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The moment of the last line of a log, in milliseconds.
fn last_change(log: &str) -> Option<i64> {
    let (before, _) = log.lines().last()?.split_once('\t')?;
    let mut words = before.rsplit(' ');
    let seconds: i64 = words.nth(1)?.parse().ok()?;
    seconds.checked_mul(1_000)
}

#[cfg(test)]
mod tests {
    use super::{last_change, origin_url};

    #[test]
    fn remote_and_time_are_read() {
        let config = "[core]\n\turl = x\n[remote \"fork\"]\n\turl = https://h/f\n[remote \"origin\"]\n\tfetch = +a\n\turl = https://h/o/r.git\n";
        assert_eq!(origin_url(config).as_deref(), Some("https://h/o/r.git"));
        let other = config.replace("origin", "up");
        assert_eq!(origin_url(&other).as_deref(), Some("https://h/f"));
        assert_eq!(origin_url("[core]\nurl = x"), None);
        let log = "0 1 A <a@b> 1700000000 +0100\tclone\n1 2 A B <a@b> 1700000100 +0100\tpull: x\n";
        assert_eq!(last_change(log), Some(1_700_000_100_000));
        assert_eq!(last_change("nothing"), None);
    }
}
