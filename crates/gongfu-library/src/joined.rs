//! The skills of this machine, and those that other MCP servers offer and a person approved.
//!
//! Nothing is started or fetched to list them: they are in the approvals. A file is fetched when it is first read.

mod content;
mod source;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gongfu_core::library::{Library, Revision, Skill};
use gongfu_core::port::{
    Blobs, Change, Clock, FileContent, FileEdit, Lease, Materialize, Pending, PortError,
    ServerSkills, Servers, SkillStore, Timestamp, ready,
};
use gongfu_core::skill::{SkillName, SkillPath};
use gongfu_core::switches::Switches;
use tokio::sync::watch::Sender;

use self::content::Content;
use self::source::ServerSkill;
use crate::local::LocalSkills;

/// The age from which the approvals are read again, in milliseconds.
const MAX_AGE: i64 = 1_000;

/// The skills of this machine and of other servers, as one library.
pub struct JoinedSkills {
    local: Arc<LocalSkills>,
    servers: Arc<dyn Servers>,
    content: Content,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    /// The revision that was made last.
    reported: Sender<Revision>,
}

/// The union, and what it was made of.
#[derive(Default)]
struct State {
    library: Arc<Library>,
    /// The revision of the local skills; `None` before the first union.
    local: Option<Revision>,
    servers: Vec<ServerSkills>,
    /// The time at which these were read; `None` to read them again.
    read: Option<Timestamp>,
    switches: Switches,
    /// The skills of servers, by full name.
    skills: Arc<HashMap<Arc<str>, ServerSkill>>,
}

impl JoinedSkills {
    /// Local skills, and those of these servers. Fetched files are kept as blobs.
    pub fn new(
        local: Arc<LocalSkills>,
        servers: Arc<dyn Servers>,
        blobs: Arc<dyn Blobs>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            local,
            content: Content::new(Arc::clone(&servers), blobs),
            servers,
            clock,
            state: Mutex::default(),
            reported: Sender::new(Revision::default()),
        }
    }

    /// The library as it is now, on a thread that may be none of a runtime.
    ///
    /// # Errors
    /// Those of [`LocalSkills::current`].
    pub fn now(&self) -> Result<Arc<Library>, PortError> {
        // A look waits for records in the same way, which can't be nested.
        let local = self.local.current()?;
        futures_executor::block_on(self.union(local))
    }

    async fn current(&self) -> Result<Arc<Library>, PortError> {
        self.union(self.local.library().await?).await
    }

    /// These local skills with those of servers.
    async fn union(&self, local: Arc<Library>) -> Result<Arc<Library>, PortError> {
        let now = self.clock.now();
        let is_fresh = |read: Timestamp| (0..MAX_AGE).contains(&(now.0 - read.0));
        let known = {
            let state = self.lock();
            let is_fresh = state.read.is_some_and(is_fresh);
            if is_fresh && state.local == Some(local.revision()) {
                return Ok(Arc::clone(&state.library));
            }
            is_fresh.then(|| state.servers.clone())
        };
        let servers = match known {
            Some(servers) => servers,
            None => self.servers.skills().await.unwrap_or_else(|error| {
                tracing::warn!(%error, "the skills of other servers are left out");
                Vec::new()
            }),
        };
        let switches = self.local.last_switches();
        let mut state = self.lock();
        state.read = Some(now);
        let is_same = state.local == Some(local.revision())
            && state.switches == switches
            && are_same(&state.servers, &servers);
        if !is_same {
            let (sources, skills) = source::union(&local, &servers, &switches);
            let is_ahead = local.revision() > state.library.revision();
            let entries = skills.iter();
            let entries = entries.map(|one| (Arc::clone(&one.skill.full_name), one.clone()));
            state.skills = Arc::new(entries.collect());
            let skills = skills.into_iter().map(|one| one.skill).collect();
            state.library = if sources.is_empty() && is_ahead {
                Arc::clone(&local)
            } else {
                let revision = state.library.revision().next();
                Arc::new(local.with_servers(sources, skills).at(revision))
            };
            let revision = state.library.revision();
            (state.local, state.switches) = (Some(local.revision()), switches);
            state.servers = servers;
            self.reported.send_replace(revision);
        }
        Ok(Arc::clone(&state.library))
    }

    /// The skill as its server offers it; `None` for one of this machine.
    ///
    /// # Errors
    /// It is of a server, and nobody approves it any more.
    fn of_server(&self, skill: &Skill) -> Result<Option<ServerSkill>, PortError> {
        let state = self.lock();
        if let Some(known) = state.skills.get(&skill.full_name) {
            return if known.skill.files == skill.files {
                Ok(Some(known.clone()))
            } else {
                Err(PortError::Conflict("its approval has changed".to_owned()))
            };
        }
        if source::is_path(&skill.path) {
            return Err(ended());
        }
        Ok(None)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks that a skill is of this machine.
    fn check_local(&self, skill: &Skill) -> Result<(), PortError> {
        match self.of_server(skill) {
            Ok(None) => Ok(()),
            _ => Err(PortError::ReadOnly {
                place: skill.source.to_string(),
                instead: None,
            }),
        }
    }
}

