//! The frontmatter of a SKILL.md: finding it, reading it, and reading it leniently when it is not quite
//! YAML.

use std::collections::HashSet;
use std::ops::Range;

use serde_json::{Map, Value};

use super::diagnostic::{Diagnostic, Edit};
use super::finding::Finding;
use super::source_text::SourceText;
use super::yaml::{self, Kind, Node, YamlError};

mod fence;
mod repair;

use fence::Fences;
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
    /// True if there is a frontmatter at all.
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
            let before = diagnostics.len();
            found.fields = read_fields(source, &fences.yaml, text, diagnostics);
            if fences.is_guess {
                // The missing fence is why it is no YAML.
                let mut read = diagnostics.split_off(before);
                read.retain(|found| !is_about_form(&found.finding));
                diagnostics.append(&mut read);
            }
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

fn is_about_form(finding: &Finding) -> bool {
    matches!(
        finding,
        Finding::YamlInvalid { .. } | Finding::YamlNotAMapping
    )
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
