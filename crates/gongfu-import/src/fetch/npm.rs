//! Packages of npm, fetched by the person's own `npm`, so that their registry, proxies and tokens count.
//!
//! No script of a package is run.

use std::path::Path;
use std::time::Duration;

use gongfu_core::skill::SkillPath;
use gongfu_files::disk::Root;
use serde_json::{Map, Value};

use super::artifact;
use super::web::MAX_ARTIFACT;
use crate::content::Content;
use crate::error::{ImportCode, ImportError};
use crate::program::Program;

/// The time that `npm` may take.
const TIMEOUT: Duration = Duration::from_mins(2);
/// The most bytes of what `npm` says about a package: it lists its files.
const MAX_OUTPUT: u64 = 16 * 1024 * 1024;
/// The longest message of `npm` that is shown, in characters.
const MAX_MESSAGE: usize = 300;

/// A package that was fetched.
#[derive(Debug)]
pub struct NpmPackage {
    /// Its name.
    pub name: String,
    /// Its version, where a range or a tag may have been asked for.
    pub version: String,
    /// The digest of its archive, as lock files of npm write it.
    pub integrity: Option<String>,
    /// Its files.
    pub content: Content,
}

/// Fetches a package. The version may be a range or a tag. The folder is empty and removed by the caller.
///
/// # Errors
/// `npm` isn't installed, doesn't find the package, or the package isn't taken.
pub fn fetch(name: &str, version: Option<&str>, folder: &Path) -> Result<NpmPackage, ImportError> {
    fetch_by("npm", name, version, folder)
}

fn fetch_by(
    program: &str,
    name: &str,
    version: Option<&str>,
    folder: &Path,
) -> Result<NpmPackage, ImportError> {
    let spec = match version {
        // npm would take it for a path.
        Some(version) if version.starts_with(['.', '~', '/']) && !is_tilde_range(version) => {
            let message = format!("`{version}` isn't a version of a package");
            let hint = "write npm:NAME@VERSION, as in npm:skills@1.2.0";
            return Err(ImportError::new(ImportCode::SourceInvalid, message, hint));
        }
        Some(version) => format!("{name}@{version}"),
        None => name.to_owned(),
    };
    let options = ["pack", "--ignore-scripts", "--json", "--loglevel=error"];
    let mut arguments: Vec<_> = options.map(Into::into).into();
    arguments.extend(["--no-update-notifier".into(), "--pack-destination".into()]);
    arguments.extend([folder.into(), "--".into(), spec.clone().into()]);
    let output = Program {
        name: program,
        arguments,
        folder: Some(folder),
        variables: Vec::new(),
        stdin: None,
        // Its runtime reserves more than it uses.
        memory: 0,
        timeout: TIMEOUT,
        max_output: MAX_OUTPUT,
        watch: None,
    }
    .run()?;
    let answer: Option<Value> = serde_json::from_slice(&output.stdout).ok();
    if output.status != Some(0) {
        let why = reason(answer.as_ref(), &output.stderr);
        let message = format!("npm can't fetch `{spec}`: {why}");
        let hint = "check the name and the version; `npm view` shows whether your registry has it";
        return Err(ImportError::unreachable(message, hint));
    }
    let package = answer.as_ref().and_then(package).ok_or_else(strange)?;
    let text = |key: &str| package.get(key).and_then(Value::as_str).map(str::to_owned);
    let file = text("filename").ok_or_else(strange)?;
    Ok(NpmPackage {
        name: text("name").ok_or_else(strange)?,
        version: text("version").ok_or_else(strange)?,
        integrity: text("integrity"),
        content: artifact::read(archive(folder, &file)?, &format!("`{spec}`"))?,
    })
}

/// Returns true for a range such as `~1.2`.
fn is_tilde_range(version: &str) -> bool {
    let rest = version.strip_prefix('~').unwrap_or_default();
    rest.starts_with(|first: char| first.is_ascii_digit())
}

/// The package in an answer: a list of one, or by its name.
fn package(answer: &Value) -> Option<&Map<String, Value>> {
    let package = match answer {
        Value::Array(packages) => packages.first(),
        Value::Object(packages) => packages.values().next(),
        _ => None,
    };
    package.and_then(Value::as_object)
}

/// Reads the archive that `npm` wrote.
fn archive(folder: &Path, file: &str) -> Result<Vec<u8>, ImportError> {
    // Some versions write the name of the package into it, as it is.
    let file = file.trim_start_matches('@').replace('/', "-");
    let path = SkillPath::new(&file).map_err(|_| strange())?;
    let read = Root::open(folder).and_then(|root| root.read(&path, MAX_ARTIFACT));
    let content = read.map_err(|error| {
        let message = format!("the archive that npm wrote can't be read: {error}");
        ImportError::new(ImportCode::ProgramMissing, message, "update npm")
    })?;
    if content.is_cut() {
        let message = format!("`{file}` is longer than {MAX_ARTIFACT} bytes");
        return Err(ImportError::too_large(message));
    }
    Ok(content.bytes)
}

/// The reason of a failure, in one line.
fn reason(answer: Option<&Value>, messages: &str) -> String {
    let summary = answer.and_then(|answer| answer.get("error")?.get("summary")?.as_str());
    let message = messages.lines().find(|line| !line.trim().is_empty());
    let reason = summary.filter(|summary| !summary.is_empty()).or(message);
    let reason = reason.unwrap_or("it says nothing");
    gongfu_core::text::clipped(reason, MAX_MESSAGE, ' ')
}

fn strange() -> ImportError {
    let message = "npm doesn't say which file it wrote";
    let hint = "update npm: version 7 or later is needed";
    ImportError::new(ImportCode::ProgramMissing, message, hint)
}

#[cfg(test)]
mod tests;
