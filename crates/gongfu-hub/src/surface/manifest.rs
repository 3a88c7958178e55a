//! Skills as hosts of the Skills extension take them (SEP-2640): frontmatter, and every file with its
//! digest.
//!
//! The list offers skills of the format alone, because hosts refuse every other one; a
//! client with the address of another gets its entry, as long as it can be true.

use gongfu_core::library::Skill;
use gongfu_core::skill::check::limit::{MAX_BYTES, MAX_FILES};
use gongfu_core::skill::field::MAX_DESCRIPTION;
use gongfu_core::skill::{Digest, SKILL_FILE};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::operation::{Operation, specified};
use super::page::Page;
use super::view::{View, address, view};
use super::{address, resource, word};
use crate::call::Call;
use crate::error::ToolError;
use crate::problem::Problem;

/// A skill with its files.
#[derive(Debug, Clone, PartialEq)]
pub struct SkillEntry {
    /// The URI of its SKILL.md.
    pub uri: String,
    /// The name in its frontmatter.
    pub name: String,
    /// The description in its frontmatter.
    pub description: String,
    /// Every other field of its frontmatter.
    pub fields: Map<String, Value>,
    /// All files, or `None` for more than every host takes, or one without a digest.
    pub files: Option<Vec<ManifestFile>>,
}

/// A file of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestFile {
    /// Its URI.
    pub uri: String,
    /// The digest of its content.
    pub digest: Digest,
    /// Its length in bytes.
    pub size: u64,
}

/// Lists the skills of the format, with their files.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct SkillsList {
    /// Leads to the next page, as the page before gave it.
    pub cursor: Option<String>,
}

impl Operation for SkillsList {
    const NAME: &'static str = "skills/list";
    type Output = Page<SkillEntry>;
    specified!();

    async fn run(self, call: &Call) -> Result<Page<SkillEntry>, ToolError> {
        let view = view(call).await?;
        view.page(Self::NAME, self.cursor.as_deref(), |at, skill| {
            let conforms = skill.findings.breaches == 0;
            let entry = conforms.then(|| entry(&view, at, skill)).flatten()?;
            let long = entry.description.chars().nth(MAX_DESCRIPTION).is_some();
            let size = size(&entry, skill);
            (!long).then_some((entry, size))
        })
    }
}

/// Tells the entry of one skill, by the URI of its SKILL.md.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct SkillsGet {
    /// The URI of its SKILL.md.
    pub uri: String,
}

impl Operation for SkillsGet {
    const NAME: &'static str = "skills/get";
    type Output = SkillEntry;
    specified!();

    async fn run(self, call: &Call) -> Result<SkillEntry, ToolError> {
        let wanted = address(&self.uri)?;
        let view = view(call).await?;
        let found = view
            .found(&wanted)
            .filter(|(.., below)| *below == SKILL_FILE);
        let Some((at, skill, _)) = found else {
            return Err(resource::unknown(&view, &self.uri, &wanted));
        };
        let canonical = address::encode(wanted.as_str());
        if canonical != self.uri {
            // A host binds what it approves to the URI that it asked for.
            let reason = format!("it is written {canonical}");
            let uri = self.uri;
            return Err(Problem::ResourceUri { uri, reason }.error());
        }
        entry(&view, at, skill).ok_or_else(|| {
            Problem::SkillUnreadable {
                name: skill.name.to_string(),
                reason: "its frontmatter lacks a name or description".to_owned(),
            }
            .error()
        })
    }
}

/// The entry of a skill; none for one whose frontmatter can't be told as it is, because hosts compare.
fn entry(view: &View, at: u32, skill: &Skill) -> Option<SkillEntry> {
    let root = address::encode(view.table.root(at)?);
    let mut fields = word::fields(skill);
    let mut text = |field: &str| match fields.shift_remove(field) {
        Some(Value::String(text)) if !text.trim().is_empty() => Some(text),
        _ => None,
    };
    let (name, description) = (text("name")?, text("description")?);
    let named = resource::skill_file(skill)?;
    if name != skill.name.as_str() {
        return None;
    }
    let small = skill.files.len() <= MAX_FILES && skill.bytes() <= MAX_BYTES;
    let files = skill.files.iter().filter(|_| small).map(|file| {
        let below = if file.path == named.path {
            SKILL_FILE
        } else {
            file.path.as_str()
        };
        Some(ManifestFile {
            uri: address::join(&root, below),
            digest: file.digest?,
            size: file.size,
        })
    });
    let files: Option<Vec<ManifestFile>> = files.collect();
    Some(SkillEntry {
        uri: address::join(&root, SKILL_FILE),
        name,
        description,
        fields,
        files: files.filter(|_| small),
    })
}

/// About how many bytes an entry takes in an answer.
fn size(entry: &SkillEntry, skill: &Skill) -> usize {
    /// The bytes around a URI: names of members, digest, size.
    const FILE: usize = 120;
    let files = entry.files.iter().flatten();
    let files: usize = files.map(|file| file.uri.len() + FILE).sum();
    skill.frontmatter.len() + entry.uri.len() + files
}
