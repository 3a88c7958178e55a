//! `file_list`: what lies in a folder of the workspace.

use std::fmt::Write as _;

use gongfu_core::capability::{Access, Safety};
use gongfu_core::place::Location;
use gongfu_core::port::FolderEntryKind;
use gongfu_core::sandbox::WORKSPACE;
use gongfu_core::skill::SkillPath;
use gongfu_core::text::visible;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::error::ToolError;
use crate::file;
use crate::output::Data;
use crate::tool::Tool;

/// The limit of entries in an answer.
const MAX_LISTED: usize = 512;

/// List the files and folders in a folder of the workspace, or of another folder that the operator
/// mounted.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileList {
    /// The folder: relative to the workspace (empty for the workspace itself), or an absolute path
    /// in a mounted folder.
    #[serde(default)]
    path: String,
    /// Continue after this name: the `next` of the previous answer.
    after: Option<String>,
}

/// A folder.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FolderPage {
    /// The folder on this machine that the workspace is; missing where another folder is listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace: Option<String>,
    /// Its files and folders, by name.
    entries: Vec<Entry>,
    /// How many entries there are in all.
    total: usize,
    /// Pass this as `after` for the next page; missing on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A file or folder.
#[derive(Debug, Serialize, JsonSchema)]
struct Entry {
    /// Its name.
    name: String,
    /// `file`, `folder`, or another kind; only files and folders can be read.
    kind: String,
    /// The length of a file in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
}

impl Tool for FileList {
    const NAME: &'static str = "file_list";
    const TITLE: &'static str = "List files";
    const ACCESS: Access = Access::Read;
    const SAFETY: Safety = Safety::Medium;
    type Output = Data<FolderPage>;

    async fn run(self, call: &Call) -> Result<Data<FolderPage>, ToolError> {
        let place = file::location(&self.path)?;
        let all = file::list(call, &place, &self.path).await?;
        let start = self.after.as_deref().map_or(0, |after| {
            all.partition_point(|entry| entry.name.as_str() <= after)
        });
        let mut text = String::new();
        let mut entries = Vec::new();
        for entry in all.iter().skip(start).take(MAX_LISTED) {
            let name = entry.name.clone();
            let (kind, size) = match &entry.kind {
                FolderEntryKind::File(size) => {
                    let _ = writeln!(text, "{name}  ({size} bytes)");
                    ("file".to_owned(), Some(*size))
                }
                FolderEntryKind::Folder => {
                    let _ = writeln!(text, "{name}/");
                    ("folder".to_owned(), None)
                }
                FolderEntryKind::Other(what) => {
                    let _ = writeln!(text, "{name}  ({what})");
                    (what.clone(), None)
                }
            };
            entries.push(Entry { name, kind, size });
        }
        let left = all.len().saturating_sub(start + entries.len());
        let last = entries.last().filter(|_| left > 0);
        let next = last.map(|last| last.name.clone());
        if let Some(next) = &next {
            let _ = writeln!(
                text,
                "… and {left} more: call file_list with after={next:?}"
            );
        }
        if all.is_empty() {
            text.push_str("the folder is empty\n");
        }
        let workspace = workspace(call).filter(|_| place == Location::Workspace(SkillPath::root()));
        if let Some(folder) = &workspace {
            let _ = writeln!(text, "(/workspace is {} on this machine)", visible(folder));
        }
        let total = all.len();
        let data = FolderPage {
            workspace,
            entries,
            total,
            next,
        };
        Ok(Data { data, text })
    }
}

/// The folder on this machine that the workspace is, if it is known. A user of a server has nothing to do with it.
fn workspace(call: &Call) -> Option<String> {
    if call.space.has_account() {
        return None;
    }
    let folders = call.space.run_folders().folders(false);
    let mut folders = folders.into_iter();
    folders.find(|folder| folder.guest == WORKSPACE)?.host
}
