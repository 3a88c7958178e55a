//! The layers above skills, as folders of the home: what runs wrote beside a skill's files.
//!
//! A layer is keyed by the folder of its skill, so the skills must lie in permanent folders.

use std::io;
use std::sync::Arc;

use gongfu_core::library::Skill;
use gongfu_core::port::{FileContent, Layers, Lease, Materialize, Pending, PortError, ready};
use gongfu_core::skill::SkillPath;

use crate::disk::{self, EntryKind, Root};
use crate::home::Home;
use crate::port::read_file;

/// The most entries of a layer that are looked at.
const MAX_ENTRIES: usize = 5_000;

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

    /// The folder of a skill and the layer above it, if there is one.
    async fn open(&self, skill: &Skill) -> Result<Option<(Root, Root)>, PortError> {
        let original = self.skills.materialize(skill).await?.folder;
        let layer = match Root::open(&self.home.layer_of(&original)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            layer => layer.map_err(disk::port_error)?,
        };
        let original = Root::open(&original).map_err(disk::port_error)?;
        Ok(Some((original, layer)))
    }
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

/// Returns whether the skill changed a file later than the layer.
fn is_older(layer: &Root, original: &Root, path: &SkillPath) -> bool {
    match (layer.stat(path), original.stat(path)) {
        (Ok((EntryKind::File, above)), Ok((EntryKind::File, own))) => own.modified > above.modified,
        _ => false,
    }
}

/// Creates a layer, without the files that the skill changed later: a person who repairs a script
/// wants the repaired one to be run.
fn create(layer: &Root, original: &Root) -> io::Result<()> {
    for (path, _) in files(layer)? {
        if is_older(layer, original, &path) {
            layer.dir().remove_file(path.as_str())?;
        }
    }
    Ok(())
}

impl Layers for FileLayers {
    fn read<'a>(
        &'a self,
        skill: &'a Skill,
        path: &'a SkillPath,
        limit: u64,
    ) -> Pending<'a, FileContent> {
        Box::pin(async move {
            let (original, layer) = self.open(skill).await?.ok_or(PortError::NotFound)?;
            if is_older(&layer, &original, path) {
                return Err(PortError::NotFound);
            }
            read_file(&layer, path, limit)
        })
    }

    fn list<'a>(&'a self, skill: &'a Skill) -> Pending<'a, Vec<(SkillPath, u64)>> {
        Box::pin(async move {
            let Some((original, layer)) = self.open(skill).await? else {
                return Ok(Vec::new());
            };
            let mut files = files(&layer).map_err(disk::port_error)?;
            files.retain(|(path, _)| !is_older(&layer, &original, path));
            files.sort_unstable();
            Ok(files)
        })
    }

    fn lease<'a>(&'a self, skill: &'a Skill) -> Pending<'a, Lease> {
        Box::pin(async move {
            let original = self.skills.materialize(skill).await?.folder;
            let folder = self.home.layer_of(&original);
            let original = Root::open(&original).map_err(disk::port_error)?;
            let layer = Root::create(&folder);
            let layer = layer.and_then(|layer| create(&layer, &original).map(|()| layer));
            let layer = layer.map_err(|error| disk::home_error(&error))?;
            Ok(Lease::permanent(layer.path().to_owned()))
        })
    }

    /// Does nothing: a run writes to the layer itself.
    fn commit<'a>(&'a self, _skill: &'a Skill, _lease: Lease) -> Pending<'a, ()> {
        ready(Ok(()))
    }
}
