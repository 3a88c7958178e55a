//! Finds the skills in what was fetched.
//!
//! By the rules of `npx skills`, so that both find the same skills in a repository and lock them under the same names:
//! a skill at the top is the only one; else those of the conventional folders and of plugins; else all, down to five
//! levels. Skills that lie deeper are counted, so that none is left out silently.

mod declared;
mod elsewhere;
mod folders;
mod plugin;

use std::collections::HashSet;

use gongfu_core::skill::{SKILL_FILE, SKILL_FILE_LOWER, SkillPath, document};
use serde_json::Value;

use crate::content::Content;
use crate::error::{ImportCode, ImportError};
use folders::{Folders, join};

pub use elsewhere::PluginElsewhere;

/// The folders where clients keep the skills of a project.
pub const PROJECT_FOLDERS: [&str; 30] = [
    ".agents/skills",
    ".claude/skills",
    ".cline/skills",
    ".codebuddy/skills",
    ".codex/skills",
    ".commandcode/skills",
    ".continue/skills",
    ".factory/skills",
    ".github/skills",
    ".goose/skills",
    ".grok/skills",
    ".iflow/skills",
    ".junie/skills",
    ".kilo/skills",
    ".kilocode/skills",
    ".kimchi/skills",
    ".kiro/skills",
    ".minimax/skills",
    ".mux/skills",
    ".neovate/skills",
    ".opencode/skills",
    ".openhands/skills",
    ".pi/skills",
    ".posit/assistant/skills",
    ".qoder/skills",
    ".roo/skills",
    ".trae/skills",
    ".windsurf/skills",
    ".zcode/skills",
    ".zencoder/skills",
];
/// The folders of a collection of skills.
const COLLECTIONS: [&str; 4] = [
    "skills",
    "skills/.curated",
    "skills/.experimental",
    "skills/.system",
];
/// Folders that are searched no further.
const SKIPPED: [&str; 5] = ["node_modules", ".git", "dist", "build", "__pycache__"];
/// The levels below a conventional folder.
const CONVENTIONAL_DEPTH: usize = 3;
/// The levels of a search in all folders.
const FULL_DEPTH: usize = 5;
/// The longest document that is read to find a skill, in bytes.
const MAX_DOCUMENT: u64 = 4 * 1024 * 1024;
/// The most bytes of documents that are in memory at once.
const MAX_READ: u64 = 32 * 1024 * 1024;
/// The most skills of one source.
const MAX_SKILLS: usize = 5_000;

/// A skill of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundSkill {
    /// The name that it declares, else that of its folder.
    pub name: String,
    /// Its purpose.
    pub description: String,
    /// Its folder in the source.
    pub folder: SkillPath,
    /// The name of its document: `SKILL.md` or `skill.md`.
    pub document: &'static str,
    /// The plugin that lists it.
    pub plugin: Option<String>,
    /// True if its document declares its name and its description by the letter of the format.
    pub is_declared: bool,
    /// True if its author keeps it out of installations that don't name it (`metadata.internal`).
    pub is_internal: bool,
}

impl FoundSkill {
    /// Returns true if other installers find it. Their locks have no other skills.
    pub fn is_found_elsewhere(&self) -> bool {
        self.is_declared && self.document == SKILL_FILE
    }

    /// The path of its document in the source.
    pub fn document_path(&self) -> String {
        join(self.folder.as_str(), self.document)
    }
}

/// The way to search.
#[derive(Debug, Clone, Copy, Default)]
pub struct Search<'a> {
    /// The folder that is searched; all without one.
    pub below: Option<&'a SkillPath>,
    /// True to look into all folders, down to five levels, and not only into the usual ones.
    pub full_depth: bool,
}

/// The skills of a source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Discovery {
    /// Those that were found, in the order of their precedence.
    pub skills: Vec<FoundSkill>,
    /// The folders of others, which lie elsewhere, or whose name was taken.
    pub others: Vec<SkillPath>,
    /// The plugins that its marketplace lists in other places.
    pub elsewhere: Vec<PluginElsewhere>,
}

/// Finds the skills.
///
/// # Errors
/// The folder isn't there, a document can't be read, or there are too many skills.
pub fn discover(content: &mut Content, search: Search<'_>) -> Result<Discovery, ImportError> {
    let folders = Folders::of(content);
    let root = SkillPath::root();
    let start = search.below.unwrap_or(&root);
    if !folders.has(start.as_str()) {
        let message = format!("the source has no folder `{start}`");
        let hint = "check the path and the branch; --list shows the skills of the whole source";
        return Err(ImportError::new(
            ImportCode::SkillNotInSource,
            message,
            hint,
        ));
    }
    let plugins = plugin::read(content, start)?;
    let mut finder = Finder {
        installed: installed(content)?,
        content,
        folders: &folders,
        plugins: &plugins,
        read: HashSet::new(),
        names: HashSet::new(),
        skills: Vec::new(),
    };
    finder.find(start, search.full_depth)?;
    let skills = finder.skills;
    let is_inside = |folder: &&String| {
        let mut found = skills.iter();
        !found.any(|skill| SkillPath::new(folder).is_ok_and(|path| path.is_within(&skill.folder)))
    };
    let below = folders
        .skills()
        .filter(|folder| SkillPath::new(folder).is_ok_and(|path| path.is_within(start)));
    let others = below
        .filter(is_inside)
        .filter_map(|folder| SkillPath::new(folder).ok());
    Ok(Discovery {
        others: others.collect(),
        skills,
        elsewhere: plugins.elsewhere,
    })
}

struct Finder<'a> {
    content: &'a mut Content,
    folders: &'a Folders,
    plugins: &'a plugin::Plugins,
    /// The names of skills that the repository itself installed from elsewhere.
    installed: HashSet<String>,
    read: HashSet<String>,
    names: HashSet<String>,
    skills: Vec<FoundSkill>,
}

