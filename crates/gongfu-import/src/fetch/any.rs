//! Fetches a source of any kind, and finds its skills.

use std::collections::BTreeMap;
use std::path::Path;

use gongfu_core::archive::ArchiveLimits;
use gongfu_core::netrc::Netrc;
use gongfu_core::skill::{Digest, SKILL_FILE, SkillPath};
use gongfu_files::disk::{EntryKind, Root, kind_outside, reason};
use ureq::tls::TlsConfig;

use super::artifact::Files;
use super::git::{Git, GitSettings};
use super::web::{Login, MAX_ARTIFACT, Web, shown};
use super::{artifact, folder, npm, well_known};
use crate::candidate::Choice;
use crate::content::Content;
use crate::discover::{Discovery, FoundSkill, Search, discover};
use crate::error::{ImportCode, ImportError};
use crate::lock::own::SourceKind;
use crate::origin::{NpxOrigin, Origin, WellKnownSkill};
use crate::source::{self, GitSource, Source, WebSource};

/// The folder of skills in packages that are built.
const BUILT: &str = "dist/skills";

/// The parts of a person's machine that an import needs.
pub struct Fetcher<'a> {
    /// The settings of git.
    pub git: GitSettings,
    /// The certificates that servers are checked by.
    pub tls: TlsConfig,
    /// The person's logins by host.
    pub logins: &'a Netrc,
    /// An empty folder for what is fetched; it is removed by the caller, after the files were read.
    pub temporary: &'a Root,
    /// The folder that paths in the lock are below.
    pub base: &'a Path,
}

/// A source that was fetched.
#[derive(Debug)]
pub struct Delivery {
    /// The source, for the locks.
    pub origin: Origin,
    /// Its files.
    pub content: Content,
    /// Its skills.
    pub discovery: Discovery,
    /// The files of a skill that are installed.
    pub choice: Choice,
    /// Skills of an index that aren't taken, and why.
    pub refused: Vec<(String, String)>,
}

impl Fetcher<'_> {
    /// Fetches a source. Of an index, only the skills of these names are fetched; all without any.
    ///
    /// # Errors
    /// The source can't be reached, is refused, or has no skill.
    pub fn fetch(
        &self,
        source: &Source,
        names: &[String],
        full_depth: bool,
    ) -> Result<Delivery, ImportError> {
        let search = Search {
            full_depth,
            ..Search::default()
        };
        match source {
            Source::Git(source) => self.git(source, search),
            Source::Local(path) => self.local(path, search),
            Source::Web(site) => self.web(site, names, search),
            Source::Npm(name, version) => self.npm(name, version.as_deref(), search),
        }
    }

    fn git(&self, source: &GitSource, search: Search<'_>) -> Result<Delivery, ImportError> {
        let git = Git::new(self.git);
        let remote = git.resolve(source)?;
        let folder = self.temporary.path().join("repository.git");
        let fetched = git.fetch(source, &remote, &folder)?;
        let origin = Origin::git(source, fetched.commit, fetched.trees);
        let search = Search {
            below: source.folder.as_ref(),
            ..search
        };
        found(origin, fetched.content, search)
    }

    fn local(&self, path: &Path, search: Search<'_>) -> Result<Delivery, ImportError> {
        match kind_outside(path) {
            Some(EntryKind::Folder) => {
                let origin = Origin::folder(path, self.base);
                found(origin, folder::fetch(path)?, search)
            }
            Some(EntryKind::File) => {
                let bytes = read_file(path)?;
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let shown = crate::origin::portable(path, self.base);
                let origin = Origin {
                    artifact: Some(Digest::of(&bytes).to_string()),
                    ..Origin::plain(shown, SourceKind::File)
                };
                found(origin, artifact::read(bytes, &name)?, search)
            }
            _ => {
                let message = format!("{} isn't there", path.display());
                let hint = "check the path; a repository is written OWNER/REPO or as a URL";
                Err(ImportError::unreachable(message, hint))
            }
        }
    }

    fn web(
        &self,
        site: &WebSource,
        names: &[String],
        search: Search<'_>,
    ) -> Result<Delivery, ImportError> {
        let login = Login::of(&site.url, self.logins);
        let web = Web::new(&site.url, self.tls.clone(), login);
        if !site.is_file
            && let Some(index) = well_known::discover(&web, &site.url)?
        {
            return indexed(site, &web, index, names, ArchiveLimits::COLLECTION);
        }
        let page = web.fetch(&site.url, MAX_ARTIFACT, web.deadline())?;
        let origin = Origin {
            artifact: Some(Digest::of(&page.bytes).to_string()),
            ..Origin::plain(site.text.clone(), SourceKind::Download)
        };
        found(
            origin,
            artifact::read(page.bytes, &shown(&site.url))?,
            search,
        )
    }

    fn npm(
        &self,
        name: &str,
        version: Option<&str>,
        search: Search<'_>,
    ) -> Result<Delivery, ImportError> {
        let folder = self.temporary.path().join("package");
        let made = self.temporary.dir().create_dir("package");
        made.map_err(|error| {
            let message = format!("gongfu's home can't be written: {error}");
            ImportError::new(ImportCode::PlaceUnwritable, message, "check the disk")
        })?;
        let package = npm::fetch(name, version, &folder)?;
        let origin = Origin {
            reference: version.map(str::to_owned),
            version: Some(package.version),
            artifact: package.integrity,
            ..Origin::plain(format!("npm:{name}"), SourceKind::Npm)
        };
        let mut content = package.content;
        let mut discovery = discover(&mut content, search)?;
        let built = SkillPath::new(BUILT).ok();
        if discovery.skills.is_empty()
            && let Some(built) = &built
            && content.files.keys().any(|path| path.is_within(built))
        {
            let search = Search {
                below: Some(built),
                ..search
            };
            discovery = discover(&mut content, search)?;
        }
        with_skills(origin, content, discovery)
    }
}

