//! Looks for newer versions of installed skills: each source is asked once, and what it has is staged.

use gongfu_import::candidate::StagedSkill;
use gongfu_import::error::{ImportCode, ImportError};
use gongfu_import::place::{Overwrite, Placement};
use gongfu_import::source::Source;
use gongfu_import::survey::Survey;
use gongfu_import::update::{
    FileChange, FileState, InstalledSkill, changes, counterpart, installed, newly,
};

use super::import::{Download, Importer, failure, not_locked};
use crate::failure::Failure;
use crate::progress;

/// Installed skills, and what their sources have now.
pub(super) struct Examination {
    pub(super) skills: Vec<ExaminedSkill>,
    downloads: Vec<Download>,
}

/// An installed skill, and the answer of its source.
pub(super) struct ExaminedSkill {
    pub(super) installed: InstalledSkill,
    pub(super) verdict: Verdict,
}

/// The answer of a source about an installed skill.
pub(super) enum Verdict {
    /// It has the same files.
    Current,
    /// It has another version.
    Newer(Box<Newer>),
    /// It hasn't the skill any more.
    Gone,
    /// It isn't asked, and why.
    NotAsked(String),
    /// It can't be reached, or is refused.
    Failed(ImportError),
}

/// Another version of an installed skill.
pub(super) struct Newer {
    pub(super) staged: StagedSkill,
    pub(super) files: Vec<FileChange>,
    /// Scripts, packages, modules and hosts that the installed one doesn't have.
    pub(super) newly: Survey,
    /// The commit or version.
    pub(super) at: Option<String>,
    download: usize,
}

/// Asks the sources of the named skills; of all without a name.
pub(super) fn examine(importer: &Importer<'_>, names: &[String]) -> Result<Examination, Failure> {
    let mut skills = installed(importer.scope).map_err(failure)?;
    select(&mut skills, names, importer)?;
    Ok(progress::during("asking the sources", || {
        examined(importer, skills)
    }))
}

/// Keeps the named skills; all without a name.
pub(super) fn select(
    skills: &mut Vec<InstalledSkill>,
    names: &[String],
    importer: &Importer<'_>,
) -> Result<(), Failure> {
    let is_meant =
        |skill: &InstalledSkill, name: &String| skill.key == *name || skill.name == *name;
    let unknown = names
        .iter()
        .find(|name| !skills.iter().any(|skill| is_meant(skill, name)));
    if let Some(name) = unknown {
        let hint = "`gongfu skill add SOURCE` adds a new skill; --in names another place";
        return Err(not_locked(name, importer.scope, hint));
    }
    if !names.is_empty() {
        skills.retain(|skill| names.iter().any(|name| is_meant(skill, name)));
    }
    Ok(())
}

fn examined(importer: &Importer<'_>, skills: Vec<InstalledSkill>) -> Examination {
    let mut examination = Examination {
        skills: Vec::with_capacity(skills.len()),
        downloads: Vec::new(),
    };
    let mut groups: Vec<(Source, Vec<InstalledSkill>)> = Vec::new();
    for skill in skills {
        let source = match skill.state {
            FileState::Missing => {
                Err("its folder is gone; `gongfu skill install` places it again".to_owned())
            }
            _ => skill.locked.fetchable(&importer.scope.base, false),
        };
        match source {
            Err(why) => examination.skills.push(ExaminedSkill {
                installed: skill,
                verdict: Verdict::NotAsked(why),
            }),
            Ok(source) => match groups.iter_mut().find(|(known, _)| *known == source) {
                Some((_, group)) => group.push(skill),
                None => groups.push((source, vec![skill])),
            },
        }
    }
    for (source, group) in groups {
        examination.ask(importer, &source, group);
    }
    examination
        .skills
        .sort_by(|left, right| left.installed.key.cmp(&right.installed.key));
    examination
}

