//! The ports in memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use gongfu_core::account::Owner;
use gongfu_core::approval::{Approval, Approvals, Decision, Request, Ruling};
use gongfu_core::library::{FindingCount, Library, Skill, Source, SourceKind};
use gongfu_core::place::Location;
use gongfu_core::port::{
    ApprovalStore, AuditEntry, AuditLog, Change, Clock, Environments, FileContent, FolderEntry,
    FolderEntryKind, Grounds, Listener, Pending, PortError, Runs, Sandbox, SkillSearch, SkillStore,
    Timestamp, Workspace,
};
use gongfu_core::sandbox::{
    Limits, Mode, Mount, Outcome, Reach, SKILL, Spec, Standing, Stream, WORKSPACE,
};
use gongfu_core::search::{Answer, Hit, Query};
use gongfu_core::skill::{Digest, FileEntry, FileKind, SkillName, SkillPath, document};

use super::dependency::Shelf;
use crate::catalog::{Catalog, Ports};
use crate::run::Installs;

/// Skills in memory: full name to files; and a workspace, which is the skill without a name.
pub(super) struct Memory {
    library: Mutex<Arc<Library>>,
    files: Mutex<HashMap<(String, String), Vec<u8>>>,
    /// Whether asking for the library is a fault.
    is_sealed: bool,
    /// The audit.
    written: Mutex<Vec<AuditEntry>>,
    /// How the next run ends.
    planned: Mutex<Option<Outcome>>,
    /// What was to be run.
    asked: Mutex<Vec<Spec>>,
    /// What people said.
    pub(super) approvals: Mutex<Approvals>,
}

impl ApprovalStore for Memory {
    fn decide<'a>(
        &'a self,
        _owner: &'a Owner,
        request: &'a Request,
        now: Timestamp,
    ) -> Pending<'a, Decision> {
        let decision = self.approvals.lock().unwrap().decide(request, now);
        Box::pin(std::future::ready(Ok(decision)))
    }

    fn list<'a>(&'a self, _owner: &'a Owner, _now: Timestamp) -> Pending<'a, Vec<Approval>> {
        let all = self.approvals.lock().unwrap().all.clone();
        Box::pin(std::future::ready(Ok(all)))
    }

    fn answer<'a>(
        &'a self,
        _owner: &'a Owner,
        id: &'a str,
        answer: Ruling,
        until: Option<Timestamp>,
        now: Timestamp,
    ) -> Pending<'a, Option<Approval>> {
        let answered = self
            .approvals
            .lock()
            .unwrap()
            .answer(id, answer, until, now);
        Box::pin(std::future::ready(Ok(answered)))
    }
}

impl Memory {
    fn content(&self, of: &str, path: &str, limit: u64) -> Result<FileContent, PortError> {
        let files = self.files.lock().unwrap();
        let bytes = files.get(&(of.to_owned(), path.to_owned()));
        let bytes = bytes.ok_or(PortError::NotFound)?;
        Ok(FileContent {
            bytes: bytes
                .iter()
                .copied()
                .take(usize::try_from(limit).unwrap())
                .collect(),
            size: bytes.len() as u64,
        })
    }

    fn put(&self, of: &str, path: &str, change: Change<'_>) -> Result<bool, PortError> {
        let mut files = self.files.lock().unwrap();
        let key = (of.to_owned(), path.to_owned());
        let before = files.insert(key.clone(), change.bytes.to_vec());
        if change.expected.is_some() && before.as_deref() != change.expected {
            files.extend(before.map(|before| (key, before)));
            return Err(PortError::Conflict("it changed meanwhile".to_owned()));
        }
        Ok(before.is_none())
    }
}

