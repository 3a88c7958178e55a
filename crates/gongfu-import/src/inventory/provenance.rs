//! Asks the locks and manifests of a machine where a copy comes from, and whether it is what was installed.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use gongfu_core::skill::Digest;
use gongfu_files::disk;
use serde_json::Value;

use super::copy::SkillFolder;
use super::origin::{InstalledHash, KnownOrigin, moment, without_login};
use super::place::SkillPlace;
use super::reading::{self, Form, member, value};
use super::{FoundCopy, InventoryProblem, KnownSource, LockAgreement, Territory, clone};
use crate::discover::normal;
use crate::lock::LockDocument;
use crate::lock::npx::NpxLock;
use crate::lock::own::{LockedSkill, OwnLock, SourceKind};
use crate::origin::portable;
use crate::scope::{Scope, ScopeKind};
use crate::verify::verify;

/// The lock of `ToolHive` in a project.
const TOOLHIVE: &str = "toolhive.lock.yaml";
/// The files of `ClawHub`: the lock beside a folder of skills, and the note in a skill's own.
const CLAWHUB: [&str; 2] = [".clawhub", ".clawdhub"];

/// The locks of a place by the names of skills.
#[derive(Default)]
struct Locks {
    own: BTreeMap<String, LockedSkill>,
    /// The entries of other programs by name, the strongest first.
    named: Vec<(PathBuf, HashMap<String, KnownOrigin>)>,
}

/// Everything that says where skills come from.
pub(super) struct Witnesses {
    user: Locks,
    project: Option<Locks>,
    /// The entries of `ClawHub`, by the folder of skills.
    clawhub: HashMap<PathBuf, HashMap<String, KnownOrigin>>,
    /// The content that an entry was found for: another copy of that name may be anything.
    used: HashMap<(PathBuf, String), Option<Digest>>,
    found: HashSet<(PathBuf, String)>,
    home: PathBuf,
    project_root: Option<PathBuf>,
    problems: Vec<InventoryProblem>,
}

impl Witnesses {
    pub(super) fn read(
        territory: Territory<'_>,
        places: &[SkillPlace],
        problems: &mut Vec<InventoryProblem>,
        sources: &mut Vec<KnownSource>,
    ) -> Self {
        let home = territory.machine.home;
        let mut reader = Reader { problems, sources };
        let user = Scope::user(home, territory.state);
        let mut user_locks = reader.locks(&user);
        // `gh skill` writes it without a look at XDG_STATE_HOME.
        let other = NpxLock::of_user(home, None);
        if user
            .npx_lock
            .as_ref()
            .is_some_and(|(_, path)| *path != other)
        {
            user_locks.named.extend(reader.npx(NpxLock::User, &other));
        }
        let project = territory.project.map(|project| {
            let mut locks = reader.locks(&Scope::project(project));
            locks.named.extend(reader.toolhive(&project.join(TOOLHIVE)));
            locks.named.extend(reader.package(project));
            locks
        });
        let parents: Vec<(PathBuf, PathBuf)> = places
            .iter()
            .filter(|place| place.plugin.is_none())
            .filter_map(|place| Some((place.path.clone(), place.path.parent()?.to_owned())))
            .collect();
        let mut clawhub = HashMap::new();
        for (place, parent) in parents {
            for folder in CLAWHUB {
                if let Some(entries) = reader.clawhub(&parent.join(folder).join("lock.json")) {
                    clawhub.insert(place.clone(), entries);
                }
            }
        }
        Self {
            user: user_locks,
            project,
            clawhub,
            used: HashMap::new(),
            found: HashSet::new(),
            home: disk::real_outside(home),
            project_root: territory.project.map(disk::real_outside),
            problems: Vec::new(),
        }
    }

