//! A source as a person types it, and what it means.
//!
//! Follows the forms of `npx skills`, so that a command copied from a README means the same here. Opens nothing.

mod forge;
mod git_ref;

use std::path::{Path, PathBuf};

use gongfu_core::skill::SkillPath;
use url::{Host, Url};

use crate::error::{ImportCode, ImportError};

pub use forge::GitKind;
pub use git_ref::is_ref;

/// The forms of a source, for the hint of an error.
const FORMS: &str =
    "write OWNER/REPO, a URL, npm:PACKAGE, or the path of a folder, an archive or a SKILL.md";

/// The place that skills are taken from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A git repository.
    Git(GitSource),
    /// A folder, an archive or a SKILL.md on this machine.
    Local(PathBuf),
    /// A site with an index of skills, an archive or a SKILL.md on the web.
    Web(WebSource),
    /// A package of npm, and its version, range or tag.
    Npm(String, Option<String>),
}

/// A git repository, or a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitSource {
    /// The address that git is given.
    pub url: String,
    /// The kind of its forge, as the locks of `npx skills` name it.
    pub kind: GitKind,
    /// The branch, tag or commit; the default branch without one.
    pub reference: Option<String>,
    /// The folder that is searched for skills.
    pub folder: Option<SkillPath>,
    /// The one skill that is meant.
    pub skill: Option<String>,
}

/// An address on the web.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebSource {
    /// The address.
    pub url: Url,
    /// The address as it was typed, which is what locks have.
    pub text: String,
    /// True for a file of a forge, so that no index is looked for.
    pub is_file: bool,
}

impl Source {
    /// Reads what a person typed; a relative path is below `current`, one that starts with `~/` below `home`.
    ///
    /// # Errors
    /// It is no source, or one that must not be used: an address with a password, one that isn't encrypted, or a
    /// transport that starts programs.
    pub fn parse(text: &str, current: &Path, home: Option<&Path>) -> Result<Self, ImportError> {
        let text = text.trim();
        if text.is_empty() || text.chars().any(char::is_control) {
            return Err(invalid("the source is empty, or has control characters"));
        }
        if let Some(path) = local(text, current, home) {
            return Ok(Self::Local(path));
        }
        if let Some(package) = text.strip_prefix("npm:") {
            return npm(package);
        }
        let (address, fragment) = git_ref::split(text);
        let source = if let Some(url) = web(address)? {
            forge::of_url(&url, address)?
        } else if let Some(source) = forge::of_words(address)? {
            source
        } else if address.contains(':') {
            Self::Git(GitSource::other(git_address(address)?))
        } else {
            return Err(invalid(format!(
                "`{}` is not a source of skills",
                shown(text)
            )));
        };
        match (source, fragment) {
            (Self::Git(source), Some(fragment)) => source.with(fragment).map(Self::Git),
            (source, _) => Ok(source),
        }
    }
}

impl GitSource {
    /// A whole repository on a server that isn't known.
    fn other(url: String) -> Self {
        Self {
            url,
            kind: GitKind::Git,
            reference: None,
            folder: None,
            skill: None,
        }
    }

    fn with(self, fragment: git_ref::Fragment) -> Result<Self, ImportError> {
        let reference = self.reference.or(fragment.reference);
        if let Some(reference) = reference.as_deref().filter(|name| !is_ref(name)) {
            return Err(invalid(format!(
                "`{reference}` can't be a branch, a tag or a commit"
            )));
        }
        Ok(Self {
            reference,
            skill: fragment.skill.or(self.skill),
            ..self
        })
    }
}

/// The path of a source on this machine.
fn local(text: &str, current: &Path, home: Option<&Path>) -> Option<PathBuf> {
    if let (Some(below), Some(home)) = (text.strip_prefix("~/"), home) {
        return Some(home.join(below));
    }
    let is_path = Path::new(text).is_absolute()
        || matches!(text, "." | "..")
        || text.starts_with("./")
        || text.starts_with("../");
    let ending = text
        .rsplit_once('.')
        .map(|(_, ending)| ending.to_ascii_lowercase());
    let is_file = !text.contains(':')
        && matches!(ending.as_deref(), Some("zip" | "skill" | "tar" | "tgz"))
        || !text.contains(':') && text.ends_with(".tar.gz");
    let joined = current.join(text);
    (is_path || is_file).then(|| joined.components().collect())
}

