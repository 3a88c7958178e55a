//! A library in memory: a writable source `lib` and a read-only source `user`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use gongfu_core::library::{FindingCount, Library, Revision, Skill, Source, SourceKind};
use gongfu_core::port::{
    Change, FileContent, FileEdit, Lease, Materialize, Pending, PortError, SkillStore, ready,
};
use gongfu_core::skill::{self, Digest, FileEntry, FileKind, SkillName, SkillPath};
use tokio::sync::watch;

use super::file_tree::FileTree;
use super::layers::lease;

/// The files of a skill: path and content.
pub type SkillFiles<'a> = &'a [(&'a str, &'a [u8])];

/// The skills of one space.
#[derive(Debug)]
pub struct MemorySkills {
    state: Mutex<State>,
    revision: watch::Sender<Revision>,
    /// True while the library is being read for the first time.
    reading: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct State {
    /// In order of precedence.
    skills: Vec<SkillEntry>,
    library: Arc<Library>,
    /// True makes it a fault of the test to ask for the library.
    is_sealed: bool,
}

/// A skill and its files.
#[derive(Debug)]
struct SkillEntry {
    full_name: Arc<str>,
    files: FileTree,
    enabled: bool,
    /// Shown instead of what the SKILL.md says.
    fixed: Option<Skill>,
}

impl SkillEntry {
    fn new(full_name: &str, files: FileTree) -> Self {
        Self {
            full_name: full_name.trim_start_matches('-').into(),
            files,
            enabled: !full_name.starts_with('-'),
            fixed: None,
        }
    }
}

impl Default for MemorySkills {
    fn default() -> Self {
        Self {
            state: Mutex::default(),
            revision: watch::Sender::new(Revision::default()),
            reading: watch::Sender::new(false),
        }
    }
}

impl MemorySkills {
    /// Replaces the whole library. A full name that starts with `-` is a disabled skill.
    pub fn replace(&self, skills: &[(&str, SkillFiles<'_>)]) {
        let mut state = self.state.lock().unwrap();
        state.skills = skills
            .iter()
            .map(|(name, files)| SkillEntry::new(name, tree_of(files)))
            .collect();
        self.rebuild(&mut state);
    }

    /// Replaces the whole library by skills as they are given, whatever their files say.
    pub fn replace_with(&self, skills: Vec<(Skill, SkillFiles<'_>)>) {
        let mut state = self.state.lock().unwrap();
        state.skills = skills
            .into_iter()
            .map(|(skill, files)| SkillEntry {
                enabled: skill.enabled,
                fixed: Some(skill.clone()),
                ..SkillEntry::new(&skill.full_name, tree_of(files))
            })
            .collect();
        self.rebuild(&mut state);
    }

    /// Makes it a fault of the test to ask for the library.
    pub fn seal(&self) {
        self.state.lock().unwrap().is_sealed = true;
    }

    /// Makes everybody who asks for the library wait until it is read, or ends that.
    pub fn read_slowly(&self, is_reading: bool) {
        self.reading.send_replace(is_reading);
    }

    /// Adds a skill to the writable source.
    fn add(&self, name: &SkillName, files: FileTree) -> Result<Arc<Skill>, PortError> {
        let mut state = self.state.lock().unwrap();
        let full_name = format!("lib/{name}");
        let mut skills = state.skills.iter();
        if skills.any(|stored| *stored.full_name == *full_name) {
            return Err(PortError::Conflict(full_name));
        }
        let entry = SkillEntry::new(&full_name, files);
        if skill(&entry).is_none() {
            return Err(PortError::Denied("it would be no skill".to_owned()));
        }
        state.skills.push(entry);
        self.rebuild(&mut state);
        Self::shown(&state, &full_name)
    }

    /// A skill as the library shows it.
    fn shown(state: &State, full_name: &str) -> Result<Arc<Skill>, PortError> {
        let mut skills = state.library.skills().iter();
        let found = skills.find(|skill| *skill.full_name == *full_name);
        found.cloned().ok_or(PortError::NotFound)
    }

    async fn is_read(&self) {
        // The sender is this store's own.
        let _ = self.reading.subscribe().wait_for(|reading| !reading).await;
    }

    fn rebuild(&self, state: &mut State) {
        let skills = state.skills.iter();
        let skills = skills.filter_map(skill);
        let sources = [
            ("lib", "/x/lib", SourceKind::Explicit),
            ("user", "/x/user", SourceKind::Explicit),
            ("untrusted", "/x/project/skills", SourceKind::Untrusted),
        ];
        let sources = sources.map(|(id, root, kind)| Source {
            id: id.into(),
            kind,
            root: root.to_owned(),
            project: (kind == SourceKind::Untrusted).then(|| "/x/project".into()),
        });
        let revision = state.library.revision().next();
        let library = Library::new(sources.into(), skills.collect(), Vec::new());
        state.library = Arc::new(library.at(revision));
        self.revision.send_replace(revision);
    }
}

fn tree_of(files: SkillFiles<'_>) -> FileTree {
    let files = files.iter();
    FileTree(
        files
            .map(|(path, bytes)| ((*path).to_owned(), bytes.to_vec()))
            .collect(),
    )
}

/// A skill as the library shows it; `None` for files without a SKILL.md that can be loaded.
fn skill(stored: &SkillEntry) -> Option<Arc<Skill>> {
    let files = stored.files.0.iter().map(|(path, bytes)| FileEntry {
        path: SkillPath::new(path).unwrap(),
        size: bytes.len() as u64,
        digest: Some(Digest::of(bytes)),
        kind: FileKind::of(bytes),
    });
    let (full_name, enabled) = (Arc::clone(&stored.full_name), stored.enabled);
    if let Some(fixed) = &stored.fixed {
        return Some(Arc::new(Skill {
            files: files.collect(),
            enabled,
            ..fixed.clone()
        }));
    }
    let folder = full_name.rsplit('/').next().unwrap_or_default();
    let mut found = Vec::new();
    let mut texts = stored.files.0.iter();
    let (_, text) = texts.find(|(path, _)| path.eq_ignore_ascii_case("SKILL.md"))?;
    let document = skill::load(text, folder, &mut found)?;
    let frontmatter = serde_json::Value::Object(document.frontmatter);
    Some(Arc::new(Skill {
        name: document.name,
        description: document.description,
        frontmatter: frontmatter.to_string().into(),
        source: full_name.split('/').next().unwrap_or_default().into(),
        folder: SkillPath::new(full_name.split_once('/').map_or("", |(_, below)| below)).unwrap(),
        path: format!("/x/{full_name}"),
        full_name,
        files: files.collect(),
        unlisted: Arc::default(),
        findings: FindingCount::of(&found),
        enabled,
    }))
}

impl SkillStore for MemorySkills {
    fn library(&self) -> Pending<'_, Arc<Library>> {
        Box::pin(async move {
            self.is_read().await;
            let state = self.state.lock().unwrap();
            assert!(!state.is_sealed, "nobody may ask for the library");
            Ok(Arc::clone(&state.library))
        })
    }

    fn changed(&self, since: Revision) -> Pending<'_, Revision> {
        let mut revision = self.revision.subscribe();
        Box::pin(async move {
            self.is_read().await;
            let changed = revision.wait_for(|revision| *revision != since).await;
            let changed = changed.map(|revision| *revision);
            changed.map_err(|error| PortError::Other(error.into()))
        })
    }

    fn read<'a>(
        &'a self,
        skill: &'a Skill,
        path: &'a SkillPath,
        limit: u64,
    ) -> Pending<'a, FileContent> {
        let state = self.state.lock().unwrap();
        ready(tree(&state, skill).and_then(|tree| tree.read(path, limit)))
    }

