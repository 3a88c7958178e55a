//! Removes the data of deleted users and teams: records, content, skills, workspace.
//!
//! A deletion is noted in its own commit, so that a crash in between leaves the rest for the next time.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use gongfu_core::account::Owner;
use gongfu_core::port::{Clock as _, Timestamp};
use gongfu_files::Home;
use gongfu_files::disk::Root;

use super::{ServerAccounts, failed, skill_dir};
use crate::clock::SystemClock;
use crate::config::Config;
use crate::environment::Environment;

/// The time after which nothing of a deleted user goes on any more, in milliseconds: a run takes an hour at most.
const SETTLED: i64 = 2 * 60 * 60 * 1_000;
/// The number of users whose data is removed at once.
const BATCH: usize = 100;

/// The folders with data of users and teams.
pub(crate) struct Folders {
    home: Home,
    skill_dir: PathBuf,
}

impl Folders {
    /// Those of a home.
    ///
    /// # Errors
    /// A folder in the settings can't be one.
    pub(crate) fn of(
        home: &Home,
        config: &Config,
        environment: &Environment,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            home: home.clone(),
            skill_dir: skill_dir(home, config, environment)?,
        })
    }

    fn remove(&self, owner: &Owner) -> io::Result<()> {
        let skills = self.skill_dir.join(owner.id().unwrap_or_default());
        let home = self.home.of_owner(owner);
        let workspace = self.home.workspace_of_owner(owner);
        [skills.as_path(), home.path(), &workspace]
            .into_iter()
            .try_for_each(remove)
    }
}

/// Removes a folder with everything in it, without following a link.
fn remove(folder: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (folder.parent(), folder.file_name()) else {
        return Ok(());
    };
    let removed = Root::open(parent).and_then(|root| root.dir().remove_dir_all(name));
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Removes the data of all users and teams that were deleted. A call that goes on may leave something once more, so the
/// data of each is looked for until nothing of theirs can go on.
///
/// # Errors
/// Something can't be removed; it stays noted for the next time.
pub(crate) async fn remove_deleted(open: &ServerAccounts, folders: &Folders) -> anyhow::Result<()> {
    let accounts = &open.accounts;
    for (user, at) in accounts.deleted(BATCH).await.map_err(failed)? {
        if remove_data(open, folders, &Owner::User(user.clone()), at).await? {
            accounts.data_removed(&user).await.map_err(failed)?;
        }
    }
    for (team, at) in accounts.deleted_teams(BATCH).await.map_err(failed)? {
        if remove_data(open, folders, &Owner::Team(team.clone()), at).await? {
            accounts.team_data_removed(&team).await.map_err(failed)?;
        }
    }
    Ok(())
}

/// Removes the data of an owner who was deleted at a time; answers whether that is over.
async fn remove_data(
    open: &ServerAccounts,
    folders: &Folders,
    owner: &Owner,
    at: Timestamp,
) -> anyhow::Result<bool> {
    open.database.remove(owner).await?;
    let id = owner.id().unwrap_or_default();
    let removed = folders.remove(owner);
    removed.with_context(|| format!("the files of {id}, which was deleted, stay"))?;
    Ok(SystemClock.now().0.saturating_sub(at.0) > SETTLED)
}
