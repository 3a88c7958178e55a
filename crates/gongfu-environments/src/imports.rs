//! The modules that scripts import, as the parser of their own language finds them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use gongfu_core::dependency::{Failure, FailureKind, Imports, Language, Manifest, PackageSpec};
use gongfu_core::library::Skill;
use gongfu_core::sandbox::{Command, Input, Limits, Reach, SKILL, Spec};
use gongfu_core::skill::SkillPath;

use crate::step::{MAX_OUTPUT, port_failure};
use crate::{Inner, node, python, read_only};

/// The time limit of parsing.
const TIMEOUT: Duration = Duration::from_secs(30);

impl Inner {
    /// The modules that the scripts of a manifest import.
    pub(crate) async fn imports(
        &self,
        skill: &Skill,
        manifest: &Manifest,
    ) -> Result<Imports, Failure> {
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
            reach: Reach::default(),
            limits: Limits {
                wall: TIMEOUT,
                cpu: TIMEOUT,
                shown: MAX_OUTPUT,
                ..Limits::default()
            },
            logs: None,
            links: Vec::new(),
            hidden: Vec::new(),
            holding: None,
        };
        let outcome = self.run(manifest.language, spec, Arc::new(|_, _| {}));
        let printed = outcome.await?.stdout.head;
        let imports: Imports = serde_json::from_slice(&printed).map_err(|error| {
            let why = format!("the imports of the scripts can't be read: {error}");
            Failure::new(FailureKind::Other, why)
        })?;
        Ok(imports.shortened(manifest.language))
    }
}
