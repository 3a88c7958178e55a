//! The places where skills may be, in order of precedence.
//!
//! Reads no environment and no configuration: settings are passed in.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gongfu_core::library::SourceKind;
use gongfu_core::skill::SkillPath;
use gongfu_core::trust::Trusts;

use crate::walk::{CONVENTIONAL, Limits, NAMED};
use gongfu_files::disk::{self, EntryKind, Root};
use gongfu_files::{Home, project_of, slug};

/// Returns whether another program of the person trusts a project.
pub type TrustedElsewhere = Arc<dyn Fn(&Path) -> bool + Send + Sync>;

/// The settings that decide about the places.
#[derive(Clone, Default)]
pub struct Settings {
    /// Folders named by a flag or the configuration, in that order.
    pub explicit: Vec<PathBuf>,
    /// Folders named by environment variables.
    pub environment: Vec<PathBuf>,
    /// The folder from which the project's conventional folders are searched.
    pub project: Option<PathBuf>,
    /// The projects that another program of the person trusts.
    pub trusted_elsewhere: Option<TrustedElsewhere>,
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
    /// The project that it belongs to, if it belongs to one.
    pub project: Option<Arc<str>>,
    /// The limits of a walk.
    pub limits: Limits,
    /// The full name of the folder itself, where it is a link in another place.
    pub linked_as: Option<Arc<str>>,
}