impl Examination {
    /// Asks one source about its skills.
    fn ask(&mut self, importer: &Importer<'_>, source: &Source, group: Vec<InstalledSkill>) {
        if is_current(importer, source, &group) {
            self.skills
                .extend(group.into_iter().map(|installed| ExaminedSkill {
                    installed,
                    verdict: Verdict::Current,
                }));
            return;
        }
        let names: Vec<String> = group.iter().map(|skill| skill.name.clone()).collect();
        match importer.fetch(source, &names, true) {
            Ok(download) => self.compare(importer, download, group),
            // An index that misses one of several still has the others.
            Err(error) if error.code == ImportCode::SkillNotInSource && group.len() > 1 => {
                for skill in group {
                    self.ask(importer, source, vec![skill]);
                }
            }
            Err(error) => {
                self.skills.extend(group.into_iter().map(|installed| {
                    let verdict = match error.code {
                        ImportCode::SkillNotInSource => Verdict::Gone,
                        _ => Verdict::Failed(error.clone()),
                    };
                    ExaminedSkill { installed, verdict }
                }));
            }
        }
    }

    fn compare(
        &mut self,
        importer: &Importer<'_>,
        mut download: Download,
        group: Vec<InstalledSkill>,
    ) {
        let at = self.downloads.len();
        let counterparts = group.into_iter().map(|installed| {
            let found = counterpart(&download.delivery.discovery, &installed).cloned();
            (installed, found)
        });
        let counterparts: Vec<_> = counterparts.collect();
        let found = counterparts.iter().filter_map(|(_, found)| found.clone());
        // All at once is faster; after a failure, each one says whether it is its own.
        let together = download.stage(found.collect());
        let mut together = together.ok().map(Vec::into_iter);
        for (installed, found) in counterparts {
            let staged = match (found, &mut together) {
                (None, _) => Ok(None),
                (Some(_), Some(together)) => Ok(together.next()),
                (Some(found), None) => {
                    let staged = download.stage(vec![found]);
                    staged.map(|staged| staged.into_iter().next())
                }
            };
            let verdict = match staged {
                Err(error) => Verdict::Failed(error),
                Ok(None) => Verdict::Gone,
                Ok(Some(staged)) => compared(importer, &download, &installed, staged, at),
            };
            self.skills.push(ExaminedSkill { installed, verdict });
        }
        self.downloads.push(download);
    }

    /// The placement of a newer version.
    pub(super) fn placement(
        &self,
        importer: &Importer<'_>,
        installed: &InstalledSkill,
        newer: &Newer,
    ) -> Result<Option<Placement>, ImportError> {
        let Some(download) = self.downloads.get(newer.download) else {
            return Ok(None);
        };
        importer.remember(download, std::slice::from_ref(&newer.staged))?;
        let placement = download.placement(&installed.key, &newer.staged, importer.scope);
        let before = match installed.state {
            FileState::AsInstalled if installed.is_locked => Overwrite::Nothing,
            FileState::AsInstalled | FileState::ByNpx => {
                Overwrite::Files(Box::new(installed.locked.clone()))
            }
            FileState::Unknown => Overwrite::Kept,
            FileState::Changed(_) | FileState::Missing => Overwrite::Nothing,
        };
        Ok(Some(Placement {
            before,
            ..placement
        }))
    }
}

/// Returns true if a repository is still at the commit of all its skills, so that nothing has to be fetched.
fn is_current(importer: &Importer<'_>, source: &Source, group: &[InstalledSkill]) -> bool {
    let Source::Git(git) = source else {
        return false;
    };
    let Some(commit) = group.first().and_then(|skill| skill.locked.commit.clone()) else {
        return false;
    };
    let is_same = |skill: &InstalledSkill| {
        skill.is_locked
            && skill.state != FileState::ByNpx
            && skill.locked.commit.as_ref() == Some(&commit)
    };
    group.iter().all(is_same) && importer.commit(git).is_ok_and(|now| now == commit)
}

fn compared(
    importer: &Importer<'_>,
    download: &Download,
    installed: &InstalledSkill,
    staged: StagedSkill,
    at: usize,
) -> Verdict {
    // One of `npx skills` is locked again.
    let is_same = installed.locked.digest == Some(staged.digest);
    if is_same && installed.state != FileState::ByNpx {
        return Verdict::Current;
    }
    let origin = &download.delivery.origin;
    let folder = importer.scope.folder(&installed.key);
    Verdict::Newer(Box::new(Newer {
        files: changes(&installed.locked.files, &staged.files, &installed.state),
        newly: newly(&folder, &staged.survey),
        at: origin.version.clone().or(origin.commit.clone()),
        staged,
        download: at,
    }))
}
