//! The stores of the skills of users and teams: one an owner, while somebody uses it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use gongfu_core::account::{Owner, UserId};
use gongfu_core::port::{PortError, Records};
use gongfu_core::registry::{AccountError, Accounts};
use gongfu_library::{StoreLimits, StoreParts, StoredSkills, WeakSkills};
use gongfu_records::FileBlobs;
use tokio::sync::OwnedMutexGuard;

use super::part::SharedParts;

const MIB: u64 = 1024 * 1024;

/// The stores that somebody uses: there is never a second one of an owner.
pub(super) struct AccountStores {
    shared: Arc<SharedParts>,
    accounts: Accounts,
    open: Mutex<HashMap<Owner, WeakSkills>>,
    openers: Openers,
}

impl AccountStores {
    pub(super) fn new(shared: Arc<SharedParts>, accounts: Accounts) -> Self {
        Self {
            shared,
            accounts,
            open: Mutex::default(),
            openers: Openers::default(),
        }
    }

    /// The store of an owner, whose skills are of a source with this name.
    ///
    /// # Errors
    /// The records can't be read, or the folder can't be written.
    pub(super) async fn open(
        &self,
        owner: &Owner,
        source: &str,
    ) -> Result<StoredSkills, PortError> {
        let _turn = self.openers.wait(owner).await;
        if let Some(store) = self.known(owner) {
            store.rename_source(source)?;
            return Ok(store);
        }
        let shared = &self.shared;
        let parts = StoreParts {
            owner: owner.clone(),
            source: source.to_owned(),
            records: shared.database.records(owner) as _,
            blobs: self.blobs(owner) as _,
            folder: shared.skill_dir.join(owner.id().unwrap_or_default()),
            limits: shared.store_limits,
            clock: Arc::clone(&shared.clock),
        };
        let store = StoredSkills::open(parts).await?;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() == open.capacity() {
            open.retain(|_, store| store.upgrade().is_some());
        }
        open.insert(owner.clone(), store.downgrade());
        Ok(store)
    }

    fn known(&self, owner: &Owner) -> Option<StoredSkills> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.get(owner)?.upgrade()
    }

    /// Lets a user have as much as their limits say now.
    ///
    /// # Errors
    /// The accounts can't be read.
    pub(super) async fn limit(&self, store: &StoredSkills, user: &UserId) -> Result<(), PortError> {
        let quota = match self.accounts.user(user).await {
            Ok(user) => user.quota,
            // Somebody who was deleted meanwhile stores nothing more.
            Err(AccountError::Unknown(_)) => return Ok(()),
            Err(error) => return Err(PortError::Unavailable(error.to_string())),
        };
        let usual = self.shared.store_limits;
        let skills = quota.skills.and_then(|skills| usize::try_from(skills).ok());
        store.set_limits(StoreLimits {
            skills: skills.unwrap_or(usual.skills),
            bytes: quota
                .skills_mib
                .map_or(usual.bytes, |mib| u64::from(mib) * MIB),
            ..usual
        });
        Ok(())
    }

    /// The records of an owner.
    pub(super) fn records(&self, owner: &Owner) -> Arc<dyn Records> {
        self.shared.database.records(owner)
    }

    /// The content of an owner.
    pub(super) fn blobs(&self, owner: &Owner) -> Arc<FileBlobs> {
        let home = &self.shared.home;
        let blobs = FileBlobs::new(home.of_owner(owner)).kept_while_locked(home.backup_lock());
        Arc::new(blobs)
    }
}

/// Those who open something of an owner: one at a time.
#[derive(Default)]
pub(super) struct Openers(Mutex<HashMap<Owner, Arc<tokio::sync::Mutex<()>>>>);

impl Openers {
    /// Waits for the turn.
    pub(super) async fn wait(&self, owner: &Owner) -> OwnedMutexGuard<()> {
        let turn = {
            let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            turns.retain(|_, turn| Arc::strong_count(turn) > 1);
            Arc::clone(turns.entry(owner.clone()).or_default())
        };
        turn.lock_owned().await
    }
}
