//! The folders of skills and files that a person named.

use std::path::{Path, PathBuf};

use gongfu_files::disk::{self, EntryKind};
use gongfu_files::{Home, Mount};
use gongfu_library::built_in;
use gongfu_library::source::Settings;
use include_dir::{Dir, include_dir};

use super::FlagsOf;
use crate::cli::{Places, clone_hint};
use crate::config::Config;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::home::expanded;
use crate::project;
use crate::terminal::plain;

static BUILT_IN: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../skills");

/// Checks that a folder which a person mounts is one.
pub(super) fn check_mount(mount: &Mount) -> Result<(), Failure> {
    let shown = plain(&mount.host.to_string_lossy());
    let why = match disk::kind_outside(&mount.host) {
        Some(EntryKind::Folder) => return Ok(()),
        Some(_) => "it is not a folder",
        None => "there is no such folder",
    };
    let message = format!("{shown} can't be mounted: {why}");
    let hint = "use a folder that exists: --mount HOST or HOST:GUEST";
    Err(Failure::new("FOLDER_NOT_FOUND", message, hint))
}

/// Checks that a folder of skills which a person named is one.
pub(super) fn check_folder(folder: &Path) -> Result<(), Failure> {
    let shown = plain(&folder.to_string_lossy());
    let (message, short) = match disk::kind_outside(folder) {
        Some(EntryKind::Folder) => return Ok(()),
        Some(_) => {
            let is_archive = folder.extension().is_some_and(|extension| {
                ["zip", "skill"]
                    .iter()
                    .any(|known| extension.eq_ignore_ascii_case(known))
            });
            let hint = if is_archive {
                "unpack the archive, and pass the folder"
            } else {
                "pass --skills-dir a folder of skills"
            };
            (format!("{shown} is not a folder"), hint)
        }
        None => (
            format!("there is no folder {shown}"),
            "check the path after --skills-dir",
        ),
    };
    let hint = clone_hint(&shown).filter(|_| shown.contains(':'));
    let hint = hint.unwrap_or_else(|| short.to_owned());
    Err(Failure::new("FOLDER_NOT_FOUND", message, hint))
}

/// Notes what a person should know of the folders of skills that they named.
pub(super) fn doubtful(settings: &Settings) -> Vec<String> {
    let named = settings.chosen.iter().chain(&settings.explicit);
    let doubtful = named.chain(&settings.environment).filter_map(|folder| {
        let what = match disk::kind_outside(folder) {
            Some(EntryKind::Folder) => return None,
            Some(_) => "not a folder",
            None => "not there yet; it is used once it is",
        };
        let folder = plain(&folder.to_string_lossy());
        Some(format!("a folder of skills is {what}: {folder}"))
    });
    doubtful.collect()
}

/// The settings of the library.
pub(super) fn settings(
    flags: FlagsOf,
    environment: &Environment,
    places: &Places,
    config: &Config,
) -> Settings {
    let named = places.workspace.clone();
    let project = named.or_else(|| environment.directory.clone());
    let mut named = environment.skills_dirs.clone();
    if config.skills_dirs.is_empty() {
        named.extend(environment.storage_path.clone());
    }
    let user = environment.user.as_deref();
    let flagged = places.skills_dirs.iter();
    let flagged: Vec<PathBuf> = flagged.map(|folder| expanded(folder, user)).collect();
    let writable = flagged.first().cloned();
    let (chosen, mut explicit) = match flags {
        FlagsOf::Person | FlagsOf::Operator => (flagged, Vec::new()),
        FlagsOf::Client => (Vec::new(), flagged),
    };
    if !places.no_default_dirs {
        explicit.extend(
            config
                .skills_dirs
                .iter()
                .map(|folder| expanded(folder, user)),
        );
    }
    let default_dirs = !places.no_default_dirs;
    let adopted = config.discovery.adopted.iter();
    let adopted = adopted.map(|folder| expanded(folder, user));
    Settings {
        adopted: adopted.filter(|folder| folder.is_absolute()).collect(),
        chosen,
        explicit,
        environment: named,
        start: environment.directory.clone(),
        project,
        trusted_elsewhere: Some(project::trusted_elsewhere(environment)),
        user: environment.user.clone(),
        default_dirs,
        discover_user: environment.claude_global.unwrap_or(config.discovery.home),
        built_in: None,
        writable,
        is_shared: flags == FlagsOf::Operator,
    }
}

/// Adds the built-in skills, which are files of the home; answers why they are missing where it can't be written.
pub(super) fn unpack(settings: &mut Settings, home: &Home, config: &Config) -> Option<Failure> {
    if !settings.default_dirs || !config.discovery.built_in {
        return None;
    }
    match built_in::unpack(home, &built_in_files()) {
        Ok(folder) => {
            settings.built_in = Some(folder);
            None
        }
        Err(error) => Some(crate::home::unusable(home, &error)),
    }
}

fn built_in_files() -> Vec<(&'static str, &'static [u8])> {
    let mut files = Vec::new();
    let mut open: Vec<&Dir<'static>> = vec![&BUILT_IN];
    while let Some(folder) = open.pop() {
        open.extend(folder.dirs());
        files.extend(
            folder
                .files()
                .filter_map(|file| Some((file.path().to_str()?, file.contents()))),
        );
    }
    files.sort_unstable();
    files
}
