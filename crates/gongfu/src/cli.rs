//! The command line: every command, flag and word of help.

mod consent;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use gongfu_files::Mount;
use gongfu_hub::Profile;
use gongfu_server::{Address, PublicUrl};

use crate::client::{CLIENTS, DEFAULT_URL, Scope};

pub(crate) use consent::{
    ApproveCommand, ChangesCommand, GrantArguments, GrantCommand, LayerCommand,
};

/// A library of Agent Skills for any AI agent: found, checked, served over MCP.
#[derive(Debug, Parser)]
#[command(
    name = "gongfu",
    version,
    max_term_width = 100,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve the skills to one client over MCP, on standard input and output
    Mcp {
        #[command(flatten)]
        profiles: Profiles,
        #[command(flatten)]
        places: Places,
    },
    /// Serve the skills to many clients over MCP, at an HTTP address of this machine
    Serve {
        #[command(flatten)]
        serving: Serving,
        #[command(flatten)]
        profiles: Profiles,
        #[command(flatten)]
        places: Places,
    },
    /// List, show, read, check and switch skills
    #[command(subcommand)]
    Skill(SkillCommand),
    /// Run a command in the folder of a skill, in the sandbox
    ///
    /// It sees the skill as /skill, where it starts, and the workspace as /workspace; what it writes there
    /// stays, and the skill itself never changes. The exit code is the command's: 124 when it took too
    /// long, 128 and the number of the signal when one ended it, 137 when it used more than it may. Where
    /// no sandbox works, nothing is run, and the exit code is 1.
    Run(RunArguments),
    /// List and call the tools that agents see
    #[command(subcommand)]
    Tool(ToolCommand),
    /// See which commands of agents wait for a person, and allow or deny them
    #[command(subcommand)]
    Approve(ApproveCommand),
    /// See which changes of runs wait for a person, and apply or drop them
    #[command(subcommand)]
    Changes(ChangesCommand),
    /// See what runs left beside skills, and clear it
    #[command(subcommand)]
    Layer(LayerCommand),
    /// Say which hosts the scripts of a skill may reach; without it they reach none
    #[command(subcommand)]
    Grant(GrantCommand),
    /// Make, list and remove the environments of packages that scripts of skills need
    #[command(subcommand)]
    Env(EnvCommand),
    /// Enter gongfu into the configuration of the programs that use it, and take it out again
    #[command(subcommand)]
    Client(ClientCommand),
    /// Make gongfu's home and say what was found: skills folders, clients, how to connect them
    ///
    /// Where there is no uv on the search path, which installs the packages of Python that scripts need, it is
    /// got from the package index and put into the home.
    Init {
        /// Get nothing from the network
        #[arg(long)]
        offline: bool,
        #[command(flatten)]
        places: Places,
    },
    /// Check that everything works, and say how to fix what doesn't
    Doctor {
        #[command(flatten)]
        places: Places,
        /// Attack the sandboxes instead, each by everything that must fail, and print what got through
        ///
        /// Every probe is tried outside of them as well, where it must succeed to prove anything. All
        /// that they reach for is made for them and removed again, and nothing leaves the machine.
        /// Exit 1 if one gets through the sandbox that scripts are run in.
        #[arg(long)]
        attack: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print reference documentation
    #[command(hide = true)]
    Generate {
        /// What to print
        what: GeneratedFile,
    },
}

/// The places of skills.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Places {
    /// A folder of skills; may be given several times, the first one wins a name
    #[arg(long = "skills-dir", value_name = "DIR")]
    pub(crate) skills_dirs: Vec<PathBuf>,
    /// Look at nothing but --skills-dir: no conventional folders, no environment, no built-in skills
    #[arg(long)]
    pub(crate) no_default_dirs: bool,
    /// The project to work in, instead of the current folder; its files can then be read and written
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
}

/// The address of the server.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Serving {
    /// Where to listen: an address of this machine such as 127.0.0.1:7878 (the default), :0 for any
    /// free port, or unix:PATH
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<Address>,
    /// The server's address from outside, when a proxy stands before it; every request needs the
    /// token of the server then
    #[arg(long, value_name = "URL")]
    pub(crate) public_url: Option<PublicUrl>,
}