impl Finder<'_> {
    fn find(&mut self, start: &SkillPath, full_depth: bool) -> Result<(), ImportError> {
        let start = start.as_str();
        self.take(vec![start.to_owned()])?;
        if !self.skills.is_empty() && !full_depth {
            return Ok(());
        }
        let usual = COLLECTIONS.iter().chain(&PROJECT_FOLDERS);
        let deep: Vec<String> = usual.map(|folder| join(start, folder)).collect();
        let mut candidates = Vec::new();
        self.folders.below(start, 1, &mut candidates);
        for folder in &deep {
            self.folders
                .below(folder, CONVENTIONAL_DEPTH, &mut candidates);
        }
        for folder in &self.plugins.folders {
            let depth = if deep.contains(folder) {
                CONVENTIONAL_DEPTH
            } else {
                1
            };
            self.folders.below(folder, depth, &mut candidates);
        }
        self.take(candidates)?;
        if self.skills.is_empty() || full_depth {
            let mut candidates = Vec::new();
            self.folders.all(start, FULL_DEPTH, &mut candidates);
            self.take(candidates)?;
        }
        Ok(())
    }

    /// Reads the documents of folders, and adds their skills.
    fn take(&mut self, candidates: Vec<String>) -> Result<(), ImportError> {
        let mut wanted: Vec<(SkillPath, &'static str, SkillPath)> = Vec::new();
        for folder in candidates {
            let Some(name) = self.folders.document(&folder) else {
                continue;
            };
            if !self.read.insert(folder.clone()) {
                continue;
            }
            let path = SkillPath::new(&join(&folder, name));
            if let (Ok(folder), Ok(path)) = (SkillPath::new(&folder), path) {
                wanted.push((folder, name, path));
            }
        }
        if self.read.len() > MAX_SKILLS {
            let message = format!("the source has more than {MAX_SKILLS} skills");
            return Err(ImportError::too_large(message));
        }
        let sizes = |path: &SkillPath| self.content.files.get(path).map_or(0, |file| file.size);
        let mut groups: Vec<Vec<(SkillPath, &'static str, SkillPath)>> = Vec::new();
        let mut bytes = MAX_READ;
        for one in wanted {
            let size = sizes(&one.2);
            if size > MAX_DOCUMENT {
                continue;
            }
            bytes += size;
            if let Some(group) = groups.last_mut().filter(|_| bytes <= MAX_READ) {
                group.push(one);
            } else {
                bytes = size;
                groups.push(vec![one]);
            }
        }
        for group in groups {
            let paths: Vec<&SkillPath> = group.iter().map(|(_, _, path)| path).collect();
            let documents = self.content.read(&paths)?;
            for ((folder, document, _), bytes) in group.into_iter().zip(documents) {
                self.add(folder, document, &bytes);
            }
        }
        Ok(())
    }

    fn add(&mut self, folder: SkillPath, document: &'static str, bytes: &[u8]) {
        let mut diagnostics = Vec::new();
        let Some(read) = document::read(bytes, folder.file_name(), &mut diagnostics) else {
            return;
        };
        let declared = declared::text(&read, "name");
        let is_declared = declared.is_some()
            && declared::text(&read, "description").is_some()
            && declared::is_exact(&read, &diagnostics);
        let name = declared.unwrap_or_else(|| read.name.to_string());
        if self.names.contains(&name) || self.is_installed(&name, &folder) {
            return;
        }
        self.names.insert(name.clone());
        let internal = read.frontmatter.get("metadata");
        let internal = internal.and_then(|metadata| metadata.get("internal"));
        self.skills.push(FoundSkill {
            is_declared,
            is_internal: internal == Some(&Value::Bool(true)),
            plugin: self.plugins.of(&folder).map(str::to_owned),
            name,
            description: read.description,
            folder,
            document,
        });
    }

    /// Returns true for a skill that the repository installed from elsewhere, as its own lock says.
    fn is_installed(&self, name: &str, folder: &SkillPath) -> bool {
        let is_client = PROJECT_FOLDERS
            .iter()
            .any(|client| SkillPath::new(client).is_ok_and(|client| folder.is_within(&client)));
        let names = [normal(name), normal(folder.file_name())];
        is_client && names.iter().any(|name| self.installed.contains(name))
    }
}

/// A name as the lock's and the document's are compared.
pub(crate) fn normal(name: &str) -> String {
    let lower = name.to_lowercase();
    let words = lower.split(|character: char| character.is_whitespace() || character == '_');
    words
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join("-")
}

/// The names in the repository's own lock.
fn installed(content: &mut Content) -> Result<HashSet<String>, ImportError> {
    let Some(Value::Object(lock)) = json(content, "skills-lock.json")? else {
        return Ok(HashSet::new());
    };
    let skills = lock.get("skills").and_then(Value::as_object);
    let names = skills.into_iter().flat_map(|skills| skills.keys());
    Ok(names.map(|name| normal(name)).collect())
}

/// A JSON document of the source, where it has one that can be read.
fn json(content: &mut Content, path: &str) -> Result<Option<Value>, ImportError> {
    let Ok(path) = SkillPath::new(path) else {
        return Ok(None);
    };
    let is_there = content
        .files
        .get(&path)
        .is_some_and(|file| file.size <= MAX_DOCUMENT);
    if !is_there {
        return Ok(None);
    }
    let bytes = content.read(&[&path])?;
    let bytes = bytes.first().map(Vec::as_slice).unwrap_or_default();
    Ok(serde_json::from_slice(bytes).ok())
}

#[cfg(test)]
mod tests;
