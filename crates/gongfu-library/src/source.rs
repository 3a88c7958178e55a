//! The places where skills may be, in order of precedence.
//!
//! Reads no environment and no configuration: settings are passed in.

use std::collections::HashSet;
use std::io;
use std::path::{Component, Path, PathBuf};
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
    /// Folders that a person named in a command: theirs to trust, wherever they are.
    pub chosen: Vec<PathBuf>,
    /// Folders named by a client's entry or the configuration, in that order.
    pub explicit: Vec<PathBuf>,
    /// Folders named by environment variables.
    pub environment: Vec<PathBuf>,
    /// The folder below which relative ones of `explicit` and `environment` are; without it they are none.
    pub start: Option<PathBuf>,
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
    /// Further folders of the person, absolute ones, which rank after the conventional ones (`discovery.adopted`).
    pub adopted: Vec<PathBuf>,
    /// The skills that come with gongfu, as a folder on disk.
    pub built_in: Option<PathBuf>,
    /// The folder that tools write skills to, one of those above; without it the home's own.
    pub writable: Option<PathBuf>,
    /// True for the skills that a server shares with its accounts: no place of one person or project is among them.
    pub is_shared: bool,
}

impl Settings {
    /// A folder below the one that relative folders are below.
    pub(crate) fn below_start(&self, folder: &Path) -> Option<PathBuf> {
        let start = disk::real_outside(self.start.as_deref()?);
        Some(start.join(folder).components().collect())
    }
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
    /// The project that no link may lead out of, while nobody trusts it; its real path.
    pub confined_to: Option<PathBuf>,
    /// True if somebody named it, so that its absence is reported.
    pub is_named: bool,
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

    /// Opens the folder.
    ///
    /// # Errors
    /// It isn't there, or a link leads out of a project that nobody trusts.
    pub(crate) fn open(&self) -> io::Result<Root> {
        let root = Root::open(&self.path)?;
        if self.is_outside(root.path()) {
            return Err(io::Error::other(LeadsOut));
        }
        Ok(root)
    }

    /// Returns whether a link leads out of a project that nobody trusts.
    pub fn leads_out(&self) -> bool {
        self.is_outside(&disk::real_outside(&self.path))
    }

    fn is_outside(&self, real: &Path) -> bool {
        let project = self.confined_to.as_ref();
        project.is_some_and(|project| !real.starts_with(project))
    }
}

/// A folder of skills that a link puts outside of its project.
#[derive(Debug, thiserror::Error)]
#[error("a link leads outside the project, which isn't trusted")]
pub(crate) struct LeadsOut;

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
    let trust = Trust::of(settings, trusts);
    let mut places = Places::default();
    for folder in &settings.chosen {
        places.add_named(folder.clone(), SourceKind::Explicit, None);
    }
    // Those of a project that isn't trusted come last.
    let mut later = Vec::new();
    let mut add = |places: &mut Places, folder: &Path, kind| {
        let Some(named) = NamedFolder::of(folder, settings, home, &trust) else {
            return;
        };
        match named.project {
            Some((project, false)) => later.push((named.path, kind, project)),
            Some((project, true)) => places.add_named(named.path, kind, Some(&project)),
            None => places.add_named(named.path, kind, None),
        }
    };
    for folder in &settings.explicit {
        add(&mut places, folder, SourceKind::Explicit);
    }
    let mut untrusted = None;
    if settings.default_dirs {
        let project = Project::of(settings, home, &trust).filter(|_| !settings.is_shared);
        let (trusted, other) = match project {
            Some(project) if project.is_trusted => (Some(project), None),
            other => (None, other),
        };
        untrusted = other;
        places.add_project(trusted);
        for folder in &settings.environment {
            add(&mut places, folder, SourceKind::Environment);
        }
        if !settings.is_shared {
            places.add("home", SourceKind::User, home.skills(), NAMED);
        }
        let discovers_user = settings.discover_user && !settings.is_shared;
        if let Some(user) = settings.user.as_deref().filter(|_| discovers_user) {
            for (id, below) in USER {
                places.add(id, SourceKind::User, user.join(below), CONVENTIONAL);
            }
            // A target inside of an earlier place is found there.
            let known = places.roots();
            for (_, below) in USER {
                places.add_linked(&user.join(below), &known);
            }
        }
        for folder in settings.adopted.iter().filter(|_| !settings.is_shared) {
            places.add_named(folder.clone(), SourceKind::User, None);
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
    places.add_project(untrusted);
    for (path, kind, project) in later {
        let start = places.list.len();
        places.add_named(path, kind, Some(&project));
        places.distrust(start, &project);
    }
    places.list
}

/// Returns true if a person trusts a project.
pub(crate) fn trusts(settings: &Settings, trusts: &Trusts, project: &Path) -> bool {
    Trust::of(settings, trusts).covers(project)
}

/// The projects that a person trusts.
struct Trust<'a> {
    trusts: &'a Trusts,
    elsewhere: Option<&'a TrustedElsewhere>,
}

impl<'a> Trust<'a> {
    fn of(settings: &'a Settings, trusts: &'a Trusts) -> Self {
        Self {
            trusts,
            elsewhere: settings.trusted_elsewhere.as_ref(),
        }
    }

