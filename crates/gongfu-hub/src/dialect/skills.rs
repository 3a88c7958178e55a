//! `skills`: the tools of Agent Skills (seed 002): files, new skills, scripts and commands.
//!
//! One tree of paths holds the workspace, the skills and the mounts. A failure is a text that begins
//! with `Error:`.

use std::fmt::Write as _;

use gongfu_core::capability::{Access, Safety};
use gongfu_core::catalogue::Form;
use gongfu_core::place::{Location, VirtualPath};
use gongfu_core::port::{FolderEntryKind, Timestamp};
use gongfu_core::sandbox::{Command, Input, Reason, SKILL, WORKSPACE};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::call::{Call, Proposal};
use crate::dialect::{Dialect, error_text};
use crate::entry;
use crate::error::ToolError;
use crate::excerpt;
use crate::file;
use crate::guide::{Guide, line};
use crate::output::{Content, Document, ToolResult};
use crate::overview;
use crate::problem::{Problem, clipped};
use crate::run::{self, MAX_SHOWN, RunReport, RunRequest};
use crate::shelf;
use crate::tool::Tool;
use crate::writing::{self, Intent};

/// The limit of entries of a folder.
const MAX_LISTED: usize = 2_000;

pub(crate) const DIALECT: Dialect = Dialect {
    name: "skills",
    about: "the tools of Agent Skills: files of the workspace and of skills, new skills, scripts and commands",
    lists: Some(Ls::NAME),
    loads: Read::NAME,
    tools: &[
        entry::spoken::<Ls>,
        entry::spoken::<Read>,
        entry::spoken::<Write>,
        entry::spoken::<Create>,
        entry::spoken::<Run>,
        entry::spoken::<Bash>,
    ],
    failure,
    gains_search: false,
    guide: Guide {
        counts: false,
        introduction: "Skills are folders below skills/: instructions, scripts and references for tasks. Before a task, read skills/<name>/SKILL.md of the one that \
            fits with skills_read and follow it; run its scripts with skills_run.",
        heading: "Skills:",
        line,
        more: |_| "use skills_ls(path=\"skills\")",
        full_names: false,
    },
};

/// List files and directories. Paths are virtual: "" or "workspace" is the workspace root, "skills"
/// lists all available skills, "skills/<name>" the files of that skill, "./xxx" or "xxx" is relative
/// to the workspace, "/absolute/path" needs a mount.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ls {
    /// The path to list.
    #[serde(default)]
    path: String,
}

impl Tool for Ls {
    const NAME: &'static str = "skills_ls";
    const TITLE: &'static str = "List files";
    const ACCESS: Access = Access::Read;
    const SAFETY: Safety = Safety::Medium;
    type Output = Document;

    async fn run(self, call: &Call) -> Result<Document, ToolError> {
        let entries = match file::virtual_path(&self.path)? {
            VirtualPath::Skills => return Ok(all_skills(&*shelf::library(call).await?)),
            VirtualPath::Skill { name, path } => {
                let skill = shelf::skill(call, name.as_str()).await?;
                file::list_seen(call, &skill, &path, &self.path).await?
            }
            VirtualPath::File(place) => file::list(call, &place, &self.path).await?,
        };
        let shown = clipped(if self.path.is_empty() {
            "workspace"
        } else {
            &self.path
        });
        if entries.is_empty() {
            return Ok(Document::text(format!("Directory '{shown}' is empty")));
        }
        let mut text = format!("Contents of '{shown}' ({} items):", entries.len());
        let left = entries.len().saturating_sub(MAX_LISTED);
        for entry in entries.into_iter().take(MAX_LISTED) {
            let name = entry.name;
            let _ = match entry.kind {
                FolderEntryKind::Folder => write!(text, "\n  {name}/"),
                FolderEntryKind::File(size) => write!(text, "\n  {name}  ({size} bytes)"),
                FolderEntryKind::Other(what) => write!(text, "\n  {name}  ({what})"),
            };
        }
        if left > 0 {
            let _ = write!(text, "\n… and {left} more");
        }
        Ok(Document::text(text))
    }
}

