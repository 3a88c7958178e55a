//! Mending what needs no judgement: applying the edits of diagnostics to a file.
//!
//! Never changes a byte outside of the edits; edits that overlap are left for the next round.

use super::diagnostic::{Diagnostic, Edit};

/// The outcome of mending one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mended {
    /// The file's new content.
    pub bytes: Vec<u8>,
    /// How many diagnostics were mended.
    pub applied: usize,
}

/// Applies the fixes of `diagnostics` that are about `file` to its `bytes`; `None` when none is.
pub fn apply(bytes: &[u8], file: &str, diagnostics: &[Diagnostic]) -> Option<Mended> {
    let mut accepted: Vec<&Edit> = Vec::new();
    let mut applied = 0;
    for fix in diagnostics
        .iter()
        .filter(|found| found.file.as_deref() == Some(file))
        .filter_map(|found| found.fix.as_ref())
    {
        let sound = fix
            .edits
            .iter()
            .all(|edit| edit.start <= edit.end && edit.end <= bytes.len());
        let clashes = fix
            .edits
            .iter()
            .any(|edit| accepted.iter().any(|known| overlap(edit, known)));
        if sound && !clashes {
            accepted.extend(&fix.edits);
            applied += 1;
        }
    }
    if applied == 0 {
        return None;
    }
    accepted.sort();
    let mut mended = Vec::with_capacity(bytes.len() + 64);
    let mut done = 0;
    for edit in accepted {
        mended.extend_from_slice(bytes.get(done..edit.start).unwrap_or_default());
        mended.extend_from_slice(edit.replacement.as_bytes());
        done = edit.end.max(done);
    }
    mended.extend_from_slice(bytes.get(done..).unwrap_or_default());
    Some(Mended {
        bytes: mended,
        applied,
    })
}

/// Two insertions at one place clash as well: which comes first would be a judgement.
fn overlap(left: &Edit, right: &Edit) -> bool {
    left.start == right.start || (left.start < right.end && right.start < left.end)
}

#[cfg(test)]
mod tests {
    use super::apply;
    use crate::skill::document::load;

    /// Mends until nothing changes, as the command does.
    fn mend(text: &str, folder: &str) -> String {
        let mut bytes = text.as_bytes().to_vec();
        for _ in 0..4 {
            let mut diagnostics = Vec::new();
            load(&bytes, folder, &mut diagnostics);
            match apply(&bytes, "SKILL.md", &diagnostics) {
                Some(mended) => bytes = mended.bytes,
                None => break,
            }
        }
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn only_what_is_meant_changes() {
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
                "---\nname: b\ndescription: d\n---\nb\n",
                "---\nname: b\ndescription: d\n---\nb\n",
            ),
        ] {
            assert_eq!(mend(given, "a"), wanted, "{given:?}");
        }
    }

    #[test]
    fn a_mended_value_reads_as_it_was_meant() {
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
            let mended = mend(&text, "a");
            let Some(after) = load(mended.as_bytes(), "a", &mut again) else {
                panic!("{mended} is text")
            };
            assert_eq!(after.description, document.description, "{value}");
            assert!(
                again
                    .iter()
                    .all(|found| found.finding.code() != "yaml-unquoted"),
                "{mended}"
            );
        }
    }
}
