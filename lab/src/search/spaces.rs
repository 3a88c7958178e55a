//! Many owners with few skills each: what the first and the second search of a space cost.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use gongfu_core::account::{Owner, UserId};
use gongfu_core::library::{FindingCount, Library, Skill, Source, SourceKind};
use gongfu_core::port::{
    Change, FileContent, Pending, PortError, SkillSearch as _, SkillStore, ready,
};
use gongfu_core::search::Query;
use gongfu_core::skill::{Digest, FileEntry, FileKind, SkillName, SkillPath, document};
use gongfu_search::{Search, SearchCache};
use serde_json::{Value, json};

use super::collection::Collection;
use super::score::percentile;

/// The number of skills in a space.
const SKILLS: usize = 10;

/// The measurements of many spaces.
pub(super) struct Spaces {
    count: usize,
    first: Vec<f64>,
    second: Vec<f64>,
    kept: (usize, usize),
    before: u64,
    after: u64,
}

/// The skills of the collection, of which each space has some.
struct Shelf {
    skills: Vec<(Arc<Skill>, Arc<[u8]>)>,
    places: HashMap<String, usize>,
}

/// The skills of one space, in memory.
struct Few {
    shelf: Arc<Shelf>,
    library: Arc<Library>,
}

impl Shelf {
    fn new(collection: &Collection) -> Result<Self> {
        let mut skills = Vec::new();
        let mut places = HashMap::new();
        for entry in &collection.skills {
            let bytes: Arc<[u8]> = entry.document.as_bytes().into();
            let Some(found) = document::parse(&bytes, "skill") else {
                continue;
            };
            let files = [FileEntry {
                path: SkillPath::new("SKILL.md")?,
                size: bytes.len() as u64,
                digest: Some(Digest::of(&bytes)),
                kind: FileKind::Text,
            }];
            let full_name = format!("space/{}", skills.len());
            places.insert(full_name.clone(), skills.len());
            let skill = Skill {
                name: SkillName::new(found.name.as_str())?,
                full_name: full_name.into(),
                description: found.description,
                frontmatter: "{}".into(),
                source: "space".into(),
                folder: SkillPath::new(&skills.len().to_string())?,
                path: String::new(),
                files: files.into(),
                unlisted: Arc::default(),
                findings: FindingCount::default(),
                enabled: true,
            };
            skills.push((Arc::new(skill), bytes));
        }
        if skills.len() < SKILLS {
            bail!("a space needs {SKILLS} skills");
        }
        Ok(Self { skills, places })
    }
}

impl Few {
    fn new(shelf: &Arc<Shelf>, number: usize) -> Self {
        let some = (0..SKILLS).map(|at| (number * 7 + at * 13) % shelf.skills.len());
        let skills = some.map(|at| Arc::clone(&shelf.skills[at].0)).collect();
        let source = Source {
            id: "space".into(),
            kind: SourceKind::User,
            root: String::new(),
            project: None,
        };
        Self {
            shelf: Arc::clone(shelf),
            library: Arc::new(Library::new(vec![source], skills, Vec::new())),
        }
    }
}

impl SkillStore for Few {
    fn library(&self) -> Pending<'_, Arc<Library>> {
        ready(Ok(Arc::clone(&self.library)))
    }

    fn read<'a>(
        &'a self,
        skill: &'a Skill,
        _path: &'a SkillPath,
        _limit: u64,
    ) -> Pending<'a, FileContent> {
        let bytes = self
            .shelf
            .places
            .get(&*skill.full_name)
            .map(|at| self.shelf.skills[*at].1.to_vec());
        let content = bytes.map(|bytes| FileContent {
            size: bytes.len() as u64,
            bytes,
        });
        ready(content.ok_or(PortError::NotFound))
    }

    fn set_enabled<'a>(&'a self, _skill: &'a Skill, _enabled: bool) -> Pending<'a, bool> {
        read_only()
    }

    fn create<'a>(&'a self, _name: &'a SkillName, _document: &'a [u8]) -> Pending<'a, Arc<Skill>> {
        read_only()
    }

    fn write<'a>(
        &'a self,
        _skill: &'a Skill,
        _path: &'a SkillPath,
        _change: Change<'a>,
    ) -> Pending<'a, bool> {
        read_only()
    }
}

fn read_only<'a, T: Send + 'a>() -> Pending<'a, T> {
    let error = PortError::ReadOnly {
        place: "space".to_owned(),
        instead: None,
    };
    ready(Err(error))
}

/// Searches every space twice in a row.
pub(super) fn measure(collection: &Collection, count: usize) -> Result<Spaces> {
    let shelf = Arc::new(Shelf::new(collection)?);
    let cache = Arc::new(SearchCache::default());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build()?;
    let mut spaces = Spaces {
        count,
        first: Vec::new(),
        second: Vec::new(),
        kept: (0, 0),
        before: memory(),
        after: 0,
    };
    let questions = collection.questions(1);
    for number in 0..count {
        let owner = Owner::User(UserId::new(&number.to_string())?);
        let store: Arc<dyn SkillStore> = Arc::new(Few::new(&shelf, number));
        let search = Search::in_memory(owner, store, Arc::clone(&cache));
        let query = Query::new(questions[number % questions.len()].text, 5);
        for times in [&mut spaces.first, &mut spaces.second] {
            let start = Instant::now();
            runtime
                .block_on(search.search(&query))
                .with_context(|| format!("space {number} can't be searched"))?;
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
    }
    spaces.kept = cache.usage();
    spaces.after = memory();
    spaces.first.sort_by(f64::total_cmp);
    spaces.second.sort_by(f64::total_cmp);
    Ok(spaces)
}

/// The memory of this process in bytes.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

impl Spaces {
    pub(super) fn to_text(&self) -> String {
        let megabytes = |bytes: u64| bytes as f64 / (1024.0 * 1024.0);
        format!(
            "{} spaces of {SKILLS} skills: first search median {:.2} ms, p99 {:.2} ms; second median {:.2} ms, p99 {:.2} ms\n\
             kept ready: {} spaces, {:.1} MiB by their own count; the process grew from {:.0} to {:.0} MiB, the {} libraries included",
            self.count,
            percentile(&self.first, 50),
            percentile(&self.first, 99),
            percentile(&self.second, 50),
            percentile(&self.second, 99),
            self.kept.0,
            megabytes(self.kept.1 as u64),
            megabytes(self.before),
            megabytes(self.after),
            self.count,
        )
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "spaces": self.count,
            "first_median_ms": percentile(&self.first, 50),
            "first_p99_ms": percentile(&self.first, 99),
            "second_median_ms": percentile(&self.second, 50),
            "second_p99_ms": percentile(&self.second, 99),
            "kept_spaces": self.kept.0,
            "kept_bytes": self.kept.1,
            "memory_before": self.before,
            "memory_after": self.after,
        })
    }
}
