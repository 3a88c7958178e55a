//! The modules that scripts import, as the parser of their own language finds them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use gongfu_core::dependency::{Failure, FailureKind, Imports, Language, Manifest, PackageSpec};
use gongfu_core::library::Skill;
use gongfu_core::sandbox::{CapturedOutput, Command, Input, Limits, Reach, SKILL, Spec};
use gongfu_core::skill::SkillPath;
use serde::Deserialize;

use crate::build::{disk, io_failure};
use crate::step::port_failure;
use crate::{Inner, node, python, read_only};

/// The limit of what is kept of the imports, in bytes.
const MAX_IMPORTS: usize = 2 * 1024 * 1024;
/// The time limit of parsing.
const TIMEOUT: Duration = Duration::from_secs(30);

impl Inner {
    /// The modules that the scripts of a manifest import, found once for each version of a skill.
    pub(crate) async fn imports(
        &self,
        skill: &Skill,
        manifest: &Manifest,
    ) -> Result<Imports, Failure> {
        let name = format!("{}-imports", self.key(manifest.language, manifest.digest()));
        let (storage, wanted) = (self.storage.clone(), name.clone());
        if let Some(known) = disk(move || storage.scan(&wanted)).await? {
            return Ok(known);
        }
        let imports = self.scanned(skill, manifest).await?;
        self.storage
            .keep_scan(&name, &imports)
            .map_err(io_failure)?;
        Ok(imports)
    }

    /// The same, looked up in the scripts.
    async fn scanned(&self, skill: &Skill, manifest: &Manifest) -> Result<Imports, Failure> {
        let lease = self.skills.materialize(skill).await;
        let lease = lease.map_err(|error| port_failure(&error))?;
        let PackageSpec::Imports { scripts, started } = &manifest.packages else {
            return Ok(Imports::default());
        };
        let scripts: Vec<&str> = scripts.keys().map(SkillPath::as_str).collect();
        let started: Vec<&str> = started.iter().map(SkillPath::as_str).collect();
        let input = serde_json::json!({ "scripts": scripts, "started": started }).to_string();
        let command: &[&str] = match manifest.language {
            Language::Python => &["python3", "-I", "-S", "-c", python::IMPORTS],
            Language::Node => &["node", "-e", node::IMPORTS],
        };
        let spec = Spec {
            command: Command::Program(command.iter().map(|&word| word.to_owned()).collect()),
            folder: SKILL.to_owned(),
            mounts: vec![read_only(&lease.folder, SKILL)],
            programs: Vec::new(),
            environment: BTreeMap::new(),
            input: Input::Bytes(input.into_bytes()),
            dialogue: None,
            reach: Reach::default(),
            limits: Limits {
                wall: TIMEOUT,
                cpu: TIMEOUT,
                shown: MAX_IMPORTS,
                ..Limits::default()
            },
            logs: None,
            links: Vec::new(),
            hidden: Vec::new(),
            holding: None,
        };
        let outcome = self.run(manifest.language, spec, Arc::new(|_, _| {}), &str::to_owned);
        let imports = read(&outcome.await?.stdout)?;
        Ok(imports.shortened(manifest.language))
    }
}

/// A line of what is printed.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    /// A module, and a script that imports it.
    Module(String, String),
    /// The same for a module that may be the skill's own.
    Doubtful(String, String),
    /// A module without which a script ends as soon as it starts.
    Needed(String),
    /// A script that couldn't be parsed, and why.
    Unread(String),
}

/// The imports that were printed, as far as they are kept.
fn read(printed: &CapturedOutput) -> Result<Imports, Failure> {
    let mut imports = Imports::default();
    let mut kept = printed.head.as_slice();
    if printed.left_out > 0 {
        // The last line may be a part of one.
        let end = kept.iter().rposition(|&byte| byte == b'\n').unwrap_or(0);
        kept = kept.get(..end).unwrap_or_default();
        imports.unread.push(format!(
            "the list of imports is longer than {} MiB; the rest is ignored",
            MAX_IMPORTS >> 20
        ));
    }
    for line in serde_json::Deserializer::from_slice(kept).into_iter() {
        let line = line.map_err(|error| {
            let why = format!("can't read the imports of the scripts: {error}");
            Failure::new(FailureKind::Other, why)
        })?;
        match line {
            Line::Module(module, script) => {
                imports.modules.entry(module).or_default().push(script);
            }
            Line::Doubtful(module, script) => {
                imports.doubtful.entry(module).or_default().push(script);
            }
            Line::Needed(module) => {
                imports.needed.insert(module);
            }
            Line::Unread(why) => imports.unread.push(why),
        }
    }
    Ok(imports)
}

#[cfg(test)]
mod tests;
