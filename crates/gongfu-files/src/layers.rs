//! The layers above skills, as folders of the home: what runs wrote beside a skill's files.
//!
//! A layer belongs to one version of a skill: a run of another version gets nothing that a run of this one left, so
//! a script that was reviewed is the one that is run. It is keyed by the skill's folder, so the skills must lie in
//! permanent folders, and by the content of its files. Files that aren't listed as the skill's, below `node_modules`
//! or in hidden folders, don't count.

use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::sync::Arc;

use gongfu_core::library::Skill;
use gongfu_core::port::{
    Clock, FileContent, LayerInfo, Layers, Lease, Materialize, Pending, PortError, Timestamp, ready,
};
use gongfu_core::sandbox::MAX_LAYER_BYTES;
use gongfu_core::skill::{Digest, SkillPath};
use serde::{Deserialize, Serialize};

use crate::disk::{self, EntryKind, Root, Stamp};
use crate::home::Home;
use crate::port::read_file;
use crate::slug::slug;

/// The most entries of a layer that are looked at.
const MAX_ENTRIES: usize = 5_000;
/// The kinds of entries that runs leave, beside folders.
const KEPT: &[EntryKind] = &[EntryKind::File, EntryKind::Link];
/// The folder of the files, in that of a layer.
const FILES: &str = "files";
/// The file that describes a layer; its last change is the last use.
const DESCRIPTION: &str = "layer.json";
/// The most bytes of a description that are read.
const MAX_DESCRIPTION: u64 = 64 * 1024;
/// The time after which the layer of a former version is removed, in milliseconds: 30 days.
const MAX_AGE: i64 = 30 * 24 * 60 * 60 * 1000;

/// The time between two notes that a layer is used, in milliseconds: an hour. Writing one takes longer than a run.
const USE_INTERVAL: i64 = 60 * 60 * 1000;

/// The description of a layer.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Description {
    skill: String,
    folder: String,
    files: u64,
    bytes: u64,
}

/// The layers of one owner, below a home.
pub struct FileLayers {
    home: Home,
    skills: Arc<dyn Materialize>,
    clock: Arc<dyn Clock>,
}

impl FileLayers {
    /// Layers below a home, above these skills.
    pub fn new(home: Home, skills: Arc<dyn Materialize>, clock: Arc<dyn Clock>) -> Self {
        Self {
            home,
            skills,
            clock,
        }
    }

    /// The folder of a skill, and the id of its layer as it is now.
    async fn place(&self, skill: &Skill) -> Result<(Root, String), PortError> {
        let original = self.skills.materialize(skill).await?.folder;
        let original = Root::open(&original).map_err(disk::port_error)?;
        let id = id(skill, &original);
        Ok((original, id))
    }

    /// The files in the layer of a skill, if it has one.
    async fn open(&self, skill: &Skill) -> Result<Option<Root>, PortError> {
        let (_, id) = self.place(skill).await?;
        opened(&self.home.layers().join(id).join(FILES)).map_err(disk::port_error)
    }

    /// All layers.
    fn every(&self) -> io::Result<Vec<LayerInfo>> {
        let Some(layers) = opened(&self.home.layers())? else {
            return Ok(Vec::new());
        };
        let folders = layers.list(&SkillPath::root())?.into_iter();
        let folders = folders.filter(|entry| entry.kind == EntryKind::Folder);
        // One that another process removes meanwhile isn't there.
        Ok(folders
            .filter_map(|entry| info(&layers, entry.name).ok())
            .collect())
    }

    fn info(&self, id: &str) -> Result<LayerInfo, PortError> {
        let all = self.every().map_err(disk::port_error)?;
        let found = all.into_iter().find(|layer| layer.id == id);
        found.ok_or(PortError::NotFound)
    }

    /// Writes down what a layer is and holds now, which is its last use.
    fn describe(&self, id: &str, skill: &str, folder: String) -> io::Result<()> {
        let layer = Root::open(&self.home.layers().join(id))?;
        let (files, bytes) = count(&Root::open(&layer.path().join(FILES))?)?;
        let description = Description {
            skill: skill.to_owned(),
            folder,
            files,
            bytes,
        };
        let text = serde_json::to_vec_pretty(&description)?;
        layer.replace(DESCRIPTION, &text, false)
    }

