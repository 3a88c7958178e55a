//! Dialects: the tools of other systems, as their clients know them.
//!
//! A dialect is data: names, arguments, defaults and the form of answers and errors. What its tools
//! do is done by the functions that gongfu's own tools use.

use std::sync::Arc;

use crate::entry::{Entry, Failure};
use crate::error::ToolError;
use crate::guide::Guide;
use crate::output::ToolResult;

/// The limit of names in a schema.
pub(crate) const MANY: usize = 200;

/// Makes the entry of one tool, for a dialect in which failures look like this.
type EntryMaker = fn(Failure) -> Arc<dyn Entry>;

/// The tools of one source system.
pub(crate) struct Dialect {
    /// The profile that shows them.
    pub(crate) name: &'static str,
    /// The system that its tools are from, in a sentence.
    pub(crate) about: &'static str,
    /// The tool that lists skills, if there is one.
    pub(crate) lists: Option<&'static str>,
    /// The tool that loads the instructions of a skill.
    pub(crate) loads: &'static str,
    /// The tools.
    pub(crate) tools: &'static [EntryMaker],
    /// The form of a failed call.
    pub(crate) failure: Failure,
    /// True if it needs a search when there are more than [`MANY`] skills.
    pub(crate) gains_search: bool,
    /// Its words about skills before any tool is called.
    pub(crate) guide: Guide,
}

/// Declares the files below `dialect/` and lists them: the one line that adds a dialect.
macro_rules! dialects {
    ($($file:ident,)+) => {
        #[path = "dialect"]
        mod files {
            $(pub(super) mod $file;)+
        }

        /// Every dialect, by name.
        pub(crate) fn all() -> &'static [&'static Dialect] {
            &[$(&files::$file::DIALECT,)+]
        }
    };
}

dialects! {
    agentskills,
    autosnippet,
    read_skill,
    skills,
}

impl Dialect {
    /// Its tools as entries of the catalog.
    pub(crate) fn entries(&self) -> Vec<Arc<dyn Entry>> {
        let tools = self.tools.iter();
        tools.map(|entry| entry(self.failure)).collect()
    }
}

/// Writes a problem as one text that begins with `Error:`, for dialects whose tools answer in text.
///
/// `known` says what that dialect's own words are, if it has some.
fn error_text(error: &ToolError, known: Option<String>) -> ToolResult {
    let words = known.unwrap_or_else(|| {
        let text = error.problem.text();
        format!("{}\nhint: {}", text.message, text.hint)
    });
    ToolResult::text(format!("Error: {words}"))
}
