//! One copy of a skill: its files, their digests, and what its document says.

use std::collections::BTreeMap;
use std::io::{self, Read as _};

use cap_std::fs::PermissionsExt as _;
use gongfu_core::skill::{Digest, SKILL_FILE, SKILL_FILE_LOWER, SkillPath, document};
use gongfu_files::disk::{EntryKind, Root};
use serde_json::{Map, Value};

use crate::lock::digest::{DigestedFile, computed_hash, tree_digest};
use crate::lock::own::LockedFile;

/// The most files of a skill, and folders in one another.
const MAX_FILES: usize = 20_000;
const MAX_DEPTH: usize = 24;
/// The most bytes of a skill.
const MAX_BYTES: u64 = 128 * 1024 * 1024;
/// Names that `npx skills` leaves out when it installs a folder.
const NOT_INSTALLED: [&str; 4] = [".git", "__pycache__", "__pypackages__", "metadata.json"];

/// A skill's folder, as it was read.
pub(super) struct SkillFolder {
    /// The name that its document declares.
    pub(super) name: Option<String>,
    pub(super) frontmatter: Map<String, Value>,
    pub(super) files: BTreeMap<SkillPath, LockedFile>,
    bytes: BTreeMap<SkillPath, Vec<u8>>,
    /// The links in it, which aren't followed.
    pub(super) links: Vec<String>,
}

/// The name of the document in a folder, where it has one.
pub(super) fn document_in(root: &Root, folder: &SkillPath) -> Option<&'static str> {
    let is_file = |name: &&&str| {
        let path = folder.join(name).ok();
        let kind = path.and_then(|path| root.stat(&path).ok());
        kind.is_some_and(|(kind, _)| kind == EntryKind::File)
    };
    [SKILL_FILE, SKILL_FILE_LOWER].iter().find(is_file).copied()
}

impl SkillFolder {
    /// Reads all files of a folder; none is read through a link.
    pub(super) fn read(root: &Root) -> Result<Self, String> {
        let mut folder = Self {
            name: None,
            frontmatter: Map::new(),
            files: BTreeMap::new(),
            bytes: BTreeMap::new(),
            links: Vec::new(),
        };
        let mut left = MAX_BYTES;
        let mut open = vec![(SkillPath::root(), 0)];
        while let Some((path, depth)) = open.pop() {
            if depth > MAX_DEPTH {
                return Err(format!("its folders are deeper than {MAX_DEPTH}"));
            }
            let entries = root.list(&path);
            for entry in entries.map_err(|error| super::reading::unreadable(&error))? {
                let Ok(path) = path.join(&entry.name) else {
                    return Err(format!("a lock can't have the name {:?}", entry.name));
                };
                match entry.kind {
                    // The files of git in a clone aren't part of the skill.
                    _ if path.as_str() == ".git" => {}
                    EntryKind::Folder => open.push((path, depth + 1)),
                    EntryKind::File => folder.add(root, path, &mut left)?,
                    EntryKind::Link => folder.links.push(path.to_string()),
                    EntryKind::Special(_) | EntryKind::Unnameable => {
                        return Err(format!("`{path}` is not a file that a lock can have"));
                    }
                }
            }
        }
        let document = [SKILL_FILE, SKILL_FILE_LOWER];
        let document = document.iter().find_map(|name| folder.bytes.get(*name));
        let document = document.and_then(|bytes| document::parse(bytes, &root.name()));
        if let Some(document) = document {
            let name = document.frontmatter.get("name").and_then(Value::as_str);
            let name: Option<String> =
                name.map(|name| name.chars().filter(|one| !one.is_control()).collect());
            folder.name = name.filter(|name| !name.is_empty());
            folder.frontmatter = document.frontmatter;
        }
        Ok(folder)
    }

