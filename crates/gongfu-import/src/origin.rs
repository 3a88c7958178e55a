//! The origin of the skills of one import, and the entries of the locks that say so.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use gongfu_core::skill::SkillPath;
use url::Url;

use crate::candidate::StagedSkill;
use crate::lock::npx::{NpxEntry, NpxLock};
use crate::lock::own::{LockedSkill, SourceKind};
use crate::source::{GitKind, GitSource, WebSource};

/// The source of an import, once it was fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The source, as it is written into gongfu's lock.
    pub source: String,
    /// Its kind.
    pub kind: SourceKind,
    /// The branch, tag or version that a person named.
    pub reference: Option<String>,
    /// The commit.
    pub commit: Option<String>,
    /// The ids of the trees in git, by folder.
    pub trees: BTreeMap<SkillPath, String>,
    /// The version of a package.
    pub version: Option<String>,
    /// The digest of what was downloaded.
    pub artifact: Option<String>,
    /// The source as the locks of `npx skills` have it; none for one that they don't know.
    pub npx: Option<NpxOrigin>,
}

/// A source as `npx skills` writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NpxOrigin {
    /// A git repository: its kind and address.
    Git(GitKind, String),
    /// A folder.
    Local(PathBuf),
    /// A site with an index, and the digests of its skills.
    WellKnown(WebSource, BTreeMap<String, WellKnownSkill>),
}

/// A skill of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WellKnownSkill {
    /// The address of its document or archive.
    pub url: String,
    /// Its digest, as `npx skills` makes it.
    pub digest: String,
}

impl Origin {
    /// A git repository at a commit.
    pub fn git(source: &GitSource, commit: String, trees: BTreeMap<SkillPath, String>) -> Self {
        Self {
            source: source.url.clone(),
            kind: SourceKind::Git,
            reference: source.reference.clone(),
            commit: Some(commit),
            trees,
            version: None,
            artifact: None,
            npx: Some(NpxOrigin::Git(source.kind, source.url.clone())),
        }
    }

    /// A folder of this machine, as the lock of a project or a home has it.
    pub fn folder(path: &Path, base: &Path) -> Self {
        let shown = portable(path, base);
        Self {
            npx: Some(NpxOrigin::Local(path.to_owned())),
            ..Self::plain(shown, SourceKind::Folder)
        }
    }

    /// A source that only gongfu's lock knows.
    pub fn plain(source: String, kind: SourceKind) -> Self {
        Self {
            source,
            kind,
            reference: None,
            commit: None,
            trees: BTreeMap::new(),
            version: None,
            artifact: None,
            npx: None,
        }
    }

    /// The entry of a skill in gongfu's lock.
    pub fn locked(&self, skill: &StagedSkill) -> LockedSkill {
        let folder = &skill.found.folder;
        LockedSkill {
            name: (skill.found.name != skill.folder).then(|| skill.found.name.clone()),
            source: self.source.clone(),
            kind: self.kind,
            reference: self.reference.clone(),
            commit: self.commit.clone(),
            tree: self.trees.get(folder).cloned(),
            version: self.version.clone(),
            artifact: self.artifact.clone(),
            path: (!folder.is_root()).then(|| folder.clone()),
            digest: Some(skill.digest),
            files: skill.files.clone(),
            findings: skill.findings.clone(),
            ..LockedSkill::default()
        }
    }

