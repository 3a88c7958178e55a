//! The spaces of users and teams: each has a home of its own below the server's, records of its own in the database, and
//! runs as itself. A user sees what the operator shares with all, and the skills of their teams.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gongfu_core::account::{Owner, TeamId};
use gongfu_core::library::OWN_SOURCE;
use gongfu_core::port::{
    Materialize, NoServers, Pending, PortError, Records, Servers, SkillStore, Space, SpaceParts,
    Spaces,
};
use gongfu_core::registry::{AccountError, Accounts};
use gongfu_environments::LocalEnvironments;
use gongfu_files::{FileLayers, LocalRunFolders, LocalWorkspace};
use gongfu_library::AccountSkills;
use gongfu_sandbox::{ChangeSets, OwnerSandbox};
use gongfu_search::{Search, SearchCache};

use super::part::SharedParts;
use super::store::{AccountStores, Openers};
use super::team::{TeamShares, TeamWatch, source_of};

/// The most spaces that stay open without a call.
const MAX_OPEN: usize = 1_000;

/// Opens the spaces of a server's users and teams.
pub(crate) struct AccountSpaces {
    shared: Arc<SharedParts>,
    accounts: Accounts,
    teams: Arc<TeamWatch>,
    stores: Arc<AccountStores>,
    search: Arc<SearchCache>,
    open: Mutex<OpenSpaces>,
    openers: Openers,
}

#[derive(Default)]
struct OpenSpaces {
    /// The spaces that stay open, and when each was last used.
    spaces: HashMap<Owner, (Space, u64)>,
    uses: u64,
}

impl AccountSpaces {
    /// The spaces over these parts.
    pub(crate) fn new(shared: SharedParts, accounts: Accounts, teams: Arc<TeamWatch>) -> Self {
        let shared = Arc::new(shared);
        Self {
            stores: Arc::new(AccountStores::new(Arc::clone(&shared), accounts.clone())),
            shared,
            accounts,
            teams,
            search: Arc::default(),
            open: Mutex::default(),
            openers: Openers::default(),
        }
    }

    /// The space of an owner, whose own skills are of a source with this name.
    async fn space(&self, owner: &Owner, source: &str) -> Result<Space, PortError> {
        if let Some(space) = self.known(owner) {
            return Ok(space);
        }
        let _turn = self.openers.wait(owner).await;
        if let Some(space) = self.known(owner) {
            return Ok(space);
        }
        let space = self.make(owner, source).await?;
        let mut open = self.lock();
        open.uses += 1;
        let now = open.uses;
        open.spaces.insert(owner.clone(), (space.clone(), now));
        open.evict();
        Ok(space)
    }

    /// The space of a team, which may have another name by now, or be gone.
    async fn team(&self, id: &TeamId) -> Result<Space, PortError> {
        let team = self.accounts.team(id).await.map_err(|error| match error {
            AccountError::Unknown(_) => PortError::NotFound,
            AccountError::Store(error) => error,
            error => PortError::Unavailable(error.to_string()),
        })?;
        let (owner, source) = (Owner::Team(id.clone()), source_of(&team.name));
        let space = self.space(&owner, &source).await?;
        self.stores.open(&owner, &source).await?;
        Ok(space)
    }

    fn known(&self, owner: &Owner) -> Option<Space> {
        let mut open = self.lock();
        open.uses += 1;
        let now = open.uses;
        let (space, used) = open.spaces.get_mut(owner)?;
        *used = now;
        Some(space.clone())
    }

