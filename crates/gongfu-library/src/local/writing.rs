//! Writes skills: new ones, and files of existing ones, in the one writable place.
//!
//! Every other source belongs to somebody else: a repository, another program, gongfu's own
//! release. The refusal names the writable place.

use std::io;
use std::path::Path;
use std::sync::Arc;

use gongfu_core::library::Skill;
use gongfu_core::port::{Change, PortError};
use gongfu_core::skill::{SKILL_FILE, SkillName, SkillPath};

use super::LocalSkills;
use crate::source::Place;
use gongfu_files::disk::{self, Root};

impl LocalSkills {
    /// The place that skills are written to, if the library has it.
    fn writable(&self) -> Option<Place> {
        let settings = self.settings();
        let named = settings.writable.as_deref();
        let path = named.map_or_else(|| self.home.skills(), Path::to_owned);
        let below_start = settings.below_start(&path);
        let is_meant = |place: &Path| place == path || Some(place) == below_start.as_deref();
        let mut places = self.places().into_iter();
        places.find(|place| is_meant(&place.path) && !place.leads_out())
    }

    pub(super) fn create_skill(
        &self,
        name: &SkillName,
        document: &[u8],
    ) -> Result<Arc<Skill>, PortError> {
        let Some(place) = self.writable() else {
            return Err(PortError::ReadOnly {
                place: "the library".to_owned(),
                instead: None,
            });
        };
        let folder = name.as_str();
        let is_one_component = SkillPath::new(folder).is_ok_and(|path| path.as_str() == folder);
        if !is_one_component || folder.starts_with('.') {
            let reason = format!("a skill folder can't be named `{folder}`");
            return Err(PortError::Denied(reason));
        }
        if place.path.starts_with(self.home.path()) {
            self.home.open().map_err(disk::write_error)?;
        }
        let root = Root::create(&place.path).map_err(disk::write_error)?;
        let created = root.put_folder(folder, &[(SKILL_FILE, document)]);
        created.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty => {
                PortError::Conflict(format!("the folder `{folder}` already exists"))
            }
            _ => disk::write_error(error),
        })?;
        self.look_again();
        let library = self.current()?;
        let full_name = format!("{}/{folder}", place.id);
        let mut skills = library.skills().iter();
        let created = skills.find(|skill| *skill.full_name == *full_name);
        created.map(Arc::clone).ok_or(PortError::NotFound)
    }

    pub(super) fn put(
        &self,
        skill: &Skill,
        path: &SkillPath,
        change: Change<'_>,
    ) -> Result<bool, PortError> {
        let place = self.writable();
        if place.as_ref().is_none_or(|place| place.id != skill.source) {
            return Err(PortError::ReadOnly {
                place: skill.source.to_string(),
                instead: place.map(|place| place.path.display().to_string()),
            });
        }
        let put = self.root_of(skill)?.put(path, change);
        self.look_again();
        put.map_err(disk::put_error)
    }
}

#[cfg(test)]
mod tests;
