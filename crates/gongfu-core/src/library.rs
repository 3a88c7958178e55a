//! The library: the skills of many sources, and the rules that resolve a name to one of them.
//!
//! Pure rules: the order of sources, which skill wins a name, and suggestions for a wrong one. Nothing
//! here knows how skills are found or kept.

mod addresses;
mod use_counts;
mod version;

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

pub use addresses::{AddressTable, path_below};
pub use use_counts::UseCounts;
pub use version::SkillVersion;

use crate::near;
use crate::skill::name::NameError;
use crate::skill::{Diagnostic, Digest, FileEntry, SkillName, SkillPath};

/// The limit of names in an answer about an unknown skill.
pub const MAX_NEAREST: usize = 200;

/// The kind of a source of skills; in order of precedence, the first one wins a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SourceKind {
    /// The skills of an account of a server.
    Account,
    /// Named by `--skills-dir` or the configuration.
    Explicit,
    /// A conventional folder of a project that a person trusts.
    Project,
    /// Named by an environment variable.
    Environment,
    /// A conventional folder of the user, or gongfu's own below its home.
    User,
    /// A folder for everybody on this machine.
    System,
    /// Comes with gongfu.
    BuiltIn,
    /// Offered by another MCP server: it takes no name from a source before it.
    Server,
    /// A conventional folder of a project that nobody trusted yet: it takes no name from another source.
    Untrusted,
}

/// The id of the source of a user's own skills, on a server with accounts.
pub const OWN_SOURCE: &str = "own";

/// A place where skills come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Its name: lower-case letters, digits and hyphens, unique in a library.
    pub id: Arc<str>,
    /// Its kind.
    pub kind: SourceKind,
    /// The folder, for people; of a server, the name of its connection.
    pub root: String,
    /// The project that it belongs to, if it belongs to one.
    pub project: Option<Arc<str>>,
}

/// The number of findings of each severity of a skill.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingCount {
    /// Findings of severity error.
    pub errors: usize,
    /// Findings of severity warning.
    pub warnings: usize,
    /// Findings of severity info.
    pub infos: usize,
    /// The errors that a host finds that is given the files under the skill's name: all but that
    /// its folder is called otherwise. With one of them it is no skill of the format.
    pub breaches: usize,
}

impl FindingCount {
    /// Counts findings.
    pub fn of<'a>(diagnostics: impl IntoIterator<Item = &'a Diagnostic>) -> Self {
        let mut count = Self::default();
        for found in diagnostics {
            match found.severity() {
                crate::skill::Severity::Error => count.errors += 1,
                crate::skill::Severity::Warning => count.warnings += 1,
                crate::skill::Severity::Info => count.infos += 1,
            }
            count.breaches += usize::from(found.is_breach());
        }
        count
    }

    /// All of them.
    pub fn total(&self) -> usize {
        self.errors + self.warnings + self.infos
    }
}

impl Source {
    /// Returns true if its skills come from somebody whom the person doesn't trust with names.
    fn is_strange(&self) -> bool {
        matches!(self.kind, SourceKind::Server | SourceKind::Untrusted)
    }
}

/// A skill of the library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// The name that it declares.
    pub name: SkillName,
    /// `<source id>/<path below the source's root>`; unique by construction.
    pub full_name: Arc<str>,
    /// Its purpose and when to use it.
    pub description: String,
    /// Every field of its frontmatter, as JSON text.
    pub frontmatter: Box<str>,
    /// The id of its source.
    pub source: Arc<str>,
    /// Its folder below the root of its source.
    pub folder: SkillPath,
    /// The folder, absolute, for people.
    pub path: String,
    /// Its files by path, SKILL.md included.
    pub files: Arc<[FileEntry]>,
    /// The other files that a run sees: those in hidden folders, installed packages, and those too large to be read, each
    /// with the digest of its stamp. Empty unless the store was asked for them.
    pub unlisted: Arc<[FileEntry]>,
    /// The number of findings of a check.
    pub findings: FindingCount,
    /// True if its owner has it switched on.
    pub enabled: bool,
}

impl Skill {
    /// The digest of all its files. A file that was too large to read counts by its length, unless the
    /// unlisted files are known.
    pub fn digest(&self) -> Digest {
        let lines = self.files.iter().chain(&*self.unlisted).map(|file| {
            let content = file.digest.map(|digest| digest.to_string());
            let content = content.unwrap_or_else(|| file.size.to_string());
            format!("{}\0{content}\n", file.path)
        });
        Digest::of(lines.collect::<String>().as_bytes())
    }

