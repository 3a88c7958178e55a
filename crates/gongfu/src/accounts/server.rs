//! A running server with accounts.

use std::sync::Arc;
use std::time::Duration;

use gongfu_core::dependency::Installs;
use gongfu_core::library::OWN_SOURCE;
use gongfu_core::port::{Clock, LogChain, Materialize, Records, SkillStore};
use gongfu_core::registry::oauth::{AuthorizationServer, OAuthSettings};
use gongfu_core::set::{SetChoice, Sets};
use gongfu_files::disk::{self, Root};
use gongfu_files::{Home, PrivatePaths};
use gongfu_hub::agent::ChatAgent;
use gongfu_hub::{AuditObserver, Catalog, Quota};
use gongfu_library::{LocalSkills, SharedSkills};
use gongfu_records::FileRecords;
use gongfu_server::{
    AccountApiParts, ApiParts, MCP_PATH, OAuthParts, RateLimits, RateSettings, TeamsChanged,
};
use gongfu_upstream::UserServers;
use tokio::task::JoinHandle;

use super::client_document::HttpsDocuments;
use super::connection::{offer, user_servers};
use super::part::SharedParts;
use super::removal::{Folders, remove_deleted};
use super::sso::with_sso;
use super::team::{TEAM_SOURCE, TeamWatch};
use super::{AccountSpaces, ServerAccounts, skill_dir};
use crate::agent::agent;
use crate::cli::Profiles;
use crate::clock::SystemClock;
use crate::config::{Config, GrantSetting};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::package;
use crate::terminal::plain;
use crate::wiring::{self, Parts};

/// The file that the one server of a home holds locked.
pub(super) const LOCK: &str = "server.db.lock";
/// The time between two looks for the data of deleted users.
const REMOVAL_INTERVAL: Duration = Duration::from_mins(1);

/// A running server with accounts.
pub(crate) struct AccountServer<'a> {
    pub(crate) open: Arc<ServerAccounts>,
    home: &'a Home,
    config: &'a Config,
    environment: &'a Environment,
    teams: Arc<TeamWatch>,
    /// The other servers that the operator offers to users.
    pub(crate) servers: Arc<UserServers>,
    /// The work beside requests.
    tasks: Vec<JoinHandle<()>>,
    /// Nobody else serves these accounts.
    _lock: std::fs::File,
}

impl<'a> AccountServer<'a> {
    /// Opens the accounts of a home for the only server that serves them. `issuer` is its URL.
    ///
    /// # Errors
    /// The database or the key can't be used, or another server serves them.
    pub(crate) async fn start(
        home: &'a Home,
        config: &'a Config,
        environment: &'a Environment,
        issuer: &str,
    ) -> anyhow::Result<Self> {
        let root = home
            .open()
            .map_err(|error| crate::home::unusable(home, &error))?;
        let lock = lock(&root)?;
        let mut open = super::open(home, config, issuer).await?;
        open.accounts = with_sso(open.accounts, config, environment)?;
        let open = Arc::new(open);
        let folders = Folders::of(home, config, environment)?;
        let accounts = Arc::clone(&open);
        let removal = tokio::spawn(async move {
            loop {
                if let Err(error) = remove_deleted(&accounts, &folders).await {
                    tracing::warn!("{error:#}");
                }
                if let Err(error) = accounts.accounts.store_uses().await {
                    tracing::warn!(%error, "the last uses of tokens aren't stored");
                }
                tokio::time::sleep(REMOVAL_INTERVAL).await;
            }
        });
        let (teams, watching) = TeamWatch::start(open.accounts.clone());
        Ok(Self {
            open,
            home,
            config,
            environment,
            teams,
            servers: Arc::new(user_servers(home, config, environment)),
            tasks: vec![removal, watching],
            _lock: lock,
        })
    }

    /// The catalog over the spaces of the users; the parts share the operator's skills with them.
    ///
    /// # Errors
    /// The folder of the accounts' skills can't be one.
    pub(crate) async fn catalog(
        &mut self,
        parts: &Parts,
        observer: AuditObserver,
    ) -> anyhow::Result<Arc<Catalog>> {
        let (home, config, environment) = (self.home, self.config, self.environment);
        let shared = SharedParts {
            home: home.clone(),
            skill_dir: skill_dir(home, config, environment)?,
            database: Arc::clone(&self.open.database),
            skills: SharedSkills {
                skills: Arc::clone(&parts.skills) as Arc<dyn SkillStore>,
                folders: Arc::clone(&parts.skills) as Arc<dyn Materialize>,
                records: Arc::new(FileRecords::new(home.clone())) as Arc<dyn Records>,
            },
            runner: Arc::clone(&parts.sandbox),
            builder: wiring::builder(&parts.sandbox),
            interpreters: Arc::new(package::interpreters(environment, config)),
            environments: package::settings(environment, config),
            private: PrivatePaths::new(home, environment.user.as_deref()),
            limits: config.sandbox.limits(),
            installs: Installs {
                declared: config.dependencies.install,
                inferred: config.dependencies.auto_install,
            },
            store_limits: config.accounts.store_limits(),
            servers: Arc::clone(&self.servers),
            clock: Arc::new(SystemClock) as Arc<dyn Clock>,
        };
        let runs = usize::try_from(config.accounts.runs.max(1)).unwrap_or(usize::MAX);
        let quota = Quota::new(runs).with_rate(config.accounts.runs_per_hour.max(1));
        let observer = wiring::requests_first(&parts.sandbox, Some(observer));
        let spaces = Arc::new(AccountSpaces::new(
            shared,
            self.open.accounts.clone(),
            Arc::clone(&self.teams),
        ));
        let catalog = Catalog::new(spaces, quota, Some(observer));
        let catalog = Arc::new(wiring::configured(catalog, config));
        self.tasks.push(offer(&catalog, &self.servers).await);
        Ok(catalog)
    }