    /// Finds the origin of a copy, and compares it with what is known of it.
    pub(super) fn ask(
        &mut self,
        copy: &mut FoundCopy,
        folder: Option<&SkillFolder>,
        real: &Path,
        place: &SkillPlace,
    ) {
        let locks = match (copy.scope, &self.project) {
            (ScopeKind::Project, Some(project)) => project,
            _ => &self.user,
        };
        // An entry that only says that nobody knows, or where a link leads, is no answer.
        let own = locks.own.get(&copy.key);
        let own = own.filter(|own| own.kind != SourceKind::Unknown && !own.linked);
        let own = own.map(KnownOrigin::locked);
        copy.is_locked = locks.own.contains_key(&copy.key);
        copy.change = match locks.own.get(&copy.key) {
            Some(locked) if verify(&copy.folder, locked).is_empty() => LockAgreement::Same,
            Some(_) => LockAgreement::Differs,
            None => LockAgreement::Unknown,
        };
        let named = self.named(copy, folder);
        let origin = own
            .or(named)
            .or_else(|| self.noted(copy, folder, real))
            .or_else(|| {
                copy.plugin
                    .as_ref()
                    .and_then(|plugin| plugin_origin(copy, plugin))
            })
            .or_else(|| self.around(copy, real, place));
        if let (Some(origin), Some(folder), false) = (&origin, folder, copy.is_locked) {
            copy.change = agreement(&origin.hash, folder);
        }
        copy.origin = origin;
    }

    /// The entry of a lock that has the name of a copy.
    fn named(&mut self, copy: &FoundCopy, folder: Option<&SkillFolder>) -> Option<KnownOrigin> {
        if copy.plugin.is_some() {
            return None;
        }
        let own_name = copy
            .folder
            .file_name()
            .unwrap_or_default()
            .to_string_lossy();
        let names = [normal(&own_name), normal(&copy.name)];
        let locks = match (copy.scope, &self.project) {
            (ScopeKind::Project, Some(project)) => project,
            _ => &self.user,
        };
        let digest = copy.content.as_ref().map(|content| content.digest);
        for (path, entries) in &locks.named {
            let Some((name, origin)) = names
                .iter()
                .find_map(|name| Some((name, entries.get(name)?)))
            else {
                continue;
            };
            let key = (path.clone(), name.clone());
            self.found.insert(key.clone());
            let is_same = match self.used.get(&key) {
                None => true,
                Some(first) if *first == digest => true,
                Some(_) => folder
                    .is_some_and(|folder| agreement(&origin.hash, folder) == LockAgreement::Same),
            };
            if is_same {
                self.used.entry(key).or_insert(digest);
                return Some(origin.clone());
            }
        }
        let entries = self.clawhub.get(&copy.root)?;
        names.iter().find_map(|name| entries.get(name).cloned())
    }

    /// A note in the copy itself, or the package that a link leads into.
    fn noted(
        &mut self,
        copy: &FoundCopy,
        folder: Option<&SkillFolder>,
        real: &Path,
    ) -> Option<KnownOrigin> {
        let metadata = folder.and_then(|folder| folder.frontmatter.get("metadata"));
        if let Some(origin) = metadata.and_then(KnownOrigin::gh) {
            return Some(origin);
        }
        for name in CLAWHUB {
            let note = real.join(name).join("origin.json");
            if let Some(note) = value(&note, Form::Json, &mut self.problems) {
                let slug = member(&note, "slug")?;
                return Some(clawhub_origin(&note, &slug));
            }
        }
        if let Some(origin) = package_around(real, &mut self.problems) {
            return Some(origin);
        }
        let base = match (copy.scope, &self.project_root) {
            (ScopeKind::Project, Some(project)) => project,
            _ => &self.home,
        };
        let target = copy.target.as_ref()?;
        let top = real.ancestors().last().unwrap_or(real);
        let clone = clone::around(real, top, None, &mut self.problems);
        Some(
            clone.unwrap_or_else(|| {
                KnownOrigin::of("link", portable(target, base), SourceKind::Folder)
            }),
        )
    }

    /// The git repository that somebody cloned into a folder of skills.
    fn around(&mut self, copy: &FoundCopy, real: &Path, place: &SkillPlace) -> Option<KnownOrigin> {
        if copy.plugin.is_some() {
            return None;
        }
        let top = disk::real_outside(&place.path);
        // A stranger's project could name the repository of somebody else.
        let bounds = self.project_root.as_deref();
        let bounds = bounds.filter(|_| copy.scope == ScopeKind::Project);
        clone::around(real, &top, bounds, &mut self.problems)
    }

