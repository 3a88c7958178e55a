//! Putting the parts together: from flags, environment and settings to a library and a catalog.

mod folders;
mod runtime;

use std::sync::Arc;
use std::time::Duration;

use gongfu_core::account::Owner;
use gongfu_core::capability::Access;
use gongfu_core::dependency::Installs;
use gongfu_core::library::Library;
use gongfu_core::port::{
    Blobs, Clock, LocalSpaces, Materialize, PortError, Records, Sandbox, Servers, SkillStore,
    Space, SpaceParts,
};
use gongfu_core::sandbox::Level;
use gongfu_core::switches::Switches;
use gongfu_core::trust::Trusts;
use gongfu_environments::LocalEnvironments;
use gongfu_files::disk;
use gongfu_files::{FileLayers, Home, LocalRunFolders, LocalWorkspace, Mount, PrivatePaths};
use gongfu_hub::{AuditObserver, Catalog, Quota, upstream};
use gongfu_library::{JoinedSkills, LocalSkills, SwitchRecord, TrustRecord};
use gongfu_records::{FileBlobs, FileRecords};
use gongfu_sandbox::{ChangeSets, OwnerSandbox, Runner};
use gongfu_search::Search;
use tokio::task::JoinHandle;

pub(crate) use self::runtime::{message_runtime, runtime, server_runtime};
use crate::cli::Places;
use crate::clock::SystemClock;
use crate::config::Config;
use crate::connection::LiveServers;
use crate::environment::Environment;
use crate::failure::Failure;
pub(crate) use crate::home::{expanded, home};
use crate::package;
use crate::project::Workspace;
use crate::telemetry;

/// The time from the start until search is made ready, at a low priority.
const SETTLING: Duration = Duration::from_millis(250);

/// The parts of a running gongfu.
pub(crate) struct Parts {
    /// Everything of the local person.
    pub(crate) space: Space,
    /// The same skills, to be watched and listed by their places.
    pub(crate) skills: Arc<LocalSkills>,
    /// The same with those of other servers.
    joined: Arc<JoinedSkills>,
    pub(crate) search: Arc<Search>,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) sandbox: Arc<Runner>,
    pub(crate) environments: Arc<LocalEnvironments>,
    /// The characters that the catalogue of skills takes in the instructions of a server.
    pub(crate) budget: usize,
    /// The notes for a person about the folders of skills that they named.
    pub(crate) doubtful: Vec<String>,
    /// The failure that keeps gongfu's home from being written, and built-in skills away.
    pub(crate) unwritable: Option<Failure>,
    /// The folder that it works in.
    pub(crate) workspace: Workspace,
    /// The same, to be moved.
    pub(crate) files: Arc<LocalWorkspace>,
}

impl Parts {
    /// Reads the index of the search once the first answers are out.
    pub(crate) async fn settle(search: Arc<Search>) {
        // The first moment belongs to the client; then the first search needn't wait either.
        tokio::time::sleep(SETTLING).await;
        if let Err(error) = search.prepare().await {
            tracing::debug!(%error, "search isn't ready yet");
        }
    }

    /// The library as it is now, with the skills of other servers.
    pub(crate) fn library(&self) -> Result<Arc<Library>, PortError> {
        self.joined.now()
    }

    /// Puts the tools of the person's other servers into the catalog.
    pub(crate) async fn provide_servers(&self) -> Result<(), PortError> {
        let servers = self.space.servers();
        upstream::provide(&self.catalog, servers, Some(&Owner::Local)).await?;
        Ok(())
    }

    /// The same parts, with a word in the log about a home that can't be written.
    fn warned_of_home(self) -> Self {
        if let Some(failure) = &self.unwritable {
            tracing::warn!(
                "{failure}, so the built-in skills are missing; {}",
                failure.hint
            );
        }
        self
    }

    /// Logs what is doubtful.
    pub(crate) fn warn(&self) {
        for doubt in &self.doubtful {
            tracing::warn!("{doubt}");
        }
    }
}

/// gongfu's home for a server, which can inform nobody later on that there can't be one.
pub(crate) fn home_of_server(environment: &Environment) -> anyhow::Result<Home> {
    let home = home(environment)?;
    if home.is_open_to_others() {
        let path = home.path().display();
        tracing::warn!("other users can read gongfu's home: chmod 700 {path}");
    }
    Ok(home)
}

/// Puts everything together, for a command. A folder of skills that isn't there is a mistake, while a
/// server uses it once it is.
pub(crate) fn parts(environment: &Environment, places: &Places) -> anyhow::Result<Parts> {
    parts_with(environment, places, &[])
}

/// The same, with folders that the file tools reach beside the workspace.
pub(crate) fn parts_with(
    environment: &Environment,
    places: &Places,
    mounts: &[Mount],
) -> anyhow::Result<Parts> {
    Ok(unwarned_parts(environment, places, mounts)?.warned_of_home())
}

