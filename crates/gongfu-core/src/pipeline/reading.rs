//! Pipelines in files: YAML or JSON, all mistakes at once.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::path::{Path, Segment};
use super::{ErrorStrategy, Input, MAX_DEFINITION, Mistake, Param, Pipeline, Rule, Step};
use crate::near;
use crate::skill::yaml::{self, Kind, Node};
use crate::text::clipped;

/// The fields of a pipeline.
pub(super) const PIPELINE_FIELDS: [&str; 4] = ["name", "description", "inputs", "steps"];
/// The fields of a step.
pub(super) const STEP_FIELDS: [&str; 10] = [
    "name",
    "tool",
    "params",
    "dependsOn",
    "when",
    "retries",
    "retryDelay",
    "timeout",
    "errorStrategy",
    "transform",
];
/// The fields of an input.
pub(super) const INPUT_FIELDS: [&str; 3] = ["description", "required", "default"];

/// The language of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// YAML.
    Yaml,
    /// JSON.
    Json,
}

/// Reads a pipeline from the text of a file. It is not checked yet.
///
/// # Errors
/// All mistakes of its form.
pub fn read(text: &str, kind: FileKind) -> Result<Pipeline, Vec<Mistake>> {
    let whole = |line, what: String| {
        let mistake = Mistake::default();
        vec![Mistake {
            line,
            what,
            ..mistake
        }]
    };
    if text.len() > MAX_DEFINITION {
        let what = format!("the file is longer than {MAX_DEFINITION} bytes");
        return Err(whole(None, what));
    }
    let tree = yaml::parse(text);
    let value = match kind {
        FileKind::Json => serde_json::from_str(text).map_err(|error| {
            let what = error.to_string();
            let what = what.split(" at line ").next().unwrap_or_default();
            whole(Some(error.line()), format!("it is not JSON: {what}"))
        })?,
        FileKind::Yaml => match &tree {
            Ok(Some(node)) => match second_document(text, node.span.start) {
                None => node.to_json(),
                line => {
                    let what = "the file has another document here: keep one in each file";
                    return Err(whole(line, what.to_owned()));
                }
            },
            Ok(None) => return Err(whole(None, "the file is empty".to_owned())),
            Err(error) => {
                let line = line_at(text, error.offset());
                return Err(whole(Some(line), format!("it is not YAML: {error}")));
            }
        },
    };
    let mut reader = Reader::default();
    // Of JSON, the tree has the lines alone; a file that YAML reads differently has none.
    let tree = tree.ok().flatten();
    let tree = tree.filter(|tree| kind == FileKind::Yaml || tree.to_json() == value);
    if let Some(tree) = &tree {
        reader.look_at_tree(&Path::default(), tree);
    }
    let pipeline = reader.pipeline(&value);
    finish(pipeline, reader.mistakes, |place| {
        let node = node_at(tree.as_ref()?, place);
        Some(line_at(text, node.span.start))
    })
}

/// Reads a pipeline from a value, such as one in a log. It is not checked yet.
///
/// # Errors
/// All mistakes of its form.
pub fn from_value(value: &Value) -> Result<Pipeline, Vec<Mistake>> {
    let mut reader = Reader::default();
    let pipeline = reader.pipeline(value);
    finish(pipeline, reader.mistakes, |_| None)
}

fn finish(
    pipeline: Pipeline,
    mistakes: Vec<(Path, String)>,
    line: impl Fn(&Path) -> Option<usize>,
) -> Result<Pipeline, Vec<Mistake>> {
    if mistakes.is_empty() {
        return Ok(pipeline);
    }
    let mistakes = mistakes.into_iter().map(|(place, what)| Mistake {
        line: line(&place),
        step: None,
        field: place.to_string(),
        what,
    });
    Err(mistakes.collect())
}

/// The number of the line of a byte.
fn line_at(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().iter().take(offset);
    before.filter(|byte| **byte == b'\n').count() + 1
}

/// The line of the document after the one that starts at a byte.
fn second_document(text: &str, start: usize) -> Option<usize> {
    let first = line_at(text, start);
    let mut is_after = false;
    let mut lines = (1..).zip(text.lines()).skip(first);
    let found = lines.find(|(_, line)| {
        let is_empty = line.trim().is_empty() || line.trim_start().starts_with('#');
        let word = line.split_whitespace().next().unwrap_or_default();
        is_after |= line.starts_with("...") && word == "...";
        line.starts_with("---") && word == "---" || is_after && word != "..." && !is_empty
    });
    found.map(|(number, _)| number)
}