    /// Tells about entries of locks whose folders aren't there, and files that couldn't be read.
    pub(super) fn report_absent(self, problems: &mut Vec<InventoryProblem>) {
        let all = [Some(&self.user), self.project.as_ref()];
        for locks in all.into_iter().flatten() {
            for (path, entries) in &locks.named {
                let mut absent: Vec<&String> = entries
                    .keys()
                    .filter(|name| !self.found.contains(&(path.clone(), (*name).clone())))
                    .collect();
                absent.sort();
                problems.extend(absent.into_iter().map(|name| {
                    let what = format!("`{name}` is listed, and no folder of that name is there");
                    InventoryProblem::of(path, what)
                }));
            }
        }
        problems.extend(self.problems);
    }
}

/// The origin of a skill of a plugin.
fn plugin_origin(copy: &FoundCopy, plugin: &super::PluginCopy) -> Option<KnownOrigin> {
    let mut origin = plugin.origin.clone()?;
    // Below the plugin's folder the skill has the path that it has in the source.
    let name = copy.folder.file_name()?.to_str()?;
    let below = match copy.root.file_name() {
        Some(folder) if folder == "skills" => Some(format!("skills/{name}")),
        _ => None,
    };
    origin.path = match (origin.path, below) {
        (Some(path), Some(below)) => path.join(&below).ok(),
        (None, Some(below)) => gongfu_core::skill::SkillPath::new(&below).ok(),
        (path, None) => path,
    };
    Some(origin)
}

/// The agreement of a folder with what was installed.
pub(super) fn agreement(hash: &InstalledHash, folder: &SkillFolder) -> LockAgreement {
    let is_same = match hash {
        InstalledHash::Unknown => return LockAgreement::Unknown,
        InstalledHash::Npx(hash) => folder.computed_hash() == *hash,
        InstalledHash::Tree(tree) => folder.git_tree() == *tree,
    };
    if is_same {
        LockAgreement::Same
    } else {
        LockAgreement::Differs
    }
}

/// The package of `node_modules` that a folder is in.
fn package_around(real: &Path, problems: &mut Vec<InventoryProblem>) -> Option<KnownOrigin> {
    let mut above = real.ancestors();
    let modules = above.find(|folder| {
        folder
            .file_name()
            .is_some_and(|name| name == "node_modules")
    })?;
    let below = real.strip_prefix(modules).ok()?;
    let mut parts = below
        .components()
        .map(|part| part.as_os_str().to_string_lossy());
    let first = parts.next()?;
    let name = if first.starts_with('@') {
        format!("{first}/{}", parts.next()?)
    } else {
        first.into_owned()
    };
    let package = value(
        &modules.join(&name).join("package.json"),
        Form::Json,
        problems,
    );
    let version = package.and_then(|package| member(&package, "version"));
    Some(KnownOrigin::npm("node_modules", &name, version))
}

fn clawhub_origin(entry: &Value, slug: &str) -> KnownOrigin {
    let registry = member(entry, "registry").map(|registry| without_login(&registry));
    let registry = registry.unwrap_or_else(|| "clawhub".to_owned());
    let version = member(entry, "version").or(member(entry, "installedVersion"));
    KnownOrigin {
        version,
        time: moment(entry, &["installedAt"]),
        // No kind of source that gongfu can fetch.
        ..KnownOrigin::of("ClawHub", format!("{registry}/{slug}"), SourceKind::Unknown)
    }
}

struct Reader<'a> {
    problems: &'a mut Vec<InventoryProblem>,
    sources: &'a mut Vec<KnownSource>,
}

type NamedLock = (PathBuf, HashMap<String, KnownOrigin>);

