//! Skills as a site that others add them from: an index with archives, plain files, and a plugin in two marketplaces.
//!
//! The same skills give the same bytes. What is written replaces an earlier site as a whole, and nothing else.

mod plugin;
mod writing;

use std::collections::BTreeMap;

use gongfu_archive::zip;
use gongfu_core::archive::ArchiveFile;
use gongfu_core::skill::{Digest, SKILL_FILE};
use gongfu_files::disk::{Root, reason};
use serde_json::{Value, json};

use crate::candidate::StagedSkill;
use crate::error::{ImportCode, ImportError};
use crate::fetch::well_known::index::{MAX_DESCRIPTION, SCHEMA, is_name};

pub use plugin::check_marketplace;
pub use writing::write;

/// The folder of the index, and of what it names.
pub const INDEX_FOLDER: &str = ".well-known/agent-skills";
/// The folder of the index of the first version, with each file of a skill.
const FILES_FOLDER: &str = ".well-known/skills";
/// The name of an index.
const INDEX: &str = "index.json";

/// A file of a site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteFile {
    /// Its content.
    pub bytes: Vec<u8>,
    /// True if it is a program.
    pub is_executable: bool,
}

impl SiteFile {
    fn plain(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            is_executable: false,
        }
    }
}

/// The files of a site, by path.
pub type Site = BTreeMap<String, SiteFile>;

/// A skill that is published.
#[derive(Debug, Clone)]
pub struct PublishedSkill {
    name: String,
    description: String,
    files: Vec<ArchiveFile>,
}

impl PublishedSkill {
    /// Reads a staged skill.
    ///
    /// # Errors
    /// Its name or its description can't be in an index, or a file can't be read.
    pub fn of(skill: &StagedSkill) -> Result<Self, ImportError> {
        let (name, description) = (&skill.found.name, &skill.found.description);
        let refused = |why: &str| {
            let hint = "`gongfu skill check` says how to fix it";
            ImportError::new(ImportCode::SourceRefused, format!("`{name}`: {why}"), hint)
        };
        if !is_name(name) || !skill.found.is_declared {
            return Err(refused(
                "an index needs a name of a-z, 0-9 and single hyphens, and a description",
            ));
        }
        if description.encode_utf16().count() > MAX_DESCRIPTION {
            let why = format!("its description is longer than {MAX_DESCRIPTION} characters");
            return Err(refused(&why));
        }
        let unreadable = |error: std::io::Error| refused(&reason(&error));
        let root = Root::open(&skill.staged).map_err(unreadable)?;
        let files = skill.files.iter().map(|(path, file)| {
            // Clients look for the document under one name alone.
            let path_there = if path.as_str() == skill.found.document {
                gongfu_core::skill::SkillPath::new(SKILL_FILE)
                    .map_err(|why| refused(&why.to_string()))?
            } else {
                path.clone()
            };
            Ok(ArchiveFile {
                path: path_there,
                is_executable: Some(file.executable),
                bytes: root.read(path, file.size).map_err(unreadable)?.bytes,
            })
        });
        Ok(Self {
            name: name.clone(),
            description: description.clone(),
            files: files.collect::<Result<_, ImportError>>()?,
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The path and the content of what the index names, and its type there.
    fn artifact(&self) -> Result<(String, Vec<u8>, &'static str), ImportError> {
        if let [document] = &self.files[..] {
            let path = format!("{}/{SKILL_FILE}", self.name);
            return Ok((path, document.bytes.clone(), "skill-md"));
        }
        let bytes = zip::write("", &self.files).map_err(|error| {
            ImportError::refused(format!("`{}` can't be packed: {error}", self.name))
        })?;
        Ok((format!("{}.zip", self.name), bytes, "archive"))
    }
}

/// The index of the second version, and what it names.
///
/// # Errors
/// Two skills have one name, or one can't be packed.
pub fn index(skills: &[PublishedSkill]) -> Result<Site, ImportError> {
    let mut site = Site::new();
    let mut entries: BTreeMap<&str, Value> = BTreeMap::new();
    for skill in skills {
        let (path, bytes, kind) = skill.artifact()?;
        let entry = json!({
            "name": skill.name,
            "description": skill.description,
            "type": kind,
            "url": path,
            "digest": Digest::of(&bytes).to_string(),
        });
        if entries.insert(&skill.name, entry).is_some() {
            let message = format!("two skills are called `{}`", skill.name);
            let hint = "publish one of them, or give one another name";
            return Err(ImportError::new(ImportCode::SkillNameTaken, message, hint));
        }
        site.insert(format!("{INDEX_FOLDER}/{path}"), SiteFile::plain(bytes));
    }
    let entries: Vec<Value> = entries.into_values().collect();
    let index = json!({ "$schema": SCHEMA, "skills": entries });
    site.insert(format!("{INDEX_FOLDER}/{INDEX}"), document(&index));
    Ok(site)
}

/// All of a site: both indexes, and the skills as the one plugin of a marketplace of this name.
///
/// # Errors
/// Two skills have one name, or one can't be packed.
pub fn site(skills: &[PublishedSkill], marketplace: &str) -> Result<Site, ImportError> {
    let mut site = index(skills)?;
    let mut entries: BTreeMap<&str, Value> = BTreeMap::new();
    for skill in skills {
        let names: Vec<&str> = skill.files.iter().map(|file| file.path.as_str()).collect();
        let entry = json!({ "name": skill.name, "description": skill.description, "files": names });
        entries.insert(&skill.name, entry);
        for file in &skill.files {
            let path = format!("{FILES_FOLDER}/{}/{}", skill.name, file.path);
            site.insert(path, SiteFile::plain(file.bytes.clone()));
        }
    }
    let entries: Vec<Value> = entries.into_values().collect();
    let files = document(&json!({ "skills": entries }));
    site.insert(format!("{FILES_FOLDER}/{INDEX}"), files);
    plugin::add(&mut site, skills, marketplace);
    Ok(site)
}

/// The file of a JSON document.
fn document(value: &Value) -> SiteFile {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    SiteFile::plain(text.into_bytes())
}

#[cfg(test)]
mod tests;
