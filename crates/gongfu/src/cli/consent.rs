//! The commands by which a person allows things: calls, changes, hosts, and what runs leave beside skills.

use clap::{Args, Subcommand};
use gongfu_core::network::Rule;

use super::{Common, Places};

#[derive(Debug, Subcommand)]
pub(crate) enum ApproveCommand {
    /// List what waits, and every answer that still holds
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Let a command run when it is asked for again with the same arguments
    Allow {
        /// The id that the agent was told, or `gongfu approve list` shows
        id: String,
        /// Every time, and not only the next time
        #[arg(long)]
        always: bool,
        /// For so many hours only
        #[arg(long, value_name = "HOURS", value_parser = clap::value_parser!(u32).range(1..=87_600))]
        hours: Option<u32>,
    },
    /// Refuse a command each time that it is asked for
    Deny {
        /// The id that the agent was told, or `gongfu approve list` shows
        id: String,
        /// For so many hours only
        #[arg(long, value_name = "HOURS", value_parser = clap::value_parser!(u32).range(1..=87_600))]
        hours: Option<u32>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ChangesCommand {
    /// List the sets of changes that wait
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the diff of a set
    Show {
        /// The id that the run named, or `gongfu changes list` shows
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Apply a set; what somebody changed since the run stays, and the run's version is put beside it
    Apply {
        /// The id that the run named, or `gongfu changes list` shows
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Drop a set: nothing of it is applied
    Drop {
        /// The id that the run named, or `gongfu changes list` shows
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum LayerCommand {
    /// List what runs left beside every version of a skill, the one that was run last first
    ///
    /// All of it together takes at most 1 GiB: what a run writes beyond that isn't kept, and the run's answer says
    /// so. What lies beside a former version is removed when a new version is run, 30 days after its last run.
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the files that runs left beside a skill as it is now
    Show {
        /// The name or full name of the skill, or an id that `gongfu layer list` shows
        skill: String,
        #[command(flatten)]
        common: Common,
    },
    /// Remove the files that runs left beside a skill as it is now
    Clear {
        /// The name or full name of the skill, or an id that `gongfu layer list` shows
        skill: String,
        /// Those beside its former versions as well
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        common: Common,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum GrantCommand {
    /// List every host that a skill may reach
    List {
        #[command(flatten)]
        common: Common,
    },
    /// Let the scripts of a skill reach hosts, by TLS and with each run that is begun from now on
    Add {
        #[command(flatten)]
        of: GrantArguments,
        /// Also where the host is on this machine or its network, and not on the internet
        #[arg(long)]
        private: bool,
    },
    /// Let them no longer reach hosts
    Remove {
        #[command(flatten)]
        of: GrantArguments,
    },
}

#[derive(Debug, Args)]
pub(crate) struct GrantArguments {
    /// The name or full name of the skill
    pub(crate) skill: String,
    /// A host, or all hosts below a name; the port is 443 where none is given
    #[arg(required = true, value_name = "HOST[:PORT]|*.NAME[:PORT]")]
    pub(crate) hosts: Vec<Rule>,
    #[command(flatten)]
    pub(crate) places: Places,
}
