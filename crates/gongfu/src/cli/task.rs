//! The commands about pipelines.

use clap::{Args, Subcommand};

use super::{Common, Places};

#[derive(Debug, Subcommand)]
pub(crate) enum TaskCommand {
    /// List the pipelines: your own, those of gongfu, those of the project
    #[command(visible_alias = "ls")]
    List {
        #[command(flatten)]
        common: Common,
    },
    /// Show the steps of a pipeline, and the inputs that it takes
    Show {
        /// Name or file of the pipeline
        pipeline: String,
        #[command(flatten)]
        common: Common,
    },
    /// Check a pipeline without running it, and list every mistake
    Check {
        /// Name or file of the pipeline
        pipeline: String,
        #[command(flatten)]
        common: Common,
    },
    /// Run a pipeline, or the rest of a run
    ///
    /// Progress is written to standard error, the outcome to standard output. Exits with 1 if the run fails. Use
    /// --resume to continue a run that was interrupted, was cancelled or failed; finished steps don't run again.
    Run(TaskRunArguments),
    /// List the runs of pipelines, the last one first
    Runs {
        #[arg(from_global)]
        json: bool,
    },
    /// Remove runs with their logs
    ///
    /// One that still runs ends at its next step.
    #[command(visible_alias = "rm")]
    Remove {
        /// The runs
        #[arg(required = true)]
        runs: Vec<String>,
        #[arg(from_global)]
        json: bool,
    },
    /// Print the JSON schema of pipeline files
    Schema,
}

#[derive(Debug, Args)]
pub(crate) struct TaskRunArguments {
    /// Name or file of the pipeline
    #[arg(required_unless_present = "resume", conflicts_with = "resume")]
    pub(crate) pipeline: Option<String>,
    /// Input: KEY=VALUE, where VALUE is JSON or a text, or one JSON object (repeatable)
    #[arg(long, short, value_name = "INPUT", conflicts_with = "resume")]
    pub(crate) input: Vec<String>,
    /// Continue this run
    #[arg(long, value_name = "RUN")]
    pub(crate) resume: Option<String>,
    /// Number of calls that are made at once
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=64))]
    pub(crate) parallel: u8,
    /// Work with a set: the skills and the tools of other servers that `[sets]` of the settings names
    #[arg(long, value_name = "NAME")]
    pub(crate) set: Option<String>,
    #[command(flatten)]
    pub(crate) places: Places,
    #[arg(from_global)]
    pub(crate) json: bool,
}
