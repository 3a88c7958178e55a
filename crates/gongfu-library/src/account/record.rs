//! The records of an account's skills: a pointer for each skill, and the manifest that it leads to.

use std::collections::BTreeSet;

use gongfu_core::account::UserId;
use gongfu_core::library::{FindingCount, Skill};
use gongfu_core::port::{PortError, RecordKey, Records};
use gongfu_core::skill::{Digest, FileEntry, FileKind, SkillName, SkillPath};
use serde::{Deserialize, Serialize};

/// A skill: the manifest of its current version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredSkill {
    /// The id of the manifest.
    pub(super) manifest: String,
    /// The time at which the skill was created, in milliseconds since 1970.
    pub(super) created: i64,
}

/// A version of a skill, which never changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    /// The folder of the skill.
    pub(super) folder: String,
    /// The user who stored it.
    pub(super) by: UserId,
    /// The time of that, in milliseconds since 1970.
    pub(super) at: i64,
    /// The name that the skill declares.
    pub(super) name: String,
    /// Its description.
    pub(super) description: String,
    /// Its frontmatter as JSON.
    pub(super) frontmatter: String,
    /// The findings of a check.
    pub(super) findings: FindingCount,
    /// Its files by path.
    pub(super) files: Vec<StoredFile>,
}

/// A file of a version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredFile {
    pub(super) path: SkillPath,
    pub(super) size: u64,
    /// The digest of its content, which is a blob.
    #[serde(with = "digest_text")]
    pub(super) digest: Digest,
    pub(super) kind: FileKind,
    /// True for a program.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_executable: bool,
}

impl Manifest {
    /// Its JSON, and its id: the first digits of the digest of that.
    pub(super) fn encode(&self) -> Result<(String, Vec<u8>), PortError> {
        let bytes = serde_json::to_vec(self).map_err(|error| PortError::Other(error.into()))?;
        Ok((Digest::of(&bytes).hex(32), bytes))
    }

    /// The length of all files in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }

    /// The skill, of a source with this id and root.
    pub(super) fn skill(&self, source: &str, root: &str) -> Result<Skill, PortError> {
        let folder = &self.folder;
        let files = self.files.iter().map(|file| FileEntry {
            path: file.path.clone(),
            size: file.size,
            digest: Some(file.digest),
            kind: file.kind,
        });
        Ok(Skill {
            name: SkillName::new(&self.name).unwrap_or_else(|_| SkillName::from_folder(folder)),
            full_name: format!("{source}/{folder}").into(),
            description: self.description.clone(),
            frontmatter: self.frontmatter.as_str().into(),
            source: source.into(),
            folder: SkillPath::new(folder).map_err(|error| PortError::Other(error.into()))?,
            path: format!("{root}/{folder}"),
            files: files.collect(),
            unlisted: std::sync::Arc::default(),
            findings: self.findings,
            enabled: true,
        })
    }
}

/// The digests of the contents that the skills in these records consist of.
///
/// # Errors
/// The records can't be read.
pub async fn contents_of(records: &dyn Records) -> Result<BTreeSet<Digest>, PortError> {
    let prefix = RecordKey::new("manifest")?;
    let mut digests = BTreeSet::new();
    for (_, record) in records.list(&prefix).await? {
        let manifest: Manifest = serde_json::from_slice(&record.value).map_err(|error| {
            PortError::Unavailable(format!("{} can't be read: {error}", record.place))
        })?;
        digests.extend(manifest.files.iter().map(|file| file.digest));
    }
    Ok(digests)
}

/// The key of a skill. A folder whose name can't be part of one has a digest there; no name of a skill has a `_`.
pub(super) fn skill_key(folder: &str) -> Result<RecordKey, PortError> {
    let plain = RecordKey::new(format!("skill/{folder}"));
    match plain {
        Ok(key) => Ok(key),
        Err(_) => Ok(RecordKey::new(format!(
            "skill/_{}",
            Digest::of(folder.as_bytes()).hex(40)
        ))?),
    }
}

/// The key of a manifest.
pub(super) fn manifest_key(id: &str) -> Result<RecordKey, PortError> {
    Ok(RecordKey::new(format!("manifest/{id}"))?)
}

/// A digest as hexadecimal digits.
mod digest_text {
    use gongfu_core::skill::Digest;
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    pub(super) fn serialize<S: Serializer>(digest: &Digest, to: S) -> Result<S::Ok, S::Error> {
        digest.hex(64).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Digest, D::Error> {
        let digits = String::deserialize(from)?;
        format!("sha256:{digits}").parse().map_err(D::Error::custom)
    }
}
