//! The settings file: `config.toml` in gongfu's home.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gongfu_core::audit::Detail;
use gongfu_core::network::Rule;
use gongfu_core::sandbox::{Level, Limits};
use gongfu_files::Home;
use gongfu_sandbox::Runner;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod account;
mod approval;
pub(crate) mod check;
pub(crate) mod edit;
pub(crate) mod effective;
pub(crate) mod file;
pub(crate) mod key;
mod model;
mod sso;

pub(crate) use account::{AccountSection, GrantSetting};
pub(crate) use approval::ApprovalSection;
use check::Mistake;
pub(crate) use model::{AgentSection, ModelPrice, ModelSection};
pub(crate) use sso::SsoSection;

use crate::environment::Environment;
use crate::failure::Failure;
use crate::sandbox::{self, Docker, SandboxLevel};
use crate::terminal::plain;

/// Settings of gongfu (`config.toml` in its home). Flags and environment variables win over them.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Config {
    /// Folders of skills; they rank with those of `--skills-dir`, behind them. `~/` is the home folder. A relative one
    /// is another folder in each project, and trusted as that project is.
    pub(crate) skills_dirs: Vec<PathBuf>,
    /// Where skills are looked for by themselves.
    pub(crate) discovery: Discovery,
    /// The list of skills that clients tell their models.
    pub(crate) catalogue: Catalogue,
    /// The tools of other MCP servers.
    pub(crate) tools: Tools,
    /// Sets: the part of what is connected, approved and in scope that a client works with, by `gongfu mcp --set NAME` or
    /// `?set=NAME`. Their members are `mcp.SERVER`, `mcp.SERVER.TOOL` and `skill.NAME`; `mcp.*` and `skill.*` are all.
    pub(crate) sets: BTreeMap<String, Vec<String>>,
    /// The calls of agents that wait for a person.
    pub(crate) approvals: ApprovalSection,
    /// The models that `gongfu chat` asks.
    pub(crate) models: ModelSection,
    /// The loop of the agent.
    pub(crate) agent: AgentSection,
    /// The server that `gongfu serve` starts.
    pub(crate) server: Server,
    /// What scripts of skills are run in.
    pub(crate) sandbox: Sandbox,
    /// The packages that scripts of skills need.
    pub(crate) dependencies: Dependencies,
    /// The audit, which `gongfu log` shows.
    pub(crate) audit: Audit,
    /// The accounts of `gongfu serve --accounts`.
    pub(crate) accounts: AccountSection,
}

/// The packages that scripts of skills need. They are installed once, in a sandbox that reaches the index
/// alone, and nothing of them is built unless `build` says so.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Dependencies {
    /// Install what a skill says it needs: `pyproject.toml`, the header of a script, `requirements.txt`,
    /// `package.json`.
    pub(crate) install: bool,
    /// Install what scripts import as well, where a skill says nothing of what it needs; packages of gongfu's
    /// table alone.
    pub(crate) auto_install: bool,
    /// Refuse a lock that doesn't fit what the skill requires. Otherwise that is said, and the versions are
    /// resolved anew.
    pub(crate) frozen: bool,
    /// The index of Python's packages, such as `https://user:password@index.example.com/simple`; without it,
    /// what `uv` and `pip` are configured for. By `http`, anybody on the way can change packages that have no
    /// digest.
    pub(crate) index: Option<String>,
    /// Indexes of Python's packages that are asked besides.
    pub(crate) extra_indexes: Vec<String>,
    /// The registry of Node.js's packages; without it, what `npm` is configured for.
    pub(crate) registry: Option<String>,
    /// The proxy on the way to the indexes, such as `http://user:password@proxy.example.com:3128`; empty for
    /// none. Without it, what `HTTPS_PROXY`, `HTTP_PROXY` or `ALL_PROXY` name, else what `pip` and `npm` are
    /// configured for. `NO_PROXY` always counts.
    pub(crate) proxy: Option<String>,
    /// Further hosts that a build may reach, such as `files.example.com`, at any address. The hosts of the
    /// indexes, and those on the internet at which an index says that its files are, needn't be listed.
    #[schemars(with = "Vec<String>")]
    pub(crate) hosts: Vec<Rule>,
    /// Packages of Python that are built if the index has no wheel of them: `["docopt"]`, or `["*"]` for all. A build
    /// runs code of the package, in the sandbox and without a network.
    pub(crate) build: Vec<String>,
    /// Further interpreters of Python, such as `~/.local/bin/python3.13` of `uv python install 3.13`, for skills that
    /// require a version that the search path doesn't have.
    pub(crate) interpreters: Vec<PathBuf>,
    /// What one environment may take while it is made, in MiB.
    #[schemars(range(min = 16))]
    pub(crate) disk_mib: u32,
    /// How long it may take to make one, in seconds.
    #[schemars(range(min = 10))]
    pub(crate) seconds: u32,
}

