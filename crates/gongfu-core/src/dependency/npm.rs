//! A package of Node.js (`package.json`) and its lock.

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
        lock_text = Some(lock_without_urls(path, text)?);
        for kind in LOCKED {
            kept.extend(dependencies(file, &package, kind, &mut left_out)?);
        }
        for field in ["name", "version"] {
            let value = package.get(field).cloned();
            kept.extend(value.map(|value| (field.to_owned(), value)));
        }
    }
    kept.insert("private".to_owned(), json!(true));
    let ignored = ["overrides", "resolutions", "workspaces"];
    let ignored = ignored.iter().filter(|field| package.contains_key(**field));
    for field in ignored {
        left_out.warn(format!(
            "ignored: {file}: `{field}`: only packages and their versions count"
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
        ManifestError::new(file, line, format!("it is no JSON object: {error}"))
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
            "`{kind}` is no object; write e.g. {{\"left-pad\": \"^1.3.0\"}}"
        ));
    };
    if versions.len() > MAX_PACKAGES {
        return error(format!(
            "`{kind}` names more than {MAX_PACKAGES} packages; name fewer"
        ));
    }
    let mut kept = Object::new();
    for (name, version) in versions {
        let why = if !is_name(name) {
            format!("`{name}` can't be the name of a package")
        } else if !version.as_str().is_some_and(is_version) {
            format!(
                "`{name}` is wanted as `{version}`, and packages come from the registry alone; name a version, e.g. \"^1.3.0\""
            )
        } else {
            kept.insert(name.clone(), version.clone());
            continue;
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
    is_whole && name.len() <= MAX_NAME
}

/// True for a version of a package of a registry, or an alias for one (`npm:other@1`).
fn is_version(version: &str) -> bool {
    let version = version.trim();
    if let Some(alias) = version.strip_prefix("npm:") {
        let name = alias.rsplit_once('@').filter(|(name, _)| !name.is_empty());
        return is_name(name.map_or(alias, |(name, _)| name));
    }
    let lower = version.to_ascii_lowercase();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " .*^~<>=|+-_".contains(c);
    let is_archive = [".tgz", ".gz", ".tar"]
        .iter()
        .any(|ending| lower.ends_with(ending));
    // URLs and paths have other characters.
    version.chars().all(is_plain) && !version.starts_with('.') && !is_archive
}

/// The lock without the URLs of its packages: name, version and digest find the same ones in any registry.
fn lock_without_urls(file: &SkillPath, text: &str) -> Result<String, ManifestError> {
    let mut lock = object(file, text)?;
    let Some(Value::Object(packages)) = lock.get_mut("packages") else {
        let why = "it has no `packages`; make it anew with a newer npm, by `npm install --package-lock-only`";
        return Err(ManifestError::new(file, None, why));
    };
    for (path, entry) in packages.iter_mut().filter(|(path, _)| !path.is_empty()) {
        let error = |why: String| Err(ManifestError::new(file, None, why));
        let names = path.strip_prefix("node_modules/");
        if !names.is_some_and(|names| names.split("/node_modules/").all(is_name)) {
            return error(format!(
                "`{path}` is a package of its own; only what lies in node_modules is installed"
            ));
        }
        let version = entry.get("version").and_then(Value::as_str);
        let is_link = entry.get("link").and_then(Value::as_bool) == Some(true);
        if is_link || !entry.is_object() || !version.is_none_or(is_version) {
            return error(format!(
                "`{path}` isn't from a registry, and packages come from the registry alone; name a version of it"
            ));
        }
        let url = entry
            .as_object_mut()
            .and_then(|entry| entry.remove("resolved"));
        if url.is_some() && !entry.get("integrity").is_some_and(Value::is_string) {
            return error(format!(
                "`{path}` has no digest (`integrity`); make the lock anew"
            ));
        }
    }
    // The same once more, for the first version of npm.
    lock.remove("dependencies");
    Ok(Value::Object(lock).to_string())
}
