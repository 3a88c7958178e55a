//! Planted faults: a backend with one of them must break the promises that name it.
//!
//! A fault is in one port alone; the others are as they should be. So a story can't find a fault by
//! the help of another port.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gongfu_core::account::Owner;
use gongfu_core::library::{Library, Revision, Skill};
use gongfu_core::place::Location;
use gongfu_core::port::{
    Change, FileContent, Files, FolderEntry, LogEntry, LogHold, Pending, PortError, Record,
    RecordChange, RecordKey, Records, SkillStore, SpaceParts, Transactions, Version,
};
use gongfu_core::skill::{Digest, SkillName, SkillPath};

use super::Port;
use super::fixture::{Backend, Storage};

/// A fault of a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Every owner gets the data of the local person.
    OwnerIgnored,
    /// Storage that is opened again is empty.
    RestartForgets,
    /// A write replaces what another one wrote in between.
    LastWriteWins,
    /// A commit is made in pieces, of which some may be refused.
    PiecemealCommit,
}

impl Fault {
    /// All faults.
    pub const ALL: [Self; 4] = [
        Self::OwnerIgnored,
        Self::RestartForgets,
        Self::LastWriteWins,
        Self::PiecemealCommit,
    ];

    /// Returns true if a port can have the fault.
    pub fn is_possible_in(self, port: Port) -> bool {
        match self {
            Self::OwnerIgnored | Self::RestartForgets => true,
            Self::LastWriteWins => matches!(
                port,
                Port::Skills | Port::Files | Port::Records | Port::Transactions
            ),
            Self::PiecemealCommit => port == Port::Transactions,
        }
    }

    /// The fault in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OwnerIgnored => "an ignored owner",
            Self::RestartForgets => "a restart that forgets",
            Self::LastWriteWins => "a last write that wins",
            Self::PiecemealCommit => "a commit in pieces",
        }
    }
}

/// A backend with a fault in one port.
pub struct Faulty {
    sound: Box<dyn Backend>,
    /// Empty storage, for a restart that forgets.
    empty: Box<dyn Backend>,
    was_opened: AtomicBool,
    port: Port,
    fault: Fault,
}

impl Faulty {
    /// Plants a fault in a port of a backend; each call of `backend` gives empty storage.
    pub fn new(backend: fn() -> Box<dyn Backend>, port: Port, fault: Fault) -> Self {
        Self {
            sound: backend(),
            empty: backend(),
            was_opened: AtomicBool::new(false),
            port,
            fault,
        }
    }
}

impl Backend for Faulty {
    fn offers(&self, port: Port) -> bool {
        self.sound.offers(port)
    }

    fn open(&self) -> Arc<dyn Storage> {
        let is_restart = self.was_opened.swap(true, Ordering::Relaxed);
        let forgets = is_restart && self.fault == Fault::RestartForgets;
        Arc::new(FaultyStorage {
            sound: self.sound.open(),
            empty: forgets.then(|| self.empty.open()),
            port: self.port,
            fault: self.fault,
        })
    }

    fn record(&self, owner: &Owner, key: &RecordKey) -> Vec<u8> {
        self.sound.record(owner, key)
    }

    fn damage_record(&self, owner: &Owner, key: &RecordKey, bytes: &[u8]) {
        self.sound.damage_record(owner, key, bytes);
    }

    fn damage_blob(&self, owner: &Owner, digest: &Digest, bytes: &[u8]) {
        self.sound.damage_blob(owner, digest, bytes);
    }
}

struct FaultyStorage {
    sound: Arc<dyn Storage>,
    empty: Option<Arc<dyn Storage>>,
    port: Port,
    fault: Fault,
}

impl Storage for FaultyStorage {
    fn parts(&self, owner: &Owner) -> SpaceParts {
        let parts = self.sound.parts(owner);
        match (self.fault, &self.empty) {
            (Fault::OwnerIgnored, _) => {
                with_port(parts, self.port, self.sound.parts(&Owner::Local))
            }
            (Fault::RestartForgets, Some(empty)) => with_port(parts, self.port, empty.parts(owner)),
            (Fault::LastWriteWins, _) => without_comparing(parts, self.port),
            (Fault::RestartForgets, None) | (Fault::PiecemealCommit, _) => parts,
        }
    }

