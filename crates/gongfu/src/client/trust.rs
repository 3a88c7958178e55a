//! The projects that a person trusted in a client, or refused there: read, never written.
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
    /// The answer for a project; `None` where its person gave no answer.
    answer: fn(text: &str, project: &Path, user: &Path) -> Option<bool>,
}

const ASKING: [Asking; 3] = [
    Asking {
        client: "claude-code",
        file: ".claude.json",
        answer: claude,
    },
    Asking {
        client: "codex",
        file: "config.toml",
        answer: codex,
    },
    Asking {
        client: "gemini-cli",
        file: "trustedFolders.json",
        answer: gemini,
    },
];

/// The answers about a project in clients.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Answers {
    /// The first client in which the person trusted it.
    pub(crate) trusted: Option<&'static str>,
    /// The first client in which the person refused to.
    pub(crate) refused: Option<&'static str>,
}

impl Answers {
    /// The client whose trust counts: where one refused, none does.
    pub(crate) fn trusting(self) -> Option<&'static str> {
        self.trusted.filter(|_| self.refused.is_none())
    }
}

/// The answers about a project, as far as files of clients can be read.
///
/// A file in the project itself doesn't count: the author of the project may have written it.
pub(crate) fn answers(project: &Path, environment: &Environment) -> Answers {
    let mut answers = Answers::default();
    let Some(user) = environment.user.as_deref().map(disk::real_outside) else {
        return answers;
    };
    let folders = Folders::current(environment);
    for asking in &ASKING {
        let Some(client) = Client::by_id(asking.client) else {
            continue;
        };
        let file = (client.folder)(&folders).join(asking.file);
        if is_in(&file, project) {
            continue;
        }
        let text = Snapshot::read(&file).ok().and_then(|file| file.text);
        match text.and_then(|text| (asking.answer)(&text, project, &user)) {
            Some(true) => answers.trusted = answers.trusted.or(Some(client.title)),
            Some(false) => answers.refused = answers.refused.or(Some(client.title)),
            None => {}
        }
    }
    answers
}

/// Returns whether a path leads into or through a project, by whatever names and links.
fn is_in(file: &Path, project: &Path) -> bool {
    let id = disk::id_outside(project);
    let is_project =
        |folder: &Path| folder == project || id.is_some() && disk::id_outside(folder) == id;
    let leads_in = |above: &Path| disk::real_outside(above).ancestors().any(is_project);
    file.ancestors().any(leads_in)
}

/// Claude Code: `projects["/a/project"].hasTrustDialogAccepted`. False only says that it hasn't asked yet.
fn claude(text: &str, project: &Path, _user: &Path) -> Option<bool> {
    let file: Value = serde_json::from_str(text).ok()?;
    let projects = file.get("projects")?.as_object()?;
    let answer = projects
        .get(project.to_str()?)?
        .get("hasTrustDialogAccepted")?;
    answer.as_bool().filter(|is_trusted| *is_trusted)
}

/// Codex: `[projects."/a/project"]` with a `trust_level` of `trusted` or `untrusted`.
fn codex(text: &str, project: &Path, _user: &Path) -> Option<bool> {
    let file: toml::Table = toml::from_str(text).ok()?;
    let projects = file.get("projects")?.as_table()?;
    let level = |entry: &toml::Value| Some(entry.get("trust_level")?.as_str()?.to_owned());
    let is_refused = projects.iter().any(|(folder, entry)| {
        level(entry).is_some_and(|level| level == "untrusted") && is_at(folder, project)
    });
    if is_refused {
        return Some(false);
    }
    let level = level(projects.get(project.to_str()?)?)?;
    (level == "trusted").then_some(true)
}

/// Gemini CLI: folders with `TRUST_FOLDER`, `TRUST_PARENT` or `DO_NOT_TRUST`; the nearest above the project decides.
fn gemini(text: &str, project: &Path, user: &Path) -> Option<bool> {
    let file: Value = serde_json::from_str(text).ok()?;
    let rules = file.as_object()?.iter().filter_map(|(folder, level)| {
        let (folder, is_trusted) = match level.as_str()? {
            "TRUST_FOLDER" => (PathBuf::from(folder), true),
            "TRUST_PARENT" => (Path::new(folder).parent()?.to_owned(), true),
            // A link may have led there.
            "DO_NOT_TRUST" => (disk::real_outside(Path::new(folder)), false),
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

/// Returns whether a path in a client's file leads to the project, by a link as well.
fn is_at(folder: &str, project: &Path) -> bool {
    disk::real_outside(Path::new(folder)) == project
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
            let answer = claude(text, Path::new(other), Path::new("/home/me"));
            assert_eq!(answer, None, "{other}");
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
        let refused = |project: &str| codex(text, Path::new(project), Path::new("/home/me"));
        assert_eq!(refused("/home/me/b"), Some(false));
        assert_eq!(refused("/home/me/c"), None);
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
        let answer = |project: &str| gemini(text, Path::new(project), Path::new("/home/me"));
        assert_eq!(answer("/home/me/work/bad/b"), Some(false));
        assert_eq!(answer("/home/me/z"), None);
        assert!(!asked(gemini, "[]", "/home/me/work"));
    }
}