    /// Returns whether a project is one of them.
    fn covers(&self, project: &Path) -> bool {
        let elsewhere = || self.elsewhere.is_some_and(|covers| covers(project));
        self.trusts.is_trusted(&project.to_string_lossy()) || elsewhere()
    }
}

/// A folder that settings, a variable or a client's entry name.
struct NamedFolder {
    path: PathBuf,
    /// The project that it belongs to, and whether that is trusted; none for an absolute one. An empty name names nothing.
    project: Option<(PathBuf, bool)>,
}

impl NamedFolder {
    /// Reads a name. A relative one leads into whatever folder gongfu was started in: what is there belongs to that
    /// project, or to its own.
    fn of(folder: &Path, settings: &Settings, home: &Home, trust: &Trust<'_>) -> Option<Self> {
        if folder.is_absolute() || folder.as_os_str().is_empty() {
            return Some(Self {
                path: folder.to_owned(),
                project: None,
            });
        }
        let path = settings.below_start(folder)?;
        let start = disk::real_outside(settings.start.as_deref()?);
        let project = project_by(folder, &start, settings.user.as_deref(), home);
        let is_trusted = trust.covers(&project);
        Some(Self {
            path,
            project: Some((project, is_trusted)),
        })
    }
}

/// The project that a relative folder belongs to: the one that it leads into, or that has a link to the outside on the way;
/// without a project, the folder itself.
fn project_by(folder: &Path, start: &Path, user: Option<&Path>, home: &Home) -> PathBuf {
    let around = project_of(start, user, home).ok();
    let project_at = |place: &Path| {
        let around = around.clone().filter(|around| place.starts_with(around));
        around.or_else(|| project_of(place, user, home).ok())
    };
    let mut here = start.to_owned();
    for part in folder.components() {
        match part {
            Component::ParentDir => drop(here.pop()),
            Component::Normal(name) => {
                let next = here.join(name);
                let real = disk::real_outside(&next);
                if real != next
                    && let Some(project) = project_at(&here)
                    && !real.starts_with(&project)
                {
                    return project;
                }
                here = real;
            }
            _ => {}
        }
    }
    project_at(&here).unwrap_or(here)
}

/// The project whose folders are places.
struct Project {
    /// Its conventional folders, from the one where somebody works up to the root.
    folders: Vec<(&'static str, PathBuf)>,
    /// The root, by its real path.
    root: PathBuf,
    is_trusted: bool,
}

impl Project {
    /// The project that these settings lead to, where there is one.
    fn of(settings: &Settings, home: &Home, trust: &Trust<'_>) -> Option<Self> {
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
        // A project without skills needn't be trusted, so no file of a client is read for it.
        let has_skills = folders
            .iter()
            .any(|(_, folder)| disk::kind_outside(folder).is_some());
        Some(Self {
            folders,
            is_trusted: !has_skills || trust.covers(&root),
            root,
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
            confined_to: None,
            is_named: matches!(kind, SourceKind::Explicit | SourceKind::Environment),
        });
    }

    /// Adds a folder that somebody named, which may belong to a project.
    fn add_named(&mut self, folder: PathBuf, kind: SourceKind, project: Option<&Path>) {
        let start = self.list.len();
        if kind == SourceKind::Environment {
            let child = folder.join("skills");
            let has_child = disk::kind_outside(&child) == Some(EntryKind::Folder);
            let read = if has_child { child } else { folder };
            self.add("environment", kind, read, NAMED);
        } else {
            // `.` and `x/..` have a real name.
            let real = Root::open(&folder).map(|root| root.name());
            let name = real.unwrap_or_else(|_| {
                let name = folder.file_name();
                name.map(|name| name.to_string_lossy().into_owned())
                    .unwrap_or_default()
            });
            self.add(&name, kind, folder, NAMED);
        }
        if let Some(project) = project {
            self.assign(start, project);
        }
    }

    /// Notes that the places from one on belong to a project.
    fn assign(&mut self, start: usize, project: &Path) {
        let name: Arc<str> = project.to_string_lossy().into();
        for place in self.list.iter_mut().skip(start) {
            place.project = Some(Arc::clone(&name));
        }
    }

    /// Notes that nobody trusts the places from one on, which belong to a project.
    fn distrust(&mut self, start: usize, project: &Path) {
        for place in self.list.iter_mut().skip(start) {
            place.kind = SourceKind::Untrusted;
            place.confined_to = Some(project.to_owned());
        }
    }

    /// Adds the conventional folders of a project.
    fn add_project(&mut self, project: Option<Project>) {
        let Some(project) = project else { return };
        let start = self.list.len();
        for (id, folder) in project.folders {
            self.add(id, SourceKind::Project, folder, CONVENTIONAL);
        }
        self.assign(start, &project.root);
        if !project.is_trusted {
            self.distrust(start, &project.root);
        }
    }
}

impl Places {
    /// The places that exist, by their real paths.
    fn roots(&self) -> Vec<Root> {
        let places = self.list.iter();
        places.filter_map(|place| place.open().ok()).collect()
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
mod tests;