fn npm(package: &str) -> Result<Source, ImportError> {
    let at = package.get(1..).and_then(|rest| rest.find('@'));
    let (name, version) = match at {
        Some(at) => package.split_at(at + 1),
        None => (package, ""),
    };
    let version = version.strip_prefix('@');
    let is_word = |word: &str| {
        !word.is_empty()
            && !word.starts_with(['.', '-', '_'])
            && word
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"._-~".contains(&byte))
    };
    let is_name = match name.strip_prefix('@') {
        Some(scoped) => scoped
            .split_once('/')
            .is_some_and(|(scope, name)| is_word(scope) && is_word(name)),
        None => is_word(name),
    };
    let is_version = version.is_none_or(|version| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-+^~".contains(&byte);
        !version.is_empty() && !version.starts_with(['-', '.']) && version.bytes().all(is_plain)
    });
    if !is_name || !is_version {
        let message = format!("`{package}` is not a package of npm");
        let hint = "write npm:NAME, npm:@SCOPE/NAME or npm:NAME@VERSION";
        return Err(ImportError::new(ImportCode::SourceInvalid, message, hint));
    }
    Ok(Source::Npm(name.to_owned(), version.map(str::to_owned)))
}

/// The address of a page, where the text is one.
fn web(text: &str) -> Result<Option<Url>, ImportError> {
    if !text.starts_with("http://") && !text.starts_with("https://") {
        return Ok(None);
    }
    let url = Url::parse(text);
    let url = url.map_err(|why| invalid(format!("`{}` is not a URL: {why}", shown(text))))?;
    check_address(&url)?;
    Ok(Some(url))
}

/// Refuses an address with a password, or one that everybody on the way can read and change.
fn check_address(url: &Url) -> Result<(), ImportError> {
    let is_web = matches!(url.scheme(), "http" | "https");
    if url.password().is_some() || is_web && !url.username().is_empty() {
        let hint = "remove it from the URL: git asks your credential helper, as in a clone";
        let message = "the URL has a password or token, which would be written into the lock";
        return Err(ImportError::new(ImportCode::SourceInvalid, message, hint));
    }
    if url.scheme() == "http" && !is_loopback(url) {
        let hint = "use https, or ssh";
        let place = shown(url.as_str());
        let message = format!("{place} isn't encrypted: others on the way could change the skills");
        return Err(ImportError::new(ImportCode::SourceInvalid, message, hint));
    }
    Ok(())
}

/// A source for messages: without the query of an address, which may be a secret such as a signature.
pub fn shown(source: &str) -> &str {
    match source.split_once('?') {
        Some((address, _)) if address.contains(':') => address,
        _ => source,
    }
}

/// Returns true if an address is of this machine.
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// An address for git that is no page: `ssh://`, `file://`, or `USER@HOST:PATH`.
fn git_address(text: &str) -> Result<String, ImportError> {
    let refused = |why: &str| {
        let hint = "use https://, ssh://, file:// or USER@HOST:PATH";
        Err(ImportError::new(ImportCode::SourceInvalid, why, hint))
    };
    if text.contains("::") && !text.contains('[') {
        return refused("transports of git that start a program aren't used");
    }
    if let Some((scheme, _)) = text.split_once("://") {
        let Ok(url) = Url::parse(text) else {
            return refused(&format!("`{}` is not a URL", shown(text)));
        };
        check_address(&url)?;
        let host = url.host_str().unwrap_or_default();
        let is_known = match scheme {
            "ssh" => !host.is_empty() && !host.starts_with('-') && !url.username().starts_with('-'),
            "file" => host.is_empty(),
            _ => false,
        };
        if !is_known {
            return refused(&format!(
                "`{}` has a transport that isn't used",
                shown(text)
            ));
        }
        return Ok(text.to_owned());
    }
    let Some((host, path)) = text.split_once(':') else {
        return refused(&format!(
            "`{}` is not the address of a repository",
            shown(text)
        ));
    };
    let name = host.rsplit_once('@').map_or(host, |(_, name)| name);
    if !host.contains('@')
        || host.starts_with('-')
        || name.starts_with('-')
        || path.starts_with('-')
    {
        return refused(&format!(
            "`{}` is not the address of a repository",
            shown(text)
        ));
    }
    Ok(text.to_owned())
}

fn invalid(message: impl Into<String>) -> ImportError {
    ImportError::new(ImportCode::SourceInvalid, message, FORMS)
}

#[cfg(test)]
mod tests;
