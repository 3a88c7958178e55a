//! The header of a Python script that declares its packages (PEP 723, "inline script metadata").

use std::collections::BTreeSet;

use super::{
    Language, LeftOut, Manifest, ManifestError, PackageSpec, Requirements, Texts, pyproject,
};
use crate::skill::SkillPath;

const FIRST_LINE: &str = "# /// script";
const LAST_LINE: &str = "# ///";
/// The part of a script that is read, in bytes: a header stands at its top.
const MAX_READ: usize = 256 * 1024;

/// The packages that the headers of these scripts declare together; `None` if none has a header.
///
/// # Errors
/// A header is damaged, or all that the headers name is no package of an index.
pub(super) fn parse(
    texts: &Texts,
    scripts: &[SkillPath],
) -> Result<Option<Manifest>, ManifestError> {
    let mut files = Vec::new();
    let mut all = Requirements::default();
    let mut left_out = LeftOut::default();
    let mut pythons: Vec<String> = Vec::new();
    let mut seen = BTreeSet::new();
    for file in scripts {
        let Some(text) = texts.get(file) else {
            continue;
        };
        let Some((line, header)) = header(file, text)? else {
            continue;
        };
        let table = pyproject::table(file, &header, line)?;
        let own = pyproject::requirements(file, &table, line, &mut left_out)?;
        if let Some(warning) = pyproject::warning(&table, &format!("{file}:{line}")) {
            left_out.warn(warning);
        }
        let new = own.lines.into_iter();
        all.lines
            .extend(new.filter(|line| seen.insert(line.clone())));
        pythons.extend(own.python.filter(|python| !pythons.contains(python)));
        files.push(file.clone());
    }
    all.python = (!pythons.is_empty()).then(|| pythons.join(","));
    if files.is_empty() {
        return Ok(None);
    }
    let warnings = left_out.warnings(all.lines.is_empty())?;
    Ok(Some(Manifest {
        language: Language::Python,
        files,
        packages: PackageSpec::Requirements(all),
        warnings,
        allowed: Vec::new(),
    }))
}

/// The header without its `#`, and the number of its first line.
///
/// # Errors
/// There are two, which PEP 723 forbids.
fn header(file: &SkillPath, text: &str) -> Result<Option<(usize, String)>, ManifestError> {
    let text = text.get(..text.floor_char_boundary(MAX_READ));
    let mut lines = text.unwrap_or_default().lines().enumerate().peekable();
    let mut found = None;
    while let Some((index, line)) = lines.next() {
        if line != FIRST_LINE {
            continue;
        }
        let mut block = Vec::new();
        let is_inside = |(_, line): &(usize, &str)| line.starts_with("# ") || *line == "#";
        while let Some((_, line)) = lines.next_if(is_inside) {
            block.push(line);
        }
        // The last one ends the header: one above it belongs to the TOML.
        let Some(end) = block.iter().rposition(|line| *line == LAST_LINE) else {
            continue;
        };
        if found.is_some() {
            let why = "it has two `# /// script` headers; keep one (PEP 723)";
            return Err(ManifestError::new(file, Some(index + 1), why));
        }
        block.truncate(end);
        let bare = block.iter().map(|line| line.get(2..).unwrap_or_default());
        found = Some((index + 1, bare.collect::<Vec<_>>().join("\n")));
    }
    Ok(found)
}
