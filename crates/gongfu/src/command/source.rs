//! `gongfu source`: the places where skills are looked for.

use std::path::{Path, PathBuf};

use gongfu_core::library::SourceKind;
use gongfu_core::near;
use gongfu_core::skill::SKILL_FILE;
use gongfu_files::Home;
use gongfu_files::disk::{self, EntryKind, Root};
use serde::Serialize;

use super::Outcome;
use crate::cli::{Common, Places, SourceCommand, clone_hint, quoted};
use crate::config::{Config, edit, file, invalid, key};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::table::count;
use crate::terminal::{Paint, Terminal, plain};
use crate::{progress, wiring};

/// A setting that lists folders of a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FolderList {
    /// Those that they named, which rank first.
    Named,
    /// Those that `gongfu adopt` found, which rank after their own.
    Adopted,
}

impl FolderList {
    fn key(self) -> &'static str {
        match self {
            Self::Named => "skills_dirs",
            Self::Adopted => "discovery.adopted",
        }
    }

    /// The folders in the settings.
    pub(super) fn folders(self, config: Config) -> Vec<PathBuf> {
        match self {
            Self::Named => config.skills_dirs,
            Self::Adopted => config.discovery.adopted,
        }
    }
}

/// A source as JSON.
#[derive(Serialize)]
struct SourceJson {
    id: String,
    from: &'static str,
    path: PathBuf,
    exists: bool,
    skills: usize,
}

pub(crate) fn run(
    command: SourceCommand,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    match command {
        SourceCommand::List { common } => list(&common, environment, terminal),
        SourceCommand::Add { folder } => add(&folder, environment, terminal),
        SourceCommand::Remove { source } => remove(&source, environment, terminal),
    }
}

fn list(
    common: &Common,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let sources = sources(&common.places, environment)?;
    if common.json {
        terminal.json(&sources)?;
        return Ok(Outcome::Good);
    }
    let width = sources
        .iter()
        .map(|one| one.id.len())
        .max()
        .unwrap_or(0)
        .max(2);
    let heading = format!("{:<width$}  {:<11}  {:>6}  FOLDER", "ID", "FROM", "SKILLS");
    terminal.line(&terminal.paint(Paint::Dim, &heading))?;
    for one in &sources {
        let path = plain(&one.path.to_string_lossy());
        let line = if one.exists {
            format!(
                "{:<width$}  {:<11}  {:>6}  {path}",
                one.id, one.from, one.skills
            )
        } else {
            let line = format!(
                "{:<width$}  {:<11}  {:>6}  {path} (missing)",
                one.id, one.from, "-"
            );
            terminal.paint(Paint::Dim, &line)
        };
        terminal.line(&line)?;
    }
    let found = sources.iter().filter(|one| one.exists).count();
    let skills: usize = sources.iter().map(|one| one.skills).sum();
    terminal.note(&format!(
        "{} in {found} of {} folders; if two folders have a skill of the same name, the first one wins",
        count(skills, "skill"),
        sources.len()
    ));
    Ok(Outcome::Good)
}

/// Every source in order of precedence.
fn sources(places: &Places, environment: &Environment) -> anyhow::Result<Vec<SourceJson>> {
    let parts = wiring::parts(environment, places)?;
    let library = progress::during("reading the skills folders", || parts.skills.current())?;
    let flags: Vec<PathBuf> = places.skills_dirs.clone();
    let number = |id: &str| {
        let skills = library.skills().iter();
        skills.filter(|skill| *skill.source == *id).count()
    };
    let places = parts.skills.places().into_iter();
    let sources = places.map(|place| SourceJson {
        from: match place.kind {
            SourceKind::Explicit if flags.contains(&place.path) => "flag",
            SourceKind::Account => "account",
            SourceKind::Explicit => "settings",
            SourceKind::Project => "project",
            SourceKind::Environment => "environment",
            SourceKind::User => "user",
            SourceKind::System => "system",
            SourceKind::BuiltIn => "built-in",
            SourceKind::Server => "server",
            SourceKind::Untrusted => "untrusted project",
        },
        exists: disk::kind_outside(&place.path) == Some(EntryKind::Folder),
        skills: number(&place.id),
        id: place.id.to_string(),
        path: place.path,
    });
    Ok(sources.collect())
}

