//! The skills of a site as one plugin, and the marketplaces of Claude Code and of Codex that list it.

use gongfu_core::skill::Digest;
use serde_json::json;

use super::{PublishedSkill, Site, SiteFile, document};
use crate::error::{ImportCode, ImportError};
use crate::fetch::well_known::index::is_name;

/// Names that clients keep for themselves, and words that no other name may have.
const RESERVED: [&str; 3] = ["agent-skills", "knowledge-work-plugins", "life-sciences"];
const RESERVED_WORDS: [&str; 3] = ["anthropic", "claude", "openai"];

/// Refuses a name that a marketplace can't have.
///
/// # Errors
/// It has other characters than a-z, 0-9 and single hyphens, or clients keep it for themselves.
pub fn check_marketplace(name: &str) -> Result<(), ImportError> {
    let refused = |why: &str| {
        let message = format!("`{name}` can't be a marketplace: {why}");
        let hint = "pass another one with --name, such as that of your team";
        Err(ImportError::new(ImportCode::SourceInvalid, message, hint))
    };
    if !is_name(name) {
        return refused("it isn't of a-z, 0-9 and single hyphens");
    }
    if RESERVED.contains(&name) || name.split('-').any(|word| RESERVED_WORDS.contains(&word)) {
        return refused("clients keep this name for themselves");
    }
    Ok(())
}

/// Adds the plugin and the marketplaces.
pub(super) fn add(site: &mut Site, skills: &[PublishedSkill], name: &str) {
    let folder = format!("plugins/{name}");
    let mut lines = Vec::new();
    for skill in skills {
        for file in &skill.files {
            let path = format!("{folder}/skills/{}/{}", skill.name, file.path);
            let is_executable = file.is_executable == Some(true);
            let digest = Digest::of(&file.bytes);
            lines.push(format!("{path} {is_executable} {digest}\n"));
            let bytes = file.bytes.clone();
            site.insert(
                path,
                SiteFile {
                    bytes,
                    is_executable,
                },
            );
        }
    }
    // Clients keep a plugin by its version, so that other files need another one.
    lines.sort();
    let version = Digest::of(lines.concat().as_bytes()).hex(12);
    let version = format!("0.1.0+{version}");
    let description = format!("The skills of {name}");
    let about = json!({ "name": name, "version": version, "description": description });
    let mut of_codex = about.clone();
    if let Some(members) = of_codex.as_object_mut() {
        members.insert("skills".to_owned(), "./skills/".into());
    }
    let documents = [
        (format!("{folder}/.claude-plugin/plugin.json"), about),
        (format!("{folder}/.codex-plugin/plugin.json"), of_codex),
        (
            ".claude-plugin/marketplace.json".to_owned(),
            json!({
                "name": name,
                "owner": { "name": name },
                "metadata": { "description": description },
                "plugins": [{ "name": name, "description": description, "source": format!("./{folder}") }],
            }),
        ),
        (
            ".agents/plugins/marketplace.json".to_owned(),
            json!({
                "name": name,
                "interface": { "displayName": name },
                "plugins": [{
                    "name": name,
                    "source": { "source": "local", "path": format!("./{folder}") },
                    "policy": { "installation": "AVAILABLE", "authentication": "ON_INSTALL" },
                    "category": "Developer Tools",
                }],
            }),
        ),
    ];
    for (path, value) in documents {
        site.insert(path, document(&value));
    }
}
