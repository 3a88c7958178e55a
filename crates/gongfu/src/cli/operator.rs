//! The commands by which an operator looks after gongfu: its settings, its sources of skills, its log.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{Common, Places, Serving, value};

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print where the settings file is, or would be, and gongfu's home
    Path {
        #[arg(from_global)]
        json: bool,
    },
    /// Print every setting with its value and where the value comes from
    ///
    /// With the flags of a server, such as --listen, it shows what that server would use. Logins in URLs are
    /// replaced by ***.
    #[command(alias = "list", alias = "ls")]
    Show(ShowArguments),
    /// Print the value of a setting, or of every setting in a section
    ///
    /// A list is printed one value a line. Exit 1 if the setting has no value.
    Get {
        /// The setting, such as `sandbox.memory_mib`, or a section, such as `sandbox`
        key: String,
        #[arg(from_global)]
        json: bool,
    },
    /// Change a setting in config.toml; comments and order stay
    #[command(override_usage = "gongfu config set [OPTIONS] <KEY> <VALUE>...")]
    Set {
        /// The setting, such as `sandbox.memory_mib`
        key: String,
        /// The value; several for a list
        value: Vec<String>,
    },
    /// Remove a setting from config.toml, so that its default applies
    Unset {
        /// The setting, such as `sandbox.memory_mib`
        key: String,
    },
    /// Report every mistake in config.toml; exit 1 if there is one
    #[command(alias = "validate")]
    Check {
        #[arg(from_global)]
        json: bool,
    },
    /// Print the JSON schema of config.toml, which describes every setting
    Schema,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// The flags of a server, and the form of the answer.
    #[command(flatten)]
    pub(crate) serving: Serving,
    #[command(flatten)]
    pub(crate) places: Places,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SourceCommand {
    /// List every place where skills are looked for, in order of precedence
    #[command(alias = "ls")]
    List {
        #[command(flatten)]
        common: Common,
    },
    /// Add a skills folder to the settings
    Add {
        /// The folder
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
    /// Remove a skills folder from the settings; its files stay
    #[command(alias = "rm")]
    Remove {
        /// The folder, or the id that `gongfu source list` shows
        #[arg(value_name = "DIR|ID")]
        source: PathBuf,
    },
}

#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct LogArguments {
    /// Only calls of this skill, by its name or full name
    #[arg(long, value_name = "SKILL")]
    pub(crate) skill: Option<String>,
    /// Only calls that failed or were refused, and commands that didn't exit with 0
    #[arg(long)]
    pub(crate) failed: bool,
    /// Only calls since then: an age such as 30m, 6h or 2d, or a time such as 2026-11-24T08:00:00Z
    #[arg(long, value_name = "AGE|TIME")]
    pub(crate) since: Option<String>,
    /// Show the last COUNT calls (with --since: all)
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = value::calls)]
    pub(crate) limit: Option<u32>,
    /// Wait for more calls and print them as they come, until Ctrl-C
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Also reads by gongfu itself and by its commands, such as `approve list`
    #[arg(long)]
    pub(crate) all: bool,
    #[arg(from_global)]
    pub(crate) json: bool,
}