/// The same, where the caller tells the person about a home that can't be written.
pub(crate) fn unwarned_parts(
    environment: &Environment,
    places: &Places,
    mounts: &[Mount],
) -> anyhow::Result<Parts> {
    let user = environment.user.as_deref();
    for folder in &places.skills_dirs {
        folders::check_folder(&expanded(folder, user))?;
    }
    waiting_parts(FlagsOf::Person, environment, places, mounts)
}

/// The author of the flags of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FlagsOf {
    /// A person, who chose each folder.
    Person,
    /// The entry in a client's configuration, which is the same for all projects.
    Client,
    /// The operator of a server with accounts, who shares the skills with all of them.
    Operator,
}

impl FlagsOf {
    /// The author of the flags of a server.
    pub(crate) fn server(has_accounts: bool) -> Self {
        if has_accounts {
            Self::Operator
        } else {
            Self::Person
        }
    }
}

/// The same where a folder of skills that is missing is used once it is there.
pub(crate) fn parts_that_wait(
    flags: FlagsOf,
    environment: &Environment,
    places: &Places,
    mounts: &[Mount],
) -> anyhow::Result<Parts> {
    Ok(waiting_parts(flags, environment, places, mounts)?.warned_of_home())
}

fn waiting_parts(
    flags: FlagsOf,
    environment: &Environment,
    places: &Places,
    mounts: &[Mount],
) -> anyhow::Result<Parts> {
    let home = home(environment)?;
    let workspace = Workspace::of(places.workspace.as_deref(), false, environment, &home)?;
    parts_in(workspace, flags, environment, places, mounts, None)
}

/// The same for a server, which works in no folder that nobody named, with an observer of the audit.
pub(crate) fn parts_of_server(
    flags: FlagsOf,
    environment: &Environment,
    places: &Places,
    mounts: &[Mount],
    observer: AuditObserver,
) -> anyhow::Result<Parts> {
    let home = home(environment)?;
    let workspace = Workspace::of(places.workspace.as_deref(), true, environment, &home)?;
    let parts = parts_in(
        workspace,
        flags,
        environment,
        places,
        mounts,
        Some(observer),
    )?;
    Ok(parts.warned_of_home())
}

fn parts_in(
    workspace: Workspace,
    flags: FlagsOf,
    environment: &Environment,
    places: &Places,
    mounts: &[Mount],
    observer: Option<AuditObserver>,
) -> anyhow::Result<Parts> {
    mounts.iter().try_for_each(folders::check_mount)?;
    let home = home(environment)?;
    let config = Config::read(&home)?;
    let mut settings = folders::settings(flags, environment, places, &config);
    let unwritable = folders::unpack(&mut settings, &home, &config);
    let mut doubtful = folders::doubtful(&settings);
    let private = PrivatePaths::new(&home, environment.user.as_deref());
    let local_workspace = Arc::new(
        LocalWorkspace::new(workspace.folder().to_owned(), mounts)?
            .with_logs(home.logs_of(&disk::real_outside(workspace.folder())))
            .with_private(private)?,
    );
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let files = FileRecords::new(home.clone());
    let switch_file = files.path_of(&Switches::key()?);
    let trust_file = files.path_of(&Trusts::key()?);
    let records: Arc<dyn Records> = Arc::new(files);
    let servers = live_servers(environment, &home, &records, &mut doubtful);
    let switches = SwitchRecord::new(Arc::clone(&records)).in_file(switch_file);
    let trusts = TrustRecord::new(Arc::clone(&records), trust_file);
    let skills = LocalSkills::new(home.clone(), settings, switches, Arc::clone(&clock));
    let skills = Arc::new(skills.with_trusts(trusts));
    let blobs: Arc<dyn Blobs> = Arc::new(FileBlobs::new(home.clone()));
    let joined = joined(&skills, &servers, &blobs, &clock);
    let store: Arc<dyn SkillStore> = Arc::<JoinedSkills>::clone(&joined);
    let materialize: Arc<dyn Materialize> = Arc::<JoinedSkills>::clone(&joined);
    let search = Arc::new(Search::new(Arc::clone(&store), Some(home.clone())));
    let layers = Arc::new(FileLayers::new(
        home.clone(),
        Arc::clone(&materialize),
        Arc::clone(&clock),
    ));
    let interpreters = Arc::new(package::interpreters(environment, &config));
    let (programs, places) = (Arc::clone(&interpreters), Arc::clone(&skills));
    let run_folders = LocalRunFolders::new(
        home.clone(),
        Arc::clone(&materialize),
        Arc::<FileLayers>::clone(&layers),
        Arc::clone(&local_workspace),
        Box::new(move || programs.others().to_vec()),
        Box::new(move || {
            places
                .places()
                .into_iter()
                .map(|place| place.path)
                .collect()
        }),
        Arc::clone(&clock),
    )
    .with_git(environment.git());
    let changes = ChangeSets::new(home.changes());
    let wanted = config.sandbox.level.map(Level::from);
    let runner = Arc::new(config.sandbox.runner(wanted, environment));
    let environments = Arc::new(LocalEnvironments::new(
        home.clone(),
        home.clone(),
        Arc::clone(&materialize),
        interpreters,
        Arc::new(OwnerSandbox::new(builder(&runner), Owner::Local)) as Arc<dyn Sandbox>,
        Arc::clone(&clock),
        package::settings(environment, &config),
    ));
    let space = Space::new(SpaceParts {
        owner: Owner::Local,
        skills: store,
        search: Arc::<Search>::clone(&search),
        materialize,
        files: Arc::<LocalWorkspace>::clone(&local_workspace),
        layers,
        records,
        blobs,
        environments: Arc::<LocalEnvironments>::clone(&environments),
        run_folders: Arc::new(run_folders),
        changes: Arc::new(changes),
        sandbox: Arc::new(OwnerSandbox::new(Arc::clone(&runner), Owner::Local)),
        servers,
        limits: config.sandbox.limits(),
        installs: Installs {
            declared: config.dependencies.install,
            inferred: config.dependencies.auto_install,
        },
        clock,
    });
    let spaces = Arc::new(LocalSpaces::new(space.clone()));
    let observer = requests_first(&runner, observer);
    let catalog = Catalog::new(spaces, Quota::default(), Some(observer));
    Ok(Parts {
        space,
        skills,
        joined,
        search,
        catalog: Arc::new(configured(catalog, &config)),
        sandbox: runner,
        environments,
        budget: config.catalogue.budget,
        doubtful,
        unwritable,
        workspace,
        files: local_workspace,
    })
}

