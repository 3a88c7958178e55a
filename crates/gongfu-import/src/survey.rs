//! Surveys of skills: the scripts, packages, modules and hosts that their files tell about.
//!
//! For a person who decides whether to install it, and to show what an update changes. A script can hide what it does:
//! only the sandbox limits it.

use std::collections::BTreeSet;

use gongfu_core::dependency::{Language, PackageSpec, Texts, is_manifest, parse};
use gongfu_core::network::Host;
use gongfu_core::skill::SkillPath;
use gongfu_core::skill::check::script::{MAX_SCRIPT, is_script};
use gongfu_files::disk::{Root, TreeKind};
use serde::Serialize;
use serde_json::Value;

/// The longest name of a module, in bytes.
const MAX_MODULE: usize = 100;

/// The scripts of a skill, its packages, and the hosts that it names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Survey {
    /// Its scripts and programs.
    pub scripts: BTreeSet<SkillPath>,
    /// The packages that it declares.
    pub packages: BTreeSet<String>,
    /// The modules that its scripts import, without relative ones.
    pub modules: BTreeSet<String>,
    /// The hosts that its scripts name.
    pub hosts: BTreeSet<String>,
}

impl Survey {
    /// Surveys a folder of this machine. What can't be read is left out.
    pub fn of_folder(root: &Root) -> Self {
        let mut surveyor = Surveyor::default();
        let _ = root.walk(|entry| {
            let path = entry.path.to_str();
            let path = path.and_then(|path| SkillPath::new(path).ok());
            if let (TreeKind::File, Some(path)) = (&entry.kind, path)
                && let Ok(content) = root.read(&path, MAX_SCRIPT as u64)
            {
                surveyor.add(&path, entry.mode & 0o111 != 0, &content.bytes);
            }
            Ok::<_, ()>(())
        });
        surveyor.finish()
    }

    /// The parts that another survey doesn't have.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        Self {
            scripts: &self.scripts - &other.scripts,
            packages: &self.packages - &other.packages,
            modules: &self.modules - &other.modules,
            hosts: &self.hosts - &other.hosts,
        }
    }
}

/// Gathers a survey, file by file.
#[derive(Debug, Default)]
pub(crate) struct Surveyor {
    survey: Survey,
    texts: Texts,
}

impl Surveyor {
    pub(crate) fn add(&mut self, path: &SkillPath, is_executable: bool, bytes: &[u8]) {
        let is_run = is_script(path) || is_executable || bytes.starts_with(b"#!");
        if is_run {
            self.survey.scripts.insert(path.clone());
        }
        if !is_run && !is_manifest(path) || bytes.len() > MAX_SCRIPT {
            return;
        }
        let Ok(text) = std::str::from_utf8(bytes) else {
            return;
        };
        if is_run {
            self.survey.hosts.extend(hosts(text));
            self.survey.modules.extend(text.lines().flat_map(modules));
        }
        self.texts.insert(path.clone(), text.to_owned());
    }

    pub(crate) fn finish(mut self) -> Survey {
        let scripts: Vec<SkillPath> = self.survey.scripts.iter().cloned().collect();
        for language in Language::ALL {
            let manifest = parse(language, &self.texts, &scripts);
            if let Ok(Some(manifest)) = manifest {
                self.survey.packages.extend(packages(&manifest.packages));
            }
        }
        self.survey
    }
}

/// The hosts of the URLs in a script.
fn hosts(text: &str) -> BTreeSet<String> {
    let urls = text.match_indices("://").filter_map(|(at, mark)| {
        let before = text.get(..at)?;
        let is_web = ["http", "https", "ws", "wss", "ftp"]
            .iter()
            .any(|scheme| before.to_ascii_lowercase().ends_with(scheme));
        let rest = is_web.then(|| text.get(at + mark.len()..)).flatten()?;
        let end = rest.find(|character: char| {
            !(character.is_ascii_alphanumeric() || matches!(character, '.' | '-'))
        });
        let host: Host = rest.get(..end.unwrap_or(rest.len()))?.parse().ok()?;
        host.as_str().contains('.').then(|| host.to_string())
    });
    urls.collect()
}

