//! Files of skills: listed, read, written, deleted, uploaded and downloaded.

use axum::body::Body;
use axum::extract::{DefaultBodyLimit, FromRequest as _, Multipart, Request};
use gongfu_core::account::TeamRole;
use gongfu_core::archive::{ArchiveCheck, ArchiveError, ArchiveFile, ArchiveLimits, EntryHead};
use gongfu_core::skill::{FileKind, SkillPath};
use gongfu_hub::archive;
use gongfu_hub::media;
use gongfu_hub::surface::skill_edit::{FileChange, StoredSkillEdit, StoredSkillImport};
use gongfu_hub::surface::stored_skill::{
    StoredFileRead, StoredSkill, StoredSkillDownload, StoredSkillShow,
};
use http::header::CONTENT_TYPE;
use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::context::Context;
use super::endpoint::{Access, Answer, Endpoint, Refusal, ReplyBody, RequestBody};
use super::skill::{
    CONFLICT, FULL, INVALID, OUTDATED, PATH, READ, READ_ONLY, UNKNOWN, WRITE, etag, expected,
};
use crate::problem::Problem;

/// The bytes of a form around its file.
const FORM: usize = 64 * 1024;
/// The most bytes of an archive, and of a file: those of all files, and of one.
const MAX_UPLOAD: usize = 64 * 1024 * 1024;
const MAX_CONTENT: usize = 32 * 1024 * 1024;

const FILE_UNKNOWN: Refusal = Refusal {
    status: 404,
    codes: &["SKILL_NOT_FOUND", "FILE_NOT_FOUND", "NOT_FOUND"],
};

/// The path of a file that should be there: none has a path that can't be one.
fn known_path(text: &str) -> Result<SkillPath, Problem> {
    path(text).map_err(|_| Problem::NotFound("file"))
}

/// The path of a file inside a skill.
fn path(text: &str) -> Result<SkillPath, Problem> {
    let path = SkillPath::new(text)
        .map_err(|why| Problem::from(gongfu_hub::Problem::bad_path(text, why).error()))?;
    if path.is_root() {
        return Err(Problem::field("path", "it is the skill itself"));
    }
    Ok(path)
}

/// The same for a file that is written: its name has to mean a file on every system.
fn new_path(text: &str) -> Result<SkillPath, Problem> {
    let path = path(text)?;
    let head = EntryHead {
        name: path.as_str().as_bytes(),
        is_folder: false,
        mode: None,
        is_encrypted: false,
        packed: 0,
    };
    let admitted = ArchiveCheck::new(ArchiveLimits::SKILL).admit(head);
    admitted.map_err(|why| Problem::field("path", why.to_string()))?;
    Ok(path)
}

/// List the files of a skill, by path.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FileList {
    /// The id of the skill.
    #[schemars(length(min = 1, max = 64))]
    id: String,
}

impl Endpoint for FileList {
    const NAME: &'static str = "file_list";
    const METHOD: Method = Method::GET;
    const PATH: &'static str = "/api/v1/skills/{id}/files";
    const ACCESS: Access = READ;
    const TEAM: Option<TeamRole> = Some(TeamRole::Member);
    const REFUSALS: &'static [Refusal] = &[UNKNOWN];
    type Reply = Vec<String>;

    async fn answer(self, context: &Context) -> Result<Answer<Vec<String>>, Problem> {
        let show = StoredSkillShow { skill: self.id };
        let stored = context.operate(show).await?;
        let files = stored.skill.files.iter();
        let paths: Vec<String> = files.map(|file| file.path.to_string()).collect();
        Ok(Answer::from(paths).etag(etag(&stored)))
    }
}

/// Download a file of a skill.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FileRead {
    /// The id of the skill.
    #[schemars(length(min = 1, max = 64))]
    id: String,
    /// The path of the file.
    #[schemars(length(min = 1, max = 4_096))]
    path: String,
}

impl Endpoint for FileRead {
    const NAME: &'static str = "file_read";
    const METHOD: Method = Method::GET;
    const PATH: &'static str = "/api/v1/skills/{id}/files/{*path}";
    const ACCESS: Access = READ;
    const TEAM: Option<TeamRole> = Some(TeamRole::Member);
    const REFUSALS: &'static [Refusal] = &[FILE_UNKNOWN];
    const REPLY: ReplyBody = ReplyBody::File;
    type Reply = ();

    async fn answer(self, context: &Context) -> Result<Answer<()>, Problem> {
        let path = known_path(&self.path)?;
        let read = StoredFileRead {
            skill: self.id,
            path: path.clone(),
        };
        let (stored, bytes) = context.operate(read).await?;
        let media_type = media::media_type(&path, FileKind::of(&bytes));
        Ok(Answer::file(bytes, media_type, path.file_name()).etag(etag(&stored)))
    }
}

/// A file that was written.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct FileReply {
    /// The path.
    path: String,
    /// The length in bytes.
    bytes: usize,
    /// The id of its skill.
    skill_id: String,
}

