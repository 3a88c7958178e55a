//! The places where skills may be, in order of precedence.
//!
//! Reads no environment and no configuration: settings are passed in.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gongfu_core::library::SourceKind;
use gongfu_core::skill::SkillPath;

use crate::walk::{CONVENTIONAL, Limits, NAMED};
use gongfu_files::disk::{self, EntryKind, Root};
use gongfu_files::{Home, slug};

/// The settings that decide about the places.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Folders named by a flag or the configuration, in that order.
    pub explicit: Vec<PathBuf>,
    /// Folders named by environment variables.
    pub environment: Vec<PathBuf>,
    /// The folder from which the project's conventional folders are searched.
    pub project: Option<PathBuf>,
    /// The person's home folder.
    pub user: Option<PathBuf>,
    /// True if there are other places than `explicit`.
    pub default_dirs: bool,
    /// True if conventional folders below the person's home are places (`discovery.home`).
    pub discover_user: bool,
    /// The skills that come with gongfu, as a folder on disk.
    pub built_in: Option<PathBuf>,
    /// The folder that tools write skills to, one of those above; without it the home's own.
    pub writable: Option<PathBuf>,
}

/// A place where skills may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Its name: lower-case letters, digits and hyphens, unique among the places.
    pub id: Arc<str>,
    /// Its kind.
    pub kind: SourceKind,
    /// The folder.
    pub path: PathBuf,
    /// The limits of a walk.
    pub limits: Limits,
}

impl Place {
    /// Returns whether a person named it, so that its absence is reported.
    pub fn is_named(&self) -> bool {
        matches!(self.kind, SourceKind::Explicit | SourceKind::Environment)
    }
}

/// Conventional folders of a project and of a person.
const PROJECT: [(&str, &str); 4] = [
    ("project-agents", ".agents/skills"),
    ("project-claude", ".claude/skills"),
    ("project-skills", "skills"),
    ("project-claude-skills", "skills/claude-skills/skills"),
];
const USER: [(&str, &str); 2] = [
    ("user-agents", ".agents/skills"),
    ("user-claude", ".claude/skills"),
];
const SYSTEM: &str = "/etc/gongfu/skills";

/// Lists the places in order of precedence; the same folder is never listed twice.
pub fn places(settings: &Settings, home: &Home) -> Vec<Place> {
    let mut places = Places::default();
    for folder in &settings.explicit {
        // `.` and `x/..` have a real name.
        let real = Root::open(folder).map(|root| root.name());
        let name = real.unwrap_or_else(|_| {
            let name = folder.file_name();
            name.map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default()
        });
        places.add(&name, SourceKind::Explicit, folder.clone(), NAMED);
    }
    if settings.default_dirs {
        for level in settings
            .project
            .as_deref()
            .map(|start| levels(start, settings.user.as_deref()))
            .unwrap_or_default()
        {
            for (id, below) in PROJECT {
                places.add(id, SourceKind::Project, level.join(below), CONVENTIONAL);
            }
        }
        for folder in &settings.environment {
            let child = folder.join("skills");
            let read = if disk::kind_outside(&child) == Some(EntryKind::Folder) {
                child
            } else {
                folder.clone()
            };
            places.add("environment", SourceKind::Environment, read, NAMED);
        }
        places.add("home", SourceKind::User, home.skills(), NAMED);
        if let Some(user) = settings.user.as_deref().filter(|_| settings.discover_user) {
            for (id, below) in USER {
                places.add(id, SourceKind::User, user.join(below), CONVENTIONAL);
            }
            // A target inside of an earlier place is found there.
            let known = places.roots();
            for (id, below) in USER {
                places.add_linked(id, &user.join(below), &known);
            }
        }
        places.add(
            "system",
            SourceKind::System,
            PathBuf::from(SYSTEM),
            CONVENTIONAL,
        );
        if let Some(folder) = &settings.built_in {
            places.add("built-in", SourceKind::BuiltIn, folder.clone(), NAMED);
        }
    }
    places.list
}

/// The project that a folder belongs to: the root of its repository, else the folder itself.
pub fn project_root(start: &Path, user: Option<&Path>) -> PathBuf {
    let levels = levels(start, user);
    levels.last().map_or_else(|| start.to_owned(), Clone::clone)
}

/// From a folder up to the root of its repository; without a repository, the folder alone.
///
/// A person's home folder is no project, even where it is a repository: it belongs to the user's
/// sources.
fn levels(start: &Path, user: Option<&Path>) -> Vec<PathBuf> {
    let start = std::path::absolute(start).unwrap_or_else(|_| start.to_owned());
    let up: Vec<&Path> = start
        .ancestors()
        .take(64)
        .take_while(|folder| Some(*folder) != user)
        .collect();
    let root = up
        .iter()
        .position(|folder| disk::kind_outside(&folder.join(".git")).is_some());
    up.iter()
        .take(root.map_or(1, |root| root + 1))
        .map(|folder| (*folder).to_owned())
        .collect()
}

