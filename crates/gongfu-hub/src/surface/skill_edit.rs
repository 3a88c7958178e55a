//! Changes of whole skills by their ids: created, edited, deleted.

use gongfu_core::library::Skill;
use gongfu_core::port::{FileEdit, PortError};
use gongfu_core::skill::source_text::SourceText;
use gongfu_core::skill::{self, Digest, SKILL_FILE, SkillPath, draft, name};
use schemars::JsonSchema;
use serde::Serialize;

use super::operation::{self, Operation, specified};
use super::stored_skill::{self, StoredSkill};
use crate::call::{Call, Event};
use crate::error::ToolError;
use crate::error_code::ErrorCode;
use crate::file;
use crate::problem::Problem;
use crate::shelf;
use crate::writing;

/// The most attempts of a change that meets others.
const MAX_ATTEMPTS: usize = 100;

/// A file that is to be stored, or removed. The audit knows its digest alone.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FileChange {
    /// Its path.
    #[schemars(with = "String")]
    path: SkillPath,
    /// The digest of its content; missing for a file that is removed.
    digest: Option<String>,
    #[serde(skip)]
    content: Option<Vec<u8>>,
    /// True if it is a program; missing where that stays as it is.
    is_executable: Option<bool>,
}

impl FileChange {
    /// Stores a file.
    pub fn put(path: SkillPath, content: Vec<u8>, is_executable: Option<bool>) -> Self {
        Self {
            path,
            digest: Some(Digest::of(&content).to_string()),
            content: Some(content),
            is_executable,
        }
    }

    /// Removes a file.
    pub fn remove(path: SkillPath) -> Self {
        Self {
            path,
            digest: None,
            content: None,
            is_executable: None,
        }
    }

    fn edit(&self) -> FileEdit<'_> {
        FileEdit {
            path: &self.path,
            content: self.content.as_deref(),
            is_executable: self.is_executable,
        }
    }
}

/// Creates a skill from its description and instructions.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StoredSkillCreate {
    /// The name.
    pub name: String,
    /// Its purpose, and when to use it.
    pub description: String,
    /// The instructions; a template where they are empty.
    pub instructions: String,
}

impl Operation for StoredSkillCreate {
    const NAME: &'static str = "skill/create";
    type Output = StoredSkill;
    specified!(operation::write_spec::<Self>());

    async fn run(self, call: &Call) -> Result<StoredSkill, ToolError> {
        check_name(&self.name)?;
        let (name, description) = (&self.name, &self.description);
        let creating = writing::create_skill(call, name, description, &self.instructions);
        let (skill, _) = creating.await?;
        stored(call, &skill).await
    }
}

/// Creates a skill from all its files. Its name is the one that its SKILL.md declares.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StoredSkillImport {
    /// The files.
    pub files: Vec<FileChange>,
}

impl Operation for StoredSkillImport {
    const NAME: &'static str = "skill/import";
    type Output = StoredSkill;
    specified!(operation::write_spec::<Self>());

    async fn run(self, call: &Call) -> Result<StoredSkill, ToolError> {
        let mut documents = self.files.iter();
        let document = documents.find(|file| file.path.as_str() == SKILL_FILE);
        let document = document.and_then(|file| file.content.as_deref());
        let document = document.ok_or_else(without_document)?;
        let mut diagnostics = Vec::new();
        let loaded = skill::load(document, "", &mut diagnostics);
        let name = loaded.ok_or_else(|| writing::invalid(&diagnostics))?.name;
        call.events.send(Event::Skill(name.as_str()));
        check_name(name.as_str())?;
        let library = shelf::library(call).await?;
        let mut skills = library.skills().iter();
        if let Some(known) = skills.find(|known| known.name == name && library.is_own(known)) {
            return Err(writing::exists(name.as_str(), &known.full_name));
        }
        let edits: Vec<FileEdit<'_>> = self.files.iter().map(FileChange::edit).collect();
        let created = call.space.skills().create_whole(&name, &edits).await;
        let skill = created.map_err(|error| match error {
            PortError::Conflict(reason) => writing::exists(name.as_str(), &reason),
            error => file::failed(error, name.as_str(), "writing the skill"),
        })?;
        stored(call, &skill).await
    }
}

/// Changes files of a skill, all or none.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StoredSkillEdit {
    /// The id of the skill.
    pub skill: String,
    /// The digests of which the skill must have one; missing for any.
    pub expected: Option<Vec<String>>,
    /// The files.
    pub files: Vec<FileChange>,
    /// True if the skill is to have these files alone.
    pub is_whole: bool,
}

impl Operation for StoredSkillEdit {
    const NAME: &'static str = "skill/edit";
    type Output = StoredSkill;
    specified!(operation::write_spec::<Self>());

    async fn run(self, call: &Call) -> Result<StoredSkill, ToolError> {
        let expected = self.expected.as_deref();
        let mut attempts = 0;
        loop {
            attempts += 1;
            let before = stored_skill::find(call, &self.skill).await?.skill;
            let is_gone = |path: &SkillPath| {
                self.is_whole && !self.files.iter().any(|file| file.path == *path)
            };
            let gone = before.files.iter().filter(|file| is_gone(&file.path));
            let gone: Vec<FileChange> = gone
                .map(|file| FileChange::remove(file.path.clone()))
                .collect();
            let files: Vec<&FileChange> = self.files.iter().chain(&gone).collect();
            match edit(call, &before, expected, &files).await {
                Err(error) if may_repeat(&error, expected, attempts) => {}
                edited => return edited,
            }
        }
    }
}

/// Changes the description and the instructions of a skill; every other field of its SKILL.md stays.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StoredSkillDescribe {
    /// The id of the skill.
    pub skill: String,
    /// The digests of which the skill must have one; missing for any.
    pub expected: Option<Vec<String>>,
    /// The new description; missing where it stays.
    pub description: Option<String>,
    /// The new instructions; missing where they stay.
    pub instructions: Option<String>,
}

