//! The skills that all servers serve, the one that is asked for, and gongfu's home.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Result, bail};
use tempfile::TempDir;

use crate::set::Set;

/// The skill whose document is asked for.
pub(super) const SKILL: &str = "five-kilobytes";
/// The length of that document.
const SIZE: usize = 5 * 1024;
/// The age of a file's last change at which its time can be trusted, with some room.
const SETTLED: Duration = Duration::from_millis(2_500);

/// A set of skills and a home.
pub(super) struct Fixture {
    set: Set,
    home: TempDir,
    /// The number of skills, the one that is loaded included.
    pub(super) skills: usize,
    /// The document that is asked for.
    pub(super) document: Rc<str>,
}

impl Fixture {
    /// As many skills as a well-stocked library has.
    pub(super) fn small() -> Result<Self> {
        Self::over(Set::synthetic()?)
    }

    /// So many skills, with at least five files each.
    pub(super) fn large(skills: usize) -> Result<Self> {
        let fixture = Self::over(Set::multiplied(
            &Set::synthetic()?,
            skills.saturating_sub(1),
        )?)?;
        if fixture.skills != skills {
            bail!("{} skills are made instead of {skills}", fixture.skills);
        }
        Ok(fixture)
    }

    fn over(set: Set) -> Result<Self> {
        let document = document();
        let folder = set.folder.join(SKILL);
        fs::create_dir(&folder)?;
        fs::write(folder.join("SKILL.md"), &document)?;
        Ok(Self {
            skills: set.skills + 1,
            set,
            home: TempDir::new()?,
            document: Rc::from(document),
        })
    }

    /// Waits until the times of the files can be trusted.
    pub(super) fn settle(&self) {
        if self.set.is_new {
            std::thread::sleep(SETTLED);
        }
    }

    /// The folder that holds all skills directly.
    pub(super) fn folder(&self) -> &PathBuf {
        &self.set.folder
    }

    /// The home of gongfu.
    pub(super) fn home(&self) -> &Path {
        self.home.path()
    }
}

/// A document of exactly this length, of the kind that people write.
fn document() -> String {
    let mut text = format!(
        "---\nname: {SKILL}\ndescription: \"Reads, checks and files reports. Use it when a report comes in.\"\n---\n\n# Reports\n"
    );
    for step in 1.. {
        let _ = writeln!(
            text,
            "\n## Step {step}\n\nOpen the \"report\" and compare <total> with the sum of its rows:\n\n```sh\nsum --column {step} report.csv\n```"
        );
        if text.len() >= SIZE {
            break;
        }
    }
    // It is ASCII, so any length is one of characters.
    text.truncate(SIZE - 1);
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::{SIZE, document};

    #[test]
    fn the_document_has_its_length_and_begins_as_a_skill() {
        let text = document();
        assert_eq!(text.len(), SIZE);
        assert!(text.starts_with("---\nname: five-kilobytes\n") && text.is_ascii());
    }
}
