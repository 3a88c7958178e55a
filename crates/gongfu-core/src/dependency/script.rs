//! What a script of Python says of itself in its header (PEP 723, "inline script metadata").

use std::collections::BTreeSet;

use super::{Language, Manifest, Requirements, Texts, Unfit, Wanted, project};
use crate::skill::SkillPath;

/// What its first line is.
const BEGINS: &str = "# /// script";
const ENDS: &str = "# ///";
/// How much of a script is looked at, in bytes: a header stands at its top.
const LOOKED: usize = 256 * 1024;

/// What the headers of these scripts say together; `None` where none has one.
///
/// # Errors
/// One is damaged, or names something else than packages of an index.
pub(super) fn read(texts: &Texts, scripts: &[SkillPath]) -> Result<Option<Manifest>, Unfit> {
    let mut files = Vec::new();
    let mut all = Requirements::default();
    let mut passed_over = Vec::new();
    let mut pythons: Vec<String> = Vec::new();
    let mut seen = BTreeSet::new();
    for file in scripts {
        let Some(text) = texts.get(file) else {
            continue;
        };
        let Some((line, header)) = header(file, text)? else {
            continue;
        };
        let table = project::table(file, &header, line)?;
        let wanted = project::wanted(file, &table, line)?;
        if table
            .get("tool")
            .is_some_and(|tool| tool.get("uv").is_some())
        {
            passed_over.push(format!("{file}:{line}: `[tool.uv]`: where packages come from, and how, is for whoever runs gongfu to say"));
        }
        let new = wanted
            .lines
            .into_iter()
            .filter(|line| seen.insert(line.clone()));
        all.lines.extend(new);
        pythons.extend(wanted.python.filter(|python| !pythons.contains(python)));
        files.push(file.clone());
    }
    if files.is_empty() {
        return Ok(None);
    }
    all.python = (!pythons.is_empty()).then(|| pythons.join(","));
    Ok(Some(Manifest {
        language: Language::Python,
        files,
        wanted: Wanted::Requirements(all),
        passed_over,
    }))
}

/// The header without its `#`, and the number of the line that it begins with.
///
/// # Errors
/// There are two, which means that none holds.
fn header(file: &SkillPath, text: &str) -> Result<Option<(usize, String)>, Unfit> {
    let end = (0..=LOOKED.min(text.len()))
        .rev()
        .find(|at| text.is_char_boundary(*at));
    let text = text.get(..end.unwrap_or_default()).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let begins = lines.iter().enumerate();
    let begins = begins.filter(|(_, line)| line.trim_end_matches('\r') == BEGINS);
    let mut found: Option<(usize, String)> = None;
    let mut next = 0;
    for (index, _) in begins {
        if index < next {
            continue;
        }
        let inside = lines.get(index + 1..).unwrap_or_default();
        let is_inside = |line: &&&str| line.starts_with("# ") || **line == "#";
        let length = inside.iter().take_while(is_inside).count();
        let inside = inside.get(..length).unwrap_or_default();
        // The last one that ends it: what is between may look like an end.
        next = index + 1 + length;
        let Some(end) = inside.iter().rposition(|line| *line == ENDS) else {
            continue;
        };
        let body = inside.get(..end).unwrap_or_default().iter();
        let body: Vec<&str> = body
            .map(|line| line.strip_prefix("# ").unwrap_or_default())
            .collect();
        if found.is_some() {
            let why = "it has two headers `# /// script`; write one (PEP 723)";
            return Err(Unfit::new(file, Some(index + 1), why));
        }
        found = Some((index + 1, body.join("\n")));
    }
    Ok(found)
}
