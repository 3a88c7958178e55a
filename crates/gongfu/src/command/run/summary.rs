//! The words for a person after a run: the files that it wrote, by paths that can be opened, and what waits.

use std::path::{Path, PathBuf};

use gongfu_core::library::Skill;
use gongfu_core::sandbox::SKILL;
use gongfu_files::disk;
use serde_json::{Map, Value};

use crate::environment::Environment;
use crate::terminal::plain;
use crate::wiring::Parts;

/// The most files that are named.
const NAMED: usize = 5;

/// The folders that a run sees, with those of this machine that they are.
pub(super) struct HostFolders {
    folders: Vec<(String, PathBuf)>,
    current: Option<PathBuf>,
}

impl HostFolders {
    /// Those of a run of this skill.
    pub(super) async fn of(
        skill: Option<&Skill>,
        parts: &Parts,
        environment: &Environment,
    ) -> Self {
        let folders = parts.space.run_folders().folders(true);
        let known = folders.into_iter().filter_map(|folder| {
            Some((folder.guest, disk::real_outside(Path::new(&folder.host?))))
        });
        let mut folders: Vec<(String, PathBuf)> = known.collect();
        if let Some(skill) = skill
            && let Ok(layer) = parts.space.layers().lease(skill).await
        {
            folders.push((SKILL.to_owned(), layer.folder.clone()));
        }
        // The innermost mount holds a path.
        folders.sort_by_key(|(guest, _)| std::cmp::Reverse(guest.len()));
        Self {
            folders,
            current: environment.directory.as_deref().map(disk::real_outside),
        }
    }

    /// The path on this machine of one that a run saw.
    pub(super) fn host(&self, guest: &str) -> Option<PathBuf> {
        self.folders.iter().find_map(|(folder, host)| {
            let below = Path::new(guest).strip_prefix(folder).ok()?;
            Some(host.join(below))
        })
    }

    /// The path that a run sees of one on this machine.
    pub(super) fn guest(&self, host: &Path) -> Option<String> {
        self.folders.iter().find_map(|(guest, folder)| {
            let below = host.strip_prefix(folder).ok()?;
            Some(Path::new(guest).join(below).to_string_lossy().into_owned())
        })
    }

    /// A path for people: relative to the current folder where it lies below it.
    fn shown(&self, path: &Path) -> String {
        let current = self.current.as_deref();
        let below = current.and_then(|current| path.strip_prefix(current).ok());
        plain(&below.unwrap_or(path).to_string_lossy())
    }
}

/// The files that were written or removed, a line each.
pub(super) fn written(ran: &Map<String, Value>, folders: &HostFolders) -> Vec<String> {
    let all = ran.get("artifacts").and_then(Value::as_array);
    let text = |one: &Value, member: &str| one.get(member)?.as_str().map(str::to_owned);
    let changes = all.into_iter().flatten().filter_map(|one| {
        let what = match text(one, "change")?.as_str() {
            "written" | "linked" => "wrote",
            "removed" => "removed",
            _ => return None,
        };
        let guest = text(one, "path")?;
        let path = folders.host(&guest);
        let path = path.map_or_else(|| plain(&guest), |path| folders.shown(&path));
        Some(format!("{what} {path}"))
    });
    let mut lines: Vec<String> = changes.collect();
    let total = ran.get("artifacts_total").and_then(Value::as_u64);
    let listed = all.map_or(0, Vec::len);
    let unlisted = usize::try_from(total.unwrap_or(0)).unwrap_or(usize::MAX);
    let more = lines.len().saturating_sub(NAMED) + unlisted.saturating_sub(listed);
    lines.truncate(NAMED);
    if more > 0 {
        lines.push(format!("… and {more} more changes; --json lists them"));
    }
    lines
}

/// The changes that wait for a person, and the next command.
pub(super) fn waiting(ran: &Map<String, Value>) -> Option<String> {
    let id = ran.get("held")?.get("id")?.as_str()?;
    let all = ran.get("artifacts")?.as_array()?.iter();
    let is_held = |one: &&Value| one.get("change").and_then(Value::as_str) == Some("held");
    Some(match all.filter(is_held).count() {
        1 => format!("1 change waits for approval: gongfu changes show {id}"),
        count => format!("{count} changes wait for approval: gongfu changes show {id}"),
    })
}

/// Adds the paths on this machine to the changes.
pub(super) fn with_host_paths(
    mut ran: Map<String, Value>,
    folders: &HostFolders,
) -> Map<String, Value> {
    let all = ran.get_mut("artifacts").and_then(Value::as_array_mut);
    for one in all.into_iter().flatten().filter_map(Value::as_object_mut) {
        let path = one.get("path").and_then(Value::as_str);
        let host = path.and_then(|guest| folders.host(guest));
        if let Some(host) = host.as_ref().and_then(|host| host.to_str()) {
            one.insert("host_path".to_owned(), host.into());
        }
    }
    ran
}
