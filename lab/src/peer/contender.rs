//! The servers that take part: how each is found, started, and asked for all of its skills.

use std::path::{Path as FilePath, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use hyper::header::HeaderValue;
use serde_json::Value;

use super::fixture::Fixture;
use crate::accounts;
use crate::http::wire::Path;
use crate::machine;
use crate::server::Recipe;

/// The names of all servers, in the order of the tables.
pub(super) const NAMES: [&str; 5] = ["gongfu", "fastmcp", "mcp", "typescript-v1", "typescript-v2"];
/// The folder of the peers that `scripts/peer/install` installs, from the root of the repository.
const TOOLS: &str = ".tools/peer";
/// The folder of the peers' servers.
const SERVERS: &str = "scripts/peer";
/// The hint for a missing peer.
const HINT: &str = "`just bench-peers` installs it";

/// The way in which a server lists all of its skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Listing {
    /// By the methods of the extension for skills: with frontmatter, all files and their digests.
    Skills,
    /// As resources: one address for each.
    Resources,
}

impl Listing {
    /// The method that lists.
    pub(super) fn method(self) -> &'static str {
        match self {
            Self::Skills => "skills/list",
            Self::Resources => "resources/list",
        }
    }

    /// The list in its result.
    pub(super) fn field(self) -> &'static str {
        match self {
            Self::Skills => "skills",
            Self::Resources => "resources",
        }
    }
}

/// The transport and the library of a started server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Serving {
    /// The tool, on standard input and output.
    Stdio,
    /// The tool, over HTTP.
    Tool(Path),
    /// All skills, over HTTP.
    Library(Path, Listing),
}

/// A server that can be measured.
pub(super) struct Contender {
    pub(super) name: &'static str,
    /// Its name with its version, for people.
    pub(super) title: String,
    /// Its settings, for people.
    pub(super) settings: &'static str,
    /// The ways in which it speaks HTTP.
    pub(super) paths: &'static [Path],
    /// The ways in which it names its skills.
    pub(super) listings: &'static [Listing],
    program: PathBuf,
    /// True for gongfu with accounts.
    pub(super) has_accounts: bool,
    /// The script that the program runs; gongfu runs itself.
    script: Option<PathBuf>,
}

impl Contender {
    /// Looks for a server by its name; says why it can't be run.
    pub(super) fn find(
        name: &'static str,
        root: &FilePath,
        binary: Option<&FilePath>,
        has_accounts: bool,
    ) -> Result<Self> {
        match name {
            "gongfu" => Self::gongfu(binary, has_accounts),
            "fastmcp" => Self::python(
                root,
                name,
                "FastMCP",
                "uvicorn with uvloop and httptools, no access log, JSON answers, asynchronous tool, text sent once; `skills/list` by its experimental provider",
                &[Listing::Skills, Listing::Resources],
            ),
            "mcp" => Self::python(
                root,
                name,
                "Python mcp",
                "uvicorn with uvloop and httptools, no access log, JSON answers, asynchronous tool, text sent once; skills as file resources",
                &[Listing::Resources],
            ),
            "typescript-v1" => Self::node(
                root,
                name,
                "TypeScript v1",
                "sdk",
                "Node 22 in production mode, Express as in its examples, JSON answers; without a session a server for each request, as its documentation asks; skills as a resource template with a list",
                &[Path::Sessionless, Path::Session],
                &[Listing::Resources],
            ),
            _ => Self::node(
                root,
                name,
                "TypeScript v2",
                "server",
                "Node 22 in production mode, its handler on node:http, JSON answers; skills by its own extension",
                &[Path::Stateless, Path::Session],
                &[Listing::Skills],
            ),
        }
    }

    fn gongfu(binary: Option<&FilePath>, has_accounts: bool) -> Result<Self> {
        let program = binary.map_or_else(|| machine::build("dist"), |file| Ok(file.to_owned()))?;
        let version = version(&program, &["--version"])?;
        let (title, settings) = if has_accounts {
            (
                format!("{version} with accounts"),
                "with accounts: an API token, the audit in SQLite, no limits of requests; sessions are answered as streams of events",
            )
        } else {
            (
                version,
                "as it comes: audit on, the standard profile; sessions are answered as streams of events",
            )
        };
        Ok(Self {
            name: "gongfu",
            title,
            settings,
            has_accounts,
            paths: &[Path::Stateless, Path::Session],
            listings: &[Listing::Skills, Listing::Resources],
            program,
            script: None,
        })
    }

