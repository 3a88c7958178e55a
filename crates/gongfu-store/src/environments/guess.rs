//! What scripts import, where nobody says what they need: asked of the language itself, and taken for the
//! packages that are called so.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use gongfu_core::account::Owner;
use gongfu_core::dependency::{Failure, Imported, Kind, Language, Manifest, Requirements, Wanted};
use gongfu_core::sandbox::{Command, Input, Limits, Reach, SKILL, Spec};
use gongfu_core::skill::SkillPath;

use super::ended::{judged, of_port};
use super::{Inner, node, only_read, python};

/// How long it may take to read what scripts import.
const READING: Duration = Duration::from_secs(30);
/// How much of what is said of it is looked at, in bytes.
const SHOWN: usize = 1024 * 1024;

/// Which modules the scripts of a skill import.
pub(super) async fn imports(
    inner: &Arc<Inner>,
    owner: &Owner,
    folder: &Path,
    manifest: &Manifest,
) -> Result<Imported, Failure> {
    let words = match manifest.language {
        Language::Python => python::imports(),
        Language::Node => node::imports(),
    };
    let scripts: Vec<&str> = manifest.files.iter().map(SkillPath::as_str).collect();
    let scripts = serde_json::json!(scripts).to_string();
    let mut mounts = vec![only_read(folder, SKILL)];
    let mut programs = Vec::new();
    for (mount, program) in inner.interpreters.shown() {
        mounts.push(mount);
        programs.push(program);
    }
    let spec = Spec {
        command: Command::Program(words),
        folder: SKILL.to_owned(),
        mounts,
        programs,
        environment: BTreeMap::new(),
        input: Input::Bytes(scripts.into_bytes()),
        reach: Reach::default(),
        limits: Limits {
            wall: READING,
            cpu: READING,
            shown: SHOWN,
            ..Limits::default()
        },
        logs: None,
    };
    let outcome = inner.sandbox.run(owner, spec, Arc::new(|_, _| {})).await;
    let outcome = outcome.map_err(|error| of_port(&error))?;
    let said = String::from_utf8_lossy(&outcome.stderr.head).into_owned();
    let outcome = judged(manifest.language, outcome, &said)?;
    let imported: Imported = serde_json::from_slice(&outcome.stdout.head).map_err(|error| {
        Failure::new(
            Kind::Other,
            format!("what scripts import can't be told: {error}"),
        )
    })?;
    Ok(imported)
}

/// What is installed for the sake of what is imported.
pub(super) fn guessed(language: Language, names: &[String]) -> Wanted {
    match language {
        Language::Python => Wanted::Requirements(Requirements {
            lines: names.to_vec(),
            ..Requirements::default()
        }),
        Language::Node => {
            let wanted: BTreeMap<&String, &str> = names.iter().map(|name| (name, "*")).collect();
            Wanted::Package {
                package: serde_json::json!({ "private": true, "dependencies": wanted }).to_string(),
                lock: None,
            }
        }
    }
}

/// A name as indexes compare it (PEP 503).
pub(super) fn normal(name: &str) -> String {
    name.to_ascii_lowercase().replace(['_', '.'], "-")
}
