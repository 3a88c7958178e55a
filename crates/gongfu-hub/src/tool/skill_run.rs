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

/// Run a command in the folder of a skill, in a sandbox: its scripts, or any program of the system.
/// The folder is `/skill`, the workspace `/workspace`, mounted folders have their own paths, and there
/// is no network. Packages that the skill declares (`pyproject.toml`, a script's PEP 723 header,
/// `requirements.txt`, `package.json`) are installed before its scripts run. What is written there stays and is there for the next run; the skill itself never
/// changes. Read what a run left with `skill_read` (below `/skill`) or `file_read`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SkillRun {
    /// The name of the skill, or its full name, as `skill_list` shows it.
    skill_name: String,
    /// The command, as for a shell, e.g. `python scripts/convert.py /workspace/report.pdf`. With
    /// `arguments`, the program alone.
    command: String,
    /// The arguments of the program, exactly as they are; no shell is used then.
    arguments: Option<Vec<String>>,
    /// What the command reads from standard input.
    input: Option<String>,
    /// How long it may take, in seconds; 120 unless something else is given.
    #[schemars(range(min = 1, max = 3600))]
    timeout: Option<u32>,
    /// How many bytes of each output the answer carries, from its beginning and its end; 65536 unless
    /// something else is given. The whole is kept, and the answer says where.
    #[schemars(range(min = 1000, max = 1_048_576))]
    output_limit: Option<usize>,
    /// True if every change of files waits for the person, who then applies or drops it. Without it only those
    /// wait that programs of their machine obey by themselves.
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
        })
    }
}
