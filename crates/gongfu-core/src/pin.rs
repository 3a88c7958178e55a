//! The records of pins: one for each connection that a person approved.

use crate::connection::{Connection, ConnectionName, ConnectionPin, Definition, PinnedTool};
use crate::port::{
    PortError, RecordKey, Records, Timestamp, Version, read_newer_record, read_record,
    update_record,
};

/// Reads the pin of a connection: an empty one, where nothing is approved.
///
/// # Errors
/// The record can't be read; nothing is approved then.
pub async fn read(
    records: &dyn Records,
    name: &ConnectionName,
) -> Result<ConnectionPin, PortError> {
    read_record(records, &key(name)?).await
}

/// The same with its version; `None` where that is the known one.
///
/// # Errors
/// The record can't be read; nothing is approved then.
pub async fn read_newer(
    records: &dyn Records,
    name: &ConnectionName,
    known: Option<&Version>,
) -> Result<Option<(ConnectionPin, Option<Version>)>, PortError> {
    read_newer_record(records, &key(name)?, known).await
}

/// Approves the target of a connection and these definitions, in place of the former ones.
///
/// # Errors
/// The record can't be read or written.
pub async fn approve(
    records: &dyn Records,
    connection: &Connection,
    definitions: &[Definition],
    now: Timestamp,
) -> Result<(), PortError> {
    let wanted = definitions
        .iter()
        .filter(|tool| connection.wants(&tool.name));
    let tools = wanted.map(|tool| (tool.name.clone(), PinnedTool::new(tool.clone())));
    let pin = ConnectionPin {
        target: connection.target.digest().to_string(),
        tools: tools.collect(),
        approved: now.0,
    };
    let key = key(&connection.name)?;
    update_record(records, &key, |known: &mut ConnectionPin| {
        *known = pin.clone();
    })
    .await
}

/// Removes the pin of a connection; answers whether there was one.
///
/// # Errors
/// The record can't be read or removed.
pub async fn remove(records: &dyn Records, name: &ConnectionName) -> Result<bool, PortError> {
    let key = key(name)?;
    let Some(record) = records.get(&key).await? else {
        return Ok(false);
    };
    records.set(&key, Some(record.version), None).await?;
    Ok(true)
}

fn key(name: &ConnectionName) -> Result<RecordKey, PortError> {
    Ok(RecordKey::new(format!("connections/{name}"))?)
}