    fn python(
        root: &FilePath,
        name: &'static str,
        title: &str,
        settings: &'static str,
        listings: &'static [Listing],
    ) -> Result<Self> {
        let program = root.join(TOOLS).join(name).join("bin/python");
        let script = root.join(SERVERS).join(format!("{name}_server.py"));
        let file = script.display().to_string();
        let version = version(&program, &[&file, "--version"]).context(HINT)?;
        Ok(Self {
            name,
            title: format!("{title} {version}"),
            settings,
            paths: &[Path::Stateless, Path::Session],
            listings,
            program,
            has_accounts: false,
            script: Some(script),
        })
    }

    fn node(
        root: &FilePath,
        name: &'static str,
        title: &str,
        package: &str,
        settings: &'static str,
        paths: &'static [Path],
        listings: &'static [Listing],
    ) -> Result<Self> {
        let folder = root.join(TOOLS).join("node");
        let program = folder.join("node_modules/.bin/node");
        version(&program, &["--version"]).context(HINT)?;
        let manifest = folder.join(format!(
            "node_modules/@modelcontextprotocol/{package}/package.json"
        ));
        let manifest = std::fs::read(&manifest).context(HINT)?;
        let manifest: Value = serde_json::from_slice(&manifest)?;
        let version = manifest.get("version").and_then(Value::as_str);
        let file = format!("{}_server.js", name.replace('-', "_"));
        // Node looks for packages beside the program, so the program goes there.
        let script = folder.join(&file);
        std::fs::copy(root.join(SERVERS).join(&file), &script)
            .with_context(|| format!("{SERVERS}/{file} can't be copied"))?;
        Ok(Self {
            name,
            title: format!("{title} {}", version.unwrap_or("?")),
            settings,
            paths,
            listings,
            program,
            has_accounts: false,
            script: Some(script),
        })
    }

    /// The recipe that starts it; over HTTP a peer takes the port that it is given, gongfu chooses one.
    pub(super) fn recipe(&self, fixture: &Fixture, serving: Serving, port: Option<u16>) -> Recipe {
        let folder = fixture.folder().display().to_string();
        let Some(script) = &self.script else {
            let mut arguments: Vec<String> = match serving {
                Serving::Stdio => vec!["mcp".to_owned()],
                Serving::Tool(_) | Serving::Library(..) => ["serve", "--listen", "127.0.0.1:0"]
                    .map(str::to_owned)
                    .into(),
            };
            if self.has_accounts && serving != Serving::Stdio {
                arguments.push("--accounts".to_owned());
            }
            arguments.extend([
                "--skills-dir".to_owned(),
                folder,
                "--no-default-dirs".to_owned(),
            ]);
            let home = fixture.home().display().to_string();
            return Recipe {
                program: self.program.clone(),
                arguments,
                variables: vec![("GONGFU_HOME".to_owned(), home)],
            };
        };
        let (path, words): (_, &[&str]) = match serving {
            Serving::Stdio => ("stdio", &[]),
            Serving::Tool(path) => (path.name(), &[]),
            Serving::Library(path, Listing::Resources) => (path.name(), &["library"]),
            Serving::Library(path, Listing::Skills) => (path.name(), &["library", "skills"]),
        };
        let mut arguments = vec![script.display().to_string(), folder, path.to_owned()];
        arguments.extend(port.map(|port| port.to_string()));
        arguments.extend(words.iter().map(|&word| word.to_owned()));
        Recipe {
            program: self.program.clone(),
            arguments,
            variables: vec![("NODE_ENV".to_owned(), "production".to_owned())],
        }
    }

    /// The credential of its clients, if it wants one.
    pub(super) fn credential(&self, fixture: &Fixture) -> Result<Option<HeaderValue>> {
        let made = || accounts::credential(&self.program, fixture.home());
        self.has_accounts.then(made).transpose()
    }

    /// True when it prints the address that it chose.
    pub(super) fn chooses_port(&self) -> bool {
        self.script.is_none()
    }
}

/// The output of a program that is asked for its version.
fn version(program: &FilePath, arguments: &[&str]) -> Result<String> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("{} does not start", program.display()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().last().unwrap_or("no output");
        bail!("{} does not start: {last}", program.display());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
