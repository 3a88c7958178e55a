//! The files of a commit, from what git lists, and their content, from what it prints.

use std::collections::BTreeMap;

use gongfu_core::skill::SkillPath;

use crate::content::ContentFile;
use crate::error::ImportError;
use crate::fetch::links::{Link, follow};

/// The most entries of a repository.
const MAX_ENTRIES: usize = 300_000;
/// The longest target of a link, in bytes.
const MAX_TARGET: u64 = 4_096;
/// The most links of a repository.
const MAX_LINKS: usize = 20_000;

/// Reads objects by their ids.
pub(super) type ReadObjects<'a> = &'a mut dyn FnMut(&[String]) -> Result<Vec<Vec<u8>>, ImportError>;

/// The entries of a commit.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub(super) files: BTreeMap<SkillPath, ContentFile>,
    pub(super) ids: BTreeMap<SkillPath, String>,
    /// The ids of the folders.
    pub(super) trees: BTreeMap<SkillPath, String>,
    pub(super) refused: Vec<(String, String)>,
}

/// Reads what `git ls-tree -r -t -l -z` prints. A link stands for the file or the folder that it leads to, where that is
/// in the repository.
pub(super) fn read(list: &[u8], objects: ReadObjects<'_>) -> Result<Tree, ImportError> {
    let mut tree = Tree::default();
    let mut links: Vec<(SkillPath, String)> = Vec::new();
    let lines = list
        .split(|byte| *byte == 0)
        .filter(|line| !line.is_empty());
    for (count, line) in lines.enumerate() {
        if count >= MAX_ENTRIES {
            let message = format!("the repository has more than {MAX_ENTRIES} files");
            return Err(ImportError::too_large(message));
        }
        let Some(entry) = Entry::parse(line) else {
            return Err(ImportError::refused("git listed what isn't understood"));
        };
        let path = match std::str::from_utf8(entry.path).map(SkillPath::new) {
            Ok(Ok(path)) => path,
            Ok(Err(why)) => {
                let shown = String::from_utf8_lossy(entry.path).into_owned();
                tree.refused.push((shown, why.to_string()));
                continue;
            }
            Err(_) => {
                let shown = String::from_utf8_lossy(entry.path).into_owned();
                tree.refused
                    .push((shown, "its name isn't UTF-8".to_owned()));
                continue;
            }
        };
        match entry.mode {
            "100644" | "100664" | "100755" => {
                let file = ContentFile::new(entry.size, entry.mode == "100755");
                tree.files.insert(path.clone(), file);
                tree.ids.insert(path, entry.id.to_owned());
            }
            "040000" => {
                tree.trees.insert(path, entry.id.to_owned());
            }
            "120000" if entry.size > MAX_TARGET => {
                let why = format!("it is a link whose target is longer than {MAX_TARGET} bytes");
                tree.refused.push((path.to_string(), why));
            }
            "120000" => links.push((path, entry.id.to_owned())),
            // A submodule is an empty folder in a clone, too.
            "160000" => {}
            _ => {
                let why = "it is neither a file nor a folder".to_owned();
                tree.refused.push((path.to_string(), why));
            }
        }
    }
    if links.len() > MAX_LINKS {
        let message = format!("the repository has more than {MAX_LINKS} links");
        return Err(ImportError::too_large(message));
    }
    place(&mut tree, links, objects)?;
    Ok(tree)
}

/// An entry as git lists it: `MODE TYPE ID SIZE\tPATH`.
struct Entry<'a> {
    mode: &'a str,
    id: &'a str,
    size: u64,
    path: &'a [u8],
}

impl<'a> Entry<'a> {
    fn parse(line: &'a [u8]) -> Option<Self> {
        let tab = line.iter().position(|byte| *byte == b'\t')?;
        let (head, path) = (line.get(..tab)?, line.get(tab + 1..)?);
        let mut words = std::str::from_utf8(head).ok()?.split_ascii_whitespace();
        let (mode, _, id, size) = (words.next()?, words.next()?, words.next()?, words.next()?);
        Some(Self {
            mode,
            id,
            size: size.parse().unwrap_or(0),
            path,
        })
    }
}

/// Puts what links lead to in their places.
fn place(
    tree: &mut Tree,
    links: Vec<(SkillPath, String)>,
    objects: ReadObjects<'_>,
) -> Result<(), ImportError> {
    let ids: Vec<String> = links.iter().map(|(_, id)| id.clone()).collect();
    let targets = objects(&ids)?.into_iter();
    let links = links.into_iter().zip(targets);
    let links: Vec<Link> = links
        .map(|((path, _), target)| Link::new(path, target))
        .collect();
    let linked = follow(&links, &tree.files)?;
    tree.refused.extend(linked.refused);
    for (place, target) in linked.files {
        if let (Some(file), Some(id)) = (tree.files.get(&target), tree.ids.get(&target)) {
            let file = ContentFile {
                is_link: true,
                ..*file
            };
            let id = id.clone();
            tree.files.insert(place.clone(), file);
            tree.ids.insert(place, id);
        }
    }
    Ok(())
}

/// The objects that `git cat-file --batch` prints: `ID TYPE SIZE\nCONTENT\n` for each. `None` where one is missing.
pub(super) fn objects(mut output: &[u8], count: usize) -> Option<Vec<Vec<u8>>> {
    let mut objects = Vec::with_capacity(count.min(10_000));
    for _ in 0..count {
        let end = output.iter().position(|byte| *byte == b'\n')?;
        let head = std::str::from_utf8(output.get(..end)?).ok()?;
        let size: usize = head.rsplit_once(' ')?.1.parse().ok()?;
        if head.split(' ').nth(1) != Some("blob") {
            return None;
        }
        let start = end + 1;
        objects.push(output.get(start..start.checked_add(size)?)?.to_vec());
        output = output.get(start.checked_add(size)?.checked_add(1)?..)?;
    }
    Some(objects)
}
