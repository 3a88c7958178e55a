//! The size and the digest of a folder: names, kinds, contents and execute permissions of all files below it.

use std::io::{self, Read as _};

use cap_std::fs::PermissionsExt as _;
use gongfu_core::dependency::Record;
use gongfu_core::skill::digest::Hasher;
use gongfu_core::skill::{Digest, SkillPath};

use gongfu_files::disk::{EntryKind, Root};

/// The folders of compiled modules (PEP 3147).
const COMPILED: &str = "__pycache__";
/// The size of the read buffer, in bytes.
const BUFFER: usize = 256 * 1024;

/// The size and the digest of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Measurement {
    pub(crate) bytes: u64,
    /// The number of files and links.
    files: u64,
    digest: Digest,
    /// The digest without the compiled modules of Python.
    digest_of_sources: Digest,
}

impl Measurement {
    /// The digest of all files, or of all but the compiled modules of Python.
    pub(crate) fn digest(&self, is_compiled: bool) -> Digest {
        if is_compiled {
            self.digest
        } else {
            self.digest_of_sources
        }
    }

    /// Writes it into a record, with the digest that fits the record.
    pub(crate) fn write_to(&self, record: &mut Record) {
        record.bytes = self.bytes;
        record.files = self.files;
        record.digest = self.digest(record.compiled).to_string();
    }
}

/// Measures a folder. Both digests are of the same reading: nothing can change in between.
///
/// # Errors
/// It can't be read, or holds a pipe, a socket or a device.
pub(crate) fn measure(root: &Root) -> io::Result<Measurement> {
    let (mut hasher, mut hasher_of_sources) = (Hasher::default(), Hasher::default());
    let (mut bytes, mut files) = (0, 0);
    let mut buffer = vec![0; BUFFER];
    let mut pending = children(root, &SkillPath::root(), false)?;
    while let Some((path, kind, is_below_compiled)) = pending.pop() {
        let is_folder = kind == EntryKind::Folder;
        let is_compiled = is_below_compiled || (is_folder && path.file_name() == COMPILED);
        let (letter, content) = match kind {
            EntryKind::Folder => {
                pending.extend(children(root, &path, is_compiled)?);
                (b'd', Vec::new())
            }
            EntryKind::Link => {
                files += 1;
                let target = root.dir().read_link_contents(path.as_str())?;
                (b'l', target.into_os_string().into_encoded_bytes())
            }
            EntryKind::File => {
                files += 1;
                let (file, _) = root.open_file(&path)?;
                let mode = file.metadata()?.permissions().mode();
                let letter = if mode & 0o111 == 0 { b'f' } else { b'x' };
                let mut file = file.into_std();
                let mut content = Hasher::default();
                loop {
                    let read = file.read(&mut buffer)?;
                    if read == 0 {
                        break;
                    }
                    content.update(buffer.get(..read).unwrap_or_default());
                    bytes += u64::try_from(read).unwrap_or_default();
                }
                (letter, content.finish().as_bytes().to_vec())
            }
            EntryKind::Special(_) | EntryKind::Unnameable => {
                let why = format!("`{path}` is neither a file nor a folder");
                return Err(io::Error::other(why));
            }
        };
        let mut entry = vec![letter];
        for part in [path.as_str().as_bytes(), &content] {
            let length = u64::try_from(part.len()).unwrap_or(u64::MAX);
            entry.extend(length.to_le_bytes());
            entry.extend(part);
        }
        hasher.update(&entry);
        if !is_compiled {
            hasher_of_sources.update(&entry);
        }
    }
    Ok(Measurement {
        bytes,
        files,
        digest: hasher.finish(),
        digest_of_sources: hasher_of_sources.finish(),
    })
}

/// The entries of a folder, the last first, each with what is said of the folder.
fn children(
    root: &Root,
    folder: &SkillPath,
    is_compiled: bool,
) -> io::Result<Vec<(SkillPath, EntryKind, bool)>> {
    let entries = root.list(folder)?.into_iter().rev();
    let children = entries.map(|entry| {
        let path = folder.join(&entry.name).map_err(io::Error::other)?;
        Ok((path, entry.kind, is_compiled))
    });
    children.collect()
}

#[cfg(test)]
mod tests;
