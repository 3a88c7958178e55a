//! The directory: tools of other servers that are too many to be listed one by one.
//!
//! Their definitions would fill a model's context. So four tools take their place: one searches them, one shows
//! definitions, one calls a tool by its name, as that tool itself, and one runs a script that calls many.

mod call;
mod description;
mod index;
mod inquiry;
mod known;
mod mention;
mod search;

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::Arc;

use gongfu_core::capability::Origin;
use gongfu_core::near;

use crate::entry::Entry;
use crate::error::ToolError;
use crate::output::{Content, ToolResult};
use crate::problem::Problem;
use crate::script;
use crate::tool::ToolSpec;

pub(crate) use call::Target;
use description::ToolDescribe;
pub(crate) use index::Indexes;
use inquiry::{Inquiry as _, InquiryEntry};
pub use known::KnownTools;
use mention::mentioned;
use search::ToolSearch;

/// The tokens that the definitions of other servers' tools may take in a list.
pub const BUDGET: usize = 2_000;
/// The names near an unknown one that an error lists.
const MAX_NEAREST: usize = 8;
/// The characters of the list of servers in a description.
const MAX_SERVERS: usize = 1_000;

/// The tools of other servers, as one caller sees them.
#[derive(Clone)]
pub(crate) struct Directory {
    tools: Arc<[Arc<dyn Entry>]>,
    indexes: Arc<Indexes>,
    known: Option<Arc<KnownTools>>,
    /// The tokens that the definitions may take in a list.
    budget: usize,
}

impl Directory {
    /// The directory of these tools for a list with this budget; `None` without any.
    pub(crate) fn of<'a>(
        tools: impl Iterator<Item = &'a Arc<dyn Entry>>,
        budget: usize,
        indexes: &Arc<Indexes>,
        known: Option<&Arc<KnownTools>>,
    ) -> Option<Self> {
        let tools: Arc<[Arc<dyn Entry>]> = tools.map(Arc::clone).collect();
        (!tools.is_empty()).then(|| Self {
            tools,
            indexes: Arc::clone(indexes),
            known: known.map(Arc::clone),
            budget,
        })
    }

    /// Returns true if the definitions take more than their budget.
    pub(crate) fn is_over_budget(&self) -> bool {
        let tokens = self.tools.iter().map(|tool| tool.tokens());
        tokens.sum::<usize>() > self.budget
    }

    /// The tool of the directory's own with this name.
    pub(crate) fn entry(&self, name: &str) -> Option<Arc<dyn Entry>> {
        match name {
            ToolSearch::NAME => Some(Arc::new(InquiryEntry::<ToolSearch>::new(self.clone()))),
            ToolDescribe::NAME => Some(Arc::new(InquiryEntry::<ToolDescribe>::new(self.clone()))),
            _ => None,
        }
    }

    /// The descriptions of the directory's own tools. The first names the servers, so that a model knows what it may
    /// search for.
    pub(crate) fn specs(&self) -> Vec<ToolSpec> {
        let mut specs = own_specs();
        if let Some(search) = specs.first_mut() {
            search.description.push_str(&self.servers());
        }
        specs
    }

    /// The servers, with the number of their tools.
    fn servers(&self) -> String {
        let mut counts: Vec<(&str, usize)> = Vec::new();
        for tool in self.tools.iter() {
            let Origin::Server(server) = &tool.spec().origin else {
                continue;
            };
            match counts.iter_mut().find(|(known, _)| known == server) {
                Some((_, count)) => *count += 1,
                None => counts.push((server, 1)),
            }
        }
        let mut text = "\n\nServers, with the number of their tools:".to_owned();
        for (at, (server, count)) in counts.iter().enumerate() {
            if text.len() > MAX_SERVERS {
                let _ = write!(text, ", and {} more", counts.len() - at);
                break;
            }
            let sign = if at == 0 { "" } else { "," };
            let _ = write!(text, "{sign} {server} ({count})");
        }
        text
    }

    /// The tool of another server with this name.
    fn tool(&self, name: &str) -> Option<&Arc<dyn Entry>> {
        self.tools.iter().find(|tool| *tool.spec().name == *name)
    }

    /// The error about a name that no tool has.
    pub(crate) fn unknown(&self, name: &str) -> ToolError {
        let names = || self.tools.iter().map(|tool| &*tool.spec().name);
        // A model often leaves the name of the server out.
        let ends_so = |known: &&str| {
            let own = known.strip_suffix(name);
            own.is_some_and(|server| server.ends_with("__"))
        };
        let exact = names().filter(ends_so);
        let mut nearest: Vec<&str> = exact.take(MAX_NEAREST).collect();
        if nearest.is_empty() {
            nearest = near::nearest_first(name, names());
            nearest.truncate(MAX_NEAREST);
        }
        let nearest = nearest.into_iter().map(str::to_owned).collect();
        let name = name.to_owned();
        Problem::UnknownTarget { name, nearest }.error()
    }

    /// Notes that a client has to do with these tools.
    fn note<'a>(&self, names: impl Iterator<Item = &'a Arc<str>>) {
        if let Some(known) = &self.known {
            known.add(names, self.is_over_budget());
        }
    }

    /// Notes the tools that a client has to do with after a call: the tool itself, or those that the answer mentions.
    pub(crate) fn note_call(&self, called: &ToolSpec, result: &ToolResult) {
        if called.is_foreign() {
            return self.note(std::iter::once(&called.name));
        }
        let names = self.tools.iter().map(|tool| &tool.spec().name);
        let names: HashSet<Arc<str>> = names.map(Arc::clone).collect();
        for content in &result.content {
            if let Content::Text { text } = content {
                let mentioned = mentioned(text, |name| names.contains(name));
                self.note(mentioned.iter().filter_map(|name| names.get(*name)));
            }
        }
    }
}

/// Returns true for the name of a tool of the directory's own.
pub(crate) fn is_own(name: &str) -> bool {
    [
        ToolSearch::NAME,
        ToolDescribe::NAME,
        call::NAME,
        script::NAME,
    ]
    .contains(&name)
}

/// The descriptions of the directory's own tools, whatever servers there are.
pub(crate) fn own_specs() -> Vec<ToolSpec> {
    vec![
        inquiry::spec::<ToolSearch>(),
        inquiry::spec::<ToolDescribe>(),
        call::spec(),
        script::spec(),
    ]
}