    fn transactions(&self, owner: &Owner) -> Arc<dyn Transactions> {
        let sound = self.sound.transactions(owner);
        if self.port != Port::Transactions {
            return sound;
        }
        match (self.fault, &self.empty) {
            (Fault::OwnerIgnored, _) => self.sound.transactions(&Owner::Local),
            (Fault::RestartForgets, Some(empty)) => empty.transactions(owner),
            (Fault::RestartForgets, None) => sound,
            (Fault::LastWriteWins, _) => Arc::new(LastWriteWins(sound)),
            (Fault::PiecemealCommit, _) => Arc::new(PiecemealCommit(sound)),
        }
    }
}

/// These parts with one port of other parts.
fn with_port(parts: SpaceParts, port: Port, other: SpaceParts) -> SpaceParts {
    match port {
        Port::Skills => SpaceParts {
            skills: other.skills,
            materialize: other.materialize,
            ..parts
        },
        Port::Files => SpaceParts {
            files: other.files,
            ..parts
        },
        Port::Layers => SpaceParts {
            layers: other.layers,
            ..parts
        },
        Port::Blobs => SpaceParts {
            blobs: other.blobs,
            ..parts
        },
        Port::Records => SpaceParts {
            records: other.records,
            ..parts
        },
        Port::Search => SpaceParts {
            search: other.search,
            ..parts
        },
        // They are no part of a space.
        Port::Transactions => parts,
    }
}

/// These parts with one port that compares nothing before it writes.
fn without_comparing(parts: SpaceParts, port: Port) -> SpaceParts {
    match port {
        Port::Skills => SpaceParts {
            skills: Arc::new(LastWriteWins(parts.skills)),
            ..parts
        },
        Port::Files => SpaceParts {
            files: Arc::new(LastWriteWins(parts.files)),
            ..parts
        },
        Port::Records => SpaceParts {
            records: Arc::new(LastWriteWins(parts.records)),
            ..parts
        },
        Port::Layers | Port::Blobs | Port::Search | Port::Transactions => parts,
    }
}

/// A port whose writes compare nothing.
struct LastWriteWins<T>(T);

fn unconditional(change: Change<'_>) -> Change<'_> {
    Change {
        expected: None,
        ..change
    }
}

impl Files for LastWriteWins<Arc<dyn Files>> {
    fn list<'a>(&'a self, place: &'a Location) -> Pending<'a, Vec<FolderEntry>> {
        self.0.list(place)
    }

    fn read<'a>(&'a self, place: &'a Location, limit: u64) -> Pending<'a, FileContent> {
        self.0.read(place, limit)
    }

    fn write<'a>(&'a self, place: &'a Location, change: Change<'a>) -> Pending<'a, bool> {
        self.0.write(place, unconditional(change))
    }

    fn keep<'a>(&'a self, folder: &'a str, name: &'a str, bytes: &'a [u8]) -> Pending<'a, String> {
        self.0.keep(folder, name, bytes)
    }
}

impl SkillStore for LastWriteWins<Arc<dyn SkillStore>> {
    fn library(&self) -> Pending<'_, Arc<Library>> {
        self.0.library()
    }

    fn changed(&self, since: Revision) -> Pending<'_, Revision> {
        self.0.changed(since)
    }

    fn read<'a>(
        &'a self,
        skill: &'a Skill,
        path: &'a SkillPath,
        limit: u64,
    ) -> Pending<'a, FileContent> {
        self.0.read(skill, path, limit)
    }

    fn set_enabled<'a>(&'a self, skill: &'a Skill, enabled: bool) -> Pending<'a, bool> {
        self.0.set_enabled(skill, enabled)
    }

    fn create<'a>(&'a self, name: &'a SkillName, document: &'a [u8]) -> Pending<'a, Arc<Skill>> {
        self.0.create(name, document)
    }

    fn write<'a>(
        &'a self,
        skill: &'a Skill,
        path: &'a SkillPath,
        change: Change<'a>,
    ) -> Pending<'a, bool> {
        self.0.write(skill, path, unconditional(change))
    }

    fn with_unlisted<'a>(&'a self, skill: &'a Arc<Skill>) -> Pending<'a, Arc<Skill>> {
        self.0.with_unlisted(skill)
    }
}

