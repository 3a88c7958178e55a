//! Marketplaces: lists of plugins with their sources.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::super::{InventoryProblem, KnownSource, PluginCopy, PluginState};
use super::{KnownOrigin, Plugin, skill_folders};
use crate::inventory::origin::folder_below;
use crate::inventory::reading::{Form, member, value};
use crate::scope::ScopeKind;

/// The files that list plugins, in a repository.
pub(super) const FILES: [&str; 4] = [
    ".claude-plugin/marketplace.json",
    ".cursor-plugin/marketplace.json",
    ".github/plugin/marketplace.json",
    ".agents/plugins/marketplace.json",
];

/// A marketplace that a client knows.
#[derive(Debug)]
pub(super) struct Marketplace {
    folder: PathBuf,
    origin: Option<KnownOrigin>,
    manifest: Value,
}

impl Marketplace {
    /// The marketplace in a copy of its repository.
    pub(super) fn read(
        folder: &Path,
        origin: Option<KnownOrigin>,
        problems: &mut Vec<InventoryProblem>,
    ) -> Self {
        let mut files = FILES.iter().map(|file| folder.join(file));
        let manifest = files.find_map(|file| value(&file, Form::Json, problems));
        Self {
            folder: folder.to_owned(),
            origin,
            manifest: manifest.unwrap_or_default(),
        }
    }

    /// The marketplace of one file, with folders below `root`.
    pub(super) fn at(
        file: &Path,
        root: &Path,
        problems: &mut Vec<InventoryProblem>,
    ) -> Option<Self> {
        Some(Self {
            folder: root.to_owned(),
            origin: None,
            manifest: value(file, Form::Json, problems)?,
        })
    }

    pub(super) fn name(&self) -> String {
        member(&self.manifest, "name").unwrap_or_default()
    }

    fn plugins(&self) -> &[Value] {
        let plugins = self.manifest.get("plugins").and_then(Value::as_array);
        plugins.map(Vec::as_slice).unwrap_or_default()
    }

    /// The marketplace as a source that is known by a file.
    pub(super) fn source(&self, name: &str, path: &Path) -> KnownSource {
        KnownSource {
            kind: "marketplace",
            name: Some(name.to_owned()).filter(|name| !name.is_empty()),
            path: path.to_owned(),
            from: self.origin.as_ref().map(KnownOrigin::text),
            entries: self.plugins().len(),
        }
    }

    /// The plugins that are folders of the same repository.
    pub(super) fn local_plugins(&self) -> Vec<(String, PathBuf)> {
        let root = self.manifest.pointer("/metadata/pluginRoot");
        let root = root.and_then(Value::as_str).unwrap_or(".");
        let plugins = self.plugins().iter().filter_map(|plugin| {
            let source = plugin.get("source")?;
            let path = match source {
                Value::String(path) => path.clone(),
                source if member(source, "source")? == "local" => member(source, "path")?,
                _ => return None,
            };
            let base = folder_below(&self.folder, root)?;
            Some((member(plugin, "name")?, folder_below(&base, &path)?))
        });
        plugins.collect()
    }

    /// A plugin in a folder, with the source that its marketplace says.
    pub(super) fn plugin(
        markets: &BTreeMap<String, Self>,
        id: &str,
        folder: PathBuf,
        state: PluginState,
        by: &'static str,
    ) -> Plugin {
        let (name, market) = id.rsplit_once('@').unwrap_or((id, ""));
        let market = markets.get(market);
        let entry = market.and_then(|market| {
            let mut plugins = market.plugins().iter();
            plugins.find(|plugin| member(plugin, "name").as_deref() == Some(name))
        });
        let source = entry.and_then(|entry| entry.get("source"));
        let origin = market.and_then(|market| {
            let base = market.origin.as_ref();
            let origin = source.and_then(|source| KnownOrigin::manifest(by, source, base));
            let version = entry.and_then(|entry| member(entry, "version"));
            let origin = origin.or_else(|| market.origin.clone())?;
            Some(KnownOrigin {
                by,
                version: origin.version.clone().or(version),
                ..origin
            })
        });
        Plugin {
            listed: entry
                .map(|entry| skill_folders(entry, &folder))
                .unwrap_or_default(),
            folder,
            scope: ScopeKind::User,
            copy: PluginCopy {
                name: id.to_owned(),
                state,
                origin,
            },
        }
    }
}