fn all_skills(library: &gongfu_core::library::Library) -> Document {
    let skills = overview::names(library, overview::ASKED);
    if skills.total() == 0 {
        return Document::text("No skills found");
    }
    let form = Form {
        line: &|name, description| format!("  {name}/  - {description}"),
        more: &|count| format!("… and {count} more"),
    };
    let catalogue = skills.catalogue(overview::ASKED, &form);
    let text = format!("Skills ({}):\n{}", skills.total(), catalogue.text);
    let note = overview::shadowed_note(library).map(Content::text);
    let text = Content::text(text.trim_end());
    Document([text].into_iter().chain(note).collect())
}

/// Read the content of a text file. Paths are virtual, as for `skills_ls`: "skills/<name>/SKILL.md"
/// or "skills/<name>" is the instructions of a skill, "src/main.py" a file of the workspace,
/// "/absolute/path" needs a mount.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Read {
    /// The path of the file.
    path: String,
    /// Continue from this byte, where the previous answer was cut.
    offset: Option<usize>,
}

impl Tool for Read {
    const NAME: &'static str = "skills_read";
    const TITLE: &'static str = "Read a file";
    const ACCESS: Access = Access::Read;
    const SAFETY: Safety = Safety::Medium;
    type Output = Document;

    async fn run(self, call: &Call) -> Result<Document, ToolError> {
        let given = self.path.as_str();
        let bytes = match file::virtual_path(given)? {
            VirtualPath::Skills => {
                let path = given.to_owned();
                return Err(Problem::IsAFolder { path }.error());
            }
            VirtualPath::Skill { name, path } => {
                let skill = shelf::skill(call, name.as_str()).await?;
                if path.is_root() {
                    let source = shelf::load(call, &skill).await?;
                    return Ok(excerpt::whole(&source.text, self.offset)?.into());
                }
                file::read_seen(call, &skill, &path, given).await?
            }
            VirtualPath::File(place) => file::read(call, &place, given).await?,
        };
        let text = shelf::as_text(bytes, given)?;
        Ok(excerpt::whole(&text, self.offset)?.into())
    }
}

/// Write or overwrite a file; parent directories are created. Paths are virtual, as for
/// `skills_ls`: "skills/<name>/<file>" writes into an existing skill, "output/result.txt" into the
/// workspace, "/absolute/path" needs a writable mount.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Write {
    /// The path of the file.
    path: String,
    /// The content of the file.
    content: String,
}

impl Tool for Write {
    const NAME: &'static str = "skills_write";
    const TITLE: &'static str = "Write a file";
    const ACCESS: Access = Access::Write;
    const SAFETY: Safety = Safety::Medium;
    const REVIEWED: bool = true;
    type Output = Document;

    async fn review(&self, call: &Call) -> Result<Option<Proposal>, ToolError> {
        let (given, intent) = (self.path.as_str(), Intent::Whole(self.content.clone()));
        match file::virtual_path(given)? {
            VirtualPath::Skills => Ok(None),
            VirtualPath::Skill { name, path } => {
                let skill = shelf::skill(call, name.as_str()).await?;
                writing::review_skill(call, &skill, &path, given, &intent).await
            }
            VirtualPath::File(place) => writing::review_place(call, &place, given, &intent).await,
        }
    }

    async fn run(self, call: &Call) -> Result<Document, ToolError> {
        let (given, intent) = (self.path.as_str(), Intent::Whole(self.content));
        let written = match file::virtual_path(given)? {
            VirtualPath::Skills => {
                let path = given.to_owned();
                return Err(Problem::IsAFolder { path }.error());
            }
            VirtualPath::Skill { name, path } => {
                let skill = shelf::skill(call, name.as_str()).await?;
                writing::write_skill(call, &skill, &path, given, &intent).await?
            }
            VirtualPath::File(place) => writing::write_place(call, &place, given, &intent).await?,
        };
        let bytes = written.bytes;
        let mut text = format!("Successfully wrote {bytes} bytes to '{}'", clipped(given));
        for found in &written.findings {
            let _ = write!(text, "\n{found}");
        }
        Ok(Document::text(text))
    }
}

