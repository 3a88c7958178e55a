//! Plugins and marketplaces of Claude Code, Codex, Cursor and Copilot.
//!
//! A client's own list says what is installed; everything else in a cache is told apart. Forms that aren't documented
//! are read as the clients write them, and anything of another form is passed over.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use gongfu_core::skill::SkillPath;
use gongfu_files::disk::{self, EntryKind, Root};
use serde_json::{Map, Value};

use super::copy::document_in;
use super::origin::{KnownOrigin, folder_below, moment};
use super::place::SkillPlace;
use super::reading::{Form, member, value};
use super::standing::version_order;
use super::{InventoryProblem, KnownSource, PluginCopy, PluginState, Territory};
use crate::agents::expanded;
use crate::scope::ScopeKind;

mod marketplace;

use marketplace::Marketplace;

/// The manifests of plugins.
const MANIFESTS: [&str; 4] = [
    ".claude-plugin/plugin.json",
    ".codex-plugin/plugin.json",
    ".cursor-plugin/plugin.json",
    ".github/plugin/plugin.json",
];
/// A manifest at the top of an installed plugin.
const TOP_MANIFEST: &str = "plugin.json";
/// The most folders of a cache that are looked at.
const MAX_FOLDERS: usize = 5_000;

/// A plugin and its folders of skills.
#[derive(Debug)]
pub(super) struct Plugin {
    folder: PathBuf,
    scope: ScopeKind,
    copy: PluginCopy,
    /// The folders that its marketplace lists; then there are no others.
    listed: Vec<PathBuf>,
}

impl Plugin {
    /// The folders in which its skills are.
    pub(super) fn places(self, problems: &mut Vec<InventoryProblem>) -> Vec<SkillPlace> {
        let mut folders = self.listed.clone();
        if folders.is_empty() {
            let manifests = MANIFESTS.iter().chain([&TOP_MANIFEST]);
            let manifest = manifests
                .filter_map(|file| value(&self.folder.join(file), Form::Json, problems))
                .find(|manifest| manifest.get("skills").is_some());
            folders.extend(
                manifest.map_or_else(Vec::new, |manifest| skill_folders(&manifest, &self.folder)),
            );
            folders.push(self.folder.join("skills"));
            let root = Root::open(&self.folder).ok();
            let is_skill = |root: Root| document_in(&root, &SkillPath::root()).is_some();
            if root.is_some_and(is_skill) {
                folders.push(self.folder.clone());
            }
        }
        let mut known = HashSet::new();
        folders.retain(|folder| known.insert(folder.clone()));
        let places = folders.into_iter().map(|path| SkillPlace {
            path,
            scope: self.scope,
            plugin: Some(self.copy.clone()),
            is_skill: true,
        });
        places.collect()
    }
}

/// The folders that a manifest lists: one, or several.
fn skill_folders(manifest: &Value, base: &Path) -> Vec<PathBuf> {
    let paths: Vec<&str> = match manifest.get("skills") {
        Some(Value::String(path)) => vec![path],
        Some(Value::Array(paths)) => paths.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let folders = paths
        .into_iter()
        .filter_map(|path| folder_below(base, path));
    folders.collect()
}

/// The plugins of a machine and a project, and the marketplaces that their clients know.
pub(super) fn plugins(
    territory: Territory<'_>,
    problems: &mut Vec<InventoryProblem>,
) -> (Vec<Plugin>, Vec<KnownSource>) {
    let mut finder = Finder {
        territory,
        problems,
        plugins: Vec::new(),
        sources: Vec::new(),
        known: HashSet::new(),
    };
    finder.claude();
    finder.codex();
    finder.cursor_and_copilot();
    if let Some(project) = territory.project {
        finder.project(project);
    }
    (finder.plugins, finder.sources)
}

struct Finder<'a> {
    territory: Territory<'a>,
    problems: &'a mut Vec<InventoryProblem>,
    plugins: Vec<Plugin>,
    sources: Vec<KnownSource>,
    /// The real folders of the plugins so far.
    known: HashSet<PathBuf>,
}