    /// The identity of a skill from a source of this kind, which stays when the source gets another name: its folder, or
    /// the full name of a built-in skill, because that folder changes with every version.
    pub fn identity(&self, kind: Option<SourceKind>) -> &str {
        match kind {
            Some(SourceKind::BuiltIn) => &self.full_name,
            _ => &self.path,
        }
    }

    /// The length of all files in bytes.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }
}

/// A folder that holds something like a skill which can't be loaded, or a place that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unloadable {
    /// The folder, absolute, for people.
    pub path: String,
    /// Why.
    pub diagnostics: Vec<Diagnostic>,
}

/// The number of one state of a library; a later state has a higher one.
///
/// Counted by the store that the library comes from, from nothing with each start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(pub u64);

impl Revision {
    /// The one behind this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }
}

/// Skills by precedence, with the names that reach them.
#[derive(Debug, Clone, Default)]
pub struct Library {
    revision: Revision,
    skills: Vec<Arc<Skill>>,
    sources: Vec<Source>,
    unloadable: Vec<Unloadable>,
    /// The ids of the sources of other servers, and of projects that nobody trusted yet.
    strange: HashSet<Arc<str>>,
    /// The folded names of the folders of one's own skills that can't be loaded.
    broken: HashSet<String>,
    uses: Arc<UseCounts>,
    by_full_name: HashMap<Arc<str>, usize>,
    /// Folded name to the skills that answer to it, by precedence.
    by_name: HashMap<String, Vec<usize>>,
    /// Computed when first needed.
    addresses: OnceLock<Arc<AddressTable>>,
    /// The places of the enabled skills that hold their bare names; computed when first needed.
    reachable: OnceLock<Vec<usize>>,
}

/// Why a name reaches no skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResolveError {
    /// It can't be the name of any skill.
    Invalid(NameError),
    /// There is no such skill.
    Unknown {
        /// Names that exist, nearest first, at most [`MAX_NEAREST`].
        nearest: Vec<String>,
        /// The number of names.
        total: usize,
    },
    /// It is switched off.
    Disabled {
        /// The full name of the skill that was meant.
        full_name: Arc<str>,
    },
}

impl Library {
    /// Puts a library together from skills in order of precedence.
    pub fn new(sources: Vec<Source>, skills: Vec<Arc<Skill>>, unloadable: Vec<Unloadable>) -> Self {
        let strange = sources.iter().filter(|source| source.is_strange());
        let mut library = Self {
            broken: broken(&sources, &unloadable),
            strange: strange.map(|source| Arc::clone(&source.id)).collect(),
            sources,
            unloadable,
            by_full_name: HashMap::with_capacity(skills.len()),
            by_name: HashMap::with_capacity(skills.len()),
            ..Self::default()
        };
        for (at, skill) in skills.iter().enumerate() {
            library
                .by_full_name
                .entry(Arc::clone(&skill.full_name))
                .or_insert(at);
            library
                .by_name
                .entry(near::folded(skill.name.as_str()))
                .or_default()
                .push(at);
        }
        library.skills = skills;
        library
    }

    /// The same library with the skills of other servers, which come before those of projects that nobody trusted yet.
    #[must_use]
    pub fn with_servers(&self, sources: Vec<Source>, skills: Vec<Arc<Skill>>) -> Self {
        let (mut all_sources, mut all_skills) = (self.sources.clone(), self.skills.clone());
        let is_untrusted = |source: &Source| source.kind == SourceKind::Untrusted;
        let behind = all_sources.iter().position(is_untrusted);
        let untrusted = all_sources.split_off(behind.unwrap_or(all_sources.len()));
        let ids: HashSet<&str> = untrusted.iter().map(|source| &*source.id).collect();
        let behind = all_skills
            .iter()
            .position(|skill| ids.contains(&*skill.source));
        let untrusted_skills = all_skills.split_off(behind.unwrap_or(all_skills.len()));
        all_sources.extend(sources.into_iter().chain(untrusted));
        all_skills.extend(skills.into_iter().chain(untrusted_skills));
        Self::new(all_sources, all_skills, self.unloadable.clone())
            .with_uses(Arc::clone(&self.uses))
    }

    /// The same library, as this state of it.
    #[must_use]
    pub fn at(self, revision: Revision) -> Self {
        Self { revision, ..self }
    }

    /// The same library, whose catalogues put the skills first that were used most.
    #[must_use]
    pub fn with_uses(self, uses: Arc<UseCounts>) -> Self {
        Self { uses, ..self }
    }