/// Create a new skill: a directory with a SKILL.md of this name, description and instructions.
/// Names begin with a lower-case letter and hold lower-case letters, numbers and hyphens only, e.g.
/// code-reviewer, data-analyzer, pdf2image.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Create {
    /// Skill name (lower-case letters, numbers, hyphens).
    #[schemars(regex(pattern = r"^[a-z][a-z0-9-]*$"))]
    name: String,
    /// One sentence: what the skill does and when to use it.
    description: String,
    /// The Markdown content of the SKILL.md; empty for a template.
    instructions: String,
}

impl Tool for Create {
    const NAME: &'static str = "skills_create";
    const TITLE: &'static str = "Create a skill";
    const ACCESS: Access = Access::Write;
    const SAFETY: Safety = Safety::Medium;
    const DESTRUCTIVE: bool = false;
    type Output = Document;

    async fn run(self, call: &Call) -> Result<Document, ToolError> {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let starts = self.name.starts_with(|c: char| c.is_ascii_lowercase());
        if !starts || !self.name.bytes().all(plain) {
            return Err(Problem::wrong_value(
                "name",
                format!("`{}` is not a skill name", clipped(&self.name)),
                "use lower-case letters, numbers and hyphens only, beginning with a letter",
            )
            .error());
        }
        let (skill, written) =
            writing::create_skill(call, &self.name, &self.description, &self.instructions).await?;
        let name = skill.name.as_str();
        let path = format!("skills/{name}");
        let mut answer = json!({ "status": "success", "name": name, "path": path });
        if let (false, Some(answer)) = (written.findings.is_empty(), answer.as_object_mut()) {
            // In the object: a client reads the whole text as one value.
            answer.insert("findings".to_owned(), json!(written.findings));
        }
        Ok(Document::text(answer.to_string()))
    }
}

/// Run a command in the directory of a skill, e.g. `python scripts/main.py input.pdf`. It runs in a
/// sandbox without network; the workspace is `/workspace`, mounted folders have their own absolute
/// paths. Files written into the skill's directory are kept for the next run; read them as
/// "skills/<name>/<file>".
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Run {
    /// The name of the skill.
    name: String,
    /// The command to execute.
    command: String,
    /// Timeout in seconds.
    #[serde(default = "run_seconds")]
    #[schemars(range(min = 1, max = 3600))]
    timeout: u32,
}

fn run_seconds() -> u32 {
    120
}

impl Tool for Run {
    const NAME: &'static str = "skills_run";
    const TITLE: &'static str = "Run a script of a skill";
    const ACCESS: Access = Access::Execute;
    const SAFETY: Safety = Safety::Medium;
    type Output = Document;

    async fn review(&self, call: &Call) -> Result<Option<Proposal>, ToolError> {
        run::review(call, &self.request(call).await?).await
    }

    async fn run(self, call: &Call) -> Result<Document, ToolError> {
        let report = run::run(call, self.request(call).await?).await?;
        Ok(document(&report, self.timeout))
    }
}

impl Run {
    async fn request(&self, call: &Call) -> Result<RunRequest, ToolError> {
        let skill = shelf::skill(call, &self.name).await?;
        Ok(RunRequest::of_skill(
            skill,
            self.command.clone(),
            self.timeout,
        ))
    }
}

/// Execute a shell command in the workspace, e.g. `ls -la`, `grep -r 'pattern' .`, `mkdir -p
/// output`. It runs in a sandbox without network; the workspace is `/workspace`, mounted folders
/// have their own absolute paths.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bash {
    /// The command to execute.
    command: String,
    /// Timeout in seconds.
    #[serde(default = "bash_seconds")]
    #[schemars(range(min = 1, max = 3600))]
    timeout: u32,
    /// The working directory: a virtual path, as for `skills_ls`.
    #[serde(default)]
    cwd: String,
}

