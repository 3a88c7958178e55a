//! The skills of an account: kept as blobs and manifests in its records, with a checkout on disk.
//!
//! Content comes first, then the records in one commit, then the checkout: a crash leaves a skill as it was or as it was to
//! become. There is one store of an account in a process, of which [`StoredSkills`] are handles, and one process a server.

mod checkout;
mod joined;
mod record;
mod writing;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use gongfu_core::account::{Owner, UserId};
use gongfu_core::library::{Library, Revision, Skill, Source, SourceKind};
use gongfu_core::port::{
    Blobs, Change, Clock, FileContent, FileEdit, Lease, Materialize, Pending, PortError, RecordKey,
    Records, SkillStore, Transactions, Version, ready,
};
use gongfu_core::skill::{Digest, SkillName, SkillPath};
use gongfu_core::switches::Switches;
use gongfu_files::disk;
use tokio::sync::watch::Sender;

use crate::blocking::blocking;
use crate::revision;

pub use joined::{AccountSkills, SharedSkills, Shares};
pub use record::contents_of;

use checkout::{Checkout, NewFile};
use record::{Manifest, StoredSkill, manifest_key};

/// The most skills and bytes of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreLimits {
    /// Skills.
    pub skills: usize,
    /// Bytes of all their files.
    pub bytes: u64,
    /// Files of one skill.
    pub files: usize,
    /// Bytes of one file.
    pub file: u64,
}

impl Default for StoreLimits {
    fn default() -> Self {
        Self {
            skills: 1_000,
            bytes: 1024 * 1024 * 1024,
            files: 2_000,
            file: 32 * 1024 * 1024,
        }
    }
}

/// The parts of an account's store.
pub struct StoreParts {
    /// The user or the team.
    pub owner: Owner,
    /// The name of the source of their skills.
    pub source: String,
    /// Their records.
    pub records: Arc<dyn Transactions>,
    /// Their content.
    pub blobs: Arc<dyn Blobs>,
    /// The folder of the checkout.
    pub folder: PathBuf,
    /// The limits.
    pub limits: StoreLimits,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

/// The skills of an account, changed by one user.
#[derive(Clone)]
pub struct StoredSkills {
    inner: Arc<Inner>,
    /// The user who changes them; `None` where nobody does.
    by: Option<UserId>,
}

/// A handle that doesn't keep a store open.
pub struct WeakSkills {
    inner: Weak<Inner>,
    by: Option<UserId>,
}

impl WeakSkills {
    /// The store, while somebody has it open.
    pub fn upgrade(&self) -> Option<StoredSkills> {
        Some(StoredSkills {
            inner: self.inner.upgrade()?,
            by: self.by.clone(),
        })
    }
}

struct Inner {
    owner: Owner,
    records: Arc<dyn Transactions>,
    blobs: Arc<dyn Blobs>,
    checkout: Arc<Checkout>,
    limits: Mutex<StoreLimits>,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    /// Held by the one change that is made.
    writing: tokio::sync::Mutex<()>,
    reported: Sender<Revision>,
}

/// A skill as its records say.
#[derive(Clone)]
struct Entry {
    /// The version of its record.
    version: Version,
    created: i64,
    /// The id of its manifest.
    id: String,
    manifest: Arc<Manifest>,
}

#[derive(Default)]
struct State {
    /// The name of their source.
    source: Arc<str>,
    /// The skills by their folders.
    entries: BTreeMap<String, Entry>,
    library: Arc<Library>,
    switches: Switches,
}

impl StoredSkills {
    /// Reads the skills of an account, and repairs its checkout.
    ///
    /// # Errors
    /// The records can't be read, or the checkout can't be written.
    pub async fn open(parts: StoreParts) -> Result<Self, PortError> {
        let by = match &parts.owner {
            Owner::User(user) => Some(user.clone()),
            Owner::Team(_) | Owner::Local => None,
        };
        let inner = Inner {
            owner: parts.owner,
            checkout: Arc::new(Checkout::new(parts.folder)),
            records: parts.records,
            blobs: parts.blobs,
            limits: Mutex::new(parts.limits),
            clock: parts.clock,
            state: Mutex::default(),
            writing: tokio::sync::Mutex::default(),
            reported: Sender::new(Revision::default().next()),
        };
        let entries = read_all(&*inner.records).await?;
        let current: HashMap<String, Manifest> = entries
            .values()
            .map(|entry| (entry.id.clone(), (*entry.manifest).clone()))
            .collect();
        let repaired = blocking(|| inner.checkout.reconcile(&current));
        repaired.map_err(|error| broken(&error))?;
        let switches = Switches::read(&*inner.records).await?;
        let mut state = State {
            source: parts.source.into(),
            entries,
            switches,
            ..State::default()
        };
        inner.assemble(&mut state, Revision::default().next())?;
        *inner.lock() = state;
        Ok(Self {
            inner: Arc::new(inner),
            by,
        })
    }