    /// Returns the revision of this library.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// The addresses of the skills as resources.
    pub fn addresses(&self) -> &Arc<AddressTable> {
        self.addresses
            .get_or_init(|| Arc::new(AddressTable::new(self)))
    }

    /// All skills in order of precedence, disabled ones included.
    pub fn skills(&self) -> &[Arc<Skill>] {
        &self.skills
    }

    /// The sources in order of precedence.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// The project that nobody trusted yet, if a skill comes from one.
    pub fn untrusted_project(&self, skill: &Skill) -> Option<&Arc<str>> {
        let mut sources = self.sources.iter();
        let source = sources.find(|source| source.id == skill.source)?;
        source.project.as_ref().filter(|_| !self.is_own(skill))
    }

    /// The connection whose server offers a skill, if one does.
    pub fn connection(&self, skill: &Skill) -> Option<&str> {
        let mut sources = self.sources.iter();
        let source = sources.find(|source| source.id == skill.source)?;
        (source.kind == SourceKind::Server).then_some(&*source.root)
    }

    /// Returns whether a skill comes from no other server, and from no project that nobody trusted yet.
    pub fn is_own(&self, skill: &Skill) -> bool {
        !self.strange.contains(&skill.source)
    }

    /// Returns the skills that can't be loaded or were left out.
    pub fn unloadable(&self) -> &[Unloadable] {
        &self.unloadable
    }

