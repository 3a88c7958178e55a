//! The command line of the agent.

use clap::{Args, Subcommand};

use super::Places;

/// A chat, or a command about earlier sessions.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ChatArguments {
    #[command(subcommand)]
    pub(crate) command: Option<ChatCommand>,
    #[command(flatten)]
    pub(crate) turn: TurnArguments,
}

#[derive(Debug, Args)]
pub(crate) struct TurnArguments {
    /// Print the answer to a prompt and exit, without asking anything; `-` or no value reads the prompt from standard input
    #[arg(long, short, value_name = "PROMPT", num_args = 0..=1, default_missing_value = "-")]
    pub(crate) print: Option<String>,
    /// Continue a session
    #[arg(long, short, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Continue the last session, or the turn of --session that was interrupted
    #[arg(long, short)]
    pub(crate) resume: bool,
    /// Model, as PROVIDER/NAME or a name of the settings
    #[arg(long, short, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Work with a set: the skills and the tools of other servers that `[sets]` of the settings names
    #[arg(long, value_name = "NAME")]
    pub(crate) set: Option<String>,
    #[command(flatten)]
    pub(crate) places: Places,
    #[arg(from_global)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ChatCommand {
    /// List the sessions, the last one first
    #[command(visible_alias = "ls")]
    List {
        #[arg(from_global)]
        json: bool,
    },
    /// Show the turns of a session, or its whole log with --json
    Show {
        /// The session
        id: String,
        #[arg(from_global)]
        json: bool,
    },
    /// Start a new session with the first entries of another one
    Fork {
        /// The other session
        id: String,
        /// The number of its entries [default: all]
        #[arg(long, value_name = "N")]
        at: Option<u64>,
        #[arg(from_global)]
        json: bool,
    },
    /// Remove sessions with their logs
    ///
    /// A turn that runs in one ends at its next step.
    #[command(visible_alias = "rm")]
    Remove {
        /// The sessions
        #[arg(required = true)]
        ids: Vec<String>,
        #[arg(from_global)]
        json: bool,
    },
    /// Run a session again from its log, without a model, and name the first difference
    ///
    /// Only tools that load skills are called. Exits with 1 if a skill, a tool or an entry of the log was changed.
    Replay {
        /// The session
        id: String,
        #[command(flatten)]
        places: Places,
        #[arg(from_global)]
        json: bool,
    },
}