impl Finder<'_> {
    fn folder(&self, text: &str) -> PathBuf {
        expanded(text, self.territory.machine, Path::new(""))
    }

    fn read(&mut self, path: &Path, form: Form) -> Option<Value> {
        value(path, form, self.problems)
    }

    fn add(&mut self, plugin: Plugin) {
        let is_folder = disk::kind_outside(&plugin.folder) == Some(EntryKind::Folder);
        if is_folder && self.known.insert(disk::real_outside(&plugin.folder)) {
            self.plugins.push(plugin);
        }
    }

    fn claude(&mut self) {
        let base = self.folder("$CLAUDE_CONFIG_DIR/plugins");
        let markets = self.claude_marketplaces(&base);
        let enabled = self.claude_settings();
        let path = base.join("installed_plugins.json");
        let installed = self.read(&path, Form::Json).unwrap_or_default();
        let list = object(&installed, "plugins");
        if !list.is_empty() {
            self.sources.push(KnownSource {
                kind: "plugins",
                name: Some("Claude Code".to_owned()),
                path: path.clone(),
                from: None,
                entries: list.len(),
            });
        }
        for (id, entry) in list {
            // One object, or since version 2 a list with one for each project.
            let entries = match entry {
                Value::Array(entries) => entries,
                entry => vec![entry],
            };
            for entry in entries {
                let Some(folder) = member(&entry, "installPath").map(PathBuf::from) else {
                    continue;
                };
                if !folder.is_absolute() || disk::kind_outside(&folder).is_none() {
                    let what =
                        format!("the plugin `{id}` is installed, and its folder isn't there");
                    self.problems.push(InventoryProblem::of(&path, what));
                    continue;
                }
                let state = match enabled.get(&id) {
                    Some(false) => PluginState::Disabled,
                    _ => PluginState::Installed,
                };
                let mut plugin = Marketplace::plugin(&markets, &id, folder, state, "Claude Code");
                if let Some(origin) = &mut plugin.copy.origin {
                    origin.version = member(&entry, "version").or(origin.version.take());
                    origin.commit = member(&entry, "gitCommitSha").or(origin.commit.take());
                    origin.time = moment(&entry, &["lastUpdated", "installedAt"]);
                }
                self.add(plugin);
            }
        }
        for (id, version, folder) in versions(&base.join("cache")) {
            let state = PluginState::Cached;
            let mut plugin = Marketplace::plugin(&markets, &id, folder, state, "Claude Code");
            if let Some(origin) = &mut plugin.copy.origin {
                origin.version = Some(version);
                origin.commit = None;
            }
            self.add(plugin);
        }
    }

    fn claude_marketplaces(&mut self, base: &Path) -> BTreeMap<String, Marketplace> {
        let path = base.join("known_marketplaces.json");
        let known = self.read(&path, Form::Json).unwrap_or_default();
        let known = known.as_object().cloned().unwrap_or_default();
        let mut markets = BTreeMap::new();
        for (name, entry) in known {
            let folder = member(&entry, "installLocation").map(PathBuf::from);
            let folder = folder.filter(|folder| folder.is_absolute());
            let folder = folder.unwrap_or_else(|| base.join("marketplaces").join(&name));
            let source = entry.get("source").unwrap_or(&Value::Null);
            let origin = KnownOrigin::manifest("Claude Code", source, None);
            let market = Marketplace::read(&folder, origin, self.problems);
            self.sources.push(market.source(&name, &path));
            markets.insert(name, market);
        }
        markets
    }

    /// The plugins that settings enable or disable, and the marketplaces that they name.
    fn claude_settings(&mut self) -> BTreeMap<String, bool> {
        let mut files = vec![self.folder("$CLAUDE_CONFIG_DIR/settings.json")];
        let project = self
            .territory
            .project
            .map(|project| project.join(".claude"));
        files.extend(project.iter().flat_map(|folder| {
            ["settings.json", "settings.local.json"].map(|name| folder.join(name))
        }));
        let mut enabled = BTreeMap::new();
        for file in files {
            let settings = self.read(&file, Form::Json).unwrap_or_default();
            for (id, is_enabled) in object(&settings, "enabledPlugins") {
                enabled.extend(is_enabled.as_bool().map(|enabled| (id, enabled)));
            }
            for (name, entry) in object(&settings, "extraKnownMarketplaces") {
                let source = entry.get("source").unwrap_or(&Value::Null);
                let origin = KnownOrigin::manifest("Claude Code", source, None);
                self.sources.push(KnownSource {
                    kind: "marketplace",
                    name: Some(name),
                    path: file.clone(),
                    from: origin.map(|origin| origin.text()),
                    entries: 0,
                });
            }
        }
        enabled
    }

    fn codex(&mut self) {
        let base = self.folder("$CODEX_HOME");
        let path = base.join("config.toml");
        let config = self.read(&path, Form::Toml).unwrap_or_default();
        let named: BTreeMap<String, bool> = object(&config, "plugins")
            .into_iter()
            .map(|(id, entry)| {
                let enabled = entry.get("enabled").and_then(Value::as_bool);
                (id, enabled.unwrap_or(true))
            })
            .collect();
        let state = |id: &str| match named.get(id) {
            Some(true) => PluginState::Installed,
            Some(false) => PluginState::Disabled,
            None => PluginState::Cached,
        };
        let mut markets = BTreeMap::new();
        for (name, entry) in object(&config, "marketplaces") {
            let source = member(&entry, "source");
            let origin = source.map(|source| KnownOrigin::git("Codex", &source));
            let folder = base.join(".tmp/marketplaces").join(&name);
            let market = Marketplace::read(&folder, origin, self.problems);
            self.sources.push(market.source(&name, &path));
            markets.insert(name, market);
        }
        if !named.is_empty() {
            self.sources.push(KnownSource {
                kind: "plugins",
                name: Some("Codex".to_owned()),
                path,
                from: None,
                entries: named.len(),
            });
        }
        let mut newest: Option<String> = None;
        let mut cached = versions(&base.join("plugins/cache"));
        // The newest first: a client reads that one.
        cached.sort_by(|left, right| {
            let order = version_order(&right.1, &left.1);
            left.0
                .cmp(&right.0)
                .then(order.unwrap_or_else(|| right.1.cmp(&left.1)))
        });
        for (id, version, folder) in cached {
            let is_first = newest.replace(id.clone()).as_ref() != Some(&id);
            let state = if is_first {
                state(&id)
            } else {
                PluginState::Cached
            };
            let mut plugin = Marketplace::plugin(&markets, &id, folder, state, "Codex");
            if let Some(origin) = &mut plugin.copy.origin {
                origin.version = Some(version);
            }
            self.add(plugin);
        }
        let home = self.territory.machine.home.to_owned();
        let roots = self
            .territory
            .project
            .map(|project| (project.to_owned(), ScopeKind::Project));
        for (root, scope) in roots.into_iter().chain([(home, ScopeKind::User)]) {
            let file = root.join(".agents/plugins/marketplace.json");
            let Some(market) = Marketplace::at(&file, &root, self.problems) else {
                continue;
            };
            let name = market.name();
            self.sources.push(market.source(&name, &file));
            for (plugin, folder) in market.local_plugins() {
                let id = format!("{plugin}@{name}");
                let state = match state(&id) {
                    PluginState::Cached => PluginState::Own,
                    state => state,
                };
                let markets = BTreeMap::new();
                let plugin = Marketplace::plugin(&markets, &id, folder, state, "Codex");
                self.add(Plugin { scope, ..plugin });
            }
        }
    }

    fn cursor_and_copilot(&mut self) {
        for (text, by) in [
            ("~/.cursor/plugins", "Cursor"),
            ("~/.copilot/installed-plugins", "Copilot"),
        ] {
            let base = self.folder(text);
            let mut left = MAX_FOLDERS;
            let mut found = Vec::new();
            with_manifest(&base, 4, &mut left, &mut found);
            for folder in found {
                let state = PluginState::Installed;
                let name = folder.file_name().unwrap_or_default().to_string_lossy();
                let plugin =
                    Marketplace::plugin(&BTreeMap::new(), &name, folder.clone(), state, by);
                self.add(plugin);
            }
        }
    }

    /// The plugins that a project has for others.
    fn project(&mut self, project: &Path) {
        let own = MANIFESTS.iter().map(|file| project.join(file));
        let has_own = own
            .clone()
            .any(|file| disk::kind_outside(&file) == Some(EntryKind::File));
        let mut folders: Vec<(String, PathBuf)> = Vec::new();
        if has_own {
            let name = project.file_name().unwrap_or_default().to_string_lossy();
            folders.push((name.into_owned(), project.to_owned()));
        }
        for file in marketplace::FILES {
            let file = project.join(file);
            if let Some(market) = Marketplace::at(&file, project, self.problems) {
                let name = market.name();
                self.sources.push(market.source(&name, &file));
                let plugins = market.local_plugins().into_iter();
                folders
                    .extend(plugins.map(|(plugin, folder)| (format!("{plugin}@{name}"), folder)));
            }
        }
        for (id, folder) in folders {
            let state = PluginState::Own;
            let plugin = Marketplace::plugin(&BTreeMap::new(), &id, folder, state, "project");
            self.add(Plugin {
                scope: ScopeKind::Project,
                ..plugin
            });
        }
    }
}