fn bash_seconds() -> u32 {
    60
}

impl Tool for Bash {
    const NAME: &'static str = "skills_bash";
    const TITLE: &'static str = "Run a shell command";
    const ACCESS: Access = Access::Execute;
    const SAFETY: Safety = Safety::Medium;
    type Output = Document;

    async fn review(&self, call: &Call) -> Result<Option<Proposal>, ToolError> {
        run::review(call, &self.request(call).await?).await
    }

    async fn run(self, call: &Call) -> Result<Document, ToolError> {
        let report = run::run(call, self.request(call).await?).await?;
        Ok(document(&report, self.timeout))
    }
}

impl Bash {
    async fn request(&self, call: &Call) -> Result<RunRequest, ToolError> {
        let (skill, folder) = match file::virtual_path(&self.cwd)? {
            VirtualPath::Skills => {
                return Err(Problem::PlacePath {
                    path: self.cwd.clone(),
                    reason: "it holds all skills, but a command sees only one of them".to_owned(),
                }
                .error());
            }
            VirtualPath::Skill { name, path } => {
                let skill = shelf::skill(call, name.as_str()).await?;
                (Some(skill), below(SKILL, path.as_str()))
            }
            VirtualPath::File(Location::Workspace(path)) => (None, below(WORKSPACE, path.as_str())),
            VirtualPath::File(Location::Absolute(path)) => (None, below("", path.as_str())),
        };
        Ok(RunRequest {
            programs: None,
            skill,
            command: Command::Line(self.command.clone()),
            folder: Some(folder),
            seconds: self.timeout,
            input: Input::Nothing,
            shown: MAX_SHOWN,
            holds_all: false,
            conversation: None,
        })
    }
}

/// A path of a run below one of its folders.
fn below(folder: &str, path: &str) -> String {
    if path.is_empty() {
        folder.to_owned()
    } else {
        format!("{folder}/{path}")
    }
}

/// The report of a run in the form of the source: the failure first, then standard output, then
/// standard error.
fn document(report: &RunReport, seconds: u32) -> Document {
    let mut text = String::new();
    match (report.reason, report.exit_code) {
        (Reason::Timeout, _) => {
            let _ = writeln!(text, "Command timed out after {seconds} seconds");
        }
        (Reason::Ok, Some(0)) => {}
        (Reason::Ok, Some(code)) => {
            let _ = writeln!(text, "Exit code: {code}");
        }
        _ => {
            let _ = writeln!(
                text,
                "Command ended: {}",
                report.ended().unwrap_or_default()
            );
        }
    }
    text.push_str(&report.stdout);
    if !report.stderr.is_empty() {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        let _ = write!(text, "[stderr]\n{}", report.stderr);
    }
    if let Some(lacks) = report.lacks() {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        let _ = write!(text, "[{lacks}]");
    }
    if text.is_empty() {
        text.push_str("(no output)");
    }
    Document::text(text)
}

fn failure(error: &ToolError, _at: Timestamp) -> ToolResult {
    let known = match &error.problem {
        Problem::SkillUnknown { name, .. } | Problem::SkillName { name, .. } => {
            Some(format!("skill '{}' not found", clipped(name)))
        }
        Problem::PlaceUnknown { path } => Some(format!("path '{}' not found", clipped(path))),
        Problem::NotAFolder { path } => Some(format!("'{}' is not a directory", clipped(path))),
        Problem::IsAFolder { path } => Some(format!(
            "'{}' is a directory; see what is in it with skills_ls",
            clipped(path)
        )),
        Problem::FileNotText { path } => Some(format!(
            "'{}' is not a text file (binary file)",
            clipped(path)
        )),
        Problem::SkillExists { name, .. } => {
            Some(format!("skill '{}' already exists", clipped(name)))
        }
        _ => None,
    };
    error_text(error, known)
}
