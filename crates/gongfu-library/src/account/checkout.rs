//! The checkout of an account's skills: folders that are made from blobs, for runs and for people.
//!
//! ```text
//! .versions/ID/NAME/   the files of one version, which gongfu never changes
//! .changed/            versions that somebody changed by hand, set aside
//! NAME                 a link to the current version
//! ```
//!
//! It is never the truth: a version that is missing or differs from its manifest is made again.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cap_std::fs::{OpenOptions, OpenOptionsExt as _};
use gongfu_core::port::Lease;
use gongfu_core::skill::digest::Hasher;
use gongfu_core::skill::{Digest, SkillPath};
use gongfu_files::disk::{self, EntryKind, Root, Stamp, temporary_name};

use super::record::Manifest;

const VERSIONS: &str = ".versions";
const CHANGED: &str = ".changed";
/// The size of the pieces in which a file is read, in bytes.
const PIECE: usize = 64 * 1024;

/// A file of a version that is to be written.
pub(super) struct NewFile<'a> {
    pub(super) path: &'a SkillPath,
    pub(super) bytes: std::borrow::Cow<'a, [u8]>,
    pub(super) is_executable: bool,
}

/// The files of a version as they were when its content was last compared.
type Stamps = Vec<(SkillPath, Stamp)>;

#[derive(Default)]
struct Versions {
    /// The current ones.
    current: HashSet<String>,
    /// The number of leases of each.
    leases: HashMap<String, usize>,
    compared: HashMap<String, Stamps>,
}

/// The checkout of one account.
pub(super) struct Checkout {
    folder: PathBuf,
    versions: Mutex<Versions>,
}

/// Keeps a version in place.
struct Hold {
    checkout: Arc<Checkout>,
    version: String,
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut versions = self.checkout.lock();
        let Some(leases) = versions.leases.get_mut(&self.version) else {
            return;
        };
        *leases = leases.saturating_sub(1);
        if *leases == 0 {
            versions.leases.remove(&self.version);
            if !versions.current.contains(&self.version) {
                // What stays is removed when the account is opened again.
                let _ = self.checkout.remove(&mut versions, &self.version);
            }
        }
    }
}

