//! Sources of skills, as the locks and manifests of other programs write them.

use std::path::{Path, PathBuf};

use gongfu_core::port::Timestamp;
use gongfu_core::skill::SkillPath;
use serde_json::Value;
use url::Url;

use super::reading::member;
use crate::lock::npx::NpxEntry;
use crate::lock::own::{LockedSkill, SourceKind};
use crate::source::Source;

/// The source of a skill, and who says so.
#[derive(Debug, Clone, Default)]
pub struct KnownOrigin {
    /// The file or program that says so.
    pub by: &'static str,
    /// The source, as gongfu's lock has it.
    pub source: String,
    /// Its kind.
    pub kind: SourceKind,
    /// The branch or tag.
    pub reference: Option<String>,
    /// The commit.
    pub commit: Option<String>,
    /// The id of the folder's tree in git.
    pub tree: Option<String>,
    /// The version.
    pub version: Option<String>,
    /// The digest of what was downloaded.
    pub artifact: Option<String>,
    /// The folder of the skill in its source.
    pub path: Option<SkillPath>,
    /// The time of its installation or last update, where it is known.
    pub time: Option<i64>,
    /// The digest of what was installed, where one is known.
    pub(super) hash: InstalledHash,
}

/// A digest of what was installed.
#[derive(Debug, Clone, Default)]
pub(super) enum InstalledHash {
    /// None that can be made again.
    #[default]
    Unknown,
    /// That of `npx skills`.
    Npx(String),
    /// The id of a tree in git.
    Tree(String),
}

impl KnownOrigin {
    /// An origin that says no more than its source.
    pub(super) fn of(by: &'static str, source: String, kind: SourceKind) -> Self {
        Self {
            by,
            source,
            kind,
            ..Self::default()
        }
    }

    /// A git repository by an address, or by words such as `OWNER/REPO`.
    pub(super) fn git(by: &'static str, text: &str) -> Self {
        let text = without_login(text);
        match Source::parse(&text, Path::new("/"), None) {
            Ok(Source::Git(git)) => Self {
                reference: git.reference,
                path: git.folder,
                ..Self::of(by, git.url, SourceKind::Git)
            },
            Ok(Source::Local(path)) => {
                let path = path.to_string_lossy().into_owned();
                Self::of(by, path, SourceKind::Folder)
            }
            _ => Self::of(by, text, SourceKind::Git),
        }
    }

    /// A package of npm.
    pub(super) fn npm(by: &'static str, name: &str, version: Option<String>) -> Self {
        Self {
            version,
            ..Self::of(by, format!("npm:{name}"), SourceKind::Npm)
        }
    }

    /// gongfu's own entry.
    pub(super) fn locked(entry: &LockedSkill) -> Self {
        Self {
            by: "gongfu.lock",
            source: entry.source.clone(),
            kind: entry.kind,
            reference: entry.reference.clone(),
            commit: entry.commit.clone(),
            tree: entry.tree.clone(),
            version: entry.version.clone(),
            artifact: entry.artifact.clone(),
            path: entry.path.clone(),
            time: None,
            hash: InstalledHash::Unknown,
        }
    }

    /// An entry of a lock of `npx skills`. `raw` has the members that only some versions of it write.
    pub(super) fn npx(by: &'static str, entry: &NpxEntry, raw: &Value) -> Self {
        let address = entry.source_url.as_deref().unwrap_or(&entry.source);
        let mut origin = match entry.source_type.as_str() {
            "local" => Self::of(by, address.to_owned(), SourceKind::Folder),
            "well-known" => {
                let site = entry.base_url.as_deref().unwrap_or(address);
                Self::of(by, without_login(site), SourceKind::WellKnown)
            }
            "node_modules" => {
                let name = entry.source.strip_prefix("npm:").unwrap_or(&entry.source);
                Self::npm(by, name, member(raw, "version"))
            }
            _ => Self::git(by, address),
        };
        let reference = member(raw, "pinnedRef").or(entry.reference.clone());
        origin.reference = reference.or(origin.reference);
        origin.path = match &entry.skill_path {
            Some(document) => SkillPath::new(document).ok().map(|path| path.parent()),
            None => origin.path,
        };
        origin.path = origin.path.filter(|path| !path.is_root());
        origin.time = moment(raw, &["updatedAt", "installedAt"]);
        let is_hex = entry.hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        origin.hash = match entry.hash.len() {
            40 if is_hex => {
                origin.tree = Some(entry.hash.clone());
                InstalledHash::Tree(entry.hash.clone())
            }
            64 if is_hex => InstalledHash::Npx(entry.hash.clone()),
            _ => InstalledHash::Unknown,
        };
        origin
    }

