//! The product's catalog over a folder of skills, without a sandbox and without an audit.

use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use gongfu_core::account::Owner;
use gongfu_core::port::{Clock, LocalSpaces, SkillStore, Space, SpaceParts, Timestamp};
use gongfu_files::{Home, LocalWorkspace};
use gongfu_hub::{Catalog, Quota};
use gongfu_library::source::Settings;
use gongfu_library::{LocalSkills, SwitchRecord};
use gongfu_search::Search;
use gongfu_testing::{MemoryRecords, MemorySpace};

/// Opens the catalog over these skills, with its home and workspace in `folder`.
pub(crate) fn open(folder: &Path, skills: &Path, clock: &Arc<dyn Clock>) -> Result<Catalog> {
    let home = Home::at(folder.join("home"));
    let settings = Settings {
        explicit: vec![skills.to_owned()],
        ..Settings::default()
    };
    let skills = Arc::new(LocalSkills::new(
        home.clone(),
        settings,
        SwitchRecord::new(Arc::new(MemoryRecords::default())),
        Arc::clone(clock),
    ));
    let store: Arc<dyn SkillStore> = Arc::<LocalSkills>::clone(&skills);
    // The suite runs no script and needs no records.
    let space = Space::new(SpaceParts {
        search: Arc::new(Search::new(Arc::clone(&store), Some(home))),
        skills: store,
        materialize: skills,
        files: Arc::new(LocalWorkspace::new(folder.join("workspace"), &[])?),
        clock: Arc::clone(clock),
        ..MemorySpace::default().parts(&Owner::Local)
    });
    let spaces = Arc::new(LocalSpaces::new(space));
    Ok(Catalog::new(spaces, Quota::default(), None))
}

/// The clock of this machine.
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let milliseconds = now.unwrap_or_default().as_millis();
        Timestamp(i64::try_from(milliseconds).unwrap_or(i64::MAX))
    }
}
