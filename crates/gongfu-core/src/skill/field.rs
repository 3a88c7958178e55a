//! The rules of the format for the fields of the frontmatter.

use std::ops::Range;

use serde_json::Value;

use super::diagnostic::{Diagnostic, Edit};
use super::finding::Finding;
use super::frontmatter::{Field, Frontmatter};
use super::name::{self, SkillName};
use super::placeholder;
use super::source_text::SourceText;
use super::yaml::Kind;
use crate::near;

/// The longest description, in characters.
pub const MAX_DESCRIPTION: usize = 1024;
/// The longest `compatibility`, in characters.
pub const MAX_COMPATIBILITY: usize = 500;

/// The fields of the format.
const FORMAT: [&str; 6] = [
    "name",
    "description",
    "license",
    "compatibility",
    "metadata",
    "allowed-tools",
];
/// Fields beyond the format that clients in use understand.
const IN_USE: [&str; 14] = [
    "homepage",
    "version",
    "author",
    "tags",
    "triggers",
    "user-invocable",
    "disable-model-invocation",
    "argument-hint",
    "arguments",
    "context",
    "model",
    "hooks",
    "agent",
    "keywords",
];

/// Checks the frontmatter against the format; answers the name that the skill goes by.
pub fn check(
    source: &SourceText,
    frontmatter: &Frontmatter,
    folder: &str,
    diagnostics: &mut Vec<Diagnostic>,
) -> SkillName {
    for field in &frontmatter.fields {
        check_known(source, field, diagnostics);
    }
    check_compatibility(source, frontmatter, diagnostics);
    check_metadata(source, frontmatter, diagnostics);
    check_allowed_tools(source, frontmatter, diagnostics);
    check_name(source, frontmatter, folder, diagnostics)
}

