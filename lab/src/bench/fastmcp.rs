//! The server that is measured beside ours: FastMCP with its skills provider, from an environment
//! of its own below `.tools/`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::server::Recipe;
use crate::set::Set;

/// The Python of its environment, from the root of the repository.
const PYTHON: &str = ".tools/bench-venv/bin/python";
/// The program that starts it.
const PROGRAM: &str = "scripts/bench_fastmcp.py";

/// A FastMCP that can be started.
pub(super) struct FastMcp {
    python: PathBuf,
    program: PathBuf,
    /// Its version, for people.
    pub(super) version: String,
}

impl FastMcp {
    /// Looks for it; without it, says why not and what to do.
    pub(super) fn find(root: &Path, python: Option<&Path>) -> Result<Self, String> {
        let python = python.map_or_else(|| root.join(PYTHON), Path::to_owned);
        let program = root.join(PROGRAM);
        let output = Command::new(&python)
            .arg(&program)
            .arg("--version")
            .output();
        match output {
            Ok(output) if output.status.success() => Ok(Self {
                python,
                program,
                version: String::from_utf8_lossy(&output.stdout).trim().to_owned(),
            }),
            Ok(output) => {
                let said = String::from_utf8_lossy(&output.stderr);
                let last = said.lines().last().unwrap_or("it said nothing").to_owned();
                Err(format!(
                    "FastMCP is not measured: it does not start ({last})"
                ))
            }
            Err(error) => Err(format!(
                "FastMCP is not measured: {} does not start ({error}); `just bench` installs it, `--python` names another one",
                python.display()
            )),
        }
    }

    /// A note for people: what is compared.
    pub(super) fn note(&self) -> String {
        format!(
            "FastMCP {} serves skills as resources: its `tools/list` is empty, `skill_list` stands beside its `resources/list`, `skill_load` beside its `resources/read` of the SKILL.md",
            self.version
        )
    }

    /// The recipe that starts it on a set.
    pub(super) fn recipe(&self, set: &Set) -> Recipe {
        let mut arguments = vec![self.program.display().to_string()];
        arguments.extend(
            set.parents
                .iter()
                .map(|parent| parent.display().to_string()),
        );
        Recipe {
            program: self.python.clone(),
            arguments,
            variables: Vec::new(),
        }
    }
}
