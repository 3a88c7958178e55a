//! The rules of the format for the fields of the frontmatter.

use super::diagnostic::{Diagnostic, Edit};
use super::finding::Finding;
use super::frontmatter::{Field, Frontmatter};
use super::name::{self, SkillName};
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
        let found = source.found(missing, frontmatter.span.start, frontmatter.span.start);
        // The folder's name stands in already; where it is a good name, writing it down is no judgement.
        let clean = frontmatter.present && name::faults(folder).is_empty();
        let before = source
            .text
            .get(..frontmatter.span.start)
            .unwrap_or_default();
        let newline = if before.ends_with("\r\n") {
            "\r\n"
        } else {
            "\n"
        };
        let edit = source.edit(
            frontmatter.span.start,
            frontmatter.span.start,
            format!("name: {folder}{newline}"),
        );
        diagnostics.push(match edit.filter(|_| clean && needs_no_quotes(folder)) {
            Some(edit) => found.with_fix(vec![edit]),
            None => found,
        });
        return stand_in;
    };
    let Some(text) = field.value.as_text() else {
        diagnostics.push(at_value(source, field, Finding::NameNotText));
        return stand_in;
    };
    if text.trim().is_empty() || field.value.is_null() {
        diagnostics.push(at_value(source, field, missing));
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

/// Only where name and folder differ in nothing but case, blanks and underscores, and the folder's
/// is a good name, is it plain which of them is meant.
fn differing(source: &SourceText, field: &Field, declared: &str, folder: &str) -> Diagnostic {
    let found = at_value(
        source,
        field,
        Finding::NameDiffersFromFolder {
            name: declared.to_owned(),
            folder: folder.to_owned(),
        },
    );
    let plain = near::folded(declared) == near::folded(folder)
        && name::faults(folder).is_empty()
        && needs_no_quotes(folder);
    let edit: Option<Edit> = source.edit(field.value.span.start, field.value.span.end, folder);
    match edit.filter(|_| {
        plain
            && source
                .text
                .get(field.value.span.clone())
                .is_some_and(|written| !written.contains('\n'))
    }) {
        Some(edit) => found.with_fix(vec![edit]),
        None => found,
    }
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
    // A comma inside of `Bash(git:*, ls)` belongs to the tool; one between tools doesn't.
    let commas = |text: &str| {
        let mut depth = 0_usize;
        text.chars().any(|c| {
            match c {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            c == ',' && depth == 0
        })
    };
    if field.value.as_text().is_none_or(commas) {
        diagnostics.push(at_value(source, field, Finding::AllowedToolsShape));
    }
}

fn at_value(source: &SourceText, field: &Field, finding: Finding) -> Diagnostic {
    let span = &field.value.span;
    if span.is_empty() {
        source.found(finding, field.span.start, field.span.end)
    } else {
        source.found(finding, span.start, span.end)
    }
}
