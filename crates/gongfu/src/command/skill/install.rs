//! `gongfu skill install`: the skills of the lock, each exactly as it is locked.

use std::path::{Path, PathBuf};

use gongfu_core::port::Clock as _;
use gongfu_files::HeldFolder;
use gongfu_import::cache::Cache;
use gongfu_import::error::{ImportCode, ImportError};
use gongfu_import::place::{Changes, Outcome as Placed, Overwrite, Placement, place};
use gongfu_import::source::Source;
use gongfu_import::update::{FileState, InstalledSkill, counterpart, installed};
use serde_json::json;

use super::examination::select;
use super::import::{Download, Importer, failure, kept, scope, temporary, unwritable};
use crate::cli::InstallArguments;
use crate::clock::SystemClock;
use crate::command::{Outcome, check_answerable};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::table::count;
use crate::terminal::{Terminal, plain};
use crate::{progress, wiring};

pub(super) fn run(
    arguments: &InstallArguments,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let json = arguments.locked.json;
    let home = wiring::home(environment)?;
    let scope = scope(&arguments.locked.place, environment, &home)?;
    let importer = Importer::new(environment, &home, &scope)?;
    let mut skills = installed(&scope).map_err(failure)?;
    let is_source = |name: &&String| {
        name.contains(['/', ':']) && !skills.iter().any(|skill| skill.key == **name)
    };
    if let Some(source) = arguments.locked.skills.iter().find(is_source) {
        let source = plain(source);
        let message = format!("{source} is a source, and no skill of the lock");
        let hint = format!("`gongfu skill add {source}` adds its skills");
        return Err(Failure::usage("INVALID_VALUE", message, hint).into());
    }
    select(&mut skills, &arguments.locked.skills, &importer)?;
    check(&skills, arguments).map_err(failure)?;
    let total = skills.len();
    skills.retain(|skill| skill.state != FileState::AsInstalled && needs_files(skill));
    let is_wanted = !skills.is_empty();
    if is_wanted && !arguments.yes {
        let hint = "pass --yes to install without a question";
        check_answerable("installing skills", hint, json)?;
        for skill in &skills {
            let (key, source) = (plain(&skill.key), plain(&skill.locked.source));
            terminal.line(&format!("{key}  {source}"))?;
        }
        if !terminal.ask(&format!("install {}?", count(skills.len(), "skill")))? {
            terminal.note("nothing was installed");
            return Ok(Outcome::Good);
        }
    }
    let mut stage = Stage {
        importer: &importer,
        temporary: temporary(&home).map_err(failure)?,
        downloads: Vec::new(),
        is_offline: arguments.offline,
    };
    let placements = progress::during("fetching skills", || stage.all(&skills));
    let changes = Changes {
        put: placements.map_err(failure)?,
        replace: arguments.replace,
        ..Changes::default()
    };
    let mut done = Placed::default();
    if is_wanted {
        let now = SystemClock.now().to_string();
        done = place(&home, &scope, &changes, &now).map_err(failure)?;
    }
    if json {
        let kept = done.kept.iter().map(|(_, kept)| kept.to_string_lossy());
        let kept: Vec<_> = kept.collect();
        let keys: Vec<&String> = skills.iter().map(|skill| &skill.key).collect();
        let lock = scope.own_lock.to_string_lossy();
        terminal
            .json(&json!({ "lock": lock, "locked": total, "installed": keys, "kept": kept }))?;
        return Ok(Outcome::Good);
    }
    kept(&done, terminal);
    let skills = count(skills.len(), "skill");
    terminal.line(&format!("installed {skills}; {total} locked"))?;
    Ok(Outcome::Good)
}

/// Returns true for a skill whose files gongfu places. Another one is there already, or another program's.
fn needs_files(skill: &InstalledSkill) -> bool {
    skill.is_locked || skill.state == FileState::Missing
}

/// Refuses what can't be installed as a whole, before anything is fetched.
fn check(skills: &[InstalledSkill], arguments: &InstallArguments) -> Result<(), ImportError> {
    for skill in skills {
        let key = &skill.key;
        if arguments.frozen && !skill.is_locked {
            let message = format!("`npx skills` locked `{key}`, and gongfu.lock doesn't have it");
            let hint = "run `gongfu skill install` or `gongfu adopt` without --frozen, and keep the new gongfu.lock";
            return Err(ImportError::new(ImportCode::LockMismatch, message, hint));
        }
        if skill.state == FileState::ByNpx && !arguments.replace {
            let message = format!("`npx skills` updated `{key}` since gongfu locked it");
            let hint = "`gongfu skill update` locks it again; --replace installs what is locked";
            return Err(ImportError::new(ImportCode::LockMismatch, message, hint));
        }
        if skill.is_locked && !arguments.replace && skill.is_changed() {
            let message = format!("`{key}` was changed since it was installed");
            let hint = "`gongfu skill verify` names the files; --replace installs what is locked, and keeps yours in gongfu's home";
            return Err(ImportError::new(ImportCode::SkillChanged, message, hint));
        }
    }
    Ok(())
}

