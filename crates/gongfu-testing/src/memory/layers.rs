//! Layers above skills, in memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use gongfu_core::library::Skill;
use gongfu_core::port::{
    FileContent, LayerInfo, Layers, Lease, Pending, PortError, Timestamp, ready,
};
use gongfu_core::sandbox::MAX_LAYER_BYTES;
use gongfu_core::skill::{Digest, SkillPath};
use tempfile::TempDir;

use super::file_tree::FileTree;

/// The most files of a layer that are listed.
const MAX_FILES: usize = 5_000;

/// The layers of one space, by the full name of the skill and its version; without one for every version.
#[derive(Debug, Default)]
pub struct MemoryLayers(Mutex<HashMap<Key, FileTree>>);

type Key = (Arc<str>, Option<Digest>);

fn key(skill: &Skill) -> Key {
    (Arc::clone(&skill.full_name), Some(skill.digest()))
}

fn id(key: &Key) -> String {
    let version = key
        .1
        .map_or_else(|| "any".to_owned(), |digest| digest.hex(32));
    format!("{}-{version}", key.0)
}

fn bytes(files: &FileTree) -> u64 {
    files.0.values().map(|bytes| bytes.len() as u64).sum()
}

fn listed(files: &FileTree) -> Vec<(SkillPath, u64)> {
    let files = files.0.iter().take(MAX_FILES);
    let files = files.map(|(path, bytes)| (SkillPath::new(path).unwrap(), bytes.len() as u64));
    files.collect()
}

impl MemoryLayers {
    /// Puts a file into the layer of a skill, as a run would, whatever its version.
    pub fn put(&self, skill: &str, path: &str, bytes: &[u8]) {
        let mut layers = self.0.lock().unwrap();
        let files = layers.entry((skill.into(), None)).or_default();
        files.0.insert(path.to_owned(), bytes.to_vec());
    }

    fn files(&self, skill: &Skill) -> FileTree {
        let layers = self.0.lock().unwrap();
        let key = key(skill);
        let files = layers.get(&key).or_else(|| layers.get(&(key.0, None)));
        files.cloned().unwrap_or_default()
    }
}

impl Layers for MemoryLayers {
    fn read<'a>(
        &'a self,
        skill: &'a Skill,
        path: &'a SkillPath,
        limit: u64,
    ) -> Pending<'a, FileContent> {
        ready(self.files(skill).read(path, limit))
    }

    fn list<'a>(&'a self, skill: &'a Skill) -> Pending<'a, Vec<(SkillPath, u64)>> {
        ready(Ok(listed(&self.files(skill))))
    }

    fn lease<'a>(&'a self, skill: &'a Skill) -> Pending<'a, Lease> {
        let lease = lease(&self.files(skill));
        ready(lease.map_err(|error| PortError::Other(error.into())))
    }

    fn commit<'a>(&'a self, skill: &'a Skill, lease: Lease) -> Pending<'a, ()> {
        let files = match tree(&lease.folder) {
            Ok(files) => files,
            Err(error) => return ready(Err(PortError::Other(error.into()))),
        };
        self.0.lock().unwrap().insert(key(skill), files);
        ready(Ok(()))
    }

    fn room(&self) -> Pending<'_, u64> {
        let layers = self.0.lock().unwrap();
        let bytes: u64 = layers.values().map(bytes).sum();
        ready(Ok(MAX_LAYER_BYTES.saturating_sub(bytes)))
    }

    fn all<'a>(&'a self, skill: Option<&'a Skill>) -> Pending<'a, Vec<LayerInfo>> {
        let layers = self.0.lock().unwrap();
        let of = |key: &Key| skill.is_none_or(|skill| skill.full_name == key.0);
        let all = layers.iter().filter(|(key, _)| of(key));
        let all = all.map(|(layer, files)| LayerInfo {
            id: id(layer),
            skill: layer.0.to_string(),
            folder: layer.0.to_string(),
            used: Timestamp(0),
            files: files.0.len() as u64,
            bytes: bytes(files),
            is_current: skill.is_some_and(|skill| layer.1.is_none() || *layer == key(skill)),
        });
        ready(Ok(all.collect()))
    }

    fn files<'a>(&'a self, wanted: &'a str) -> Pending<'a, Vec<(SkillPath, u64)>> {
        let layers = self.0.lock().unwrap();
        let found = layers.iter().find(|(key, _)| id(key) == wanted);
        ready(
            found
                .map(|(_, files)| listed(files))
                .ok_or(PortError::NotFound),
        )
    }

    fn clear<'a>(&'a self, wanted: &'a str) -> Pending<'a, ()> {
        let mut layers = self.0.lock().unwrap();
        let found = layers.keys().find(|key| id(key) == wanted).cloned();
        let removed = found.and_then(|key| layers.remove(&key));
        ready(removed.map(|_| ()).ok_or(PortError::NotFound))
    }
}

/// Writes a tree into a folder that lives as long as the lease.
pub(crate) fn lease(tree: &FileTree) -> std::io::Result<Lease> {
    let folder = TempDir::new()?;
    for (path, bytes) in &tree.0 {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(folder.path()))?;
        std::fs::write(path, bytes)?;
    }
    Ok(Lease {
        folder: folder.path().to_owned(),
        hold: Arc::new(folder),
    })
}

fn tree(root: &std::path::Path) -> std::io::Result<FileTree> {
    let mut tree = FileTree::default();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else if let Some(name) = path.strip_prefix(root).ok().and_then(|path| path.to_str()) {
                tree.0.insert(name.to_owned(), std::fs::read(&path)?);
            }
        }
    }
    Ok(tree)
}