impl Workspace for Memory {
    fn list<'a>(&'a self, _owner: &'a Owner, place: &'a Location) -> Pending<'a, Vec<FolderEntry>> {
        let Location::Workspace(folder) = place else {
            return refused();
        };
        let files = self.files.lock().unwrap();
        let mut entries: Vec<FolderEntry> = files
            .iter()
            .filter(|((of, path), _)| {
                of.is_empty() && SkillPath::new(path).unwrap().parent() == *folder
            })
            .map(|((_, path), bytes)| FolderEntry {
                name: SkillPath::new(path).unwrap().file_name().to_owned(),
                kind: FolderEntryKind::File(bytes.len() as u64),
            })
            .collect();
        entries.sort_by(|left, right| left.name.cmp(&right.name));
        let known = folder.is_root() || !entries.is_empty();
        let answer = if known {
            Ok(entries)
        } else {
            Err(PortError::NotFound)
        };
        Box::pin(std::future::ready(answer))
    }

    fn read<'a>(
        &'a self,
        _owner: &'a Owner,
        place: &'a Location,
        limit: u64,
    ) -> Pending<'a, FileContent> {
        match place {
            Location::Workspace(path) => {
                Box::pin(std::future::ready(self.content("", path.as_str(), limit)))
            }
            Location::Absolute(_) => refused(),
        }
    }

    fn write<'a>(
        &'a self,
        _owner: &'a Owner,
        place: &'a Location,
        change: Change<'a>,
    ) -> Pending<'a, bool> {
        match place {
            Location::Workspace(path) => {
                Box::pin(std::future::ready(self.put("", path.as_str(), change)))
            }
            Location::Absolute(_) => refused(),
        }
    }
}

impl Runs for Memory {
    fn grounds<'a>(&'a self, _owner: &'a Owner, skill: Option<&'a Skill>) -> Pending<'a, Grounds> {
        let mount = |source: &str, target: &str| Mount {
            sources: vec![source.into()],
            target: target.to_owned(),
            mode: Mode::Layered,
            keep: Some(source.into()),
        };
        let skill = skill.map(|skill| mount(&skill.full_name, SKILL));
        let mounts = skill.into_iter().chain([mount("workspace", WORKSPACE)]);
        Box::pin(std::future::ready(Ok(Grounds {
            mounts: mounts.collect(),
            programs: Vec::new(),
            reach: Reach::default(),
            logs: "logs/7".into(),
            logs_seen: "/runs/7".to_owned(),
        })))
    }

    fn left<'a>(
        &'a self,
        _owner: &'a Owner,
        skill: &'a Skill,
        path: &'a SkillPath,
        limit: u64,
    ) -> Pending<'a, FileContent> {
        let layer = format!("layer of {}", skill.full_name);
        Box::pin(std::future::ready(self.content(
            &layer,
            path.as_str(),
            limit,
        )))
    }

    fn listed<'a>(
        &'a self,
        _owner: &'a Owner,
        skill: &'a Skill,
    ) -> Pending<'a, Vec<(SkillPath, u64)>> {
        let layer = format!("layer of {}", skill.full_name);
        let files = self.files.lock().unwrap();
        let files = files.iter().filter(|((of, _), _)| *of == layer);
        let files =
            files.map(|((_, path), bytes)| (SkillPath::new(path).unwrap(), bytes.len() as u64));
        Box::pin(std::future::ready(Ok(files.collect())))
    }
}

/// Answers with what is planned for the next run; without a plan no sandbox works.
impl Sandbox for Memory {
    fn standing(&self) -> Pending<'_, Vec<Standing>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    fn run<'a>(
        &'a self,
        _owner: &'a Owner,
        spec: Spec,
        listener: Listener,
    ) -> Pending<'a, Outcome> {
        let planned = self.planned.lock().unwrap().take();
        self.asked.lock().unwrap().push(spec);
        let outcome = planned.ok_or_else(|| PortError::Unavailable("it has none".to_owned()));
        let outcome = outcome.inspect(|outcome| {
            listener(Stream::Stdout, &outcome.stdout.head);
            let wrote = outcome.artifacts.iter().filter_map(|artifact| {
                let path = artifact.path.strip_prefix("/skill/")?;
                Some((
                    ("layer of lib/pdf".to_owned(), path.to_owned()),
                    b"left".to_vec(),
                ))
            });
            self.files.lock().unwrap().extend(wrote);
        });
        Box::pin(std::future::ready(outcome))
    }
}