/// The node at a path, or the nearest one above it.
fn node_at<'n>(tree: &'n Node, place: &Path) -> &'n Node {
    let mut found = tree;
    let mut segments = place.0.iter().peekable();
    while let Some(segment) = segments.next() {
        let next = match (&found.kind, segment) {
            (Kind::Mapping(entries), Segment::Name(name)) => {
                let mut entries = entries.iter().rev();
                let entry = entries.find(|(key, _)| key.as_text() == Some(name));
                // The line of a field is that of its name.
                let is_last = segments.peek().is_none();
                entry.map(|(key, value)| if is_last { key } else { value })
            }
            (Kind::Sequence(items), Segment::Index(index)) => items.get(*index),
            _ => None,
        };
        match next {
            Some(next) => found = next,
            None => break,
        }
    }
    found
}

/// Reads values field by field, and collects the mistakes.
#[derive(Default)]
struct Reader {
    mistakes: Vec<(Path, String)>,
}

impl Reader {
    fn mistake(&mut self, place: &Path, what: impl Into<String>) {
        self.mistakes.push((place.clone(), what.into()));
    }

    /// Looks for what a value can't tell any more: fields that are set twice, and numbers that are too long for one.
    fn look_at_tree(&mut self, place: &Path, node: &Node) {
        match &node.kind {
            Kind::Scalar { text, plain } => {
                let is_whole = text
                    .bytes()
                    .all(|byte| byte.is_ascii_digit() || b"+-".contains(&byte));
                if *plain && is_whole && node.to_json().is_f64() {
                    self.mistake(
                        place,
                        "the number is too long to be exact: put it in quotes",
                    );
                }
            }
            Kind::Sequence(items) => {
                for (at, item) in items.iter().enumerate() {
                    self.look_at_tree(&place.index(at), item);
                }
            }
            Kind::Mapping(entries) => {
                let mut names = std::collections::BTreeSet::new();
                for (key, value) in entries {
                    let name = key.key_text();
                    let place = place.name(&name);
                    if !names.insert(name) {
                        self.mistake(&place, "it is set twice: remove one");
                    }
                    self.look_at_tree(&place, value);
                }
            }
        }
    }

