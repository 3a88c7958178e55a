//! Layers above skills, in memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use gongfu_core::library::Skill;
use gongfu_core::port::{FileContent, Layers, Lease, Pending, PortError, ready};
use gongfu_core::skill::{Digest, SkillPath};
use tempfile::TempDir;

use super::file_tree::FileTree;

/// The most files of a layer that are listed.
const MAX_FILES: usize = 5_000;

/// The layers of one space, by the full name of the skill.
#[derive(Debug, Default)]
pub struct MemoryLayers(Mutex<HashMap<Arc<str>, Layer>>);

/// The files that runs left, and the digests of the skill's own files of the same paths then.
#[derive(Debug, Clone, Default)]
struct Layer {
    files: FileTree,
    originals: HashMap<String, Digest>,
}

impl Layer {
    /// The files that the skill didn't change later.
    fn current(mut self, skill: &Skill) -> FileTree {
        let originals = self.originals;
        self.files.0.retain(|path, _| {
            let before = originals.get(path);
            before.is_none_or(|before| original(skill, path).as_ref() == Some(before))
        });
        self.files
    }
}

/// The digest of a skill's own file.
fn original(skill: &Skill, path: &str) -> Option<Digest> {
    let mut files = skill.files.iter();
    files.find(|file| file.path.as_str() == path)?.digest
}

impl MemoryLayers {
    /// Puts a file into the layer of a skill, as a run would.
    pub fn put(&self, skill: &str, path: &str, bytes: &[u8]) {
        let mut layers = self.0.lock().unwrap();
        let layer = layers.entry(skill.into()).or_default();
        layer.files.0.insert(path.to_owned(), bytes.to_vec());
    }

    fn files(&self, skill: &Skill) -> FileTree {
        let layer = self.0.lock().unwrap().get(&skill.full_name).cloned();
        layer.unwrap_or_default().current(skill)
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
        let files = self.files(skill).0.into_iter().take(MAX_FILES);
        let files = files.map(|(path, bytes)| (SkillPath::new(&path).unwrap(), bytes.len() as u64));
        ready(Ok(files.collect()))
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
        let originals = files.0.keys();
        let originals = originals
            .filter_map(|path| Some((path.clone(), original(skill, path)?)))
            .collect();
        let layer = Layer { files, originals };
        let mut layers = self.0.lock().unwrap();
        layers.insert(Arc::clone(&skill.full_name), layer);
        ready(Ok(()))
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
