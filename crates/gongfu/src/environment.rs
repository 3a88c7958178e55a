//! Every environment variable that gongfu knows: the only place that reads them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use gongfu_core::change::PersonalSettings;
use gongfu_environments::ProxySettings;
use gongfu_llm::Key;

/// This file, whose table says what each variable is for.
const SOURCE: &str = include_str!("environment.rs");

/// The variables that have a row of their own in the table below, with their meanings.
pub(crate) fn documented() -> impl Iterator<Item = (&'static str, &'static str)> {
    let rows = SOURCE
        .lines()
        .filter_map(|line| line.strip_prefix("/// | `"));
    rows.filter_map(|row| row.strip_suffix(" |")?.split_once("` | "))
}

/// The environment variables.
///
/// | name | meaning |
/// |---|---|
/// | `GONGFU_HOME` | gongfu's own folder; else `gongfu` in the platform's data folder |
/// | `GONGFU_SKILLS_DIRS` | more folders of skills, separated like `PATH` |
/// | `GONGFU_STANDALONE` | `1`: run the servers of connections in this process, not in one that all clients share |
/// | `GONGFU_LOG` | what is logged to standard error: `off`, `error`, `warn` (default), `info`, `debug`, `trace` |
/// | `GONGFU_LOG_FORMAT` | how it is logged: `text` (default), or `json`, an object a line |
/// | `GONGFU_LISTEN` | where `gongfu serve` listens; `--listen` wins over it |
/// | `GONGFU_PUBLIC_URL` | what the server is called from outside; `--public-url` wins over it |
/// | `DOCKER_HOST` | where a Docker daemon listens, such as `unix:///a/path`; asked only by the level `docker` |
/// | `OTEL_EXPORTER_OTLP_ENDPOINT` | a collector such as `http://localhost:4318` to send traces to; `…_TRACES_ENDPOINT` wins over it |
/// | `OTEL_SERVICE_NAME` | what the server is called in traces, else `gongfu` |
/// | `OTEL_RESOURCE_ATTRIBUTES`, `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_EXPORTER_OTLP_TIMEOUT`, `OTEL_TRACES_SAMPLER`, `OTEL_BSP_*` | read by the OpenTelemetry SDK, as its specification says |
/// | `NO_COLOR` | no colour, whatever its value (no-color.org) |
/// | `TERM` | no colour if it is `dumb` |
/// | `COLUMNS` | the width of lists and help where the terminal doesn't say |
/// | `SKILL_STORAGE_PATH` | a folder of skills (seed 000); the configuration's `skills_dirs` win over it |
/// | `LLP_SKILLS_DIRS` | folders of skills, separated by `:` (seed 004) |
/// | `LLP_CLAUDE_SKILLS_DIR` | one more, when `LLP_ENABLE_CLAUDE_GLOBAL=1` (seed 004) |
/// | `LLP_ENABLE_CLAUDE_GLOBAL` | `0`: don't look below the person's home folder (seed 004) |
/// | `LLP_MCP_CONNECTIONS_FILE` | a file of connections to other MCP servers, JSON, YAML or TOML (seed 004) |
/// | `LLP_MCP_CONNECTIONS_DIR` | a folder of such files (seed 004) |
/// | `LLP_MCP_DEFAULT_SAFETY` | the safety level of connections that say nothing: `LOW`, `MEDIUM` (default), `HIGH`, `CRITICAL` (seed 004) |
/// | `UV_DEFAULT_INDEX`, `UV_INDEX_URL`, `PIP_INDEX_URL` | the index that packages of Python come from, the first that is set; the settings win over it, and over files of `uv` and `pip` it wins |
/// | `UV_INDEX`, `UV_EXTRA_INDEX_URL`, `PIP_EXTRA_INDEX_URL` | others that are asked besides |
/// | `NPM_CONFIG_REGISTRY`, `npm_config_registry` | the registry that packages of Node.js come from |
/// | `UV_CONFIG_FILE`, `PIP_CONFIG_FILE`, `NPM_CONFIG_USERCONFIG`, `npm_config_userconfig` | files in which these are said, before those in the usual places |
/// | `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`, also in lower case, which wins | the proxies on the way to the indexes of packages, and the hosts that are reached without one: names with all below them, `*`, addresses and networks (`10.0.0.0/8`) |
/// | `UV_INDEX_<NAME>_USERNAME`, `UV_INDEX_<NAME>_PASSWORD` | the login for an index of `uv` that has a name |
/// | `NETRC` | the file with logins for hosts of Python's indexes, else `.netrc` in the person's home folder |
/// | those that `.npmrc` names as `${NAME}` | filled in there |
/// | `SSL_CERT_FILE` | the certificates that are believed when packages are fetched; else the system's |
/// | `OPENAI_API_KEY`, `ANTHROPIC_API_KEY`, `GEMINI_API_KEY` and those of other providers of models | the keys for `gongfu chat`; `gongfu config set models.key_variables` names others |
/// | `OPENAI_BASE_URL`, `ANTHROPIC_BASE_URL`, `OLLAMA_HOST` | the addresses of these providers; the settings' `models.urls` win over them |
/// | `PATH` | where interpreters for scripts, `uv`, and the commands in the configurations of clients are looked for |
/// | `XDG_CONFIG_HOME`, `APPDATA` | where clients, and git, keep their configuration, as the system has it |
/// | `XDG_STATE_HOME` | where a person's locks of skills are, in `skills/` |
/// | `GIT_SSH_COMMAND` | the command of git for SSH, in place of one that asks nothing |
/// | `AUTOHAND_HOME`, `GROK_HOME`, `HERMES_HOME`, `SARVAM_HOME`, `VIBE_HOME` | where agents look for skills that are added |
/// | `CLAUDE_CONFIG_DIR`, `CODEX_HOME`, `GEMINI_CLI_HOME`, `GOOSE_PATH_ROOT` | the same for one client |
/// | `VSCODE_PORTABLE`, `VSCODE_APPDATA`, `FLATPAK_XDG_CONFIG_HOME` | the same for VS Code and for Zed |
#[derive(Debug, Clone, Default)]
pub(crate) struct Environment {
    pub(crate) home: Option<PathBuf>,
    pub(crate) skills_dirs: Vec<PathBuf>,
    pub(crate) storage_path: Option<PathBuf>,
    pub(crate) claude_global: Option<bool>,
    pub(crate) connections_file: Option<PathBuf>,
    pub(crate) connections_dir: Option<PathBuf>,
    pub(crate) default_safety: Option<String>,
    /// True if each process runs other servers itself.
    pub(crate) is_standalone: bool,
    pub(crate) log: Option<String>,
    pub(crate) log_format: LogFormat,
    pub(crate) listen: Option<String>,
    pub(crate) public_url: Option<String>,
    /// The address of a Docker daemon.
    pub(crate) docker: Option<String>,
    /// The whole URL for traces.
    pub(crate) traces: Option<String>,
    pub(crate) service: Option<String>,
    pub(crate) no_color: bool,
    /// The terminal can't paint.
    pub(crate) is_dumb: bool,
    /// The width of a line.
    pub(crate) columns: Option<usize>,
    pub(crate) user: Option<PathBuf>,
    pub(crate) data: Option<PathBuf>,
    pub(crate) directory: Option<PathBuf>,
    pub(crate) search_path: Vec<PathBuf>,
    /// The package sources, as far as variables name them.
    pub(crate) packages: Packages,
    /// The providers of models, as variables name them.
    pub(crate) models: ModelVariables,
    /// The person's own command for SSH in git.
    pub(crate) git_ssh_command: Option<String>,
    /// The folder of the state of programs.
    pub(crate) state: Option<PathBuf>,
    /// The folders of clients that are set, by the name of their variable.
    pub(crate) client_folders: BTreeMap<&'static str, PathBuf>,
}