/// Write a file of a skill. The body is its content; folders that are missing are created.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FileWrite {
    /// The id of the skill.
    #[schemars(length(min = 1, max = 64))]
    id: String,
    /// The path of the file.
    #[schemars(length(min = 1, max = 4_096))]
    path: String,
}

impl Endpoint for FileWrite {
    const NAME: &'static str = "file_write";
    const METHOD: Method = Method::PUT;
    const PATH: &'static str = "/api/v1/skills/{id}/files/{*path}";
    const ACCESS: Access = WRITE;
    const TEAM: Option<TeamRole> = Some(TeamRole::Maintainer);
    const OTHER_SUCCESS: Option<StatusCode> = Some(StatusCode::CREATED);
    const BODY: RequestBody = RequestBody::Bytes(MAX_CONTENT);
    const HEADERS: &'static [&'static str] = &["If-Match"];
    const REFUSALS: &'static [Refusal] = &[READ_ONLY, UNKNOWN, CONFLICT, OUTDATED, INVALID, FULL];
    type Reply = FileReply;

    async fn answer(self, context: &Context) -> Result<Answer<FileReply>, Problem> {
        let path = new_path(&self.path)?;
        write(context, self.id, path, context.body.to_vec()).await
    }
}

/// Writes a file of a skill.
async fn write(
    context: &Context,
    id: String,
    path: SkillPath,
    content: Vec<u8>,
) -> Result<Answer<FileReply>, Problem> {
    let bytes = content.len();
    let show = StoredSkillShow { skill: id.clone() };
    let before = context.operate(show).await?;
    let is_new = !before.skill.files.iter().any(|file| file.path == path);
    let edit = StoredSkillEdit {
        skill: id,
        expected: expected(context),
        files: vec![FileChange::put(path.clone(), content, None)],
        is_whole: false,
    };
    let stored = context.operate(edit).await?;
    let tag = etag(&stored);
    let reply = FileReply {
        path: path.to_string(),
        bytes,
        skill_id: stored.id,
    };
    let status = if is_new {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    Ok(Answer::from(reply).status(status).etag(tag))
}

/// Delete a file of a skill.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FileDelete {
    /// The id of the skill.
    #[schemars(length(min = 1, max = 64))]
    id: String,
    /// The path of the file.
    #[schemars(length(min = 1, max = 4_096))]
    path: String,
}

impl Endpoint for FileDelete {
    const NAME: &'static str = "file_delete";
    const METHOD: Method = Method::DELETE;
    const PATH: &'static str = "/api/v1/skills/{id}/files/{*path}";
    const ACCESS: Access = WRITE;
    const TEAM: Option<TeamRole> = Some(TeamRole::Maintainer);
    const SUCCESS: StatusCode = StatusCode::NO_CONTENT;
    const HEADERS: &'static [&'static str] = &["If-Match"];
    const REFUSALS: &'static [Refusal] = &[READ_ONLY, FILE_UNKNOWN, CONFLICT, OUTDATED, INVALID];
    const REPLY: ReplyBody = ReplyBody::Nothing;
    type Reply = ();

    async fn answer(self, context: &Context) -> Result<Answer<()>, Problem> {
        let path = known_path(&self.path)?;
        let edit = StoredSkillEdit {
            skill: self.id,
            expected: expected(context),
            files: vec![FileChange::remove(path)],
            is_whole: false,
        };
        let stored = context.operate(edit).await?;
        Ok(Answer::nothing().etag(etag(&stored)))
    }
}

/// Download a skill as a zip archive.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SkillDownload {
    /// The id of the skill.
    #[schemars(length(min = 1, max = 64))]
    id: String,
}

impl Endpoint for SkillDownload {
    const NAME: &'static str = "skill_download";
    const METHOD: Method = Method::GET;
    const PATH: &'static str = "/api/v1/skills/{id}/download";
    const ACCESS: Access = READ;
    const TEAM: Option<TeamRole> = Some(TeamRole::Member);
    const REFUSALS: &'static [Refusal] = &[UNKNOWN];
    const REPLY: ReplyBody = ReplyBody::File;
    type Reply = ();

    async fn answer(self, context: &Context) -> Result<Answer<()>, Problem> {
        let download = StoredSkillDownload { skill: self.id };
        let (stored, files) = context.operate(download).await?;
        let name = stored.skill.name.to_string();
        let folder = name.clone();
        let packed = blocking(move || archive::write(&folder, &files)).await?;
        let file = Answer::file(packed, "application/zip", &format!("{name}.zip"));
        Ok(file.etag(etag(&stored)))
    }
}

/// Upload a whole skill as a zip archive, or one file of a skill.
///
/// The form has a `file`. A zip archive is a whole skill: a new one without `skill_id`, else all the files that the skill
/// has from then on. Any other file becomes one of the skill `skill_id`, at the path that is its file name.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SkillUpload {}

/// The result of an upload.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct UploadReply {
    /// The name of the file as it was sent.
    filename: String,
    /// The id of the skill.
    skill_id: String,
}