    /// The identity of a skill of this library.
    pub fn identity<'a>(&self, skill: &'a Skill) -> &'a str {
        let mut sources = self.sources.iter();
        let source = sources.find(|source| source.id == skill.source);
        skill.identity(source.map(|source| source.kind))
    }

    /// Puts skills into the order of a catalogue: those of the project, those of the person, then the
    /// others; among each, those that were used most, then by precedence as they are.
    pub fn sort_for_catalogue(&self, skills: &mut [&Skill]) {
        let sources = self.sources.iter();
        let kinds: HashMap<&str, SourceKind> =
            sources.map(|source| (&*source.id, source.kind)).collect();
        skills.sort_by_cached_key(|skill| {
            let kind = kinds.get(&*skill.source).copied();
            let group = match kind {
                Some(SourceKind::Project) => 0,
                Some(SourceKind::User) => 1,
                _ => 2,
            };
            (group, Reverse(self.uses.of(skill.identity(kind))))
        });
    }

    /// The skill that a bare or full name means.
    ///
    /// A full name is exact. A bare name means the first enabled skill of exactly that name in
    /// order of precedence; letter case, `_` and `-` count only when that tells two apart. One of a project that
    /// nobody trusted yet has no name that another skill answers to, even a disabled one or one that can't be loaded.
    pub fn resolve(&self, wanted: &str) -> Result<&Arc<Skill>, ResolveError> {
        if let Some(skill) = self
            .by_full_name
            .get(wanted)
            .and_then(|&at| self.skills.get(at))
        {
            return enabled(skill);
        }
        let plausible =
            wanted.contains('/') && wanted.split('/').all(|part| SkillName::new(part).is_ok());
        if let Err(error) = SkillName::new(wanted)
            && !plausible
        {
            return Err(ResolveError::Invalid(error));
        }
        match self.holder(wanted) {
            Some(skill) => enabled(skill),
            None => Err(self.unknown(wanted)),
        }
    }

    /// The skill that somebody means who enables or disables it.
    ///
    /// Of several with one bare name, the first that would change.
    pub fn resolve_switch(&self, wanted: &str, enabled: bool) -> Result<&Arc<Skill>, ResolveError> {
        let mut named = self.rivals(wanted).into_iter();
        let is_meant = |skill: &&Arc<Skill>| is_exact(skill, wanted) && skill.enabled != enabled;
        if let Some(skill) = named.find(is_meant) {
            return Ok(skill);
        }
        match self.resolve(wanted) {
            Err(ResolveError::Disabled { full_name }) => {
                let at = self.by_full_name.get(&full_name).copied();
                let skill = at.and_then(|at| self.skills.get(at));
                skill.ok_or_else(|| self.unknown(wanted))
            }
            other => other,
        }
    }

    /// Something in the library that can't be loaded, by the name of its folder.
    pub fn unloadable_named(&self, name: &str) -> Option<&Unloadable> {
        self.unloadable
            .iter()
            .find(|left| folder_name(&left.path) == name)
    }

    /// Returns the name that reaches a skill: its own, or its full name when another skill holds that.
    pub fn name_of<'a>(&self, skill: &'a Skill) -> &'a str {
        if self.holds_name(skill) {
            skill.name.as_str()
        } else {
            &skill.full_name
        }
    }

    /// The enabled skills that their bare names mean, in order of precedence.
    pub fn reachable(&self) -> impl Iterator<Item = &Arc<Skill>> {
        let places = self.reachable.get_or_init(|| {
            let all = self.skills.iter().enumerate();
            let holding = all.filter(|(_, skill)| skill.enabled && self.holds_name(skill));
            holding.map(|(at, _)| at).collect()
        });
        places.iter().filter_map(|&at| self.skills.get(at))
    }

    /// Returns whether the bare name of a skill means this one.
    pub fn holds_name(&self, skill: &Skill) -> bool {
        let holder = self.holder(skill.name.as_str());
        holder.is_some_and(|holder| holder.full_name == skill.full_name)
    }

    /// Returns the skill that holds the bare name of a skill, when that is another one.
    pub fn shadowed_by(&self, skill: &Skill) -> Option<&Arc<Skill>> {
        let winner = self.holder(skill.name.as_str())?;
        (winner.full_name != skill.full_name).then_some(winner)
    }

    /// The skills of exactly this name in order of precedence, disabled ones included.
    pub fn named(&self, name: &str) -> Vec<&Arc<Skill>> {
        let mut skills = self.answering(name);
        skills.retain(|skill| is_exact(skill, name));
        skills
    }

    /// The skills that answers by name leave out, because this one holds their name.
    pub fn shadows(&self, skill: &Skill) -> Vec<&Arc<Skill>> {
        if !skill.enabled || self.shadowed_by(skill).is_some() {
            return Vec::new();
        }
        let mut others = self.named(skill.name.as_str());
        others.retain(|other| other.enabled && other.full_name != skill.full_name);
        others
    }

    /// The skill that holds a bare name: the first enabled one, else the first.
    fn holder(&self, name: &str) -> Option<&Arc<Skill>> {
        let mut rivals = self.rivals(name);
        if rivals.iter().any(|skill| is_exact(skill, name)) {
            rivals.retain(|skill| is_exact(skill, name));
        }
        let mut enabled = rivals.iter().filter(|rival| rival.enabled);
        enabled.next().or(rivals.first()).copied()
    }

    /// The skills that may hold a bare name: one's own, and only without one those of strangers.
    fn rivals(&self, name: &str) -> Vec<&Arc<Skill>> {
        let mut rivals = self.answering(name);
        let is_taken = rivals.iter().any(|skill| self.is_own(skill));
        if is_taken || self.broken.contains(&near::folded(name)) {
            rivals.retain(|skill| self.is_own(skill));
        }
        rivals
    }

    fn answering(&self, name: &str) -> Vec<&Arc<Skill>> {
        let places = self.by_name.get(&near::folded(name));
        places
            .into_iter()
            .flatten()
            .filter_map(|&at| self.skills.get(at))
            .collect()
    }

    fn unknown(&self, wanted: &str) -> ResolveError {
        let names: std::collections::BTreeSet<&str> = self
            .skills
            .iter()
            .filter(|skill| skill.enabled)
            .map(|skill| skill.name.as_str())
            .collect();
        let total = names.len();
        // Of a full name, what comes after the source.
        let name = wanted.rsplit('/').next().unwrap_or(wanted);
        let nearest = near::nearest_first(name, names)
            .into_iter()
            .take(MAX_NEAREST)
            .map(str::to_owned)
            .collect();
        ResolveError::Unknown { nearest, total }
    }
}

/// The folded names of the folders that can't be loaded, outside of projects that nobody trusted yet.
fn broken(sources: &[Source], unloadable: &[Unloadable]) -> HashSet<String> {
    let untrusted = sources.iter();
    let untrusted = untrusted.filter(|source| source.kind == SourceKind::Untrusted);
    let roots: Vec<&str> = untrusted.map(|source| source.root.as_str()).collect();
    let is_own = |left: &&Unloadable| {
        let mut roots = roots.iter();
        !roots.any(|root| left.path == *root || path_below(&left.path, root).is_some())
    };
    let own = unloadable.iter().filter(is_own);
    own.map(|left| near::folded(folder_name(&left.path)))
        .collect()
}

fn folder_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or_default()
}

fn is_exact(skill: &Skill, name: &str) -> bool {
    skill.name.as_str() == name.trim()
}

fn enabled(skill: &Arc<Skill>) -> Result<&Arc<Skill>, ResolveError> {
    if skill.enabled {
        Ok(skill)
    } else {
        Err(ResolveError::Disabled {
            full_name: Arc::clone(&skill.full_name),
        })
    }
}

#[cfg(test)]
mod tests;
