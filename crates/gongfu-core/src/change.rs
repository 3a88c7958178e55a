//! The changes of runs to files, and those of them that wait for a person.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub mod folder;
pub mod git;
pub mod table;

/// Why a change in a protected folder waits, for people.
pub const PROTECTED: &str = "skills or gongfu's own files are there";
/// The most change sets that wait at once.
pub const MAX_SETS: usize = 100;
/// The most bytes that they take together.
pub const MAX_BYTES: u64 = 1024 * 1024 * 1024;
/// The most files that a run removes without a person, besides those that git ignores.
pub const MAX_REMOVALS: usize = 50;

/// The kind of change that a run made to a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It has this length now, in bytes.
    Written(u64),
    /// It is a link now.
    Linked,
    /// It is gone.
    Removed,
    /// It stays behind, and why, for people.
    Refused(String),
    /// It waits for a person in a change set, and why, for people.
    Held(String),
    /// Somebody else changed it after the run began, so it stays as it is. The run's version lies beside it, if
    /// it has one.
    Conflict(Option<String>),
}

impl Change {
    /// Its place in a list with a limit, where those come first that somebody has to know about.
    pub fn rank(&self) -> usize {
        match self {
            Self::Refused(_) => 0,
            Self::Conflict(_) | Self::Held(_) => 1,
            Self::Written(_) | Self::Linked | Self::Removed => 2,
        }
    }
}

/// A file that a run changed, as the run saw it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// Its path, absolute.
    pub path: String,
    /// The kind of change.
    pub change: Change,
}

/// Names the real paths of folders in which nothing is changed without a person, while a run may change the folder
/// with this path.
pub type ProtectedFolders = Arc<dyn Fn(&Path) -> Vec<PathBuf> + Send + Sync>;

/// The settings of git that count for each repository of a person.
#[derive(Debug, Clone, Default)]
pub struct PersonalSettings {
    /// The folder that `~` stands for.
    pub home: Option<PathBuf>,
    /// The files with the settings, those of the system among them; some may be missing.
    pub files: Vec<PathBuf>,
}

/// The terms on which changes of a run wait for a person.
#[derive(Clone)]
pub struct Holding {
    /// The guest paths of the folders whose changes are judged; in every other all is applied.
    pub targets: Vec<String>,
    /// Every change there waits, not only those that the table holds.
    pub holds_all: bool,
    /// The folders in which nothing is changed without a person: those of skills, gongfu's home.
    pub protected: ProtectedFolders,
    /// The settings of git of the person whose folders these are.
    pub git: PersonalSettings,
    /// The folder that keeps the change sets.
    pub folder: PathBuf,
    /// The command and its skill, for people.
    pub about: String,
}

impl fmt::Debug for Holding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Holding");
        shown.field("targets", &self.targets);
        shown.field("holds_all", &self.holds_all);
        shown.finish_non_exhaustive()
    }
}

/// The changes of a run that wait for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChangeSet {
    /// Its id: eight hexadecimal digits.
    pub id: String,
    /// The time at which the run ended, in milliseconds since 1970.
    pub made: u64,
    /// The command and its skill, for people.
    pub about: String,
    /// The changes, by path.
    pub changes: Vec<HeldChange>,
}

/// A change that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HeldChange {
    /// The path that the run saw.
    pub path: String,
    /// The path on this machine.
    pub host: String,
    /// The kind of change.
    #[serde(flatten)]
    pub kind: HeldKind,
    /// Why it waits, for people.
    pub why: String,
}

/// The kind of a change that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "change")]
pub enum HeldKind {
    /// A file.
    Written {
        /// Its length in bytes.
        bytes: u64,
        /// True if it becomes executable.
        executable: bool,
    },
    /// A link.
    Linked {
        /// Its target.
        to: String,
    },
    /// A folder, which is empty or takes something away.
    Folder,
    /// Nothing is there any more.
    Removed,
}

/// A change that waits, beside what is there now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The change.
    pub change: HeldChange,
    /// The entry that is there now.
    pub before: Present,
    /// The content afterwards; `None` where there will be no file, or where it can't be read.
    pub after: Option<Excerpt>,
    /// The permissions of the file afterwards.
    pub mode: Option<u32>,
    /// Set if something stays there that somebody changed since the run began.
    pub kept: Option<Survivor>,
}

/// The entry at a path on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Present {
    /// Nothing.
    Nothing,
    /// A file.
    File {
        /// Its content.
        excerpt: Excerpt,
        /// Its permissions.
        mode: u32,
    },
    /// A link.
    Link {
        /// Its target.
        to: String,
    },
    /// A folder, of which the change takes this away.
    Folder(Going),
    /// Something else, such as a pipe.
    Other,
    /// It can't be read.
    Unknown,
}

/// The entries that a change takes away from a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Going {
    /// The number of files, links included.
    pub files: usize,
    /// The number of folders.
    pub folders: usize,
    /// The paths of the first of them below the folder; those of folders end with a slash.
    pub names: Vec<String>,
    /// There is more, which wasn't counted.
    pub is_cut: bool,
}

impl Going {
    /// Returns whether everything that goes is named.
    pub fn is_named(&self) -> bool {
        !self.is_cut && self.names.len() == self.files + self.folders
    }
}

/// Something that stays because somebody changed it since the run began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survivor {
    /// The path beside it of the run's version, if that has one.
    pub beside: Option<String>,
}

/// The beginning of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// Its first bytes.
    pub bytes: Vec<u8>,
    /// The length of the whole.
    pub size: u64,
}

/// The result of applying a change set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplyReport {
    /// The changed files, by path.
    pub artifacts: Vec<Artifact>,
    /// Their number; perhaps more than are listed.
    pub total: usize,
    /// True if some of it wasn't applied and still waits.
    pub is_partial: bool,
}