impl Reader<'_> {
    fn source(&mut self, kind: &'static str, path: &Path, entries: usize) {
        self.sources.push(KnownSource {
            kind,
            name: None,
            path: path.to_owned(),
            from: None,
            entries,
        });
    }

    fn locks(&mut self, scope: &Scope) -> Locks {
        let mut locks = Locks::default();
        // A person may have a link to it, as in a repository of settings.
        match OwnLock::read(&disk::real_outside(&scope.own_lock)) {
            Ok(lock) if lock.skills.is_empty() => {}
            Ok(lock) => {
                self.source("lock", &scope.own_lock, lock.skills.len());
                locks.own = lock.skills;
            }
            Err(error) => {
                let problem = InventoryProblem::whole(&scope.own_lock, error.message);
                self.problems.push(problem);
            }
        }
        if let Some((kind, path)) = &scope.npx_lock {
            locks.named.extend(self.npx(*kind, path));
        }
        locks
    }

    fn npx(&mut self, kind: NpxLock, path: &Path) -> Option<NamedLock> {
        let lock: LockDocument =
            reading::lock(kind.read(&disk::real_outside(path)), path, self.problems)?;
        lock.members.as_ref()?;
        let raw = lock.skills().ok()?;
        let by = match kind {
            NpxLock::User => ".skill-lock.json",
            NpxLock::Project => "skills-lock.json",
        };
        let entries = kind.entries(&lock).ok()?.into_iter().map(|(name, entry)| {
            let raw = raw.get(&name).unwrap_or(&Value::Null);
            (normal(&name), KnownOrigin::npx(by, &entry, raw))
        });
        let entries: HashMap<String, KnownOrigin> = entries.collect();
        self.source("lock", path, entries.len());
        Some((path.to_owned(), entries))
    }

    fn toolhive(&mut self, path: &Path) -> Option<NamedLock> {
        let lock = value(path, Form::Yaml, self.problems)?;
        let list = lock.get("skills").unwrap_or(&lock);
        let entries: Vec<(Option<&String>, &Value)> = match list {
            Value::Array(list) => list.iter().map(|entry| (None, entry)).collect(),
            Value::Object(map) => map
                .iter()
                .map(|(name, entry)| (Some(name), entry))
                .collect(),
            _ => Vec::new(),
        };
        let entries = entries.into_iter().filter_map(|(key, entry)| {
            let name = member(entry, "name").or(key.cloned())?;
            let reference = member(entry, "resolvedReference").or(member(entry, "reference"))?;
            let origin = KnownOrigin {
                artifact: member(entry, "digest"),
                version: member(entry, "version"),
                ..KnownOrigin::of("ToolHive", without_login(&reference), SourceKind::Unknown)
            };
            Some((normal(&name), origin))
        });
        let entries: HashMap<String, KnownOrigin> = entries.collect();
        self.source("lock", path, entries.len());
        Some((path.to_owned(), entries))
    }

    /// The skills that a project's `package.json` names.
    fn package(&mut self, project: &Path) -> Option<NamedLock> {
        let path = project.join("package.json");
        let package = value(&path, Form::Json, self.problems)?;
        let skills = package.get("skills")?.as_array()?.clone();
        let mut entries = HashMap::new();
        for text in skills.iter().filter_map(Value::as_str) {
            // `OWNER/REPO@SKILL` names one; a whole package or repository names none.
            if let Some((source, skill)) = text.rsplit_once('@')
                && !text.starts_with("npm:")
                && !skill.is_empty()
            {
                let origin = KnownOrigin::git("package.json", source);
                entries.insert(normal(skill), origin);
            }
        }
        self.source("package", &path, skills.len());
        Some((path, entries))
    }

    fn clawhub(&mut self, path: &Path) -> Option<HashMap<String, KnownOrigin>> {
        let lock = value(path, Form::Json, self.problems)?;
        let skills = lock.get("skills")?.as_object()?;
        let entries = skills
            .iter()
            .map(|(slug, entry)| (normal(slug), clawhub_origin(entry, slug)));
        let entries: HashMap<String, KnownOrigin> = entries.collect();
        self.source("lock", path, entries.len());
        Some(entries)
    }
}
