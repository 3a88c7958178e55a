//! Changes of an account's skills: each is a new version, whole or not at all.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use gongfu_core::account::UserId;
use gongfu_core::archive::PathSet;
use gongfu_core::library::{FindingCount, Skill};
use gongfu_core::port::{Change, FileEdit, LogEntry, PortError, RecordChange, RecordKey, Version};
use gongfu_core::skill::name::faults;
use gongfu_core::skill::{Digest, FileKind, SkillName, SkillPath};
use gongfu_core::text;
use serde::Serialize;

use super::checkout::NewFile;
use super::record::{Manifest, StoredFile, StoredSkill, manifest_key, skill_key};
use super::{Entry, StoredSkills, broken};
use crate::blocking::blocking;
use crate::reading::{self, Reading};
use crate::walk::{self, NAMED};

/// The new content of a version.
type Contents = BTreeMap<SkillPath, (Vec<u8>, bool)>;

/// A record, the version that it has, and its new value.
type Write<'a> = (RecordKey, Option<Version>, Option<&'a [u8]>);

/// A change in the audit of the account.
#[derive(Serialize)]
struct SkillEvent<'a> {
    at: gongfu_core::port::Timestamp,
    event: &'static str,
    by: &'a str,
    skill: &'a str,
    /// The version that it has since.
    #[serde(skip_serializing_if = "Option::is_none")]
    manifest: Option<&'a str>,
}

