//! The lock of npm (`package-lock.json`), rebuilt from the few members that name packages of a registry.
//!
//! npm fetches whatever a lock names, also from URLs, repositories and folders. So nothing is kept that isn't known
//! to be harmless.

use serde_json::{Value, json};

use super::{Object, is_archive, is_name, is_version, object};
use crate::dependency::ManifestError;
use crate::skill::SkillPath;

type Check = fn(&Value) -> bool;

/// The members of an entry that are kept, each with a check of its value.
const MEMBERS: [(&str, Check); 18] = [
    // An alias has the name of its package here.
    ("name", is_package),
    ("version", is_exact_version),
    ("integrity", is_integrity),
    ("dev", Value::is_boolean),
    ("optional", Value::is_boolean),
    ("devOptional", Value::is_boolean),
    ("peer", Value::is_boolean),
    ("inBundle", Value::is_boolean),
    ("bundleDependencies", is_bundle),
    ("bin", is_bin),
    ("engines", is_plain),
    ("os", is_plain),
    ("cpu", is_plain),
    ("libc", is_plain),
    ("dependencies", are_requirements),
    ("optionalDependencies", are_requirements),
    ("peerDependencies", are_requirements),
    ("peerDependenciesMeta", are_peer_settings),
];
const REMEDY: &str = "update the lock file with `npm install --package-lock-only`";

/// The lock for a `package.json` that is checked already: name, version and digest of each package, which find the
/// same ones in any registry.
pub(super) fn rebuilt(
    file: &SkillPath,
    text: &str,
    package: &Object,
) -> Result<String, ManifestError> {
    let error = |why: String| Err(ManifestError::new(file, None, why));
    let Some(Value::Object(entries)) = object(file, text)?.remove("packages") else {
        return error(
            "it has no `packages`; update it with a newer npm: `npm install --package-lock-only`"
                .to_owned(),
        );
    };
    let mut packages = Object::new();
    packages.insert(String::new(), Value::Object(package.clone()));
    for (path, entry) in entries.into_iter().filter(|(path, _)| !path.is_empty()) {
        let names = path.strip_prefix("node_modules/");
        if !names.is_some_and(|names| names.split("/node_modules/").all(is_name)) {
            return error(format!(
                "`{path}` is a workspace package; only packages in node_modules are installed"
            ));
        }
        let Value::Object(mut entry) = entry else {
            return error(format!("`{path}` is not an object; {REMEDY}"));
        };
        if entry.contains_key("link") || !entry.contains_key("version") {
            return error(format!(
                "`{path}` isn't from a registry, but packages come only from the registry; use a version of it"
            ));
        }
        if entry.contains_key("resolved") && !entry.contains_key("integrity") {
            return error(format!("`{path}` has no digest (`integrity`); {REMEDY}"));
        }
        let mut kept = Object::new();
        for (member, is_fine) in MEMBERS {
            let Some(value) = entry.remove(member) else {
                continue;
            };
            if !is_fine(&value) {
                return error(format!(
                    "`{path}` has a `{member}`, which packages of a registry don't have; {REMEDY}"
                ));
            }
            kept.insert(member.to_owned(), value);
        }
        packages.insert(path, Value::Object(kept));
    }
    Ok(json!({ "lockfileVersion": 3, "requires": true, "packages": packages }).to_string())
}

/// True for the name of a package.
fn is_package(value: &Value) -> bool {
    value.as_str().is_some_and(is_name)
}

/// True for one version, not a range of them.
fn is_exact_version(value: &Value) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    value.as_str().is_some_and(|version| {
        version.starts_with(|c: char| c.is_ascii_digit())
            && version.chars().all(is_plain)
            && !is_archive(version)
    })
}

/// True for digests (W3C, "Subresource Integrity").
fn is_integrity(value: &Value) -> bool {
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || "+/=".contains(c);
    let is_digest = |word: &str| {
        let digest = word.split_once('-');
        digest.is_some_and(|(kind, digest)| {
            ["sha1", "sha256", "sha384", "sha512"].contains(&kind) && digest.chars().all(is_base64)
        })
    };
    value
        .as_str()
        .is_some_and(|digests| !digests.is_empty() && digests.split(' ').all(is_digest))
}

/// True for names of packages, or a flag for all of them.
fn is_bundle(value: &Value) -> bool {
    let names = value.as_array();
    value.is_boolean() || names.is_some_and(|names| names.iter().all(is_package))
}

/// True for one path in the package, or several by the names of programs.
fn is_bin(value: &Value) -> bool {
    let is_inside = |value: &Value| {
        let is_inside = |path: &str| {
            let is_odd = |c: char| c.is_control() || c == '\\';
            !path.contains(is_odd)
                && !path.starts_with('/')
                && path.split('/').all(|part| part != "..")
        };
        value.as_str().is_some_and(is_inside)
    };
    let programs = value.as_object();
    is_inside(value)
        || programs.is_some_and(|programs| {
            let mut programs = programs.iter();
            programs.all(|(name, path)| is_name(name) && is_inside(path))
        })
}

/// True for a text, or a list or an object of texts.
fn is_plain(value: &Value) -> bool {
    let is_text = |value: &Value| {
        let text = value.as_str();
        text.is_some_and(|text| !text.contains(char::is_control))
    };
    match value {
        Value::Array(values) => values.iter().all(is_text),
        Value::Object(values) => values.values().all(is_text),
        value => is_text(value),
    }
}

/// True for packages with their versions.
fn are_requirements(value: &Value) -> bool {
    value.as_object().is_some_and(|versions| {
        let mut versions = versions.iter();
        versions.all(|(name, version)| is_name(name) && version.as_str().is_some_and(is_version))
    })
}

/// True for packages with flags.
fn are_peer_settings(value: &Value) -> bool {
    let is_flags = |value: &Value| {
        let flags = value.as_object();
        flags.is_some_and(|flags| flags.values().all(Value::is_boolean))
    };
    value.as_object().is_some_and(|packages| {
        let mut packages = packages.iter();
        packages.all(|(name, flags)| is_name(name) && is_flags(flags))
    })
}
