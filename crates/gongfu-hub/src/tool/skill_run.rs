//! `skill_run`: a command in the folder of a skill, in the sandbox.

use gongfu_core::capability::{Access, Safety};
use gongfu_core::sandbox::{Command, Input};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::call::{Call, Proposal};
use crate::error::ToolError;
use crate::output::Data;
use crate::run::{self, MAX_SHOWN, RunReport, RunRequest, SHOWN};
use crate::shelf;
use crate::tool::Tool;

/// The default duration of a run, in seconds.
const SECONDS: u32 = 120;

/// Run a command in the folder of a skill, in a sandbox: one of its scripts, or any program of the
/// system. The skill is at `/skill`, the workspace at `/workspace`, mounted folders at their own
/// paths; there is no network. Packages that the skill declares (`pyproject.toml`, a script's PEP
/// 723 header, `requirements.txt`, `package.json`) are installed first. Files that a run writes are
/// kept for the next run; the skill itself never changes. Read them with `skill_read` (in `/skill`)
/// or `file_read` (elsewhere).
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SkillRun {
    /// The name of the skill, or its full name, as `skill_search` and `skill_list` show it.
    skill_name: String,
    /// The shell command, e.g. `python scripts/convert.py /workspace/report.pdf`. With `arguments`,
    /// only the program.
    command: String,
    /// The arguments of the program, passed exactly as they are, without a shell.
    arguments: Option<Vec<String>>,
    /// The standard input of the command.
    input: Option<String>,
    /// Timeout in seconds (default 120).
    #[schemars(range(min = 1, max = 3600))]
    timeout: Option<u32>,
    /// The most bytes of standard output, and of standard error, in the answer: from the start and
    /// the end (default 65536). The whole output is kept, and the answer says where.
    #[schemars(range(min = 1000, max = 1_048_576))]
    output_limit: Option<usize>,
    /// Hold all changes to files until the person applies or drops them. Otherwise only those wait
    /// that programs on their machine act on by themselves.
    hold: Option<bool>,
}

impl Tool for SkillRun {
    const NAME: &'static str = "skill_run";
    const TITLE: &'static str = "Run a command of a skill";
    const ACCESS: Access = Access::Execute;
    const SAFETY: Safety = Safety::Medium;
    type Output = Data<RunReport>;

    async fn review(&self, call: &Call) -> Result<Option<Proposal>, ToolError> {
        run::review(call, &self.request(call).await?).await
    }

    async fn run(self, call: &Call) -> Result<Data<RunReport>, ToolError> {
        let report = run::run(call, self.request(call).await?).await?;
        Ok(Data {
            text: report.text(),
            data: report,
        })
    }
}

impl SkillRun {
    async fn request(&self, call: &Call) -> Result<RunRequest, ToolError> {
        let command = match &self.arguments {
            None => Command::Line(self.command.clone()),
            Some(arguments) => {
                let program = std::iter::once(&self.command);
                Command::Program(program.chain(arguments).cloned().collect())
            }
        };
        Ok(RunRequest {
            programs: None,
            skill: Some(shelf::skill(call, &self.skill_name).await?),
            command,
            folder: None,
            seconds: self.timeout.unwrap_or(SECONDS),
            input: match &self.input {
                Some(text) => Input::Bytes(text.clone().into_bytes()),
                None => call.events.input(),
            },
            shown: self.output_limit.unwrap_or(SHOWN).min(MAX_SHOWN),
            holds_all: self.hold.unwrap_or_default(),
            conversation: None,
        })
    }
}