    /// The keys that `gh skill` writes into a document.
    pub(super) fn gh(metadata: &Value) -> Option<Self> {
        let by = "gh skill";
        if let Some(folder) = member(metadata, "local-path") {
            return Some(Self::of(by, folder, SourceKind::Folder));
        }
        let repository = member(metadata, "github-repo")?;
        let path = member(metadata, "github-path");
        let path = path.and_then(|path| SkillPath::new(&path).ok());
        let pinned = member(metadata, "github-pinned");
        Some(Self {
            reference: pinned.or(member(metadata, "github-ref")),
            // The document was written anew, so that the tree can't be compared.
            tree: member(metadata, "github-tree-sha"),
            path: path.map(folder_of).filter(|path| !path.is_root()),
            ..Self::git(by, &repository)
        })
    }

    /// The source of a plugin or a marketplace, as manifests write it. `base` is what a relative folder is below.
    pub(super) fn manifest(by: &'static str, source: &Value, base: Option<&Self>) -> Option<Self> {
        if let Some(path) = source.as_str() {
            let below = SkillPath::new(path).ok()?;
            let base = base?;
            let path = match &base.path {
                Some(above) => above.join(below.as_str()).ok()?,
                None => below,
            };
            let mut origin = base.clone();
            origin.path = Some(path).filter(|path| !path.is_root());
            return Some(origin);
        }
        let version = member(source, "version");
        let mut origin = match member(source, "source")?.as_str() {
            "npm" => Self::npm(by, &member(source, "package")?, version),
            "directory" | "file" | "local" => {
                let path = member(source, "path")?;
                if path.starts_with("./") && base.is_some() {
                    return Self::manifest(by, &Value::from(path), base);
                }
                return Some(Self::of(by, path, SourceKind::Folder));
            }
            _ => Self::git(by, &member(source, "repo").or(member(source, "url"))?),
        };
        origin.reference = member(source, "ref").or(origin.reference);
        origin.commit = member(source, "sha");
        let path = member(source, "path").and_then(|path| SkillPath::new(&path).ok());
        origin.path = path.or(origin.path);
        Some(origin)
    }

    /// One line for people: the source, and what is known of its version.
    pub fn text(&self) -> String {
        let commit = self.commit.as_deref().map(|commit| {
            let short: String = commit.chars().take(7).collect();
            short
        });
        let version = self.version.clone().or(self.reference.clone()).or(commit);
        match version {
            Some(version) => format!("{}@{version}", self.source),
            None => self.source.clone(),
        }
    }

    /// The entry of a copy in gongfu's lock.
    pub(crate) fn locked_skill(&self) -> LockedSkill {
        LockedSkill {
            source: self.source.clone(),
            kind: self.kind,
            reference: self.reference.clone(),
            commit: self.commit.clone(),
            tree: self.tree.clone(),
            version: self.version.clone(),
            artifact: self.artifact.clone(),
            path: self.path.clone(),
            ..LockedSkill::default()
        }
    }
}

/// The folder of a document, or the folder itself.
fn folder_of(path: SkillPath) -> SkillPath {
    let is_document = path.file_name().eq_ignore_ascii_case("SKILL.md");
    if is_document { path.parent() } else { path }
}

/// The first of some members that is a moment, in milliseconds.
pub(super) fn moment(value: &Value, keys: &[&str]) -> Option<i64> {
    keys.iter().find_map(|key| {
        let member = value.get(key)?;
        let text = member.as_str().and_then(Timestamp::parse);
        text.map(|moment| moment.0).or_else(|| member.as_i64())
    })
}

/// An address without the name and password of a person, which no lock should have.
pub(super) fn without_login(address: &str) -> String {
    let Ok(mut url) = Url::parse(address) else {
        return address.to_owned();
    };
    if !matches!(url.scheme(), "http" | "https")
        || url.username().is_empty() && url.password().is_none()
    {
        return address.to_owned();
    }
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.to_string()
}

/// A folder of a source, as a path of this machine.
pub(super) fn folder_below(base: &Path, path: &str) -> Option<PathBuf> {
    let below = SkillPath::new(path).ok()?;
    Some(base.join(below.as_str()).components().collect())
}
