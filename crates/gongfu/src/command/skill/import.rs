//! The parts that the commands about imported skills share: their place, and a source that is fetched and staged.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use gongfu_core::netrc::Netrc;
use gongfu_core::skill::SkillPath;
use gongfu_files::disk::Root;
use gongfu_files::{HeldFolder, Home};
use gongfu_import::agents::{AGENTS, Machine};
use gongfu_import::cache::Cache;
use gongfu_import::candidate::{Candidate, StagedSkill, stage};
use gongfu_import::discover::FoundSkill;
use gongfu_import::error::{ImportCode, ImportError};
use gongfu_import::fetch::any::{Delivery, Fetcher};
use gongfu_import::fetch::git::{Git, GitSettings};
use gongfu_import::place::{Outcome, Overwrite, Placement};
use gongfu_import::scope::{Scope, ScopeKind};
use gongfu_import::source::{GitSource, Source};
use gongfu_import::target::ALWAYS;
use gongfu_library::walk::NAMED;
use ureq::tls::TlsConfig;

use crate::accounts::tls;
use crate::cli::{NewTarget, PlaceArguments};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::project;
use crate::terminal::{Terminal, plain};

/// The longest `.netrc` that is read, in bytes.
const MAX_NETRC: u64 = 1024 * 1024;

/// The place that a person names, in which no import is unfinished.
///
/// # Errors
/// There is no project or no home folder.
pub(super) fn scope(
    place: &PlaceArguments,
    environment: &Environment,
    home: &Home,
) -> anyhow::Result<Scope> {
    let user = environment.user.as_deref();
    let scope = match place.target {
        NewTarget::Home => Scope::home(home),
        NewTarget::User => {
            let user = user.context("there is no home folder; use --in project or --in home")?;
            Scope::user(user, environment.state.as_deref())
        }
        NewTarget::Project => {
            let root = project::root(place.workspace.as_deref(), environment, home)?;
            Scope::project(&root)
        }
    };
    recover(&scope, home);
    Ok(scope)
}

/// Finishes what a killed import left in a place, so that its locks agree with its skills. A place that can't be written
/// is read as it is.
pub(in crate::command) fn recover(scope: &Scope, home: &Home) {
    let _ = gongfu_files::transaction::recover(home, scope.staging());
}

/// The folders of agents that get links: those that a project has, or that are installed.
pub(super) fn clients(scope: &Scope, environment: &Environment) -> Vec<PathBuf> {
    let Some(machine) = machine(environment) else {
        return Vec::new();
    };
    let others = AGENTS.iter().filter(|agent| !agent.is_shared());
    let mut folders: Vec<PathBuf> = match scope.kind {
        // A folder such as `skills` can be anything.
        ScopeKind::Project => others
            .filter(|agent| {
                let is_made = agent.id == ALWAYS && agent.is_installed(machine, &scope.base);
                agent.project.starts_with('.') && (is_made || agent.is_used_in(&scope.base))
            })
            .map(|agent| scope.base.join(agent.project))
            .collect(),
        ScopeKind::User => others
            .filter(|agent| agent.is_installed(machine, Path::new("/")))
            .filter_map(|agent| agent.user_folder(machine))
            .collect(),
        ScopeKind::Home => Vec::new(),
    };
    folders.sort();
    folders.dedup();
    folders
}

/// The machine of a person who has a home folder.
pub(in crate::command) fn machine(environment: &Environment) -> Option<Machine<'_>> {
    Some(Machine {
        home: environment.user.as_deref()?,
        variable: &Environment::folder_of_agent,
    })
}

/// A failure of an import, for people and programs.
pub(in crate::command) fn failure(error: ImportError) -> Failure {
    let (code, message, hint) = (
        error.code.as_str(),
        plain(&error.message),
        plain(&error.hint),
    );
    match error.code {
        ImportCode::SourceInvalid => Failure::usage(code, message, hint),
        _ => Failure::new(code, message, hint),
    }
}

/// A skill that a person names, and that no lock of the place has.
pub(super) fn not_locked(name: &str, scope: &Scope, hint: &str) -> Failure {
    let lock = plain(&scope.own_lock.to_string_lossy());
    let message = format!("{} isn't in {lock}", plain(name));
    Failure::new("NOT_LOCKED", message, hint)
}

/// Tells where the versions of a person are kept that were replaced.
pub(super) fn kept(outcome: &Outcome, terminal: &mut Terminal) {
    for (_, kept) in &outcome.kept {
        let kept = plain(&kept.to_string_lossy());
        terminal.note(&format!("your version is kept: {kept}"));
    }
}

/// Fetches sources into folders of gongfu's home.
pub(in crate::command) struct Importer<'a> {
    pub(in crate::command) home: &'a Home,
    pub(in crate::command) scope: &'a Scope,
    git: GitSettings,
    tls: TlsConfig,
    logins: Netrc,
}

/// A source that was fetched, with the folder that has its files.
pub(in crate::command) struct Download {
    pub(in crate::command) delivery: Delivery,
    temporary: HeldFolder,
    /// The number of times that skills of it were staged.
    stages: usize,
}