fn add(
    folder: &Path,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let shown = plain(&folder.to_string_lossy());
    let folder = std::path::absolute(wiring::expanded(folder, environment.user.as_deref()))?;
    match disk::kind_outside(&folder) {
        Some(EntryKind::Folder) => check_readable(&folder)?,
        Some(_) => {
            // The folder of a skill, and the one above it, which holds skills.
            let above = folder.ancestors().nth(2);
            let is_skill = folder.file_name().is_some_and(|name| name == SKILL_FILE);
            let hint = match above.filter(|_| is_skill) {
                Some(above) => format!(
                    "add the folder that the skill's folder is in: `gongfu source add {}`",
                    quoted(&disk::real_outside(above).to_string_lossy())
                ),
                None => match shown.strip_suffix(".zip").or(shown.strip_suffix(".skill")) {
                    Some(into) => {
                        let (archive, into) = (quoted(&shown), quoted(into));
                        format!(
                            "unpack it first: `unzip {archive} -d {into}`, then `gongfu source add {into}`"
                        )
                    }
                    None => {
                        "name the folder that holds the skills; unpack an archive first".to_owned()
                    }
                },
            };
            let message = format!("{shown} is not a folder");
            return Err(Failure::new("SOURCE_NOT_A_FOLDER", message, hint).into());
        }
        None => {
            if let Err(error) = std::fs::metadata(&folder)
                && error.kind() == std::io::ErrorKind::PermissionDenied
            {
                return Err(unreadable(&folder, &error).into());
            }
            let hint = clone_hint(&shown);
            let message = match &hint {
                Some(_) if shown.contains(':') => format!("{shown} is an address, not a folder"),
                _ => format!("there is no folder {shown}"),
            };
            let hint = hint.unwrap_or_else(|| missing(&shown));
            return Err(Failure::new("SOURCE_NOT_FOUND", message, hint).into());
        }
    }
    let Some(text) = folder.to_str() else {
        let hint = "settings are UTF-8: rename the folder, or name it with --skills-dir";
        return Err(Failure::new("SOURCE_NAME", format!("{shown} is not UTF-8"), hint).into());
    };
    let home = wiring::home(environment)?;
    let known = Config::read(&home)?.skills_dirs;
    let known = known
        .iter()
        .any(|known| is_same(known, &folder, environment));
    if !known {
        write(&home, FolderList::Named, |folders| {
            folders.push(text.into());
        })?;
    }
    let sources = sources(&Places::default(), environment)?;
    let own = sources
        .iter()
        .find(|one| is_same_folder(&one.path, &folder));
    let (id, skills) = own.map_or((shown.as_str(), 0), |one| (one.id.as_str(), one.skills));
    let verb = if known { "already configured" } else { "added" };
    terminal.line(&format!(
        "{verb}: {} as `{id}`, {}",
        plain(text),
        count(skills, "skill")
    ))?;
    if skills == 0 {
        terminal.note("note: no skill was found there; a skill is a folder with a SKILL.md");
    }
    if !known {
        terminal.note("restart running servers to apply it");
    }
    Ok(Outcome::Good)
}

/// Checks that skills can be looked for in a folder.
fn check_readable(folder: &Path) -> Result<(), Failure> {
    let root = Root::open(folder).map_err(|error| unreadable(folder, &error))?;
    let entries = root.dir().entries();
    entries
        .map(drop)
        .map_err(|error| unreadable(folder, &error))
}

fn unreadable(folder: &Path, error: &std::io::Error) -> Failure {
    let shown = plain(&folder.to_string_lossy());
    let message = format!("{shown} can't be read: {}", disk::reason(error));
    let hint = "ask its owner for permission to read it, or add another folder";
    Failure::new("SOURCE_UNREADABLE", message, hint)
}

/// The hint for a folder that isn't there.
fn missing(shown: &str) -> String {
    // `C:\skills`
    if let (Some((drive, below)), false) = (shown.split_once(":\\"), cfg!(windows)) {
        let below = below.replace('\\', "/");
        let path = quoted(&format!("/mnt/{}/{below}", drive.to_lowercase()));
        return format!("this system writes paths with /, in WSL: `gongfu source add {path}`");
    }
    if Path::new(shown).extension().is_some() {
        return "check the path; a source is a folder that holds folders of skills".to_owned();
    }
    let quoted = quoted(shown);
    format!("check the path, or create it: `mkdir -p {quoted}`, then `gongfu source add {quoted}`")
}