    /// A handle that doesn't keep the store open.
    pub fn downgrade(&self) -> WeakSkills {
        WeakSkills {
            inner: Arc::downgrade(&self.inner),
            by: self.by.clone(),
        }
    }

    /// The same skills, changed by this user.
    fn changed_by(&self, user: &UserId) -> Self {
        Self {
            by: Some(user.clone()),
            ..self.clone()
        }
    }

    /// Sets the most that the account may have from now on. What is there already stays.
    pub fn set_limits(&self, limits: StoreLimits) {
        let known = self.inner.limits.lock();
        *known.unwrap_or_else(PoisonError::into_inner) = limits;
    }

    fn limits(&self) -> StoreLimits {
        let known = self.inner.limits.lock();
        *known.unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the source of the skills another name.
    ///
    /// # Errors
    /// The skills can't have it.
    pub fn rename_source(&self, name: &str) -> Result<(), PortError> {
        let mut state = self.inner.lock();
        if *state.source == *name {
            return Ok(());
        }
        state.source = name.into();
        let revision = self.inner.advance(&mut state)?;
        drop(state);
        self.inner.reported.send_replace(revision);
        Ok(())
    }

    /// The name of the skills' source.
    fn source(&self) -> Arc<str> {
        Arc::clone(&self.lock().source)
    }

    /// The account's own skills. Their revision counts the changes of its switches, too.
    fn own(&self) -> Arc<Library> {
        Arc::clone(&self.lock().library)
    }

    /// The identities of the skills that the account disabled.
    fn disabled(&self) -> BTreeSet<String> {
        self.lock().switches.disabled.clone()
    }

    /// Enables or disables a skill that the account sees; answers whether that changed anything.
    async fn switch(&self, identity: &str, enabled: bool) -> Result<bool, PortError> {
        let _writing = self.inner.writing.lock().await;
        let changed = Switches::update(&*self.inner.records, identity, enabled).await?;
        let switches = Switches::read(&*self.inner.records).await?;
        let mut state = self.lock();
        state.switches = switches;
        let revision = self.inner.advance(&mut state)?;
        drop(state);
        self.inner.reported.send_replace(revision);
        Ok(changed)
    }

    /// The bytes of all skills.
    fn bytes(&self) -> u64 {
        let state = self.lock();
        let manifests = state.entries.values().map(|entry| entry.manifest.bytes());
        manifests.sum()
    }

    /// The entry of a skill as the caller knows it.
    fn entry(&self, skill: &Skill) -> Result<Entry, PortError> {
        let state = self.lock();
        let entry = state.entries.get(skill.folder.as_str());
        entry.cloned().ok_or(PortError::NotFound)
    }

    /// The same, if the skill is still the version that the caller knows.
    fn current_entry(&self, skill: &Skill) -> Result<Entry, PortError> {
        let entry = self.entry(skill)?;
        let now = entry.manifest.skill("", "")?;
        if now.digest() == skill.digest() {
            Ok(entry)
        } else {
            Err(PortError::Conflict(format!(
                "the skill `{}` changed meanwhile",
                skill.name
            )))
        }
    }

    async fn content(&self, digest: &Digest, limit: u64) -> Result<FileContent, PortError> {
        self.inner.blobs.get(digest, limit).await
    }

    async fn lease(&self, entry: &Entry) -> Result<Lease, PortError> {
        let find = || self.inner.checkout.lease(&entry.id, &entry.manifest);
        for _ in 0..2 {
            let found = blocking(find).map_err(|error| broken(&error))?;
            if let Some(lease) = found {
                return Ok(lease);
            }
            self.check_out(entry).await?;
        }
        let why = "the folder of the skill changes all the time";
        Err(PortError::Unavailable(why.to_owned()))
    }

    /// Makes the folder of a version from its blobs.
    async fn check_out(&self, entry: &Entry) -> Result<(), PortError> {
        let mut contents = Vec::new();
        for file in &entry.manifest.files {
            contents.push(self.content(&file.digest, u64::MAX).await?.bytes);
        }
        let files = entry.manifest.files.iter().zip(&contents);
        let files: Vec<NewFile<'_>> = files
            .map(|(file, bytes)| NewFile {
                path: &file.path,
                bytes: bytes.into(),
                is_executable: file.is_executable,
            })
            .collect();
        let made = blocking(|| {
            let (temporary, _) = self.inner.checkout.stage(&entry.manifest.folder, &files)?;
            self.inner.checkout.settle(&temporary, &entry.id)
        });
        made.map_err(|error| broken(&error))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.inner.lock()
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the library anew, of the next revision.
    fn advance(&self, state: &mut State) -> Result<Revision, PortError> {
        let revision = state.library.revision().next();
        self.assemble(state, revision)?;
        Ok(revision)
    }

    fn assemble(&self, state: &mut State, revision: Revision) -> Result<(), PortError> {
        let kind = match self.owner {
            Owner::User(_) | Owner::Local => "user",
            Owner::Team(_) => "team",
        };
        // No path: what is on disk is nobody's to know.
        let root = format!("{kind}/{}", self.owner.id().unwrap_or_default());
        let entries = state.entries.values();
        let skills = entries.map(|entry| entry.manifest.skill(&state.source, &root));
        let skills = skills.map(|skill| skill.map(Arc::new));
        let skills = skills.collect::<Result<Vec<_>, _>>()?;
        let source = Source {
            id: Arc::clone(&state.source),
            kind: SourceKind::Account,
            root,
            project: None,
        };
        state.library = Arc::new(Library::new(vec![source], skills, Vec::new()).at(revision));
        Ok(())
    }
}

impl SkillStore for StoredSkills {
    fn library(&self) -> Pending<'_, Arc<Library>> {
        ready(Ok(Arc::clone(&self.lock().library)))
    }

    fn changed(&self, since: Revision) -> Pending<'_, Revision> {
        revision::changed(&self.inner.reported, since)
    }