    /// The entry of a skill in a lock of `npx skills`; none where that program makes none, or doesn't find the skill: it
    /// would say that the skill was deleted, and offer to remove it.
    pub fn npx_entry(&self, lock: NpxLock, skill: &StagedSkill, base: &Path) -> Option<NpxEntry> {
        if !skill.found.is_found_elsewhere() {
            return None;
        }
        let hash = skill.computed_hash.clone();
        let entry = match self.npx.as_ref()? {
            NpxOrigin::Git(kind, url) => {
                let words = owner_and_name(url);
                // That program locks no repository for a person whose address has no owner.
                if lock == NpxLock::User && words.is_none() {
                    return None;
                }
                let source = match kind {
                    GitKind::Github => words,
                    _ => None,
                };
                let tree = self.trees.get(&skill.found.folder);
                let is_url_known = lock == NpxLock::Project && *kind == GitKind::Github;
                NpxEntry {
                    source: source.unwrap_or_else(|| url.clone()),
                    source_type: kind.as_str().to_owned(),
                    source_url: (!is_url_known).then(|| url.clone()),
                    reference: self.reference.clone(),
                    skill_path: Some(skill.found.document_path()),
                    hash: match (lock, kind, tree) {
                        (NpxLock::User, GitKind::Github, Some(tree)) => tree.clone(),
                        _ => hash,
                    },
                    plugin: skill.found.plugin.clone(),
                    ..NpxEntry::default()
                }
            }
            NpxOrigin::Local(path) => {
                let absolute = path.to_string_lossy().into_owned();
                let is_project = lock == NpxLock::Project;
                NpxEntry {
                    source: if is_project {
                        portable(path, base)
                    } else {
                        absolute.clone()
                    },
                    source_type: "local".to_owned(),
                    source_url: (!is_project).then_some(absolute),
                    hash,
                    plugin: skill.found.plugin.clone(),
                    ..NpxEntry::default()
                }
            }
            NpxOrigin::WellKnown(site, skills) => {
                let known = skills.get(&skill.found.name)?;
                let host = site.url.host_str().unwrap_or_default();
                let is_project = lock == NpxLock::Project;
                NpxEntry {
                    source: host.strip_prefix("www.").unwrap_or(host).to_owned(),
                    source_type: "well-known".to_owned(),
                    source_url: Some(if is_project { &site.text } else { &known.url }.clone()),
                    hash: if is_project { hash } else { String::new() },
                    base_url: (!is_project).then(|| site.text.clone()),
                    well_known_digest: Some(known.digest.clone()),
                    ..NpxEntry::default()
                }
            }
        };
        Some(entry)
    }
}

/// `OWNER/NAME` of a repository's address, also with folders between the two.
fn owner_and_name(address: &str) -> Option<String> {
    let path = match Url::parse(address) {
        Ok(url) if matches!(url.scheme(), "http" | "https" | "ssh") => {
            url.path().get(1..)?.to_owned()
        }
        Ok(_) => return None,
        Err(_) => address.split_once(':')?.1.to_owned(),
    };
    let path = path.strip_suffix(".git").unwrap_or(&path);
    path.contains('/').then(|| path.to_owned())
}

/// A folder as a lock has it, relative to the folder of the lock.
pub fn portable(path: &Path, base: &Path) -> String {
    let relative = relative(base, path);
    let text = relative.to_string_lossy();
    if text.is_empty() {
        ".".to_owned()
    } else if text.starts_with("..") {
        text.into_owned()
    } else {
        format!("./{text}")
    }
}

/// The way from one absolute folder to another.
pub(crate) fn relative(from: &Path, to: &Path) -> PathBuf {
    let (from, to): (Vec<Component<'_>>, Vec<Component<'_>>) =
        (from.components().collect(), to.components().collect());
    let common = from
        .iter()
        .zip(&to)
        .take_while(|(left, right)| left == right)
        .count();
    let up = from.iter().skip(common).map(|_| Component::ParentDir);
    up.chain(to.iter().skip(common).copied()).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{owner_and_name, portable};

    #[test]
    fn repositories_and_folders_are_named_as_by_the_other_installer() {
        for (address, expected) in [
            ("https://github.com/o/r.git", Some("o/r")),
            ("git@host:g/s/r.git", Some("g/s/r")),
            ("ssh://git@host/o/r.git", Some("o/r")),
            ("http://127.0.0.1:80/r.git", None),
            ("file:///srv/o/r.git", None),
        ] {
            assert_eq!(owner_and_name(address).as_deref(), expected, "{address}");
        }
        let base = Path::new("/a/b");
        for (path, expected) in [
            ("/a/b", "."),
            ("/a/b/c", "./c"),
            ("/a", ".."),
            ("/a/x", "../x"),
            ("/x", "../../x"),
        ] {
            assert_eq!(portable(Path::new(path), base), expected);
        }
    }
}