impl<T: Records + ?Sized> Records for LastWriteWins<Arc<T>> {
    fn get<'a>(&'a self, key: &'a RecordKey) -> Pending<'a, Option<Record>> {
        self.0.get(key)
    }

    fn set<'a>(
        &'a self,
        key: &'a RecordKey,
        _expected: Option<Version>,
        value: Option<&'a [u8]>,
    ) -> Pending<'a, Option<Version>> {
        Box::pin(async move {
            loop {
                let now = self.0.get(key).await?.map(|record| record.version);
                match self.0.set(key, now, value).await {
                    Err(PortError::Conflict(_)) => {}
                    answer => return answer,
                }
            }
        })
    }

    fn list<'a>(&'a self, prefix: &'a RecordKey) -> Pending<'a, Vec<(RecordKey, Record)>> {
        self.0.list(prefix)
    }

    fn append<'a>(&'a self, log: &'a RecordKey, entry: &'a [u8]) -> Pending<'a, ()> {
        self.0.append(log, entry)
    }

    fn entries<'a>(&'a self, log: &'a RecordKey, limit: usize) -> Pending<'a, Vec<Vec<u8>>> {
        self.0.entries(log, limit)
    }

    fn hold_log<'a>(&'a self, log: &'a RecordKey) -> Pending<'a, Option<LogHold>> {
        self.0.hold_log(log)
    }

    fn remove_log<'a>(&'a self, log: &'a RecordKey) -> Pending<'a, ()> {
        self.0.remove_log(log)
    }
}

impl Transactions for LastWriteWins<Arc<dyn Transactions>> {
    fn commit<'a>(
        &'a self,
        changes: &'a [RecordChange<'a>],
        entries: &'a [LogEntry<'a>],
    ) -> Pending<'a, Vec<Option<Version>>> {
        Box::pin(async move {
            let mut current = Vec::new();
            for change in changes {
                let expected = self.0.get(change.key).await?;
                current.push(RecordChange {
                    expected: expected.map(|record| record.version),
                    ..*change
                });
            }
            self.0.commit(&current, entries).await
        })
    }
}

/// Records whose commits are made one change after the other.
struct PiecemealCommit(Arc<dyn Transactions>);

impl Records for PiecemealCommit {
    fn get<'a>(&'a self, key: &'a RecordKey) -> Pending<'a, Option<Record>> {
        self.0.get(key)
    }

    fn set<'a>(
        &'a self,
        key: &'a RecordKey,
        expected: Option<Version>,
        value: Option<&'a [u8]>,
    ) -> Pending<'a, Option<Version>> {
        self.0.set(key, expected, value)
    }

    fn list<'a>(&'a self, prefix: &'a RecordKey) -> Pending<'a, Vec<(RecordKey, Record)>> {
        self.0.list(prefix)
    }

    fn append<'a>(&'a self, log: &'a RecordKey, entry: &'a [u8]) -> Pending<'a, ()> {
        self.0.append(log, entry)
    }

    fn entries<'a>(&'a self, log: &'a RecordKey, limit: usize) -> Pending<'a, Vec<Vec<u8>>> {
        self.0.entries(log, limit)
    }

    fn hold_log<'a>(&'a self, log: &'a RecordKey) -> Pending<'a, Option<LogHold>> {
        self.0.hold_log(log)
    }

    fn remove_log<'a>(&'a self, log: &'a RecordKey) -> Pending<'a, ()> {
        self.0.remove_log(log)
    }
}

impl Transactions for PiecemealCommit {
    fn commit<'a>(
        &'a self,
        changes: &'a [RecordChange<'a>],
        entries: &'a [LogEntry<'a>],
    ) -> Pending<'a, Vec<Option<Version>>> {
        Box::pin(async move {
            let mut versions = Vec::new();
            for change in changes {
                versions.extend(self.0.commit(&[*change], &[]).await?);
            }
            for entry in entries {
                self.0.commit(&[], &[*entry]).await?;
            }
            Ok(versions)
        })
    }
}
