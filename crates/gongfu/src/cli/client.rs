//! The commands that put gongfu into the configuration of MCP clients, and take it out.

use clap::{Args, Subcommand};

use crate::client::{CLIENTS, DEFAULT_URL, Scope};

#[derive(Debug, Subcommand)]
pub(crate) enum ClientCommand {
    /// List supported clients and their configuration files
    #[command(alias = "ls")]
    List {
        /// User or project configuration
        #[arg(long, value_enum, default_value_t)]
        scope: Scope,
        #[arg(from_global)]
        json: bool,
    },
    /// Add gongfu to the configuration of clients
    ///
    /// Comments and everything else in the file are kept. The file is first backed up to `clients` in
    /// gongfu's home. An entry named `gongfu` that starts another program is replaced only with --force.
    #[command(alias = "add")]
    Install {
        #[command(flatten)]
        change: ChangeArguments,
        #[command(flatten)]
        reach: Reach,
    },
    /// Remove gongfu from the configuration of clients
    ///
    /// If the file hasn't changed since `install`, it is restored byte for byte; otherwise only the entry is
    /// removed. An entry named `gongfu` that starts another program is removed only with --force.
    #[command(alias = "rm", alias = "remove")]
    Uninstall {
        #[command(flatten)]
        change: ChangeArguments,
    },
    /// Show which clients are configured, and whether their entry works
    ///
    /// Exits with 1 if an entry's program is missing, a file can't be read, or a client that you name isn't
    /// configured.
    Status {
        /// Clients (default: all)
        #[arg(value_name = "CLIENT", value_parser = client_names())]
        names: Vec<String>,
        /// User or project configuration
        #[arg(long, value_enum, default_value_t)]
        scope: Scope,
        #[arg(from_global)]
        json: bool,
    },
    /// Print the entry for a client, to paste into its configuration
    Print {
        /// Client
        #[arg(value_name = "CLIENT", value_parser = client_names())]
        name: Option<String>,
        /// Print only the link that adds it (Cursor, VS Code)
        #[arg(long)]
        link: bool,
        #[command(flatten)]
        reach: Reach,
        #[arg(from_global)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ChangeArguments {
    /// Clients
    #[arg(value_name = "CLIENT", value_parser = client_names())]
    pub(crate) names: Vec<String>,
    /// User or project configuration
    #[arg(long, value_enum, default_value_t)]
    pub(crate) scope: Scope,
    /// Show the change as a diff; write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Change an entry named `gongfu` even if it starts another program
    #[arg(long)]
    pub(crate) force: bool,
    #[arg(from_global)]
    pub(crate) json: bool,
}

/// The way by which a client reaches gongfu.
#[derive(Debug, Args)]
pub(crate) struct Reach {
    /// The client starts `gongfu mcp` itself (default)
    #[arg(long, conflicts_with = "http")]
    pub(crate) stdio: bool,
    /// The client calls the address of a running `gongfu serve`
    #[arg(
        long,
        value_name = "URL",
        num_args = 0..=1,
        value_parser = url_or_client,
        help = format!("The client connects to a running `gongfu serve` [default URL: {DEFAULT_URL}]")
    )]
    #[expect(
        clippy::option_option,
        reason = "clap's way to say that the flag's value may be left out"
    )]
    pub(crate) http: Option<Option<UrlOrClient>>,
    /// Arguments for `gongfu mcp`, such as `--profile all`
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
        _ => Err(format!("use a full URL such as {DEFAULT_URL}")),
    }
}