/// The skills that a command is about, and the form of its answer.
#[derive(Debug, Args)]
pub(crate) struct Common {
    #[command(flatten)]
    pub(crate) places: Places,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The tools that are shown, and what they reach.
#[derive(Debug, Clone, Args)]
pub(crate) struct Profiles {
    #[arg(
        long = "profile",
        value_name = "PROFILE",
        value_delimiter = ',',
        default_value = "standard",
        help = format!("The sets of tools to show, separated by commas: {}", Profile::names())
    )]
    pub(crate) list: Vec<Profile>,
    /// A folder that the tools for files may reach by its absolute path, or by GUEST; may be given
    /// several times
    #[arg(long = "mount", value_name = "HOST[:GUEST][:ro]")]
    pub(crate) mounts: Vec<Mount>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EnvCommand {
    /// List every environment, the one used last first
    List {
        #[command(flatten)]
        places: Places,
        /// Look at the files of each, and say which aren't as they were made; exit 1 if there is one
        #[arg(long)]
        verify: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Make the environments that a skill needs, before it is run
    ///
    /// They are for what the skill says it needs (scripts/pyproject.toml with uv.lock, the headers of scripts,
    /// requirements.txt, package.json). Where it says nothing, what its scripts import is shown; --inferred
    /// installs those of gongfu's table, and --allow one that isn't in it.
    Build {
        /// The name or full name of the skill
        skill: String,
        /// Install what its scripts import, where it says nothing of what it needs
        #[arg(long)]
        inferred: bool,
        /// Install this imported package too, which isn't in gongfu's table
        #[arg(long, value_name = "PACKAGE", requires = "inferred")]
        allow: Vec<String>,
        #[command(flatten)]
        common: Common,
    },
    /// Remove the environments that weren't used for some time; those that are used right now stay
    Prune {
        /// For how many days they weren't used
        #[arg(long, default_value_t = 30, conflicts_with = "all")]
        days: u32,
        /// All of them
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        common: Common,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum SkillCommand {
    /// List the skills of the library
    List {
        /// What is to be done: the skills that fit it best come first
        #[arg(long, value_name = "TEXT")]
        task: Option<String>,
        /// Print the catalogue that a model gets, in at most so many characters (65536 at most)
        #[arg(long, value_name = "CHARACTERS", value_parser = clap::value_parser!(u32).range(1..=65_536))]
        budget: Option<u32>,
        #[command(flatten)]
        common: Common,
    },
    /// Find the skills that fit a task, best first
    Search {
        /// What is looked for, in plain words of any language
        #[arg(allow_hyphen_values = true)]
        query: String,
        /// How many skills to name at most
        #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=100))]
        limit: u16,
        /// Only skills of this source, by its id
        #[arg(long, value_name = "ID")]
        source: Option<String>,
        /// Only skills with this tag in their frontmatter
        #[arg(long)]
        tag: Option<String>,
        #[command(flatten)]
        common: Common,
    },
    /// Show what is known about a skill
    Show {
        /// Its name or full name
        name: String,
        #[command(flatten)]
        common: Common,
    },
    /// Print a file of a skill, its SKILL.md when none is named
    Read {
        /// Its name or full name
        name: String,
        /// The file, relative to the skill's folder
        path: Option<String>,
        /// Only the section under this heading
        #[arg(long, conflicts_with = "path")]
        section: Option<String>,
        /// Leave the frontmatter out
        #[arg(long, conflicts_with_all = ["path", "section"])]
        body: bool,
        #[command(flatten)]
        common: Common,
    },
    /// Judge skills: what is wrong, where, and how to fix it
    Check(CheckArguments),
    /// Switch a skill on
    Enable(SwitchArguments),
    /// Switch a skill off
    Disable(SwitchArguments),
}

#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// A skill's folder, a folder of skills, or a SKILL.md; without any, the folders of the library
    pub(crate) paths: Vec<PathBuf>,
    /// Judge by the reference validator of the format as well
    #[arg(long)]
    pub(crate) strict: bool,
    /// Fix what needs no judgement, in the paths that are named
    #[arg(long)]
    pub(crate) fix: bool,
    /// Show what --fix would change, write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct SwitchArguments {
    /// The name or full name of the skill
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// The name or full name of the skill
    pub(crate) skill: String,
    /// How long it may take, in seconds
    #[arg(long, value_name = "S", default_value_t = 120, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub(crate) timeout: u32,
    #[command(flatten)]
    pub(crate) places: Places,
    /// A folder that it sees by its absolute path, or by GUEST; may be given several times
    #[arg(long = "mount", value_name = "HOST[:GUEST][:ro]")]
    pub(crate) mounts: Vec<Mount>,
    /// Apply no change of files: all wait, to be seen and applied by `gongfu changes`
    #[arg(long)]
    pub(crate) hold: bool,
    /// Print JSON when it has ended, instead of what it says while it runs
    #[arg(long)]
    pub(crate) json: bool,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ToolCommand {
    /// List the tools
    List {
        #[command(flatten)]
        profiles: Profiles,
        #[command(flatten)]
        common: Common,
    },
    /// Call a tool as an agent would
    Call {
        /// The tool
        name: String,
        /// The arguments: one JSON object, `-` to read it from standard input, or key=value pairs
        arguments: Vec<String>,
        #[command(flatten)]
        profiles: Profiles,
        #[command(flatten)]
        common: Common,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ClientCommand {
    /// List the clients that gongfu knows, whether they are here, and where their file is
    List {
        /// Whose configuration
        #[arg(long, value_enum, default_value_t)]
        scope: Scope,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Enter gongfu into the configuration of clients
    ///
    /// Everything else in the file stays, comments included. The file is kept in the folder
    /// `clients` of gongfu's home before it is changed. An entry `gongfu` that runs another
    /// program is left alone, unless --force is given.
    Install {
        #[command(flatten)]
        change: ChangeArguments,
        #[command(flatten)]
        reach: Reach,
    },
    /// Take gongfu out of the configuration of clients
    ///
    /// A file that nobody changed since the installation is as it was before, byte for byte; from
    /// one that somebody changed, only the entry goes. An entry `gongfu` that runs another program
    /// is left alone, unless --force is given.
    Uninstall {
        #[command(flatten)]
        change: ChangeArguments,
    },
    /// Say whether gongfu is entered, how, and whether its program is there
    ///
    /// Exit 1 if a program is not there or a file can't be read, or if gongfu is not entered in one of
    /// the clients that are named.
    Status {
        /// The clients; all of them without any
        #[arg(value_parser = client_names())]
        names: Vec<String>,
        /// Whose configuration
        #[arg(long, value_enum, default_value_t)]
        scope: Scope,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print what belongs in a client's file, to be pasted
    Print {
        /// The client
        #[arg(value_parser = client_names())]
        name: Option<String>,
        #[command(flatten)]
        reach: Reach,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ChangeArguments {
    /// The clients
    #[arg(value_name = "NAME", value_parser = client_names())]
    pub(crate) names: Vec<String>,
    /// Whose configuration
    #[arg(long, value_enum, default_value_t)]
    pub(crate) scope: Scope,
    /// Show the change as a diff, write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Change an entry `gongfu` even if it runs another program
    #[arg(long)]
    pub(crate) force: bool,
}

/// The way by which a client reaches gongfu.
#[derive(Debug, Args)]
pub(crate) struct Reach {
    /// The client starts this program and speaks with it on standard input and output (the default)
    #[arg(long, conflicts_with = "http")]
    pub(crate) stdio: bool,
    /// The client calls the address of a running `gongfu serve`
    #[arg(
        long,
        value_name = "URL",
        num_args = 0..=1,
        value_parser = url_or_client,
        help = format!("The client calls a running `gongfu serve`, at {DEFAULT_URL} unless a URL is given")
    )]
    #[expect(
        clippy::option_option,
        reason = "clap's way to say that the flag's value may be left out"
    )]
    pub(crate) http: Option<Option<UrlOrClient>>,
    /// What `gongfu mcp` is started with, such as `--profile all`
    #[arg(last = true, value_name = "ARG", conflicts_with = "http")]
    pub(crate) arguments: Vec<String>,
}

fn client_names() -> clap::builder::PossibleValuesParser {
    CLIENTS
        .iter()
        .map(|client| client.id)
        .collect::<Vec<_>>()
        .into()
}

/// The value of `--http`.
#[derive(Debug, Clone)]
pub(crate) enum UrlOrClient {
    Url(String),
    /// The flag has no value of its own: `--http NAME`.
    Client(&'static str),
}

fn url_or_client(text: &str) -> Result<UrlOrClient, String> {
    if let Some(client) = CLIENTS.iter().find(|client| client.id == text) {
        return Ok(UrlOrClient::Client(client.id));
    }
    let rest = text
        .strip_prefix("http://")
        .or_else(|| text.strip_prefix("https://"));
    let host = rest.and_then(|rest| rest.split('/').next());
    let clean =
        !text.contains(|character: char| character.is_whitespace() || character.is_control());
    match host {
        Some(host) if !host.is_empty() && clean => Ok(UrlOrClient::Url(text.to_owned())),
        _ => Err(format!("give the whole address, such as {DEFAULT_URL}")),
    }
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum GeneratedFile {
    Tools,
    ConfigSchema,
    Cli,
}
