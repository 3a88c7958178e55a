//! Reasons why an environment can't be built, told from what the installers print.

use self::FailureKind as Kind;
use super::{Language, ManifestError};

/// The limit of what is repeated of an installer's output, in characters.
const MAX_OUTPUT: usize = 600;
/// The start of each line of npm that tells an error.
const NPM_ERROR: &str = "npm error ";
/// The number of last lines that are repeated if none is marked as an error.
const LAST_LINES: usize = 5;

/// The kind of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// A manifest of the skill can't be followed.
    ManifestInvalid,
    /// The lock doesn't fit the manifest.
    LockStale,
    /// The index has no such package.
    PackageUnknown,
    /// The index has the package, but no build of it for this machine.
    NothingBuilt,
    /// The versions exclude each other.
    Conflict,
    /// The index sent another file than the lock names.
    DigestMismatch,
    /// No interpreter here has the version that is required.
    Interpreter,
    /// The environment exceeds its limit.
    TooLarge,
    /// The index doesn't answer.
    IndexUnreachable,
    /// The build exceeds its time limit.
    TooSlow,
    /// A program is missing that installs packages.
    ToolMissing,
    /// No sandbox works here in which to build.
    Sandbox,
    /// Anything else.
    Other,
}

impl FailureKind {
    /// The code for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ManifestInvalid => "manifest_unfit",
            Self::LockStale => "lock_stale",
            Self::PackageUnknown => "package_unknown",
            Self::NothingBuilt => "nothing_built",
            Self::Conflict => "conflict",
            Self::DigestMismatch => "digest_mismatch",
            Self::Interpreter => "interpreter",
            Self::TooLarge => "too_large",
            Self::IndexUnreachable => "index_unreachable",
            Self::TooSlow => "too_slow",
            Self::ToolMissing => "tool_missing",
            Self::Sandbox => "sandbox",
            Self::Other => "other",
        }
    }

    /// True if the author of the skill has to fix it, and not the operator.
    pub fn is_of_the_skill(self) -> bool {
        matches!(
            self,
            Self::ManifestInvalid
                | Self::LockStale
                | Self::PackageUnknown
                | Self::NothingBuilt
                | Self::Conflict
                | Self::DigestMismatch
                | Self::Interpreter
        )
    }

    /// True if the one package that causes it can be left out for the sake of the others.
    pub fn is_of_a_package(self) -> bool {
        matches!(
            self,
            Self::ManifestInvalid
                | Self::PackageUnknown
                | Self::NothingBuilt
                | Self::Conflict
                | Self::Interpreter
        )
    }

    /// The remedy, for people.
    pub fn advice(self) -> &'static str {
        match self {
            Self::ManifestInvalid => "fix that file in the skill",
            Self::LockStale => {
                "update the lock file next to it with `uv lock` or `npm install --package-lock-only`"
            }
            Self::PackageUnknown => "check the name, and that the configured index has it",
            Self::NothingBuilt => {
                "require a version that has a wheel for this machine, or a person can add the package to `build` below `[dependencies]` in the settings"
            }
            Self::Conflict => "change the required versions so that they can be installed together",
            Self::DigestMismatch => {
                "update the lock file if the package was meant to change; otherwise don't trust the index"
            }
            Self::Interpreter => {
                "a person can install one, e.g. with `uv python install`, and add it to `interpreters` below `[dependencies]` in the settings"
            }
            Self::TooLarge => {
                "require fewer packages, or a person can raise `disk_mib` below `[dependencies]` in the settings"
            }
            Self::IndexUnreachable => {
                "try again when the index is reachable; a person can see which one it is with `gongfu doctor`, and set `index`, `registry` and `hosts` below `[dependencies]` in the settings"
            }
            Self::TooSlow => {
                "try again later, or a person can raise `seconds` below `[dependencies]` in the settings"
            }
            Self::ToolMissing => "a person can install it with `gongfu init`, or add it to PATH",
            Self::Sandbox => "a person can find out why: gongfu doctor",
            Self::Other => "a person can see the details with `gongfu env build`",
        }
    }
}

