//! Skills as resources: their files by URI, and their folders.

use std::collections::BTreeMap;

use gongfu_core::library::{Skill, path_below};
use gongfu_core::near;
use gongfu_core::skill::{Digest, FileEntry, FileKind, SKILL_FILE, SKILL_FILE_LOWER, SkillPath};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::address::{self, Address};
use super::operation::{Operation, specified};
use super::page::Page;
use super::view::{View, address, view};
use super::word;
use crate::call::Call;
use crate::error::ToolError;
use crate::media::media_type;
use crate::problem::Problem;
use crate::shelf;

/// The media type of a folder (SEP-2640).
pub const FOLDER: &str = "inode/directory";
/// The limit of URIs in an error.
const MAX_NEAREST: usize = 50;

/// Something that has a URI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// Its URI.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// Its title for people, where that says more than the name.
    pub title: Option<String>,
    /// Its purpose.
    pub description: Option<String>,
    /// Its media type; [`FOLDER`] for a folder.
    pub media_type: &'static str,
    /// Its length in bytes; none for a folder.
    pub size: Option<u64>,
    /// True if a model reads it to use a skill.
    pub is_instructions: bool,
}

/// The content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceContent {
    /// Its media type.
    pub media_type: &'static str,
    /// Its content.
    pub content: FileText,
}

/// A content, whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileText {
    /// Text, byte for byte.
    Text(String),
    /// Anything else.
    Binary(Vec<u8>),
}

/// The mark that tells a file from the same one after a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint {
    digest: Option<Digest>,
    size: u64,
}

/// A family of URIs, with variables (RFC 6570).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Template {
    /// The URIs.
    pub uri: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Its title for people.
    pub title: &'static str,
    /// Its purpose.
    pub description: &'static str,
    /// The media type of all, where they have the same.
    pub media_type: Option<&'static str>,
}

/// The instructions of a skill, by source and path.
pub const INSTRUCTIONS: &str = "skill://{source}/{+skill}/SKILL.md";
/// A file of a skill, by source, path and path of the file.
pub const FILE: &str = "skill://{source}/{+skill}/{+file}";

/// Every family of URIs.
pub const TEMPLATES: [Template; 2] = [
    Template {
        uri: INSTRUCTIONS,
        name: "skill",
        title: "Instructions of a skill",
        description: "The SKILL.md of a skill: a source, and the skill's path in it, which ends in its name",
        media_type: Some("text/markdown"),
    },
    Template {
        uri: FILE,
        name: "skill-file",
        title: "File of a skill",
        description: "A file of a skill: a source, the skill's path in it, and the file's path in the skill",
        media_type: None,
    },
];

/// Lists the instructions of every skill.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct ResourcesList {
    /// Leads to the next page, as the page before gave it.
    pub cursor: Option<String>,
}

impl Operation for ResourcesList {
    const NAME: &'static str = "resources/list";
    type Output = Page<Resource>;
    specified!();

    async fn run(self, call: &Call) -> Result<Page<Resource>, ToolError> {
        /// The bytes around the texts of an entry.
        const AROUND: usize = 200;
        let view = view(call).await?;
        view.page(Self::NAME, self.cursor.as_deref(), |at, skill| {
            let resource = instructions(&view, at, skill)?;
            let size = resource.uri.len() + skill.description.len() + AROUND;
            Some((resource, size))
        })
    }
}

/// Reads a file of a skill as it is on disk now.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ResourcesRead {
    /// The URI of the file.
    pub uri: String,
}

impl Operation for ResourcesRead {
    const NAME: &'static str = "resources/read";
    type Output = ResourceContent;
    specified!();

