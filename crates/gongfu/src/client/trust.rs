//! The projects that a person trusted in a client: read, never written.
//!
//! Each client's own rule is narrowed where that is safer: a home folder, or one above it, covers nothing.

use std::path::{Path, PathBuf};

use gongfu_files::disk;
use serde_json::Value;

use super::file::Snapshot;
use super::folders::Folders;
use super::known::Client;
use crate::environment::Environment;

/// A client that asks its person whether a folder is trusted.
struct Asking {
    client: &'static str,
    /// The file of the answers, beside that of its settings.
    file: &'static str,
    trusts: fn(text: &str, project: &Path, user: &Path) -> Option<bool>,
}

const ASKING: [Asking; 3] = [
    Asking {
        client: "claude-code",
        file: ".claude.json",
        trusts: claude,
    },
    Asking {
        client: "codex",
        file: "config.toml",
        trusts: codex,
    },
    Asking {
        client: "gemini-cli",
        file: "trustedFolders.json",
        trusts: gemini,
    },
];

/// The client in which the person trusted a project, as far as its file can be read.
pub(crate) fn trusting_client(project: &Path, environment: &Environment) -> Option<&'static str> {
    let user = disk::real_outside(environment.user.as_deref()?);
    let folders = Folders::current(environment);
    ASKING.iter().find_map(|asking| {
        let client = Client::by_id(asking.client)?;
        let file = (client.folder)(&folders).join(asking.file);
        let text = Snapshot::read(&file).ok()?.text?;
        (asking.trusts)(&text, project, &user)?.then_some(client.title)
    })
}

/// Claude Code: `projects["/a/project"].hasTrustDialogAccepted`.
fn claude(text: &str, project: &Path, _user: &Path) -> Option<bool> {
    let file: Value = serde_json::from_str(text).ok()?;
    let projects = file.get("projects")?.as_object()?;
    projects
        .get(project.to_str()?)?
        .get("hasTrustDialogAccepted")?
        .as_bool()
}

/// Codex: `[projects."/a/project"]` with `trust_level = "trusted"`.
fn codex(text: &str, project: &Path, _user: &Path) -> Option<bool> {
    let file: toml::Table = toml::from_str(text).ok()?;
    let entry = file.get("projects")?.get(project.to_str()?)?;
    Some(entry.get("trust_level")?.as_str()? == "trusted")
}

/// Gemini CLI: folders with `TRUST_FOLDER`, `TRUST_PARENT` or `DO_NOT_TRUST`; the nearest above the project decides.
fn gemini(text: &str, project: &Path, user: &Path) -> Option<bool> {
    let file: Value = serde_json::from_str(text).ok()?;
    let rules = file.as_object()?.iter().filter_map(|(folder, level)| {
        let (folder, is_trusted) = match level.as_str()? {
            "TRUST_FOLDER" => (PathBuf::from(folder), true),
            "TRUST_PARENT" => (Path::new(folder).parent()?.to_owned(), true),
            "DO_NOT_TRUST" => (PathBuf::from(folder), false),
            _ => return None,
        };
        let counts = !is_trusted || !user.starts_with(&folder);
        (counts && project.starts_with(&folder)).then_some((folder, is_trusted))
    });
    // Of two rules for one folder the stricter one holds.
    let nearest =
        rules.max_by_key(|(folder, is_trusted)| (folder.components().count(), !is_trusted));
    nearest.map(|(_, is_trusted)| is_trusted)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{claude, codex, gemini};

    fn asked(rule: fn(&str, &Path, &Path) -> Option<bool>, text: &str, project: &str) -> bool {
        rule(text, Path::new(project), Path::new("/home/me")) == Some(true)
    }

    #[test]
    fn claude_trusts_exactly_the_project() {
        let text = r#"{"numStartups": 3, "projects": {
            "/home/me": {"hasTrustDialogAccepted": true},
            "/home/me/a": {"hasTrustDialogAccepted": true, "allowedTools": []},
            "/home/me/b": {"hasTrustDialogAccepted": false},
            "/home/me/c": {"hasTrustDialogAccepted": "true"}
        }}"#;
        assert!(asked(claude, text, "/home/me/a"));
        for other in ["/home/me/a/x", "/home/me/b", "/home/me/c", "/home/me/d"] {
            assert!(!asked(claude, text, other), "{other}");
        }
        for broken in [
            "",
            "[]",
            "{\"projects\": 1}",
            "{\"projects\": {\"/home/me/a\": []}}",
        ] {
            assert!(!asked(claude, broken, "/home/me/a"), "{broken}");
        }
    }

    #[test]
    fn codex_trusts_exactly_the_project() {
        let text = "model = \"x\"\n[projects.\"/home/me/a\"]\ntrust_level = \"trusted\"\n\
            [projects.\"/home/me/b\"]\ntrust_level = \"untrusted\"\n[projects.\"/home/me/c\"]\n";
        assert!(asked(codex, text, "/home/me/a"));
        for other in ["/home/me/a/x", "/home/me/b", "/home/me/c", "/home/me"] {
            assert!(!asked(codex, text, other), "{other}");
        }
        assert!(!asked(codex, "projects = 1", "/home/me/a"));
        assert!(!asked(codex, "[projects", "/home/me/a"));
    }

    #[test]
    fn nearest_rule_of_gemini_decides() {
        let text = r#"{"/home/me": "TRUST_FOLDER", "/": "TRUST_FOLDER", "/home/me/work": "TRUST_FOLDER",
            "/home/me/work/bad": "DO_NOT_TRUST", "/home/me/work/bad/good": "TRUST_FOLDER",
            "/home/me/other/x": "TRUST_PARENT", "/home/me/y": "TRUST_PARENT"}"#;
        for trusted in [
            "/home/me/work",
            "/home/me/work/a",
            "/home/me/work/bad/good",
            "/home/me/other/z",
        ] {
            assert!(asked(gemini, text, trusted), "{trusted}");
        }
        for other in [
            "/home/me/workshop",
            "/home/me/work/bad",
            "/home/me/work/bad/b",
            "/home/me/z",
        ] {
            assert!(!asked(gemini, text, other), "{other}");
        }
        assert!(!asked(gemini, "[]", "/home/me/work"));
    }
}
