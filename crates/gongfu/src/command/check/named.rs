//! The paths to check, or the names of skills where there is nothing at a path.

use std::path::{Path, PathBuf};

use gongfu_core::near;
use gongfu_files::disk;

use crate::cli::{CheckArguments, CheckFormat, clone_hint, quoted};
use crate::command::list::{library, named, without_skill_file};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::terminal::plain;
use crate::wiring;

/// The paths to check. For programs, what is no path and no name either stays a path, whose absence is a finding.
pub(super) fn paths(
    arguments: &CheckArguments,
    environment: &Environment,
) -> anyhow::Result<Vec<PathBuf>> {
    let user = environment.user.as_deref();
    let paths = arguments.paths.iter();
    let mut paths: Vec<PathBuf> = paths.map(|path| wiring::expanded(path, user)).collect();
    if paths.iter().all(|path| is_there(path)) {
        return Ok(paths);
    }
    let parts = wiring::parts(environment, &arguments.common.places)?;
    let library = library(&parts)?;
    for path in paths.iter_mut().filter(|path| !is_there(path)) {
        let word = path.to_string_lossy().into_owned();
        match named(&library, &word) {
            Ok(skill) if arguments.fix && library.connection(&skill).is_none() => {
                let folder = quoted(&skill.path);
                return Err(Failure::usage(
                    "INVALID_VALUE",
                    format!(
                        "--fix needs a path, and `{}` is a skill's name",
                        plain(&word)
                    ),
                    format!("`gongfu skill check --fix {folder}`"),
                )
                .into());
            }
            Ok(skill) if library.connection(&skill).is_some() => {
                let message = format!(
                    "`{}` is a skill of another server, whose folder isn't here",
                    plain(&word)
                );
                let hint = "`gongfu skill check` is for its author, who has the folder";
                return Err(Failure::usage("INVALID_VALUE", message, hint).into());
            }
            Ok(skill) => *path = PathBuf::from(&skill.path),
            // What programs read has a finding for each path.
            Err(_) if arguments.format() == CheckFormat::Text => {
                if let Some(failure) = without_skill_file(&library, &word) {
                    return Err(failure.into());
                }
                let names = library.skills().iter().map(|skill| skill.name.as_str());
                let hint = hint(&word, near::meant(&word, names).filter(|_| word.len() > 2));
                let message = format!("there is no folder and no skill `{}`", plain(&word));
                return Err(Failure::new("FOLDER_NOT_FOUND", message, hint).into());
            }
            Err(_) => {}
        }
    }
    Ok(paths)
}

fn is_there(path: &Path) -> bool {
    disk::kind_outside(path).is_some()
}

/// The hint for a word that is neither a path nor a name.
fn hint(word: &str, near: Option<&str>) -> String {
    if let Some(hint) = clone_hint(word).filter(|_| word.contains(':')) {
        return hint;
    }
    if word.contains(['*', '?', '[']) {
        return "no file fits this pattern, so the shell left it as it is; `gongfu skill check .` checks all skills of a folder".to_owned();
    }
    if word.contains('\\') && !cfg!(windows) {
        let path = quoted(&word.replace('\\', "/"));
        return format!("this system writes paths with /: `gongfu skill check {path}`");
    }
    match near {
        Some(near) => format!("did you mean `gongfu skill check {}`?", quoted(near)),
        None => "check the path; `gongfu list` shows the names of skills".to_owned(),
    }
}
