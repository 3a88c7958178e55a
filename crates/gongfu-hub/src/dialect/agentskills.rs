//! `agentskills`: the tools of AgentSkills MCP (seed 000).
//!
//! A failure is one JSON object in a text: `detail`, `code`, `timestamp`.

use std::fmt::Write as _;

use gongfu_core::capability::{Access, Safety};
use gongfu_core::catalogue::Form;
use gongfu_core::port::Timestamp;
use gongfu_core::sandbox::Reason;
use gongfu_core::skill::SkillPath;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::call::{Call, Proposal};
use crate::dialect::Dialect;
use crate::entry;
use crate::error::ToolError;
use crate::error_code::ErrorCode;
use crate::excerpt;
use crate::guide::{Guide, line};
use crate::output::{Data, Document, ToolResult};
use crate::overview;
use crate::problem::Problem;
use crate::run::{self, RunReport, RunRequest};
use crate::shelf;
use crate::tool::Tool;

/// The programs that run without approval: those of the source, and plain tools for files and text, as
/// its own examples use them.
const PROGRAMS: [&str; 67] = [
    "awk",
    "base64",
    "basename",
    "bzip2",
    "cat",
    "chmod",
    "cmp",
    "comm",
    "cp",
    "cut",
    "date",
    "df",
    "diff",
    "dirname",
    "du",
    "egrep",
    "env",
    "expand",
    "expr",
    "false",
    "fgrep",
    "file",
    "fold",
    "gawk",
    "grep",
    "gunzip",
    "gzip",
    "head",
    "join",
    "jq",
    "ln",
    "ls",
    "md5sum",
    "mkdir",
    "mktemp",
    "mv",
    "nl",
    "node",
    "npm",
    "od",
    "paste",
    "printenv",
    "python",
    "python3",
    "readlink",
    "realpath",
    "rm",
    "rmdir",
    "sed",
    "seq",
    "sha256sum",
    "sleep",
    "sort",
    "split",
    "stat",
    "tail",
    "tar",
    "tee",
    "touch",
    "tr",
    "tree",
    "uniq",
    "unzip",
    "wc",
    "which",
    "yes",
    "zip",
];
/// The limit of a command, in seconds.
const SECONDS: u32 = 120;

pub(crate) const DIALECT: Dialect = Dialect {
    name: "agentskills",
    about: "the tools of AgentSkills MCP: metadata, instructions and reference files of skills, and their scripts",
    lists: Some(LoadSkillMetadata::NAME),
    loads: LoadSkill::NAME,
    tools: &[
        entry::spoken::<LoadSkillMetadata>,
        entry::spoken::<LoadSkill>,
        entry::spoken::<ReadReferenceFile>,
        entry::spoken::<RunShellCommand>,
    ],
    failure,
    gains_search: false,
    guide: Guide {
        counts: false,
        introduction: "Skills are folders of instructions for tasks. Always call load_skill_metadata at the start of a task, load the skill that fits it with \
            load_skill and follow it; read the files that it mentions with read_reference_file and run its scripts with run_shell_command.",
        heading: "Available skills (each line is \"- <skill_name>: <skill_description>\"):",
        line,
        more: |_| "use load_skill_metadata",
        full_names: true,
    },
};

/// Load metadata from all available skills (always call at task start). Returns one line for each
/// skill: its name and what it is for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LoadSkillMetadata {}

impl Tool for LoadSkillMetadata {
    const NAME: &'static str = "load_skill_metadata";
    const TITLE: &'static str = "Load the metadata of all skills";
    const ACCESS: Access = Access::Read;
    const SAFETY: Safety = Safety::Safe;
    type Output = Document;

    async fn run(self, call: &Call) -> Result<Document, ToolError> {
        let library = shelf::library(call).await?;
        let form = Form {
            line: &line,
            more: &|count| format!("… and {count} more"),
        };
        let catalogue =
            overview::lines(&library, overview::ASKED).catalogue(overview::ASKED, &form);
        let heading = "Available skills (each line is \"- <skill_name>: <skill_description>\"):";
        let text = format!("{heading}\n{}", catalogue.text);
        Ok(Document::text(text.trim_end()))
    }
}

/// Load a specific skill's instructions (i.e., SKILL.md).
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LoadSkill {
    /// Name of the skill.
    skill_name: String,
    /// Continue from this byte, where the previous answer was cut.
    offset: Option<usize>,
}