impl Checkout {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            versions: Mutex::default(),
        }
    }
    /// Writes the files of a version to a temporary folder. Answers its name, and the root in which it is a skill.
    pub(super) fn stage(&self, skill: &str, files: &[NewFile<'_>]) -> io::Result<(String, Root)> {
        let versions = self.open(VERSIONS)?;
        let temporary = temporary_name(skill);
        let written = write(&versions, &temporary, skill, files);
        if written.is_err() {
            let _ = versions.dir().remove_dir_all(&temporary);
        }
        Ok((temporary, written?))
    }

    /// Gives a staged version its name. One that is there already stays, for it is the same.
    pub(super) fn settle(&self, temporary: &str, version: &str) -> io::Result<()> {
        let versions = self.open(VERSIONS)?;
        if versions.dir().symlink_metadata(version).is_ok() {
            return versions.dir().remove_dir_all(temporary);
        }
        versions.dir().rename(temporary, versions.dir(), version)
    }

    /// Removes a staged version, or one that nothing leads to.
    pub(super) fn discard(&self, name: &str) {
        if let Ok(versions) = self.open(VERSIONS) {
            let _ = versions.dir().remove_dir_all(name);
        }
    }

    /// Makes a version the current one of its skill, in place of another.
    pub(super) fn publish(
        &self,
        skill: &str,
        version: &str,
        before: Option<&str>,
    ) -> io::Result<()> {
        self.lock().current.insert(version.to_owned());
        self.link(skill, version)?;
        if let Some(before) = before.filter(|before| *before != version) {
            self.retire(before)?;
        }
        Ok(())
    }

    /// Removes a skill, whose current version was this one.
    pub(super) fn unpublish(&self, skill: &str, version: &str) -> io::Result<()> {
        let root = Root::open(&self.folder)?;
        match root.dir().remove_file(skill) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        self.retire(version)
    }

    fn retire(&self, version: &str) -> io::Result<()> {
        let mut versions = self.lock();
        versions.current.remove(version);
        if versions.leases.contains_key(version) {
            return Ok(());
        }
        self.remove(&mut versions, version)
    }

    fn remove(&self, versions: &mut Versions, version: &str) -> io::Result<()> {
        versions.compared.remove(version);
        let folder = self.open(VERSIONS)?;
        match folder.dir().remove_dir_all(version) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Leads the name of a skill to a version, by one rename.
    fn link(&self, skill: &str, version: &str) -> io::Result<()> {
        let root = Root::create_private(&self.folder)?;
        let target = format!("{VERSIONS}/{version}/{skill}");
        match root.dir().read_link(skill) {
            Ok(now) if now == Path::new(&target) => return Ok(()),
            // A folder or file of somebody else's in its place.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                self.set_aside(&root, skill, skill)?;
            }
            _ => {}
        }
        let temporary = temporary_name(skill);
        root.dir().symlink(&target, &temporary)?;
        let renamed = root.dir().rename(&temporary, root.dir(), skill);
        if renamed.is_err() {
            let _ = root.dir().remove_file(&temporary);
        }
        renamed
    }

    /// Moves something that somebody changed out of the way.
    fn set_aside(&self, from: &Root, name: &str, skill: &str) -> io::Result<()> {
        let changed = self.open(CHANGED)?;
        for number in 1..1_000_u32 {
            let target = format!("{skill}-{number}");
            if changed.dir().symlink_metadata(&target).is_err() {
                return from.dir().rename(name, changed.dir(), &target);
            }
        }
        Err(io::Error::other(format!(
            "too many changed versions of {skill} in {}",
            changed.path().display()
        )))
    }

    /// Brings the checkout in line with the current manifests, by their ids: links, and nothing that is left over from a
    /// process that was killed.
    pub(super) fn reconcile(&self, current: &HashMap<String, Manifest>) -> io::Result<()> {
        let Ok(root) = Root::open(&self.folder) else {
            return Ok(());
        };
        {
            let mut versions = self.lock();
            versions.current = current.keys().cloned().collect();
        }
        for (version, manifest) in current {
            self.link(&manifest.folder, version)?;
        }
        let names: HashSet<&str> = current
            .values()
            .map(|manifest| manifest.folder.as_str())
            .collect();
        for entry in root.list(&SkillPath::root())? {
            let is_left = disk::is_temporary(&entry.name)
                || (entry.kind == EntryKind::Link && !names.contains(entry.name.as_str()));
            if is_left {
                root.dir().remove_file(&entry.name)?;
            }
        }
        let versions = self.open(VERSIONS)?;
        for entry in versions.list(&SkillPath::root())? {
            if !current.contains_key(&entry.name) && entry.kind == EntryKind::Folder {
                versions.dir().remove_dir_all(&entry.name)?;
            }
        }
        Ok(())
    }

    /// Leases the folder of a version, if it is as its manifest says; one that somebody changed is set aside.
    pub(super) fn lease(
        self: &Arc<Self>,
        version: &str,
        manifest: &Manifest,
    ) -> io::Result<Option<Lease>> {
        let mut versions = self.lock();
        let path = format!("{version}/{}", manifest.folder);
        let path = SkillPath::new(&path).map_err(io::Error::other)?;
        let root = self.open(VERSIONS)?;
        let folder = match root.below(&path) {
            Ok(folder) => folder,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let stamps = stamps(&folder)?;
        if versions.compared.get(version) != Some(&stamps) {
            if !is_same(&folder, &stamps, manifest)? {
                versions.compared.remove(version);
                self.set_aside(&root, version, &manifest.folder)?;
                return Ok(None);
            }
            versions.compared.insert(version.to_owned(), stamps);
        }
        *versions.leases.entry(version.to_owned()).or_default() += 1;
        drop(versions);
        let hold = Hold {
            checkout: Arc::clone(self),
            version: version.to_owned(),
        };
        Ok(Some(Lease {
            folder: folder.path().to_owned(),
            hold: Arc::new(hold),
        }))
    }

    /// The skills whose checkout isn't what their manifests say, and what was set aside before, for people.
    pub(super) fn differences(&self, current: &HashMap<String, Manifest>) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for (version, manifest) in current {
            let path = SkillPath::new(&format!("{VERSIONS}/{version}/{}", manifest.folder));
            let root = Root::open(&self.folder);
            let folder = path
                .map_err(io::Error::other)
                .and_then(|path| root?.below(&path));
            let Ok(folder) = folder else { continue };
            let same = stamps(&folder).and_then(|stamps| is_same(&folder, &stamps, manifest));
            if !same.unwrap_or(false) {
                found.push(self.folder.join(&manifest.folder));
            }
        }
        let aside = Root::open(&self.folder.join(CHANGED));
        let aside = aside.and_then(|root| root.list(&SkillPath::root()));
        let aside = aside.unwrap_or_default().into_iter();
        found.extend(aside.map(|entry| self.folder.join(CHANGED).join(entry.name)));
        found.sort_unstable();
        found
    }

    fn open(&self, name: &str) -> io::Result<Root> {
        Root::create_private(&self.folder.join(name))
    }

    fn lock(&self) -> MutexGuard<'_, Versions> {
        self.versions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn write(versions: &Root, temporary: &str, skill: &str, files: &[NewFile<'_>]) -> io::Result<Root> {
    versions.dir().create_dir(temporary)?;
    let staged = versions.below(&SkillPath::new(temporary).map_err(io::Error::other)?)?;
    staged.dir().create_dir(skill)?;
    let folder = staged.below(&SkillPath::new(skill).map_err(io::Error::other)?)?;
    for file in files {
        let parent = file.path.parent();
        if !parent.is_root() {
            folder.dir().create_dir_all(parent.as_str())?;
        }
        let mut options = OpenOptions::new();
        let mode = if file.is_executable { 0o755 } else { 0o644 };
        options.write(true).create_new(true).mode(mode);
        let mut opened = folder.dir().open_with(file.path.as_str(), &options)?;
        io::Write::write_all(&mut opened, &file.bytes)?;
    }
    Ok(staged)
}

/// The files below a folder, by path. Anything that is neither file nor folder is an error.
fn stamps(folder: &Root) -> io::Result<Stamps> {
    let (mut found, mut open) = (Vec::new(), vec![SkillPath::root()]);
    while let Some(below) = open.pop() {
        for entry in folder.list(&below)? {
            let path = below.join(&entry.name).map_err(io::Error::other)?;
            match entry.kind {
                EntryKind::Folder => open.push(path),
                // A link counts as a file that no manifest has.
                _ => found.push((path, entry.stamp)),
            }
        }
    }
    found.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    Ok(found)
}

/// Returns whether these files are those of a manifest.
fn is_same(folder: &Root, stamps: &Stamps, manifest: &Manifest) -> io::Result<bool> {
    let sizes = stamps.iter().map(|(path, stamp)| (path, stamp.size));
    let wanted = manifest.files.iter().map(|file| (&file.path, file.size));
    if !sizes.eq(wanted) {
        return Ok(false);
    }
    for file in &manifest.files {
        if digest(folder, &file.path)? != file.digest {
            return Ok(false);
        }
    }
    Ok(true)
}

fn digest(folder: &Root, path: &SkillPath) -> io::Result<Digest> {
    let (mut file, _) = folder.open_file(path)?;
    let (mut hasher, mut piece) = (Hasher::default(), vec![0; PIECE]);
    loop {
        match io::Read::read(&mut file, &mut piece) {
            Ok(0) => return Ok(hasher.finish()),
            Ok(read) => hasher.update(piece.get(..read).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
