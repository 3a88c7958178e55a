//! References from a SKILL.md to files: those that dangle and those that lead out of the skill.

use std::collections::HashSet;

use pulldown_cmark::{Event, Parser, Tag};

use crate::skill::diagnostic::Diagnostic;
use crate::skill::document::Document;
use crate::skill::finding::Finding;
use crate::skill::folder::Folder;
use crate::skill::path::{PathError, SkillPath};
use crate::skill::section;

/// Folders whose files are meant when a path below them stands in the text as code.
const CONVENTIONAL: [&str; 3] = ["scripts/", "references/", "assets/"];
/// A text of links alone must not make a list of findings longer than itself is worth.
const MAX_FINDINGS: usize = 200;

/// Finds links, images and code spans that name a file which isn't there.
pub fn check(folder: &Folder, document: &Document, diagnostics: &mut Vec<Diagnostic>) {
    let mut seen = HashSet::new();
    let before = diagnostics.len();
    for (event, range) in Parser::new_ext(document.body(), section::options()).into_offset_iter() {
        let target = match &event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                link_target(dest_url)
            }
            Event::Code(code) => code_target(code),
            _ => None,
        };
        let Some(target) = target else { continue };
        if diagnostics.len() - before >= MAX_FINDINGS || !seen.insert(target.clone()) {
            continue;
        }
        let finding = match SkillPath::new(&target) {
            Ok(path) if path.is_root() || folder.has(&path) => continue,
            Ok(_) => Finding::ReferenceDangling { target },
            Err(PathError::Climbs) => Finding::ReferenceOutside { target },
            Err(_) => continue,
        };
        diagnostics.push(document.source.found(
            finding,
            range.start + document.body,
            range.end + document.body,
        ));
    }
}

/// The path that a link names, when it is a relative one.
fn link_target(link: &str) -> Option<String> {
    let path = link.split(['#', '?']).next().unwrap_or_default();
    let scheme = path
        .split('/')
        .next()
        .is_some_and(|head| head.contains(':'));
    // A placeholder like `{name}` or `<file>` is no reference.
    let placeholder = path.contains(['{', '}', '<', '>', '$', '*', '|']);
    if path.is_empty() || scheme || placeholder || path.starts_with('/') || path.trim() != path {
        return None;
    }
    Some(percent_decoded(path))
}

/// The path that a code span names: one below a conventional folder, with an ending.
fn code_target(code: &str) -> Option<String> {
    let path = code.strip_prefix("./").unwrap_or(code);
    let plain = path
        .chars()
        .all(|c| c.is_alphanumeric() || "._-/+@".contains(c));
    let named = path
        .rsplit('/')
        .next()
        .is_some_and(|name| name.trim_matches('.').contains('.'));
    (plain && named && CONVENTIONAL.iter().any(|folder| path.starts_with(folder)))
        .then(|| path.to_owned())
}

fn percent_decoded(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after
            .get(..2)
            .and_then(|pair| std::str::from_utf8(pair).ok());
        let decoded = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        if let Some(decoded) = decoded.filter(|_| byte == b'%') {
            bytes.push(decoded);
            rest = after.get(2..).unwrap_or_default();
        } else {
            bytes.push(byte);
            rest = after;
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{code_target, link_target};

    #[test]
    fn only_relative_paths_are_references() {
        assert_eq!(
            link_target("references/a%20b.md#top"),
            Some("references/a b.md".to_owned())
        );
        assert_eq!(
            link_target("../other/SKILL.md"),
            Some("../other/SKILL.md".to_owned())
        );
        for not in [
            "https://example.com/a",
            "mailto:a@b",
            "#top",
            "/abs",
            "<file>",
            "{x}.md",
            "data:image/png,abc",
        ] {
            assert_eq!(link_target(not), None, "{not}");
        }
        assert_eq!(
            code_target("./scripts/run.py"),
            Some("scripts/run.py".to_owned())
        );
        for not in [
            "scripts/",
            "python scripts/run.py",
            "scripts/<name>.py",
            "src/main.rs",
            "scripts/*.py",
        ] {
            assert_eq!(code_target(not), None, "{not}");
        }
    }
}
