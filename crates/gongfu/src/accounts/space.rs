//! The spaces of users: each has a home of its own below the server's, records of its own in the database, and runs as
//! itself. Only what the operator shares is the same for all.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use gongfu_core::account::{Owner, UserId};
use gongfu_core::dependency::Installs;
use gongfu_core::port::{
    Clock, Materialize, Pending, PortError, Records, SkillStore, Space, SpaceParts, Spaces,
};
use gongfu_core::sandbox::Limits;
use gongfu_environments::{self as environments, Interpreters, LocalEnvironments};
use gongfu_files::{FileLayers, Home, LocalRunFolders, LocalWorkspace, PrivatePaths};
use gongfu_library::{AccountSkills, SharedSkills, StoreLimits, StoreParts, StoredSkills};
use gongfu_records::{Database, FileBlobs};
use gongfu_sandbox::{ChangeSets, OwnerSandbox, Runner};
use gongfu_search::{Search, SearchCache};

/// The most spaces that stay open without a call.
const MAX_OPEN: usize = 1_000;

/// The parts that all spaces of a server share.
pub(crate) struct SharedParts {
    /// The server's home.
    pub(crate) home: Home,
    /// The folder of the accounts' skills.
    pub(crate) skill_dir: PathBuf,
    pub(crate) database: Arc<dyn Database>,
    /// The skills that the operator shares with all.
    pub(crate) skills: SharedSkills,
    pub(crate) runner: Arc<Runner>,
    /// The sandbox in which environments are built.
    pub(crate) builder: Arc<Runner>,
    pub(crate) interpreters: Arc<Interpreters>,
    pub(crate) environments: environments::Settings,
    pub(crate) private: PrivatePaths,
    pub(crate) limits: Limits,
    pub(crate) installs: Installs,
    pub(crate) store_limits: StoreLimits,
    pub(crate) clock: Arc<dyn Clock>,
}

/// Opens the spaces of a server's users.
pub(crate) struct AccountSpaces {
    shared: SharedParts,
    search: Arc<SearchCache>,
    open: Mutex<OpenSpaces>,
}

#[derive(Default)]
struct OpenSpaces {
    /// The spaces that stay open, and when each was last used.
    spaces: HashMap<UserId, (Space, u64)>,
    uses: u64,
    /// The stores of spaces that somebody still uses: there is never a second one of an account.
    stores: HashMap<UserId, Weak<StoredSkills>>,
    /// Held by the one who opens the space of a user.
    opening: HashMap<UserId, Arc<tokio::sync::Mutex<()>>>,
}

impl AccountSpaces {
    /// The spaces over these parts.
    pub(crate) fn new(shared: SharedParts) -> Self {
        Self {
            shared,
            search: Arc::default(),
            open: Mutex::default(),
        }
    }

    async fn user(&self, user: &UserId) -> Result<Space, PortError> {
        if let Some(space) = self.known(user) {
            return Ok(space);
        }
        let opening = Arc::clone(self.lock().opening.entry(user.clone()).or_default());
        let _opening = opening.lock().await;
        let space = match self.known(user) {
            Some(space) => Ok(space),
            None => self.make(user).await,
        };
        let mut open = self.lock();
        // The map's and this one: nobody else waits.
        if Arc::strong_count(&opening) == 2 {
            open.opening.remove(user);
        }
        let space = space?;
        open.uses += 1;
        let now = open.uses;
        open.spaces.insert(user.clone(), (space.clone(), now));
        open.evict();
        Ok(space)
    }

    fn known(&self, user: &UserId) -> Option<Space> {
        let mut open = self.lock();
        open.uses += 1;
        let now = open.uses;
        let (space, used) = open.spaces.get_mut(user)?;
        *used = now;
        Some(space.clone())
    }

    async fn make(&self, user: &UserId) -> Result<Space, PortError> {
        let shared = &self.shared;
        let owner = Owner::User(user.clone());
        let home = shared.home.of_user(user);
        let records = shared.database.records(&owner);
        let blobs = FileBlobs::new(home.clone()).kept_while_locked(shared.home.backup_lock());
        let blobs = Arc::new(blobs);
        let before = self.lock().stores.get(user).and_then(Weak::upgrade);
        let own = if let Some(own) = before {
            own
        } else {
            let parts = StoreParts {
                user: user.clone(),
                records: Arc::clone(&records) as _,
                blobs: Arc::clone(&blobs) as _,
                folder: shared.skill_dir.join(user.as_str()),
                limits: shared.store_limits,
                clock: Arc::clone(&shared.clock),
            };
            let own = Arc::new(StoredSkills::open(parts).await?);
            let mut open = self.lock();
            open.stores.insert(user.clone(), Arc::downgrade(&own));
            own
        };
        let skills = Arc::new(AccountSkills::new(own, vec![shared.skills.clone()]));
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
        let folder = shared.home.workspace_of_user(user);
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
            records: records as Arc<dyn Records>,
            blobs,
            environments: Arc::new(environments),
            run_folders: Arc::new(run_folders),
            changes: Arc::new(ChangeSets::new(home.changes())),
            sandbox: Arc::new(OwnerSandbox::new(Arc::clone(&shared.runner), owner)),
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
        self.stores.retain(|_, store| store.strong_count() > 0);
    }
}

impl Spaces for AccountSpaces {
    fn open<'a>(&'a self, owner: &'a Owner) -> Pending<'a, Space> {
        Box::pin(async move {
            match owner {
                Owner::User(user) => self.user(user).await,
                Owner::Local => {
                    let why = "a server with accounts has no space without a user";
                    Err(PortError::Denied(why.to_owned()))
                }
            }
        })
    }
}
