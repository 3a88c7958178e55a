//! `file_write`: a new or changed file of the workspace.

use gongfu_core::capability::{Access, Safety};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::{Call, Proposal};
use crate::error::ToolError;
use crate::file;
use crate::output::Data;
use crate::tool::Tool;
use crate::writing::{self, Intent};

/// Write a file in the workspace, or in another folder that the operator mounted. Pass `content` to
/// create or overwrite the file (missing folders are created), or `old_text` and `new_text` to
/// replace one passage and leave every other byte alone.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileWrite {
    /// The file: relative to the workspace, or an absolute path in a mounted folder.
    path: String,
    /// The whole content of the file.
    content: Option<String>,
    /// The passage to replace, exactly as in the file; it must occur only once.
    old_text: Option<String>,
    /// The replacement for `old_text`; may be empty.
    new_text: Option<String>,
}

/// The report of a write.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FileWritten {
    /// The path, as given.
    path: String,
    /// The length of the file in bytes.
    bytes: usize,
    /// Whether there was no such file before.
    created: bool,
}

impl Tool for FileWrite {
    const NAME: &'static str = "file_write";
    const TITLE: &'static str = "Write a file";
    const ACCESS: Access = Access::Write;
    const SAFETY: Safety = Safety::Medium;
    const REVIEWED: bool = true;
    type Output = Data<FileWritten>;

    async fn review(&self, call: &Call) -> Result<Option<Proposal>, ToolError> {
        let place = file::location(&self.path)?;
        writing::review_place(call, &place, &self.path, &self.intent()?).await
    }

    async fn run(self, call: &Call) -> Result<Data<FileWritten>, ToolError> {
        let intent = self.intent()?;
        let place = file::location(&self.path)?;
        let written = writing::write_place(call, &place, &self.path, &intent).await?;
        Ok(Data {
            text: format!("wrote {} bytes to {}\n", written.bytes, self.path),
            data: FileWritten {
                path: self.path,
                bytes: written.bytes,
                created: written.created,
            },
        })
    }
}

impl FileWrite {
    fn intent(&self) -> Result<Intent, ToolError> {
        Intent::of(
            self.content.clone(),
            self.old_text.clone(),
            self.new_text.clone(),
        )
    }
}