impl Memory {
    /// Has the next run end like this.
    pub(super) fn plan(&self, outcome: Outcome) {
        *self.planned.lock().unwrap() = Some(outcome);
    }

    /// What was to be run since the last time that this was asked.
    pub(super) fn asked(&self) -> Vec<Spec> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

fn refused<'a, T: Send + 'a>() -> Pending<'a, T> {
    let reason = "it lies below no mount (none is declared)".to_owned();
    Box::pin(std::future::ready(Err(PortError::Denied(reason))))
}

/// Finds by the names alone: ranking is tested where it is made.
impl SkillSearch for Memory {
    fn search<'a>(&'a self, _owner: &'a Owner, query: &'a Query) -> Pending<'a, Answer> {
        let library = Arc::clone(&self.library.lock().unwrap());
        let fits = |skill: &&Arc<Skill>| skill.enabled && query.text.contains(skill.name.as_str());
        let all: Vec<Hit> = library
            .skills()
            .iter()
            .filter(fits)
            .map(|skill| Hit {
                skill: Arc::clone(skill),
                score: 1.5,
                snippet: "the place".to_owned(),
            })
            .collect();
        let answer = Answer {
            total: all.len(),
            hits: all.into_iter().take(query.limit).collect(),
            shortened: false,
            words: query.text.contains(char::is_alphabetic),
        };
        Box::pin(std::future::ready(Ok(answer)))
    }
}

impl SkillStore for Memory {
    fn library<'a>(&'a self, _owner: &'a Owner) -> Pending<'a, Arc<Library>> {
        assert!(!self.is_sealed, "nobody may ask for the library");
        Box::pin(std::future::ready(Ok(Arc::clone(
            &self.library.lock().unwrap(),
        ))))
    }

    fn read<'a>(
        &'a self,
        _owner: &'a Owner,
        skill: &'a Skill,
        path: &'a SkillPath,
        limit: u64,
    ) -> Pending<'a, FileContent> {
        let content = self.content(&skill.full_name, path.as_str(), limit);
        Box::pin(std::future::ready(content))
    }

    fn set_enabled<'a>(
        &'a self,
        _owner: &'a Owner,
        _skill: &'a Skill,
        _enabled: bool,
    ) -> Pending<'a, bool> {
        Box::pin(std::future::ready(Ok(false)))
    }

    fn create<'a>(
        &'a self,
        _owner: &'a Owner,
        name: &'a SkillName,
        document: &'a [u8],
    ) -> Pending<'a, Arc<Skill>> {
        let full_name = format!("lib/{name}");
        let change = Change {
            bytes: document,
            expected: None,
        };
        self.put(&full_name, "SKILL.md", change).unwrap();
        let entries = vec![entry("SKILL.md", document)];
        let made = skill(&full_name, name.as_str(), true, entries);
        let mut library = self.library.lock().unwrap();
        let mut skills = library.skills().to_vec();
        skills.push(Arc::clone(&made));
        *library = Arc::new(Library::new(library.sources().to_vec(), skills, Vec::new()));
        Box::pin(std::future::ready(Ok(made)))
    }

    fn write<'a>(
        &'a self,
        _owner: &'a Owner,
        skill: &'a Skill,
        path: &'a SkillPath,
        change: Change<'a>,
    ) -> Pending<'a, bool> {
        let written = if &*skill.source == "lib" {
            self.put(&skill.full_name, path.as_str(), change)
        } else {
            Err(PortError::ReadOnly {
                place: skill.source.to_string(),
                instead: Some("/x/lib".to_owned()),
            })
        };
        Box::pin(std::future::ready(written))
    }
}

