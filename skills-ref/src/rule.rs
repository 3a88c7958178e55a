//! The rules for the fields of a frontmatter, in the order in which the reference reports them.

use unicode_normalization::UnicodeNormalization;

use crate::python;
use crate::reason::Reason;
use crate::token::Text;
use crate::tree::{Field, readable};

const MAX_NAME: usize = 64;
const MAX_DESCRIPTION: usize = 1024;
const MAX_COMPATIBILITY: usize = 500;

/// The fields that the specification names.
const SPECIFIED: [&str; 6] = [
    "name",
    "description",
    "license",
    "allowed-tools",
    "metadata",
    "compatibility",
];

/// A reason, and the index of the character where it can be seen, if there is one.
pub(crate) type Finding = (Reason, Option<usize>);

/// Everything that is wrong with the fields of a skill in a folder with the name `folder`.
pub(crate) fn check(fields: &[Field], folder: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    check_names(fields, &mut findings);
    match find(fields, "name") {
        None => findings.push((Reason::MissingName, None)),
        Some(field) => findings.extend(
            name_reasons(field.text.as_ref(), folder)
                .into_iter()
                .map(|reason| (reason, Some(field.value_index))),
        ),
    }
    match find(fields, "description") {
        None => findings.push((Reason::MissingDescription, None)),
        Some(field) => findings.extend(
            description_reason(field.text.as_ref()).map(|reason| (reason, Some(field.value_index))),
        ),
    }
    if let Some(field) = find(fields, "compatibility") {
        findings.extend(
            compatibility_reason(field.text.as_ref())
                .map(|reason| (reason, Some(field.value_index))),
        );
    }
    findings
}

fn find<'fields>(fields: &'fields [Field], name: &str) -> Option<&'fields Field> {
    fields.iter().find(|field| is_named(field, name))
}

fn is_named(field: &Field, name: &str) -> bool {
    field.name.iter().copied().eq(name.chars().map(u32::from))
}

fn check_names(fields: &[Field], findings: &mut Vec<Finding>) {
    let mut unexpected: Vec<&Field> = fields
        .iter()
        .filter(|field| !SPECIFIED.iter().any(|name| is_named(field, name)))
        .collect();
    let Some(first) = unexpected.first() else {
        return;
    };
    let place = first.name_index;
    unexpected.sort_by(|one, other| one.name.cmp(&other.name));
    let fields = unexpected
        .into_iter()
        .map(|field| readable(&field.name))
        .collect();
    findings.push((Reason::UnexpectedFields { fields }, Some(place)));
}

fn name_reasons(text: Option<&Text>, folder: &str) -> Vec<Reason> {
    let Some(text) = text else {
        return vec![Reason::NameNotAString];
    };
    let stripped = python::strip(text);
    if stripped.is_empty() {
        return vec![Reason::NameEmpty];
    }
    let name: String = readable(stripped).nfkc().collect();
    let mut reasons = Vec::new();
    let length = name.chars().count();
    if length > MAX_NAME {
        reasons.push(Reason::NameTooLong { length });
    }
    if name != name.to_lowercase() {
        reasons.push(Reason::NameNotLowercase { name: name.clone() });
    }
    if name.starts_with('-') || name.ends_with('-') {
        reasons.push(Reason::NameHyphenEdge);
    }
    if name.contains("--") {
        reasons.push(Reason::NameDoubleHyphen);
    }
    let is_valid = |character| character == '-' || python::is_alphanumeric(character);
    if !name.chars().all(is_valid) {
        reasons.push(Reason::NameInvalidCharacters { name: name.clone() });
    }
    if folder.nfkc().ne(name.chars()) {
        let folder = folder.to_owned();
        reasons.push(Reason::NameMismatch { name, folder });
    }
    reasons
}

fn description_reason(text: Option<&Text>) -> Option<Reason> {
    let Some(text) = text else {
        return Some(Reason::DescriptionNotAString);
    };
    if python::strip(text).is_empty() {
        return Some(Reason::DescriptionEmpty);
    }
    let length = text.len();
    (length > MAX_DESCRIPTION).then_some(Reason::DescriptionTooLong { length })
}

fn compatibility_reason(text: Option<&Text>) -> Option<Reason> {
    let Some(text) = text else {
        return Some(Reason::CompatibilityNotAString);
    };
    let length = text.len();
    (length > MAX_COMPATIBILITY).then_some(Reason::CompatibilityTooLong { length })
}