/// The declared description, checked, if there is one.
pub fn description(
    source: &SourceText,
    frontmatter: &Frontmatter,
    name: &SkillName,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<String> {
    let field = frontmatter.get("description")?;
    let Some(text) = field.value.as_text() else {
        diagnostics.push(at_value(source, field, Finding::DescriptionNotText));
        return None;
    };
    let text = text.trim();
    if text.is_empty() || field.value.is_null() {
        return None;
    }
    let length = text.chars().count();
    if length > MAX_DESCRIPTION {
        diagnostics.push(at_value(
            source,
            field,
            Finding::DescriptionTooLong {
                length,
                limit: MAX_DESCRIPTION,
            },
        ));
    }
    if placeholder::is_template(text) {
        let text = text.to_owned();
        diagnostics.push(at_value(source, field, Finding::TemplateUntouched { text }));
    } else if placeholder::is_vague(text, name.as_str()) {
        diagnostics.push(at_value(source, field, Finding::DescriptionVague));
    }
    Some(text.to_owned())
}

fn check_name(
    source: &SourceText,
    frontmatter: &Frontmatter,
    folder: &str,
    diagnostics: &mut Vec<Diagnostic>,
) -> SkillName {
    let stand_in = SkillName::from_folder(folder);
    let missing = Finding::NameMissing {
        folder: folder.to_owned(),
    };
    let Some(field) = frontmatter.get("name") else {
        // Without a frontmatter that is reported.
        if frontmatter.present {
            let start = frontmatter.span.start;
            let line = format!("name: {folder}{}", source.newline());
            let found = source.found(missing, start, start);
            diagnostics.push(with_name(source, found, folder, start..start, &line));
        }
        return stand_in;
    };
    let Some(text) = field.value.as_text() else {
        diagnostics.push(at_value(source, field, Finding::NameNotText));
        return stand_in;
    };
    if text.trim().is_empty() || field.value.is_null() {
        let found = at_value(source, field, missing);
        let end = field.value.span.end.max(field.span.end + 1);
        let value = format!(": {folder}");
        let span = field.span.end..end;
        diagnostics.push(with_name(source, found, folder, span, &value));
        return stand_in;
    }
    for fault in name::faults(text) {
        diagnostics.push(at_value(
            source,
            field,
            Finding::NameBreaksRule {
                name: text.trim().to_owned(),
                fault,
            },
        ));
    }
    if !name::same(text, folder) {
        diagnostics.push(differing(source, field, text.trim(), folder));
    }
    match SkillName::new(text) {
        Ok(name) => {
            if !name.is_plain_in_uri() {
                let name = name.to_string();
                diagnostics.push(at_value(source, field, Finding::NameNotInUri { name }));
            }
            if let Some(odd) = name::mixed_script(name.as_str()) {
                let name = name.to_string();
                diagnostics.push(at_value(
                    source,
                    field,
                    Finding::NameMixedScript { name, odd },
                ));
            }
            name
        }
        Err(error) => {
            let reason = error.to_string();
            diagnostics.push(at_value(source, field, Finding::NameUnusable { reason }));
            stand_in
        }
    }
}

fn differing(source: &SourceText, field: &Field, declared: &str, folder: &str) -> Diagnostic {
    let found = at_value(
        source,
        field,
        Finding::NameDiffersFromFolder {
            name: declared.to_owned(),
            folder: folder.to_owned(),
        },
    );
    let start = field.value.span.start;
    let written = source.text.get(field.value.span.clone());
    match written.and_then(scalar_length) {
        Some(length) => with_name(source, found, folder, start..start + length, folder),
        None => found,
    }
}

/// The length of a scalar in one line, without the comment after it; `None` where escapes make that hard to say.
fn scalar_length(written: &str) -> Option<usize> {
    let quote = written.chars().next()?;
    if !matches!(quote, '"' | '\'') {
        return Some(written.trim_end().len());
    }
    let (inner, rest) = written.get(1..)?.split_once(quote)?;
    let is_plain = !inner.contains('\\') && !rest.starts_with(quote);
    is_plain.then_some(inner.len() + 2)
}

/// Adds the edit that writes the folder's name, where that is a good one.
fn with_name(
    source: &SourceText,
    found: Diagnostic,
    folder: &str,
    span: Range<usize>,
    replacement: &str,
) -> Diagnostic {
    let written = source.text.get(span.clone()).unwrap_or_default();
    let edit = source.edit(span.start, span.end, replacement);
    match edit.filter(|_| is_writable_name(folder) && !written.contains('\n')) {
        Some(edit) => found.with_fix(vec![edit]),
        None => found,
    }
}

/// Returns true if a folder's name is a name of the format that needs no quotes.
pub(super) fn is_writable_name(folder: &str) -> bool {
    name::faults(folder).is_empty() && needs_no_quotes(folder)
}

/// Returns true if a name, written as it is, is read as a text by YAML.
fn needs_no_quotes(name: &str) -> bool {
    name.chars().all(|c| c.is_alphanumeric() || c == '-')
        && name.chars().next().is_some_and(char::is_alphabetic)
        && !matches!(
            name,
            "null" | "true" | "false" | "yes" | "no" | "on" | "off" | "y" | "n"
        )
}

fn check_known(source: &SourceText, field: &Field, diagnostics: &mut Vec<Diagnostic>) {
    let known = || FORMAT.iter().chain(&IN_USE).copied();
    if known().any(|name| name == field.name) {
        return;
    }
    let near = near::nearest_first(&field.name, known()).into_iter().next();
    let near = near
        .filter(|name| {
            strsim::damerau_levenshtein(&near::folded(name), &near::folded(&field.name)) <= 2
        })
        .and_then(|name| known().find(|known| *known == name));
    diagnostics.push(source.found(
        Finding::FieldUnknown {
            field: field.name.clone(),
            near,
        },
        field.span.start,
        field.span.end,
    ));
}

fn check_compatibility(
    source: &SourceText,
    frontmatter: &Frontmatter,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let Some(field) = frontmatter.get("compatibility") else {
        return;
    };
    match field.value.as_text() {
        None => diagnostics.push(at_value(source, field, Finding::CompatibilityNotText)),
        Some(text) if text.chars().count() > MAX_COMPATIBILITY => {
            let finding = Finding::CompatibilityTooLong {
                length: text.chars().count(),
                limit: MAX_COMPATIBILITY,
            };
            diagnostics.push(at_value(source, field, finding));
        }
        Some(_) => {}
    }
}

fn check_metadata(
    source: &SourceText,
    frontmatter: &Frontmatter,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let Some(field) = frontmatter.get("metadata") else {
        return;
    };
    let Kind::Mapping(entries) = &field.value.kind else {
        if !field.value.is_null() {
            diagnostics.push(at_value(source, field, Finding::MetadataNotAMapping));
        }
        return;
    };
    if let Some((key, _)) = entries.iter().find(|(_, value)| value.as_text().is_none()) {
        let name = key.as_text().unwrap_or("?").to_owned();
        diagnostics.push(source.found(
            Finding::MetadataNested { key: name },
            key.span.start,
            key.span.end,
        ));
    }
}

fn check_allowed_tools(
    source: &SourceText,
    frontmatter: &Frontmatter,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let Some(field) = frontmatter.get("allowed-tools") else {
        return;
    };
    let is_list = match field.value.as_text() {
        None => true,
        // A comma inside of `Bash(git:*, ls)` belongs to the tool; one between tools doesn't.
        Some(text) => split_tools(text).1,
    };
    if !is_list {
        return;
    }
    let found = at_value(source, field, Finding::AllowedToolsShape);
    diagnostics.push(match tools_edit(source, field) {
        Some(edit) => found.with_fix(vec![edit]),
        None => found,
    });
}

/// The edit that writes allowed tools as one text. `None` where a tool has blanks in it: it would be several.
fn tools_edit(source: &SourceText, field: &Field) -> Option<Edit> {
    let tools = tools(&field.value.to_json());
    let is_plain = |tool: &String| {
        let starts = tool.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        starts && !tool.contains(|c: char| c.is_whitespace() || "#\"'[]{}".contains(c))
    };
    let span = field.span.end..field.value.span.end;
    let mut end = span.end;
    let written = source.text.get(span.clone())?;
    let rest = source.text.get(end..)?;
    if written.trim_start_matches([':', ' ']).starts_with('[') {
        // The span of a list ends with its last item.
        let close = rest.find(']')?;
        let between = rest.get(..close)?;
        if !between.chars().all(|c| c.is_whitespace() || c == ',') {
            return None;
        }
        end += close + 1;
    }
    let line = source.text.get(end..)?.lines().next().unwrap_or_default();
    let is_commented = written.contains('#') || !line.trim().is_empty();
    let is_whole = match &field.value.kind {
        Kind::Sequence(items) => items.len() == tools.len(),
        Kind::Scalar { .. } => true,
        Kind::Mapping(_) => false,
    };
    if tools.is_empty() || !is_whole || !tools.iter().all(is_plain) || is_commented {
        return None;
    }
    source.edit(span.start, end, format!(": {}", tools.join(" ")))
}

/// The allowed tools, in whichever form they are written.
pub(super) fn tools(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => {
            let texts = items.iter().filter_map(Value::as_str);
            texts.map(|text| text.trim().to_owned()).collect()
        }
        Value::String(text) => split_tools(text).0,
        _ => Vec::new(),
    }
}

/// Splits a text at blanks and commas outside of brackets; true if there was such a comma.
fn split_tools(text: &str) -> (Vec<String>, bool) {
    let mut depth = 0_usize;
    let mut has_comma = false;
    let parts = text.split(|c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        has_comma |= c == ',' && depth == 0;
        depth == 0 && (c == ',' || c.is_whitespace())
    });
    let tools = parts.filter(|part| !part.is_empty()).map(str::to_owned);
    (tools.collect(), has_comma)
}

fn at_value(source: &SourceText, field: &Field, finding: Finding) -> Diagnostic {
    let span = &field.value.span;
    if span.is_empty() {
        source.found(finding, field.span.start, field.span.end)
    } else {
        source.found(finding, span.start, span.end)
    }
}