    /// Removes the layers of former versions of a skill that weren't used for long, beside that of its last run.
    fn remove_former(&self, id: &str) -> io::Result<()> {
        let all = self.every()?;
        let Some(last) = all.iter().find(|layer| layer.id == id) else {
            return Ok(());
        };
        let layers = Root::open(&self.home.layers())?;
        for layer in &all {
            let unused = last.used.0.saturating_sub(layer.used.0);
            if layer.folder == last.folder && unused >= MAX_AGE {
                // Another process may be removing it, too.
                let _ = layers.dir().remove_dir_all(&layer.id);
            }
        }
        Ok(())
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

/// A folder, if it is there.
fn opened(folder: &Path) -> io::Result<Option<Root>> {
    match Root::open(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            let why = format!("{} is not a folder; move it away", folder.display());
            Err(io::Error::other(why))
        }
        folder => folder.map(Some),
    }
}

/// A layer by its id, as it was when it was last described.
fn info(layers: &Root, id: String) -> io::Result<LayerInfo> {
    let layer = layers.below(&SkillPath::new(&id).map_err(io::Error::other)?)?;
    let path = SkillPath::new(DESCRIPTION).map_err(io::Error::other)?;
    let content = layer.read(&path, MAX_DESCRIPTION);
    let content = content.and_then(|content| Ok(serde_json::from_slice(&content.bytes)?));
    let description = content.or_else(|_| {
        let (files, bytes) = count(&layer)?;
        Ok::<_, io::Error>(Description {
            files,
            bytes,
            ..Description::default()
        })
    })?;
    let used = layer
        .stat(&path)
        .map(|(_, stamp)| stamp.modified / 1_000_000);
    Ok(LayerInfo {
        id,
        skill: description.skill,
        folder: description.folder,
        used: Timestamp(used.unwrap_or_default()),
        files: description.files,
        bytes: description.bytes,
        is_current: false,
    })
}

/// The number and the length of all files of a folder.
fn count(folder: &Root) -> io::Result<(u64, u64)> {
    let files = entries(folder, KEPT, usize::MAX)?;
    Ok((files.len() as u64, files.iter().map(|(_, size)| size).sum()))
}

/// The entries of a layer of these kinds, with their lengths.
fn entries(layer: &Root, kinds: &[EntryKind], limit: usize) -> io::Result<Vec<(SkillPath, u64)>> {
    let mut files = Vec::new();
    let mut folders = vec![SkillPath::root()];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in layer.list(&folder)? {
            seen += 1;
            let Ok(path) = folder.join(&entry.name) else {
                continue;
            };
            if kinds.contains(&entry.kind) {
                files.push((path, entry.stamp.size));
            } else if entry.kind == EntryKind::Folder {
                folders.push(path);
            }
            if seen >= limit {
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
            let mut files =
                entries(&layer, &[EntryKind::File], MAX_ENTRIES).map_err(disk::port_error)?;
            files.sort_unstable();
            Ok(files)
        })
    }

    fn lease<'a>(&'a self, skill: &'a Skill) -> Pending<'a, Lease> {
        Box::pin(async move {
            let (original, id) = self.place(skill).await?;
            let folder = self.home.layers().join(&id);
            let create = || {
                let is_new = opened(&folder)?.is_none();
                let files = Root::create_private(&folder.join(FILES))?;
                if is_new {
                    let path = original.path().display().to_string();
                    self.describe(&id, &skill.full_name, path)?;
                    self.remove_former(&id)?;
                }
                Ok(files)
            };
            let files = create().map_err(|error| disk::home_error(&error))?;
            Ok(Lease::permanent(files.path().to_owned()))
        })
    }

    /// Counts the files, and notes the use: a run writes to the layer itself.
    fn commit<'a>(&'a self, _skill: &'a Skill, lease: Lease) -> Pending<'a, ()> {
        let note = || {
            let id = lease.folder.parent().and_then(Path::file_name);
            let id = id.unwrap_or_default().to_string_lossy().into_owned();
            let layer = info(&Root::open(&self.home.layers())?, id.clone())?;
            let is_same = (layer.files, layer.bytes) == count(&Root::open(&lease.folder)?)?;
            let unused = self.clock.now().0.saturating_sub(layer.used.0);
            if is_same && unused < USE_INTERVAL {
                return Ok(());
            }
            self.describe(&id, &layer.skill, layer.folder)
        };
        ready(match note() {
            // Somebody cleared it meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            counted => counted.map_err(|error| disk::home_error(&error)),
        })
    }

    fn room(&self) -> Pending<'_, u64> {
        let all = self.every().map_err(disk::port_error);
        ready(all.map(|all| {
            let bytes = all.iter().map(|layer| layer.bytes);
            MAX_LAYER_BYTES.saturating_sub(bytes.fold(0, u64::saturating_add))
        }))
    }

    fn all<'a>(&'a self, skill: Option<&'a Skill>) -> Pending<'a, Vec<LayerInfo>> {
        Box::pin(async move {
            let mut all = self.every().map_err(disk::port_error)?;
            if let Some(skill) = skill {
                let (original, id) = self.place(skill).await?;
                let folder = original.path().display().to_string();
                all.retain(|layer| layer.folder == folder);
                for layer in &mut all {
                    layer.is_current = layer.id == id;
                }
            }
            all.sort_by_key(|layer| std::cmp::Reverse(layer.used));
            Ok(all)
        })
    }

    fn files<'a>(&'a self, id: &'a str) -> Pending<'a, Vec<(SkillPath, u64)>> {
        let listed = || {
            let folder = self.home.layers().join(self.info(id)?.id).join(FILES);
            let folder = Root::open(&folder).map_err(disk::port_error)?;
            let mut files = entries(&folder, KEPT, MAX_ENTRIES).map_err(disk::port_error)?;
            files.sort_unstable();
            Ok(files)
        };
        ready(listed())
    }

    fn clear<'a>(&'a self, id: &'a str) -> Pending<'a, ()> {
        let clear = || {
            let id = self.info(id)?.id;
            let layers = Root::open(&self.home.layers()).map_err(disk::port_error)?;
            let removed = layers.dir().remove_dir_all(id);
            removed.map_err(disk::write_error)
        };
        ready(clear())
    }
}
