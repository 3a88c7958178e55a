//! A package of Node.js (`package.json`), and its lock.

use serde_json::{Map, Value, json};

use super::{Language, MOST, Manifest, Unfit, Wanted};
use crate::skill::SkillPath;

/// What is installed.
const NEEDED: [&str; 2] = ["dependencies", "optionalDependencies"];
/// What a lock has to fit besides.
const OTHERS: [&str; 2] = ["devDependencies", "peerDependencies"];
/// How a version begins that isn't one of a registry's.
const ELSEWHERE: [&str; 9] = [
    "file:",
    "link:",
    "portal:",
    "patch:",
    "workspace:",
    "git",
    "bitbucket:",
    "gist:",
    "http",
];
/// How deep a lock of the first version may nest.
const DEEPEST: usize = 64;

/// What a package says; `None` where it needs nothing.
///
/// # Errors
/// It is damaged, or names something else than packages of a registry.
pub(super) fn read(
    file: &SkillPath,
    text: &str,
    lock: Option<(&SkillPath, &String)>,
) -> Result<Option<Manifest>, Unfit> {
    let package = object(file, text)?;
    let mut wanted = Map::new();
    for kind in NEEDED {
        if let Some(named) = named(file, &package, kind)? {
            wanted.insert(kind.to_owned(), Value::Object(named));
        }
    }
    if wanted.is_empty() {
        return Ok(None);
    }
    let mut files = vec![file.clone()];
    let mut passed_over = Vec::new();
    let lock = lock.map(|(path, text)| {
        files.push(path.clone());
        locked(path, text)
    });
    let lock = lock.transpose()?;
    if lock.is_some() {
        // A lock fits all of it, or none.
        for kind in OTHERS {
            if let Some(other) = named(file, &package, kind)? {
                wanted.insert(kind.to_owned(), Value::Object(other));
            }
        }
        for kind in ["name", "version"] {
            wanted.extend(
                package
                    .get_key_value(kind)
                    .map(|(key, value)| (key.clone(), value.clone())),
            );
        }
    }
    for kind in ["overrides", "resolutions", "workspaces"] {
        if package.contains_key(kind) {
            passed_over.push(format!(
                "{file}: `{kind}` isn't followed: only packages and their versions are"
            ));
        }
    }
    wanted.insert("private".to_owned(), json!(true));
    Ok(Some(Manifest {
        language: Language::Node,
        files,
        wanted: Wanted::Package {
            package: Value::Object(wanted).to_string(),
            lock,
        },
        passed_over,
    }))
}

fn object(file: &SkillPath, text: &str) -> Result<Map<String, Value>, Unfit> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    serde_json::from_str(text).map_err(|error| {
        let line = (error.line() > 0).then(|| error.line());
        Unfit::new(file, line, format!("it is no JSON object: {error}"))
    })
}

/// Packages with the versions that are wanted of them; `None` where there are none.
fn named(
    file: &SkillPath,
    package: &Map<String, Value>,
    kind: &str,
) -> Result<Option<Map<String, Value>>, Unfit> {
    let Some(named) = package.get(kind) else {
        return Ok(None);
    };
    let Some(named) = named.as_object() else {
        let why = format!("`{kind}` is no object; write e.g. {{\"left-pad\": \"^1.3.0\"}}");
        return Err(Unfit::new(file, None, why));
    };
    if named.len() > MOST {
        let why = format!("`{kind}` names more than {MOST} packages; name fewer");
        return Err(Unfit::new(file, None, why));
    }
    for (name, version) in named {
        let Some(version) = version.as_str() else {
            let why = format!("the version of `{name}` is no text; write e.g. \"^1.3.0\"");
            return Err(Unfit::new(file, None, why));
        };
        if !is_name(name) {
            let why = format!("`{name}` can't be the name of a package");
            return Err(Unfit::new(file, None, why));
        }
        if is_elsewhere(version) {
            let why = format!(
                "`{name}` is wanted from `{version}`, and packages come from the registry alone; name a version, e.g. \"^1.3.0\""
            );
            return Err(Unfit::new(file, None, why));
        }
    }
    Ok((!named.is_empty()).then(|| named.clone()))
}

