//! `skill_read`: the files of a skill.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use gongfu_core::capability::{Access, Safety};
use gongfu_core::library::Skill;
use gongfu_core::skill::{FileEntry, FileKind, SkillPath};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::binary;
use crate::call::Call;
use crate::error::ToolError;
use crate::excerpt::{self, TextRange};
use crate::output::{Data, Document, Output, ToolResult};
use crate::problem::Problem;
use crate::shelf;
use crate::surface::view::uri;
use crate::tool::Tool;

/// The limit of files in an answer.
const MAX_LISTED: usize = 512;

/// Read a file of a skill: a reference, a script, an asset. Without a path, or with the path of a
/// folder, list the files with their sizes and digests. Text is returned as text, anything else as
/// a binary resource.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SkillRead {
    /// The name of the skill, or its full name, as `skill_search` and `skill_list` show it.
    skill_name: String,
    /// The file, relative to the skill's folder, e.g. `references/guide.md`.
    #[serde(default)]
    path: String,
    /// First line to return; lines count from 1.
    #[schemars(range(min = 1))]
    start_line: Option<usize>,
    /// Last line to return.
    #[schemars(range(min = 1))]
    end_line: Option<usize>,
    /// First character to return of the first line.
    #[schemars(range(min = 1))]
    start_column: Option<usize>,
    /// When listing: continue after this file.
    after: Option<String>,
}

/// The files of a skill, or one of them.
pub(crate) enum FileAnswer {
    /// The content of a file.
    File(Document),
    /// The list of files.
    Listing(Data<FileList>),
}

/// Files of a skill.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FileList {
    /// The full name of the skill.
    skill: String,
    /// The files by path.
    files: Vec<File>,
    /// How many files there are in all.
    total: usize,
    /// Pass this as `after` for the next page; missing on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A file of a skill.
#[derive(Debug, Serialize, JsonSchema)]
struct File {
    /// Where it is, relative to the skill's folder.
    path: String,
    /// Its length in bytes.
    size: u64,
    /// `text`, `binary`, or `written by a run`: then it is kept beside the skill.
    kind: &'static str,
    /// `sha256:` and 64 hexadecimal digits; missing for files above 16 MiB and for those that runs left.
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
}

impl File {
    fn is_within(&self, folder: &SkillPath) -> bool {
        let below = self.path.strip_prefix(folder.as_str());
        folder.is_root() || below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
    }
}

impl Output for FileAnswer {
    /// None: an answer may be a document, which has no structured part.
    fn schema() -> Option<Map<String, Value>> {
        None
    }

    fn into_result(self) -> ToolResult {
        match self {
            Self::File(document) => document.into_result(),
            Self::Listing(listing) => listing.into_result(),
        }
    }
}

impl Tool for SkillRead {
    const NAME: &'static str = "skill_read";
    const TITLE: &'static str = "Read a file of a skill";
    const ACCESS: Access = Access::Read;
    const SAFETY: Safety = Safety::Low;
    type Output = FileAnswer;

    async fn run(self, call: &Call) -> Result<FileAnswer, ToolError> {
        let skill = shelf::skill(call, &self.skill_name).await?;
        let path =
            SkillPath::new(&self.path).map_err(|why| Problem::bad_path(&self.path, why).error())?;
        let is_own = skill.files.iter().any(|file| file.path == path);
        if !is_own {
            let files = files(call, &skill).await;
            let is_left = files.contains_key(path.as_str());
            let inside = files.into_values().filter(|file| file.is_within(&path));
            let inside: Vec<File> = inside.collect();
            if path.is_root() || !is_left && !inside.is_empty() {
                let listing = listing(&skill, inside, self.after.as_deref());
                return Ok(FileAnswer::Listing(listing));
            }
        }
        let bytes = shelf::seen(call, &skill, &path).await?;
        let wanted = TextRange {
            start_line: self.start_line,
            end_line: self.end_line,
            start_column: self.start_column,
        };
        match FileKind::of(&bytes) {
            FileKind::Text => {
                let text = String::from_utf8_lossy(&bytes);
                let excerpt = excerpt::cut(&text, 0..text.len(), wanted)?;
                Ok(FileAnswer::File(excerpt.into()))
            }
            FileKind::Binary => {
                let uri = uri(call, &skill, &path).await?;
                binary::document(uri, &path, &bytes, wanted).map(FileAnswer::File)
            }
        }
    }
}

/// The skill's files, and in their place or beside them what its runs left, by path.
async fn files(call: &Call, skill: &Skill) -> BTreeMap<String, File> {
    let own = skill.files.iter().map(described);
    let left = shelf::all_left(call, skill).await.into_iter();
    let left = left.map(|(path, size)| File {
        path: path.to_string(),
        size,
        kind: "written by a run",
        digest: None,
    });
    let all = own.chain(left).map(|file| (file.path.clone(), file));
    all.collect()
}

fn listing(skill: &Skill, inside: Vec<File>, after: Option<&str>) -> Data<FileList> {
    let total = inside.len();
    let start = after.map_or(0, |after| {
        inside.partition_point(|file| file.path.as_str() <= after)
    });
    let files: Vec<File> = inside.into_iter().skip(start).take(MAX_LISTED).collect();
    let left = total.saturating_sub(start + files.len());
    let next = files
        .last()
        .filter(|_| left > 0)
        .map(|last| last.path.clone());
    let mut text = String::new();
    for file in &files {
        let digest = file.digest.as_deref().unwrap_or("no digest");
        let _ = writeln!(
            text,
            "{}  ({} bytes, {})  {digest}",
            file.path, file.size, file.kind
        );
    }
    if let Some(next) = &next {
        let _ = writeln!(
            text,
            "… and {left} more: call skill_read with after={next:?}"
        );
    }
    Data {
        data: FileList {
            skill: skill.full_name.to_string(),
            files,
            total,
            next,
        },
        text,
    }
}

fn described(file: &FileEntry) -> File {
    let kind = match file.kind {
        FileKind::Text => "text",
        FileKind::Binary => "binary",
    };
    File {
        path: file.path.to_string(),
        size: file.size,
        kind,
        digest: file.digest.map(|digest| digest.to_string()),
    }
}