fn found(
    origin: Origin,
    mut content: Content,
    search: Search<'_>,
) -> Result<Delivery, ImportError> {
    let discovery = discover(&mut content, search)?;
    with_skills(origin, content, discovery)
}

fn with_skills(
    origin: Origin,
    content: Content,
    discovery: Discovery,
) -> Result<Delivery, ImportError> {
    if discovery == Discovery::default() {
        let message = format!("{} has no skill", source::shown(&origin.source));
        let hint = "a skill is a folder with a SKILL.md";
        return Err(ImportError::new(
            ImportCode::SkillNotInSource,
            message,
            hint,
        ));
    }
    Ok(Delivery {
        origin,
        content,
        discovery,
        choice: Choice::Usual,
        refused: Vec::new(),
    })
}

/// The files and bytes that the skills of one index may still have: they are in memory together.
struct Allowance {
    files: usize,
    bytes: u64,
}

impl Allowance {
    fn of(limits: ArchiveLimits) -> Self {
        Self {
            files: limits.entries,
            bytes: limits.total,
        }
    }

    fn take(&mut self, files: &Files) -> Result<(), ImportError> {
        let bytes = files.values().map(|(bytes, _)| bytes.len() as u64).sum();
        let left = (self.files.checked_sub(files.len())).zip(self.bytes.checked_sub(bytes));
        let Some((files, bytes)) = left else {
            let message = "the skills of the index are too many, or too long, to be added at once";
            let hint = "nothing was installed; choose some of the skills with --skill NAME";
            return Err(ImportError::new(ImportCode::SourceTooLarge, message, hint));
        };
        (self.files, self.bytes) = (files, bytes);
        Ok(())
    }
}

/// Fetches skills of an index, each into a folder of its own name.
fn indexed(
    site: &WebSource,
    web: &Web,
    index: well_known::SkillIndex,
    names: &[String],
    limits: ArchiveLimits,
) -> Result<Delivery, ImportError> {
    let asked: Vec<String> = index.asked.iter().cloned().collect();
    let names = if names.is_empty() { &asked } else { names };
    let mut files = BTreeMap::new();
    let mut known = BTreeMap::new();
    let mut skills = Vec::new();
    let deadline = web.deadline();
    let mut left = Allowance::of(limits);
    for entry in index.choose(names)? {
        let own = entry.fetch(web, deadline)?;
        left.take(&own)?;
        let digest = entry.npx_digest(&own).to_string();
        let skill = WellKnownSkill {
            url: entry.url.to_string(),
            digest,
        };
        known.insert(entry.name.clone(), skill);
        let folder = SkillPath::new(&entry.name).map_err(|why| {
            ImportError::refused(format!("`{}` can't be a skill's name: {why}", entry.name))
        })?;
        for (path, file) in own {
            if let Ok(path) = folder.join(path.as_str()) {
                files.insert(path, file);
            }
        }
        skills.push(FoundSkill {
            name: entry.name.clone(),
            description: entry.description.clone(),
            folder,
            document: SKILL_FILE,
            plugin: None,
            is_declared: true,
            is_internal: false,
        });
    }
    let origin = Origin {
        npx: Some(NpxOrigin::WellKnown(site.clone(), known)),
        ..Origin::plain(site.text.clone(), SourceKind::WellKnown)
    };
    let discovery = Discovery {
        skills,
        ..Discovery::default()
    };
    let fetched = with_skills(origin, Content::in_memory(files), discovery)?;
    Ok(Delivery {
        choice: Choice::All,
        refused: index.refused,
        ..fetched
    })
}

fn read_file(path: &Path) -> Result<Vec<u8>, ImportError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = SkillPath::new(&name);
    let folder = path.parent().map(Root::open);
    let read = match (folder, name) {
        (Some(Ok(folder)), Ok(name)) => folder.read(&name, MAX_ARTIFACT),
        (Some(Err(error)), _) => Err(error),
        _ => Err(std::io::ErrorKind::InvalidInput.into()),
    };
    match read {
        Ok(content) if content.is_cut() => Err(ImportError::too_large(format!(
            "{} is longer than 64 MiB",
            path.display()
        ))),
        Ok(content) => Ok(content.bytes),
        Err(error) => {
            let message = format!("{} can't be read: {}", path.display(), reason(&error));
            Err(ImportError::unreachable(
                message,
                "check the path and its permissions",
            ))
        }
    }
}

#[cfg(test)]
mod tests;