/// The reason why an environment can't be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Failure {
    /// Its kind.
    pub kind: FailureKind,
    /// The reason, for people.
    pub why: String,
    /// The package that caused it, where it is known.
    pub package: Option<String>,
}

impl Failure {
    /// A failure that no package caused.
    pub fn new(kind: FailureKind, why: impl Into<String>) -> Self {
        Self {
            kind,
            why: why.into(),
            package: None,
        }
    }

    /// Classifies the failure of an installer by what it printed.
    pub fn from_output(language: Language, output: &str) -> Self {
        // npm before 10.6 has another prefix.
        let output = output.replace("npm ERR!", "npm error");
        let phrases = match language {
            Language::Python => UV_PHRASES,
            Language::Node => NPM_PHRASES,
        };
        // What npm repeats of a package or its versions doesn't begin a line.
        let has = |phrase: &str| {
            if phrase.starts_with(NPM_ERROR) {
                output.lines().any(|line| line.starts_with(phrase))
            } else {
                output.contains(phrase)
            }
        };
        let found = phrases.iter().find(|(phrase, _)| has(phrase));
        let (phrase, kind) = found.copied().unwrap_or(("", Kind::Other));
        let package = match language {
            Language::Python => package_before(phrase, &output),
            Language::Node => package_not_found(&output),
        };
        Self {
            kind,
            why: summary(language, &output),
            package,
        }
    }
}

impl From<ManifestError> for Failure {
    fn from(error: ManifestError) -> Self {
        Self::new(FailureKind::ManifestInvalid, error.to_string())
    }
}

/// Phrases of uv, tried in this order. Before one that begins with a blank stands the package.
const UV_PHRASES: &[(&str, Kind)] = &[
    ("No space left", Kind::TooLarge),
    ("Couldn't parse requirement", Kind::ManifestInvalid),
    // A lock is checked without a network.
    ("but `--locked` was provided", Kind::LockStale),
    ("the network was disabled", Kind::LockStale),
    ("network connectivity is disabled", Kind::LockStale),
    // So are the sources of a project, which count for nothing without its lock.
    ("workspace members are both named", Kind::LockStale),
    (" @ path+", Kind::LockStale),
    (" @ file:///tmp/project", Kind::LockStale),
    ("Failed to parse `uv.lock`", Kind::LockStale),
    ("uses an unsupported schema version", Kind::LockStale),
    ("Couldn't parse requirement in", Kind::ManifestInvalid),
    (
        " was not found in the package registry",
        Kind::PackageUnknown,
    ),
    (
        " was not found in the provided package locations",
        Kind::PackageUnknown,
    ),
    (" has invalid metadata", Kind::NothingBuilt),
    (" has an invalid package format", Kind::NothingBuilt),
    ("Failed to extract archive", Kind::NothingBuilt),
    (" has no usable wheels", Kind::NothingBuilt),
    (" have no usable wheels", Kind::NothingBuilt),
    (" has no wheels with a matching", Kind::NothingBuilt),
    ("building from source is disabled", Kind::NothingBuilt),
    ("no compatible wheel", Kind::NothingBuilt),
    ("marked as `--no-build`", Kind::NothingBuilt),
    ("Hash mismatch", Kind::DigestMismatch),
    ("No interpreter found", Kind::Interpreter),
    ("does not satisfy Python", Kind::Interpreter),
    ("Failed to fetch", Kind::IndexUnreachable),
    ("error sending request", Kind::IndexUnreachable),
    ("Failed to download", Kind::IndexUnreachable),
    ("timed out", Kind::IndexUnreachable),
    ("Connection refused", Kind::IndexUnreachable),
    ("tunnel", Kind::IndexUnreachable),
    ("No solution found", Kind::Conflict),
    ("requirements are unsatisfiable", Kind::Conflict),
    ("required, but missing a hash", Kind::Conflict),
];

