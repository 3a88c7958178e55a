//! The forges whose pages have a repository behind them: GitHub, GitLab, Bitbucket, Gitea and Azure.

use gongfu_core::skill::SkillPath;
use url::Url;

use super::{GitSource, Source, WebSource, invalid};
use crate::error::ImportError;

/// The kind of a repository in the locks of `npx skills`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitKind {
    /// On GitHub.
    Github,
    /// On GitLab, or a server of that kind.
    Gitlab,
    /// Anywhere else.
    Git,
}

impl GitKind {
    /// The word of the locks.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Github => "github",
            Self::Gitlab => "gitlab",
            Self::Git => "git",
        }
    }
}

const GITHUB: &str = "github.com";
const GITLAB: &str = "gitlab.com";
/// The hosts of GitHub that serve files.
const FILES_OF_GITHUB: [&str; 3] = [
    "raw.githubusercontent.com",
    "codeload.github.com",
    "objects.githubusercontent.com",
];

/// A source by words: `OWNER/REPO`, with `/FOLDER` or `@SKILL`, and with `github:` or `gitlab:` before it.
pub(super) fn of_words(text: &str) -> Result<Option<Source>, ImportError> {
    if let Some(path) = text.strip_prefix("gitlab:") {
        return repository(path, GITLAB, GitKind::Gitlab).map(Some);
    }
    if let Some(path) = text.strip_prefix("github:") {
        return of_words(path);
    }
    if text.contains(':') || !text.contains('/') || text.starts_with(['-', '.']) {
        return Ok(None);
    }
    let (path, skill) = match text.split_once('@') {
        Some((path, skill)) => (path, Some(skill.to_owned())),
        None => (text, None),
    };
    let mut parts = path.trim_end_matches('/').splitn(3, '/');
    let (Some(owner), Some(name)) = (parts.next(), parts.next()) else {
        return Ok(None);
    };
    let folder = parts.next().map(folder).transpose()?;
    Ok(Some(Source::Git(GitSource {
        url: address("https", GITHUB, &format!("{owner}/{name}"))?,
        kind: GitKind::Github,
        reference: None,
        folder,
        skill: skill.filter(|skill| !skill.is_empty()),
    })))
}

/// A repository where a page of a known forge leads, else a site.
pub(super) fn of_url(url: &Url, text: &str) -> Result<Source, ImportError> {
    let site = |is_file| {
        let (url, text) = (url.clone(), text.to_owned());
        Source::Web(WebSource { url, text, is_file })
    };
    let host = url.host_str().unwrap_or_default();
    let parts: Vec<&str> = url
        .path()
        .split('/')
        .filter(|part| !part.is_empty())
        .collect();
    if is_file(host, &parts) {
        return Ok(site(true));
    }
    // `/tree/` and `/blob/` of GitHub, `/-/tree/` of GitLab, `/src/` of Bitbucket, `/src/branch/` of Gitea.
    let page = |marker: &[&str]| {
        let found = parts
            .windows(marker.len())
            .position(|found| found == marker);
        found.map(|at| (at, at + marker.len()))
    };
    let root = authority(url);
    let (kind, found) = match host {
        GITHUB => (GitKind::Github, page(&["tree"]).or_else(|| page(&["blob"]))),
        _ => match page(&["-", "tree"]).or_else(|| page(&["-", "blob"])) {
            Some(found) => (GitKind::Gitlab, Some(found)),
            None if host == GITLAB => (GitKind::Gitlab, None),
            None if host == "bitbucket.org" => (GitKind::Git, page(&["src"])),
            None => {
                let gitea = ["branch", "tag", "commit"];
                let found = gitea.iter().find_map(|kind| page(&["src", kind]));
                (GitKind::Git, found)
            }
        },
    };
    if let Some(azure) = azure(url, &parts)? {
        return Ok(Source::Git(azure));
    }
    if let Some((end, start)) = found.filter(|(end, _)| *end >= 2) {
        let path = parts.get(..end).unwrap_or_default().join("/");
        let mut below = parts.get(start..).unwrap_or_default().to_vec();
        // A page of the document stands for its folder.
        if below.len() > 1
            && below
                .last()
                .is_some_and(|last| last.eq_ignore_ascii_case("SKILL.md"))
        {
            below.pop();
        }
        let reference = below.first().map(|word| decoded(word)).transpose()?;
        let below = below.get(1..).unwrap_or_default().join("/");
        return Ok(Source::Git(GitSource {
            url: address(url.scheme(), &root, &path)?,
            kind,
            reference,
            folder: (!below.is_empty()).then(|| folder(&below)).transpose()?,
            skill: None,
        }));
    }
    let is_forge = matches!(host, GITHUB | GITLAB | "bitbucket.org");
    if is_forge && parts.len() >= 2 {
        let length = if host == GITLAB { parts.len() } else { 2 };
        let path = parts.get(..length).unwrap_or_default().join("/");
        return repository(&path, &root, kind);
    }
    if url.path().strip_suffix(".git").is_some() {
        let mut address = url.clone();
        address.set_fragment(None);
        return Ok(Source::Git(GitSource::other(address.into())));
    }
    if is_forge {
        let page = super::shown(url.as_str());
        return Err(invalid(format!("{page} is not a page of a repository")));
    }
    Ok(site(false))
}

