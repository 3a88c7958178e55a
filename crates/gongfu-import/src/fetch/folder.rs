//! A folder of this machine as a source.

use std::collections::BTreeMap;
use std::path::Path;

use gongfu_core::skill::{SKILL_FILE, SKILL_FILE_LOWER, SkillPath};
use gongfu_files::disk::{self, Entry, EntryKind, Root};

use crate::content::{Content, ContentFile, ReadFiles};
use crate::error::{ImportCode, ImportError};

/// The most entries of a folder.
const MAX_ENTRIES: usize = 200_000;
/// The most folders in one another.
const MAX_DEPTH: usize = 40;
/// The most bytes of a file.
const MAX_FILE: u64 = 64 * 1024 * 1024;

/// Reads a folder. A link stands for what it leads to, where that lies in the folder.
///
/// # Errors
/// It isn't there, can't be read, or has too many entries.
pub fn fetch(path: &Path) -> Result<Content, ImportError> {
    let unreadable = |error: &std::io::Error| {
        let message = format!("{} can't be read: {}", path.display(), disk::reason(error));
        ImportError::unreachable(message, "check the path and its permissions")
    };
    let root = Root::open(path).map_err(|error| unreadable(&error))?;
    let mut walk = Walk::default();
    let top = SkillPath::root();
    walk.folder(&root, &top, &top, Level::default())?;
    Ok(Content::new(
        walk.files,
        walk.refused,
        Box::new(FolderReader(root)),
    ))
}

/// A level of the walk.
#[derive(Debug, Clone, Copy, Default)]
struct Level {
    depth: usize,
    /// True inside of a skill.
    in_skill: bool,
    /// True inside of a folder that a link leads to.
    in_link: bool,
}

#[derive(Default)]
struct Walk {
    files: BTreeMap<SkillPath, ContentFile>,
    refused: Vec<(String, String)>,
    entries: usize,
}

impl Walk {
    /// Walks a folder that is at `shown` for the import. Packages of a project are left out unless a skill has them.
    fn folder(
        &mut self,
        root: &Root,
        folder: &SkillPath,
        shown: &SkillPath,
        mut level: Level,
    ) -> Result<(), ImportError> {
        if level.depth > MAX_DEPTH {
            let why = "its folders are too deep, or a link leads in a circle".to_owned();
            self.refused.push((shown.to_string(), why));
            return Ok(());
        }
        let entries = match root.list(folder) {
            Ok(entries) => entries,
            Err(error) => {
                self.refused.push((shown.to_string(), disk::reason(&error)));
                return Ok(());
            }
        };
        let is_document =
            |entry: &Entry| matches!(entry.name.as_str(), SKILL_FILE | SKILL_FILE_LOWER);
        level.in_skill |= entries.iter().any(is_document);
        for entry in entries {
            self.entries += 1;
            if self.entries > MAX_ENTRIES {
                let message = format!("the folder has more than {MAX_ENTRIES} entries");
                return Err(ImportError::too_large(message));
            }
            if entry.name == ".git" || entry.name == "node_modules" && !level.in_skill {
                continue;
            }
            let (path, shown) = match (folder.join(&entry.name), shown.join(&entry.name)) {
                (Ok(path), Ok(shown)) => (path, shown),
                (Err(why), _) | (_, Err(why)) => {
                    let name = format!("{shown}/{:?}", entry.name);
                    self.refused.push((name, why.to_string()));
                    continue;
                }
            };
            self.entry(root, &path, shown, &entry, level)?;
        }
        Ok(())
    }

