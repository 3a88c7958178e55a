//! `file_read`: a file of the workspace.

use gongfu_core::capability::{Access, Safety};
use gongfu_core::place::Location;
use gongfu_core::skill::FileKind;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::binary;
use crate::call::Call;
use crate::encoding;
use crate::error::ToolError;
use crate::excerpt::{self, TextRange};
use crate::file;
use crate::output::Document;
use crate::tool::Tool;

/// Read a file in the workspace, or in another folder that the operator mounted. Text is returned
/// as text, anything else as a binary resource.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileRead {
    /// The file: relative to the workspace, or an absolute path in a mounted folder.
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
}

impl Tool for FileRead {
    const NAME: &'static str = "file_read";
    const TITLE: &'static str = "Read a file";
    const ACCESS: Access = Access::Read;
    const SAFETY: Safety = Safety::Medium;
    type Output = Document;

    async fn run(self, call: &Call) -> Result<Document, ToolError> {
        let place = file::location(&self.path)?;
        let bytes = file::read(call, &place, &self.path).await?;
        let wanted = TextRange {
            start_line: self.start_line,
            end_line: self.end_line,
            start_column: self.start_column,
        };
        match FileKind::of(&bytes) {
            FileKind::Text => {
                let text = String::from_utf8_lossy(&bytes);
                Ok(excerpt::cut(&text, 0..text.len(), wanted)?.into())
            }
            FileKind::Binary => {
                let (guest, path) = match &place {
                    Location::Workspace(path) => ("/workspace", path),
                    Location::Absolute(path) => ("", path),
                };
                let uri = encoding::uri("file", &format!("{guest}/{path}"));
                binary::document(uri, path, &bytes, wanted)
            }
        }
    }
}