    fn add(&mut self, root: &Root, path: SkillPath, left: &mut u64) -> Result<(), String> {
        if self.files.len() == MAX_FILES {
            return Err(format!("it has more than {MAX_FILES} files"));
        }
        let read = || -> io::Result<(Vec<u8>, bool)> {
            let (file, _) = root.open_file(&path)?;
            let mode = file.metadata()?.permissions().mode();
            let mut bytes = Vec::new();
            file.take(left.saturating_add(1)).read_to_end(&mut bytes)?;
            Ok((bytes, mode & 0o111 != 0))
        };
        let (bytes, executable) =
            read().map_err(|error| format!("`{path}`: {}", gongfu_files::disk::reason(&error)))?;
        let size = bytes.len() as u64;
        *left = left
            .checked_sub(size)
            .ok_or_else(|| format!("it is longer than {} MiB", MAX_BYTES / 1024 / 1024))?;
        let file = LockedFile {
            digest: Digest::of(&bytes),
            size,
            executable,
        };
        self.files.insert(path.clone(), file);
        self.bytes.insert(path, bytes);
        Ok(())
    }

    /// gongfu's digest of all files.
    pub(super) fn digest(&self) -> Digest {
        let files = self.files.iter();
        tree_digest(files.map(|(path, file)| (path, file.executable, file.digest)))
    }

    /// The digest in the lock of `npx skills`.
    pub(super) fn computed_hash(&self) -> String {
        computed_hash(self.bytes.iter().map(|(path, bytes)| DigestedFile {
            path,
            bytes: bytes.as_slice().into(),
        }))
    }

    /// The id of the folder's tree in git, where nothing is ignored.
    pub(super) fn git_tree(&self) -> String {
        let files = self.bytes.iter().filter(|(path, _)| {
            let mut names = path.as_str().split('/');
            !names.any(|name| NOT_INSTALLED.contains(&name))
        });
        let files: Vec<(&str, &[u8], bool)> = files
            .map(|(path, bytes)| {
                let executable = self.files.get(path).is_some_and(|file| file.executable);
                (path.as_str(), bytes.as_slice(), executable)
            })
            .collect();
        hex(&tree(&files))
    }
}

/// A file of a tree: its path, its content, and whether it can be run.
type TreeFile<'a> = (&'a str, &'a [u8], bool);

/// The id of a tree with these files, whose paths are sorted.
fn tree(files: &[TreeFile<'_>]) -> Vec<u8> {
    let mut folders: BTreeMap<&str, Vec<TreeFile<'_>>> = BTreeMap::new();
    let mut entries: Vec<(String, &str, &str, Vec<u8>)> = Vec::new();
    for (path, bytes, executable) in files {
        if let Some((folder, rest)) = path.split_once('/') {
            let files = folders.entry(folder).or_default();
            files.push((rest, bytes, *executable));
        } else {
            let mode = if *executable { "100755" } else { "100644" };
            entries.push(((*path).to_owned(), path, mode, object("blob", bytes)));
        }
    }
    for (name, files) in folders {
        // Git sorts a folder as if its name ended in a slash.
        entries.push((format!("{name}/"), name, "40000", tree(&files)));
    }
    entries.sort_by(|left, right| left.0.as_bytes().cmp(right.0.as_bytes()));
    let mut content = Vec::new();
    for (_, name, mode, id) in entries {
        content.extend(format!("{mode} {name}\0").into_bytes());
        content.extend(id);
    }
    object("tree", &content)
}

/// The id of an object of git, which is a SHA-1.
fn object(kind: &str, content: &[u8]) -> Vec<u8> {
    let mut context = ring::digest::Context::new(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY);
    context.update(format!("{kind} {}\0", content.len()).as_bytes());
    context.update(content);
    context.finish().as_ref().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;

    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::{hex, tree};

    #[test]
    fn tree_has_the_id_that_git_gives_it() {
        // Made by `git write-tree`.
        assert_eq!(hex(&tree(&[])), "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
        let files: [(&str, &[u8], bool); 4] = [
            ("a-b", b"1\n", false),
            ("a/x", b"2\n", true),
            ("a/y/z", b"3\n", false),
            ("a.txt", b"4\n", false),
        ];
        assert_eq!(
            hex(&tree(&files)),
            "ad18bdbe08bcfeb84320639707452de813e67566"
        );
    }
}
