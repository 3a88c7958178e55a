//! YAML with places: a small tree over the events of `saphyr-parser`.
//!
//! Bounded on purpose: depth, nodes and the expansion of aliases have limits, so that no untrusted text
//! can make it large or slow. Knows nothing of skills.

use std::collections::HashMap;
use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle, Span};
use serde_json::{Map, Number, Value};

/// The deepest nesting that is read.
pub const MAX_DEPTH: usize = 64;
/// The most nodes that are read, those that aliases stand for included.
pub const MAX_NODES: usize = 20_000;

/// A node of a YAML document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its kind.
    pub kind: Kind,
    /// The bytes of the parsed text that it was read from.
    pub span: Range<usize>,
}

/// The kind of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A text; `plain` when written without quotes, so that it may mean a number or null.
    Scalar {
        /// The text, unescaped and folded.
        text: String,
        /// Written without quotes or block indicator.
        plain: bool,
    },
    /// A list.
    Sequence(Vec<Node>),
    /// Keys and values in order, duplicates included.
    Mapping(Vec<(Node, Node)>),
}

/// Why a text is not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum YamlError {
    /// Not YAML.
    #[error("{problem}")]
    Syntax {
        /// The parser's message.
        problem: String,
        /// The byte at which it says so.
        offset: usize,
    },
    /// Nested deeper than [`MAX_DEPTH`].
    #[error("nested deeper than {MAX_DEPTH} levels")]
    TooDeep {
        /// The byte at which the limit is passed.
        offset: usize,
    },
    /// More nodes than [`MAX_NODES`].
    #[error("more than {MAX_NODES} values")]
    TooManyNodes {
        /// The byte at which the limit is passed.
        offset: usize,
    },
}

impl YamlError {
    /// The byte of the parsed text that it is about.
    pub fn offset(&self) -> usize {
        match self {
            Self::Syntax { offset, .. }
            | Self::TooDeep { offset }
            | Self::TooManyNodes { offset } => *offset,
        }
    }
}

impl Node {
    /// The text of a scalar.
    pub fn as_text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Scalar { text, .. } => Some(text),
            Kind::Sequence(_) | Kind::Mapping(_) => None,
        }
    }

    /// Returns true if it is a scalar that stands for nothing: empty, `~` or `null` without quotes.
    pub fn is_null(&self) -> bool {
        matches!(&self.kind, Kind::Scalar { text, plain: true } if matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL"))
    }

    /// The value as JSON, by the core schema of YAML 1.2; of equal keys the last one counts.
    pub fn to_json(&self) -> Value {
        match &self.kind {
            Kind::Scalar { text, plain: false } => Value::String(text.clone()),
            Kind::Scalar { text, plain: true } => plain_to_json(text),
            Kind::Sequence(items) => Value::Array(items.iter().map(Self::to_json).collect()),
            Kind::Mapping(entries) => Value::Object(mapping_to_json(entries)),
        }
    }

    /// A key as text; one that is no scalar is written out in flow style, without quotes, because
    /// JSON inside of JSON would grow with every level.
    pub fn key_text(&self) -> String {
        let mut text = String::new();
        self.write_flow(&mut text);
        text
    }

    fn write_flow(&self, out: &mut String) {
        let (open, close) = match &self.kind {
            Kind::Scalar { text, .. } => return out.push_str(text),
            Kind::Sequence(_) => ('[', ']'),
            Kind::Mapping(_) => ('{', '}'),
        };
        out.push(open);
        match &self.kind {
            Kind::Scalar { .. } => {}
            Kind::Sequence(items) => {
                for item in items {
                    item.write_flow(out);
                    out.push(',');
                }
            }
            Kind::Mapping(entries) => {
                for (key, value) in entries {
                    key.write_flow(out);
                    out.push(':');
                    value.write_flow(out);
                    out.push(',');
                }
            }
        }
        out.push(close);
    }
}

/// The entries of a mapping as a JSON object.
pub fn mapping_to_json(entries: &[(Node, Node)]) -> Map<String, Value> {
    entries
        .iter()
        .map(|(key, value)| (key.key_text(), value.to_json()))
        .collect()
}

fn plain_to_json(text: &str) -> Value {
    let radix = |digits: &str, radix| {
        // The parser of whole numbers would take a sign here.
        let number = i64::from_str_radix(digits, radix).ok();
        let plain = !digits.starts_with(['+', '-']);
        number.filter(|_| plain).map(Value::from)
    };
    let number = match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ if text.starts_with("0x") => radix(&text[2..], 16),
        _ if text.starts_with("0o") => radix(&text[2..], 8),
        _ => decimal(text),
    };
    number.unwrap_or_else(|| Value::String(text.to_owned()))
}