    fn read<'a>(
        &'a self,
        skill: &'a Skill,
        path: &'a SkillPath,
        limit: u64,
    ) -> Pending<'a, FileContent> {
        Box::pin(async move {
            if path.is_root() {
                return Err(PortError::IsAFolder);
            }
            let file = skill.files.binary_search_by(|file| file.path.cmp(path));
            let file = file.ok().and_then(|at| skill.files.get(at));
            let Some(file) = file else {
                let is_folder = skill.files.iter().any(|file| file.path.is_within(path));
                return Err(if is_folder {
                    PortError::IsAFolder
                } else {
                    PortError::NotFound
                });
            };
            let digest = file.digest.ok_or(PortError::NotFound)?;
            self.content(&digest, limit).await
        })
    }

    /// The space's switches decide about that.
    fn set_enabled<'a>(&'a self, _skill: &'a Skill, _enabled: bool) -> Pending<'a, bool> {
        let why = "the switches of an account are kept beside its skills";
        ready(Err(PortError::Denied(why.to_owned())))
    }

    fn create<'a>(&'a self, name: &'a SkillName, document: &'a [u8]) -> Pending<'a, Arc<Skill>> {
        Box::pin(async move {
            let path = SkillPath::new(gongfu_core::skill::SKILL_FILE);
            let path = path.map_err(|error| PortError::Other(error.into()))?;
            let file = FileEdit {
                path: &path,
                content: Some(document),
                is_executable: None,
            };
            self.create_version(name, &[file]).await
        })
    }

    fn write<'a>(
        &'a self,
        skill: &'a Skill,
        path: &'a SkillPath,
        change: Change<'a>,
    ) -> Pending<'a, bool> {
        Box::pin(self.write_file(skill, path, change))
    }

    fn create_whole<'a>(
        &'a self,
        name: &'a SkillName,
        files: &'a [FileEdit<'a>],
    ) -> Pending<'a, Arc<Skill>> {
        Box::pin(self.create_version(name, files))
    }

    fn edit<'a>(&'a self, skill: &'a Skill, edits: &'a [FileEdit<'a>]) -> Pending<'a, Arc<Skill>> {
        Box::pin(self.edit_version(skill, edits))
    }

    fn delete<'a>(&'a self, skill: &'a Skill) -> Pending<'a, ()> {
        Box::pin(self.delete_skill(skill))
    }

    fn written_by(&self, user: &UserId) -> Option<Arc<dyn SkillStore>> {
        Some(Arc::new(self.changed_by(user)))
    }
}

