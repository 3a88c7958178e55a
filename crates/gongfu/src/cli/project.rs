//! The commands about projects: which ones are trusted.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct TrustArguments {
    /// A folder of the project [default: the current folder]
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: Option<TrustCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TrustCommand {
    /// Trust a project (same as `gongfu trust DIR`)
    Add {
        /// A folder of the project [default: the current folder]
        #[arg(value_name = "DIR")]
        folder: Option<PathBuf>,
    },
    /// List the trusted projects, and whether the current one is trusted
    #[command(alias = "ls")]
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove the trust in a project
    #[command(alias = "rm")]
    Remove {
        /// A folder of the project [default: the current folder]
        #[arg(value_name = "DIR")]
        folder: Option<PathBuf>,
    },
}
