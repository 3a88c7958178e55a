//! Sites that list their skills at a well-known address: the index is found, and skills of it are fetched.
//!
//! Follows `npx skills` in where an index is looked for, and in its two versions. Unlike there, nothing is left out
//! silently: a file that is missing, or a digest that is wrong, is an error.

pub(crate) mod index;

use std::time::Instant;

use gongfu_core::archive::ArchiveLimits;
use gongfu_core::skill::{Digest, SKILL_FILE, SkillPath};
use url::Url;

use super::artifact::{self, Files};
use super::web::{MAX_ARTIFACT, Web, shown};
use crate::content::ContentFile;
use crate::error::{ImportCode, ImportError};

pub use index::{EntryKind, IndexEntry};

/// The folders of an index below an address, the newer one first.
const FOLDERS: [&str; 2] = ["/.well-known/agent-skills", "/.well-known/skills"];
const INDEX: &str = "index.json";
/// The most bytes of an index.
const MAX_INDEX: u64 = 4 * 1024 * 1024;
/// The most bytes of a skill whose files are fetched one by one.
const MAX_FILES: u64 = 25 * 1024 * 1024;

/// The index of a site.
#[derive(Debug)]
pub struct SkillIndex {
    /// Its address.
    pub url: Url,
    /// Its skills, in its order.
    pub entries: Vec<IndexEntry>,
    /// Entries that aren't taken, by name, and why.
    pub refused: Vec<(String, String)>,
    /// The one skill that the address of the source names.
    pub asked: Option<String>,
}

/// An address that a person typed.
struct Place {
    /// The address of the site, without a slash at its end.
    base: Url,
    /// The one skill that it names.
    asked: Option<String>,
}

/// Finds the index of a site; `None` if it has none.
///
/// It is looked for below the path of the address. A site that has one only at its root isn't taken as a whole when a
/// person asked for a part of it.
///
/// # Errors
/// The site can't be reached, its index can't be read, or only the root has one.
pub fn discover(web: &Web, url: &Url) -> Result<Option<SkillIndex>, ImportError> {
    let place = Place::of(url);
    let deadline = web.deadline();
    let mut unread = None;
    for folder in FOLDERS {
        match find(web, &place.base, folder, deadline)? {
            Candidate::Found(found) => {
                return Ok(Some(SkillIndex {
                    asked: place.asked,
                    ..found
                }));
            }
            Candidate::Unread(why) => unread = unread.or(Some(why)),
            Candidate::Missing => {}
        }
    }
    if let Some(why) = unread {
        return Err(why);
    }
    let mut root = place.base.clone();
    root.set_path("");
    if root == place.base {
        return Ok(None);
    }
    for folder in FOLDERS {
        if let Candidate::Found(_) = find(web, &root, folder, deadline)? {
            let message = format!("{} has no skills", shown(&place.base));
            let hint = format!("all skills of the site are at {}", shown(&root));
            return Err(ImportError::new(
                ImportCode::SkillNotInSource,
                message,
                hint,
            ));
        }
    }
    Ok(None)
}

impl Place {
    /// The site and the skill in an address, which may be that of an index or of a skill of it.
    fn of(url: &Url) -> Self {
        let mut base = url.clone();
        base.set_query(None);
        base.set_fragment(None);
        let path = url.path().trim_end_matches('/');
        let found = FOLDERS.iter().find_map(|folder| {
            let (site, rest) = path.split_once(folder)?;
            let name = match rest.strip_prefix('/') {
                None if rest.is_empty() => None,
                Some(INDEX) => None,
                Some(name) => Some(name.strip_suffix("/SKILL.md").unwrap_or(name)),
                None => return None,
            };
            (!name.is_some_and(|name| name.contains('/'))).then_some((site, name))
        });
        let (site, name) = found.unwrap_or((path, None));
        base.set_path(site);
        let asked = name.map(str::to_owned);
        Self { base, asked }
    }
}

/// One place where an index may be.
enum Candidate {
    Found(SkillIndex),
    /// Something is there that is no index.
    Unread(ImportError),
    Missing,
}

/// Looks for the index in one folder of a site.
fn find(web: &Web, base: &Url, folder: &str, deadline: Instant) -> Result<Candidate, ImportError> {
    let mut url = base.clone();
    url.set_path(&format!(
        "{}{folder}/{INDEX}",
        base.path().trim_end_matches('/')
    ));
    let page = web.get(&url, MAX_INDEX, deadline)?;
    if page.status != 200 {
        return Ok(Candidate::Missing);
    }
    // Many sites answer every address with a page for people.
    if !page.bytes.trim_ascii_start().starts_with(b"{") {
        return Ok(Candidate::Missing);
    }
    let (entries, refused) = match index::read(&page.bytes, &url) {
        Ok(read) => read,
        Err(error) => return Ok(Candidate::Unread(error)),
    };
    Ok(Candidate::Found(SkillIndex {
        url,
        entries,
        refused,
        asked: None,
    }))
}