/// The modules that a line of Python or JavaScript imports; relative ones aren't among them.
fn modules(line: &str) -> Vec<String> {
    let line = line.trim();
    let is_word = |character: &char| {
        character.is_alphanumeric() || matches!(character, '_' | '@' | '-' | '/')
    };
    let first = |text: &str| text.trim().chars().take_while(is_word).collect::<String>();
    let quoted = ["require(", "import(", " from ", "import "]
        .iter()
        .filter_map(|mark| {
            let (_, rest) = line.split_once(mark)?;
            let rest = rest.trim_start().strip_prefix(['"', '\''])?;
            Some(first(rest.strip_prefix("node:").unwrap_or(rest)))
        });
    let mut found: Vec<String> = quoted.take(1).collect();
    if let Some(names) = line.strip_prefix("import ") {
        let is_python = !line.contains(['"', '\'', '{']);
        found.extend(names.split(',').filter(|_| is_python).map(first));
    } else if let Some((module, _)) = line
        .strip_prefix("from ")
        .and_then(|rest| rest.split_once(" import "))
    {
        found.push(first(module));
    }
    found.retain(|module| !module.is_empty() && module.len() <= MAX_MODULE);
    found
}

/// The names of declared packages.
fn packages(spec: &PackageSpec) -> Vec<String> {
    match spec {
        PackageSpec::Requirements(requirements) | PackageSpec::Project { requirements, .. } => {
            let lines = requirements.lines.iter();
            lines
                .map(|line| {
                    let is_name = |character: char| {
                        character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.')
                    };
                    line.chars()
                        .take_while(|character| is_name(*character))
                        .collect()
                })
                .filter(|name: &String| !name.is_empty())
                .collect()
        }
        PackageSpec::Package { package, .. } => {
            let package: Value = serde_json::from_str(package).unwrap_or_default();
            let kinds = ["dependencies", "optionalDependencies"];
            let named = kinds
                .iter()
                .filter_map(|kind| package.get(kind)?.as_object());
            named
                .flat_map(|packages| packages.keys().cloned())
                .collect()
        }
        PackageSpec::Imports { .. } => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use gongfu_core::skill::SkillPath;

    use super::Surveyor;

    #[test]
    fn scripts_packages_and_hosts_are_told() {
        let mut surveyor = Surveyor::default();
        let files = [
            ("SKILL.md", "See https://docs.example.com", false),
            (
                "scripts/get.py",
                "# /// script\n# dependencies = [\"requests>=2\"]\n# ///\nimport os.path, json\nfrom .near import x\nfrom yaml import load\nget('https://api.example.com/x')\n",
                false,
            ),
            (
                "tool",
                "#!/bin/sh\ncurl http://127.0.0.1 HTTPS://Files.Example.org:443/a\n",
                false,
            ),
            (
                "scripts/run.mjs",
                "import { a } from 'left-pad';\nconst b = require(\"node:fs\");\nimport './near.js';\nimport 'chalk';\n",
                false,
            ),
            ("bin/run", "\u{1}", true),
            (
                "package.json",
                "{\"dependencies\": {\"left-pad\": \"1\"}}",
                false,
            ),
        ];
        for (path, text, is_executable) in files {
            surveyor.add(
                &SkillPath::new(path).unwrap(),
                is_executable,
                text.as_bytes(),
            );
        }
        let survey = surveyor.finish();
        let scripts: Vec<&str> = survey.scripts.iter().map(SkillPath::as_str).collect();
        assert_eq!(
            scripts,
            ["bin/run", "scripts/get.py", "scripts/run.mjs", "tool"]
        );
        assert_eq!(
            Vec::from_iter(&survey.modules),
            ["chalk", "fs", "json", "left-pad", "os", "yaml"]
        );
        assert_eq!(survey.without(&survey.clone()), super::Survey::default());
        assert_eq!(Vec::from_iter(survey.packages), ["left-pad", "requests"]);
        assert_eq!(
            Vec::from_iter(survey.hosts),
            ["api.example.com", "files.example.org"]
        );
    }
}
