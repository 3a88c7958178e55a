//! The command line: every command, flag and word of help.

mod account;
mod adopt;
mod capability;
mod chat;
mod check;
mod client;
mod complete;
mod connection;
mod consent;
mod find;
mod import;
mod mistake;
mod operator;
mod project;
mod skill;
mod skills;
mod task;
mod uninstall;
mod value;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use gongfu_files::Mount;
use gongfu_hub::Profile;
use gongfu_server::{Address, PublicUrl};

use crate::log::CommandKind;
use crate::output::OutputArguments;

pub(crate) use account::{
    AuditCommand, BackupArguments, RestoreArguments, TeamCommand, TokenCommand,
    TokenCreateArguments, UserAddArguments, UserCommand,
};
pub(crate) use adopt::{AdoptArguments, AdoptedProject};
pub(crate) use capability::CapabilityCommand;
pub(crate) use chat::{ChatArguments, ChatCommand, TurnArguments};
pub(crate) use check::{CheckArguments, CheckFormat, ExplainArguments, NewArguments, NewTarget};
pub(crate) use client::{ChangeArguments, ClientCommand, Reach, UrlOrClient};
pub(crate) use complete::{Candidate, WordKind, script, wanted};
pub(crate) use connection::{ConnectionAddArguments, ConnectionCommand, SandboxArguments};
pub(crate) use consent::{
    AllowedScope, ApproveCommand, ChangesCommand, GrantArguments, GrantCommand, LayerCommand,
};
pub(crate) use find::{ListArguments, SearchArguments};
pub(crate) use import::{
    AddArguments, InstallArguments, LockedArguments, PlaceArguments, PublishArguments,
    RemoveArguments, UpdateArguments,
};
pub(crate) use mistake::{Refusal, clone_commands, clone_hint, command_line, parse, quoted};
pub(crate) use operator::{ConfigCommand, LogArguments, SourceCommand};
pub(crate) use project::{TrustArguments, TrustCommand};
pub(crate) use skill::{EnvCommand, SkillCommand, SwitchArguments, ToolCommand};
pub(crate) use skills::{
    AgentArguments, SkillsAddArguments, SkillsCommand, SkillsListArguments, SkillsRemoveArguments,
    SkillsUpdateArguments, SkillsUseArguments,
};
pub(crate) use task::{TaskCommand, TaskRunArguments};
pub(crate) use uninstall::UninstallArguments;

/// Keep a library of Agent Skills, serve them to AI agents over MCP, and run their scripts in a sandbox.
#[derive(Debug, Parser)]
#[command(
    name = "gongfu",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = EXAMPLES
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

