//! The files of what was fetched: listed at once, read when they are needed.

use std::collections::BTreeMap;
use std::fmt;

use gongfu_core::skill::SkillPath;

use crate::error::ImportError;

/// A file of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContentFile {
    /// Its length in bytes, as the source says.
    pub size: u64,
    /// Its permissions, of which `0o111` says that it is a program.
    pub mode: u32,
    /// True if the source has a link here, or above, to what is elsewhere in the source.
    pub is_link: bool,
}

impl ContentFile {
    /// The permissions of a file that is no program.
    pub const PLAIN: u32 = 0o644;
    /// The permissions of a program.
    pub const PROGRAM: u32 = 0o755;

    /// A file with the permissions that every user of the machine expects.
    pub fn new(size: u64, is_executable: bool) -> Self {
        Self {
            size,
            mode: Self::mode(is_executable),
            is_link: false,
        }
    }

    /// The permissions of a program, or of another file.
    pub fn mode(is_executable: bool) -> u32 {
        if is_executable {
            Self::PROGRAM
        } else {
            Self::PLAIN
        }
    }
}

/// Reads the files of a source.
pub trait ReadFiles {
    /// Reads files whole, in the order of their paths.
    ///
    /// # Errors
    /// One of them can't be read, or is longer than an import may be.
    fn read(&mut self, paths: &[&SkillPath]) -> Result<Vec<Vec<u8>>, ImportError>;
}

/// The files of a source, and a reader of them.
pub struct Content {
    /// Its files, by path.
    pub files: BTreeMap<SkillPath, ContentFile>,
    /// Entries that no skill may have, such as a link that leads out, and why. A skill that has one isn't taken.
    pub refused: Vec<(String, String)>,
    reader: Box<dyn ReadFiles>,
}

impl fmt::Debug for Content {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Content");
        shown.field("files", &self.files.len());
        shown
            .field("refused", &self.refused)
            .finish_non_exhaustive()
    }
}

impl Content {
    /// The files that a reader reads.
    pub fn new(
        files: BTreeMap<SkillPath, ContentFile>,
        refused: Vec<(String, String)>,
        reader: Box<dyn ReadFiles>,
    ) -> Self {
        Self {
            files,
            refused,
            reader,
        }
    }

    /// Files that are in memory, each with its permissions.
    pub fn in_memory(files: BTreeMap<SkillPath, (Vec<u8>, u32)>) -> Self {
        let listed = files.iter().map(|(path, (bytes, mode))| {
            let size = bytes.len() as u64;
            let file = ContentFile {
                size,
                mode: *mode,
                is_link: false,
            };
            (path.clone(), file)
        });
        Self::new(listed.collect(), Vec::new(), Box::new(InMemory(files)))
    }

    /// The same with places where other files of it are, too, and with entries that aren't taken.
    #[must_use]
    pub fn with_links(
        mut self,
        places: Vec<(SkillPath, SkillPath)>,
        refused: Vec<(String, String)>,
    ) -> Self {
        for (place, target) in &places {
            if let Some(file) = self.files.get(target) {
                let file = ContentFile {
                    is_link: true,
                    ..*file
                };
                self.files.insert(place.clone(), file);
            }
        }
        self.refused.extend(refused);
        self.reader = Box::new(WithLinks(self.reader, places.into_iter().collect()));
        self
    }

    /// Reads files whole, in the order of their paths.
    ///
    /// # Errors
    /// One of them can't be read, or is longer than an import may be.
    pub fn read(&mut self, paths: &[&SkillPath]) -> Result<Vec<Vec<u8>>, ImportError> {
        self.reader.read(paths)
    }
}

struct InMemory(BTreeMap<SkillPath, (Vec<u8>, u32)>);

impl ReadFiles for InMemory {
    fn read(&mut self, paths: &[&SkillPath]) -> Result<Vec<Vec<u8>>, ImportError> {
        let read = |path: &&SkillPath| match self.0.get(*path) {
            Some((bytes, _)) => Ok(bytes.clone()),
            None => Err(ImportError::refused(format!(
                "`{path}` isn't in the source"
            ))),
        };
        paths.iter().map(read).collect()
    }
}

/// Reads files where links are, too.
struct WithLinks(Box<dyn ReadFiles>, BTreeMap<SkillPath, SkillPath>);

impl ReadFiles for WithLinks {
    fn read(&mut self, paths: &[&SkillPath]) -> Result<Vec<Vec<u8>>, ImportError> {
        let real = paths.iter().map(|path| self.1.get(*path).unwrap_or(path));
        self.0.read(&real.collect::<Vec<_>>())
    }
}
