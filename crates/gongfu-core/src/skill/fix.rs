//! Applies the edits of diagnostics that need no judgement to a file.
//!
//! Never changes a byte outside of the edits. A fix of a SKILL.md is offered only when the fixed file
//! says the same as before in every field but the one that is meant, and has no error that it had not.

use std::collections::BTreeMap;

use super::diagnostic::{Diagnostic, Edit};
use super::document::{self, Essence, Purpose};
use super::finding::Finding;
use super::severity::Severity;

/// The outcome of fixing one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixedFile {
    /// The file's new content.
    pub bytes: Vec<u8>,
    /// The number of findings that were fixed.
    pub applied: usize,
}

/// Applies the fixes of `diagnostics` that are about `file` to its `bytes`; `None` when none is.
pub fn apply(bytes: &[u8], file: &str, diagnostics: &[Diagnostic]) -> Option<FixedFile> {
    let mut accepted: Vec<&Edit> = Vec::new();
    let mut applied = 0;
    for edits in diagnostics
        .iter()
        .filter(|found| found.file.as_deref() == Some(file))
        .filter_map(Diagnostic::edits)
    {
        let sound = edits
            .iter()
            .all(|edit| edit.start <= edit.end && edit.end <= bytes.len());
        let clashes = edits
            .iter()
            .any(|edit| accepted.iter().any(|known| overlap(edit, known)));
        if sound && !clashes {
            accepted.extend(edits);
            applied += 1;
        }
    }
    if applied == 0 {
        return None;
    }
    accepted.sort();
    let mut fixed = Vec::with_capacity(bytes.len() + 64);
    let mut done = 0;
    for edit in accepted {
        fixed.extend_from_slice(bytes.get(done..edit.start).unwrap_or_default());
        fixed.extend_from_slice(edit.replacement.as_bytes());
        done = edit.end.max(done);
    }
    fixed.extend_from_slice(bytes.get(done..).unwrap_or_default());
    Some(FixedFile {
        bytes: fixed,
        applied,
    })
}

/// Takes the fixes away from diagnostics of a SKILL.md that would do more than they are meant to.
pub(super) fn keep_sound(
    bytes: &[u8],
    folder: &str,
    before: &Essence,
    diagnostics: &mut [Diagnostic],
) {
    let offered: Vec<usize> = (0..diagnostics.len())
        .filter(|&at| {
            diagnostics
                .get(at)
                .is_some_and(|found| found.edits().is_some())
        })
        .collect();
    if offered.is_empty() {
        return;
    }
    let errors = errors_of(diagnostics);
    let is_sound = |chosen: &[Diagnostic]| {
        let purpose = purpose(chosen, folder);
        let fixed = apply(bytes, super::SKILL_FILE, chosen);
        fixed.is_some_and(|fixed| {
            let (after, found) = document::essence(&fixed.bytes, folder);
            after.is_some_and(|after| before.is_kept_by(&after, &purpose))
                && errors_of(&found)
                    .iter()
                    .all(|(code, count)| errors.get(code).is_some_and(|known| count <= known))
        })
    };
    if is_sound(diagnostics) {
        return;
    }
    for at in offered {
        let Some(found) = diagnostics.get_mut(at) else {
            continue;
        };
        if !is_sound(std::slice::from_ref(found)) {
            found.fix = None;
        }
    }
}

fn purpose<'a>(chosen: &[Diagnostic], folder: &'a str) -> Purpose<'a> {
    let fixes = |is_meant: fn(&Finding) -> bool| {
        let mut fixed = chosen.iter().filter(|found| found.fixable());
        fixed.any(|found| is_meant(&found.finding))
    };
    let description = fixes(|finding| *finding == Finding::FrontmatterMissing);
    let name = description || fixes(writes_name);
    Purpose {
        name: name.then_some(folder),
        description,
        tools: fixes(|finding| *finding == Finding::AllowedToolsShape),
    }
}

