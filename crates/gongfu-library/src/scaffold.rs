//! Creates a skill where clients look for it: in `.agents/skills`, and linked into `.claude/skills`, as the installers
//! of skills do.

use std::io;
use std::path::{Path, PathBuf};

use gongfu_core::skill::SKILL_FILE;
use gongfu_files::disk::{self, EntryKind, Root};

const AGENTS: &str = ".agents/skills";
const CLAUDE: &str = ".claude/skills";

/// A skill that was created.
#[derive(Debug)]
pub struct CreatedSkill {
    /// Its folder.
    pub folder: PathBuf,
    /// The link to it for Claude Code, which looks only into its own folder.
    pub link: Option<PathBuf>,
}

/// Why a skill can't be created.
#[derive(Debug, thiserror::Error)]
pub enum ScaffoldError {
    /// Something of that name is there already.
    #[error("{} exists", .0.display())]
    Exists(PathBuf),
    /// The folder can't be written.
    #[error("{} can't be created: {}", .0.display(), disk::reason(.1))]
    Io(PathBuf, #[source] io::Error),
}

/// Creates a skill below the folder of a project or a person.
///
/// # Errors
/// Something of that name is there, or the folder can't be written; then there is no new skill.
pub fn create(base: &Path, name: &str, text: &str) -> Result<CreatedSkill, ScaffoldError> {
    let claude = base.join(CLAUDE);
    let beside = claude.join(name);
    if is_there(&claude, name) {
        return Err(ScaffoldError::Exists(beside));
    }
    let folder = create_in(&base.join(AGENTS), name, text)?;
    let is_used = disk::kind_outside(&base.join(".claude")) == Some(EntryKind::Folder);
    // Where `.claude/skills` itself is a link to `.agents/skills`, the skill is there now.
    if is_used && !is_there(&claude, name) {
        link(&claude, name).map_err(|error| ScaffoldError::Io(beside.clone(), error))?;
    }
    Ok(CreatedSkill {
        folder,
        link: is_used.then_some(beside),
    })
}

/// Creates a skill in a folder of skills, and answers its folder.
///
/// # Errors
/// As [`create`].
pub fn create_in(skills: &Path, name: &str, text: &str) -> Result<PathBuf, ScaffoldError> {
    let folder = skills.join(name);
    let created = Root::create(skills)
        .and_then(|root| root.put_folder(name, &[(SKILL_FILE, text.as_bytes())]));
    match created {
        Ok(()) => Ok(folder),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(ScaffoldError::Exists(folder))
        }
        Err(error) => Err(ScaffoldError::Io(folder, error)),
    }
}

fn is_there(folder: &Path, name: &str) -> bool {
    Root::open(folder).is_ok_and(|root| root.dir().symlink_metadata(name).is_ok())
}

fn link(claude: &Path, name: &str) -> io::Result<()> {
    let root = Root::create(claude)?;
    let target = Path::new("../..").join(AGENTS).join(name);
    root.dir().symlink(target, name)
}