impl Tool for LoadSkill {
    const NAME: &'static str = "load_skill";
    const TITLE: &'static str = "Load a skill";
    const ACCESS: Access = Access::Read;
    const SAFETY: Safety = Safety::Low;
    type Output = Document;

    async fn run(self, call: &Call) -> Result<Document, ToolError> {
        let skill = shelf::skill(call, &self.skill_name).await?;
        let source = shelf::load(call, &skill).await?;
        Ok(excerpt::whole(&source.text, self.offset)?.into())
    }
}

/// Read reference files from a skill directory, like forms.md, reference.md, or ooxml.md.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadReferenceFile {
    /// Name of the skill.
    skill_name: String,
    /// The reference file name or file path relative to the skill directory.
    file_name: String,
    /// Continue from this byte, where the previous answer was cut.
    offset: Option<usize>,
}

impl Tool for ReadReferenceFile {
    const NAME: &'static str = "read_reference_file";
    const TITLE: &'static str = "Read a reference file of a skill";
    const ACCESS: Access = Access::Read;
    const SAFETY: Safety = Safety::Low;
    type Output = Document;

    async fn run(self, call: &Call) -> Result<Document, ToolError> {
        let skill = shelf::skill(call, &self.skill_name).await?;
        let given = &self.file_name;
        let path = SkillPath::new(given).map_err(|why| Problem::bad_path(given, why).error())?;
        let text = shelf::text(call, &skill, &path).await?;
        Ok(excerpt::whole(&text, self.offset)?.into())
    }
}

/// Run shell commands (e.g., `python scripts/convert.py input.pdf`, `cd scripts && bash setup.sh`)
/// in the directory of a skill, so that its scripts find its files. Commands run in a sandbox
/// without network; the files to work on are in `/workspace`. Files that a command writes are kept
/// for the next one, and can be read with `read_reference_file`. Returns standard output and
/// standard error.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunShellCommand {
    /// Name of the skill.
    skill_name: String,
    /// The shell command to execute.
    command: String,
}

impl Tool for RunShellCommand {
    const NAME: &'static str = "run_shell_command";
    const TITLE: &'static str = "Run a shell command in a skill's directory";
    const ACCESS: Access = Access::Execute;
    const SAFETY: Safety = Safety::Medium;
    type Output = Data<RunReport>;

    async fn review(&self, call: &Call) -> Result<Option<Proposal>, ToolError> {
        run::review(call, &self.request(call).await?).await
    }

    async fn run(self, call: &Call) -> Result<Data<RunReport>, ToolError> {
        let report = run::run(call, self.request(call).await?).await?;
        let mut text = format!("{}\n{}", report.stdout, report.stderr);
        if matches!(
            report.reason,
            Reason::Timeout | Reason::Oom | Reason::Pids | Reason::Output | Reason::Disk
        ) {
            return Err(Problem::RunEnded {
                reason: report.reason,
                why: report.why(),
                said: text.trim_end().to_owned(),
            }
            .error());
        }
        for line in [report.lacks(), report.ended()].into_iter().flatten() {
            if !text.ends_with('\n') {
                text.push('\n');
            }
            let _ = write!(text, "[{line}]");
        }
        Ok(Data { text, data: report })
    }
}

impl RunShellCommand {
    async fn request(&self, call: &Call) -> Result<RunRequest, ToolError> {
        let skill = shelf::skill(call, &self.skill_name).await?;
        Ok(RunRequest {
            programs: Some(&PROGRAMS),
            ..RunRequest::of_skill(skill, self.command.clone(), SECONDS)
        })
    }
}

fn failure(error: &ToolError, at: Timestamp) -> ToolResult {
    let text = error.problem.text();
    let message = text.message;
    let detail = match &error.problem {
        Problem::SkillUnknown {
            name,
            nearest,
            total,
        } => {
            json!({ "skill_name": name, "message": message, "available": nearest, "total": total })
        }
        Problem::FileUnknown { skill, path, .. } => {
            json!({ "skill_name": skill, "file_name": path, "message": message })
        }
        Problem::SkillName { .. } => format!("{message}; pass a name, not a path").into(),
        _ => Value::from(format!("{message}; {}", text.hint)),
    };
    // What needs approval is blocked to clients of the source.
    let code = match &error.problem {
        Problem::ApprovalWaiting { .. } => ErrorCode::CommandBlocked,
        problem => problem.code(),
    };
    let payload = json!({
        "detail": detail,
        "code": code.as_str(),
        "timestamp": at.to_seconds(),
    });
    ToolResult::text(payload.to_string())
}
