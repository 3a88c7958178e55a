//! The files of servers' skills: fetched once, compared with what a person approved at each read.

use std::sync::Arc;

use gongfu_core::connection::{OfferedFile, same_fields};
use gongfu_core::port::{Blobs, FileContent, PortError, Servers};
use gongfu_core::skill::frontmatter::Frontmatter;
use gongfu_core::skill::source_text::SourceText;
use gongfu_core::skill::{Digest, SKILL_FILE, Severity, SkillPath};

use super::source::ServerSkill;

/// Files of servers' skills.
pub(super) struct Content {
    servers: Arc<dyn Servers>,
    blobs: Arc<dyn Blobs>,
}

impl Content {
    pub(super) fn new(servers: Arc<dyn Servers>, blobs: Arc<dyn Blobs>) -> Self {
        Self { servers, blobs }
    }

    /// A file as a person approved it; [`PortError::Conflict`] where the server has another one.
    pub(super) async fn read(
        &self,
        skill: &ServerSkill,
        path: &SkillPath,
        limit: u64,
    ) -> Result<FileContent, PortError> {
        let Some(file) = skill.offered.file(path) else {
            let mut files = skill.offered.files.iter();
            let is_folder = path.is_root() || files.any(|file| file.path.is_within(path));
            return Err(if is_folder {
                PortError::IsAFolder
            } else {
                PortError::NotFound
            });
        };
        // A skill whose SKILL.md isn't the approved one is no skill at all.
        let document =
            SkillPath::new(SKILL_FILE).map_err(|error| PortError::Other(error.into()))?;
        let document = skill.offered.file(&document).ok_or(PortError::NotFound)?;
        let mut bytes = self.verified(skill, document).await?;
        check_frontmatter(skill, &bytes).map_err(PortError::Conflict)?;
        if file.path != document.path {
            bytes = self.verified(skill, file).await?;
        }
        bytes.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(FileContent {
            bytes,
            size: file.size,
        })
    }

    /// A file with the approved size and digest.
    async fn verified(
        &self,
        skill: &ServerSkill,
        file: &OfferedFile,
    ) -> Result<Vec<u8>, PortError> {
        let digest = file.digest.parse::<Digest>();
        let digest = digest.map_err(|error| PortError::Other(error.into()))?;
        // A blob whose digest is another one by now counts as none.
        if let Ok(known) = self.blobs.get(&digest, u64::MAX).await {
            check_size(file, &known.bytes).map_err(PortError::Conflict)?;
            return Ok(known.bytes);
        }
        let uri = skill.offered.uri_of(file);
        let bytes = self.servers.fetch(&skill.connection, &uri).await?;
        check_size(file, &bytes).map_err(PortError::Conflict)?;
        if Digest::of(&bytes) != digest {
            let why = format!("{} has another digest than a person approved", file.path);
            return Err(PortError::Conflict(why));
        }
        if let Err(error) = self.blobs.put(&bytes).await {
            tracing::debug!(%error, "a file of another server's skill isn't kept");
        }
        Ok(bytes)
    }
}

fn check_size(file: &OfferedFile, bytes: &[u8]) -> Result<(), String> {
    if bytes.len() as u64 == file.size {
        return Ok(());
    }
    let (path, length, size) = (&file.path, bytes.len(), file.size);
    Err(format!(
        "{path} has {length} bytes, and a person approved one of {size}"
    ))
}

/// Compares the frontmatter of a SKILL.md with the approved one, field by field.
fn check_frontmatter(skill: &ServerSkill, bytes: &[u8]) -> Result<(), String> {
    let refused = |why: &str| Err(format!("{SKILL_FILE} {why}"));
    let Some(source) = SourceText::decode(bytes, SKILL_FILE, &mut Vec::new()) else {
        return refused("is not text");
    };
    let mut found = Vec::new();
    let frontmatter = Frontmatter::read(&source, &mut found);
    // What is read leniently elsewhere could be read otherwise by somebody else.
    let is_broken = found.iter().any(|one| one.severity() == Severity::Error);
    if is_broken || !frontmatter.present {
        return refused("has no frontmatter that can be read");
    }
    if same_fields(&frontmatter.to_json(), &skill.offered.frontmatter) {
        return Ok(());
    }
    refused("has another frontmatter than a person approved")
}
