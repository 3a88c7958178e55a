//! The frontmatter of a SKILL.md: finding it, reading it, and reading it leniently when it is not quite
//! YAML.

use std::collections::HashSet;
use std::ops::Range;

use serde_json::{Map, Value};

use super::diagnostic::{Diagnostic, Edit};
use super::finding::Finding;
use super::source_text::SourceText;
use super::yaml::{self, Kind, Node, YamlError};

mod repair;

use repair::{Entry, Repair, WayBack};

/// The largest frontmatter that is read as YAML, in bytes.
const MAX_FRONTMATTER: usize = 64 * 1024;

/// One top-level field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Its name as written.
    pub name: String,
    /// The bytes of the name in the text.
    pub span: Range<usize>,
    /// Its value; spans are bytes of the text.
    pub value: Node,
}

/// The frontmatter of a skill.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frontmatter {
    /// The fields in the order of the file, duplicates included.
    pub fields: Vec<Field>,
    /// The bytes between the fences; empty when there is no frontmatter.
    pub span: Range<usize>,
    /// The offset of the body.
    pub body: usize,
    /// True if there are fences at all.
    pub present: bool,
}

impl Frontmatter {
    /// The last field of that name.
    pub fn get(&self, name: &str) -> Option<&Field> {
        self.fields.iter().rev().find(|field| field.name == name)
    }

    /// All fields as JSON, verbatim (SEP-2640, `frontmatter`).
    pub fn to_json(&self) -> Map<String, Value> {
        self.fields
            .iter()
            .map(|field| (field.name.clone(), field.value.to_json()))
            .collect()
    }

    /// Reads the frontmatter of a text, as leniently as a person would.
    pub fn read(source: &SourceText, diagnostics: &mut Vec<Diagnostic>) -> Self {
        let Some(fences) = Fences::of(source, diagnostics) else {
            return Self::default();
        };
        let text = source.text.get(fences.yaml.clone()).unwrap_or_default();
        let mut found = Self {
            span: fences.yaml.clone(),
            body: fences.body,
            present: true,
            fields: Vec::new(),
        };
        if text.len() > MAX_FRONTMATTER {
            let finding = Finding::FrontmatterTooLarge {
                bytes: text.len(),
                limit: MAX_FRONTMATTER,
            };
            diagnostics.push(source.found(finding, fences.yaml.start, fences.yaml.start));
            found.fields = by_line(text);
        } else {
            found.fields = read_fields(source, &fences.yaml, text, diagnostics);
        }
        for field in &mut found.fields {
            field.span = shifted(&field.span, fences.yaml.start);
            shift(&mut field.value, fences.yaml.start);
        }
        report_duplicates(source, &found.fields, diagnostics);
        found
    }
}

/// Offset of the body of a text, without reading what stands before it.
pub(super) fn body(source: &SourceText) -> usize {
    Fences::of(source, &mut Vec::new()).map_or(0, |fences| fences.body)
}

fn report_duplicates(source: &SourceText, fields: &[Field], diagnostics: &mut Vec<Diagnostic>) {
    let mut seen = HashSet::new();
    for field in fields {
        if !seen.insert(field.name.as_str()) {
            let finding = Finding::YamlDuplicateKey {
                key: field.name.clone(),
            };
            diagnostics.push(source.found(finding, field.span.start, field.span.end));
        }
    }
}

struct Fences {
    yaml: Range<usize>,
    body: usize,
}

impl Fences {
    /// Finds the frontmatter and the body; `None` when there is no frontmatter.
    fn of(source: &SourceText, diagnostics: &mut Vec<Diagnostic>) -> Option<Self> {
        let fences = find_fences(source, diagnostics)?;
        Some(without_prose(source, fences, diagnostics))
    }
}