impl<'a> Importer<'a> {
    pub(in crate::command) fn new(
        environment: &Environment,
        home: &'a Home,
        scope: &'a Scope,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            git: GitSettings {
                has_ssh_command: environment.git_ssh_command.is_some(),
            },
            tls: tls(environment.packages.certificates.as_deref())?,
            logins: logins(environment),
            home,
            scope,
        })
    }

    /// The commit that a repository's branch or tag is at.
    pub(super) fn commit(&self, source: &GitSource) -> Result<String, ImportError> {
        Git::new(self.git)
            .resolve(source)
            .map(|remote| remote.commit)
    }

    /// Fetches a source; of an index, only the skills of these names.
    pub(in crate::command) fn fetch(
        &self,
        source: &Source,
        names: &[String],
        full_depth: bool,
    ) -> Result<Download, ImportError> {
        let temporary = temporary(self.home)?;
        let fetched = temporary.root().dir().create_dir("fetched");
        let folder = temporary.root().path().join("fetched");
        let folder = fetched.and_then(|()| Root::open(&folder));
        let fetcher = Fetcher {
            git: self.git,
            tls: self.tls.clone(),
            logins: &self.logins,
            temporary: &folder.map_err(|error| unwritable(&error))?,
            base: &self.scope.base,
        };
        let delivery = fetcher.fetch(source, names, full_depth)?;
        Ok(Download {
            delivery,
            temporary,
            stages: 0,
        })
    }

    /// Copies staged skills into the cache, so that their lock can be installed without a network.
    pub(super) fn remember(
        &self,
        download: &Download,
        staged: &[StagedSkill],
    ) -> Result<(), ImportError> {
        let cache = Cache::open(self.home);
        let put = cache.and_then(|cache| cache.put(staged, download.temporary.root()));
        put.map_err(|error| unwritable(&error))
    }
}

impl Download {
    /// Stages skills of the source, and checks them.
    pub(in crate::command) fn stage(
        &mut self,
        chosen: Vec<FoundSkill>,
    ) -> Result<Vec<StagedSkill>, ImportError> {
        self.stages += 1;
        let name = format!("staged-{}", self.stages);
        let root = self.temporary.root();
        let into = root.dir().create_dir(&name);
        let into = into.and_then(|()| Root::open(&root.path().join(&name)));
        self.stage_into(chosen, &into.map_err(|error| unwritable(&error))?)
    }

    /// Stages skills of the source in a folder that the caller removes.
    pub(in crate::command) fn stage_into(
        &mut self,
        chosen: Vec<FoundSkill>,
        into: &Root,
    ) -> Result<Vec<StagedSkill>, ImportError> {
        let candidates = candidates(&self.delivery, chosen)?;
        let mut staged = stage(&mut self.delivery.content, candidates, into)?;
        for skill in &mut staged {
            skill.findings = findings(skill);
        }
        Ok(staged)
    }

    /// The placement of a staged skill under a key of gongfu's lock.
    pub(super) fn placement(&self, key: &str, skill: &StagedSkill, scope: &Scope) -> Placement {
        let origin = &self.delivery.origin;
        let npx = scope.npx_lock.as_ref().and_then(|(kind, _)| {
            let entry = origin.npx_entry(*kind, skill, &scope.base)?;
            Some((skill.found.name.clone(), entry))
        });
        Placement {
            key: key.to_owned(),
            staged: skill.staged.clone(),
            locked: origin.locked(skill),
            npx,
            before: Overwrite::Nothing,
        }
    }
}

/// The logins of the person's `.netrc`; none where it can't be read.
fn logins(environment: &Environment) -> Netrc {
    let named = environment.packages.netrc.clone();
    let user = environment.user.as_deref();
    let file = named.or_else(|| Some(user?.join(".netrc")));
    let text = file.and_then(|file| {
        let name = SkillPath::new(file.file_name()?.to_str()?).ok()?;
        Root::open(file.parent()?).ok()?.read(&name, MAX_NETRC).ok()
    });
    text.map_or_else(Netrc::default, |text| {
        Netrc::parse(&String::from_utf8_lossy(&text.bytes))
    })
}

/// The files of the chosen skills; no two go to one folder.
fn candidates(delivery: &Delivery, chosen: Vec<FoundSkill>) -> Result<Vec<Candidate>, ImportError> {
    let mut folders: BTreeMap<String, String> = BTreeMap::new();
    let mut candidates = Vec::with_capacity(chosen.len());
    for found in chosen {
        let name = found.name.clone();
        let candidate = Candidate::of(&delivery.content, found, delivery.choice)?;
        if let Some(other) = folders.insert(candidate.folder.clone(), name.clone()) {
            let message = format!(
                "the skills `{other}` and `{name}` would both go to the folder `{}`",
                candidate.folder
            );
            let hint = "choose one with --skill and its folder in the source";
            return Err(ImportError::new(ImportCode::SkillNameTaken, message, hint));
        }
        candidates.push(candidate);
    }
    Ok(candidates)
}

/// The codes of what is wrong with a staged skill, errors and warnings alone.
fn findings(skill: &StagedSkill) -> Vec<String> {
    use gongfu_core::skill::Severity;

    let verdicts = gongfu_library::check::check(&skill.staged, &[], NAMED, false);
    let found = verdicts.iter().flat_map(|verdict| &verdict.diagnostics);
    let found = found.filter(|found| found.severity() != Severity::Info);
    let mut codes: Vec<String> = found.map(|found| found.finding.code().to_owned()).collect();
    codes.sort();
    codes.dedup();
    codes
}

/// A folder of gongfu's home that ends with the command.
///
/// # Errors
/// The home can't be written.
pub(super) fn temporary(home: &Home) -> Result<HeldFolder, ImportError> {
    let imports = home.folder("imports");
    let folder = imports.and_then(|imports| HeldFolder::new(&imports, "fetch-"));
    folder.map_err(|error| unwritable(&error))
}

pub(super) fn unwritable(error: &io::Error) -> ImportError {
    let message = format!("gongfu's home can't be written: {error}");
    let hint = "check the disk and the permissions of gongfu's home";
    ImportError::new(ImportCode::PlaceUnwritable, message, hint)
}