fn ended() -> PortError {
    PortError::Conflict("the server changed it since".to_owned())
}

fn are_same(one: &[ServerSkills], other: &[ServerSkills]) -> bool {
    let mut pairs = one.iter().zip(other);
    one.len() == other.len()
        && pairs.all(|(one, other)| {
            let is_same_pin = Arc::ptr_eq(&one.pin, &other.pin) || one.pin == other.pin;
            is_same_pin && one.connection == other.connection && one.target == other.target
        })
}

impl SkillStore for JoinedSkills {
    fn library(&self) -> Pending<'_, Arc<Library>> {
        Box::pin(self.current())
    }

    fn changed(&self, since: Revision) -> Pending<'_, Revision> {
        Box::pin(async move {
            let mut reported = self.reported.subscribe();
            let mut version = 0;
            loop {
                let revision = self.current().await?.revision();
                if revision != since {
                    return Ok(revision);
                }
                let local = self.lock().local.unwrap_or_default();
                tokio::select! {
                    _ = reported.changed() => {}
                    changed = self.local.changed(local) => {
                        changed?;
                    }
                    changed = self.servers.changed(version) => {
                        version = changed?;
                        self.lock().read = None;
                    }
                }
            }
        })
    }

    fn read<'a>(
        &'a self,
        skill: &'a Skill,
        path: &'a SkillPath,
        limit: u64,
    ) -> Pending<'a, FileContent> {
        Box::pin(async move {
            let found = self.of_server(skill)?;
            match found {
                None => self.local.read(skill, path, limit).await,
                Some(found) => {
                    let read = self.content.read(&found, path, limit).await;
                    if read.is_err() {
                        // It may have ended an approval.
                        self.lock().read = None;
                    }
                    read.map_err(|error| match error {
                        PortError::Denied(_) => ended(),
                        error => error,
                    })
                }
            }
        })
    }

    fn glance<'a>(
        &'a self,
        skill: &'a Skill,
        path: &'a SkillPath,
        limit: u64,
    ) -> Pending<'a, Option<FileContent>> {
        match self.of_server(skill) {
            Ok(None) => self.local.glance(skill, path, limit),
            _ => ready(Ok(None)),
        }
    }

    fn set_enabled<'a>(&'a self, skill: &'a Skill, enabled: bool) -> Pending<'a, bool> {
        match self.of_server(skill) {
            Ok(None) => self.local.set_enabled(skill, enabled),
            Ok(Some(found)) => Box::pin(async move {
                let identity = found.skill.identity(None);
                self.local.switch(identity, enabled).await
            }),
            Err(error) => ready(Err(error)),
        }
    }

    fn create<'a>(&'a self, name: &'a SkillName, document: &'a [u8]) -> Pending<'a, Arc<Skill>> {
        self.local.create(name, document)
    }

    fn write<'a>(
        &'a self,
        skill: &'a Skill,
        path: &'a SkillPath,
        change: Change<'a>,
    ) -> Pending<'a, bool> {
        match self.check_local(skill) {
            Ok(()) => self.local.write(skill, path, change),
            Err(error) => ready(Err(error)),
        }
    }

    fn create_whole<'a>(
        &'a self,
        name: &'a SkillName,
        files: &'a [FileEdit<'a>],
    ) -> Pending<'a, Arc<Skill>> {
        self.local.create_whole(name, files)
    }

    fn edit<'a>(&'a self, skill: &'a Skill, edits: &'a [FileEdit<'a>]) -> Pending<'a, Arc<Skill>> {
        match self.check_local(skill) {
            Ok(()) => self.local.edit(skill, edits),
            Err(error) => ready(Err(error)),
        }
    }

    fn delete<'a>(&'a self, skill: &'a Skill) -> Pending<'a, ()> {
        match self.check_local(skill) {
            Ok(()) => self.local.delete(skill),
            Err(error) => ready(Err(error)),
        }
    }

    fn with_unlisted<'a>(&'a self, skill: &'a Arc<Skill>) -> Pending<'a, Arc<Skill>> {
        match self.of_server(skill) {
            Ok(None) => self.local.with_unlisted(skill),
            Ok(Some(_)) => ready(Ok(Arc::clone(skill))),
            Err(error) => ready(Err(error)),
        }
    }
}

impl Materialize for JoinedSkills {
    /// Only a skill of this machine has a folder.
    fn materialize<'a>(&'a self, skill: &'a Skill) -> Pending<'a, Lease> {
        match self.of_server(skill) {
            Ok(None) => self.local.materialize(skill),
            _ => ready(Err(PortError::Denied(
                "a skill of another server has no folder".to_owned(),
            ))),
        }
    }
}

#[cfg(test)]
mod tests;