    async fn run(self, call: &Call) -> Result<ResourceContent, ToolError> {
        let wanted = address(&self.uri)?;
        let view = view(call).await?;
        let Some((_, skill, below)) = view.found(&wanted) else {
            return Err(unknown(&view, &self.uri, &wanted));
        };
        let Some(path) = real_path(skill, below) else {
            return Err(unknown(&view, &self.uri, &wanted));
        };
        let bytes = shelf::file(call, skill, &path).await;
        let bytes = bytes.map_err(|error| match error.problem {
            Problem::FileUnknown { .. } => unknown(&view, &self.uri, &wanted),
            _ => error,
        })?;
        let kind = FileKind::of(&bytes);
        let media_type = media_type(&path, kind);
        let content = match (kind, String::from_utf8(bytes)) {
            (FileKind::Text, Ok(text)) => FileText::Text(text),
            (_, Ok(text)) => FileText::Binary(text.into_bytes()),
            (_, Err(other)) => FileText::Binary(other.into_bytes()),
        };
        Ok(ResourceContent {
            media_type,
            content,
        })
    }
}

/// Lists what lies in a folder: of a skill, of a source, or above all sources.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct DirectoryRead {
    /// The URI of the folder, without a slash at its end.
    pub uri: String,
    /// Leads to the next page, as the page before gave it.
    pub cursor: Option<String>,
}

impl Operation for DirectoryRead {
    const NAME: &'static str = "resources/directory/read";
    type Output = Page<Resource>;
    specified!();

    async fn run(self, call: &Call) -> Result<Page<Resource>, ToolError> {
        let wanted = address(&self.uri)?;
        let view = view(call).await?;
        // Each folder is a list of its own.
        let list = format!("{} of {}", Self::NAME, wanted.as_str());
        let after = super::page::behind(&list, self.cursor.as_deref())?;
        let children = match view.found(&wanted) {
            Some((at, skill, below)) => {
                if real_path(skill, below).is_some() {
                    let reason = "it is a file, not a folder".to_owned();
                    let uri = self.uri;
                    return Err(Problem::ResourceUri { uri, reason }.error());
                }
                within(&view, at, skill, below)
            }
            None => between(&view, wanted.as_str()),
        };
        let Some(children) = children else {
            return Err(unknown(&view, &self.uri, &wanted));
        };
        let rest = children
            .into_iter()
            .filter(|(name, _)| after.as_deref().is_none_or(|after| name.as_str() > after));
        Ok(Page::fill(
            &list,
            rest,
            |(name, _)| name,
            |(_, resource)| Some((resource.clone(), resource.uri.len())),
        ))
    }
}

/// Tells what a file is like right now, to be told from itself after a change.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ResourcesSubscribe {
    /// The URI of the file.
    pub uri: String,
}

impl Operation for ResourcesSubscribe {
    const NAME: &'static str = "resources/subscribe";
    type Output = Fingerprint;
    specified!();

    async fn run(self, call: &Call) -> Result<Fingerprint, ToolError> {
        let wanted = address(&self.uri)?;
        let view = view(call).await?;
        let found = view.found(&wanted);
        let file = found.and_then(|(_, skill, below)| file(skill, below));
        let file = file.ok_or_else(|| unknown(&view, &self.uri, &wanted))?;
        Ok(fingerprint(file))
    }
}

fn fingerprint(file: &FileEntry) -> Fingerprint {
    Fingerprint {
        digest: file.digest,
        size: file.size,
    }
}

impl View {
    /// Returns the fingerprint of a file in this state of the library; `None` when it isn't there.
    pub(crate) fn fingerprint(&self, uri: &str) -> Option<Fingerprint> {
        let wanted = address::decode(uri).ok()?;
        let (_, skill, below) = self.found(&wanted)?;
        file(skill, below).map(fingerprint)
    }
}

/// The file that makes a skill one.
pub(crate) fn skill_file(skill: &Skill) -> Option<&FileEntry> {
    let named = |name: &str| listed(skill, name);
    named(SKILL_FILE).or_else(|| named(SKILL_FILE_LOWER))
}

fn listed<'a>(skill: &'a Skill, path: &str) -> Option<&'a FileEntry> {
    let at = |file: &FileEntry| file.path.as_str().cmp(path);
    let found = skill.files.binary_search_by(at).ok()?;
    skill.files.get(found)
}

