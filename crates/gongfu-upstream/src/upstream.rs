//! Another server as all sessions with it share it: its declaration, a person's approval, and the tools of a new session.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use gongfu_core::connection::{Connection, ConnectionPin, PinnedTool, Program, Target, Verdict};
use gongfu_core::pin;
use gongfu_core::port::{PortError, ProcessSpec, Version};
use gongfu_core::sandbox::HOME;

use crate::parts::{ConnectionEntry, ServerParts};
use crate::room::Room;
use crate::sign_in::SignIns;
use crate::trouble::Trouble;

/// The longest time for which a call goes by an approval that may have ended.
const PIN_AGE: Duration = Duration::from_millis(200);

/// The tools that a server offers, by name.
pub(crate) type Tools = Arc<BTreeMap<String, PinnedTool>>;

/// Another server, as all sessions with it share it.
pub(crate) struct Upstream {
    pub(crate) declared: ConnectionEntry,
    pub(crate) parts: ServerParts,
    /// Bounds its sessions, where it has one for each user; `None` for the servers of one person.
    pub(crate) room: Option<Arc<Room>>,
    /// The digest of its target.
    target: String,
    last_pin: Mutex<Option<LastPin>>,
    news: Mutex<News>,
}

/// The pin that was read last.
#[derive(Clone)]
struct LastPin {
    read: Instant,
    pin: Arc<ConnectionPin>,
    version: Option<Version>,
}

/// All that decides which tools are listed without a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct News {
    pin: Arc<ConnectionPin>,
    /// The tools that the last new session offered before any call, since this approval: they depend on nobody's use. Only
    /// users share them.
    offered: Option<Tools>,
}

impl Upstream {
    pub(crate) fn new(
        declared: ConnectionEntry,
        parts: ServerParts,
        room: Option<Arc<Room>>,
    ) -> Self {
        Self {
            target: declared.connection.target.digest().to_string(),
            declared,
            parts,
            room,
            last_pin: Mutex::default(),
            news: Mutex::default(),
        }
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.declared.connection
    }

    /// The approval of a person, as it is now.
    pub(crate) async fn pin(&self) -> Result<Arc<ConnectionPin>, PortError> {
        let read = Instant::now();
        let known = self.last_pin();
        let version = known.as_ref().and_then(|last| last.version);
        let records = &*self.parts.records;
        let newer = pin::read_newer(records, &self.connection().name, version.as_ref()).await?;
        let (pin, version) = match (newer, known) {
            (Some((pin, version)), _) => (Arc::new(pin), version),
            (None, Some(known)) => (known.pin, version),
            (None, None) => (Arc::default(), None),
        };
        let mut last = self.last_pin.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some(LastPin {
            read,
            pin: Arc::clone(&pin),
            version,
        });
        Ok(pin)
    }

    /// The same as it was a moment ago, for calls in a row: it may be long.
    pub(crate) async fn recent_pin(&self) -> Result<Arc<ConnectionPin>, PortError> {
        match self.last_pin() {
            Some(last) if last.read.elapsed() < PIN_AGE => Ok(last.pin),
            _ => self.pin().await,
        }
    }

    fn last_pin(&self) -> Option<LastPin> {
        let last = self.last_pin.lock().unwrap_or_else(PoisonError::into_inner);
        last.clone()
    }

    /// Returns true if a person approved its target.
    pub(crate) fn is_covered(&self, pin: &ConnectionPin) -> bool {
        pin.target == self.target
    }

    /// Refuses what no person approved.
    pub(crate) fn covered(&self, pin: &ConnectionPin) -> Result<(), PortError> {
        if self.is_covered(pin) {
            return Ok(());
        }
        Err(PortError::Denied(self.advice("approve", "must approve it")))
    }

    /// The next step of a person, or of the operator where users ask.
    pub(crate) fn advice(&self, command: &str, what: &str) -> String {
        let name = &self.connection().name;
        match &self.room {
            Some(_) => format!("the operator {what}"),
            None => format!("a person {what}: gongfu connection {command} {name}"),
        }
    }

    /// Notes what a new session offers before any call.
    pub(crate) fn note(&self, pin: &Arc<ConnectionPin>, offered: &Tools) {
        let news = News {
            pin: Arc::clone(pin),
            offered: Some(Arc::clone(offered)),
        };
        let mut known = self.lock();
        if self.room.is_some() && *known != news {
            *known = news;
        }
    }

    /// All that decides which tools are listed under this approval. A new approval is one of what the server offers.
    pub(crate) fn news(&self, pin: &Arc<ConnectionPin>) -> News {
        let mut news = self.lock();
        if news.pin != *pin {
            *news = News {
                pin: Arc::clone(pin),
                offered: None,
            };
        }
        news.clone()
    }

    /// The comparison of the approval with what the last new session offered, if that is known.
    pub(crate) fn verdict(&self, pin: &Arc<ConnectionPin>) -> Option<Verdict> {
        let offered = self.news(pin).offered?;
        Some(pin.judge(self.connection(), offered.values()))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, News> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The process of its program.
    pub(crate) fn spec(&self, program: &Program) -> ProcessSpec {
        // In a sandbox, nothing of the person's is there.
        let (mut environment, folder) = match program.sandbox {
            Some(_) => (BTreeMap::new(), HOME.to_owned()),
            None => (self.parts.environment.clone(), self.parts.folder.clone()),
        };
        environment.extend(program.environment.clone());
        let command = std::iter::once(&program.command);
        ProcessSpec {
            arguments: command.chain(&program.arguments).cloned().collect(),
            environment,
            folder: program.folder.clone().unwrap_or(folder),
            sandbox: program.confinement(),
        }
    }

    pub(crate) fn sign_ins(&self) -> SignIns {
        SignIns {
            connection: self.connection().name.clone(),
            records: Arc::clone(&self.parts.records),
            secrets: Arc::clone(&self.parts.secrets),
            locks: Arc::clone(&self.parts.locks),
        }
    }

    pub(crate) fn is_url(&self) -> bool {
        matches!(self.connection().target, Target::Url(_))
    }

    /// The trouble as the caller may hear of it: the words of a program or a network may name what a user needn't know.
    pub(crate) fn told(&self, trouble: Trouble) -> PortError {
        if self.room.is_none() {
            return trouble.into();
        }
        let shown = trouble.for_users();
        let why = PortError::from(trouble);
        tracing::warn!(connection = %self.connection().name, %why, "a user's call has no answer");
        shown
    }
}
