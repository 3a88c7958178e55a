//! Sessions in a space: a log, and a record that lists it.

use gongfu_core::agent::{Entry, EntryEvent, Session};
use gongfu_core::port::{PortError, RecordKey, Space, check_entry, read_record, update_record};
use gongfu_hub::agent::SessionInfo;
use gongfu_hub::{Problem, ToolError};

use crate::mark;

/// The most entries that are read of a log.
const MAX_ENTRIES: usize = 100_000;
/// The longest log that is continued, in bytes: of longer ones the store may drop the beginning.
const MAX_LOG: usize = 24 * 1024 * 1024;
/// The characters of a title.
const MAX_TITLE: usize = 80;

/// The log of one session, and its state.
pub(crate) struct Store {
    space: Space,
    id: String,
    /// `None` for a session that isn't kept.
    keys: Option<Keys>,
    writer: String,
    pub(crate) session: Session,
}

struct Keys {
    record: RecordKey,
    log: RecordKey,
}

impl Keys {
    fn of(id: &str) -> Result<Self, ToolError> {
        let unknown = |_| Problem::SessionUnknown { id: id.to_owned() }.error();
        let is_segment = !id.contains('/');
        let key = |kind: &str| RecordKey::new(format!("{kind}/{id}")).map_err(unknown);
        if !is_segment {
            return Err(Problem::SessionUnknown { id: id.to_owned() }.error());
        }
        Ok(Self {
            record: key("session")?,
            log: key("session-log")?,
        })
    }
}

/// The sessions of a space, the one with the latest turn first.
pub(crate) async fn list(space: &Space) -> Result<Vec<SessionInfo>, ToolError> {
    let prefix = RecordKey::new("session").map_err(|error| fault(&error))?;
    let found = space.records().list(&prefix).await.map_err(broken)?;
    let infos = found
        .iter()
        .filter_map(|(_, record)| serde_json::from_slice::<SessionInfo>(&record.value).ok());
    let mut infos: Vec<SessionInfo> = infos.collect();
    infos.sort_by(|one, other| {
        other
            .updated
            .cmp(&one.updated)
            .then_with(|| other.id.cmp(&one.id))
    });
    Ok(infos)
}