/// Whether a text is the name of a package, perhaps of a scope (`@a/b`).
fn is_name(name: &str) -> bool {
    let is_plain = |part: &str| {
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || "._-~".contains(c);
        !part.is_empty()
            && part.len() <= 214
            && part.chars().all(is_of_name)
            && !part.starts_with(['.', '-'])
    };
    match name.strip_prefix('@') {
        Some(scoped) => scoped
            .split_once('/')
            .is_some_and(|(scope, name)| is_plain(scope) && is_plain(name)),
        None => is_plain(name),
    }
}

/// Whether a version isn't one of a registry's.
fn is_elsewhere(version: &str) -> bool {
    let version = version.trim();
    let lower = version.to_ascii_lowercase();
    if let Some(alias) = version.strip_prefix("npm:") {
        let name = alias.rsplit_once('@').filter(|(name, _)| !name.is_empty());
        return !is_name(name.map_or(alias, |(name, _)| name));
    }
    let is_of_version = |c: char| c.is_ascii_alphanumeric() || " .*^~<>=|+-_".contains(c);
    let is_archive = [".tgz", ".gz", ".tar"]
        .iter()
        .any(|kind| lower.ends_with(kind));
    ELSEWHERE.iter().any(|other| lower.starts_with(other))
        || !version.chars().all(is_of_version)
        || version.starts_with('.')
        || is_archive
}

/// A lock without the places that packages are said to be at: by name, version and digest they are the
/// same from whichever registry.
fn locked(file: &SkillPath, text: &str) -> Result<String, Unfit> {
    let mut lock = object(file, text)?;
    if let Some(Value::Object(packages)) = lock.get_mut("packages") {
        for (at, one) in packages.iter_mut().filter(|(at, _)| !at.is_empty()) {
            let mut parts = at
                .strip_prefix("node_modules/")
                .into_iter()
                .flat_map(|rest| rest.split("/node_modules/"));
            let is_inside = at.starts_with("node_modules/") && parts.all(is_name);
            if !is_inside {
                let why = format!(
                    "`{at}` is a package of its own; only what lies in node_modules is installed"
                );
                return Err(Unfit::new(file, None, why));
            }
            settle(file, at, one)?;
        }
        // What is said once more for the first version of npm.
        lock.remove("dependencies");
    } else if let Some(Value::Object(packages)) = lock.get_mut("dependencies") {
        nested(file, packages, 0)?;
    }
    Ok(Value::Object(lock).to_string())
}

fn nested(file: &SkillPath, packages: &mut Map<String, Value>, depth: usize) -> Result<(), Unfit> {
    if depth > DEEPEST {
        return Err(Unfit::new(
            file,
            None,
            "its packages lie too deep in each other; make it anew with a newer npm",
        ));
    }
    for (name, one) in packages {
        settle(file, name, one)?;
        if let Some(Value::Object(below)) = one.get_mut("dependencies") {
            nested(file, below, depth + 1)?;
        }
    }
    Ok(())
}

fn settle(file: &SkillPath, name: &str, one: &mut Value) -> Result<(), Unfit> {
    let Some(one) = one.as_object_mut() else {
        return Err(Unfit::new(
            file,
            None,
            format!("`{name}` is no object; make the lock anew"),
        ));
    };
    let said = |key: &str| one.get(key).and_then(Value::as_str).unwrap_or_default();
    let is_web =
        said("resolved").starts_with("https://") || said("resolved").starts_with("http://");
    let is_of_registry = (said("resolved").is_empty() || is_web) && !is_elsewhere(said("version"));
    let is_link = one.get("link").and_then(Value::as_bool) == Some(true);
    if is_link || !is_of_registry {
        let why = format!(
            "`{name}` isn't of a registry, and packages come from the registry alone; name a version of it"
        );
        return Err(Unfit::new(file, None, why));
    }
    if one.get("integrity").and_then(Value::as_str).is_none() && is_web {
        let why = format!(
            "`{name}` has no digest (`integrity`), by which it could be told; make the lock anew"
        );
        return Err(Unfit::new(file, None, why));
    }
    one.remove("resolved");
    Ok(())
}
