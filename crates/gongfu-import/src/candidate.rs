//! A skill of a source on its way: its files are chosen, read, and staged in a folder of gongfu's home.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gongfu_core::archive::{ArchiveLimits, PathSet};
use gongfu_core::skill::{Digest, SkillPath};
use gongfu_files::disk::Root;

use crate::content::{Content, ContentFile};
use crate::discover::FoundSkill;
use crate::error::{ImportCode, ImportError};
use crate::lock::digest::{DigestedFile, computed_hash, tree_digest};
use crate::lock::own::LockedFile;
use crate::survey::{Survey, Surveyor};

/// The bytes of files that are in memory at once, unless one skill has more.
const MAX_READ: u64 = 32 * 1024 * 1024;
/// The longest name of a skill's folder, in bytes.
const MAX_NAME: usize = 255;
/// Names that other installers leave out, too.
const LEFT_OUT_FILES: [&str; 1] = ["metadata.json"];
const LEFT_OUT_FOLDERS: [&str; 3] = [".git", "__pycache__", "__pypackages__"];

/// A skill whose files are known, and not yet read.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// The skill in its source.
    pub found: FoundSkill,
    /// The name of its folder where it is installed.
    pub folder: String,
    /// Its files, by their paths in the skill.
    files: BTreeMap<SkillPath, CandidateFile>,
}

#[derive(Debug, Clone)]
struct CandidateFile {
    source: SkillPath,
    file: ContentFile,
    /// False for a file that only the digest of other installers counts.
    is_installed: bool,
}

/// A skill whose files are in a folder of gongfu's home.
#[derive(Debug, Clone)]
pub struct StagedSkill {
    /// The skill in its source.
    pub found: FoundSkill,
    /// The name of its folder where it is installed.
    pub folder: String,
    /// The folder where it is staged.
    pub staged: PathBuf,
    /// Its files.
    pub files: BTreeMap<SkillPath, LockedFile>,
    /// gongfu's digest of its files.
    pub digest: Digest,
    /// The digest of `npx skills`.
    pub computed_hash: String,
    /// A survey of its files: scripts, packages and hosts.
    pub survey: Survey,
    /// The codes of what the check found; filled in by the check.
    pub findings: Vec<String>,
}

impl StagedSkill {
    /// The bytes of all its files.
    pub fn bytes(&self) -> u64 {
        self.files.values().map(|file| file.size).sum()
    }
}

/// Says which files of a skill are installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// All but those that other installers leave out.
    Usual,
    /// All: the source lists each of them.
    All,
}

impl Candidate {
    /// Chooses the files of a skill.
    ///
    /// # Errors
    /// It has what no skill may have, or too much.
    pub fn of(content: &Content, found: FoundSkill, choice: Choice) -> Result<Self, ImportError> {
        let top = found.folder.clone();
        let mut refused = content.refused.iter();
        let is_inside = |path: &str| top.is_root() || is_below(path, top.as_str());
        if let Some((path, why)) = refused.find(|(path, _)| is_inside(path)) {
            let name = &found.name;
            return Err(ImportError::refused(format!(
                "skill `{name}` has `{path}`: {why}"
            )));
        }
        let mut files = BTreeMap::new();
        let below = content.files.range(top.clone()..);
        for (source, file) in below.take_while(|(path, _)| path.as_str().starts_with(top.as_str()))
        {
            if !source.is_within(&top) {
                continue;
            }
            let start = if top.is_root() {
                0
            } else {
                top.as_str().len() + 1
            };
            let path = source.as_str().get(start..).unwrap_or_default();
            let Ok(path) = SkillPath::new(path) else {
                continue;
            };
            let file = CandidateFile {
                is_installed: choice == Choice::All || !is_left_out(&path),
                source: source.clone(),
                file: *file,
            };
            files.insert(path, file);
        }
        let candidate = Self {
            folder: folder_name(&found.name),
            found,
            files,
        };
        candidate.check()?;
        Ok(candidate)
    }

    /// The number and the bytes of the files that are installed.
    pub fn size(&self) -> (usize, u64) {
        let installed = self.files.values().filter(|file| file.is_installed);
        let sizes = installed.map(|file| file.file.size);
        sizes.fold((0, 0), |(count, bytes), size| (count + 1, bytes + size))
    }

    /// Refuses what a skill of an archive may not have, either.
    fn check(&self) -> Result<(), ImportError> {
        let name = &self.found.name;
        let mut paths = PathSet::default();
        let (count, _) = self.size();
        // Those that aren't installed are read, too.
        let bytes = self.bytes();
        let limits = ArchiveLimits::SKILL;
        if count > limits.entries {
            let most = limits.entries;
            let message = format!("skill `{name}` has more than {most} files");
            return Err(ImportError::too_large(message));
        }
        if bytes > limits.total {
            return Err(ImportError::too_large(format!(
                "skill `{name}` is longer than 64 MiB"
            )));
        }
        for (path, file) in self.files.iter().filter(|(_, file)| file.is_installed) {
            if file.file.size > limits.file {
                let message = format!("`{path}` of skill `{name}` is longer than 32 MiB");
                return Err(ImportError::too_large(message));
            }
            if !paths.add_file(path) {
                let message = format!(
                    "`{path}` of skill `{name}` is there twice where letter case doesn't count"
                );
                return Err(ImportError::refused(message));
            }
        }
        Ok(())
    }