/// Returns true for a file that a forge serves, such as an archive of a release.
fn is_file(host: &str, parts: &[&str]) -> bool {
    let third = parts.get(2).copied().unwrap_or_default();
    match host {
        GITHUB => matches!(third, "archive" | "raw" | "releases"),
        GITLAB => {
            let mut pairs = parts.windows(2);
            pairs.any(|pair| matches!(pair, ["-", "archive" | "raw"]))
        }
        _ => FILES_OF_GITHUB.contains(&host),
    }
}

/// A repository of Azure: `…/_git/REPO`, the folder and the branch in the query.
fn azure(url: &Url, parts: &[&str]) -> Result<Option<GitSource>, ImportError> {
    let Some(at) = parts.iter().position(|part| *part == "_git") else {
        return Ok(None);
    };
    let Some(name) = parts.get(at + 1) else {
        return Ok(None);
    };
    let mut path = parts.get(..=at).unwrap_or_default().to_vec();
    path.push(name.trim_end_matches(".git"));
    let query = |key: &str| {
        let mut pairs = url.query_pairs();
        pairs
            .find(|(name, _)| name == key)
            .map(|(_, value)| value.into_owned())
    };
    let version = query("version").and_then(|version| {
        let kind = version.get(..2)?.to_ascii_uppercase();
        let named = matches!(kind.as_str(), "GB" | "GT");
        named.then(|| version.get(2..).unwrap_or_default().to_owned())
    });
    let below = query("path").map(|path| folder(path.trim_start_matches('/')));
    Ok(Some(GitSource {
        url: format!("{}://{}/{}", url.scheme(), authority(url), path.join("/")),
        kind: GitKind::Git,
        reference: version.filter(|version| !version.is_empty()),
        folder: below.transpose()?.filter(|folder| !folder.is_root()),
        skill: None,
    }))
}

fn repository(path: &str, root: &str, kind: GitKind) -> Result<Source, ImportError> {
    Ok(Source::Git(GitSource {
        url: address("https", root, path)?,
        kind,
        reference: None,
        folder: None,
        skill: None,
    }))
}

/// The address of a repository on a forge.
fn address(scheme: &str, root: &str, path: &str) -> Result<String, ImportError> {
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let is_name = |part: &str| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-~+%".contains(&byte);
        !part.starts_with('-') && !matches!(part, "" | "." | "..") && part.bytes().all(is_plain)
    };
    if !path.contains('/') || !path.split('/').all(is_name) {
        return Err(invalid(format!("`{path}` is not a repository")));
    }
    Ok(format!("{scheme}://{root}/{path}.git"))
}

/// The host of a URL, with its port.
fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

fn folder(text: &str) -> Result<SkillPath, ImportError> {
    let text = decoded(text)?;
    SkillPath::new(&text).map_err(|why| invalid(format!("`{text}` is not a folder: {why}")))
}

/// A part of a URL without its percent signs.
fn decoded(text: &str) -> Result<String, ImportError> {
    let bytes = percent_encoding::percent_decode_str(text);
    let text = bytes.decode_utf8();
    let text = text.map_err(|_| invalid("the URL has bytes that are not UTF-8"))?;
    Ok(text.into_owned())
}