    /// The fields of an object, of which all must be known.
    fn fields<'v>(
        &mut self,
        place: &Path,
        value: &'v Value,
        known: &[&str],
    ) -> Option<&'v Map<String, Value>> {
        let Some(fields) = value.as_object() else {
            let what = format!("it must be a table with `{}`", known.join("`, `"));
            self.mistake(place, what);
            return None;
        };
        for name in fields.keys().filter(|name| !known.contains(&name.as_str())) {
            let near = near::meant(name, known.iter().copied());
            let hint = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("the fields are `{}`", known.join("`, `")),
            };
            let place = place.name(&clipped(name, 60, '?'));
            self.mistake(&place, format!("there is no such field: {hint}"));
        }
        Some(fields)
    }

    fn pipeline(&mut self, value: &Value) -> Pipeline {
        let root = Path::default();
        let Some(fields) = self.fields(&root, value, &PIPELINE_FIELDS) else {
            return Pipeline::default();
        };
        let steps = match present(fields, "steps") {
            Some(Value::Array(steps)) => {
                let steps = steps.iter().enumerate();
                steps
                    .map(|(at, step)| self.step(&root.name("steps").index(at), step))
                    .collect()
            }
            Some(_) => {
                self.mistake(&root.name("steps"), "it must be a list of steps");
                Vec::new()
            }
            None => {
                self.mistake(&root, "`steps` is missing: add a list of steps");
                Vec::new()
            }
        };
        Pipeline {
            name: self.needed(&root, fields, "name"),
            description: self.text(&root, fields, "description"),
            inputs: self.inputs(&root, fields),
            steps,
        }
    }

    fn inputs(
        &mut self,
        root: &Path,
        fields: &Map<String, Value>,
    ) -> Option<BTreeMap<String, Input>> {
        let place = root.name("inputs");
        let Value::Object(inputs) = present(fields, "inputs")? else {
            self.mistake(
                &place,
                "it must be a table: the names of inputs, and a table for each",
            );
            return None;
        };
        let inputs = inputs.iter().map(|(name, value)| {
            let place = place.name(name);
            (name.clone(), self.input(&place, value))
        });
        Some(inputs.collect())
    }

    fn input(&mut self, place: &Path, value: &Value) -> Input {
        if value.is_null() {
            return Input::default();
        }
        let Some(fields) = self.fields(place, value, &INPUT_FIELDS) else {
            return Input::default();
        };
        let required = match present(fields, "required") {
            None => false,
            Some(Value::Bool(truth)) => *truth,
            Some(_) => {
                self.mistake(&place.name("required"), "it must be true or false");
                false
            }
        };
        Input {
            description: self.text(place, fields, "description"),
            required,
            default: fields.get("default").cloned(),
        }
    }

    fn step(&mut self, place: &Path, value: &Value) -> Step {
        let Some(fields) = self.fields(place, value, &STEP_FIELDS) else {
            return Step::new("", "");
        };
        let params = match present(fields, "params") {
            None => BTreeMap::new(),
            Some(Value::Object(params)) => {
                let params = params.iter();
                let params =
                    params.map(|(name, value)| (name.clone(), Param::Value(value.clone())));
                params.collect()
            }
            Some(_) => {
                self.mistake(&place.name("params"), "it must be a table of arguments");
                BTreeMap::new()
            }
        };
        let retries = self.number(place, fields, "retries");
        let retries = retries.map(|number| u32::try_from(number).unwrap_or(u32::MAX));
        let error_strategy = match present(fields, "errorStrategy").map(Value::as_str) {
            None | Some(Some("fail")) => ErrorStrategy::Fail,
            Some(Some("continue")) => ErrorStrategy::Continue,
            Some(_) => {
                let place = place.name("errorStrategy");
                self.mistake(&place, "it must be `fail` or `continue`");
                ErrorStrategy::Fail
            }
        };
        Step {
            name: self.needed(place, fields, "name"),
            tool: self.needed(place, fields, "tool"),
            params,
            depends_on: self.names(place, fields),
            when: self.rule(place, fields, "when"),
            retries: retries.unwrap_or(1),
            retry_delay: self.number(place, fields, "retryDelay").unwrap_or_default(),
            timeout: self.number(place, fields, "timeout"),
            error_strategy,
            transform: self.rule(place, fields, "transform"),
        }
    }

    fn names(&mut self, place: &Path, fields: &Map<String, Value>) -> Vec<String> {
        let names = match present(fields, "dependsOn") {
            None => return Vec::new(),
            Some(Value::Array(names)) => names.as_slice(),
            Some(_) => &[Value::Null],
        };
        let texts: Option<Vec<String>> = names
            .iter()
            .map(|name| name.as_str().map(str::to_owned))
            .collect();
        texts.unwrap_or_else(|| {
            let place = place.name("dependsOn");
            self.mistake(
                &place,
                "it must be a list of the names of steps, such as `[scan]`",
            );
            Vec::new()
        })
    }

    fn rule(&mut self, place: &Path, fields: &Map<String, Value>, name: &str) -> Option<Rule> {
        match present(fields, name)? {
            Value::String(text) => Some(Rule::Expression(text.clone())),
            Value::Bool(truth) => Some(Rule::Expression(truth.to_string())),
            _ => {
                self.mistake(&place.name(name), "it must be an expression in quotes");
                None
            }
        }
    }

    fn number(&mut self, place: &Path, fields: &Map<String, Value>, name: &str) -> Option<u64> {
        let number = present(fields, name)?.as_u64();
        if number.is_none() {
            self.mistake(&place.name(name), "it must be a whole number, 0 or more");
        }
        number
    }

    fn text(&mut self, place: &Path, fields: &Map<String, Value>, name: &str) -> Option<String> {
        let text = present(fields, name)?.as_str();
        if text.is_none() {
            self.mistake(&place.name(name), "it must be a string");
        }
        text.map(str::to_owned)
    }

    fn needed(&mut self, place: &Path, fields: &Map<String, Value>, name: &str) -> String {
        if present(fields, name).is_none() {
            self.mistake(place, format!("`{name}` is missing: add it"));
        }
        self.text(place, fields, name).unwrap_or_default()
    }
}

/// The value of a field; one that is empty counts as absent.
fn present<'v>(fields: &'v Map<String, Value>, name: &str) -> Option<&'v Value> {
    fields.get(name).filter(|value| !value.is_null())
}
