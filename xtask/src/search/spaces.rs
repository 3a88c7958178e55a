//! Many owners with few skills each: what the first and the second search of a space cost.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use gongfu_core::account::{Owner, UserId};
use gongfu_core::library::{FindingCount, Library, Skill, Source, SourceKind};
use gongfu_core::port::{Change, FileContent, Pending, PortError, SkillSearch as _, SkillStore};
use gongfu_core::search::Query;
use gongfu_core::skill::{Digest, FileEntry, FileKind, SkillName, SkillPath, document};
use gongfu_store::Search;
use serde_json::{Value, json};

use super::collection::Collection;
use super::score::percentile;

/// How many skills a space has.
const SKILLS: usize = 10;

/// What was measured.
pub(super) struct Spaces {
    count: usize,
    first: Vec<f64>,
    second: Vec<f64>,
    kept: (usize, usize),
    before: u64,
    after: u64,
}

/// Skills of many owners in memory, each with some of the collection's.
struct Many {
    skills: Vec<(Arc<Skill>, Arc<[u8]>)>,
    places: HashMap<String, usize>,
    libraries: std::sync::Mutex<HashMap<Owner, Arc<Library>>>,
}

impl Many {
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
                path: String::new(),
                files: files.into(),
                findings: FindingCount::default(),
                enabled: true,
            };
            skills.push((Arc::new(skill), bytes));
        }
        if skills.len() < SKILLS {
            bail!("a space needs {SKILLS} skills");
        }
        Ok(Self {
            skills,
            places,
            libraries: std::sync::Mutex::default(),
        })
    }

    fn of(&self, owner: &Owner) -> Result<Arc<Library>, PortError> {
        let Owner::User(user) = owner else {
            return Err(PortError::NotFound);
        };
        let number: usize = user.as_str().parse().map_err(|_| PortError::NotFound)?;
        let mut libraries = self.libraries.lock().map_err(|_| PortError::NotFound)?;
        let library = libraries.entry(owner.clone()).or_insert_with(|| {
            let some = (0..SKILLS).map(|at| (number * 7 + at * 13) % self.skills.len());
            let skills = some.map(|at| Arc::clone(&self.skills[at].0)).collect();
            let source = Source {
                id: "space".into(),
                kind: SourceKind::User,
                root: String::new(),
            };
            Arc::new(Library::new(vec![source], skills, Vec::new()))
        });
        Ok(Arc::clone(library))
    }
}

impl SkillStore for Many {
    fn library<'a>(&'a self, owner: &'a Owner) -> Pending<'a, Arc<Library>> {
        Box::pin(std::future::ready(self.of(owner)))
    }

    fn read<'a>(
        &'a self,
        _owner: &'a Owner,
        skill: &'a Skill,
        _path: &'a SkillPath,
        _limit: u64,
    ) -> Pending<'a, FileContent> {
        let bytes = self
            .places
            .get(&*skill.full_name)
            .map(|at| self.skills[*at].1.to_vec());
        let content = bytes.map(|bytes| FileContent {
            size: bytes.len() as u64,
            bytes,
        });
        Box::pin(std::future::ready(content.ok_or(PortError::NotFound)))
    }

    fn set_enabled<'a>(
        &'a self,
        _owner: &'a Owner,
        _skill: &'a Skill,
        _enabled: bool,
    ) -> Pending<'a, bool> {
        read_only()
    }

    fn create<'a>(
        &'a self,
        _owner: &'a Owner,
        _name: &'a SkillName,
        _document: &'a [u8],
    ) -> Pending<'a, Arc<Skill>> {
        read_only()
    }

    fn write<'a>(
        &'a self,
        _owner: &'a Owner,
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
    Box::pin(std::future::ready(Err(error)))
}

/// Searches every space twice in a row.
pub(super) fn measure(collection: &Collection, count: usize) -> Result<Spaces> {
    let store: Arc<dyn SkillStore> = Arc::new(Many::new(collection)?);
    let search = Search::new(store, None);
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
        let query = Query::new(questions[number % questions.len()].text, 5);
        for times in [&mut spaces.first, &mut spaces.second] {
            let start = Instant::now();
            runtime
                .block_on(search.search(&owner, &query))
                .with_context(|| format!("space {number} can't be searched"))?;
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
    }
    spaces.kept = search.kept();
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
