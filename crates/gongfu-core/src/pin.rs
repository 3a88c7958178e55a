//! The records of pins: one for each connection that a person approved.

use crate::connection::{
    Connection, ConnectionName, ConnectionPin, Definition, OfferedSkill, PinnedTool, ServerContent,
    SkillPin,
};
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

/// Reads the approval of a connection's skills with its version; `None` where that is the known one.
///
/// # Errors
/// The record can't be read; nothing is approved then.
pub async fn read_newer_skills(
    records: &dyn Records,
    name: &ConnectionName,
    known: Option<&Version>,
) -> Result<Option<(SkillPin, Option<Version>)>, PortError> {
    read_newer_record(records, &skill_key(name)?, known).await
}

/// Approves these skills of a connection, in place of the former ones.
///
/// # Errors
/// The record can't be read or written.
pub async fn approve_skills(
    records: &dyn Records,
    connection: &Connection,
    skills: Vec<OfferedSkill>,
) -> Result<(), PortError> {
    let pin = SkillPin::new(&connection.target, skills);
    let key = skill_key(&connection.name)?;
    update_record(records, &key, |known: &mut SkillPin| {
        *known = pin.clone();
    })
    .await
}

/// Ends the approval of skills that a server offers no longer in the approved form; answers whether that changed
/// anything.
///
/// # Errors
/// The record can't be read or written.
pub async fn end_skills(
    records: &dyn Records,
    name: &ConnectionName,
    offered: &[OfferedSkill],
) -> Result<bool, PortError> {
    let key = skill_key(name)?;
    update_record(records, &key, |known: &mut SkillPin| known.end(offered)).await
}

/// Reads the prompts and resources that a server listed last, with their version; `None` where that is the known one.
///
/// # Errors
/// The record can't be read.
pub async fn read_newer_content(
    records: &dyn Records,
    name: &ConnectionName,
    known: Option<&Version>,
) -> Result<Option<(ServerContent, Option<Version>)>, PortError> {
    read_newer_record(records, &content_key(name)?, known).await
}

/// Notes the prompts and resources that a server lists now.
///
/// # Errors
/// The record can't be read or written.
pub async fn note_content(
    records: &dyn Records,
    name: &ConnectionName,
    content: &ServerContent,
) -> Result<(), PortError> {
    let key = content_key(name)?;
    update_record(records, &key, |known: &mut ServerContent| {
        *known = content.clone();
    })
    .await
}

/// Removes the approvals of a connection; answers whether there was one.
///
/// # Errors
/// A record can't be read or removed.
pub async fn remove(records: &dyn Records, name: &ConnectionName) -> Result<bool, PortError> {
    remove_record(records, content_key(name)?).await?;
    let had_skills = remove_record(records, skill_key(name)?).await?;
    Ok(remove_record(records, key(name)?).await? || had_skills)
}

async fn remove_record(records: &dyn Records, key: RecordKey) -> Result<bool, PortError> {
    let Some(record) = records.get(&key).await? else {
        return Ok(false);
    };
    records.set(&key, Some(record.version), None).await?;
    Ok(true)
}

fn key(name: &ConnectionName) -> Result<RecordKey, PortError> {
    Ok(RecordKey::new(format!("connections/{name}"))?)
}

fn content_key(name: &ConnectionName) -> Result<RecordKey, PortError> {
    Ok(RecordKey::new(format!("connection-content/{name}"))?)
}

fn skill_key(name: &ConnectionName) -> Result<RecordKey, PortError> {
    Ok(RecordKey::new(format!("connection-skills/{name}"))?)
}