impl Materialize for StoredSkills {
    fn materialize<'a>(&'a self, skill: &'a Skill) -> Pending<'a, Lease> {
        Box::pin(async move { self.lease(&self.current_entry(skill)?).await })
    }
}

/// The skills of an account that its records lead to, by their folders.
async fn read_all(records: &dyn Records) -> Result<BTreeMap<String, Entry>, PortError> {
    let prefix = RecordKey::new("skill")?;
    let mut entries = BTreeMap::new();
    for (key, record) in records.list(&prefix).await? {
        let unreadable = |error: serde_json::Error| {
            PortError::Unavailable(format!("{} can't be read: {error}", record.place))
        };
        let stored: StoredSkill = serde_json::from_slice(&record.value).map_err(unreadable)?;
        let manifest = records.get(&manifest_key(&stored.manifest)?).await?;
        let missing = || PortError::Unavailable(format!("the manifest of {key} is missing"));
        let manifest = manifest.ok_or_else(missing)?;
        let manifest: Manifest = serde_json::from_slice(&manifest.value).map_err(unreadable)?;
        let entry = Entry {
            version: record.version,
            created: stored.created,
            id: stored.manifest,
            manifest: Arc::new(manifest),
        };
        entries.insert(entry.manifest.folder.clone(), entry);
    }
    Ok(entries)
}

/// The places of an account's folder that somebody changed by hand, and what was set aside for that before. Changes
/// nothing, so it may be asked while a server runs.
///
/// # Errors
/// The records can't be read.
pub async fn changed_by_hand(
    records: &dyn Records,
    folder: PathBuf,
) -> Result<Vec<PathBuf>, PortError> {
    let current = read_all(records).await?.into_values();
    let current = current.map(|entry| (entry.id, (*entry.manifest).clone()));
    let current = current.collect();
    Ok(blocking(|| Checkout::new(folder).differences(&current)))
}

/// A failure of the checkout.
fn broken(error: &io::Error) -> PortError {
    PortError::Unavailable(format!(
        "the folder of the account's skills can't be used: {}",
        disk::write_reason(error)
    ))
}