impl SkillIndex {
    /// The skills with these names, without regard to letter case; all without any.
    ///
    /// # Errors
    /// The index has no such skill, or its entry isn't taken.
    pub fn choose(&self, names: &[String]) -> Result<Vec<&IndexEntry>, ImportError> {
        if names.is_empty() {
            return Ok(self.entries.iter().collect());
        }
        let find = |name: &String| {
            let is_meant = |other: &str| other.eq_ignore_ascii_case(name);
            let entry = self.entries.iter().find(|entry| is_meant(&entry.name));
            entry.ok_or_else(|| {
                let refused = self.refused.iter().find(|(other, _)| is_meant(other));
                if let Some((name, why)) = refused {
                    return ImportError::refused(format!("`{name}` isn't taken: {why}"));
                }
                let message = format!("{} has no skill `{name}`", shown(&self.url));
                let known: Vec<&str> = self.entries.iter().map(|entry| &*entry.name).collect();
                let known = gongfu_core::text::clipped(&known.join(", "), 300, ' ');
                let hint = format!("it has: {known}");
                ImportError::new(ImportCode::SkillNotInSource, message, hint)
            })
        };
        names.iter().map(find).collect()
    }
}

impl IndexEntry {
    /// Fetches the files of the skill.
    ///
    /// # Errors
    /// One can't be fetched until `deadline`, is too long, has another digest than the index says, or isn't taken.
    pub fn fetch(&self, web: &Web, deadline: Instant) -> Result<Files, ImportError> {
        match &self.kind {
            EntryKind::Document(digest) => {
                artifact::document(self.artifact(web, *digest, deadline)?)
            }
            EntryKind::Archive(digest) => {
                let bytes = self.artifact(web, *digest, deadline)?;
                let place = shown(&self.url);
                let files = artifact::archive(&bytes, ArchiveLimits::SKILL, &place)?;
                let files = files.ok_or_else(|| {
                    ImportError::refused(format!("{place} is neither a zip nor a tar archive"))
                })?;
                if !files.keys().any(|path| path.as_str() == SKILL_FILE) {
                    let message = format!("{place} has no SKILL.md at its top");
                    return Err(ImportError::refused(message));
                }
                Ok(files)
            }
            EntryKind::Files(paths) => self.files(web, paths, deadline),
        }
    }

    /// Fetches an artifact, and checks its digest.
    fn artifact(
        &self,
        web: &Web,
        digest: Digest,
        deadline: Instant,
    ) -> Result<Vec<u8>, ImportError> {
        let page = web.fetch(&self.url, MAX_ARTIFACT, deadline)?;
        let found = Digest::of(&page.bytes);
        if found != digest {
            return Err(ImportError::refused(format!(
                "`{}` isn't what the index says: {} has the digest {found} instead of {digest}",
                self.name,
                shown(&self.url),
            )));
        }
        Ok(page.bytes)
    }

    /// Fetches files one by one.
    fn files(
        &self,
        web: &Web,
        paths: &[SkillPath],
        deadline: Instant,
    ) -> Result<Files, ImportError> {
        let (mut files, mut left) = (Files::new(), MAX_FILES);
        for path in paths {
            let mut url = self.url.clone();
            if let Ok(mut segments) = url.path_segments_mut() {
                // The address is that of the document, beside which the files are.
                segments.pop().extend(path.as_str().split('/'));
            }
            let page = web.fetch(&url, left, deadline).map_err(|error| {
                if error.code != ImportCode::SourceTooLarge {
                    return error;
                }
                let name = &self.name;
                ImportError::too_large(format!("the files of `{name}` are longer than 25 MiB"))
            })?;
            left = left.saturating_sub(page.bytes.len() as u64);
            files.insert(path.clone(), (page.bytes, ContentFile::PLAIN));
        }
        Ok(files)
    }

    /// The digest of a skill as the locks of `npx skills` have it: that of the entry, or of the files without one.
    pub fn npx_digest(&self, files: &Files) -> Digest {
        match self.kind {
            EntryKind::Document(digest) | EntryKind::Archive(digest) => digest,
            EntryKind::Files(_) => digest_of_files(files),
        }
    }
}

/// The digest over paths and contents, each with a NUL, in the order of UTF-16.
fn digest_of_files(files: &Files) -> Digest {
    let mut sorted: Vec<_> = files.iter().collect();
    sorted.sort_by_cached_key(|(path, _)| path.as_str().encode_utf16().collect::<Vec<u16>>());
    let mut bytes = Vec::new();
    for (path, (content, _)) in sorted {
        bytes.extend(path.as_str().as_bytes());
        bytes.push(0);
        if path.as_str() == SKILL_FILE {
            // There, the document is a text without its byte order mark.
            let text = String::from_utf8_lossy(content);
            bytes.extend(text.strip_prefix('\u{feff}').unwrap_or(&text).as_bytes());
        } else {
            bytes.extend(content);
        }
        bytes.push(0);
    }
    Digest::of(&bytes)
}

#[cfg(test)]
mod tests;