    fn set_enabled<'a>(&'a self, skill: &'a Skill, enabled: bool) -> Pending<'a, bool> {
        let mut state = self.state.lock().unwrap();
        let mut skills = state.skills.iter_mut();
        let found = skills.find(|stored| stored.full_name == skill.full_name);
        let changed = found.map(|stored| std::mem::replace(&mut stored.enabled, enabled));
        self.rebuild(&mut state);
        ready(
            changed
                .map(|before| before != enabled)
                .ok_or(PortError::NotFound),
        )
    }

    fn create<'a>(&'a self, name: &'a SkillName, document: &'a [u8]) -> Pending<'a, Arc<Skill>> {
        let tree = FileTree(BTreeMap::from([("SKILL.md".to_owned(), document.to_vec())]));
        ready(self.add(name, tree))
    }

    fn create_whole<'a>(
        &'a self,
        name: &'a SkillName,
        files: &'a [FileEdit<'a>],
    ) -> Pending<'a, Arc<Skill>> {
        ready(self.add(name, edited(FileTree::default(), files)))
    }

    fn edit<'a>(&'a self, skill: &'a Skill, edits: &'a [FileEdit<'a>]) -> Pending<'a, Arc<Skill>> {
        let mut state = self.state.lock().unwrap();
        ready(current(&state, skill).and_then(|at| {
            let before = state.skills[at].files.clone();
            state.skills[at].files = edited(before.clone(), edits);
            if self::skill(&state.skills[at]).is_none() {
                state.skills[at].files = before;
                return Err(PortError::Denied("it would be no skill".to_owned()));
            }
            self.rebuild(&mut state);
            Self::shown(&state, &skill.full_name)
        }))
    }

    fn delete<'a>(&'a self, skill: &'a Skill) -> Pending<'a, ()> {
        let mut state = self.state.lock().unwrap();
        ready(current(&state, skill).map(|at| {
            state.skills.remove(at);
            self.rebuild(&mut state);
        }))
    }

    fn write<'a>(
        &'a self,
        skill: &'a Skill,
        path: &'a SkillPath,
        change: Change<'a>,
    ) -> Pending<'a, bool> {
        if &*skill.source != "lib" {
            return ready(Err(PortError::ReadOnly {
                place: skill.source.to_string(),
                instead: Some("/x/lib".to_owned()),
            }));
        }
        let mut state = self.state.lock().unwrap();
        let mut skills = state.skills.iter_mut();
        let found = skills.find(|stored| stored.full_name == skill.full_name);
        let written = match found {
            Some(stored) => stored.files.write(path, change),
            None => Err(PortError::NotFound),
        };
        self.rebuild(&mut state);
        ready(written)
    }
}