fn remove(
    source: &Path,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let home = wiring::home(environment)?;
    let config = Config::read(&home)?;
    let folders = [config.skills_dirs, config.discovery.adopted].concat();
    let sources = sources(&Places::default(), environment)?;
    let by_id = sources.iter().find(|one| Path::new(&one.id) == source);
    let path = match by_id {
        Some(one) => one.path.clone(),
        None => std::path::absolute(wiring::expanded(source, environment.user.as_deref()))?,
    };
    let is_meant = |known: &PathBuf| is_same(known, &path, environment);
    let gone: Vec<PathBuf> = folders.into_iter().filter(is_meant).collect();
    if gone.is_empty() {
        let shown = plain(&source.to_string_lossy());
        let known = sources.iter().find(|one| is_same_folder(&one.path, &path));
        let hint = match known.map(|one| one.from) {
            Some("user") if *path == home.skills() => {
                "it belongs to gongfu's home; disable its skills with `gongfu skill disable`"
            }
            Some("environment") => {
                "it comes from GONGFU_SKILLS_DIRS, LLP_SKILLS_DIRS or SKILL_STORAGE_PATH: unset that variable"
            }
            Some("user") => {
                "hide a skill with `gongfu skill disable NAME`, or skip such folders with `gongfu config set discovery.home false`"
            }
            Some("project" | "untrusted project") => {
                "hide a skill with `gongfu skill disable NAME`, or skip default folders with --no-default-dirs"
            }
            Some("built-in") => {
                "`gongfu config set discovery.built_in false` disables the built-in skills"
            }
            Some("system") => "it is the folder for all users; its owner can remove it",
            _ => "`gongfu source list` shows every source",
        };
        let ids = sources.iter().map(|one| one.id.as_str());
        let hint = match near::meant(&shown, ids).filter(|_| known.is_none()) {
            Some(near) => format!("did you mean `{}`? {hint}", plain(near)),
            None => hint.to_owned(),
        };
        let message = match known.map(|one| one.from) {
            Some("user" | "project" | "untrusted project") => {
                format!("{shown} is a default folder and can't be removed")
            }
            _ => format!("{shown} is not in the settings"),
        };
        return Err(Failure::new("SOURCE_UNKNOWN", message, hint).into());
    }
    for list in [FolderList::Named, FolderList::Adopted] {
        if list.folders(Config::read(&home)?).iter().any(is_meant) {
            write(&home, list, |folders| {
                folders.retain(|known| !is_meant(known));
            })?;
        }
    }
    for folder in gone {
        terminal.line(&format!(
            "removed: {}; its files stay",
            plain(&folder.to_string_lossy())
        ))?;
    }
    terminal.note("restart running servers to apply it");
    Ok(Outcome::Good)
}

/// Returns whether a folder of the settings is this one, by its path or by what is there.
fn is_same(known: &Path, folder: &Path, environment: &Environment) -> bool {
    is_same_folder(
        &wiring::expanded(known, environment.user.as_deref()),
        folder,
    )
}

fn is_same_folder(one: &Path, other: &Path) -> bool {
    let real = |path| std::fs::canonicalize(path).ok();
    one == other || real(one).is_some_and(|one| real(other) == Some(one))
}

/// Changes a list of folders of the settings.
pub(super) fn write(
    home: &Home,
    list: FolderList,
    change: impl Fn(&mut Vec<PathBuf>),
) -> Result<(), Failure> {
    let settings = key::settings();
    let setting = key::setting(&settings, list.key())?;
    let value = |text: &str| {
        let config = Config::parse(text);
        let config = config.map_err(|mistakes| invalid(&home.config(), text, &mistakes))?;
        let mut folders = list.folders(config);
        change(&mut folders);
        let folders = folders.iter().map(|one| one.to_string_lossy().into_owned());
        edit::value(setting, &folders.collect::<Vec<_>>()).map(Some)
    };
    file::write(home, setting, value).map(drop)
}