/// The commands that most people need first.
const EXAMPLES: &str = "\
First steps:
  gongfu init                    set up, and see what was found
  gongfu client install NAME     add gongfu to an MCP client
  gongfu search merge pdf files  find a skill
  gongfu doctor                  check that everything works";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Search skills by what they do (same as `skill search`)
    #[command(alias = "find")]
    Search(SearchArguments),
    /// List skills (same as `skill list`)
    #[command(visible_alias = "ls")]
    List(ListArguments),
    /// List, search, show, check, enable and disable skills
    #[command(subcommand)]
    Skill(SkillCommand),
    /// Add, use, list, find and remove skills with the words of `npx skills`
    ///
    /// The same folders, links and locks as that program's, by the same path as `gongfu skill add`: what a source has is
    /// checked and shown, and what you changed is kept. Every other word of `gongfu skill` works here, too.
    #[command(subcommand)]
    Skills(SkillsCommand),
    /// Find the skills that are on this machine already, and take them under one lock
    ///
    /// Looks into the folders of every known agent, plugins, marketplaces, and the locks of other installers; shows where
    /// each skill is and comes from, and which are duplicates. After a question, it writes `gongfu.lock`, adds folders that
    /// gongfu doesn't read yet to the settings, and imports the MCP servers of your clients, of which none is started
    /// before you approve it. Files of skills stay where they are, and `--undo` leaves all as it was.
    #[command(
        after_help = "Examples:\n  gongfu adopt --dry-run\n  gongfu adopt --project current\n  gongfu adopt --undo"
    )]
    Adopt(AdoptArguments),
    /// Run a command in a skill's folder, in the sandbox
    ///
    /// The command starts in /skill, a copy of the skill; the workspace is mounted at /workspace. What it
    /// writes to /workspace is kept; the skill itself never changes.
    ///
    /// gongfu exits with the command's exit code: 124 if the command timed out, 128 plus the signal number if
    /// a signal killed it, 137 if it exceeded a limit. If no sandbox works here, nothing is run and the exit
    /// code is 1.
    #[command(
        override_usage = "gongfu run [OPTIONS] <SKILL> [--] <COMMAND> [ARGUMENTS]...",
        after_help = "Example:\n  gongfu run pdf-tools python scripts/convert.py /workspace/report.pdf"
    )]
    Run(RunArguments),
    /// Ask gongfu's own agent, which finds the skill, follows it and finishes the job
    ///
    /// It uses the same tools as your agents, through the same gate: what needs your approval asks you. A model is
    /// `PROVIDER/NAME`; its key is in the variable of the provider, such as `OPENAI_API_KEY` or `ANTHROPIC_API_KEY`.
    #[command(alias = "ask")]
    Chat(ChatArguments),
    /// Run pipelines: steps that call tools, in the order of their dependencies, without a model
    #[command(subcommand, alias = "tasks")]
    Task(TaskCommand),
    /// Serve skills to one MCP client over stdio
    Mcp {
        #[command(flatten)]
        profiles: Profiles,
        #[command(flatten)]
        places: Places,
    },
    /// Serve skills to many MCP clients over HTTP
    Serve {
        #[command(flatten)]
        serving: Serving,
        #[command(flatten)]
        profiles: Profiles,
        #[command(flatten)]
        places: Places,
    },
    /// Add gongfu to your MCP clients, or remove it
    #[command(subcommand, alias = "clients")]
    Client(ClientCommand),
    /// Add, approve and test connections to other MCP servers
    ///
    /// The tools of an approved connection are in the list that your agents see, as `NAME__TOOL`, and its skills in the
    /// library, as `NAME/SKILL`. A server is started when it is first needed. Nothing is started, and no tool or skill is
    /// offered, that you haven't seen and approved; one that changes is hidden until you approve it again.
    #[command(
        subcommand,
        alias = "connections",
        subcommand_required = false,
        arg_required_else_help = false
    )]
    Connection(ConnectionCommand),
    /// Show, change and check the settings
    #[command(subcommand)]
    Config(ConfigCommand),
    /// List, add and remove skills folders
    #[command(
        subcommand,
        alias = "sources",
        subcommand_required = false,
        arg_required_else_help = false
    )]
    Source(SourceCommand),
    /// Show what was called, by which client, and how it ended
    #[command(alias = "logs")]
    Log(LogArguments),
    /// Create gongfu's home and show what was found and how to connect
    ///
    /// Downloads uv, which installs Python packages for scripts, if it isn't on the PATH.
    Init {
        /// Don't use the network
        #[arg(long)]
        offline: bool,
        #[command(flatten)]
        places: Places,
        #[arg(from_global)]
        json: bool,
    },
    /// Check that everything works, and say how to fix what doesn't
    Doctor {
        #[command(flatten)]
        places: Places,
        /// Attack the sandboxes, and report which attacks succeed
        ///
        /// Each attack is also tried outside the sandbox, where it must succeed to prove anything. Its
        /// targets are created for the test and removed afterwards; nothing leaves this machine. Exits
        /// with 1 if an attack succeeds against the sandbox that runs scripts.
        #[arg(long)]
        attack: bool,
        #[arg(from_global)]
        json: bool,
    },
    /// List, allow or deny commands that need your approval
    #[command(
        subcommand,
        alias = "approvals",
        subcommand_required = false,
        arg_required_else_help = false
    )]
    Approve(ApproveCommand),
    /// List, show, apply or drop pending file changes
    #[command(
        subcommand,
        alias = "change",
        subcommand_required = false,
        arg_required_else_help = false
    )]
    Changes(ChangesCommand),
    /// Manage the hosts that a skill's scripts may reach (default: none)
    #[command(
        subcommand,
        alias = "grants",
        subcommand_required = false,
        arg_required_else_help = false
    )]
    Grant(GrantCommand),
    /// Trust a project, so that the scripts of its skills may run
    ///
    /// The skills of a project (`.agents/skills`, `.claude/skills`, `skills`) are listed and can be read at once. Their
    /// scripts run only once you trust the project. Until then, a skill of yours wins over one of the project that has
    /// the same name. A project that you trusted in Claude Code, Codex or Gemini CLI is trusted here, too, unless you
    /// refused it in another one. Trust belongs to the path of the project: if you move it, trust it again.
    Trust(TrustArguments),
    /// List or clear files that runs wrote into their copy of a skill
    ///
    /// A run works in a copy of the skill, which it sees as /skill: files that it writes there are kept for later runs
    /// of the same version, and the skill itself never changes.
    #[command(
        subcommand,
        alias = "layers",
        subcommand_required = false,
        arg_required_else_help = false
    )]
    Layer(LayerCommand),
    /// Build, list and remove package environments of skills
    #[command(
        subcommand,
        alias = "envs",
        subcommand_required = false,
        arg_required_else_help = false
    )]
    Env(EnvCommand),
    /// List and call the tools that agents see
    #[command(subcommand, alias = "tools")]
    Tool(ToolCommand),
    /// List everything that agents can use, and what a plan must heed
    #[command(subcommand, alias = "capabilities")]
    Capability(CapabilityCommand),
    /// Manage the users of a server with accounts
    #[command(subcommand, alias = "users")]
    User(UserCommand),
    /// Manage the teams of a server with accounts
    #[command(subcommand, alias = "teams")]
    Team(TeamCommand),
    /// Manage the API tokens of a server with accounts
    #[command(subcommand, alias = "tokens")]
    Token(TokenCommand),
    /// Verify and export the audits of a server with accounts
    #[command(subcommand, alias = "audits")]
    Audit(AuditCommand),
    /// Copy the accounts of a server to a new folder; it may run meanwhile
    ///
    /// The copy has the database, the content of all skills, the workspaces with their links, and the operator's grants
    /// and switches of skills that all share. It doesn't have: the key of the server (where that is lost, everybody signs
    /// in again), the settings, the operator's approvals and trust, changes that wait, layers of skills, packages, the
    /// folders of --skills-dir, and the owners and times of files. Sockets, pipes and what can't be read are left out and named.
    Backup(BackupArguments),
    /// Restore a backup into a home without accounts
    ///
    /// Nothing is put into its place before all of the backup is verified. After a failure, the home is as it was.
    Restore(RestoreArguments),
    /// Remove gongfu's client entries, packages and home
    ///
    /// Asks before each. The program stays: the last line says how to remove it.
    Uninstall(UninstallArguments),
    /// Explain an error or a finding: what its code means, an example, the fix
    Explain(ExplainArguments),
    /// Print a shell completion script
    ///
    /// The scripts for bash, zsh and fish also complete the names of skills, sources and profiles.
    #[command(
        after_help = "Examples:\n  gongfu completions bash > ~/.local/share/bash-completion/completions/gongfu\n  gongfu completions zsh > ~/.zfunc/_gongfu\n  gongfu completions fish > ~/.config/fish/completions/gongfu.fish"
    )]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print completions for the words of a command line
    #[command(hide = true)]
    Complete {
        /// The words, without the program; the last one is being typed
        #[arg(last = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// Run the servers of connections for all clients
    #[command(hide = true)]
    Servers,
    /// Print reference documentation
    #[command(hide = true)]
    Generate {
        /// The document to print
        what: GeneratedFile,
    },
}