/// The place of a skill of the writable source, if it still is this version.
fn current(state: &State, skill: &Skill) -> Result<usize, PortError> {
    if &*skill.source != "lib" {
        return Err(PortError::ReadOnly {
            place: skill.source.to_string(),
            instead: Some("/x/lib".to_owned()),
        });
    }
    let mut skills = state.skills.iter();
    let at = skills.position(|stored| stored.full_name == skill.full_name);
    let at = at.ok_or(PortError::NotFound)?;
    let now = self::skill(&state.skills[at]).map(|now| now.digest());
    if now == Some(skill.digest()) {
        Ok(at)
    } else {
        Err(PortError::Conflict("it is another version".to_owned()))
    }
}

/// The files after these edits.
fn edited(mut tree: FileTree, edits: &[FileEdit<'_>]) -> FileTree {
    for edit in edits {
        let path = edit.path.as_str();
        match edit.content {
            Some(bytes) => tree.0.insert(path.to_owned(), bytes.to_vec()),
            None => tree.0.remove(path),
        };
    }
    tree
}

impl Materialize for MemorySkills {
    fn materialize<'a>(&'a self, skill: &'a Skill) -> Pending<'a, Lease> {
        let state = self.state.lock().unwrap();
        let leased = tree(&state, skill)
            .and_then(|tree| lease(tree).map_err(|error| PortError::Other(error.into())));
        ready(leased)
    }
}

fn tree<'a>(state: &'a State, skill: &Skill) -> Result<&'a FileTree, PortError> {
    let mut skills = state.skills.iter();
    let found = skills.find(|stored| stored.full_name == skill.full_name);
    found.map(|stored| &stored.files).ok_or(PortError::NotFound)
}