impl Default for Dependencies {
    fn default() -> Self {
        Self {
            install: true,
            auto_install: false,
            frozen: false,
            index: None,
            extra_indexes: Vec::new(),
            registry: None,
            proxy: None,
            hosts: Vec::new(),
            build: Vec::new(),
            interpreters: Vec::new(),
            disk_mib: 2048,
            seconds: 600,
        }
    }
}

impl Dependencies {
    /// Returns the limits of making an environment.
    pub(crate) fn limits(&self) -> Limits {
        let disk = u64::from(self.disk_mib.max(16)) * MIB;
        let wall = Duration::from_secs(self.seconds.max(10).into());
        Limits {
            // What is written is counted as memory as well.
            memory: disk + 1024 * MIB,
            processes: 256,
            cpu: wall,
            wall,
            disk,
            file: disk,
            files: 500_000,
            open_files: 4_096,
            ..Limits::default()
        }
    }
}

/// What scripts of skills are run in, and what each run may use.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Sandbox {
    /// The only sandbox that is good enough; without one the strongest that works here is used. Where
    /// it doesn't work, nothing is run.
    pub(crate) level: Option<SandboxLevel>,
    /// Gives users of a server also a sandbox that is for one person alone (`lite`, `seatbelt`): for those
    /// who trust each other.
    pub(crate) levels_for_one: bool,
    /// Memory of all processes of a run and of what it writes, in MiB.
    #[schemars(range(min = 16))]
    pub(crate) memory_mib: u32,
    /// How many processes and threads a run may have at once.
    #[schemars(range(min = 1))]
    pub(crate) processes: u32,
    /// What a run may write in all, in MiB.
    #[schemars(range(min = 1))]
    pub(crate) disk_mib: u32,
    /// How many files and folders a run may make.
    #[schemars(range(min = 16))]
    pub(crate) files: u32,
    /// The daemon that makes containers, where `level` is `docker`.
    pub(crate) docker: Docker,
}

const MIB: u64 = 1024 * 1024;

impl Default for Sandbox {
    fn default() -> Self {
        let limits = Limits::default();
        let mib = |bytes: u64| u32::try_from(bytes / MIB).unwrap_or(u32::MAX);
        Self {
            level: None,
            levels_for_one: false,
            memory_mib: mib(limits.memory),
            processes: limits.processes,
            disk_mib: mib(limits.disk),
            files: u32::try_from(limits.files).unwrap_or(u32::MAX),
            docker: Docker::default(),
        }
    }
}

impl Sandbox {
    /// A runner of this kind alone, or of the strongest that works here.
    pub(crate) fn runner(&self, wanted: Option<Level>, environment: &Environment) -> Runner {
        let runner = sandbox::runner(wanted, self.docker(environment));
        runner.with_levels_for_one(self.levels_for_one)
    }

    /// The daemon that makes containers; the environment may name its socket.
    pub(crate) fn docker(&self, environment: &Environment) -> Docker {
        let Docker { socket, image } = self.docker.clone();
        Docker {
            socket: environment.docker.clone().or(socket),
            image,
        }
    }

