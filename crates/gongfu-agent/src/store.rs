//! Sessions in a space: their entries, and what their records say.

use gongfu_core::agent::{Entry, EntryEvent, Session};
use gongfu_core::port::Space;
use gongfu_core::text::clipped;
use gongfu_hub::agent::SessionInfo;
use gongfu_hub::{Call, Problem, ToolError};

use crate::log::{self, Log, LogHead, LogInfo};

/// The longest log that is continued, in bytes: of longer ones the records may drop the beginning.
const MAX_LOG: usize = 24 * 1024 * 1024;
/// The characters of a title.
const MAX_TITLE: usize = 80;

impl LogInfo for SessionInfo {
    const RECORDS: &'static str = "session";
    const LOGS: &'static str = "session-log";
    const NAME: &'static str = "the sessions";

    fn head(&mut self) -> LogHead<'_> {
        LogHead {
            id: &mut self.id,
            started: &mut self.started,
            updated: &mut self.updated,
        }
    }

    fn unknown(id: &str) -> ToolError {
        Problem::SessionUnknown { id: id.to_owned() }.error()
    }

    fn running(id: &str) -> ToolError {
        Problem::SessionRunning { id: id.to_owned() }.error()
    }
}

/// The log of one session, and its state.
pub(crate) struct Store {
    space: Space,
    id: String,
    /// `None` for a session that isn't kept.
    log: Option<Log<SessionInfo>>,
    pub(crate) session: Session,
    /// True if an entry of the state isn't in the log: the record stays as it is.
    is_ahead: bool,
}

/// The entries of a session's log, and its length in bytes. A line that a crash cut short is left out: the entry was
/// written again after it, or its number is missing, which the session notices.
async fn read(space: &Space, id: &str) -> Result<(Vec<Entry>, usize), ToolError> {
    let lines = log::lines::<SessionInfo>(space, id).await?;
    let entries = lines.iter();
    let entries = entries.filter_map(|line| serde_json::from_slice(line).ok());
    let entries: Vec<Entry> = entries.collect();
    if entries.is_empty() {
        return Err(invalid(id, "its log can't be read"));
    }
    Ok((entries, lines.iter().map(Vec::len).sum()))
}

/// The entries of a session's log.
pub(crate) async fn entries(space: &Space, id: &str) -> Result<Vec<Entry>, ToolError> {
    Ok(read(space, id).await?.0)
}

/// The state of a session after these entries.
pub(crate) fn session(id: &str, entries: &[Entry]) -> Result<Session, ToolError> {
    Session::of(entries).map_err(|error| invalid(id, error.to_string()))
}

fn invalid(id: &str, reason: impl Into<String>) -> ToolError {
    let (id, reason) = (id.to_owned(), reason.into());
    Problem::SessionInvalid { id, reason }.error()
}

impl Store {
    /// A new session of a project; one that isn't kept leaves no log.
    pub(crate) async fn create(
        call: &Call,
        project: Option<String>,
        is_kept: bool,
    ) -> Result<Self, ToolError> {
        let log = if is_kept {
            let info = SessionInfo {
                project,
                ..SessionInfo::default()
            };
            Some(Log::create(call, &info).await?)
        } else {
            None
        };
        let id = log.as_ref().map(|log| log.id().to_owned());
        Ok(Self {
            space: call.space.clone(),
            id: id.unwrap_or_else(|| log::new_id(call, 0)),
            log,
            session: Session::default(),
            is_ahead: false,
        })
    }

    /// An existing session that nothing else writes.
    pub(crate) async fn open(space: &Space, id: &str) -> Result<Self, ToolError> {
        Ok(Self::open_with_length(space, id).await?.0)
    }

    /// The same, unless its log is too long to be continued.
    pub(crate) async fn open_to_continue(space: &Space, id: &str) -> Result<Self, ToolError> {
        let (store, length) = Self::open_with_length(space, id).await?;
        if length > MAX_LOG {
            return Err(invalid(id, "its log has reached the size limit"));
        }
        Ok(store)
    }

    async fn open_with_length(space: &Space, id: &str) -> Result<(Self, usize), ToolError> {
        let log = Log::open(space, id).await?;
        let (entries, length) = read(space, id).await?;
        let store = Self {
            space: space.clone(),
            id: id.to_owned(),
            log: Some(log),
            session: session(id, &entries)?,
            is_ahead: false,
        };
        Ok((store, length))
    }

    /// The record of the session.
    pub(crate) async fn info(&self) -> Result<SessionInfo, ToolError> {
        log::info(&self.space, &self.id).await
    }

    /// The id of the session.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// The id of the session, if it is kept.
    pub(crate) fn kept_id(&self) -> Option<&str> {
        self.log.as_ref().map(Log::id)
    }

    /// Brings the record of the session up to date; answers it.
    pub(crate) async fn note_state(&self) -> Result<SessionInfo, ToolError> {
        let session = &self.session;
        let title = session.turns().first().map_or("", |turn| &turn.prompt);
        let title = clipped(title, MAX_TITLE, ' ');
        let change = move |info: &mut SessionInfo| {
            info.title.clone_from(&title);
            info.model = session.model().map(str::to_owned);
            info.turns = session.turns().len();
            info.is_open = session.is_open();
            info.usage = session.usage();
            info.forked_from = session.forked_from().map(str::to_owned);
        };
        match &self.log {
            Some(log) if !self.is_ahead => log.update(change).await,
            _ => Ok(SessionInfo::default()),
        }
    }

    /// Adds an entry to the state and to the log.
    pub(crate) async fn add(&mut self, event: EntryEvent) -> Result<(), ToolError> {
        let entry = Entry {
            n: self.session.next_entry(),
            at: self.space.now().to_string(),
            event,
        };
        self.add_entry(&entry).await
    }

    /// The same with an entry as it is.
    pub(crate) async fn add_entry(&mut self, entry: &Entry) -> Result<(), ToolError> {
        let applied = self.session.apply(entry);
        applied.map_err(|error| invalid(&self.id, error.to_string()))?;
        if let Some(log) = &self.log {
            self.is_ahead = true;
            log.add(entry).await?;
            self.is_ahead = false;
        }
        Ok(())
    }
}