/// The members of an object in a value.
fn object(value: &Value, key: &str) -> Map<String, Value> {
    let members = value.get(key).and_then(Value::as_object);
    members.cloned().unwrap_or_default()
}

/// The names of the folders in a folder; of links as well, as they are a person's way to try a plugin.
fn folders(folder: &Path) -> Vec<String> {
    let Ok(root) = Root::open(folder) else {
        return Vec::new();
    };
    let entries = root.list(&SkillPath::root()).unwrap_or_default();
    let entries = entries.into_iter();
    let is_folder = |kind| matches!(kind, EntryKind::Folder | EntryKind::Link);
    let entries = entries.filter(|entry| is_folder(entry.kind) && !entry.name.starts_with('.'));
    entries.map(|entry| entry.name).take(MAX_FOLDERS).collect()
}

/// The folders `MARKETPLACE/PLUGIN/VERSION` of a cache, with the plugin's id and the version.
fn versions(cache: &Path) -> Vec<(String, String, PathBuf)> {
    let mut found = Vec::new();
    for market in folders(cache) {
        for plugin in folders(&cache.join(&market)) {
            let folder = cache.join(&market).join(&plugin);
            for version in folders(&folder) {
                if found.len() < MAX_FOLDERS {
                    let id = format!("{plugin}@{market}");
                    found.push((id, version.clone(), folder.join(version)));
                }
            }
        }
    }
    found
}

/// The folders with a manifest below one.
fn with_manifest(folder: &Path, depth: usize, left: &mut usize, found: &mut Vec<PathBuf>) {
    for name in folders(folder) {
        if *left == 0 {
            return;
        }
        *left -= 1;
        let child = folder.join(name);
        let mut manifests = MANIFESTS.iter().chain([&TOP_MANIFEST]);
        if manifests.any(|file| disk::kind_outside(&child.join(file)) == Some(EntryKind::File)) {
            found.push(child);
        } else if depth > 1 {
            with_manifest(&child, depth - 1, left, found);
        }
    }
}