/// Phrases of npm, tried in this order.
const NPM_PHRASES: &[(&str, Kind)] = &[
    ("npm error code E404", Kind::PackageUnknown),
    ("npm error code ETARGET", Kind::Conflict),
    ("npm error code ERESOLVE", Kind::Conflict),
    ("npm error code ENOVERSIONS", Kind::Conflict),
    ("npm error code EINVALIDTAGNAME", Kind::ManifestInvalid),
    ("npm error code EINVALIDPACKAGENAME", Kind::ManifestInvalid),
    ("npm error code EINTEGRITY", Kind::DigestMismatch),
    ("npm error code EBADENGINE", Kind::Interpreter),
    ("npm error code EBADPLATFORM", Kind::NothingBuilt),
    ("npm error code ENOSPC", Kind::TooLarge),
    (
        "npm error `npm ci` can only install packages when",
        Kind::LockStale,
    ),
    ("npm error code E403", Kind::IndexUnreachable),
    ("npm error code E50", Kind::IndexUnreachable),
    ("npm error code EAI_AGAIN", Kind::IndexUnreachable),
    ("npm error code ECONN", Kind::IndexUnreachable),
    ("npm error code ENOTFOUND", Kind::IndexUnreachable),
    ("npm error code ERR_SOCKET_TIMEOUT", Kind::IndexUnreachable),
    ("npm error code ETIMEDOUT", Kind::IndexUnreachable),
    ("npm error code FETCH_ERROR", Kind::IndexUnreachable),
    ("npm error code SELF_SIGNED_CERT", Kind::IndexUnreachable),
    ("npm error network ", Kind::IndexUnreachable),
    ("tunneling socket", Kind::IndexUnreachable),
    ("Proxy response", Kind::IndexUnreachable),
];

/// The package that uv names before a phrase.
fn package_before(phrase: &str, output: &str) -> Option<String> {
    let (before, _) = output.split_once(phrase.strip_prefix(' ')?)?;
    let word = before.split_whitespace().next_back()?;
    let name = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let name = name.split(['=', '<', '>', '!', '~', '[']).next()?;
    (!name.is_empty()).then(|| name.to_owned())
}

/// The package in a line of npm like `404  'name@version' is not in this registry`.
fn package_not_found(output: &str) -> Option<String> {
    let mut lines = output
        .lines()
        .filter(|line| line.starts_with("npm error 404"));
    let quoted = lines.find_map(|line| line.split('\'').nth(1))?;
    let name = quoted.rsplit_once('@').map(|(name, _)| name);
    let name = name.filter(|name| !name.is_empty());
    Some(name.unwrap_or(quoted).to_owned())
}

/// The lines of an installer that say what is wrong.
fn summary(language: Language, output: &str) -> String {
    let lines = output.lines().map(str::trim);
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    let is_error = |line: &&&str| match language {
        Language::Python => line.starts_with("error:") || line.starts_with('×'),
        Language::Node => {
            line.starts_with(NPM_ERROR) && !line.contains("A complete log of this run")
        }
    };
    let shown: Vec<&str> = match lines.iter().position(|line| is_error(&line)) {
        // What uv prints after the first line explains it.
        Some(at) if language == Language::Python => lines[at..].to_vec(),
        Some(_) => lines
            .iter()
            .filter(is_error)
            .map(|line| line.trim_start_matches(NPM_ERROR))
            .collect(),
        None => lines[lines.len().saturating_sub(LAST_LINES)..].to_vec(),
    };
    let text = shown.join("; ");
    let text = text.trim_start_matches("error: ");
    if text.is_empty() {
        return "the installer doesn't say why".to_owned();
    }
    crate::text::clipped(text, MAX_OUTPUT, char::REPLACEMENT_CHARACTER)
}
