//! The frontmatter of a SKILL.md: finding it, reading it, and reading it all the same when it is
//! not quite YAML.

use std::ops::Range;

use serde_json::{Map, Value};

use super::diagnostic::{Diagnostic, Edit};
use super::finding::Finding;
use super::source_text::SourceText;
use super::yaml::{self, Kind, Node, YamlError};

/// The largest frontmatter that is read as YAML, in bytes.
const MAX_FRONTMATTER: usize = 256 * 1024;
/// How many values are put in quotes before a text counts as not YAML at all.
const MAX_REPAIRS: usize = 64;

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
    /// Where the body starts.
    pub body: usize,
    /// Whether there are fences at all.
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
        let Some(fences) = find_fences(source, diagnostics) else {
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

fn report_duplicates(source: &SourceText, fields: &[Field], diagnostics: &mut Vec<Diagnostic>) {
    let mut seen = std::collections::HashSet::new();
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
    let mut repaired = text.to_owned();
    let mut repairs: Vec<Repair> = Vec::new();
    let first_error = loop {
        match yaml::parse(&repaired) {
            Ok(None) => return Vec::new(),
            Ok(Some(node)) => {
                report_repairs(source, within.start, &repairs, diagnostics);
                let Kind::Mapping(entries) = node.kind else {
                    diagnostics.push(source.found(
                        Finding::YamlNotAMapping,
                        within.start,
                        within.end,
                    ));
                    return by_line(text);
                };
                return entries
                    .into_iter()
                    .map(|(key, value)| field(key, value, &repairs))
                    .collect();
            }
            Err(error) => match next_repair(text, &repaired, &repairs, &error) {
                Some(repair) if repairs.len() < MAX_REPAIRS => {
                    repairs.push(repair);
                    repairs.sort_by_key(|known| known.value.start);
                    repaired = apply(text, &repairs);
                }
                _ => break yaml::parse(text).err().unwrap_or(error),
            },
        }
    };
    let offset = within.start + first_error.offset();
    let finding = match &first_error {
        YamlError::Syntax { problem, .. } => Finding::YamlInvalid {
            problem: problem.clone(),
        },
        YamlError::TooDeep { .. } => Finding::YamlTooDeep {
            limit: yaml::MAX_DEPTH,
        },
        YamlError::TooManyNodes { .. } => Finding::YamlTooManyNodes {
            limit: yaml::MAX_NODES,
        },
    };
    diagnostics.push(source.found(finding, offset.min(within.end), offset.min(within.end)));
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
            .into_iter()
            .map(|edit| source.edit(edit.start + base, edit.end + base, edit.replacement))
            .collect();
        diagnostics.push(if let Some(edits) = edits {
            found.with_fix(edits)
        } else {
            found
        });
    }
}

fn field(key: Node, mut value: Node, repairs: &[Repair]) -> Field {
    let name = key
        .as_text()
        .map_or_else(|| key.to_json().to_string(), str::to_owned);
    let mut span = key.span;
    unrepair(&mut span, repairs);
    unrepair_node(&mut value, repairs);
    Field { name, span, value }
}

/// A value that is put in double quotes.
struct Repair {
    field: String,
    /// The bytes of the value in the text as it stands in the file.
    value: Range<usize>,
    content: String,
}

impl Repair {
    /// The edits that make the value a double-quoted one, touching nothing else.
    fn edits(&self) -> Vec<Edit> {
        let at = self.value.start;
        let escapes = self
            .content
            .char_indices()
            .filter(|&(_, c)| c == '"' || c == '\\');
        let mut edits = vec![Edit {
            start: at,
            end: at,
            replacement: "\"".to_owned(),
        }];
        edits.extend(escapes.map(|(offset, _)| Edit {
            start: at + offset,
            end: at + offset,
            replacement: "\\".to_owned(),
        }));
        edits.push(Edit {
            start: self.value.end,
            end: self.value.end,
            replacement: "\"".to_owned(),
        });
        edits
    }
}

fn apply(text: &str, repairs: &[Repair]) -> String {
    let mut out = String::with_capacity(text.len() + repairs.len() * 2);
    let mut done = 0;
    for edit in repairs.iter().flat_map(Repair::edits) {
        out.push_str(text.get(done..edit.start).unwrap_or_default());
        out.push_str(&edit.replacement);
        done = edit.end.max(done);
    }
    out.push_str(text.get(done..).unwrap_or_default());
    out
}

