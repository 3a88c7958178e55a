//! Writes a site: all of it or nothing, and never over the files of a person.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use gongfu_core::skill::{Digest, SkillPath};
use gongfu_files::Home;
use gongfu_files::disk::{Root, TreeKind, kind_outside};
use gongfu_files::transaction::{Transaction, recover};
use serde::{Deserialize, Serialize};

use super::{Site, document};
use crate::candidate::write_file;
use crate::content::ContentFile;
use crate::error::{ImportCode, ImportError};

/// The file that lists the others, so that a later run knows them.
const LIST: &str = "gongfu-site.json";
/// A folder that may be beside a site: a repository can hold one.
const REPOSITORY: &str = ".git";
/// The longest list that is read, in bytes.
const MAX_LIST: u64 = 64 * 1024 * 1024;

/// The files of a site, by path, with their digests.
#[derive(Debug, Default, Serialize, Deserialize)]
struct List {
    version: u32,
    files: BTreeMap<String, Digest>,
}

/// Writes a site into a folder, in place of the one that is there. `temporary` is an empty folder of gongfu's home.
///
/// # Errors
/// The folder has other files, or can't be written. It is as before then.
pub fn write(home: &Home, temporary: &Root, out: &Path, site: &Site) -> Result<(), ImportError> {
    let unwritable = |error: io::Error| {
        let message = format!("{} can't be written: {error}", out.display());
        let hint = "nothing was changed; check the permissions and the disk";
        ImportError::new(ImportCode::PlaceUnwritable, message, hint)
    };
    if kind_outside(out).is_some() {
        recover(home, out).map_err(unwritable)?;
        check(out)?;
    }
    let mut list = List {
        version: 1,
        files: BTreeMap::new(),
    };
    let mut tops = BTreeSet::new();
    for (path, file) in site {
        let mode = ContentFile::mode(file.is_executable);
        let at =
            SkillPath::new(path).map_err(|why| unwritable(io::Error::other(why.to_string())))?;
        write_file(temporary, &at, mode, &file.bytes).map_err(unwritable)?;
        list.files.insert(path.clone(), Digest::of(&file.bytes));
        tops.extend(path.split('/').next());
    }
    let list = serde_json::to_value(&list).map_err(|why| unwritable(why.into()))?;
    let mut transaction = Transaction::begin(home, out).map_err(unwritable)?;
    let moved = tops
        .into_iter()
        .try_for_each(|top| transaction.move_folder(&out.join(top), &temporary.path().join(top)));
    moved.map_err(unwritable)?;
    let list = document(&list).bytes;
    let listed = transaction.put_file(&out.join(LIST), &list);
    listed.map_err(unwritable)?;
    transaction.commit().map_err(unwritable)
}

/// Refuses a folder with anything that no publication wrote.
fn check(out: &Path) -> Result<(), ImportError> {
    let foreign = |path: &Path| {
        let shown = path.display();
        let message = format!(
            "{} has {shown}, which belongs to no site that was published",
            out.display()
        );
        let hint =
            "pass a new folder with --out, or move such files elsewhere; nothing was changed";
        ImportError::new(ImportCode::SiteForeign, message, hint)
    };
    let root = Root::open(out).map_err(|_| foreign(Path::new(".")))?;
    let read = |path: &str, limit| {
        let path = SkillPath::new(path).ok()?;
        let content = root.read(&path, limit).ok()?;
        (!content.is_cut()).then_some(content.bytes)
    };
    let list = read(LIST, MAX_LIST).and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let list: List = list.unwrap_or_default();
    let is_listed = |path: &Path| {
        let path = path.to_str()?;
        let digest = list.files.get(path)?;
        Some(Digest::of(&read(path, u64::MAX)?) == *digest)
    };
    root.walk(|entry| match entry.kind {
        _ if entry.path.starts_with(REPOSITORY) => Ok(()),
        TreeKind::Folder => Ok(()),
        TreeKind::File if list.version == 1 && entry.path == Path::new(LIST) => Ok(()),
        TreeKind::File if is_listed(&entry.path) == Some(true) => Ok(()),
        _ => Err(foreign(&entry.path)),
    })
}