impl Place {
    /// The full name of the skill in a folder below.
    pub(crate) fn full_name(&self, folder: &SkillPath) -> Arc<str> {
        let start = self.linked_as.as_ref().unwrap_or(&self.id);
        match (&self.linked_as, folder.is_root()) {
            (Some(name), true) => Arc::clone(name),
            (None, true) => format!("{start}/.").into(),
            (_, false) => format!("{start}/{folder}").into(),
        }
    }

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
///
/// A project that nobody trusts comes last: its skills take no name from another place.
pub fn places(settings: &Settings, home: &Home, trusts: &Trusts) -> Vec<Place> {
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
        let project = Project::of(settings, home, trusts);
        let (trusted, untrusted) = match project {
            Some(project) if project.is_trusted => (Some(project), None),
            other => (None, other),
        };
        places.add_project(trusted);
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
            for (_, below) in USER {
                places.add_linked(&user.join(below), &known);
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
        places.add_project(untrusted);
    }
    places.list
}

/// The project whose folders are places.
struct Project {
    /// Its conventional folders, from the one where somebody works up to the root.
    folders: Vec<(&'static str, PathBuf)>,
    /// The root, by its real path.
    root: Arc<str>,
    is_trusted: bool,
}

impl Project {
    /// The project that these settings lead to, where there is one.
    fn of(settings: &Settings, home: &Home, trusts: &Trusts) -> Option<Self> {
        let start = disk::real_outside(settings.project.as_deref()?);
        let root = project_of(&start, settings.user.as_deref(), home).ok()?;
        let own = disk::real_outside(home.path());
        let levels = start
            .ancestors()
            .take_while(|level| level.starts_with(&root));
        let folders = levels.flat_map(|level| PROJECT.map(|(id, below)| (id, level.join(below))));
        let folders: Vec<_> = folders
            .filter(|(_, folder)| !folder.starts_with(&own))
            .collect();
        let name: Arc<str> = root.to_string_lossy().into();
        // A project without skills needn't be trusted, so no file of a client is read for it.
        let has_skills = folders
            .iter()
            .any(|(_, folder)| disk::kind_outside(folder).is_some());
        let is_trusted = !has_skills
            || trusts.is_trusted(&name)
            || settings
                .trusted_elsewhere
                .as_ref()
                .is_some_and(|is_trusted| is_trusted(&root));
        Some(Self {
            folders,
            root: name,
            is_trusted,
        })
    }
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
            project: None,
            limits,
            linked_as: None,
        });
    }

    /// Adds the conventional folders of a project.
    fn add_project(&mut self, project: Option<Project>) {
        let Some(project) = project else { return };
        let kind = if project.is_trusted {
            SourceKind::Project
        } else {
            SourceKind::Untrusted
        };
        let start = self.list.len();
        for (id, folder) in project.folders {
            self.add(id, kind, folder, CONVENTIONAL);
        }
        for place in self.list.iter_mut().skip(start) {
            place.project = Some(Arc::clone(&project.root));
        }
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
    fn add_linked(&mut self, folder: &Path, known: &[Root]) {
        let holder = self.list.iter().find(|place| place.path == folder);
        let Some(id) = holder.map(|place| Arc::clone(&place.id)) else {
            return;
        };
        let Ok(root) = Root::open(folder) else { return };
        let entries = root.list(&SkillPath::root()).unwrap_or_default();
        for link in entries.iter().filter(|entry| entry.kind == EntryKind::Link) {
            let Some(target) = SkillPath::new(&link.name)
                .ok()
                .and_then(|link| root.outside(&link))
            else {
                continue;
            };
            if known.iter().any(|root| target.starts_with(root.path())) {
                continue;
            }
            let count = self.list.len();
            let name = format!("{id}-{}", link.name);
            self.add(&name, SourceKind::User, target, CONVENTIONAL);
            if let Some(place) = self.list.get_mut(count) {
                place.linked_as = Some(format!("{id}/{}", link.name).into());
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
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    use gongfu_core::library::SourceKind;
    use gongfu_core::trust::Trusts;

    use super::{Settings, places};
    use gongfu_files::Home;

    #[test]
    fn order_is_flag_project_environment_user_system_built_in() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("repo/a/b");
        std::fs::create_dir_all(&project).unwrap();
        std::fs::create_dir_all(folder.path().join("repo/.git")).unwrap();
        std::fs::create_dir_all(project.join(".agents/skills")).unwrap();
        std::fs::create_dir_all(folder.path().join("env/skills")).unwrap();
        let settings = Settings {
            trusted_elsewhere: None,
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
        let repository = folder.path().join("repo").to_string_lossy().into_owned();
        let trusts = Trusts {
            projects: [(repository.clone(), 0)].into(),
        };
        let found = places(&settings, &Home::at("/h"), &trusts);
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
        // Nobody trusts the folder above it, or one in it.
        for other in [folder.path(), &folder.path().join("repo/a")] {
            let trusts = Trusts {
                projects: [(other.to_string_lossy().into_owned(), 0)].into(),
            };
            let found = places(&settings, &Home::at("/h"), &trusts);
            assert!(found.is_sorted_by_key(|place| place.kind));
            let last: Vec<_> = found.iter().rev().take(12).collect();
            assert!(
                last.iter().all(|place| place.kind == SourceKind::Untrusted
                    && place.project.as_deref() == Some(&repository)),
                "{last:?}"
            );
        }
        let elsewhere = Settings {
            trusted_elsewhere: Some(Arc::new(|project| project.ends_with("repo"))),
            ..settings.clone()
        };
        assert_eq!(
            places(&elsewhere, &Home::at("/h"), &Trusts::default()),
            found
        );
        let only = places(
            &Settings {
                default_dirs: false,
                ..settings
            },
            &Home::at("/h"),
            &trusts,
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
        let found = places(&settings, &Home::at("/h"), &Trusts::default());
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
        std::fs::create_dir_all(folder.path().join("x/y")).unwrap();
        let settings = Settings {
            project: Some(folder.path().join("x/y")),
            default_dirs: true,
            ..Settings::default()
        };
        let roots: Vec<PathBuf> = places(&settings, &Home::at("/h"), &Trusts::default())
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

    #[test]
    fn folder_that_is_no_project_and_gongfus_home_have_no_places() {
        let folder = tempfile::tempdir().unwrap();
        let (user, project) = (folder.path().join("me"), folder.path().join("project"));
        for path in [&user.join("skills"), &project.join("skills/skills")] {
            std::fs::create_dir_all(path).unwrap();
        }
        let of_project = |start: &Path| {
            let settings = Settings {
                project: Some(start.to_owned()),
                user: Some(user.clone()),
                default_dirs: true,
                ..Settings::default()
            };
            let home = Home::at(project.join("skills"));
            let places = places(&settings, &home, &Trusts::default());
            let places = places.into_iter().filter(|place| place.project.is_some());
            places.map(|place| place.path).collect::<Vec<_>>()
        };
        assert_eq!(of_project(Path::new("/")), [""; 0].map(PathBuf::from));
        assert_eq!(of_project(&user), [""; 0].map(PathBuf::from));
        let conventional = [".agents/skills", ".claude/skills"].map(|below| project.join(below));
        assert_eq!(of_project(&project), conventional);
    }
}
