//! A SKILL.md: what is loaded points into the file, and fixing it changes what it says it changes
//! and nothing else.

use gongfu_core::skill::diagnostic::Edit;
use gongfu_core::skill::{Diagnostic, Document, SKILL_FILE, document, fix, load, strict};
use gongfu_core::text;

use super::{Verdict, ensure};

/// The rounds of fixes after which nothing fixable may be left.
const ROUNDS: usize = 8;
/// So many fixes are also applied alone.
const ALONE: usize = 6;
/// Names of folders: a good one, one that YAML reads as something else, and odd ones.
const FOLDERS: [&str; 6] = ["skill-name", "true", "My Skill", "..", "技能", "a\\b:\n"];

/// Checks one file.
pub(super) fn check(bytes: &[u8]) -> Verdict {
    let folder = FOLDERS
        .get(bytes.len() % FOLDERS.len())
        .copied()
        .unwrap_or_default();
    let _ = strict::validate(bytes, folder);
    let mut diagnostics = Vec::new();
    let document = load(bytes, folder, &mut diagnostics);
    places(bytes, &diagnostics)?;
    let body = document::body(bytes);
    let whole_body = document.as_ref().map(Document::body);
    ensure(body.as_deref() == whole_body, || {
        format!("read alone, the body is {body:?}")
    })?;
    let Some(document) = document else {
        return ensure(!diagnostics.is_empty(), || {
            "refused without a reason".to_owned()
        });
    };
    whole(&document)?;
    alone(bytes, folder, &diagnostics)?;
    fixed(bytes, folder, &document, diagnostics)
}

/// Every finding has words and points into the file.
fn places(bytes: &[u8], diagnostics: &[Diagnostic]) -> Verdict {
    for found in diagnostics {
        let code = found.finding.code();
        if let Some(span) = &found.span {
            ensure(span.start <= span.end && span.end <= bytes.len(), || {
                format!("{code} is about bytes {span:?} of {}", bytes.len())
            })?;
        }
        if let Some(position) = found.position {
            ensure(position.line > 0 && position.column > 0, || {
                format!("{code} is at {position:?}")
            })?;
        }
        ensure(!text::finding(&found.finding).message.is_empty(), || {
            format!("{code} has no words")
        })?;
        for edit in found.edits().unwrap_or_default() {
            ensure(edit.start <= edit.end && edit.end <= bytes.len(), || {
                format!("{code} would edit {edit:?} of {} bytes", bytes.len())
            })?;
        }
    }
    Ok(())
}

/// The parts of a document fit together.
fn whole(document: &Document) -> Verdict {
    let text = &document.source.text;
    ensure(text.is_char_boundary(document.body), || {
        format!("the body starts at {} of {}", document.body, text.len())
    })?;
    let json = serde_json::Value::Object(document.frontmatter.clone()).to_string();
    let again: Result<serde_json::Value, _> = serde_json::from_str(&json);
    ensure(again.is_ok(), || "the frontmatter is no JSON".to_owned())
}

/// A fix that is applied alone makes its own edits, changes no other byte, and fixes something.
fn alone(bytes: &[u8], folder: &str, diagnostics: &[Diagnostic]) -> Verdict {
    let fixable = diagnostics.iter().filter(|found| found.fix.is_some());
    for found in fixable.take(ALONE) {
        let Some(edits) = found.edits() else {
            continue;
        };
        let code = found.finding.code();
        let fixed = fix::apply(bytes, SKILL_FILE, std::slice::from_ref(found));
        let Some(fixed) = fixed else {
            return Err(format!("{code} has a fix that can't be applied alone"));
        };
        ensure(fixed.bytes == edited(bytes, edits.to_vec()), || {
            format!("the fix of {code} changes other bytes than it says")
        })?;
        let mut after = Vec::new();
        load(&fixed.bytes, folder, &mut after);
        let like_it = |all: &[Diagnostic]| {
            let same = all.iter().filter(|other| other.finding.code() == code);
            same.count()
        };
        // One of several fixes may only uncover the next; together they must fix everything.
        let before = like_it(diagnostics);
        let several = usize::from(before > 1);
        ensure(like_it(&after) < before + several, || {
            format!("the fix of {code} does not fix it")
        })?;
    }
    Ok(())
}

/// The bytes with these edits made, the last one first.
fn edited(bytes: &[u8], mut edits: Vec<Edit>) -> Vec<u8> {
    edits.sort();
    let mut all = bytes.to_vec();
    for edit in edits.into_iter().rev() {
        all.splice(edit.start..edit.end, edit.replacement.into_bytes());
    }
    all
}

/// Mending comes to an end, keeps the skill loadable, and keeps what it is for.
fn fixed(bytes: &[u8], folder: &str, before: &Document, first: Vec<Diagnostic>) -> Verdict {
    let mut bytes = bytes.to_vec();
    let mut diagnostics = first;
    for round in 1..=ROUNDS + 1 {
        let Some(fixed) = fix::apply(&bytes, SKILL_FILE, &diagnostics) else {
            return Ok(());
        };
        let codes = || -> Vec<&str> {
            let fixable = diagnostics.iter().filter(|found| found.fix.is_some());
            fixable.map(|found| found.finding.code()).collect()
        };
        ensure(round <= ROUNDS, || {
            format!(
                "there is something to fix after {ROUNDS} rounds: {:?}",
                codes()
            )
        })?;
        outside(&bytes, &fixed.bytes, &diagnostics)?;
        let mut next = Vec::new();
        let Some(after) = load(&fixed.bytes, folder, &mut next) else {
            return Err(format!("after fixing {:?} it can't be loaded", codes()));
        };
        places(&fixed.bytes, &next)?;
        // A stand-in for a missing one may change with the text that it is taken from.
        let is_same = after.description == before.description
            || !before.frontmatter.contains_key("description");
        ensure(is_same, || {
            format!(
                "fixing {:?} changed the description from {:?} to {:?}",
                codes(),
                before.description,
                after.description
            )
        })?;
        diagnostics = next;
        bytes = fixed.bytes;
    }
    Ok(())
}

/// Checks that the text before the first edit and after the last one is unchanged.
fn outside(old: &[u8], new: &[u8], diagnostics: &[Diagnostic]) -> Verdict {
    let edits = diagnostics.iter().filter_map(Diagnostic::edits).flatten();
    let first = edits.clone().map(|edit| edit.start).min().unwrap_or(0);
    let last = edits.map(|edit| edit.end).max().unwrap_or(old.len());
    let tail = old.get(last..).unwrap_or_default();
    ensure(
        old.get(..first) == new.get(..first) && new.ends_with(tail),
        || format!("bytes outside of {first}..{last} changed"),
    )
}