    /// Returns the limits of a run; its duration is the caller's.
    pub(crate) fn limits(&self) -> Limits {
        let disk = u64::from(self.disk_mib.max(1)) * MIB;
        Limits {
            memory: u64::from(self.memory_mib.max(16)) * MIB,
            processes: self.processes.max(1),
            disk,
            file: disk,
            files: u64::from(self.files.max(16)),
            ..Limits::default()
        }
    }
}

/// The server that `gongfu serve` starts.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Server {
    /// Where it listens: `127.0.0.1:7878` when nothing is said, `127.0.0.1:0` for any free port, or
    /// `unix:/a/path`.
    pub(crate) listen: Option<String>,
    /// What it is called from outside, such as `https://skills.example.com`, when a proxy stands
    /// before it. Every request needs the token of the server then (`token` in its home).
    pub(crate) public_url: Option<String>,
}

/// The list of skills that clients tell their models.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Catalogue {
    /// How many characters it takes at most: descriptions are shortened first, then skills are left
    /// out and counted. About four characters are a token.
    pub(crate) budget: usize,
}

impl Default for Catalogue {
    fn default() -> Self {
        Self {
            budget: gongfu_core::catalogue::BUDGET,
        }
    }
}

/// The tools of other MCP servers.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Tools {
    /// The tokens that their definitions may take in the list of tools. Above it they aren't listed: a model finds
    /// them with `tool_search` and calls them with `tool_call`. Four bytes are counted as a token.
    pub(crate) budget: usize,
}

impl Default for Tools {
    fn default() -> Self {
        Self {
            budget: gongfu_hub::directory::BUDGET,
        }
    }
}

/// Where skills are looked for by themselves.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Discovery {
    /// Look at `.agents/skills` and `.claude/skills` below the person's home folder.
    pub(crate) home: bool,
    /// Offer the skills that come with gongfu.
    pub(crate) built_in: bool,
    /// Further folders of the person's skills, which rank after their own: `gongfu adopt` adds those of other agents. `~/`
    /// is the home folder.
    pub(crate) adopted: Vec<PathBuf>,
}

impl Default for Discovery {
    fn default() -> Self {
        Self {
            home: true,
            built_in: true,
            adopted: Vec::new(),
        }
    }
}

/// The audit.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Audit {
    /// The part of a call's arguments that is kept: `summary` is the skill, the path and the first 500 characters of the
    /// command; `digest` is only their SHA-256.
    pub(crate) arguments: AuditArguments,
}

/// The part of a call's arguments that the audit keeps.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AuditArguments {
    /// The skill, the path and the start of the command, beside the digest.
    #[default]
    Summary,
    /// Only their digest.
    Digest,
}

impl From<AuditArguments> for Detail {
    fn from(arguments: AuditArguments) -> Self {
        match arguments {
            AuditArguments::Summary => Self::Summary,
            AuditArguments::Digest => Self::Digest,
        }
    }
}

impl Config {
    /// Reads the settings of a home; without a file all have their defaults.
    pub(crate) fn read(home: &Home) -> anyhow::Result<Self> {
        let path = home.config();
        match file::read(&path)?.text {
            Some(text) => {
                let parsed = Self::parse(&text);
                Ok(parsed.map_err(|mistakes| invalid(&path, &text, &mistakes))?)
            }
            None => Ok(Self::default()),
        }
    }

    /// Reads the settings of a text, or reports every mistake in it.
    pub(crate) fn parse(text: &str) -> Result<Self, Vec<Mistake>> {
        let mistakes = check::mistakes(text);
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        toml::from_str(text).map_err(|error| {
            let span = error.span().unwrap_or_default();
            vec![Mistake::of_format(error.message(), span)]
        })
    }
}

/// Settings that can't be used, with every mistake in them.
pub(crate) fn invalid(path: &Path, text: &str, mistakes: &[Mistake]) -> Failure {
    let mut message = format!("{} can't be used:", plain(&path.to_string_lossy()));
    for mistake in mistakes {
        let _ = write!(
            message,
            "\n  line {}: {}",
            mistake.line(text),
            mistake.message
        );
    }
    let hint = "`gongfu config check` shows each mistake and its fix";
    Failure::new("CONFIG_INVALID", message, hint)
}

#[cfg(test)]
mod tests;