/// Gets the files of locked skills.
struct Stage<'a> {
    importer: &'a Importer<'a>,
    temporary: HeldFolder,
    /// The sources that were fetched. Their folders have the staged files.
    downloads: Vec<(Source, Download)>,
    is_offline: bool,
}

impl Stage<'_> {
    fn all(&mut self, skills: &[InstalledSkill]) -> Result<Vec<Placement>, ImportError> {
        let cache = Cache::open(self.importer.home).map_err(|error| unwritable(&error))?;
        let mut placements = Vec::with_capacity(skills.len());
        for (number, skill) in skills.iter().enumerate() {
            let below = Path::new("cached").join(number.to_string());
            let last = skill.key.rsplit('/').next().unwrap_or(&skill.key);
            let cached = if skill.is_locked {
                cache.stage(&skill.locked, self.temporary.root(), &below.join(last))
            } else {
                Ok(None)
            };
            match cached.map_err(|error| unwritable(&error))? {
                Some(staged) => placements.push(exactly(skill, staged)),
                None => placements.push(self.fetched(skill, skills)?),
            }
        }
        Ok(placements)
    }

    /// A skill from its source.
    fn fetched(
        &mut self,
        skill: &InstalledSkill,
        all: &[InstalledSkill],
    ) -> Result<Placement, ImportError> {
        let (key, scope) = (&skill.key, self.importer.scope);
        if self.is_offline {
            let message = format!("`{key}` isn't in gongfu's cache as it is locked");
            let hint = "run it once without --offline";
            return Err(ImportError::unreachable(message, hint));
        }
        let source = skill.locked.fetchable(&scope.base, skill.is_locked);
        let source = source.map_err(|why| {
            let message = format!("`{key}` can't be installed: {why}");
            let hint = format!("install it again by that program, or `gongfu skill remove {key}`");
            ImportError::new(ImportCode::SourceInvalid, message, hint)
        })?;
        let known = self.downloads.iter();
        let known = known
            .map(|(source, _)| source)
            .position(|known| *known == source);
        let at = known.unwrap_or(self.downloads.len());
        if known.is_none() {
            // Of an index, all that comes from it is fetched at once.
            let is_beside = |other: &&InstalledSkill| other.locked.source == skill.locked.source;
            let others = all.iter().filter(is_beside);
            let names: Vec<String> = others.map(|other| other.name.clone()).collect();
            let download = self.importer.fetch(&source, &names, true)?;
            self.downloads.push((source, download));
        }
        let Some((_, download)) = self.downloads.get_mut(at) else {
            return Err(missing(skill));
        };
        let found = counterpart(&download.delivery.discovery, skill).cloned();
        let staged = download.stage(vec![found.ok_or_else(|| missing(skill))?])?;
        let staged = staged.into_iter().next().ok_or_else(|| missing(skill))?;
        if skill.is_locked && skill.locked.digest != Some(staged.digest) {
            let message = format!(
                "{} has other files for `{key}` than the lock",
                skill.locked.source
            );
            let hint = "nothing was installed; `gongfu skill diff` shows what differs, `gongfu skill update` takes the new version";
            return Err(ImportError::new(ImportCode::LockMismatch, message, hint));
        }
        self.importer
            .remember(download, std::slice::from_ref(&staged))?;
        if skill.is_locked {
            return Ok(exactly(skill, staged.staged));
        }
        Ok(download.placement(key, &staged, scope))
    }
}

/// The placement of a skill whose locks stay as they are.
fn exactly(skill: &InstalledSkill, staged: PathBuf) -> Placement {
    Placement {
        key: skill.key.clone(),
        staged,
        locked: skill.locked.clone(),
        npx: None,
        before: Overwrite::Nothing,
    }
}

fn missing(skill: &InstalledSkill) -> ImportError {
    let message = format!("{} hasn't `{}` any more", skill.locked.source, skill.name);
    let hint = "nothing was installed; `gongfu skill remove` takes it out of the lock";
    ImportError::new(ImportCode::SkillNotInSource, message, hint)
}