/// The entries of a session's log. A line that a crash cut short is left out: the entry was written again after it, or
/// its number is missing, which the session notices.
pub(crate) async fn entries(space: &Space, id: &str) -> Result<Vec<Entry>, ToolError> {
    let keys = Keys::of(id)?;
    let lines = space.records().entries(&keys.log, MAX_ENTRIES).await;
    let lines = lines.map_err(broken)?;
    if lines.is_empty() {
        return Err(Problem::SessionUnknown { id: id.to_owned() }.error());
    }
    let bytes = lines.iter().map(Vec::len).sum::<usize>();
    if bytes > MAX_LOG {
        let reason = "its log is as long as a log may be; start a new session";
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

fn invalid(id: &str, reason: impl Into<String>) -> ToolError {
    let (id, reason) = (id.to_owned(), reason.into());
    Problem::SessionInvalid { id, reason }.error()
}

pub(crate) fn broken(error: PortError) -> ToolError {
    Problem::broken("the sessions", &error).error()
}

pub(crate) fn fault(error: &dyn std::error::Error) -> ToolError {
    let reason = error.to_string();
    Problem::Fault { reason }.error()
}

impl Store {
    /// A new session; one that isn't kept leaves no log.
    pub(crate) async fn create(
        space: &Space,
        writer: &str,
        is_kept: bool,
    ) -> Result<Self, ToolError> {
        let now = space.now().to_string();
        for attempt in 0..mark::MAX_IDS {
            let id = mark::id(&now, writer, attempt);
            let mut store = Self {
                space: space.clone(),
                keys: if is_kept { Some(Keys::of(&id)?) } else { None },
                id,
                writer: writer.to_owned(),
                session: Session::default(),
            };
            if store.claim_new(&now).await? {
                return Ok(store);
            }
            store.keys = None;
        }
        Err(Problem::Fault {
            reason: "there is no free id for a session".to_owned(),
        }
        .error())
    }

    /// Creates the record; false where there is one already.
    async fn claim_new(&self, now: &str) -> Result<bool, ToolError> {
        let Some(keys) = &self.keys else {
            return Ok(true);
        };
        let info = SessionInfo {
            id: self.id.clone(),
            started: now.to_owned(),
            updated: now.to_owned(),
            writer: self.writer.clone(),
            ..SessionInfo::default()
        };
        let value = serde_json::to_vec(&info).map_err(|error| fault(&error))?;
        match self
            .space
            .records()
            .set(&keys.record, None, Some(&value))
            .await
        {
            Ok(_) => Ok(true),
            Err(PortError::Conflict(_)) => Ok(false),
            Err(error) => Err(broken(error)),
        }
    }

    /// An existing session, which this turn writes from now on. What wrote it until now ends at its next entry where it
    /// is taken over; else it must be at its end.
    pub(crate) async fn open(
        space: &Space,
        id: &str,
        writer: &str,
        takes_over: bool,
    ) -> Result<Self, ToolError> {
        let mut store = Self {
            space: space.clone(),
            id: id.to_owned(),
            keys: Some(Keys::of(id)?),
            writer: writer.to_owned(),
            session: Session::default(),
        };
        // Before anything is claimed, so that an id without a session leaves no record.
        entries(space, id).await?;
        if !store.claim(takes_over).await? {
            let id = id.to_owned();
            return Err(Problem::SessionOpen { id }.error());
        }
        // Read after the claim: whatever had it before adds nothing any more.
        let read = store.read().await;
        if read.is_err() {
            store.release().await?;
        }
        read.map(|()| store)
    }

    async fn read(&mut self) -> Result<(), ToolError> {
        let entries = entries(&self.space, &self.id).await?;
        let session = Session::of(&entries);
        self.session = session.map_err(|error| invalid(&self.id, error.to_string()))?;
        Ok(())
    }

    /// The id of the session.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Makes this turn the writer; false where another one is, and isn't to be taken over.
    async fn claim(&self, takes_over: bool) -> Result<bool, ToolError> {
        self.update(|info| {
            let is_free = takes_over || info.writer.is_empty();
            if is_free {
                info.writer.clone_from(&self.writer);
            }
            is_free
        })
        .await
    }

    /// Leaves the session to whatever wants to write it next.
    pub(crate) async fn release(&self) -> Result<(), ToolError> {
        self.update(|info| {
            if info.writer == self.writer {
                info.writer.clear();
            }
            true
        })
        .await?;
        Ok(())
    }

    /// Brings the record of the session up to date, as long as this turn is its writer.
    pub(crate) async fn note_state(&self) -> Result<(), ToolError> {
        let session = &self.session;
        let updated = self.space.now().to_string();
        let title = session.turns().first().map_or("", |turn| &turn.prompt);
        let title = gongfu_core::text::clipped(title, MAX_TITLE, ' ');
        self.update(move |info| {
            if info.writer != self.writer {
                return false;
            }
            info.title.clone_from(&title);
            info.updated.clone_from(&updated);
            info.model = session.model().map(str::to_owned);
            info.turns = session.turns().len();
            info.is_open = session.is_open();
            info.usage = session.usage();
            info.forked_from = session.forked_from().map(str::to_owned);
            true
        })
        .await?;
        Ok(())
    }

    /// Changes the record, and answers as the change does.
    async fn update(
        &self,
        change: impl Fn(&mut SessionInfo) -> bool + Send + Sync,
    ) -> Result<bool, ToolError> {
        let Some(keys) = &self.keys else {
            return Ok(true);
        };
        let changed = update_record(
            self.space.records(),
            &keys.record,
            |info: &mut SessionInfo| {
                info.id.clone_from(&self.id);
                change(info)
            },
        );
        changed.await.map_err(broken)
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
        let line = serde_json::to_vec(entry).map_err(|error| fault(&error))?;
        check_entry(&line).map_err(broken)?;
        let applied = self.session.apply(entry);
        applied.map_err(|error| invalid(&self.id, error.to_string()))?;
        let Some(keys) = &self.keys else {
            return Ok(());
        };
        let records = self.space.records();
        let info: SessionInfo = read_record(records, &keys.record).await.map_err(broken)?;
        if info.writer != self.writer {
            let id = self.id.clone();
            return Err(Problem::SessionTaken { id }.error());
        }
        records.append(&keys.log, &line).await.map_err(broken)
    }
}