#[derive(Default)]
struct Places {
    list: Vec<Place>,
    ids: HashSet<String>,
    paths: HashSet<PathBuf>,
}

impl Places {
    fn add(&mut self, name: &str, kind: SourceKind, path: PathBuf, limits: Limits) {
        if !self.paths.insert(path.clone()) {
            return;
        }
        let slug = slug(name);
        let mut id = slug.clone();
        let mut number = 1;
        while !self.ids.insert(id.clone()) {
            number += 1;
            id = format!("{slug}-{number}");
        }
        let id = id.into();
        self.list.push(Place {
            id,
            kind,
            path,
            limits,
        });
    }
}

impl Places {
    /// The places that exist, by their real paths.
    fn roots(&self) -> Vec<Root> {
        let places = self.list.iter();
        places
            .filter_map(|place| Root::open(&place.path).ok())
            .collect()
    }

    /// Folders that a person linked into one of their own: each is a place, because nothing leads out
    /// of the folder itself. Links in other folders are not followed.
    fn add_linked(&mut self, id: &str, folder: &Path, known: &[Root]) {
        let Ok(root) = Root::open(folder) else { return };
        let entries = root.list(&SkillPath::root()).unwrap_or_default();
        for link in entries.iter().filter(|entry| entry.kind == EntryKind::Link) {
            let Some(target) = SkillPath::new(&link.name)
                .ok()
                .and_then(|link| root.outside(&link))
            else {
                continue;
            };
            let known = known.iter().any(|root| target.starts_with(root.path()));
            if !known {
                self.add(
                    &format!("{id}-{}", link.name),
                    SourceKind::User,
                    target,
                    CONVENTIONAL,
                );
            }
        }
    }
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "tests make the folders that they look at"
)]
mod tests {
    use std::path::PathBuf;

    use gongfu_core::library::SourceKind;

    use super::{Settings, places};
    use gongfu_files::Home;

    #[test]
    fn order_is_flag_project_environment_user_system_built_in() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("repo/a/b");
        std::fs::create_dir_all(&project).unwrap();
        std::fs::create_dir_all(folder.path().join("repo/.git")).unwrap();
        std::fs::create_dir_all(folder.path().join("env/skills")).unwrap();
        let settings = Settings {
            explicit: vec![
                "/x/My Skills".into(),
                "/y/my-skills".into(),
                "/x/My Skills".into(),
            ],
            environment: vec![folder.path().join("env")],
            project: Some(project),
            user: Some(folder.path().join("me")),
            default_dirs: true,
            discover_user: true,
            built_in: Some("/b".into()),
            writable: None,
        };
        let found = places(&settings, &Home::at("/h"));
        let ids: Vec<&str> = found.iter().map(|place| &*place.id).collect();
        assert_eq!(ids[..3], ["my-skills", "my-skills-2", "project-agents"]);
        assert_eq!(
            ids.iter()
                .filter(|id| id.starts_with("project-agents"))
                .count(),
            3,
            "b, a and the repository's root: {ids:?}"
        );
        assert!(found.is_sorted_by_key(|place| place.kind));
        assert!(
            found
                .iter()
                .any(|place| place.path == folder.path().join("env/skills"))
        );
        let only = places(
            &Settings {
                default_dirs: false,
                ..settings
            },
            &Home::at("/h"),
        );
        assert!(only.iter().all(|place| place.kind == SourceKind::Explicit));
    }

    #[test]
    #[cfg(unix)]
    fn folder_linked_by_a_person_is_a_place() {
        let folder = tempfile::tempdir().unwrap();
        let skills = folder.path().join("me/.claude/skills");
        for path in ["me/.claude/skills", "me/.agents/skills/own", "elsewhere"] {
            std::fs::create_dir_all(folder.path().join(path)).unwrap();
        }
        let link = |target: &str, name: &str| {
            std::os::unix::fs::symlink(target, skills.join(name)).unwrap();
        };
        link("../../../elsewhere", "linked");
        link("../../.agents/skills/own", "own");
        // One that leads everywhere must not swallow the others.
        link("/", "everything");
        let settings = Settings {
            user: Some(folder.path().join("me")),
            default_dirs: true,
            discover_user: true,
            ..Settings::default()
        };
        let found = places(&settings, &Home::at("/h"));
        let ids: Vec<&str> = found.iter().map(|place| &*place.id).collect();
        assert!(ids.contains(&"user-claude-linked"), "{ids:?}");
        assert!(
            !ids.contains(&"user-claude-own"),
            "it is in .agents/skills: {ids:?}"
        );
    }

    #[test]
    fn only_the_folder_itself_counts_outside_of_a_repository() {
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings {
            project: Some(folder.path().join("x/y")),
            default_dirs: true,
            ..Settings::default()
        };
        let roots: Vec<PathBuf> = places(&settings, &Home::at("/h"))
            .into_iter()
            .filter(|place| place.kind == SourceKind::Project)
            .map(|place| place.path)
            .collect();
        assert!(
            roots
                .iter()
                .all(|root| root.starts_with(folder.path().join("x/y"))),
            "{roots:?}"
        );
    }
}
