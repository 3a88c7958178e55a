//! The search of the product over a collection on disk.

use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use gongfu_core::port::{Clock, SkillSearch as _, SkillStore, Timestamp};
use gongfu_core::search::{Query, Scope};
use gongfu_files::Home;
use gongfu_library::source::Settings;
use gongfu_library::{LocalSkills, SwitchRecord};
use gongfu_search::Search;
use gongfu_testing::MemoryRecords;

use super::collection::{Collection, Question};

/// The number of skills that a query asks for: more than any figure looks at.
const LIMIT: usize = 10;

/// A library of the collection, ready to be searched.
pub(super) struct Engine {
    runtime: tokio::runtime::Runtime,
    search: Search,
    folders: Vec<String>,
    _folder: tempfile::TempDir,
}

/// The time of the system.
pub(super) struct Now;

impl Clock for Now {
    fn now(&self) -> Timestamp {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let milliseconds = since.map_or(0, |since| since.as_millis());
        Timestamp(i64::try_from(milliseconds).unwrap_or(i64::MAX))
    }
}

impl Engine {
    pub(super) fn new(collection: &Collection) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let root = folder.path().join("skills");
        for skill in &collection.skills {
            let place = root.join(&skill.folder);
            std::fs::create_dir_all(&place)?;
            std::fs::write(place.join("SKILL.md"), &skill.document)?;
        }
        let home = Home::at(folder.path().join("home"));
        let settings = Settings {
            explicit: vec![root.clone()],
            ..Settings::default()
        };
        let skills = LocalSkills::new(
            home.clone(),
            settings,
            SwitchRecord::new(Arc::new(MemoryRecords::default())),
            Arc::new(Now),
        );
        let found = skills.current()?.skills().len();
        if found != collection.skills.len() {
            bail!("of {} skills {found} were found", collection.skills.len());
        }
        let store: Arc<dyn SkillStore> = Arc::new(skills);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .build()?;
        let search = Search::new(store, Some(home));
        runtime.block_on(search.prepare())?;
        let root = std::fs::canonicalize(&root)?;
        let folders = collection
            .skills
            .iter()
            .map(|skill| root.join(&skill.folder).to_string_lossy().into_owned())
            .collect();
        Ok(Self {
            runtime,
            search,
            folders,
            _folder: folder,
        })
    }

    /// The place of the skill that is looked for, from 1; `None` when it isn't among the first ten.
    pub(super) fn rank(&self, question: &Question<'_>, scope: Scope) -> Option<usize> {
        let query = Query {
            scope,
            ..Query::new(question.text, LIMIT)
        };
        let searching = self.search.search(&query);
        let answer = self.runtime.block_on(searching).context("searching").ok()?;
        let wanted = self.folders.get(question.skill)?;
        let place = answer.hits.iter().position(|hit| hit.skill.path == *wanted);
        place.map(|place| place + 1)
    }
}