fn decimal(text: &str) -> Option<Value> {
    let looks = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte))
        && text.bytes().any(|byte| byte.is_ascii_digit());
    if !looks {
        return None;
    }
    let whole = text.strip_prefix('+').unwrap_or(text);
    whole.parse::<i64>().map(Value::from).ok().or_else(|| {
        text.parse::<f64>()
            .ok()
            .and_then(Number::from_f64)
            .map(Value::Number)
    })
}

/// Reads the first document of `text`; `None` when there is nothing in it.
///
/// # Errors
/// Not YAML, or beyond a limit; the offset is in bytes of `text`.
pub fn parse(text: &str) -> Result<Option<Node>, YamlError> {
    let offsets = Offsets::new(text);
    let mut reader = Reader {
        offsets: &offsets,
        open: Vec::new(),
        anchors: HashMap::new(),
        nodes: 0,
    };
    let mut parser = Parser::new_from_str(text);
    while let Some(next) = parser.next_event() {
        let (event, span) = next.map_err(|error| YamlError::Syntax {
            problem: error.info().to_owned(),
            offset: offsets.byte(error.marker().index()),
        })?;
        if matches!(event, Event::DocumentEnd | Event::StreamEnd) {
            break;
        }
        if let Some(root) = reader.take(event, span)? {
            // What follows the first value must still be YAML: read on to the document's end.
            return match parser.next_event() {
                Some(Err(error)) => Err(YamlError::Syntax {
                    problem: error.info().to_owned(),
                    offset: offsets.byte(error.marker().index()),
                }),
                _ => Ok(Some(root)),
            };
        }
    }
    Ok(None)
}

/// A collection whose end hasn't come yet.
struct Open {
    items: Vec<Node>,
    mapping: bool,
    anchor: usize,
    start: usize,
}

struct Reader<'text> {
    offsets: &'text Offsets,
    open: Vec<Open>,
    anchors: HashMap<usize, Node>,
    nodes: usize,
}

impl Reader<'_> {
    /// Takes an event; answers the document's root once it is whole.
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<Option<Node>, YamlError> {
        let bytes = self.offsets.byte(span.start.index())..self.offsets.byte(span.end.index());
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain && tag.is_none();
                self.count(1, bytes.start)?;
                self.close(
                    Node {
                        kind: Kind::Scalar {
                            text: text.into_owned(),
                            plain,
                        },
                        span: bytes,
                    },
                    anchor,
                )
            }
            Event::SequenceStart(anchor, _) => self.begin(false, anchor, bytes.start),
            Event::MappingStart(anchor, _) => self.begin(true, anchor, bytes.start),
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(open) = self.open.pop() else {
                    return Ok(None);
                };
                let end = open
                    .items
                    .last()
                    .map_or(bytes.end, |last| last.span.end)
                    .max(open.start);
                let kind = if open.mapping {
                    Kind::Mapping(pairs(open.items))
                } else {
                    Kind::Sequence(open.items)
                };
                self.close(
                    Node {
                        kind,
                        span: open.start..end,
                    },
                    open.anchor,
                )
            }
            Event::Alias(anchor) => {
                let Some(target) = self.anchors.get(&anchor).cloned() else {
                    return Err(YamlError::Syntax {
                        problem: "alias to an anchor that isn't complete here".to_owned(),
                        offset: bytes.start,
                    });
                };
                let (size, depth) = measure(&target);
                self.count(size, bytes.start)?;
                if self.open.len() + depth > MAX_DEPTH {
                    return Err(YamlError::TooDeep {
                        offset: bytes.start,
                    });
                }
                self.close(
                    Node {
                        span: bytes,
                        ..target
                    },
                    0,
                )
            }
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => Ok(None),
        }
    }

    fn begin(
        &mut self,
        mapping: bool,
        anchor: usize,
        start: usize,
    ) -> Result<Option<Node>, YamlError> {
        self.count(1, start)?;
        if self.open.len() >= MAX_DEPTH {
            return Err(YamlError::TooDeep { offset: start });
        }
        self.open.push(Open {
            items: Vec::new(),
            mapping,
            anchor,
            start,
        });
        Ok(None)
    }

    fn close(&mut self, node: Node, anchor: usize) -> Result<Option<Node>, YamlError> {
        if anchor != 0 {
            // A copy is kept for its aliases, so it counts as nodes too.
            self.count(measure(&node).0, node.span.start)?;
            self.anchors.insert(anchor, node.clone());
        }
        match self.open.last_mut() {
            Some(parent) => {
                parent.items.push(node);
                Ok(None)
            }
            None => Ok(Some(node)),
        }
    }

    fn count(&mut self, more: usize, offset: usize) -> Result<(), YamlError> {
        self.nodes = self.nodes.saturating_add(more);
        if self.nodes > MAX_NODES {
            Err(YamlError::TooManyNodes { offset })
        } else {
            Ok(())
        }
    }
}