    fn bytes(&self) -> u64 {
        self.files.values().map(|file| file.file.size).sum()
    }
}

/// Reads the files of skills, and writes them into one folder each below `into`.
///
/// # Errors
/// A file can't be read, is longer than its source says, or can't be written.
pub fn stage(
    content: &mut Content,
    candidates: Vec<Candidate>,
    into: &Root,
) -> Result<Vec<StagedSkill>, ImportError> {
    let mut staged = Vec::with_capacity(candidates.len());
    let mut rest = candidates.into_iter().peekable();
    while rest.peek().is_some() {
        let mut group: Vec<Candidate> = Vec::new();
        let mut bytes = 0;
        while let Some(next) =
            rest.next_if(|next| group.is_empty() || bytes + next.bytes() <= MAX_READ)
        {
            bytes += next.bytes();
            group.push(next);
        }
        let sources = group.iter().flat_map(|candidate| candidate.files.values());
        let sources: Vec<&SkillPath> = sources.map(|file| &file.source).collect();
        let mut contents = content.read(&sources)?.into_iter();
        for candidate in &group {
            let own: Vec<Vec<u8>> = contents.by_ref().take(candidate.files.len()).collect();
            let folder = staged.len().to_string();
            staged.push(write(candidate, own, into, &folder)?);
        }
    }
    Ok(staged)
}

fn write(
    candidate: &Candidate,
    contents: Vec<Vec<u8>>,
    into: &Root,
    name: &str,
) -> Result<StagedSkill, ImportError> {
    let unwritable = |error: std::io::Error| {
        let message = format!("a skill can't be staged in gongfu's home: {error}");
        let hint = "check the disk and the permissions of gongfu's home";
        ImportError::new(ImportCode::PlaceUnwritable, message, hint)
    };
    // Its own name is that of its place, which the check compares with the document's.
    let below = Path::new(name).join(&candidate.folder);
    into.create_folder_exact(Path::new(name), 0o755)
        .and_then(|()| into.create_folder_exact(&below, 0o755))
        .map_err(unwritable)?;
    let staged = into.path().join(below);
    let root = Root::open(&staged).map_err(unwritable)?;
    let mut files = BTreeMap::new();
    let mut surveyor = Surveyor::default();
    for ((path, file), bytes) in candidate.files.iter().zip(&contents) {
        if bytes.len() as u64 != file.file.size {
            let message = format!(
                "`{path}` of skill `{}` changed while it was read",
                candidate.found.name
            );
            return Err(ImportError::refused(message));
        }
        if !file.is_installed {
            continue;
        }
        let executable = file.file.mode & 0o111 != 0;
        write_file(&root, path, file.file.mode, bytes).map_err(unwritable)?;
        surveyor.add(path, executable, bytes);
        let locked = LockedFile {
            digest: Digest::of(bytes),
            size: file.file.size,
            executable,
        };
        files.insert(path.clone(), locked);
    }
    let digest = files
        .iter()
        .map(|(path, file)| (path, file.executable, file.digest));
    let counted = candidate.files.iter().zip(&contents);
    let counted = counted.filter(|((_, file), _)| !file.file.is_link);
    let counted = counted.map(|((path, _), bytes)| DigestedFile {
        path,
        bytes: Cow::Borrowed(bytes.as_slice()),
    });
    Ok(StagedSkill {
        found: candidate.found.clone(),
        folder: candidate.folder.clone(),
        staged,
        digest: tree_digest(digest),
        computed_hash: computed_hash(counted),
        survey: surveyor.finish(),
        findings: Vec::new(),
        files,
    })
}

pub(crate) fn write_file(
    root: &Root,
    path: &SkillPath,
    mode: u32,
    bytes: &[u8],
) -> std::io::Result<()> {
    use std::io::Write as _;

    let parent = path.parent();
    if !parent.is_root() {
        root.dir().create_dir_all(parent.as_str())?;
    }
    // The owner may always read and write it.
    let mut file = root.create_exact(Path::new(path.as_str()), mode & 0o777 | 0o600)?;
    file.write_all(bytes)
}

/// The folder of a skill of this name. For names of ASCII as `npx skills` makes it; letters of other scripts are kept.
pub fn folder_name(name: &str) -> String {
    let mut folder = String::new();
    for character in name.to_lowercase().chars() {
        if character.is_alphanumeric() || matches!(character, '.' | '_') {
            folder.push(character);
        } else if !folder.ends_with('-') || folder.is_empty() {
            folder.push('-');
        }
    }
    let folder = folder.trim_matches(['.', '-']);
    let folder = folder
        .get(..folder.floor_char_boundary(MAX_NAME))
        .unwrap_or_default();
    if folder.is_empty() {
        "unnamed-skill".to_owned()
    } else {
        folder.to_owned()
    }
}

fn is_left_out(path: &SkillPath) -> bool {
    let parent = path.parent();
    let mut folders = parent.as_str().split('/');
    LEFT_OUT_FILES.contains(&path.file_name())
        || folders.any(|folder| LEFT_OUT_FOLDERS.contains(&folder))
}

fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests;