/// Finds the two lines of dashes; a fence is a line of three or more `-` and nothing else.
fn find_fences(source: &SourceText, diagnostics: &mut Vec<Diagnostic>) -> Option<Fences> {
    let text = source.text.as_str();
    let blank = text.len() - text.trim_start().len();
    let count = source.line_count();
    let first = source.position(blank).line;
    let open = source.line_start(first);
    if !is_fence(line(source, first)) {
        let end = source.line_start(first + 1);
        diagnostics.push(source.found(Finding::FrontmatterMissing, open.min(text.len()), end));
        return None;
    }
    if open > 0 {
        let found = source.found(Finding::FrontmatterNotFirst, 0, open);
        let edit = source.edit(0, open, "");
        diagnostics.push(if let Some(edit) = edit {
            found.with_fix(vec![edit])
        } else {
            found
        });
    }
    let start = source.line_start(first + 1);
    let closing = (first + 1..=count)
        .find(|&number| is_fence(line(source, number)) || line(source, number).trim_end() == "...");
    let indented = || (first + 1..=count).find(|&number| line(source, number).trim() == "---");
    if let Some(number) = closing.or_else(indented) {
        return Some(Fences {
            yaml: start..source.line_start(number),
            body: source.line_start(number + 1),
        });
    }
    diagnostics.push(source.found(
        Finding::FrontmatterUnclosed,
        open,
        source.line_start(first + 1),
    ));
    // What looks like fields ends where the text begins: at a blank line or a heading.
    let prose = |number: &usize| {
        let content = line(source, *number);
        content.trim().is_empty() || content.starts_with("# ") || content.starts_with("## ")
    };
    let end = source.line_start((first + 1..=count).find(prose).unwrap_or(count + 1));
    Some(Fences {
        yaml: start..end,
        body: end,
    })
}

/// Moves the end of the frontmatter up when the closing fence is missing and a rule in the body was
/// taken for it: the text up to a blank line is YAML, the whole is not, and prose stands below.
fn without_prose(source: &SourceText, fences: Fences, diagnostics: &mut Vec<Diagnostic>) -> Fences {
    let text = source.text.get(fences.yaml.clone()).unwrap_or_default();
    let blank = text
        .find("\n\n")
        .or_else(|| text.find("\n\r\n"))
        .map(|at| at + 1);
    let Some((fields, below)) = blank.and_then(|at| text.split_at_checked(at)) else {
        return fences;
    };
    let is_prose = below
        .lines()
        .any(|line| !line.trim().is_empty() && !could_be_yaml(line));
    if text.len() > MAX_FRONTMATTER || !is_prose || yaml::parse(text).is_ok() {
        return fences;
    }
    let (parsed, _) = repair::parse(fields);
    if !matches!(
        parsed,
        Ok(Some(Node {
            kind: Kind::Mapping(_),
            ..
        }))
    ) {
        return fences;
    }
    let open = source.line_start(source.position(fences.yaml.start).line.saturating_sub(1));
    diagnostics.push(source.found(Finding::FrontmatterUnclosed, open, fences.yaml.start));
    let end = fences.yaml.start + fields.len();
    Fences {
        yaml: fences.yaml.start..end,
        body: end,
    }
}

/// Returns true if a line could stand in a frontmatter: a field, a comment, or the inside of a value.
fn could_be_yaml(line: &str) -> bool {
    let key = line.split(':').next().unwrap_or_default();
    let is_key = line.contains(':')
        && key
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
    line.starts_with([' ', '\t', '#', '-', ']', '}']) || is_key
}

fn line(source: &SourceText, number: usize) -> &str {
    source
        .text
        .get(source.line_start(number)..source.line_start(number + 1))
        .unwrap_or_default()
}

fn is_fence(line: &str) -> bool {
    let line = line.trim_end();
    line.len() >= 3 && line.bytes().all(|byte| byte == b'-')
}