/// The places where skills are found.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Places {
    /// Skills directory (repeatable; earlier ones take precedence)
    #[arg(long = "skills-dir", value_name = "DIR", help_heading = PLACES)]
    pub(crate) skills_dirs: Vec<PathBuf>,
    /// Use only --skills-dir: ignore default directories, environment variables and built-in skills
    #[arg(long, help_heading = PLACES)]
    pub(crate) no_default_dirs: bool,
    /// Folder mounted read-write at /workspace (default: the current project; for serve, a private folder)
    #[arg(long, value_name = "DIR", help_heading = PLACES)]
    pub(crate) workspace: Option<PathBuf>,
}

/// The heading of the places.
const PLACES: &str = "Directories";

/// The address of the server.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Serving {
    /// Address to listen on: HOST:PORT (port 0 picks a free one) or unix:PATH [default: 127.0.0.1:7878]
    #[arg(long, value_name = "ADDR", value_parser = value::address)]
    pub(crate) listen: Option<Address>,
    /// Let users sign in with accounts of their own; each has private skills and files
    #[arg(long)]
    pub(crate) accounts: bool,
    /// Let everybody add these skills from `/.well-known/agent-skills/`, without a credential: a name, or one with `*` (repeatable)
    #[arg(long, value_name = "SKILL")]
    pub(crate) publish: Vec<String>,
    /// Public URL, if a reverse proxy forwards requests; every request then needs the server's token
    #[arg(long, value_name = "URL")]
    pub(crate) public_url: Option<PublicUrl>,
    #[arg(from_global)]
    pub(crate) json: bool,
}