    /// The URL at which the first admin creates their account; `None` where there are users.
    ///
    /// # Errors
    /// The database can't be used.
    pub(crate) async fn first_admin(&self) -> Result<Option<String>, Failure> {
        let accounts = &self.open.accounts;
        let link = accounts.invite_first_admin().await.map_err(super::failed)?;
        let issuer = accounts.settings().issuer.trim_end_matches('/');
        Ok(link.map(|secret| format!("{issuer}/join/{}", secret.as_str())))
    }

    /// The API and the sign-in of MCP clients, which share limits.
    ///
    /// # Errors
    /// The certificates that a variable names can't be read.
    pub(crate) fn surface(
        &self,
        parts: &Parts,
        profiles: &Profiles,
        has_proxy: bool,
        (sets, set): (Arc<dyn Sets>, Option<SetChoice>),
    ) -> anyhow::Result<(ApiParts, OAuthParts)> {
        let rates = Arc::new(self.rate_limits());
        let agent = self
            .config
            .agent
            .accounts
            .then(|| agent(&parts.catalog, self.config, self.environment));
        let accounts = AccountApiParts {
            accounts: self.open.accounts.clone(),
            logs: Arc::clone(&self.open.records) as Arc<dyn LogChain>,
            users_grant: self.config.accounts.grants == GrantSetting::Users,
            rates: Arc::clone(&rates),
            teams: Arc::clone(&self.teams) as Arc<dyn TeamsChanged>,
        };
        let api = ApiParts {
            catalog: Arc::clone(&parts.catalog),
            profiles: profiles.list.clone(),
            sets,
            set,
            agent: agent.map(|agent| agent as Arc<dyn ChatAgent>),
            accounts: Some(accounts),
        };
        Ok((api, self.sign_in(rates, has_proxy)?))
    }

    fn sign_in(&self, rates: Arc<RateLimits>, has_proxy: bool) -> anyhow::Result<OAuthParts> {
        let accounts = &self.config.accounts;
        let documents = HttpsDocuments::new(
            &accounts.client_hosts,
            self.environment.packages.certificates.as_deref(),
            Arc::new(SystemClock),
        )?;
        let settings = OAuthSettings {
            resource: format!("{}{MCP_PATH}", self.open.accounts.settings().issuer),
            registers_clients: accounts.client_registration,
        };
        let server = AuthorizationServer::new(
            self.open.accounts.clone(),
            Some(Arc::new(documents)),
            settings,
        );
        Ok(OAuthParts {
            server,
            rates,
            has_proxy,
        })
    }

    fn rate_limits(&self) -> RateLimits {
        let settings = if self.config.accounts.request_limits {
            RateSettings::default()
        } else {
            RateSettings {
                logins: None,
                requests: None,
            }
        };
        RateLimits::new(settings, Arc::new(SystemClock))
    }

    /// Finishes what is written, and closes the database.
    pub(crate) async fn stop(self) {
        self.tasks.iter().for_each(JoinHandle::abort);
        if let Err(error) = self.open.accounts.store_uses().await {
            tracing::warn!(%error, "the last uses of tokens aren't stored");
        }
        if let Err(error) = self.open.database.close().await {
            tracing::warn!(%error, "the database wasn't closed");
        }
    }
}

/// Checks that no folder of the operator gives its skills the ids of skills of users or teams, which they would hide.
///
/// # Errors
/// The name of a folder is one of theirs.
pub(crate) fn check_sources(skills: &LocalSkills) -> Result<(), Failure> {
    for place in skills.places() {
        let whose = match &*place.id {
            OWN_SOURCE => "users",
            id if id.starts_with(TEAM_SOURCE) => "teams",
            _ => continue,
        };
        let folder = plain(&place.path.to_string_lossy());
        let message = format!(
            "the skills of {folder} would have ids of the {whose}' own skills: {}/…",
            place.id
        );
        let hint = "rename the folder: its name begins the ids of its skills";
        return Err(Failure::usage("SOURCE_RESERVED", message, hint));
    }
    Ok(())
}

/// Takes the lock of the server.
pub(super) fn lock(home: &Root) -> Result<std::fs::File, Failure> {
    disk::lock_at_once(home, LOCK).map_err(|error| {
        let message = format!("another server serves the accounts of this home: {error}");
        let hint = "stop that server, or set GONGFU_HOME to another folder";
        Failure::new("SERVER_RUNNING", message, hint)
    })
}
