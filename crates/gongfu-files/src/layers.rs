//! The layers above skills, as folders of the home: what runs wrote beside a skill's files.
//!
//! A layer belongs to one version of a skill: a run of another version gets nothing that a run of this one left, so
//! a script that was reviewed is the one that is run. It is keyed by the skill's folder, so the skills must lie in
//! permanent folders, and by the content of its files. Files that aren't listed as the skill's, below `node_modules`
//! or in hidden folders, don't count.

use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use gongfu_core::library::Skill;
use gongfu_core::port::{FileContent, Layers, Lease, Materialize, Pending, PortError, ready};
use gongfu_core::skill::{Digest, SkillPath};

use crate::disk::{self, EntryKind, Root, Stamp};
use crate::home::Home;
use crate::port::read_file;
use crate::slug::slug;

/// The most entries of a layer that are looked at.
const MAX_ENTRIES: usize = 5_000;
/// The folder of the files, in that of a layer.
const FILES: &str = "files";

/// The layers of one owner, below a home.
pub struct FileLayers {
    home: Home,
    skills: Arc<dyn Materialize>,
}

impl FileLayers {
    /// Layers below a home, above these skills.
    pub fn new(home: Home, skills: Arc<dyn Materialize>) -> Self {
        Self { home, skills }
    }

    /// The folder of the layer of a skill as it is now.
    async fn place(&self, skill: &Skill) -> Result<PathBuf, PortError> {
        let original = self.skills.materialize(skill).await?.folder;
        let original = Root::open(&original).map_err(disk::port_error)?;
        Ok(self.home.layers().join(id(skill, &original)).join(FILES))
    }

    /// The layer of a skill, if it has one.
    async fn open(&self, skill: &Skill) -> Result<Option<Root>, PortError> {
        match Root::open(&self.place(skill).await?) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            layer => layer.map(Some).map_err(disk::port_error),
        }
    }
}

/// The name of the folder of a layer: the skill's is for people, the digest makes it unique.
fn id(skill: &Skill, original: &Root) -> String {
    let mut version = skill.digest().to_string();
    // What is too large to be read for each run is told by its stamp.
    for file in skill.files.iter().filter(|file| file.digest.is_none()) {
        let stamp = original.stat(&file.path).map(|(_, stamp)| stamp);
        let stamp = stamp.unwrap_or_default();
        let Stamp {
            size,
            modified,
            changed,
            inode,
        } = stamp;
        let _ = write!(
            version,
            "\0{}\0{size} {modified} {changed} {inode}",
            file.path
        );
    }
    let path = original.path().as_os_str().as_encoded_bytes();
    let key = [path, b"\0", version.as_bytes()].concat();
    // A skill's author must not find two versions of one name.
    let digest = Digest::of(&key).hex(32);
    format!("{}-{digest}", slug(&original.name()))
}

/// The files of a layer with their lengths.
fn files(layer: &Root) -> io::Result<Vec<(SkillPath, u64)>> {
    let mut files = Vec::new();
    let mut folders = vec![SkillPath::root()];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in layer.list(&folder)? {
            seen += 1;
            let Ok(path) = folder.join(&entry.name) else {
                continue;
            };
            match entry.kind {
                EntryKind::File => files.push((path, entry.stamp.size)),
                EntryKind::Folder => folders.push(path),
                EntryKind::Link | EntryKind::Special(_) | EntryKind::Unnameable => {}
            }
            if seen >= MAX_ENTRIES {
                return Ok(files);
            }
        }
    }
    Ok(files)
}

impl Layers for FileLayers {
    fn read<'a>(
        &'a self,
        skill: &'a Skill,
        path: &'a SkillPath,
        limit: u64,
    ) -> Pending<'a, FileContent> {
        Box::pin(async move {
            let layer = self.open(skill).await?.ok_or(PortError::NotFound)?;
            read_file(&layer, path, limit)
        })
    }

    fn list<'a>(&'a self, skill: &'a Skill) -> Pending<'a, Vec<(SkillPath, u64)>> {
        Box::pin(async move {
            let Some(layer) = self.open(skill).await? else {
                return Ok(Vec::new());
            };
            let mut files = files(&layer).map_err(disk::port_error)?;
            files.sort_unstable();
            Ok(files)
        })
    }

    fn lease<'a>(&'a self, skill: &'a Skill) -> Pending<'a, Lease> {
        Box::pin(async move {
            let layer = Root::create(&self.place(skill).await?);
            let layer = layer.map_err(|error| disk::home_error(&error))?;
            Ok(Lease::permanent(layer.path().to_owned()))
        })
    }

    /// Does nothing: a run writes to the layer itself.
    fn commit<'a>(&'a self, _skill: &'a Skill, _lease: Lease) -> Pending<'a, ()> {
        ready(Ok(()))
    }
}
