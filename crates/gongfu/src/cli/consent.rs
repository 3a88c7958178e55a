//! The commands by which a person decides: calls, changes, hosts, and what runs leave beside skills.

use clap::{Args, Subcommand, ValueEnum};
use gongfu_core::network::Rule;

use super::{Common, Places, value};

#[derive(Debug, Subcommand)]
pub(crate) enum ApproveCommand {
    /// List pending approvals and saved decisions
    #[command(alias = "ls")]
    List {
        #[arg(from_global)]
        json: bool,
    },
    /// Ask you about each call that waits
    Ask {},
    /// Allow a call: the next time it is made with the same arguments, for a session, or always
    ///
    /// The tools of other servers may be allowed with any arguments; a definition that changes is asked about again.
    /// A session ends with the client's connection, and after seven days. A client that speaks MCP 2026-07-28 over HTTP
    /// has none.
    Allow {
        /// ID from `gongfu approve list`
        id: String,
        /// Calls that are allowed: the next one, those of the session that asked, or all
        #[arg(long = "for", value_name = "SCOPE", default_value = "once")]
        scope: AllowedScope,
        /// Allow it every time (same as `--for always`)
        #[arg(long, conflicts_with = "scope")]
        always: bool,
        /// Allow it with any arguments
        #[arg(long)]
        any_arguments: bool,
        /// Forget this decision after so long, such as 30d or 12h
        #[arg(long, value_name = "TIME", value_parser = value::hours)]
        expires: Option<u32>,
        #[arg(from_global)]
        json: bool,
    },
    /// Deny a command every time it is called
    Deny {
        /// ID from `gongfu approve list`
        id: String,
        /// Forget this decision after so long, such as 30d or 12h
        #[arg(long, value_name = "TIME", value_parser = value::hours)]
        expires: Option<u32>,
        #[arg(from_global)]
        json: bool,
    },
    /// Forget a pending approval or a decision: the next such call asks again
    #[command(alias = "remove", alias = "rm")]
    Revoke {
        /// ID from `gongfu approve list`
        id: String,
        #[arg(from_global)]
        json: bool,
    },
}

/// The calls that a person allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AllowedScope {
    Once,
    Session,
    Always,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ChangesCommand {
    /// List pending change sets
    #[command(alias = "ls")]
    List {
        #[arg(from_global)]
        json: bool,
    },
    /// Show a change set as a diff
    Show {
        /// ID from `gongfu changes list`
        id: String,
        #[arg(from_global)]
        json: bool,
    },
    /// Apply a change set
    ///
    /// A file that changed since the run is kept, and the run's version is written beside it.
    Apply {
        /// ID from `gongfu changes list`
        id: String,
        #[arg(from_global)]
        json: bool,
    },
    /// Discard a change set
    #[command(alias = "rm", alias = "discard")]
    Drop {
        /// ID from `gongfu changes list`
        id: String,
        #[arg(from_global)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum LayerCommand {
    /// List the files that runs wrote, by skill version, most recently used first
    ///
    /// Together they take at most 1 GiB: what a run writes beyond that isn't kept, and the run says so. Files
    /// of an old version are removed 30 days after its last run, when a new version is run.
    #[command(alias = "ls")]
    List {
        #[arg(from_global)]
        json: bool,
    },
    /// Show the files that runs wrote into a skill
    Show {
        /// Name or full name of the skill, or an ID from `gongfu layer list`
        skill: String,
        #[command(flatten)]
        common: Common,
    },
    /// Remove the files that runs wrote into a skill
    #[command(alias = "rm")]
    Clear {
        /// Name or full name of the skill, or an ID from `gongfu layer list`
        skill: String,
        /// Also those of its older versions
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        common: Common,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum GrantCommand {
    /// List which hosts each skill may reach
    #[command(alias = "ls")]
    List {
        #[command(flatten)]
        common: Common,
    },
    /// Allow a skill's scripts to reach hosts over TLS, from the next run on
    Add {
        #[command(flatten)]
        of: GrantArguments,
        /// Also allow addresses of this machine and the local network
        #[arg(long)]
        private: bool,
    },
    /// Remove hosts that a skill's scripts may reach
    #[command(alias = "rm")]
    Remove {
        #[command(flatten)]
        of: GrantArguments,
    },
}

#[derive(Debug, Args)]
pub(crate) struct GrantArguments {
    /// Name or full name of the skill
    pub(crate) skill: String,
    /// Host names, not URLs; `*.NAME` allows all subdomains [default port: 443]
    #[arg(required = true, value_name = "HOST[:PORT]", value_parser = value::host)]
    pub(crate) hosts: Vec<Rule>,
    #[arg(from_global)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) places: Places,
}