impl AuditLog for Memory {
    fn record<'a>(&'a self, _owner: &'a Owner, entry: &'a AuditEntry) -> Pending<'a, ()> {
        self.written.lock().unwrap().push(entry.clone());
        Box::pin(std::future::ready(Ok(())))
    }
}

impl Clock for Memory {
    fn now(&self) -> Timestamp {
        Timestamp(1_795_253_400_000)
    }
}

pub(super) const DOCUMENT: &str = "---\nname: pdf\ndescription: Read\n  PDFs.\n---\n\n# PDF\n\nintro\n\n## Use\n\nuse it\n\n## Limits\n\nnone\n";

fn entry(path: &str, bytes: &[u8]) -> FileEntry {
    FileEntry {
        path: SkillPath::new(path).unwrap(),
        size: bytes.len() as u64,
        digest: Some(Digest::of(bytes)),
        kind: FileKind::of(bytes),
    }
}

fn skill(full_name: &str, name: &str, enabled: bool, mut files: Vec<FileEntry>) -> Arc<Skill> {
    files.sort_by(|left, right| left.path.cmp(&right.path));
    let frontmatter = if full_name == "lib/pdf" {
        r#"{"metadata":{"use-case":"PDF files","related":"wide off"}}"#
    } else {
        "{}"
    };
    Arc::new(Skill {
        name: SkillName::new(name).unwrap(),
        full_name: full_name.into(),
        description: "Read\n  PDFs.".to_owned(),
        frontmatter: frontmatter.into(),
        source: full_name.split('/').next().unwrap().into(),
        path: format!("/x/{full_name}"),
        files: files.into(),
        findings: FindingCount::default(),
        enabled,
    })
}

/// The catalog over four skills, one of them switched off and one shadowed.
pub(super) fn catalog() -> Catalog {
    let wide: Vec<(String, Vec<u8>)> = (0..600)
        .map(|number| (format!("assets/{number:03}.txt"), b"x".to_vec()))
        .collect();
    over(vec![
        (
            "lib/pdf",
            "pdf",
            true,
            vec![
                ("SKILL.md".to_owned(), DOCUMENT.into()),
                ("a.png".to_owned(), b"\x89PNG\0".to_vec()),
                ("ref/x.md".to_owned(), b"one\ntwo\n".to_vec()),
            ],
        ),
        ("lib/wide", "wide", true, wide),
        (
            "lib/off",
            "off",
            false,
            vec![("SKILL.md".to_owned(), DOCUMENT.into())],
        ),
        (
            "user/pdf",
            "pdf",
            true,
            vec![("skill.md".to_owned(), b"lower".to_vec())],
        ),
    ])
}

type Planned<'a> = (&'a str, &'a str, bool, Vec<(String, Vec<u8>)>);

/// The catalog over these skills.
pub(super) fn over(planned: Vec<Planned<'_>>) -> Catalog {
    made(planned, false)
}

/// A catalog whose library nobody may ask for.
pub(super) fn sealed() -> Catalog {
    made(Vec::new(), true)
}

fn made(planned: Vec<Planned<'_>>, is_sealed: bool) -> Catalog {
    let mut files: HashMap<(String, String), Vec<u8>> = HashMap::new();
    let mut skills = Vec::new();
    for (full_name, name, enabled, more) in planned {
        let entries = more.iter().map(|(path, bytes)| entry(path, bytes));
        skills.push(skill(full_name, name, enabled, entries.collect()));
        for (path, bytes) in more {
            files.insert((full_name.to_owned(), path), bytes);
        }
    }
    let sources = ["lib", "user"].map(|id| Source {
        id: id.into(),
        kind: SourceKind::Explicit,
        root: format!("/x/{id}"),
    });
    catalog_over(&Arc::new(Memory {
        library: Mutex::new(Arc::new(Library::new(sources.into(), skills, Vec::new()))),
        files: Mutex::new(files),
        is_sealed,
        written: Mutex::default(),
        planned: Mutex::default(),
        asked: Mutex::default(),
        approvals: Mutex::default(),
    }))
}