/// A file by its path in URIs: there a skill's own file is always called SKILL.md.
fn file<'a>(skill: &'a Skill, below: &str) -> Option<&'a FileEntry> {
    if below == SKILL_FILE {
        return skill_file(skill);
    }
    let is_own = |file: &&FileEntry| {
        file.path.as_str() == SKILL_FILE_LOWER && listed(skill, SKILL_FILE).is_none()
    };
    listed(skill, below).filter(|file| !is_own(file))
}

/// Returns the path at which a file really lies.
fn real_path(skill: &Skill, below: &str) -> Option<SkillPath> {
    file(skill, below).map(|file| file.path.clone())
}

/// The SKILL.md of a skill as a resource.
fn instructions(view: &View, at: u32, skill: &Skill) -> Option<Resource> {
    let root = view.table.root(at)?;
    let file = skill_file(skill)?;
    let fields = word::fields(skill);
    Some(Resource {
        uri: address::join(&address::encode(root), SKILL_FILE),
        name: skill.name.to_string(),
        title: Some(word::title(skill, &fields)),
        description: Some(word::description(skill, &fields)),
        media_type: "text/markdown",
        size: Some(file.size),
        is_instructions: true,
    })
}

/// Lists a folder of a skill, by name; `None` when there is no such folder.
fn within(view: &View, at: u32, skill: &Skill, folder: &str) -> Option<BTreeMap<String, Resource>> {
    let root = address::encode(view.table.root(at)?);
    let here = address::join(&root, folder);
    let own = skill_file(skill).map(|file| &file.path);
    let mut children = BTreeMap::new();
    for file in skill.files.iter() {
        let Some(below) = path_below(file.path.as_str(), folder) else {
            continue;
        };
        if let Some((name, _)) = below.split_once('/') {
            children
                .entry(name.to_owned())
                .or_insert_with(|| a_folder(&here, name));
        } else if own == Some(&file.path) {
            let instructions = instructions(view, at, skill)?;
            children.insert(SKILL_FILE.to_owned(), instructions);
        } else {
            let resource = Resource {
                uri: address::join(&here, below),
                name: below.to_owned(),
                title: None,
                description: None,
                media_type: media_type(&file.path, file.kind),
                size: Some(file.size),
                is_instructions: false,
            };
            children.insert(below.to_owned(), resource);
        }
    }
    (!children.is_empty()).then_some(children)
}

/// Lists a folder above skills, by name; `None` when no skill is below it.
fn between(view: &View, folder: &str) -> Option<BTreeMap<String, Resource>> {
    let here = address::encode(folder);
    let mut children = BTreeMap::new();
    for root in view.roots_below(folder) {
        let below = path_below(root, folder)?;
        let name = below.split('/').next().unwrap_or_default();
        children.entry(name.to_owned()).or_insert_with(|| {
            if folder.is_empty() {
                Resource {
                    uri: address::encode(name),
                    ..a_folder("", name)
                }
            } else {
                a_folder(&here, name)
            }
        });
    }
    (!children.is_empty() || folder.is_empty()).then_some(children)
}

fn a_folder(above: &str, name: &str) -> Resource {
    Resource {
        uri: address::join(above, name),
        name: name.to_owned(),
        title: None,
        description: None,
        media_type: FOLDER,
        size: None,
        is_instructions: false,
    }
}

/// Nothing is at a URI; names what is near.
pub(crate) fn unknown(view: &View, uri: &str, wanted: &Address) -> ToolError {
    let nearest = if let Some((at, skill, below)) = view.found(wanted) {
        let root = view.table.root(at).map_or("", |root| &**root);
        let root = address::encode(root);
        let files = skill.files.iter().map(|file| file.path.as_str());
        let near = near::nearest_first(below, files).into_iter();
        let near = near.take(MAX_NEAREST);
        near.map(|path| address::join(&root, path)).collect()
    } else {
        let roots = near::nearest_first(wanted.as_str(), view.roots_below(""));
        let near = roots.into_iter().take(MAX_NEAREST);
        near.map(|root| address::join(&address::encode(root), SKILL_FILE))
            .collect()
    };
    Problem::ResourceUnknown {
        uri: uri.to_owned(),
        nearest,
    }
    .error()
}