/// Returns true for a finding whose fix writes the name of the folder.
pub fn writes_name(finding: &Finding) -> bool {
    matches!(
        finding,
        Finding::NameMissing { .. } | Finding::NameDiffersFromFolder { .. }
    )
}

/// Counts each error.
fn errors_of(diagnostics: &[Diagnostic]) -> BTreeMap<&'static str, usize> {
    let mut count = BTreeMap::new();
    for found in diagnostics
        .iter()
        .filter(|found| found.severity() == Severity::Error)
    {
        *count.entry(found.finding.code()).or_insert(0) += 1;
    }
    count
}

/// Two insertions at one place clash as well: which comes first would be a judgement.
fn overlap(left: &Edit, right: &Edit) -> bool {
    left.start == right.start || (left.start < right.end && right.start < left.end)
}

#[cfg(test)]
mod tests {
    use super::apply;
    use crate::skill::loader::load;

    /// Fixes until nothing changes, as the command does.
    fn fix(text: &str, folder: &str) -> String {
        let mut bytes = text.as_bytes().to_vec();
        for _ in 0..4 {
            let mut diagnostics = Vec::new();
            load(&bytes, folder, &mut diagnostics);
            match apply(&bytes, "SKILL.md", &diagnostics) {
                Some(fixed) => bytes = fixed.bytes,
                None => break,
            }
        }
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn fix_changes_only_its_span() {
        for (given, wanted) in [
            (
                "\u{feff}---\nname: a\ndescription: d\n---\nb\n",
                "---\nname: a\ndescription: d\n---\nb\n",
            ),
            (
                "\n \n---\nname: a\ndescription: d\n---\nb\n",
                "---\nname: a\ndescription: d\n---\nb\n",
            ),
            (
                "---\r\nname: a\r\ndescription: Use: this \"now\"\r\n---\r\nb\t \r\n",
                "---\r\nname: a\r\ndescription: \"Use: this \\\"now\\\"\"\r\n---\r\nb\t \r\n",
            ),
            (
                "---\ndescription: d # c\nlicense:   MIT\n---\nb",
                "---\nname: a\ndescription: d # c\nlicense:   MIT\n---\nb",
            ),
            (
                "---\nname: A\ndescription: d\n---\nb\n",
                "---\nname: a\ndescription: d\n---\nb\n",
            ),
            (
                "---\nname: \"Other Name\" # mine\ndescription: d\n---\nb\n",
                "---\nname: a # mine\ndescription: d\n---\nb\n",
            ),
            (
                "---\nname:\ndescription: d\n---\nb\n",
                "---\nname: a\ndescription: d\n---\nb\n",
            ),
            (
                "\u{feff}# Title\r\n\r\nReads: \"PDF\" files.\r\n",
                "---\r\nname: a\r\ndescription: \"Reads: \\\"PDF\\\" files.\"\r\n---\r\n\r\n# Title\r\n\r\nReads: \"PDF\" files.\r\n",
            ),
            (
                "---\n\n# T\n\nReads files.\n",
                "---\nname: a\ndescription: Reads files.\n---\n\n---\n\n# T\n\nReads files.\n",
            ),
            (
                "name: a\ndescription: Use: this\n---\nb\n",
                "---\nname: a\ndescription: \"Use: this\"\n---\nb\n",
            ),
            (
                "---\nname: a\ndescription: d\n\n# T\nText\n",
                "---\nname: a\ndescription: d\n---\n\n# T\nText\n",
            ),
            (
                "---\nname: a\n\ndescription: d\n\nProse: more of it.\n",
                "---\nname: a\n\ndescription: d\n---\n\nProse: more of it.\n",
            ),
            (
                "---\nname: a\ndescription: d\n—\nText\n",
                "---\nname: a\ndescription: d\n---\nText\n",
            ),
            (
                "---\nname: a\ndescription: d\n\n# T\nSome text: with: colons\n\n---\nb\n",
                "---\nname: a\ndescription: d\n---\n\n# T\nSome text: with: colons\n\n---\nb\n",
            ),
            (
                "---\nname: a\ndescription: d",
                "---\nname: a\ndescription: d\n---\n",
            ),
            (
                "---\nname: a\ndescription: d\nallowed-tools: Read, Bash(git:*,ls), Write\n---\nb\n",
                "---\nname: a\ndescription: d\nallowed-tools: Read Bash(git:*,ls) Write\n---\nb\n",
            ),
            (
                "---\nallowed-tools:\n  - Read\n  - \"Bash(git:*)\"\nname: a\ndescription: d\n---\nb\n",
                "---\nallowed-tools: Read Bash(git:*)\nname: a\ndescription: d\n---\nb\n",
            ),
            (
                "---\nname: a\ndescription: d\nallowed-tools: [Read, 'Grep', ]\n---\nb\n",
                "---\nname: a\ndescription: d\nallowed-tools: Read Grep\n---\nb\n",
            ),
        ] {
            let fixed = fix(given, "a");
            assert_eq!(fixed, wanted, "{given:?}");
            assert_eq!(fix(&fixed, "a"), wanted, "it stays fixed");
            let mut left = Vec::new();
            load(fixed.as_bytes(), "a", &mut left);
            let errors: Vec<_> = left
                .iter()
                .filter(|found| found.severity() == crate::skill::Severity::Error)
                .collect();
            assert!(errors.is_empty(), "{given:?}: {errors:?}");
        }
    }

    #[test]
    fn unsound_fix_is_not_offered() {
        for text in [
            "---\n  description: d\n---\nb",
            "---\n{description: d}\n---\nb",
            "---\ndescription:yes\n---\nb",
            "---\nname: &n A\nmetadata:\n  t: *n\n---\nb",
            "---\nname: a\ndescription: This is long\nand continues here\n\n# T\n",
            "Name: x\n---\ntext\n",
            "name: no field\nbut prose\n---\ntext\n",
            "---\nname: a\ndescription: d\nallowed-tools: [Bash(git add:*), Read]\n---\nb\n",
            "---\nname: a\ndescription: d\nallowed-tools: # all\n  - Read\n---\nb\n",
            "---\nname: a\ndescription: d\nallowed-tools: [Read, 1]\n---\nb\n",
            "---\nname: &n b\ndescription: *n\n---\nb\n",
        ] {
            let fixed = fix(text, "a");
            let is_kept = fixed == text || fixed.starts_with("---\nname: a\ndescription: ");
            assert!(is_kept, "{text:?} {fixed:?}");
        }
        for folder in ["A b", "yes", "2nd", "a--b"] {
            let text = "---\nname: good\ndescription: d\n---\nb\n";
            assert_eq!(fix(text, folder), text, "{folder}");
        }
    }

    #[test]
    fn fixed_value_reads_as_before() {
        for value in [
            "a: b",
            "x: y: z",
            "@home",
            "`code` first",
            "50%: half",
            "\"quoted\" then: more",
            "[draft] title: x",
            "- a: b: c",
            "* star",
            "& and",
            "! bang",
            "a #b: c: d",
            "back\\slash: x",
        ] {
            let text = format!("---\nname: a\ndescription: {value}\n---\nbody\n");
            let mut diagnostics = Vec::new();
            let Some(document) = load(text.as_bytes(), "a", &mut diagnostics) else {
                panic!("{value} is text")
            };
            let mut again = Vec::new();
            let fixed = fix(&text, "a");
            let Some(after) = load(fixed.as_bytes(), "a", &mut again) else {
                panic!("{fixed} is text")
            };
            assert_eq!(after.description, document.description, "{value}");
            assert!(
                again
                    .iter()
                    .all(|found| found.finding.code() != "yaml-unquoted"),
                "{fixed}"
            );
        }
    }
}
