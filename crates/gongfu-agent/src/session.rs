//! The requests about sessions: list, show, fork, compact, stop, replay.

use std::sync::Arc;

use gongfu_core::account::Actor;
use gongfu_core::agent::replay::Divergence;
use gongfu_core::agent::{Entry, EntryEvent, FORMAT};
use gongfu_hub::agent::{SessionInfo, ShownSession};
use gongfu_hub::surface::{Operation, operation};
use gongfu_hub::{Call, Problem, ToolError, specified};
use schemars::JsonSchema;
use serde::Serialize;

use crate::agent::Agent;
use crate::log;
use crate::replay::Replay;
use crate::store::{self, Store};

/// Lists the sessions of the agent, the one with the latest turn first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SessionList {}

impl Operation for SessionList {
    const NAME: &'static str = "session/list";
    type Output = Vec<SessionInfo>;

    specified!();

    async fn run(self, call: &Call) -> Result<Vec<SessionInfo>, ToolError> {
        let mut all: Vec<SessionInfo> = log::list(&call.space).await?;
        // One that ended before its first entry, or whose fork wasn't finished.
        all.retain(|info| info.turns > 0 || info.forked_from.is_some());
        for info in all.iter_mut().filter(|info| info.is_open) {
            info.is_running = log::is_running::<SessionInfo>(&call.space, &info.id).await?;
        }
        Ok(all)
    }
}

/// Shows the log of a session.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SessionShow {
    /// Its id.
    pub id: String,
}

impl Operation for SessionShow {
    const NAME: &'static str = "session/show";
    type Output = ShownSession;

    specified!();

    async fn run(self, call: &Call) -> Result<ShownSession, ToolError> {
        let entries = store::entries(&call.space, &self.id).await?;
        let session = store::session(&self.id, &entries)?;
        Ok(ShownSession { entries, session })
    }
}

/// Starts a new session with the first entries of another one.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SessionFork {
    /// The id of the other one.
    pub id: String,
    /// The number of its entries; `None` for all.
    pub at: Option<u64>,
}

impl Operation for SessionFork {
    const NAME: &'static str = "session/fork";
    type Output = SessionInfo;

    specified!(operation::write_spec::<Self>());

    async fn run(self, call: &Call) -> Result<SessionInfo, ToolError> {
        let entries = store::entries(&call.space, &self.id).await?;
        let total = entries.len();
        let at = self
            .at
            .map_or(Ok(total), usize::try_from)
            .unwrap_or(usize::MAX);
        if !(1..=total).contains(&at) {
            let reason = format!("the session has {total} entries");
            let hint = format!("pass a number from 1 to {total}");
            return Err(Problem::wrong_value("at", reason, hint).error());
        }
        // A log that can't be continued can't be the beginning of another one.
        let entries = entries.get(..at).unwrap_or_default();
        store::session(&self.id, entries)?;
        let of: SessionInfo = log::info(&call.space, &self.id).await?;
        let mut store = Store::create(call, of.project, true).await?;
        for entry in entries {
            let event = match entry.event.clone() {
                EntryEvent::Started { .. } => EntryEvent::Started {
                    format: FORMAT,
                    forked_from: Some(self.id.clone()),
                },
                event => event,
            };
            let entry = Entry {
                event,
                ..entry.clone()
            };
            store.add_entry(&entry).await?;
        }
        store.note_state().await
    }
}

/// Removes a session with its log, unless a turn runs in it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SessionRemove {
    /// Its id.
    pub id: String,
}

impl Operation for SessionRemove {
    const NAME: &'static str = "session/remove";
    type Output = ();

    specified!(operation::write_spec::<Self>());

    async fn run(self, call: &Call) -> Result<(), ToolError> {
        log::remove::<SessionInfo>(&call.space, &self.id).await
    }
}

/// Summarises the conversation of a session now, but for its last turn.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SessionCompact {
    /// Its id.
    pub id: String,
}

impl Operation for SessionCompact {
    const NAME: &'static str = "session/compact";
    /// About how many tokens the conversation took before, and takes now; `None` where that
    /// wouldn't make it shorter.
    type Output = Option<(u64, u64)>;

    specified!(operation::write_spec::<Self>());

    async fn run(self, call: &Call) -> Result<Self::Output, ToolError> {
        let mut store = Store::open_to_continue(&call.space, &self.id).await?;
        compact(&mut store).await
    }
}

async fn compact(store: &mut Store) -> Result<Option<(u64, u64)>, ToolError> {
    if store.session.is_open() {
        let id = store.id().to_owned();
        return Err(Problem::SessionOpen { id }.error());
    }
    let before = store.session.tokens();
    let Some(compacted) = store.session.compaction() else {
        return Ok(None);
    };
    // The summary of a short conversation may be longer than that.
    let mut shorter = store.session.clone();
    let trial = Entry {
        n: shorter.next_entry(),
        at: String::new(),
        event: compacted.clone(),
    };
    if shorter.apply(&trial).is_err() || shorter.tokens() >= before {
        return Ok(None);
    }
    store.add(compacted).await?;
    Ok(Some((before, store.session.tokens())))
}

/// Ends the open turn of a session as it is, so that the session takes another prompt.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SessionStop {
    /// Its id.
    pub id: String,
}

impl Operation for SessionStop {
    const NAME: &'static str = "session/stop";
    /// False where no turn was open.
    type Output = bool;

    specified!(operation::write_spec::<Self>());

    async fn run(self, call: &Call) -> Result<bool, ToolError> {
        let mut store = Store::open(&call.space, &self.id).await?;
        let is_open = store.session.is_open();
        if is_open {
            store.add(EntryEvent::Interrupted).await?;
            store.note_state().await?;
        }
        Ok(is_open)
    }
}

/// Runs a session again without a model, and names the first difference.
#[derive(Serialize, JsonSchema)]
pub struct SessionReplay {
    /// Its id.
    pub id: String,
    #[serde(skip)]
    #[schemars(skip)]
    agent: Option<Arc<Agent>>,
}

impl Operation for SessionReplay {
    const NAME: &'static str = "session/replay";
    /// The number of entries, and the first difference.
    type Output = (usize, Option<Divergence>);

    specified!();

    async fn run(self, call: &Call) -> Result<Self::Output, ToolError> {
        let entries = store::entries(&call.space, &self.id).await?;
        let Some(agent) = &self.agent else {
            let reason = "a replay without an agent".to_owned();
            return Err(Problem::Fault { reason }.error());
        };
        let replay = Replay {
            agent,
            call,
            actor: Agent::actor(&call.actor, &self.id),
        };
        let difference = Box::pin(replay.run(&entries)).await?;
        Ok((entries.len(), difference))
    }
}

impl Agent {
    /// Runs a session again from its log: no model is asked, and nothing is changed.
    ///
    /// Answers the number of entries and the first difference.
    ///
    /// # Errors
    /// There is no such session, its log can't be read, or the gate refuses.
    pub async fn replay(
        self: &Arc<Self>,
        id: &str,
        person: &Actor,
    ) -> Result<(usize, Option<Divergence>), ToolError> {
        let operation = SessionReplay {
            id: id.to_owned(),
            agent: Some(Arc::clone(self)),
        };
        self.catalog.operate(operation, person).await
    }
}