/// The package sources, as variables name them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Packages {
    pub(crate) index: Option<String>,
    pub(crate) extra: Vec<String>,
    pub(crate) registry: Option<String>,
    pub(crate) certificates: Option<PathBuf>,
    pub(crate) uv: Option<PathBuf>,
    pub(crate) pip: Option<PathBuf>,
    pub(crate) npm: Option<PathBuf>,
    pub(crate) netrc: Option<PathBuf>,
    pub(crate) proxy: ProxySettings,
}

/// The keys and addresses of providers of models, by the name of their variable.
#[derive(Debug, Clone, Default)]
pub(crate) struct ModelVariables {
    pub(crate) keys: BTreeMap<&'static str, Key>,
    pub(crate) urls: BTreeMap<&'static str, String>,
}

/// The format of log lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// An object a line, for programs.
    Json,
}

/// The variables that say where clients keep their configuration.
const CLIENT_FOLDERS: [&str; 9] = [
    "APPDATA",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "FLATPAK_XDG_CONFIG_HOME",
    "GEMINI_CLI_HOME",
    "GOOSE_PATH_ROOT",
    "VSCODE_APPDATA",
    "VSCODE_PORTABLE",
    "XDG_CONFIG_HOME",
];

impl Environment {
    /// Reads the environment of this process.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the environment"
    )]
    pub(crate) fn read() -> Self {
        use etcetera::BaseStrategy as _;
        let mut environment = Self::from_names(|name| std::env::var_os(name));
        let base = etcetera::base_strategy::choose_native_strategy().ok();
        // A relative one would be another folder in each project.
        let absolute = |folder: PathBuf| Some(folder).filter(|folder| folder.is_absolute());
        let user = base.as_ref().map(|base| base.home_dir().to_owned());
        environment.user = user.and_then(absolute);
        environment.data = base.map(|base| base.data_dir()).and_then(absolute);
        environment.directory = std::env::current_dir().ok();
        environment
    }

    /// The folder in a variable that moves the folder of an agent.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the environment"
    )]
    pub(crate) fn folder_of_agent(name: &str) -> Option<PathBuf> {
        let is_known = gongfu_import::agents::variables().any(|known| known == name);
        let value = is_known.then(|| std::env::var_os(name)).flatten();
        value
            .map(PathBuf::from)
            .filter(|folder| folder.is_absolute())
    }

    /// The settings of git that count for each repository: the person's, and those of the system.
    pub(crate) fn git(&self) -> PersonalSettings {
        let user = self.user.iter();
        let mut files = vec![PathBuf::from("/etc/gitconfig")];
        files.extend(
            user.flat_map(|home| [home.join(".gitconfig"), home.join(".config/git/config")]),
        );
        let config = self.client_folders.get("XDG_CONFIG_HOME");
        files.extend(config.map(|folder| folder.join("git/config")));
        PersonalSettings {
            home: self.user.clone(),
            files,
        }
    }

    /// A variable that a settings file of an installer names.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the environment"
    )]
    pub(crate) fn variable(name: &str) -> Option<String> {
        // The system takes no such name.
        let is_name = !name.is_empty() && !name.contains(['=', '\0']);
        let value = is_name.then(|| std::env::var_os(name)).flatten();
        value.map(|value| value.to_string_lossy().into_owned())
    }

    /// Reads the names above with `value`.
    fn from_names(value: impl Fn(&str) -> Option<OsString>) -> Self {
        let given = |name: &str| value(name).filter(|value| !value.is_empty());
        let text = |name: &str| given(name).map(|value| value.to_string_lossy().into_owned());
        let truth = |name: &str| {
            text(name).map(|value| {
                matches!(
                    value.to_ascii_lowercase().as_str(),
                    "1" | "true" | "yes" | "on"
                )
            })
        };
        let paths = |name: &str| {
            given(name)
                .map(|value| {
                    std::env::split_paths(&value)
                        .filter(|path| !path.as_os_str().is_empty())
                        .collect::<Vec<_>>()
                })
                .unwrap_or_default()
        };
        let claude_global = truth("LLP_ENABLE_CLAUDE_GLOBAL");
        let mut skills_dirs = paths("GONGFU_SKILLS_DIRS");
        skills_dirs.extend(paths("LLP_SKILLS_DIRS"));
        if claude_global == Some(true) {
            skills_dirs.extend(given("LLP_CLAUDE_SKILLS_DIR").map(PathBuf::from));
        }
        Self {
            home: given("GONGFU_HOME").map(PathBuf::from),
            skills_dirs,
            storage_path: given("SKILL_STORAGE_PATH").map(PathBuf::from),
            claude_global,
            connections_file: given("LLP_MCP_CONNECTIONS_FILE").map(PathBuf::from),
            connections_dir: given("LLP_MCP_CONNECTIONS_DIR").map(PathBuf::from),
            default_safety: text("LLP_MCP_DEFAULT_SAFETY"),
            is_standalone: given("GONGFU_STANDALONE").is_some_and(|value| value != "0"),
            log: text("GONGFU_LOG"),
            log_format: match text("GONGFU_LOG_FORMAT").as_deref() {
                Some("json") => LogFormat::Json,
                _ => LogFormat::Text,
            },
            listen: text("GONGFU_LISTEN"),
            public_url: text("GONGFU_PUBLIC_URL"),
            git_ssh_command: text("GIT_SSH_COMMAND"),
            state: given("XDG_STATE_HOME").map(PathBuf::from),
            docker: text("DOCKER_HOST"),
            service: text("OTEL_SERVICE_NAME"),
            traces: text("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT").or_else(|| {
                let collector = text("OTEL_EXPORTER_OTLP_ENDPOINT")?;
                Some(format!("{}/v1/traces", collector.trim_end_matches('/')))
            }),
            no_color: given("NO_COLOR").is_some(),
            is_dumb: text("TERM").as_deref() == Some("dumb"),
            columns: text("COLUMNS").and_then(|columns| columns.parse().ok()),
            search_path: paths("PATH"),
            packages: {
                let first = |names: &[&str]| names.iter().find_map(|name| text(name));
                let file = |names: &[&str]| first(names).map(PathBuf::from);
                let extra = first(&["UV_INDEX", "UV_EXTRA_INDEX_URL", "PIP_EXTRA_INDEX_URL"]);
                let extra = extra.unwrap_or_default();
                Packages {
                    index: first(&["UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"]),
                    extra: extra.split_whitespace().map(str::to_owned).collect(),
                    registry: first(&["NPM_CONFIG_REGISTRY", "npm_config_registry"]),
                    certificates: file(&["SSL_CERT_FILE"]),
                    uv: file(&["UV_CONFIG_FILE"]),
                    pip: file(&["PIP_CONFIG_FILE"]),
                    npm: file(&["NPM_CONFIG_USERCONFIG", "npm_config_userconfig"]),
                    netrc: file(&["NETRC"]),
                    proxy: ProxySettings {
                        setting: None,
                        https: first(&["https_proxy", "HTTPS_PROXY"]),
                        http: first(&["http_proxy", "HTTP_PROXY"]),
                        all: first(&["all_proxy", "ALL_PROXY"]),
                        none: first(&["no_proxy", "NO_PROXY"]),
                    },
                }
            },
            models: {
                let known = || gongfu_llm::known_providers().iter();
                let keys = known().flat_map(|provider| provider.key_variables);
                let urls = known().flat_map(|provider| provider.url_variables);
                ModelVariables {
                    keys: keys
                        .filter_map(|name| Some((*name, Key::new(&text(name)?))))
                        .collect(),
                    urls: urls.filter_map(|name| Some((*name, text(name)?))).collect(),
                }
            },
            // A relative one would mean another folder for every program.
            client_folders: CLIENT_FOLDERS
                .into_iter()
                .filter_map(|name| Some((name, PathBuf::from(given(name)?))))
                .filter(|(_, folder)| folder.is_absolute())
                .collect(),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::Environment;

    fn read(names: &[(&str, &str)]) -> Environment {
        Environment::from_names(|name| {
            names
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| value.into())
        })
    }

    #[test]
    fn variables_of_the_source_systems_work() {
        let found = read(&[
            ("LLP_SKILLS_DIRS", "/a::/b"),
            ("LLP_CLAUDE_SKILLS_DIR", "/c"),
            ("LLP_ENABLE_CLAUDE_GLOBAL", "1"),
        ]);
        assert_eq!(found.skills_dirs, ["/a", "/b", "/c"].map(PathBuf::from));
        let off = read(&[
            ("LLP_CLAUDE_SKILLS_DIR", "/c"),
            ("LLP_ENABLE_CLAUDE_GLOBAL", "0"),
            ("NO_COLOR", ""),
            ("GONGFU_HOME", ""),
        ]);
        assert!(
            off.skills_dirs.is_empty()
                && off.claude_global == Some(false)
                && !off.no_color
                && off.home.is_none()
        );
    }
}
