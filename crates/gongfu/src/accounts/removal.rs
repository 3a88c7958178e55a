//! Removes the data of deleted users: records, content, skills, workspace.
//!
//! A deletion is noted in its own commit, so that a crash in between leaves the rest for the next time.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use gongfu_core::account::{Owner, UserId};
use gongfu_core::port::Clock as _;
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

/// The folders with data of users.
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

    fn remove(&self, user: &UserId) -> io::Result<()> {
        let skills = self.skill_dir.join(user.as_str());
        let home = self.home.of_user(user);
        let workspace = self.home.workspace_of_user(user);
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

/// Removes the data of all users who were deleted. A call that goes on may leave something once more, so the data of
/// each is looked for until nothing of theirs can go on.
///
/// # Errors
/// Something can't be removed; it stays noted for the next time.
pub(crate) async fn remove_deleted(open: &ServerAccounts, folders: &Folders) -> anyhow::Result<()> {
    for (user, at) in open.accounts.deleted(BATCH).await.map_err(failed)? {
        open.database.remove(&Owner::User(user.clone())).await?;
        let removed = folders.remove(&user);
        removed.with_context(|| format!("the files of the deleted user {} stay", user.as_str()))?;
        if SystemClock.now().0.saturating_sub(at.0) > SETTLED {
            open.accounts.data_removed(&user).await.map_err(failed)?;
        }
    }
    Ok(())
}