/// The next value worth quoting: the one on the line of the error, else the nearest one above it.
fn next_repair(
    text: &str,
    repaired: &str,
    repairs: &[Repair],
    error: &YamlError,
) -> Option<Repair> {
    if !matches!(error, YamlError::Syntax { .. }) {
        return None;
    }
    let before = repaired
        .get(..repaired.floor_char_boundary(error.offset()))
        .unwrap_or(repaired);
    let error_line = before.matches('\n').count();
    let mut candidates: Vec<(usize, Repair)> = unquoted_values(text)
        .into_iter()
        .filter(|(_, known)| {
            repairs
                .iter()
                .all(|done| done.value.start != known.value.start)
        })
        .collect();
    // The parser reports a plain value's fault on its line or, for a value that looks like the
    // start of something, on a line further down.
    let nearest = candidates
        .iter()
        .rposition(|(line, _)| *line <= error_line)?;
    Some(candidates.swap_remove(nearest).1)
}

/// Values that quoting can change: `key: value` lines whose value, alone, isn't a plain scalar.
fn unquoted_values(text: &str) -> Vec<(usize, Repair)> {
    let mut found = Vec::new();
    let mut offset = 0;
    let mut block: Option<usize> = None;
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for (number, line) in lines.iter().enumerate() {
        let start = offset;
        offset += line.len();
        let indent = line.len() - line.trim_start_matches(' ').len();
        if line.trim().is_empty() || block.is_some_and(|outer| indent > outer) {
            continue;
        }
        block = None;
        let Some(entry) = split_entry(line) else {
            continue;
        };
        if entry.value.starts_with(['|', '>']) {
            block = Some(indent);
            continue;
        }
        let content = continued(
            entry.value,
            lines.get(number + 1..).unwrap_or_default(),
            indent,
        );
        let value = start + entry.at..start + entry.at + content.len();
        if text.get(value.clone()) == Some(content.as_str()) && needs_quotes(&content) {
            found.push((
                number,
                Repair {
                    field: entry.key.to_owned(),
                    value,
                    content,
                },
            ));
        }
    }
    found
}

/// A line that reads `key: value`.
struct Entry<'line> {
    key: &'line str,
    value: &'line str,
    /// Offset of the value in the line.
    at: usize,
}

fn split_entry(line: &str) -> Option<Entry<'_>> {
    let line = line.trim_end();
    let colon = line.find(": ").or_else(|| line.find(":\t"))?;
    let (key, rest) = line.split_at(colon);
    let key = key.trim_start_matches(['-', ' ']).trim_end();
    let value = rest.get(1..)?.trim_start();
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | ' ' | '.');
    let entry = Entry {
        key,
        value,
        at: line.len() - value.len(),
    };
    (!value.is_empty() && !key.is_empty() && key.chars().all(plain)).then_some(entry)
}

/// A plain value with the lines that continue it: deeper indented, not an entry themselves.
fn continued(value: &str, following: &[&str], indent: usize) -> String {
    if value.starts_with(['"', '\'', '[', '{']) {
        return value.to_owned();
    }
    let mut content = value.to_owned();
    let mut gap = String::from("\n");
    for line in following {
        let depth = line.len() - line.trim_start_matches(' ').len();
        if line.trim().is_empty() || depth <= indent || line.trim_start().starts_with("- ") {
            break;
        }
        content.push_str(&gap);
        content.push_str(line.trim_end());
        gap = line.get(line.trim_end().len()..).unwrap_or("\n").to_owned();
    }
    if content.contains('\r') {
        value.to_owned()
    } else {
        content
    }
}

/// Whether a value, alone, is something else to YAML than the text it looks like.
fn needs_quotes(value: &str) -> bool {
    match yaml::parse(&format!("k: {value}\n")) {
        Err(_) => true,
        Ok(node) => {
            !matches!(node.map(|node| node.kind), Some(Kind::Mapping(entries)) if entries.len() == 1)
        }
    }
}

/// Moves a place in the repaired text back to the text of the file.
fn unrepair(span: &mut Range<usize>, repairs: &[Repair]) {
    *span = original(span.start, repairs)..original(span.end, repairs);
}

fn original(offset: usize, repairs: &[Repair]) -> usize {
    let mut inserted = 0;
    for edit in repairs.iter().flat_map(Repair::edits) {
        if edit.start + inserted >= offset {
            break;
        }
        inserted += edit.replacement.len();
    }
    offset.saturating_sub(inserted)
}

fn unrepair_node(node: &mut Node, repairs: &[Repair]) {
    if repairs.is_empty() {
        return;
    }
    visit(node, &mut |span| unrepair(span, repairs));
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
    let mut offset = 0;
    for line in text.split_inclusive('\n').take(10_000) {
        let start = offset;
        offset += line.len();
        if line.starts_with([' ', '\t']) {
            continue;
        }
        let Some(Entry { key, value, at }) = split_entry(line) else {
            continue;
        };
        let bare = value
            .strip_prefix(['"', '\''])
            .and_then(|rest| rest.strip_suffix(['"', '\'']))
            .unwrap_or(value);
        if fields.iter().any(|known| known.name == key) || bare.starts_with(['|', '>']) {
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
