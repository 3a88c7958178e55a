//! Records: small JSON values that are changed one at a time, and logs that only grow.
//!
//! Switches, grants and approvals are records, the audit and the uses are logs; sessions and accounts follow.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{LogHold, Pending, PortError};
use crate::skill::Digest;

/// The length from which a value of a record is refused, in bytes.
pub const MAX_VALUE: u64 = 16 * 1024 * 1024;
/// The longest entry of a log, in bytes.
pub const MAX_ENTRY: usize = 1024 * 1024;
/// The limit of attempts when another process changes the record in between.
const MAX_ATTEMPTS: usize = 64;

/// The name of a record or a log: 1 to 4 segments of `[a-z0-9_-]{1,64}`, joined by `/`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordKey(String);

/// A text that can't be a [`RecordKey`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a record key is 1 to 4 segments of lower-case letters, digits, `-` and `_`, joined by `/`"
)]
pub struct RecordKeyError;

impl RecordKey {
    /// Checks and wraps a key.
    ///
    /// # Errors
    /// The text is not 1 to 4 segments of `[a-z0-9_-]{1,64}`.
    pub fn new(key: impl Into<String>) -> Result<Self, RecordKeyError> {
        let key = key.into();
        let is_segment = |segment: &str| {
            let is_plain = |byte: u8| {
                byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte)
            };
            (1..=64).contains(&segment.len()) && segment.bytes().all(is_plain)
        };
        let fits = key.split('/').count() <= 4 && key.split('/').all(is_segment);
        fits.then_some(Self(key)).ok_or(RecordKeyError)
    }

    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for RecordKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The state of a record's value: the digest of its bytes.
pub type Version = Digest;

/// The value of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// A JSON object as text.
    pub value: Vec<u8>,
    /// The version of this value.
    pub version: Version,
    /// The file, row or address that holds it, for people.
    pub place: String,
}

/// A change of one record as part of a commit; the fields are the arguments of [`Records::set`].
#[derive(Debug, Clone, Copy)]
pub struct RecordChange<'a> {
    /// The record.
    pub key: &'a RecordKey,
    /// The version that it must still have; `None`: there must be no record.
    pub expected: Option<Version>,
    /// The new value; `None` removes the record.
    pub value: Option<&'a [u8]>,
}

/// An entry that a commit adds to a log.
#[derive(Debug, Clone, Copy)]
pub struct LogEntry<'a> {
    /// The log.
    pub log: &'a RecordKey,
    /// The entry, one line.
    pub entry: &'a [u8],
}

/// Durable records and logs.
///
/// Records are few and small (up to 16 MiB each). A value that isn't a JSON object is
/// [`PortError::Unavailable`], names its place, and stays as it is.
pub trait Records: Send + Sync {
    /// The record of this key, if it exists.
    fn get<'a>(&'a self, key: &'a RecordKey) -> Pending<'a, Option<Record>>;

