//! Why an environment couldn't be made, told by what the installers say.

use super::Language;

/// How much of what an installer said is repeated, in characters.
const REPEATED: usize = 600;
/// How many of its last lines, where none of them says that it is an error.
const LAST: usize = 5;

/// What kind of thing went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// What a file of the skill says can't be followed.
    Unfit,
    /// The lock isn't of what is wanted now.
    LockStale,
    /// The index has no such package.
    PackageUnknown,
    /// The index has the package, and nothing of it that is installed without building it.
    NothingBuilt,
    /// What is wanted can't be had together.
    Conflict,
    /// What the index sent isn't what the lock says.
    DigestMismatch,
    /// No interpreter here is of the version that is wanted.
    Interpreter,
    /// It is larger than an environment may be.
    TooLarge,
    /// The index doesn't answer.
    IndexUnreachable,
    /// It took longer than it may.
    TooSlow,
    /// What is needed to install isn't there.
    ToolMissing,
    /// No sandbox works here in which it could be made.
    Sandbox,
    /// Something else.
    Other,
}

impl Kind {
    /// What programs know it by.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unfit => "manifest_unfit",
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

    /// Whether whoever wrote the skill mends it; else whoever runs gongfu.
    pub fn is_of_the_skill(self) -> bool {
        matches!(
            self,
            Self::Unfit
                | Self::LockStale
                | Self::PackageUnknown
                | Self::NothingBuilt
                | Self::Conflict
                | Self::DigestMismatch
                | Self::Interpreter
        )
    }

    /// What to do about it, for people.
    pub fn advice(self) -> &'static str {
        match self {
            Self::Unfit => "mend that file of the skill",
            Self::LockStale => {
                "make the lock anew beside it, by `uv lock` or `npm install --package-lock-only`"
            }
            Self::PackageUnknown => {
                "look whether its name is right, and whether the configured index has it"
            }
            Self::NothingBuilt => {
                "wish for a version that the index has built for this machine: nothing of a package is built here"
            }
            Self::Conflict => {
                "change the versions that are wanted, so that they can be had together"
            }
            Self::DigestMismatch => {
                "make the lock anew if the package was meant to change; else don't trust the index"
            }
            Self::Interpreter => "install such an interpreter, or change what the skill wishes for",
            Self::TooLarge => {
                "a person can raise `disk_mib` below `[dependencies]` in the settings, or have fewer packages be wanted"
            }
            Self::IndexUnreachable => {
                "try again when the index answers; a person can see and set which it is: `gongfu doctor`, `index` and `registry` below `[dependencies]` in the settings"
            }
            Self::TooSlow => {
                "try again when the index answers faster; a person can raise `seconds` below `[dependencies]` in the settings"
            }
            Self::ToolMissing => {
                "a person can get it by `gongfu init`, or put it into the search path"
            }
            Self::Sandbox => "a person can see what this machine lacks: gongfu doctor",
            Self::Other => "a person can see more by `gongfu env build`",
        }
    }
}

/// Why an environment couldn't be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Failure {
    /// What kind of thing went wrong.
    pub kind: Kind,
    /// What, for people.
    pub why: String,
    /// The package that it is about, where that is told.
    pub package: Option<String>,
}

impl Failure {
    /// One of a kind.
    pub fn new(kind: Kind, why: impl Into<String>) -> Self {
        Self {
            kind,
            why: why.into(),
            package: None,
        }
    }

    /// What an installer means by what it said.
    pub fn of(language: Language, said: &str) -> Self {
        let (kind, package) = match language {
            Language::Python => python(said),
            Language::Node => node(said),
        };
        Self {
            kind,
            why: essence(language, said),
            package,
        }
    }
}

impl From<super::Unfit> for Failure {
    fn from(unfit: super::Unfit) -> Self {
        Self::new(Kind::Unfit, unfit.to_string())
    }
}

