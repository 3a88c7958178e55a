//! The commands for authors of skills: check, new, explain.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Common;

#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// Skill folders, folders of skills, or SKILL.md files (default: the whole library)
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Also give the verdict of the format's reference validator
    #[arg(long)]
    pub(crate) strict: bool,
    /// Fix what needs no judgement, in the given paths
    #[arg(long)]
    pub(crate) fix: bool,
    /// Show what --fix would change, as a diff
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Output format; --json is short for --format json
    #[arg(long, value_enum, default_value_t, conflicts_with = "json")]
    format: CheckFormat,
    #[command(flatten)]
    pub(crate) common: Common,
}

impl CheckArguments {
    /// The form of the answer.
    pub(crate) fn format(&self) -> CheckFormat {
        if self.common.json {
            CheckFormat::Json
        } else {
            self.format
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckFormat {
    /// For people
    #[default]
    Text,
    /// One JSON document
    Json,
    /// SARIF 2.1.0, for code scanning and editors
    Sarif,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArguments {
    /// Code of an error or a finding, such as name-missing (default: list all codes)
    pub(crate) code: Option<String>,
    #[arg(from_global)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct NewArguments {
    /// Name: lower-case letters, digits and single hyphens
    pub(crate) name: String,
    /// The folder to create it in
    #[arg(long = "in", value_enum, default_value_t, value_name = "WHERE")]
    pub(crate) target: NewTarget,
    /// Description: its purpose and when to use it (default: to be filled in)
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// Project to create it in (default: the current one)
    #[arg(long, value_name = "DIR", conflicts_with = "target")]
    pub(crate) workspace: Option<PathBuf>,
    #[arg(from_global)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum NewTarget {
    /// `.agents/skills` of the project, linked into `.claude/skills` where Claude Code is used
    #[default]
    Project,
    /// The same in your home folder, for all projects
    User,
    /// gongfu's home: for every client that gongfu serves, and no other
    Home,
}
