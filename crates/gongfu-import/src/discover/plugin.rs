//! Plugins of a source, as the manifests of Claude Code list them.

use std::collections::HashMap;

use gongfu_core::skill::SkillPath;
use serde_json::Value;

use super::elsewhere::{self, PluginElsewhere};
use super::folders::join;
use super::json;
use crate::content::Content;
use crate::error::ImportError;

const MARKETPLACE: &str = ".claude-plugin/marketplace.json";
const PLUGIN: &str = ".claude-plugin/plugin.json";

/// The plugins of a source.
#[derive(Debug, Default)]
pub(super) struct Plugins {
    /// Folders whose folders may be skills.
    pub(super) folders: Vec<String>,
    /// Those in other places.
    pub(super) elsewhere: Vec<PluginElsewhere>,
    /// The plugin of a skill, by the skill's folder.
    names: HashMap<String, String>,
}

impl Plugins {
    /// The plugin that lists a skill.
    pub(super) fn of(&self, folder: &SkillPath) -> Option<&str> {
        self.names.get(folder.as_str()).map(String::as_str)
    }

    fn add(&mut self, base: &str, manifest: &Value) {
        let name = manifest.get("name").and_then(Value::as_str);
        let skills = manifest.get("skills").and_then(Value::as_array);
        for skill in skills.into_iter().flatten().filter_map(Value::as_str) {
            let Some(folder) = relative(base, skill) else {
                continue;
            };
            let parent = SkillPath::new(&folder).map(|folder| folder.parent());
            self.folders
                .extend(parent.map(|parent| parent.as_str().to_owned()));
            if let Some(name) = name.filter(|name| !name.is_empty()) {
                self.names.insert(folder, name.to_owned());
            }
        }
        self.folders.push(join(base, "skills"));
    }
}

/// Reads the manifests in a folder.
pub(super) fn read(content: &mut Content, start: &SkillPath) -> Result<Plugins, ImportError> {
    let mut plugins = Plugins::default();
    let start = start.as_str();
    if let Some(manifest) = json(content, &join(start, MARKETPLACE))? {
        let root = manifest.pointer("/metadata/pluginRoot");
        let root = match root.map(Value::as_str) {
            None => Some(start.to_owned()),
            Some(Some(root)) => relative(start, root),
            Some(None) => None,
        };
        let listed = manifest.get("plugins").and_then(Value::as_array);
        for plugin in listed.into_iter().flatten() {
            let base = match plugin.get("source") {
                None => root.clone(),
                Some(Value::String(source)) => {
                    root.as_deref().and_then(|root| relative(root, source))
                }
                Some(_) => {
                    let known = &plugins.elsewhere;
                    let other = elsewhere::read(plugin).filter(|other| !known.contains(other));
                    plugins.elsewhere.extend(other);
                    None
                }
            };
            if let Some(base) = base {
                plugins.add(&base, plugin);
            }
        }
    }
    if let Some(manifest) = json(content, &join(start, PLUGIN))? {
        plugins.add(start, &manifest);
    }
    Ok(plugins)
}

/// A path of a manifest, which starts with `./` and leads nowhere else.
fn relative(base: &str, path: &str) -> Option<String> {
    let below = path.strip_prefix("./")?;
    let joined = SkillPath::new(&join(base, below)).ok()?;
    Some(joined.as_str().to_owned())
}
