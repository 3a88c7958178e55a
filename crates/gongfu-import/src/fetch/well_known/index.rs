//! The index of a site, in both of its versions. Fetches nothing.

use std::collections::HashSet;

use gongfu_core::archive::{ArchiveCheck, ArchiveLimits, EntryHead};
use gongfu_core::skill::{Digest, SKILL_FILE, SkillPath};
use serde_json::{Map, Value};
use url::Url;

use crate::error::{ImportCode, ImportError};

/// The schema of the second version; the first has none.
pub(crate) const SCHEMA: &str = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";
/// The most entries.
const MAX_ENTRIES: usize = 1_000;
/// The most files of an entry of the first version.
const MAX_FILES: usize = 1_000;
/// The longest name, in characters.
const MAX_NAME: usize = 64;
/// The longest description of the second version, in UTF-16 units.
pub(crate) const MAX_DESCRIPTION: usize = 1_024;
/// The longest name of a refused entry that is shown, in characters.
const MAX_SHOWN: usize = 100;

/// A skill of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexEntry {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// The address of its artifact, or of its SKILL.md beside other files.
    pub url: Url,
    /// The kind of what is there.
    pub kind: EntryKind,
}

/// The content that an entry names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryKind {
    /// A SKILL.md alone, with its digest.
    Document(Digest),
    /// An archive, with its digest.
    Archive(Digest),
    /// Files without a digest, which are fetched one by one.
    Files(Vec<SkillPath>),
}

impl EntryKind {
    /// The digest that the index gives.
    pub fn digest(&self) -> Option<Digest> {
        match self {
            Self::Document(digest) | Self::Archive(digest) => Some(*digest),
            Self::Files(_) => None,
        }
    }
}

/// The entries that are taken, and the others with the reason.
type Entries = (Vec<IndexEntry>, Vec<(String, String)>);

/// Reads an index from its address.
///
/// # Errors
/// It is no index, has a version that isn't known, too many entries, or not one that can be taken.
pub(super) fn read(bytes: &[u8], url: &Url) -> Result<Entries, ImportError> {
    let refused = |why: &str| {
        let message = format!("the index at {} can't be used: {why}", super::shown(url));
        let hint = "tell the owner of the site";
        Err(ImportError::new(ImportCode::SourceInvalid, message, hint))
    };
    let index: Map<String, Value> = match serde_json::from_slice(bytes) {
        Ok(index) => index,
        Err(why) => return refused(&format!("it isn't a JSON object: {why}")),
    };
    let Some(Value::Array(skills)) = index.get("skills") else {
        return refused("it has no list `skills`");
    };
    if skills.len() > MAX_ENTRIES {
        let place = super::shown(url);
        let message = format!("the index at {place} has more than {MAX_ENTRIES} entries");
        return Err(ImportError::too_large(message));
    }
    let read = match index.get("$schema") {
        None => first_version,
        Some(Value::String(schema)) if schema == SCHEMA => second_version,
        Some(_) => return refused("its version isn't known to this version of gongfu"),
    };
    let (mut entries, mut others) = (Vec::new(), Vec::new());
    let mut names = HashSet::new();
    for skill in skills {
        let name = skill.get("name").and_then(Value::as_str);
        let read = head(skill).and_then(|(name, description)| {
            let (link, kind) = read(skill, name)?;
            if !names.insert(name) {
                return Err("its name is there twice".to_owned());
            }
            Ok(IndexEntry {
                name: name.to_owned(),
                description: description.to_owned(),
                url: url
                    .join(&link)
                    .map_err(|why| format!("`url` isn't a URL: {why}"))?,
                kind,
            })
        });
        match read {
            Ok(entry) => entries.push(entry),
            Err(why) => {
                let name = name.unwrap_or("an entry without a name");
                let name = gongfu_core::text::clipped(name, MAX_SHOWN, ' ');
                others.push((name, why));
            }
        }
    }
    match others.first() {
        Some((name, why)) if entries.is_empty() => refused(&format!("`{name}`: {why}")),
        _ if entries.is_empty() => refused("it has no skills"),
        _ => Ok((entries, others)),
    }
}

/// Returns true for a name that an index may have: of a-z, 0-9 and single hyphens.
pub(crate) fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !name.is_empty()
        && name.len() <= MAX_NAME
        && name.bytes().all(is_plain)
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--")
}

/// The name and the description of an entry.
fn head(skill: &Value) -> Result<(&str, &str), String> {
    let name = text(skill, "name")?;
    if !is_name(name) {
        return Err("its name isn't of a-z, 0-9 and single hyphens".to_owned());
    }
    Ok((name, text(skill, "description")?))
}

/// The text of a field that must have one.
fn text<'a>(skill: &'a Value, key: &str) -> Result<&'a str, String> {
    let text = skill.get(key).and_then(Value::as_str);
    text.filter(|text| !text.is_empty())
        .ok_or_else(|| format!("`{key}` is missing"))
}

/// The link and the kind of an entry of the first version.
fn first_version(skill: &Value, name: &str) -> Result<(String, EntryKind), String> {
    let files = skill.get("files").and_then(Value::as_array);
    let files = files.ok_or("`files` is missing")?;
    if files.len() > MAX_FILES {
        return Err(format!("it has more than {MAX_FILES} files"));
    }
    let mut check = ArchiveCheck::new(ArchiveLimits::SKILL);
    let mut paths = Vec::new();
    for file in files {
        let file = file.as_str().ok_or("a file has no path")?;
        let admitted = check.admit(EntryHead {
            name: file.as_bytes(),
            is_folder: false,
            mode: None,
            is_encrypted: false,
            packed: 0,
        });
        let admitted = admitted.map_err(|why| format!("`files`: {why}"))?;
        let path = admitted.ok_or("a file has the path of a folder")?.path;
        if path.as_str().eq_ignore_ascii_case(SKILL_FILE) {
            // The document comes first: without it, the others needn't be fetched.
            paths.splice(0..0, SkillPath::new(SKILL_FILE));
        } else {
            paths.push(path);
        }
    }
    if paths.first().is_none_or(|path| path.as_str() != SKILL_FILE) {
        return Err("it has no SKILL.md".to_owned());
    }
    Ok((format!("{name}/{SKILL_FILE}"), EntryKind::Files(paths)))
}

/// The link and the kind of an entry of the second version.
fn second_version(skill: &Value, _: &str) -> Result<(String, EntryKind), String> {
    if text(skill, "description")?.encode_utf16().count() > MAX_DESCRIPTION {
        return Err(format!("its description is longer than {MAX_DESCRIPTION}"));
    }
    let digest: Digest = text(skill, "digest")?
        .parse()
        .map_err(|why| format!("`digest`: {why}"))?;
    let kind = match text(skill, "type")? {
        "skill-md" => EntryKind::Document(digest),
        "archive" => EntryKind::Archive(digest),
        _ => return Err("`type` is neither `skill-md` nor `archive`".to_owned()),
    };
    Ok((text(skill, "url")?.to_owned(), kind))
}
