//! Binary files as resources of an answer.

use gongfu_core::skill::{FileKind, SkillPath};

use crate::error::ToolError;
use crate::excerpt::TextRange;
use crate::media::media_type;
use crate::output::{Content, Document};
use crate::problem::Problem;

/// The most bytes of a binary file in one answer.
const MAX_BINARY: usize = 4 * 1024 * 1024;

/// A binary file, whole.
///
/// # Errors
/// Lines of it are wanted, or it is too large for an answer.
pub fn document(
    uri: String,
    path: &SkillPath,
    bytes: &[u8],
    wanted: TextRange,
) -> Result<Document, ToolError> {
    if wanted.is_range() {
        let problem = Problem::wrong_value(
            "start_line",
            "the file is not text and has no lines",
            "read it whole",
        );
        return Err(problem.error());
    }
    if bytes.len() > MAX_BINARY {
        return Err(Problem::FileTooLarge {
            path: path.to_string(),
            bytes: bytes.len() as u64,
            limit: MAX_BINARY as u64,
        }
        .error());
    }
    Ok(Document(vec![Content::blob(
        uri,
        media_type(path, FileKind::Binary),
        bytes,
    )]))
}