/// What `uv` means.
fn python(said: &str) -> (Kind, Option<String>) {
    let has = |words: &str| said.contains(words);
    let word_before = |marker: &str| {
        let before = said.split_once(marker)?.0;
        let word = before.rsplit(|c: char| c.is_whitespace()).next()?;
        let name = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let name = name.split(['=', '<', '>', '!', '~', '[']).next()?;
        (!name.is_empty()).then(|| name.to_owned())
    };
    if has("No space left") {
        return (Kind::TooLarge, None);
    }
    // A lock is looked at without a network: what it lacks can't be resolved.
    if has("but `--locked` was provided") || has("the network was disabled") {
        return (Kind::LockStale, None);
    }
    for marker in [
        " was not found in the package registry",
        " was not found in the provided package locations",
    ] {
        if has(marker) {
            return (Kind::PackageUnknown, word_before(marker));
        }
    }
    for marker in [" has no usable wheels", " has no wheels with a matching"] {
        if has(marker) {
            return (Kind::NothingBuilt, word_before(marker));
        }
    }
    if has("building from source is disabled")
        || has("no compatible wheel")
        || has("marked as `--no-build`")
    {
        return (Kind::NothingBuilt, None);
    }
    if has("Hash mismatch") {
        return (Kind::DigestMismatch, None);
    }
    if has("No interpreter found") || has("does not satisfy Python") {
        return (Kind::Interpreter, None);
    }
    if [
        "Failed to fetch",
        "error sending request",
        "Failed to download",
        "timed out",
        "Connection refused",
        "tunnel",
    ]
    .iter()
    .any(|words| has(words))
    {
        return (Kind::IndexUnreachable, None);
    }
    if has("No solution found")
        || has("requirements are unsatisfiable")
        || has("required, but missing a hash")
    {
        return (Kind::Conflict, None);
    }
    (Kind::Other, None)
}

/// What `npm` means: its errors have codes.
fn node(said: &str) -> (Kind, Option<String>) {
    let has = |words: &str| said.contains(words);
    let code = said
        .lines()
        .find_map(|line| {
            line.split_once("npm error code ")
                .or_else(|| line.split_once("npm ERR! code "))
        })
        .map(|(_, code)| code.trim());
    let kind = match code {
        Some("E404") => Kind::PackageUnknown,
        Some("ETARGET" | "ERESOLVE" | "ENOVERSIONS") => Kind::Conflict,
        Some("EINTEGRITY") => Kind::DigestMismatch,
        Some("EUSAGE") if has("in sync") => Kind::LockStale,
        Some("EBADENGINE") => Kind::Interpreter,
        Some("EBADPLATFORM") => Kind::NothingBuilt,
        Some("ENOSPC") => Kind::TooLarge,
        Some(
            "ENOTFOUND"
            | "ECONNREFUSED"
            | "ECONNRESET"
            | "ETIMEDOUT"
            | "EAI_AGAIN"
            | "ERR_SOCKET_TIMEOUT"
            | "E403"
            | "E500"
            | "E502"
            | "E503"
            | "E504"
            | "SELF_SIGNED_CERT_IN_CHAIN"
            | "FETCH_ERROR",
        ) => Kind::IndexUnreachable,
        _ if has("network") || has("tunneling socket") || has("Proxy response") => {
            Kind::IndexUnreachable
        }
        _ => Kind::Other,
    };
    let package = has("404").then(|| between_quotes(said)).flatten();
    (kind, package)
}

fn between_quotes(said: &str) -> Option<String> {
    let line = said
        .lines()
        .find(|line| line.contains("404") && line.contains('\''))?;
    let name = line.split('\'').nth(1)?;
    let name = name
        .rsplit_once('@')
        .filter(|(name, _)| !name.is_empty())
        .map_or(name, |(name, _)| name);
    Some(name.to_owned())
}

/// What of it a person has to read: the error, and not what went well before.
fn essence(language: Language, said: &str) -> String {
    let all: Vec<&str> = said
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let mut lines: Vec<&str> = match language {
        Language::Python => {
            let from = all
                .iter()
                .position(|line| line.starts_with("error:") || line.starts_with('×'));
            all.get(from.unwrap_or_default()..)
                .unwrap_or_default()
                .to_vec()
        }
        Language::Node => all
            .iter()
            .filter(|line| line.starts_with("npm error") || line.starts_with("npm ERR!"))
            .filter(|line| !line.contains("A complete log of this run"))
            .map(|line| {
                line.trim_start_matches("npm error")
                    .trim_start_matches("npm ERR!")
                    .trim()
            })
            .filter(|line| !line.is_empty())
            .collect(),
    };
    if lines.is_empty() {
        // Whatever it is, it was said in the end.
        let from = all.len().saturating_sub(LAST);
        lines = all.get(from..).unwrap_or_default().to_vec();
    }
    let text = lines.join("; ");
    let text = text.trim_start_matches("error: ");
    if text.is_empty() {
        return "the installer says nothing about why".to_owned();
    }
    crate::text::clipped(text, REPEATED, char::REPLACEMENT_CHARACTER)
}