/// Reads the fields, quoting values that break YAML until it parses or nothing is left to quote.
fn read_fields(
    source: &SourceText,
    within: &Range<usize>,
    text: &str,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Field> {
    let (parsed, repairs) = repair::parse(text);
    let error = match parsed {
        Ok(None) => return Vec::new(),
        Ok(Some(node)) => {
            report_repairs(source, within.start, &repairs, diagnostics);
            let way_back = WayBack::over(&repairs);
            let Kind::Mapping(entries) = node.kind else {
                let finding = Finding::YamlNotAMapping;
                diagnostics.push(source.found(finding, within.start, within.end));
                return by_line(text);
            };
            let fields = entries.into_iter();
            return fields
                .map(|(key, value)| field(key, value, &way_back))
                .collect();
        }
        Err(error) => error,
    };
    let offset = (within.start + error.offset()).min(within.end);
    let finding = match error {
        YamlError::Syntax { problem, .. } => Finding::YamlInvalid { problem },
        YamlError::TooDeep { .. } => Finding::YamlTooDeep {
            limit: yaml::MAX_DEPTH,
        },
        YamlError::TooManyNodes { .. } => Finding::YamlTooManyNodes {
            limit: yaml::MAX_NODES,
        },
    };
    diagnostics.push(source.found(finding, offset, offset));
    by_line(text)
}

fn report_repairs(
    source: &SourceText,
    base: usize,
    repairs: &[Repair],
    diagnostics: &mut Vec<Diagnostic>,
) {
    for repair in repairs {
        let (start, end) = (repair.value.start + base, repair.value.end + base);
        let found = source.found(
            Finding::YamlUnquoted {
                field: repair.field.clone(),
            },
            start,
            end,
        );
        let edits: Option<Vec<Edit>> = repair
            .edits()
            .map(|edit| source.edit(edit.start + base, edit.end + base, edit.replacement))
            .collect();
        diagnostics.push(if let Some(edits) = edits {
            found.with_fix(edits)
        } else {
            found
        });
    }
}

fn field(key: Node, mut value: Node, way_back: &WayBack) -> Field {
    let name = key.key_text();
    let span = way_back.original(&key.span);
    visit(&mut value, &mut |span| *span = way_back.original(span));
    Field { name, span, value }
}

fn shift(node: &mut Node, by: usize) {
    visit(node, &mut |span| *span = shifted(span, by));
}

fn shifted(span: &Range<usize>, by: usize) -> Range<usize> {
    span.start + by..span.end + by
}

fn visit(node: &mut Node, change: &mut impl FnMut(&mut Range<usize>)) {
    change(&mut node.span);
    match &mut node.kind {
        Kind::Scalar { .. } => {}
        Kind::Sequence(items) => items.iter_mut().for_each(|item| visit(item, change)),
        Kind::Mapping(entries) => entries.iter_mut().for_each(|(key, value)| {
            visit(key, change);
            visit(value, change);
        }),
    }
}

/// The last resort: top-level `key: value` lines, taken as they stand.
fn by_line(text: &str) -> Vec<Field> {
    let mut fields: Vec<Field> = Vec::new();
    let mut seen = HashSet::new();
    let mut offset = 0;
    for line in text.split_inclusive('\n').take(10_000) {
        let start = offset;
        offset += line.len();
        if line.starts_with([' ', '\t']) {
            continue;
        }
        let Some(Entry { key, value, at }) = Entry::of(line) else {
            continue;
        };
        let bare = value
            .strip_prefix(['"', '\''])
            .and_then(|rest| rest.strip_suffix(['"', '\'']))
            .unwrap_or(value);
        if bare.starts_with(['|', '>']) || !seen.insert(key) {
            continue;
        }
        let value = Node {
            kind: Kind::Scalar {
                text: bare.to_owned(),
                plain: false,
            },
            span: start + at..start + at + value.len(),
        };
        fields.push(Field {
            name: key.to_owned(),
            span: start..start + key.len(),
            value,
        });
    }
    fields
}

#[cfg(test)]
mod tests;