/// The servers of the person's connections; entries that can't be used are doubtful.
fn live_servers(
    environment: &Environment,
    home: &Home,
    records: &Arc<dyn Records>,
    doubtful: &mut Vec<String>,
) -> Arc<dyn Servers> {
    let (servers, left_out) = LiveServers::new(environment, home, records);
    doubtful.extend(left_out);
    Arc::new(servers)
}

/// The local skills with those of other servers.
fn joined(
    local: &Arc<LocalSkills>,
    servers: &Arc<dyn Servers>,
    blobs: &Arc<dyn Blobs>,
    clock: &Arc<dyn Clock>,
) -> Arc<JoinedSkills> {
    let (local, servers) = (Arc::clone(local), Arc::clone(servers));
    let (blobs, clock) = (Arc::clone(blobs), Arc::clone(clock));
    Arc::new(JoinedSkills::new(local, servers, blobs, clock))
}

/// A catalog as the settings have it.
pub(crate) fn configured(catalog: Catalog, config: &Config) -> Catalog {
    catalog
        .with_tool_budget(config.tools.budget)
        .with_approvals_from(config.approvals.threshold.into())
        .with_audit(config.audit.arguments.into())
        .with_traces(telemetry::current)
}

/// Puts the tools of other servers into the catalog, now and whenever they change: for one space, or for every one.
pub(crate) async fn offer_servers(
    catalog: &Arc<Catalog>,
    servers: Arc<dyn Servers>,
    owner: Option<Owner>,
) -> JoinHandle<()> {
    let known = upstream::provide(catalog, &servers, owner.as_ref()).await;
    let known = known.unwrap_or_else(|error| {
        tracing::warn!("the tools of other servers are left out: {error}");
        Vec::new()
    });
    let catalog = Arc::clone(catalog);
    tokio::spawn(async move {
        upstream::follow(&catalog, &servers, owner.as_ref(), known).await;
    })
}

/// The same for the local person.
pub(crate) async fn offer_own_servers(space: &Space, catalog: &Arc<Catalog>) {
    let servers = Arc::clone(space.servers());
    offer_servers(catalog, servers, Some(Owner::Local)).await;
}

/// Delays runs that wait to start a little after each request that runs nothing.
pub(crate) fn requests_first(runner: &Arc<Runner>, next: Option<AuditObserver>) -> AuditObserver {
    let runner = Arc::clone(runner);
    Arc::new(move |entry| {
        if entry.access != Access::Execute {
            runner.yield_to_request();
        }
        if entry.access == Access::Write {
            runner.note_change();
        }
        if let Some(next) = &next {
            next(entry);
        }
    })
}

/// The sandbox in which environments of packages are built, whatever the settings have scripts run
/// in: one that reaches an index.
pub(crate) fn builder(runner: &Arc<Runner>) -> Arc<Runner> {
    runner
        .for_hosts()
        .map_or_else(|| Arc::clone(runner), Arc::new)
}