/// The fields of a form.
#[derive(Debug, Default)]
struct Form {
    skill: Option<String>,
    file: Option<(String, Vec<u8>)>,
}

impl Endpoint for SkillUpload {
    const NAME: &'static str = "skill_upload";
    const METHOD: Method = Method::POST;
    const PATH: &'static str = "/api/v1/skills/upload";
    const ACCESS: Access = WRITE;
    const TEAM: Option<TeamRole> = Some(TeamRole::Maintainer);
    const SUCCESS: StatusCode = StatusCode::CREATED;
    const BODY: RequestBody = RequestBody::Form(MAX_UPLOAD + FORM);
    const HEADERS: &'static [&'static str] = &["If-Match"];
    const REFUSALS: &'static [Refusal] = &[READ_ONLY, UNKNOWN, CONFLICT, OUTDATED, INVALID, FULL];
    type Reply = UploadReply;

    async fn answer(self, context: &Context) -> Result<Answer<UploadReply>, Problem> {
        let form = form(context).await?;
        let missing = || Problem::field("file", "it is missing");
        let (filename, content) = form.file.ok_or_else(missing)?;
        let is_archive = archive::is_zip(&content);
        let stored = match (form.skill, is_archive) {
            (None, false) => {
                let why = "it is missing; only a zip archive can be a new skill";
                return Err(Problem::field("skill_id", why));
            }
            (Some(skill), false) => {
                let path = new_path(&filename)?;
                let edit = StoredSkillEdit {
                    skill,
                    expected: expected(context),
                    files: vec![FileChange::put(path, content, None)],
                    is_whole: false,
                };
                context.operate(edit).await?
            }
            (skill, true) => {
                let files = blocking(move || archive::read(&content)).await?;
                let files = files.into_iter().map(changed).collect();
                match skill {
                    None => context.operate(StoredSkillImport { files }).await?,
                    Some(skill) => {
                        let edit = StoredSkillEdit {
                            skill,
                            expected: expected(context),
                            files,
                            is_whole: true,
                        };
                        context.operate(edit).await?
                    }
                }
            }
        };
        Ok(uploaded(context, filename, stored))
    }
}

fn uploaded(context: &Context, filename: String, stored: StoredSkill) -> Answer<UploadReply> {
    let location = context.path(&format!("{PATH}/{}", stored.id));
    let tag = etag(&stored);
    let reply = UploadReply {
        filename,
        skill_id: stored.id,
    };
    Answer::from(reply).etag(tag).location(location)
}

fn changed(file: ArchiveFile) -> FileChange {
    FileChange::put(file.path, file.bytes, file.is_executable)
}

/// Reads the form of a request.
async fn form(context: &Context) -> Result<Form, Problem> {
    let broken = |why: String| Problem::Malformed(format!("the form can't be read: {why}"));
    let media_type = context.header(CONTENT_TYPE).unwrap_or_default();
    if !media_type
        .to_ascii_lowercase()
        .starts_with("multipart/form-data")
    {
        return Err(Problem::MediaType("a form as `multipart/form-data`"));
    }
    let request = Request::builder().header(CONTENT_TYPE, media_type);
    let request = request.body(Body::from(context.body.clone()));
    let mut request = request.map_err(|error| broken(error.to_string()))?;
    // The body was read within its limit already.
    DefaultBodyLimit::disable().apply(&mut request);
    let multipart = Multipart::from_request(request, &()).await;
    let mut multipart = multipart.map_err(|error| broken(error.body_text()))?;
    let mut form = Form::default();
    loop {
        let field = multipart.next_field().await;
        let Some(field) = field.map_err(|error| broken(error.body_text()))? else {
            return Ok(form);
        };
        let name = field.name().unwrap_or_default().to_owned();
        let filename = field.file_name().map(str::to_owned);
        let bytes = field
            .bytes()
            .await
            .map_err(|error| broken(error.body_text()))?;
        let twice = || Problem::field(&name, "it is there twice");
        match name.as_str() {
            "skill_id" if form.skill.is_some() => return Err(twice()),
            "skill_id" => {
                let id = std::str::from_utf8(&bytes).unwrap_or_default().trim();
                form.skill = (!id.is_empty()).then(|| id.to_owned());
            }
            "file" if form.file.is_some() => return Err(twice()),
            "file" => {
                let missing = || Problem::field("file", "its file name is missing");
                form.file = Some((filename.ok_or_else(missing)?, bytes.to_vec()));
            }
            _ => {
                let known = "there is no such field; the fields are: skill_id, file";
                return Err(Problem::field("", known));
            }
        }
    }
}

/// Packs or unpacks an archive on a thread of its own.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ArchiveError> + Send + 'static,
) -> Result<T, Problem> {
    let done = tokio::task::spawn_blocking(work).await;
    let done = done.map_err(|_| Problem::Fault)?;
    done.map_err(|why| Problem::field("file", why.to_string()))
}
