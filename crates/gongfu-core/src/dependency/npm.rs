//! A package of Node.js (`package.json`) and its lock.

mod lock;

use serde_json::{Map, Value, json};

use super::{Language, LeftOut, MAX_PACKAGES, Manifest, ManifestError, PackageSpec};
use crate::skill::SkillPath;

/// The kinds of dependencies that are installed.
const INSTALLED: [&str; 2] = ["dependencies", "optionalDependencies"];
/// Further fields that npm compares with the lock.
const LOCKED: [&str; 2] = ["devDependencies", "peerDependencies"];
/// The longest name of a package, in bytes.
const MAX_NAME: usize = 214;

type Object = Map<String, Value>;

/// The packages of a `package.json`; `None` if it needs none.
///
/// # Errors
/// It is damaged; or names no package of a registry, or anything else although it has a lock.
pub(super) fn parse(
    file: &SkillPath,
    text: &str,
    lock: Option<(&SkillPath, &String)>,
) -> Result<Option<Manifest>, ManifestError> {
    let package = object(file, text)?;
    let mut left_out = LeftOut::default();
    let mut kept = Object::new();
    for kind in INSTALLED {
        kept.extend(dependencies(file, &package, kind, &mut left_out)?);
    }
    // npm compares the lock with all of it.
    let is_error = lock.is_some() || kept.is_empty();
    if kept.is_empty() && left_out.first.is_none() {
        return Ok(None);
    }
    let mut files = vec![file.clone()];
    let mut lock_text = None;
    if let Some((path, text)) = lock {
        files.push(path.clone());
        for kind in LOCKED {
            kept.extend(dependencies(file, &package, kind, &mut left_out)?);
        }
        lock_text = Some(lock::rebuilt(path, text, &kept)?);
    }
    kept.insert("private".to_owned(), json!(true));
    let ignored = ["overrides", "resolutions", "workspaces"];
    let ignored = ignored.iter().filter(|field| package.contains_key(**field));
    for field in ignored {
        left_out.warn(format!(
            "ignored: {file}: `{field}`: only packages and versions are used"
        ));
    }
    let warnings = left_out.warnings(is_error)?;
    Ok(Some(Manifest {
        language: Language::Node,
        files,
        packages: PackageSpec::Package {
            package: Value::Object(kept).to_string(),
            lock: lock_text,
        },
        warnings,
        allowed: Vec::new(),
    }))
}

fn object(file: &SkillPath, text: &str) -> Result<Object, ManifestError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    serde_json::from_str(text).map_err(|error| {
        let line = (error.line() > 0).then(|| error.line());
        ManifestError::new(file, line, format!("it is not a JSON object: {error}"))
    })
}

/// The dependencies of a kind as a field of `package.json`, checked; `None` if there are none.
fn dependencies(
    file: &SkillPath,
    package: &Object,
    kind: &str,
    left_out: &mut LeftOut,
) -> Result<Option<(String, Value)>, ManifestError> {
    let error = |why: String| Err(ManifestError::new(file, None, why));
    let Some(field) = package.get(kind) else {
        return Ok(None);
    };
    let Some(versions) = field.as_object() else {
        return error(format!(
            "`{kind}` is not an object; write e.g. {{\"left-pad\": \"^1.3.0\"}}"
        ));
    };
    if versions.len() > MAX_PACKAGES {
        return error(format!(
            "`{kind}` has more than {MAX_PACKAGES} packages; use fewer"
        ));
    }
    let mut kept = Object::new();
    for (name, version) in versions {
        let wanted = version.as_str().map(str::trim);
        let why = if !is_name(name) {
            format!("`{name}` is not a valid package name")
        } else if let Some(wanted) = wanted.filter(|wanted| is_version(wanted)) {
            kept.insert(name.clone(), json!(wanted));
            continue;
        } else {
            format!(
                "`{name}` is required as `{version}`, but packages come only from the registry; use a version, e.g. \"^1.3.0\""
            )
        };
        left_out.add(ManifestError::new(file, None, why));
    }
    Ok((!kept.is_empty()).then(|| (kind.to_owned(), Value::Object(kept))))
}

/// True for the name of a package, possibly with a scope (`@a/b`).
fn is_name(name: &str) -> bool {
    let is_plain = |part: &str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-~".contains(c);
        !part.is_empty() && part.chars().all(is_plain) && !part.starts_with(['.', '-'])
    };
    let is_whole = match name.strip_prefix('@') {
        Some(scoped) => scoped
            .split_once('/')
            .is_some_and(|(scope, name)| is_plain(scope) && is_plain(name)),
        None => is_plain(name),
    };
    is_whole && name.len() <= MAX_NAME && !is_archive(name)
}

/// True for a version of a package of a registry, or an alias for one (`npm:other@1`).
fn is_version(version: &str) -> bool {
    let Some(alias) = version.strip_prefix("npm:") else {
        return is_range(version);
    };
    let parts = alias.rsplit_once('@').filter(|(name, _)| !name.is_empty());
    let (name, range) = parts.unwrap_or((alias, ""));
    is_name(name) && is_range(range)
}

/// True for a range of versions, or a tag such as `latest`. URLs and paths have other characters.
fn is_range(range: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " .*^~<>=|+-_".contains(c);
    range.chars().all(is_plain) && !range.trim_start().starts_with('.') && !is_archive(range)
}

/// True for what npm takes for the name of a file.
fn is_archive(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    text.contains(".tgz") || text.contains(".tar")
}

#[cfg(test)]
mod tests;