    async fn make(&self, owner: &Owner, source: &str) -> Result<Space, PortError> {
        let (shared, owner) = (&self.shared, owner.clone());
        let home = shared.home.of_owner(&owner);
        let own = self.stores.open(&owner, source).await?;
        let skills = Arc::new(match &owner {
            Owner::User(user) => {
                let (watch, stores) = (Arc::clone(&self.teams), Arc::clone(&self.stores));
                let operator = shared.skills.clone();
                stores.limit(&own, user).await?;
                let shares = TeamShares::new(user.clone(), own.clone(), watch, stores, operator);
                AccountSkills::new(own, Arc::new(shares))
            }
            Owner::Team(_) | Owner::Local => AccountSkills::alone(own),
        });
        let store: Arc<dyn SkillStore> = Arc::<AccountSkills>::clone(&skills);
        let materialize: Arc<dyn Materialize> = skills;
        let search = Search::of_account(
            owner.clone(),
            Arc::clone(&store),
            Arc::clone(&self.search),
            shared.home.clone(),
        );
        let layers = Arc::new(FileLayers::new(
            home.clone(),
            Arc::clone(&materialize),
            Arc::clone(&shared.clock),
        ));
        let folder = shared.home.workspace_of_owner(&owner);
        let workspace = LocalWorkspace::new(folder.clone(), &[])
            .map(|workspace| workspace.with_logs(home.logs_of(&folder)))
            .and_then(|workspace| workspace.with_private(shared.private.clone()))
            .map_err(|error| PortError::Unavailable(error.to_string()))?;
        let workspace = Arc::new(workspace);
        let programs = Arc::clone(&shared.interpreters);
        let run_folders = LocalRunFolders::new(
            home.clone(),
            Arc::clone(&materialize),
            Arc::<FileLayers>::clone(&layers),
            Arc::clone(&workspace),
            Box::new(move || programs.others().to_vec()),
            Box::new(Vec::new),
            Arc::clone(&shared.clock),
        );
        let servers: Arc<dyn Servers> = match &owner {
            Owner::User(_) => Arc::new(shared.servers.of_one()),
            Owner::Team(_) | Owner::Local => Arc::new(NoServers),
        };
        let builder = OwnerSandbox::new(Arc::clone(&shared.builder), owner.clone());
        let environments = LocalEnvironments::new(
            home.clone(),
            shared.home.clone(),
            Arc::clone(&materialize),
            Arc::clone(&shared.interpreters),
            Arc::new(builder),
            Arc::clone(&shared.clock),
            shared.environments.clone(),
        );
        Ok(Space::new(SpaceParts {
            owner: owner.clone(),
            skills: store,
            search: Arc::new(search),
            materialize,
            files: workspace,
            layers,
            records: shared.database.records(&owner) as Arc<dyn Records>,
            blobs: self.stores.blobs(&owner),
            environments: Arc::new(environments),
            run_folders: Arc::new(run_folders),
            changes: Arc::new(ChangeSets::new(home.changes())),
            sandbox: Arc::new(OwnerSandbox::new(Arc::clone(&shared.runner), owner)),
            servers,
            limits: shared.limits,
            installs: shared.installs,
            clock: Arc::clone(&shared.clock),
        }))
    }

    fn lock(&self) -> MutexGuard<'_, OpenSpaces> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenSpaces {
    /// Lets go of the spaces that were used longest ago, where there are too many.
    fn evict(&mut self) {
        if self.spaces.len() <= MAX_OPEN {
            return;
        }
        let mut uses: Vec<u64> = self.spaces.values().map(|(_, used)| *used).collect();
        uses.sort_unstable();
        // More than needed, so that not every new space lets another one go.
        let oldest = uses.get(MAX_OPEN / 8).copied().unwrap_or_default();
        self.spaces.retain(|_, (_, used)| *used > oldest);
    }
}

impl Spaces for AccountSpaces {
    fn open<'a>(&'a self, owner: &'a Owner) -> Pending<'a, Space> {
        Box::pin(async move {
            match owner {
                Owner::User(_) => self.space(owner, OWN_SOURCE).await,
                Owner::Team(team) => self.team(team).await,
                Owner::Local => {
                    let why = "a server with accounts has no space without a user";
                    Err(PortError::Denied(why.to_owned()))
                }
            }
        })
    }
}