impl StoredSkills {
    pub(super) async fn create_version(
        &self,
        name: &SkillName,
        files: &[FileEdit<'_>],
    ) -> Result<Arc<Skill>, PortError> {
        let folder = name.as_str();
        if !faults(folder).is_empty() {
            return Err(PortError::Denied(format!(
                "a skill can't be named `{folder}`; use lower-case letters, digits and single hyphens"
            )));
        }
        let _writing = self.inner.writing.lock().await;
        let skills = {
            let state = self.lock();
            if state.entries.contains_key(folder) {
                return Err(PortError::Conflict(format!(
                    "there is a skill `{folder}` already"
                )));
            }
            state.entries.len()
        };
        if skills >= self.limits().skills {
            return Err(PortError::Full(format!(
                "an account has at most {} skills; delete one first",
                self.limits().skills
            )));
        }
        self.store(
            "skill.create",
            folder,
            None,
            applied(Contents::new(), files),
        )
        .await
    }

    pub(super) async fn edit_version(
        &self,
        skill: &Skill,
        edits: &[FileEdit<'_>],
    ) -> Result<Arc<Skill>, PortError> {
        let _writing = self.inner.writing.lock().await;
        let before = self.current_entry(skill)?;
        self.edit_entry(before, edits).await
    }

    pub(super) async fn write_file(
        &self,
        skill: &Skill,
        path: &SkillPath,
        change: Change<'_>,
    ) -> Result<bool, PortError> {
        let _writing = self.inner.writing.lock().await;
        let before = self.entry(skill)?;
        let files = &before.manifest.files;
        let known = files.iter().find(|file| file.path == *path);
        if let Some(expected) = change.expected
            && known.map(|file| file.digest) != Some(Digest::of(expected))
        {
            return Err(PortError::Conflict("it changed in the meantime".to_owned()));
        }
        let is_new = known.is_none();
        let edit = FileEdit {
            path,
            content: Some(change.bytes),
            is_executable: None,
        };
        self.edit_entry(before, &[edit]).await?;
        Ok(is_new)
    }

    async fn edit_entry(
        &self,
        before: Entry,
        edits: &[FileEdit<'_>],
    ) -> Result<Arc<Skill>, PortError> {
        let mut contents = Contents::new();
        for file in &before.manifest.files {
            let mut edits = edits.iter();
            // Its content isn't needed, only whether it was a program.
            let is_edited = edits.any(|edit| *edit.path == file.path);
            let bytes = if is_edited {
                Vec::new()
            } else {
                self.content(&file.digest, u64::MAX).await?.bytes
            };
            contents.insert(file.path.clone(), (bytes, file.is_executable));
        }
        let folder = before.manifest.folder.clone();
        self.store(
            "skill.edit",
            &folder,
            Some(before),
            applied(contents, edits),
        )
        .await
    }

    pub(super) async fn delete_skill(&self, skill: &Skill) -> Result<(), PortError> {
        let _writing = self.inner.writing.lock().await;
        let entry = self.current_entry(skill)?;
        let folder = entry.manifest.folder.clone();
        let removed = [
            (skill_key(&folder)?, Some(entry.version), None),
            (
                manifest_key(&entry.id)?,
                Some(Self::manifest_version(&entry)?),
                None,
            ),
        ];
        self.commit(&removed, "skill.delete", &folder, None).await?;
        self.replace(&folder, None)?;
        // The records are the truth: what stays on disk is removed when the account is opened again.
        if let Err(error) = blocking(|| self.inner.checkout.unpublish(&folder, &entry.id)) {
            tracing::warn!(%error, skill = folder, "the folder of a deleted skill stays for now");
        }
        self.remove_unused(&entry.manifest).await;
        Ok(())
    }

    /// Stores a version: blobs, then the records in one commit, then the checkout.
    async fn store(
        &self,
        event: &'static str,
        folder: &str,
        before: Option<Entry>,
        contents: Contents,
    ) -> Result<Arc<Skill>, PortError> {
        self.check_limits(&contents, before.as_ref())?;
        check_paths(&contents, before.as_ref())?;
        let files: Vec<NewFile<'_>> = contents
            .iter()
            .map(|(path, (bytes, is_executable))| NewFile {
                path,
                bytes: Cow::Borrowed(bytes),
                is_executable: *is_executable,
            })
            .collect();
        let staged = blocking(|| self.inner.checkout.stage(folder, &files));
        let (temporary, root) = staged.map_err(|error| broken(&error))?;
        let stored = async {
            let reading = blocking(|| read(&root));
            let manifest = self.manifest(folder, reading, &contents)?;
            for (bytes, _) in contents.values() {
                self.inner.blobs.put(bytes).await?;
            }
            let (id, value) = manifest.encode()?;
            blocking(|| self.inner.checkout.settle(&temporary, &id))
                .map_err(|error| broken(&error))?;
            let version = self
                .commit_version(event, before.as_ref(), &manifest, &id, &value)
                .await;
            let version = version.inspect_err(|_| self.inner.checkout.discard(&id))?;
            let created = before.as_ref().map_or(manifest.at, |entry| entry.created);
            Ok(Entry {
                version,
                created,
                id,
                manifest: Arc::new(manifest),
            })
        };
        let entry = match stored.await {
            Ok(entry) => entry,
            Err(error) => {
                self.inner.checkout.discard(&temporary);
                return Err(error);
            }
        };
        let old = before.as_ref().map(|before| before.id.as_str());
        let skill = self.replace(folder, Some(entry.clone()))?;
        if let Err(error) = blocking(|| self.inner.checkout.publish(folder, &entry.id, old)) {
            tracing::warn!(%error, skill = folder, "the folder of a skill isn't current");
        }
        if let Some(before) = &before {
            self.remove_unused(&before.manifest).await;
        }
        skill.ok_or(PortError::NotFound)
    }

    /// The user who makes a change.
    fn author(&self) -> Result<&UserId, PortError> {
        let why = || PortError::Denied("a team's skills are changed by its maintainers".to_owned());
        self.by.as_ref().ok_or_else(why)
    }

    fn check_limits(&self, contents: &Contents, before: Option<&Entry>) -> Result<(), PortError> {
        let limits = self.limits();
        let size = |bytes: &[u8]| bytes.len() as u64;
        if contents.len() > limits.files {
            return Err(PortError::Denied(format!(
                "a skill has at most {} files",
                limits.files
            )));
        }
        let mut sizes = contents.iter();
        if let Some((path, _)) = sizes.find(|(_, (bytes, _))| size(bytes) > limits.file) {
            return Err(PortError::Denied(format!(
                "`{path}` is larger than {} bytes, the most of a file",
                limits.file
            )));
        }
        let new: u64 = contents.values().map(|(bytes, _)| size(bytes)).sum();
        let old = before.map_or(0, |entry| entry.manifest.bytes());
        let total = self.bytes().saturating_sub(old).saturating_add(new);
        if total > limits.bytes && new > old {
            return Err(PortError::Full(format!(
                "the skills of the account would have {total} bytes, and may have {}; delete some first",
                limits.bytes
            )));
        }
        Ok(())
    }

    /// The manifest of a version that was read.
    fn manifest(
        &self,
        folder: &str,
        reading: Option<Reading>,
        contents: &Contents,
    ) -> Result<Manifest, PortError> {
        let missing = || PortError::Denied("it has no SKILL.md".to_owned());
        let reading = reading.ok_or_else(missing)?;
        let Some(document) = reading.document else {
            let why = reading.diagnostics.last();
            let why = why.map(|found| text::finding(&found.finding).message);
            return Err(PortError::Denied(
                why.unwrap_or_else(|| "its SKILL.md can't be read".to_owned()),
            ));
        };
        let files = contents.iter();
        Ok(Manifest {
            folder: folder.to_owned(),
            by: self.author()?.clone(),
            at: self.inner.clock.now().0,
            name: document.name.to_string(),
            description: document.description,
            frontmatter: serde_json::Value::Object(document.frontmatter).to_string(),
            findings: FindingCount::of(&reading.diagnostics),
            files: files
                .map(|(path, (bytes, is_executable))| StoredFile {
                    path: path.clone(),
                    size: bytes.len() as u64,
                    digest: Digest::of(bytes),
                    kind: FileKind::of(bytes),
                    is_executable: *is_executable,
                })
                .collect(),
        })
    }

    /// Commits a version; answers that of the skill's record.
    async fn commit_version(
        &self,
        event: &'static str,
        before: Option<&Entry>,
        manifest: &Manifest,
        id: &str,
        value: &[u8],
    ) -> Result<Version, PortError> {
        let created = before.map_or(manifest.at, |entry| entry.created);
        let pointer = StoredSkill {
            manifest: id.to_owned(),
            created,
        };
        let pointer =
            serde_json::to_vec(&pointer).map_err(|error| PortError::Other(error.into()))?;
        let expected = before.map(|entry| entry.version);
        let mut writes = vec![(skill_key(&manifest.folder)?, expected, Some(&*pointer))];
        if before.is_none_or(|before| before.id != id) {
            writes.push((manifest_key(id)?, None, Some(value)));
            if let Some(before) = before {
                let version = Some(Self::manifest_version(before)?);
                writes.push((manifest_key(&before.id)?, version, None));
            }
        }
        self.commit(&writes, event, &manifest.folder, Some(id))
            .await?;
        Ok(Digest::of(&pointer))
    }

    /// The version of the record of a manifest.
    fn manifest_version(entry: &Entry) -> Result<Version, PortError> {
        Ok(Digest::of(&entry.manifest.encode()?.1))
    }

    async fn commit(
        &self,
        writes: &[Write<'_>],
        event: &'static str,
        folder: &str,
        manifest: Option<&str>,
    ) -> Result<(), PortError> {
        let entry = SkillEvent {
            at: self.inner.clock.now(),
            event,
            by: self.author()?.as_str(),
            skill: folder,
            manifest,
        };
        let entry = serde_json::to_vec(&entry).map_err(|error| PortError::Other(error.into()))?;
        let changes: Vec<RecordChange<'_>> = writes
            .iter()
            .map(|(key, expected, value)| RecordChange {
                key,
                expected: *expected,
                value: *value,
            })
            .collect();
        let log = gongfu_core::audit::key()?;
        let entries = [LogEntry {
            log: &log,
            entry: &entry,
        }];
        self.inner
            .records
            .commit(&changes, &entries)
            .await
            .map(drop)
    }

    /// Makes an entry the current one of its folder, and reports it.
    fn replace(&self, folder: &str, entry: Option<Entry>) -> Result<Option<Arc<Skill>>, PortError> {
        let mut state = self.lock();
        match entry {
            Some(entry) => state.entries.insert(folder.to_owned(), entry),
            None => state.entries.remove(folder),
        };
        let revision = self.inner.advance(&mut state)?;
        let library = Arc::clone(&state.library);
        drop(state);
        self.inner.reported.send_replace(revision);
        let mut skills = library.skills().iter();
        Ok(skills
            .find(|skill| skill.folder.as_str() == folder)
            .cloned())
    }

    /// Removes the blobs of a manifest that no other has. What stays is only in the way.
    async fn remove_unused(&self, manifest: &Manifest) {
        let used: HashSet<Digest> = {
            let state = self.lock();
            let entries = state.entries.values();
            let files = entries.flat_map(|entry| &entry.manifest.files);
            files.map(|file| file.digest).collect()
        };
        let unused: HashSet<Digest> = manifest.files.iter().map(|file| file.digest).collect();
        for digest in unused.difference(&used) {
            if let Err(error) = self.inner.blobs.remove(digest).await {
                tracing::debug!(%error, "an unused blob stays");
            }
        }
    }
}

/// Checks that new paths clash with no other, on whatever system.
fn check_paths(contents: &Contents, before: Option<&Entry>) -> Result<(), PortError> {
    let old = before
        .map(|entry| &*entry.manifest.files)
        .unwrap_or_default();
    let old: HashSet<&SkillPath> = old.iter().map(|file| &file.path).collect();
    let mut taken = PathSet::default();
    for path in contents.keys().filter(|path| old.contains(path)) {
        taken.add_file(path);
    }
    let mut new = contents.keys().filter(|path| !old.contains(path));
    match new.find(|path| !taken.add_file(path)) {
        None => Ok(()),
        Some(path) => Err(PortError::Denied(format!(
            "`{path}` is there already in other letter case, as a folder, or below a file"
        ))),
    }
}

/// The contents after these edits.
fn applied(mut contents: Contents, edits: &[FileEdit<'_>]) -> Contents {
    for edit in edits {
        match edit.content {
            Some(bytes) => {
                let before = contents.get(edit.path);
                let before = before.is_some_and(|(_, is_executable)| *is_executable);
                let is_executable = edit.is_executable.unwrap_or(before);
                contents.insert(edit.path.clone(), (bytes.to_vec(), is_executable));
            }
            None => {
                contents.remove(edit.path);
            }
        }
    }
    contents
}

/// Reads the one skill below a staged version.
fn read(root: &gongfu_files::disk::Root) -> Option<Reading> {
    let walk = walk::walk(root, NAMED);
    let at = *walk.skills.first()?;
    let inventory = reading::inventory(root, &walk, at);
    Some(reading::read(root, &walk, at, inventory, false))
}