    fn entry(
        &mut self,
        root: &Root,
        path: &SkillPath,
        shown: SkillPath,
        entry: &Entry,
        level: Level,
    ) -> Result<(), ImportError> {
        let is_link = entry.kind == EntryKind::Link;
        let in_link = level.in_link || is_link;
        let found = match entry.kind {
            EntryKind::Unnameable => {
                self.refused
                    .push((shown.to_string(), "its name isn't UTF-8".to_owned()));
                return Ok(());
            }
            _ => root.dir().metadata(path.as_str()),
        };
        match found {
            Ok(metadata) if metadata.is_dir() => {
                let below = Level {
                    depth: level.depth + 1,
                    in_link,
                    ..level
                };
                return self.folder(root, path, &shown, below);
            }
            Ok(metadata) if metadata.is_file() => {
                use cap_std::fs::PermissionsExt as _;

                let file = ContentFile {
                    size: metadata.len(),
                    mode: metadata.permissions().mode() & 0o777,
                    is_link: in_link,
                };
                self.files.insert(shown, file);
            }
            Ok(_) => {
                let why = "it is neither a file nor a folder".to_owned();
                self.refused.push((shown.to_string(), why));
            }
            // A link that leads nowhere is left out.
            Err(error) if is_link && error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) if disk::is_escape(&error) => {
                let why = "it is a link that leads outside the folder".to_owned();
                self.refused.push((shown.to_string(), why));
            }
            Err(error) => self.refused.push((shown.to_string(), disk::reason(&error))),
        }
        Ok(())
    }
}

struct FolderReader(Root);

impl ReadFiles for FolderReader {
    fn read(&mut self, paths: &[&SkillPath]) -> Result<Vec<Vec<u8>>, ImportError> {
        let read = |path: &&SkillPath| match self.0.read(path, MAX_FILE) {
            Ok(content) if content.is_cut() => Err(ImportError::too_large(format!(
                "`{path}` is longer than 64 MiB"
            ))),
            Ok(content) => Ok(content.bytes),
            Err(error) => {
                let message = format!("`{path}` can't be read: {}", disk::reason(&error));
                let hint = "check its permissions; nothing was installed";
                Err(ImportError::new(
                    ImportCode::SourceUnreachable,
                    message,
                    hint,
                ))
            }
        };
        paths.iter().map(read).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use gongfu_core::skill::SkillPath;

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "tests make the folders that they read"
    )]
    fn links_inside_are_followed_and_packages_of_a_project_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        };
        for path in [
            "a/SKILL.md",
            "a/node_modules/m.js",
            "node_modules/x/SKILL.md",
            ".git/config",
            "shared/s.md",
        ] {
            write(path);
        }
        let link = |path: &str, target: &str| symlink(target, folder.path().join(path)).unwrap();
        link("a/s.md", "../shared/s.md");
        link("a/shared", "../shared");
        link("a/passwd", "/etc/passwd");
        link("a/none", "nowhere");
        link("a/circle", "..");
        rustix::fs::mkfifoat(
            rustix::fs::CWD,
            folder.path().join("pipe"),
            rustix::fs::Mode::RWXU,
        )
        .unwrap();
        let mut content = super::fetch(folder.path()).unwrap();
        let paths: Vec<&str> = content.files.keys().map(SkillPath::as_str).collect();
        let plain: Vec<&&str> = paths
            .iter()
            .filter(|path| !path.contains("circle"))
            .collect();
        assert_eq!(
            plain,
            [
                &"a/SKILL.md",
                &"a/node_modules/m.js",
                &"a/s.md",
                &"a/shared/s.md",
                &"shared/s.md"
            ]
        );
        let why: Vec<&str> = content
            .refused
            .iter()
            .map(|(path, _)| path.as_str())
            .collect();
        assert!(
            why.contains(&"a/passwd") && why.contains(&"pipe"),
            "{why:?}"
        );
        assert!(why.iter().any(|path| path.contains("circle")), "{why:?}");
        let path = SkillPath::new("a/shared/s.md").unwrap();
        assert_eq!(content.read(&[&path]).unwrap(), [b"x"]);
        let is_link = |name: &str| content.files[&SkillPath::new(name).unwrap()].is_link;
        assert!(is_link("a/s.md") && is_link("a/shared/s.md") && !is_link("shared/s.md"));
        super::fetch(&folder.path().join("missing")).unwrap_err();
    }
}