    /// Compares and sets: replaces the value if its version is still `expected` (`None`: there is
    /// no record), and removes the record for a `value` of `None`. Answers the new version.
    ///
    /// A version that differs is [`PortError::Conflict`], and nothing changes.
    fn set<'a>(
        &'a self,
        key: &'a RecordKey,
        expected: Option<Version>,
        value: Option<&'a [u8]>,
    ) -> Pending<'a, Option<Version>>;

    /// The records whose key is `prefix`, or begins with it and a `/`, by key.
    fn list<'a>(&'a self, prefix: &'a RecordKey) -> Pending<'a, Vec<(RecordKey, Record)>>;

    /// The records that [`Records::list`] answers, by key, from the first one after `after` on, at most `limit`.
    ///
    /// Each page is current by itself: a record that is created meanwhile appears if its key is still to come.
    fn page<'a>(
        &'a self,
        prefix: &'a RecordKey,
        after: Option<&'a RecordKey>,
        limit: usize,
    ) -> Pending<'a, Vec<(RecordKey, Record)>> {
        Box::pin(async move {
            let mut found = self.list(prefix).await?;
            found.retain(|(key, _)| after.is_none_or(|after| key > after));
            found.truncate(limit);
            Ok(found)
        })
    }

    /// Adds an entry of one line to a log. A longer one than [`MAX_ENTRY`] is [`PortError::Denied`].
    fn append<'a>(&'a self, log: &'a RecordKey, entry: &'a [u8]) -> Pending<'a, ()>;

    /// Adds an entry soon: where that spares its caller a wait for the disk, within a second. A crash before loses it.
    fn append_soon<'a>(&'a self, log: &'a RecordKey, entry: &'a [u8]) -> Pending<'a, ()> {
        self.append(log, entry)
    }

    /// The last entries of a log, at most `limit`, the oldest first. Old entries may be gone: a log
    /// is bounded in size.
    fn entries<'a>(&'a self, log: &'a RecordKey, limit: usize) -> Pending<'a, Vec<Vec<u8>>>;

    /// Takes a log for a writer that alone adds to it; `None` while there is one already. It ends with the answer, or
    /// with its process. Others could add entries all the same: they don't ask.
    fn hold_log<'a>(&'a self, log: &'a RecordKey) -> Pending<'a, Option<LogHold>>;

    /// Removes a log with all its entries. Does nothing where there is no such log.
    fn remove_log<'a>(&'a self, log: &'a RecordKey) -> Pending<'a, ()>;
}

/// Records that can change together.
///
/// Files don't implement it: nothing renames several files at once, so that a crash could leave half of a commit. Locally
/// no change needs it. Accounts do, and with them there is a database.
pub trait Transactions: Records {
    /// Makes all changes and adds all entries, in this order, or nothing at all. Answers the new versions, one for each
    /// change.
    ///
    /// A version that differs is [`PortError::Conflict`]; a record that is changed twice is [`PortError::Denied`].
    fn commit<'a>(
        &'a self,
        changes: &'a [RecordChange<'a>],
        entries: &'a [LogEntry<'a>],
    ) -> Pending<'a, Vec<Option<Version>>>;
}

