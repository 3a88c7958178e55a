//! What an operator granted to skills, kept across starts and shared by all processes of a home.

use std::io;
use std::sync::Arc;

use gongfu_core::library::Skill;
use gongfu_core::network::{Grant, Grants, Rule};
use gongfu_core::port::PortError;
use gongfu_core::sandbox::Reach;

use crate::home::Home;
use crate::local::LocalSkills;
use crate::record::Record;

const FILE: &str = "grants.json";
const LOCK: &str = "grants.lock";

/// The grants of a home.
#[derive(Clone)]
pub struct LocalGrants {
    record: Record,
    skills: Arc<LocalSkills>,
}

impl LocalGrants {
    /// Grants below a home to skills of this library; the file is made with the first of them.
    pub fn new(home: Home, skills: Arc<LocalSkills>) -> Self {
        let record = Record::new(home, LOCK);
        Self { record, skills }
    }

    /// What a skill reaches.
    ///
    /// # Errors
    /// The skill isn't there any more, or the file can't be read: then nobody knows.
    pub fn reach(&self, skill: &Skill) -> Result<Reach, PortError> {
        let grants = self.all()?;
        if grants.all.is_empty() {
            return Ok(Reach::default());
        }
        Ok(grants.reach(&self.folder(skill)?, skill.name.as_str()))
    }

    /// All of them.
    ///
    /// # Errors
    /// The file can't be read.
    pub fn all(&self) -> Result<Grants, PortError> {
        self.record.read(FILE).map_err(|error| unusable(&error))
    }

    /// Has a skill reach a host; answers whether anything is otherwise now.
    ///
    /// # Errors
    /// The skill isn't there any more, or the file can't be read or written.
    pub fn add(&self, skill: &Skill, host: Rule, private: bool) -> Result<bool, PortError> {
        let grant = Grant {
            folder: self.folder(skill)?,
            skill: skill.full_name.to_string(),
            name: skill.name.as_str().to_owned(),
            host,
            private,
        };
        self.change(|grants| grants.add(grant))
    }

    /// Has it no longer reach that; answers whether it did.
    ///
    /// # Errors
    /// As for [`Self::add`].
    pub fn remove(&self, skill: &Skill, host: &Rule) -> Result<bool, PortError> {
        let folder = self.folder(skill)?;
        self.change(|grants| grants.remove(&folder, host))
    }

    /// Takes away what was granted to a skill that isn't there any more, by its full name or the folder that
    /// it lay in; answers whether there was anything.
    ///
    /// # Errors
    /// The file can't be read or written.
    pub fn forget(&self, skill: &str, host: &Rule) -> Result<bool, PortError> {
        self.change(|grants| grants.forget(skill, host))
    }

    /// Where a skill lies. A name that is no text would be another's as well.
    fn folder(&self, skill: &Skill) -> Result<String, PortError> {
        let root = self.skills.root_of(skill)?;
        let folder = root.path().to_str().map(str::to_owned);
        folder.ok_or_else(|| {
            let why = "a skill in a folder whose name isn't text can't be granted anything";
            PortError::Denied(why.to_owned())
        })
    }

    fn change<T>(&self, change: impl FnOnce(&mut Grants) -> T) -> Result<T, PortError> {
        let changed = self.record.change(FILE, change);
        changed.map_err(|error| unusable(&error))
    }
}

fn unusable(error: &io::Error) -> PortError {
    PortError::Unavailable(error.to_string())
}