fn catalog_over(memory: &Arc<Memory>) -> Catalog {
    with_environments(memory, Arc::new(Shelf::default()), Installs::default())
}

/// The catalog over what is in memory, with these environments of packages.
pub(super) fn with_environments(
    memory: &Arc<Memory>,
    environments: Arc<dyn Environments>,
    installs: Installs,
) -> Catalog {
    Catalog::new(Ports {
        skills: Arc::clone(memory) as Arc<dyn SkillStore>,
        search: Arc::clone(memory) as Arc<dyn SkillSearch>,
        workspace: Arc::clone(memory) as Arc<dyn Workspace>,
        runs: Arc::clone(memory) as Arc<dyn Runs>,
        sandbox: Arc::clone(memory) as Arc<dyn Sandbox>,
        limits: Limits::default(),
        environments,
        installs,
        approvals: Arc::clone(memory) as Arc<dyn ApprovalStore>,
        audit: Arc::clone(memory) as Arc<dyn AuditLog>,
        clock: Arc::clone(memory) as Arc<dyn Clock>,
    })
}

/// A file of a skill: its path and what it holds.
pub(super) type File<'a> = (&'a str, &'a [u8]);

/// The catalog over skills whose documents are read as they are from disk, and what is behind it.
///
/// A full name that starts with `-` is one that is switched off.
pub(super) fn reading(planned: &[(&str, &[File<'_>])]) -> (Catalog, Arc<Memory>) {
    let memory = Arc::new(Memory {
        library: Mutex::default(),
        files: Mutex::default(),
        is_sealed: false,
        written: Mutex::default(),
        planned: Mutex::default(),
        asked: Mutex::default(),
        approvals: Mutex::default(),
    });
    memory.hold(planned);
    (catalog_over(&memory), memory)
}

impl Memory {
    /// Holds these skills from now on.
    pub(super) fn hold(&self, planned: &[(&str, &[File<'_>])]) {
        let mut skills = Vec::new();
        let mut all = self.files.lock().unwrap();
        all.clear();
        for (name, files) in planned {
            let full_name = name.trim_start_matches('-');
            let document = files
                .iter()
                .find(|(path, _)| path.eq_ignore_ascii_case("SKILL.md"));
            let folder = full_name.rsplit('/').next().unwrap();
            let mut found = Vec::new();
            let document = document::load(document.unwrap().1, folder, &mut found).unwrap();
            let entries = files.iter().map(|(path, bytes)| entry(path, bytes));
            let made = skill(full_name, document.name.as_str(), true, entries.collect());
            skills.push(Arc::new(Skill {
                description: document.description,
                frontmatter: serde_json::Value::Object(document.frontmatter)
                    .to_string()
                    .into(),
                findings: FindingCount::of(&found),
                enabled: !name.starts_with('-'),
                ..(*made).clone()
            }));
            for (path, bytes) in *files {
                all.insert((full_name.to_owned(), (*path).to_owned()), bytes.to_vec());
            }
        }
        let sources = ["lib", "user"].map(|id| Source {
            id: id.into(),
            kind: SourceKind::Explicit,
            root: format!("/x/{id}"),
        });
        let library = Library::new(sources.into(), skills, Vec::new());
        *self.library.lock().unwrap() = Arc::new(library);
    }

    /// What was written into the audit: what was asked for and what came of it.
    pub(super) fn audited(&self) -> Vec<(String, &'static str)> {
        let written = self.written.lock().unwrap();
        let line = |entry: &AuditEntry| (entry.tool.clone(), entry.outcome);
        written.iter().map(line).collect()
    }
}