/// Checks that a commit is one that every backend takes: JSON objects, single lines, each record once.
///
/// # Errors
/// [`PortError::Denied`] with the reason.
pub fn check_commit(
    changes: &[RecordChange<'_>],
    entries: &[LogEntry<'_>],
) -> Result<(), PortError> {
    for (index, change) in changes.iter().enumerate() {
        if let Some(value) = change.value {
            check_value(value).map_err(|why| PortError::Denied(format!("not a record: {why}")))?;
        }
        let mut earlier = changes.iter().take(index);
        if earlier.any(|earlier| earlier.key == change.key) {
            let why = format!("the record `{}` is changed twice", change.key);
            return Err(PortError::Denied(why));
        }
    }
    entries
        .iter()
        .try_for_each(|entry| check_entry(entry.entry))
}

/// Checks that a value is a JSON object, and short enough to be read back whole.
///
/// # Errors
/// The reason why it isn't.
pub fn check_value(value: &[u8]) -> Result<(), String> {
    if value.len() as u64 >= MAX_VALUE {
        return Err("it is 16 MiB or longer".to_owned());
    }
    let object = serde_json::from_slice::<Map<String, Value>>(value);
    object.map(drop).map_err(|error| error.to_string())
}

/// Checks that an entry of a log is one line, and not too long.
///
/// # Errors
/// [`PortError::Denied`] with the reason.
pub fn check_entry(entry: &[u8]) -> Result<(), PortError> {
    let why = if entry.len() > MAX_ENTRY {
        "an entry of a log has 1 MiB at most"
    } else if entry.contains(&b'\n') {
        "an entry of a log is one line"
    } else {
        return Ok(());
    };
    Err(PortError::Denied(why.to_owned()))
}

/// Reads a record as a typed value; the default where it doesn't exist.
///
/// # Errors
/// The record can't be read, or isn't such a value: the error names the place that holds it.
pub async fn read_record<T: DeserializeOwned + Default>(
    records: &dyn Records,
    key: &RecordKey,
) -> Result<T, PortError> {
    Ok(versioned(records, key).await?.0)
}

/// Changes a record as a typed value, and answers what `change` answers.
///
/// `change` may run several times: whenever somebody else changed the record in between, it starts
/// from the new value. A value that stays the same isn't written.
///
/// # Errors
/// The record can't be read or written, or isn't such a value: then it stays as it is.
pub async fn update_record<T, A>(
    records: &dyn Records,
    key: &RecordKey,
    mut change: impl FnMut(&mut T) -> A + Send,
) -> Result<A, PortError>
where
    T: DeserializeOwned + Serialize + Default + Clone + PartialEq + Send + Sync,
    A: Send,
{
    for _ in 0..MAX_ATTEMPTS {
        let (before, version): (T, _) = versioned(records, key).await?;
        let mut after = before.clone();
        let answer = change(&mut after);
        if after == before {
            return Ok(answer);
        }
        let mut value =
            serde_json::to_vec_pretty(&after).map_err(|error| PortError::Other(error.into()))?;
        value.push(b'\n');
        match records.set(key, version, Some(&value)).await {
            Ok(_) => return Ok(answer),
            Err(PortError::Conflict(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Err(PortError::Unavailable(format!(
        "`{key}` changes too often; try again"
    )))
}

/// Reads a record as [`read_record`] does, with its version; `None` where that is the known one. A long value is so
/// parsed once.
///
/// # Errors
/// Those of [`read_record`].
pub async fn read_newer_record<T: DeserializeOwned + Default>(
    records: &dyn Records,
    key: &RecordKey,
    known: Option<&Version>,
) -> Result<Option<(T, Option<Version>)>, PortError> {
    match records.get(key).await? {
        Some(record) if Some(&record.version) == known => Ok(None),
        Some(record) => Ok(Some((parsed(&record)?, Some(record.version)))),
        None => Ok(Some((T::default(), None))),
    }
}

async fn versioned<T: DeserializeOwned + Default>(
    records: &dyn Records,
    key: &RecordKey,
) -> Result<(T, Option<Version>), PortError> {
    match records.get(key).await? {
        Some(record) => Ok((parsed(&record)?, Some(record.version))),
        None => Ok((T::default(), None)),
    }
}

fn parsed<T: DeserializeOwned>(record: &Record) -> Result<T, PortError> {
    serde_json::from_slice(&record.value)
        .map_err(|error| PortError::Unavailable(unreadable(&record.place, &error)))
}

/// Why a record isn't such a value. One with more in it than this version knows isn't damaged: nobody should
/// remove it, and it isn't read in part, because what is left out may limit the rest.
fn unreadable(place: &str, error: &serde_json::Error) -> String {
    let why = error.to_string();
    if why.starts_with("unknown field") || why.starts_with("unknown variant") {
        format!(
            "{place} was probably written by a newer gongfu ({why}); update this one, or set GONGFU_HOME to another folder"
        )
    } else {
        format!("{place} is damaged ({why}); repair or remove it")
    }
}

#[cfg(test)]
mod tests {
    use super::{RecordKey, unreadable};

    #[test]
    fn record_of_a_newer_version_is_not_called_damaged() {
        use crate::switches::Switches;
        let why = |text: &str| {
            let error = serde_json::from_str::<Switches>(text).unwrap_err();
            unreadable("/h/switches.json", &error)
        };
        let newer = why(r#"{"disabled": [], "until": {}}"#);
        assert!(
            newer.contains("newer gongfu") && !newer.contains("remove"),
            "{newer}"
        );
        assert!(
            newer.contains("`until`") && newer.contains("/h/switches.json"),
            "{newer}"
        );
        assert!(why("{\"disabled\": [1]}").contains("damaged"));
    }

    #[test]
    fn a_key_cannot_be_a_path() {
        for bad in [
            "",
            "/",
            "a/",
            "..",
            "a/../b",
            "A",
            "a.b",
            "a\\b",
            "a/b/c/d/e",
        ] {
            assert!(RecordKey::new(bad).is_err(), "{bad:?}");
        }
        assert!(RecordKey::new("approvals/3f-1_a").is_ok());
    }
}
