//! The teams and limits of users, as their spaces see them: a change counts within half a second.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gongfu_core::account::{Owner, TeamId, TeamName, UserId};
use gongfu_core::port::{Materialize, Pending, PortError, SkillStore};
use gongfu_core::registry::Accounts;
use gongfu_library::{AccountSkills, SharedSkills, Shares, StoredSkills};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::store::AccountStores;

/// The time between two looks for changes, which may be made at a command line.
const INTERVAL: Duration = Duration::from_millis(300);

/// Notices changes of teams.
pub(crate) struct TeamWatch {
    accounts: Accounts,
    changes: watch::Sender<u64>,
}

impl TeamWatch {
    /// Begins to look for changes, until the task is aborted.
    pub(crate) fn start(accounts: Accounts) -> (Arc<Self>, JoinHandle<()>) {
        let watch = Arc::new(Self {
            accounts,
            changes: watch::Sender::default(),
        });
        let looking = Arc::clone(&watch);
        let task = tokio::spawn(async move {
            loop {
                if let Err(error) = looking.look().await {
                    tracing::debug!(%error, "changes of teams can't be read");
                }
                tokio::time::sleep(INTERVAL).await;
            }
        });
        (watch, task)
    }

    /// Looks for changes at once.
    ///
    /// # Errors
    /// The store fails.
    pub(crate) async fn look(&self) -> Result<(), PortError> {
        let changes = self.accounts.space_changes().await?;
        self.changes.send_if_modified(|known| {
            let is_new = *known != changes;
            *known = changes;
            is_new
        });
        Ok(())
    }
}

impl gongfu_server::TeamsChanged for TeamWatch {
    fn changed(&self) -> Pending<'_, ()> {
        Box::pin(self.look())
    }
}

/// The start of the names of sources of teams' skills.
pub(super) const TEAM_SOURCE: &str = "team-";

/// The name of the source of a team's skills.
pub(super) fn source_of(name: &TeamName) -> String {
    format!("{TEAM_SOURCE}{name}")
}

/// Those who share skills with a user: the user's teams, then the operator.
pub(super) struct TeamShares {
    user: UserId,
    /// The user's own skills, whose limits may change.
    own: StoredSkills,
    watch: Arc<TeamWatch>,
    stores: Arc<AccountStores>,
    operator: SharedSkills,
    known: Mutex<TeamList>,
    /// Held by the one who reads the teams again.
    reading: tokio::sync::Mutex<()>,
}

/// The teams, as they were after a number of changes.
#[derive(Clone)]
struct TeamList {
    changes: Option<u64>,
    teams: Vec<TeamId>,
    shares: Arc<[SharedSkills]>,
}

impl TeamShares {
    pub(super) fn new(
        user: UserId,
        own: StoredSkills,
        watch: Arc<TeamWatch>,
        stores: Arc<AccountStores>,
        operator: SharedSkills,
    ) -> Self {
        Self {
            user,
            own,
            watch,
            stores,
            known: Mutex::new(TeamList {
                changes: None,
                teams: Vec::new(),
                shares: Arc::from([operator.clone()]),
            }),
            operator,
            reading: tokio::sync::Mutex::default(),
        }
    }

    async fn read(&self) -> Result<Arc<[SharedSkills]>, PortError> {
        let _reading = self.reading.lock().await;
        let changes = *self.watch.changes.borrow();
        let before = self.lock().clone();
        if before.changes == Some(changes) {
            return Ok(before.shares);
        }
        self.stores.limit(&self.own, &self.user).await?;
        let teams = self.watch.accounts.teams_of(&self.user).await;
        let teams = teams.map_err(|error| PortError::Unavailable(error.to_string()))?;
        let mut shares = Vec::with_capacity(teams.len() + 1);
        let mut ids = Vec::with_capacity(teams.len());
        for team in &teams {
            let owner = Owner::Team(team.id.clone());
            let store = match self.stores.open(&owner, &source_of(&team.name)).await {
                Ok(store) => store,
                // The user's own skills and those of other teams are there all the same.
                Err(error) => {
                    tracing::warn!(%error, team = %team.name, "the skills of a team are left out");
                    continue;
                }
            };
            let at = before.teams.iter().position(|known| *known == team.id);
            let known = at.and_then(|at| before.shares.get(at)).cloned();
            shares.push(known.unwrap_or_else(|| self.shared(&owner, store)));
            ids.push(team.id.clone());
        }
        let is_complete = ids.len() == teams.len();
        let mut known = self.lock();
        if ids != known.teams {
            shares.push(self.operator.clone());
            known.shares = shares.into();
            known.teams = ids;
        }
        known.changes = is_complete.then_some(changes);
        Ok(Arc::clone(&known.shares))
    }

    /// The skills of a team, shared.
    fn shared(&self, team: &Owner, store: StoredSkills) -> SharedSkills {
        let skills = Arc::new(AccountSkills::alone(store));
        SharedSkills {
            skills: Arc::clone(&skills) as Arc<dyn SkillStore>,
            folders: skills as Arc<dyn Materialize>,
            records: self.stores.records(team),
        }
    }

    fn lock(&self) -> MutexGuard<'_, TeamList> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shares for TeamShares {
    fn current(&self) -> Pending<'_, Arc<[SharedSkills]>> {
        let known = self.lock();
        if known.changes == Some(*self.watch.changes.borrow()) {
            return gongfu_core::port::ready(Ok(Arc::clone(&known.shares)));
        }
        drop(known);
        Box::pin(self.read())
    }

    fn changed<'a>(&'a self, since: &'a Arc<[SharedSkills]>) -> Pending<'a, ()> {
        Box::pin(async move {
            let mut changes = self.watch.changes.subscribe();
            loop {
                changes.borrow_and_update();
                if !Arc::ptr_eq(since, &self.current().await?) {
                    return Ok(());
                }
                let gone = |_| PortError::Unavailable("the server stops".to_owned());
                changes.changed().await.map_err(gone)?;
            }
        })
    }
}
