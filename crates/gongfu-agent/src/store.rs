//! Sessions in a space: their entries, and what their records say.

use gongfu_core::agent::{Entry, EntryEvent, Session};
use gongfu_core::port::Space;
use gongfu_core::text::clipped;
use gongfu_hub::agent::SessionInfo;
use gongfu_hub::{Problem, ToolError};

use crate::log::{self, Log, LogHead, LogInfo};
use crate::mark;

/// The longest log that is continued, in bytes: of longer ones the store may drop the beginning.
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
            writer: &mut self.writer,
        }
    }

    fn unknown(id: &str) -> ToolError {
        Problem::SessionUnknown { id: id.to_owned() }.error()
    }

    fn taken(id: &str) -> ToolError {
        Problem::SessionTaken { id: id.to_owned() }.error()
    }
}

/// The log of one session, and its state.
pub(crate) struct Store {
    space: Space,
    id: String,
    /// `None` for a session that isn't kept.
    log: Option<Log<SessionInfo>>,
    pub(crate) session: Session,
}

/// The entries of a session's log. A line that a crash cut short is left out: the entry was written again after it, or
/// its number is missing, which the session notices.
pub(crate) async fn entries(space: &Space, id: &str) -> Result<Vec<Entry>, ToolError> {
    let lines = log::lines::<SessionInfo>(space, id).await?;
    let bytes = lines.iter().map(Vec::len).sum::<usize>();
    if bytes > MAX_LOG {
        let reason = "its log has reached the size limit";
        return Err(invalid(id, reason));
    }
    let entries = lines.iter();
    let entries = entries.filter_map(|line| serde_json::from_slice(line).ok());
    let entries: Vec<Entry> = entries.collect();
    if entries.is_empty() {
        return Err(invalid(id, "its log can't be read"));
    }
    Ok(entries)
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
    /// A new session; one that isn't kept leaves no log.
    pub(crate) async fn create(
        space: &Space,
        writer: &str,
        is_kept: bool,
    ) -> Result<Self, ToolError> {
        let log = if is_kept {
            Some(Log::create(space, writer, &SessionInfo::default()).await?)
        } else {
            None
        };
        let id = log.as_ref().map_or_else(
            || mark::id(&space.now().to_string(), writer, 0),
            |log| log.id().to_owned(),
        );
        Ok(Self {
            space: space.clone(),
            id,
            log,
            session: Session::default(),
        })
    }

    /// An existing session, which this turn writes from now on. What wrote it until now ends at its next entry where it
    /// is taken over; else it must be at its end.
    pub(crate) async fn open(
        space: &Space,
        id: &str,
        writer: &str,
        takes_over: bool,
    ) -> Result<Self, ToolError> {
        let Some(log) = Log::open(space, id, writer, takes_over).await? else {
            let id = id.to_owned();
            return Err(Problem::SessionOpen { id }.error());
        };
        // Read after the claim: whatever had it before adds nothing any more.
        let read = entries(space, id).await;
        match read.and_then(|entries| session(id, &entries)) {
            Ok(session) => Ok(Self {
                space: space.clone(),
                id: id.to_owned(),
                log: Some(log),
                session,
            }),
            Err(error) => {
                log.release().await?;
                Err(error)
            }
        }
    }

    /// The id of the session.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Leaves the session to whatever wants to write it next.
    pub(crate) async fn release(&self) -> Result<(), ToolError> {
        match &self.log {
            Some(log) => log.release().await,
            None => Ok(()),
        }
    }

    /// Brings the record of the session up to date, as long as this turn is its writer; answers the record.
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
            Some(log) => log.update(change).await,
            None => Ok(SessionInfo::default()),
        }
    }

    /// Adds an entry to the log, then to the state.
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
        match &self.log {
            Some(log) => log.add(entry).await,
            None => Ok(()),
        }
    }
}
