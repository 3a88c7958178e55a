//! What is to be checked: paths, or names of skills where there is nothing at a path.

use std::path::{Path, PathBuf};

use gongfu_core::near;
use gongfu_files::disk;

use crate::cli::{CheckArguments, CheckFormat, clone_hint, quoted};
use crate::command::list::{library, named};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::terminal::{Terminal, plain};
use crate::wiring;

/// The paths to check. What is no path and no name either stays a path, whose absence is a finding.
pub(super) fn paths(
    arguments: &CheckArguments,
    environment: &Environment,
    terminal: &mut Terminal,
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
            Ok(skill) if arguments.fix => {
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
            Ok(skill) => *path = PathBuf::from(&skill.path),
            Err(_) if arguments.format() == CheckFormat::Text => {
                let names = library.skills().iter().map(|skill| skill.name.as_str());
                terminal.note(&format!("note: {}", hint(&word, near::meant(&word, names))));
            }
            Err(_) => {}
        }
    }
    Ok(paths)
}

fn is_there(path: &Path) -> bool {
    disk::kind_outside(path).is_some()
}

/// What to do about a word that is neither a path nor a name.
fn hint(word: &str, near: Option<&str>) -> String {
    if let Some(hint) = clone_hint(word).filter(|_| word.contains(':')) {
        return hint;
    }
    if word.contains(['*', '?', '[']) {
        return "the shell found no file for this pattern, so it passed it on as it is".to_owned();
    }
    let shown = plain(word);
    match near {
        Some(near) => format!(
            "there is no skill `{shown}` either; did you mean `gongfu skill check {}`?",
            quoted(near)
        ),
        None => format!("there is no skill `{shown}` either; `gongfu list` shows the names"),
    }
}
