//! The commands about connections to other MCP servers.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum ConnectionCommand {
    /// List connections with their state
    ///
    /// Approved servers are started to find it out.
    #[command(alias = "ls")]
    List {
        /// Start nothing
        #[arg(long)]
        no_start: bool,
        #[arg(from_global)]
        json: bool,
    },
    /// Add a connection
    #[command(
        override_usage = "gongfu connection add [OPTIONS] <NAME> -- <COMMAND> [ARGUMENTS]...\n       gongfu connection add [OPTIONS] <NAME> --url <URL>",
        after_help = "Example:\n  gongfu connection add files -- npx -y @modelcontextprotocol/server-filesystem ~/notes"
    )]
    Add(Box<ConnectionAddArguments>),
    /// Show a connection: how it is reached, its state, its tools, and what changed since you approved it
    Show {
        /// The connection
        name: String,
        #[arg(from_global)]
        json: bool,
    },
    /// Start an approved server and report what it offers; exit 1 if it doesn't work
    Test {
        /// The connection
        name: String,
        #[arg(from_global)]
        json: bool,
    },
    /// Show and approve the command or address of a connection, and then its tools and skills
    Approve {
        /// The connection
        name: String,
        /// Approve without a question
        #[arg(long, short)]
        yes: bool,
        #[arg(from_global)]
        json: bool,
    },
    /// Sign in at the server of a connection, in your browser
    Login {
        /// The connection
        name: String,
        /// Print the address instead of opening a browser
        #[arg(long)]
        no_browser: bool,
        #[arg(from_global)]
        json: bool,
    },
    /// Forget the sign-in at the server of a connection
    Logout {
        /// The connection
        name: String,
    },
    /// End the approval of a connection
    Revoke {
        /// The connection
        name: String,
    },
    /// Remove a connection that you added, and its approval
    #[command(alias = "rm")]
    Remove {
        /// The connection
        name: String,
    },
    /// Add the servers in the configuration of an MCP client
    ///
    /// Takes the files of Claude Code, Claude Desktop, Codex, Cursor, Gemini CLI, goose, opencode, VS Code, Windsurf and
    /// Zed. The file itself stays as it is.
    Import {
        /// The name of a client, such as `claude-code`, or a file
        #[arg(value_name = "CLIENT|FILE")]
        from: PathBuf,
        #[arg(from_global)]
        json: bool,
    },
}

#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag that stands alone"
)]
#[derive(Debug, Args)]
pub(crate) struct ConnectionAddArguments {
    /// Name of the connection: lower-case letters, digits, `-` and `_`
    pub(crate) name: String,
    /// Address of a server that speaks Streamable HTTP
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Header of each request to the address (repeatable)
    #[arg(long = "header", value_name = "NAME: VALUE", requires = "url")]
    pub(crate) headers: Vec<String>,
    /// Let the address be on this machine or its network
    #[arg(long, requires = "url")]
    pub(crate) private: bool,
    /// Client as which you are registered there: its id, or the address of its document
    #[arg(long, value_name = "ID", requires = "url")]
    pub(crate) client_id: Option<String>,
    /// Read the client's secret from standard input
    #[arg(long, requires = "client_id")]
    pub(crate) client_secret_stdin: bool,
    /// Scope to ask for at the sign-in (repeatable)
    #[arg(long = "scope", value_name = "SCOPE", requires = "url")]
    pub(crate) scopes: Vec<String>,
    /// Variable for the command (repeatable)
    #[arg(long = "env", value_name = "NAME=VALUE", conflicts_with = "url")]
    pub(crate) environment: Vec<String>,
    /// Folder that the command starts in
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    pub(crate) workdir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) sandbox: SandboxArguments,
    /// Least safety level of its tools: low, medium, high or critical
    #[arg(long, value_name = "LEVEL")]
    pub(crate) safety: Option<String>,
    /// Only tool that is offered (repeatable)
    #[arg(long = "tool", value_name = "TOOL")]
    pub(crate) tools: Vec<String>,
    /// Start a server for each client, not one for all of yours
    #[arg(long)]
    pub(crate) not_shared: bool,
    /// Replace a connection of this name
    #[arg(long)]
    pub(crate) replace: bool,
    /// Command and its arguments
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "url")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SandboxArguments {
    /// Run the command in the sandbox, with nothing of yours
    #[arg(long, conflicts_with = "url")]
    pub(crate) sandbox: bool,
    /// Folder that it reads in the sandbox (repeatable)
    #[arg(long, value_name = "PATH", conflicts_with = "url")]
    pub(crate) read: Vec<PathBuf>,
    /// Folder that it writes in the sandbox (repeatable)
    #[arg(long, value_name = "PATH", conflicts_with = "url")]
    pub(crate) write: Vec<PathBuf>,
    /// Host that it reaches in the sandbox (repeatable)
    #[arg(long = "host", value_name = "HOST", conflicts_with = "url")]
    pub(crate) hosts: Vec<String>,
}