fn pairs(items: Vec<Node>) -> Vec<(Node, Node)> {
    let mut items = items.into_iter();
    let mut pairs = Vec::new();
    while let (Some(key), Some(value)) = (items.next(), items.next()) {
        pairs.push((key, value));
    }
    pairs
}

/// Returns the number of nodes of a tree, and its depth, which is bounded by [`MAX_DEPTH`].
fn measure(node: &Node) -> (usize, usize) {
    let add = |(size, depth): (usize, usize), (more, below): (usize, usize)| {
        (size + more, depth.max(below))
    };
    let (size, depth) = match &node.kind {
        Kind::Scalar { .. } => (0, 0),
        Kind::Sequence(items) => items.iter().map(measure).fold((0, 0), add),
        Kind::Mapping(entries) => entries
            .iter()
            .flat_map(|(key, value)| [measure(key), measure(value)])
            .fold((0, 0), add),
    };
    (size + 1, depth + 1)
}

/// From the parser's offsets in characters to offsets in bytes.
struct Offsets {
    /// Byte offset of every character; empty when all of them are one byte.
    bytes: Vec<usize>,
    length: usize,
}

impl Offsets {
    fn new(text: &str) -> Self {
        let bytes = if text.is_ascii() {
            Vec::new()
        } else {
            text.char_indices().map(|(at, _)| at).collect()
        };
        Self {
            bytes,
            length: text.len(),
        }
    }

    fn byte(&self, character: usize) -> usize {
        if self.bytes.is_empty() {
            character.min(self.length)
        } else {
            self.bytes.get(character).copied().unwrap_or(self.length)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{YamlError, parse};

    fn as_json(text: &str) -> serde_json::Value {
        match parse(text) {
            Ok(Some(node)) => node.to_json(),
            Ok(None) => json!("nothing"),
            Err(error) => json!({ "error": error.to_string() }),
        }
    }

    #[test]
    fn scalars_follow_the_core_schema() {
        assert_eq!(
            as_json(
                "a: 1\nb: '1'\nc: 0x1f\nd: 1.50\ne: ~\nf: true\ng: 2024-01-01\nh: 1.2.3\ni: .inf\nj: yes"
            ),
            json!({"a":1,"b":"1","c":31,"d":1.5,"e":null,"f":true,"g":"2024-01-01","h":"1.2.3","i":".inf","j":"yes"})
        );
    }

    #[test]
    fn blocks_flows_and_aliases_are_read() {
        assert_eq!(
            as_json(
                "m: {a: [1, two], b: {}}\nt: |\n  x\n  ---\n  y\nf: >-\n  a\n  b\nx: &x [1]\ny: *x"
            ),
            json!({"m":{"a":[1,"two"],"b":{}},"t":"x\n---\ny\n","f":"a b","x":[1],"y":[1]})
        );
    }

    #[test]
    fn spans_are_bytes() {
        let text = "名: é\nb: \"q\"";
        let Ok(Some(node)) = parse(text) else {
            panic!("this is YAML")
        };
        let super::Kind::Mapping(entries) = node.kind else {
            panic!("this is a mapping")
        };
        assert_eq!(&text[entries[0].1.span.clone()], "é");
        assert_eq!(&text[entries[1].1.span.clone()], "\"q\"");
    }

    #[test]
    fn a_small_text_cannot_become_large() {
        let mut laughs = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned();
        for level in 1..12 {
            let below = format!("*a{},", level - 1).repeat(9);
            let row = below.trim_end_matches(',');
            laughs = format!("{laughs}a{level}: &a{level} [{row}]\n");
        }
        assert!(matches!(
            parse(&laughs),
            Err(YamlError::TooManyNodes { .. })
        ));
        let deep = format!("a: {}", "[".repeat(100_000));
        assert!(matches!(
            parse(&deep),
            Err(YamlError::TooDeep { .. } | YamlError::Syntax { .. })
        ));
        let keys = format!("{}x", "? ".repeat(60));
        assert!(as_json(&keys).to_string().len() < 1_000, "keys of keys");
        let keys = as_json(&format!("{}x", "? ".repeat(60))).to_string();
        assert!(
            keys.len() < 1_000,
            "a key of keys grows by a bracket a level"
        );
        let rows: Vec<String> = (0..200).map(|depth| " ".repeat(depth)).collect();
        let block = rows.join("k:\n");
        assert!(matches!(parse(&block), Err(YamlError::TooDeep { .. })));
    }
}
