//! The codes of the reference validator, `skills-ref`: why it refuses a skill.

use super::Explanation;
use crate::skill::Severity;

pub(super) fn explanations() -> impl Iterator<Item = Explanation> {
    ROWS.iter().map(|&(code, meaning, example)| Explanation {
        code,
        severity: Severity::Error,
        meaning,
        example,
        fix: if code.starts_with("strict-yaml-") || code.starts_with("strict-crash-") {
            "Write plain block style: each key once, values in double quotes where they have special characters."
        } else {
            "Change the file to what the format allows. Without --strict, gongfu explains the same fault with a place and a fix."
        },
    })
}

/// Code, meaning and example.
const ROWS: &[(&str, &str, &str)] = &[
    (
        "strict-missing-frontmatter",
        "The file doesn't begin with `---`.",
        "a SKILL.md with a byte order mark",
    ),
    (
        "strict-unclosed-frontmatter",
        "There is no second `---` in the file.",
        "---\\nname: pdf-tools",
    ),
    (
        "strict-not-utf8",
        "The file isn't UTF-8.",
        "a SKILL.md in UTF-16",
    ),
    (
        "strict-not-a-mapping",
        "The frontmatter is empty, a single value or a list.",
        "- name",
    ),
    (
        "strict-unexpected-fields",
        "The frontmatter has fields that the format doesn't have.",
        "category: office",
    ),
    (
        "strict-missing-name",
        "There is no field `name`.",
        "description: Reads PDF files.",
    ),
    (
        "strict-name-not-a-string",
        "The field `name` is a mapping, a list, `=` or `<<`.",
        "name: {a: b}",
    ),
    ("strict-name-empty", "The field `name` is empty.", "name:"),
    (
        "strict-name-too-long",
        "The name is longer than 64 characters.",
        "a name that is a sentence",
    ),
    (
        "strict-name-not-lowercase",
        "The name has upper-case letters.",
        "name: PDF",
    ),
    (
        "strict-name-hyphen-edge",
        "The name starts or ends with a hyphen.",
        "name: -pdf",
    ),
    (
        "strict-name-double-hyphen",
        "The name has two hyphens in a row.",
        "name: pdf--tools",
    ),
    (
        "strict-name-invalid-characters",
        "The name has something other than letters, digits and hyphens.",
        "name: pdf_tools",
    ),
    (
        "strict-name-mismatch",
        "The name isn't that of the folder.",
        "name: pdf in the folder pdf-tools",
    ),
    (
        "strict-missing-description",
        "There is no field `description`.",
        "name: pdf-tools",
    ),
    (
        "strict-description-not-a-string",
        "The field `description` is a mapping, a list, `=` or `<<`.",
        "description: [Reads, PDF]",
    ),
    (
        "strict-description-empty",
        "The field `description` is empty.",
        "description:",
    ),
    (
        "strict-description-too-long",
        "The description is longer than 1,024 characters.",
        "a description with the whole manual",
    ),
    (
        "strict-compatibility-not-a-string",
        "The field `compatibility` is a mapping, a list, `=` or `<<`.",
        "compatibility: [linux]",
    ),
    (
        "strict-compatibility-too-long",
        "The field `compatibility` is longer than 500 characters.",
        "a list of every supported system",
    ),
    (
        "strict-yaml-flow-style",
        "The reference doesn't read flow style, `[…]` or `{…}`.",
        "allowed-tools: [Read]",
    ),
    (
        "strict-yaml-anchor",
        "The reference doesn't read anchors.",
        "name: &n pdf-tools",
    ),
    (
        "strict-yaml-alias",
        "The reference doesn't read aliases.",
        "description: *n",
    ),
    (
        "strict-yaml-tag",
        "The reference doesn't read tags.",
        "name: !!str pdf-tools",
    ),
    (
        "strict-yaml-directive",
        "The frontmatter has a YAML directive.",
        "%YAML 1.2",
    ),
    (
        "strict-yaml-duplicate-key",
        "A key occurs twice in one mapping.",
        "name: a, and name: b",
    ),
    (
        "strict-yaml-mapping-key",
        "A mapping is the key of a mapping.",
        "? {a: b} : c",
    ),
    (
        "strict-yaml-uneven-indentation",
        "Mappings in one mapping are indented differently.",
        "metadata with lines indented by 2 and by 3 spaces",
    ),
    (
        "strict-yaml-merge-value",
        "The merge key `<<` has a value that is neither a mapping nor a list of them.",
        "<<: text",
    ),
    (
        "strict-yaml-unexpected-character",
        "A value starts with a character that can't start one: a tab, `@`, a grave accent.",
        "description: @home",
    ),
    (
        "strict-yaml-missing-colon",
        "A line has a key without a colon.",
        "name pdf-tools",
    ),
    (
        "strict-yaml-value-not-allowed",
        "An unquoted value contains a colon followed by a space.",
        "description: Use when: now",
    ),
    (
        "strict-yaml-entry-not-allowed",
        "A list starts where none can.",
        "name: - a",
    ),
    (
        "strict-yaml-key-not-allowed",
        "A mapping starts where none can.",
        "name: ? a",
    ),
    (
        "strict-yaml-unclosed-quote",
        "A quoted value is never closed.",
        "description: \"Reads",
    ),
    (
        "strict-yaml-document-end-in-quotes",
        "A quoted value has a line with `...`.",
        "a quoted value of several lines, one of them ...",
    ),
    (
        "strict-yaml-unknown-escape",
        "A double-quoted value has an unknown escape.",
        "description: \"a\\q\"",
    ),
    (
        "strict-yaml-short-escape",
        "A numeric escape has too few digits.",
        "description: \"\\x4\"",
    ),
    (
        "strict-yaml-block-scalar-header",
        "Something unknown comes after `|` or `>`.",
        "description: >x",
    ),
    (
        "strict-yaml-second-document",
        "The frontmatter continues after a line with `...`.",
        "name: a, then ..., then description: b",
    ),
    (
        "strict-yaml-structure",
        "Values or keys are indented where nothing can be.",
        "a value two levels too deep",
    ),
    (
        "strict-crash-forbidden-character",
        "The reference stops at a character that YAML forbids.",
        "a control character in the description",
    ),
    (
        "strict-crash-too-deep",
        "The reference stops because the nesting is too deep.",
        "metadata with 1,000 levels",
    ),
    (
        "strict-crash-comment-overlap",
        "The reference stops at comments that it can't tell apart.",
        "two comments between nested keys",
    ),
    (
        "strict-crash-sequence-key",
        "The reference stops at a list as the key of a mapping.",
        "? - a",
    ),
    (
        "strict-crash-repeated-merge",
        "The reference stops at a second merge key in one mapping.",
        "<<: {}, twice",
    ),
    (
        "strict-crash-escape-out-of-range",
        "The reference stops at an escape that is not a character.",
        "description: \"\\UFFFFFFFF\"",
    ),
];