/// The places of skills, and the form of the answer.
#[derive(Debug, Args)]
pub(crate) struct Common {
    #[command(flatten)]
    pub(crate) places: Places,
    #[arg(from_global)]
    pub(crate) json: bool,
}

impl Command {
    /// The kind of the command, for its log.
    pub(crate) fn kind(&self) -> CommandKind {
        match self {
            Self::Mcp { .. } | Self::Serve { .. } | Self::Servers => CommandKind::Server,
            Self::Chat(_) => CommandKind::Agent,
            _ => CommandKind::Other,
        }
    }

    /// Returns true if it runs the servers of connections itself.
    pub(crate) fn is_standalone(&self) -> bool {
        match self {
            Self::Mcp { profiles, .. }
            | Self::Serve { profiles, .. }
            | Self::Tool(ToolCommand::List { profiles, .. } | ToolCommand::Call { profiles, .. })
            | Self::Capability(
                CapabilityCommand::List { profiles, .. }
                | CapabilityCommand::Context { profiles, .. },
            ) => profiles.standalone,
            _ => false,
        }
    }
}

/// The tools that are shown, and what they reach.
#[derive(Debug, Clone, Args)]
pub(crate) struct Profiles {
    #[arg(
        long = "profile",
        value_name = "PROFILE",
        value_delimiter = ',',
        default_value = "standard",
        help = format!("Tool sets to offer, comma-separated: {}", Profile::names())
    )]
    pub(crate) list: Vec<Profile>,
    /// Mount a directory for file tools and runs, at its own path or at GUEST (repeatable)
    #[arg(long = "mount", value_name = "HOST[:GUEST][:ro]")]
    pub(crate) mounts: Vec<Mount>,
    /// Work with a set: the skills and the tools of other servers that `[sets]` of the settings names
    #[arg(long, value_name = "NAME")]
    pub(crate) set: Option<String>,
    /// Run the servers of connections in this process, not in one that all clients share
    #[arg(long)]
    pub(crate) standalone: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// Name or full name of the skill
    pub(crate) skill: String,
    /// Kill the command after this many seconds (1 to 3600)
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = value::timeout)]
    pub(crate) timeout: u32,
    #[command(flatten)]
    pub(crate) places: Places,
    /// Mount a directory, at its own path or at GUEST (repeatable)
    #[arg(long = "mount", value_name = "HOST[:GUEST][:ro]")]
    pub(crate) mounts: Vec<Mount>,
    /// Hold all file changes for review with `gongfu changes`
    #[arg(long)]
    pub(crate) hold: bool,
    #[arg(from_global)]
    pub(crate) json: bool,
    /// Command and its arguments; options of gongfu go before it
    #[arg(trailing_var_arg = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum GeneratedFile {
    Tools,
    ConfigSchema,
    ConnectionsSchema,
    Environment,
    Cli,
}