impl Operation for StoredSkillDescribe {
    const NAME: &'static str = "skill/describe";
    type Output = StoredSkill;
    specified!(operation::write_spec::<Self>());

    async fn run(self, call: &Call) -> Result<StoredSkill, ToolError> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            match self.attempt(call).await {
                Err(error) if may_repeat(&error, self.expected.as_deref(), attempts) => {}
                described => return described,
            }
        }
    }
}

impl StoredSkillDescribe {
    async fn attempt(&self, call: &Call) -> Result<StoredSkill, ToolError> {
        let before = stored_skill::find(call, &self.skill).await?.skill;
        let path =
            SkillPath::new(SKILL_FILE).map_err(|why| Problem::bad_path(SKILL_FILE, why).error())?;
        let bytes = stored_skill::read(call, &before, &path).await?;
        let mut diagnostics = Vec::new();
        let document = skill::load(&bytes, before.folder.file_name(), &mut diagnostics);
        let source = SourceText::decode(&bytes, SKILL_FILE, &mut diagnostics);
        let (Some(document), Some(source)) = (document, source) else {
            return Err(writing::invalid(&diagnostics));
        };
        let mut fields = document.frontmatter;
        if let Some(description) = &self.description {
            fields.insert("description".to_owned(), description.trim().into());
        }
        let body = self.instructions.as_deref();
        let text = draft::rewritten(&fields, body.unwrap_or_else(|| shelf::body(&source)));
        let change = FileChange::put(path, text.into_bytes(), None);
        edit(call, &before, self.expected.as_deref(), &[&change]).await
    }
}

/// Deletes a skill with all its files.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StoredSkillDelete {
    /// The id of the skill.
    pub skill: String,
    /// The digests of which the skill must have one; missing for any.
    pub expected: Option<Vec<String>>,
}

impl Operation for StoredSkillDelete {
    const NAME: &'static str = "skill/delete";
    type Output = ();
    specified!(operation::write_spec::<Self>());

    async fn run(self, call: &Call) -> Result<(), ToolError> {
        let skill = stored_skill::find(call, &self.skill).await?.skill;
        check_version(&skill, self.expected.as_deref())?;
        let deleting = call.space.skills().delete(&skill).await;
        deleting.map_err(|error| failed(error, &skill, self.expected.as_deref()))
    }
}

/// Changes files of a skill that still has the expected digest.
async fn edit(
    call: &Call,
    before: &Skill,
    expected: Option<&[String]>,
    files: &[&FileChange],
) -> Result<StoredSkill, ToolError> {
    check_version(before, expected)?;
    for change in files {
        check_change(call, before, change)?;
        if let Some(content) = &change.content {
            writing::check_new_name(call, content, before, &change.path).await?;
        }
    }
    let edits: Vec<FileEdit<'_>> = files.iter().map(|change| change.edit()).collect();
    let edited = call.space.skills().edit(before, &edits).await;
    let skill = edited.map_err(|error| failed(error, before, expected))?;
    stored(call, &skill).await
}

/// Returns true for a change that met another one, and that nobody made for a certain version.
fn may_repeat(error: &ToolError, expected: Option<&[String]>, attempts: usize) -> bool {
    expected.is_none() && attempts < MAX_ATTEMPTS && error.code() == ErrorCode::Conflict
}

fn check_version(skill: &Skill, expected: Option<&[String]>) -> Result<(), ToolError> {
    let digest = skill.digest().to_string();
    if expected.is_some_and(|expected| !expected.contains(&digest)) {
        return Err(outdated(skill));
    }
    Ok(())
}

/// Checks a change of one file: a SKILL.md must be one, and a file that programs obey is a person's own affair.
fn check_change(call: &Call, skill: &Skill, change: &FileChange) -> Result<(), ToolError> {
    let folders = call.space.run_folders();
    let is_person = call.actor.role.is_person();
    if !is_person && folders.obeyed_in_skill(skill, &change.path).is_some() {
        let operation = call.entry.to_string();
        return Err(Problem::PersonOnly { operation }.error());
    }
    let is_document = change.path.file_name().eq_ignore_ascii_case(SKILL_FILE);
    match &change.content {
        Some(content) if is_document => writing::judged(content, skill, &change.path).map(drop),
        None if change.path.as_str() == SKILL_FILE => Err(without_document()),
        _ => Ok(()),
    }
}

fn check_name(name: &str) -> Result<(), ToolError> {
    let starts = name.chars().next().is_some_and(char::is_alphabetic);
    if starts && name::faults(name).is_empty() {
        return Ok(());
    }
    let name = crate::problem::clipped(name);
    Err(writing::wrong_name(format!(
        "`{name}` is not a valid skill name"
    )))
}

fn without_document() -> ToolError {
    Problem::SkillInvalid {
        reason: "it would have no SKILL.md".to_owned(),
        hint: "send a SKILL.md at the top, or delete the skill".to_owned(),
    }
    .error()
}

fn outdated(skill: &Skill) -> ToolError {
    let skill = skill.full_name.to_string();
    Problem::Outdated { skill }.error()
}

fn failed(error: PortError, skill: &Skill, expected: Option<&[String]>) -> ToolError {
    match error {
        PortError::Conflict(_) if expected.is_some() => outdated(skill),
        PortError::NotFound => writing::gone(skill),
        error => file::failed(error, &skill.full_name, "writing the skill"),
    }
}

async fn stored(call: &Call, skill: &std::sync::Arc<Skill>) -> Result<StoredSkill, ToolError> {
    Ok(StoredSkill::new(&*shelf::library(call).await?, skill))
}
