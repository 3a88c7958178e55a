//! The index over the tools in a directory, built once for each list of them.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::Arc;

use gongfu_core::library::Library;
use gongfu_core::port::{PortError, TextIndex};
use gongfu_core::search::SearchText;
use gongfu_core::search::word::composed;
use serde_json::{Map, Value};
use tokio::sync::Mutex;

use super::{Directory, mentioned};
use crate::call::Call;
use crate::entry::Entry;
use crate::tool::ToolSpec;

/// The most indexes that are kept: lists of tools that callers see.
const MAX_INDEXES: usize = 8;
/// The depth to which arguments in arguments are read.
const MAX_DEPTH: usize = 4;
/// The most arguments of a tool that are read.
const MAX_ARGUMENTS: usize = 200;

/// The indexes of the lists of tools that callers see, the latest last.
#[derive(Default)]
pub(crate) struct Indexes(Mutex<Vec<Index>>);

/// The index of a list of tools.
struct Index {
    tools: Arc<[Arc<dyn Entry>]>,
    purposes: Purposes,
    texts: Arc<dyn TextIndex>,
}

/// The descriptions of the skills that name a tool, by the name of the tool.
type Purposes = HashMap<String, Vec<String>>;

impl Indexes {
    /// The index of a directory, with what the caller's skills say about its tools.
    pub(super) async fn of(
        &self,
        directory: &Directory,
        call: &Call,
    ) -> Result<Arc<dyn TextIndex>, PortError> {
        // Without the library, the tools speak for themselves.
        let library = call.space.skills().library().await.ok();
        let purposes = library.map_or_else(HashMap::new, |all| purposes(&all, &directory.tools));
        let mut indexes = self.0.lock().await;
        let known = indexes
            .iter()
            .find(|index| is_same(&index.tools, &directory.tools) && index.purposes == purposes);
        if let Some(known) = known {
            return Ok(Arc::clone(&known.texts));
        }
        let none = Vec::new();
        let texts = directory.tools.iter().map(|tool| {
            let spec = tool.spec();
            text(spec, purposes.get(&*spec.name).unwrap_or(&none))
        });
        let texts = call.space.search().index(texts.collect()).await?;
        if indexes.len() == MAX_INDEXES {
            indexes.remove(0);
        }
        indexes.push(Index {
            tools: Arc::clone(&directory.tools),
            purposes,
            texts: Arc::clone(&texts),
        });
        Ok(texts)
    }
}

/// Returns true for lists of the very same entries.
fn is_same(some: &[Arc<dyn Entry>], others: &[Arc<dyn Entry>]) -> bool {
    let mut pairs = some.iter().zip(others);
    some.len() == others.len() && pairs.all(|(one, other)| Arc::ptr_eq(one, other))
}

/// The purposes of tools, as the enabled skills that name them say.
fn purposes(library: &Library, tools: &[Arc<dyn Entry>]) -> Purposes {
    let names: HashSet<&str> = tools.iter().map(|tool| &*tool.spec().name).collect();
    let mut purposes = Purposes::new();
    for skill in library.skills().iter().filter(|skill| skill.enabled) {
        for name in mentioned(&skill.frontmatter, |name| names.contains(name)) {
            let purpose = purposes.entry(name.to_owned()).or_default();
            purpose.push(skill.description.clone());
        }
    }
    purposes
}

/// The text of a tool as it is searched.
fn text(spec: &ToolSpec, purposes: &[String]) -> SearchText {
    let (server, own) = spec.name.split_once("__").unwrap_or(("", &spec.name));
    let mut name = own.to_owned();
    if !spec.title.eq_ignore_ascii_case(own) {
        let _ = write!(name, "\n{}", spec.title);
    }
    let (mut arguments, mut about) = (server.to_owned(), purposes.join("\n"));
    let mut room = MAX_ARGUMENTS;
    read(
        &spec.input_schema,
        &mut arguments,
        &mut about,
        MAX_DEPTH,
        &mut room,
    );
    let composed = |text: &str| composed(text).into_owned();
    SearchText {
        name: composed(&name),
        description: composed(&spec.description),
        headings: composed(&arguments),
        prose: composed(&about),
        code: String::new(),
    }
}

/// Reads the names and descriptions of arguments.
fn read(
    schema: &Map<String, Value>,
    names: &mut String,
    about: &mut String,
    depth: usize,
    room: &mut usize,
) {
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        let Some(left) = room.checked_sub(1) else {
            return;
        };
        *room = left;
        let _ = write!(names, "\n{name}");
        let Some(property) = property.as_object() else {
            continue;
        };
        for key in ["title", "description"] {
            if let Some(text) = property.get(key).and_then(Value::as_str) {
                let _ = write!(about, "\n{text}");
            }
        }
        let choices = property.get("enum").and_then(Value::as_array);
        for choice in choices.into_iter().flatten().filter_map(Value::as_str) {
            let _ = write!(about, "\n{choice}");
        }
        if depth > 0 {
            read(property, names, about, depth - 1, room);
            if let Some(items) = property.get("items").and_then(Value::as_object) {
                read(items, names, about, depth - 1, room);
            }
        }
    }
}
