//! The rules for the fields of a frontmatter, in the order in which the reference reports them.

use unicode_normalization::UnicodeNormalization;

use super::python;
use super::reason::Reason;
use super::token::Text;
use super::tree::{Field, readable};

const LONGEST_NAME: usize = 64;
const LONGEST_DESCRIPTION: usize = 1024;
const LONGEST_COMPATIBILITY: usize = 500;

/// The fields that the specification names.
const KNOWN: [&str; 6] = [
    "name",
    "description",
    "license",
    "allowed-tools",
    "metadata",
    "compatibility",
];

/// A reason, and the index of the character where it can be seen, if there is one.
pub(super) type Finding = (Reason, Option<usize>);

/// Everything that is wrong with the fields of a skill in a folder with the name `folder`.
pub(super) fn check(fields: &[Field], folder: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    check_known(fields, &mut findings);
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

fn check_known(fields: &[Field], findings: &mut Vec<Finding>) {
    let mut unexpected: Vec<&Field> = fields
        .iter()
        .filter(|field| !KNOWN.iter().any(|known| is_named(field, known)))
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
    if length > LONGEST_NAME {
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
    (length > LONGEST_DESCRIPTION).then_some(Reason::DescriptionTooLong { length })
}

fn compatibility_reason(text: Option<&Text>) -> Option<Reason> {
    let Some(text) = text else {
        return Some(Reason::CompatibilityNotAString);
    };
    let length = text.len();
    (length > LONGEST_COMPATIBILITY).then_some(Reason::CompatibilityTooLong { length })
}
