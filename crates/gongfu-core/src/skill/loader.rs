//! The lenient loader: from the bytes of a SKILL.md to a skill, with everything that is wrong.

use super::diagnostic::Diagnostic;
use super::document::{self, Document, Essence};
use super::{check, fix};

/// Reads a SKILL.md; `None` when it is empty or not text, else always a document.
///
/// `folder` is the name of the folder that holds it. Everything that is wrong is added to
/// `diagnostics`; nothing is lost silently.
pub fn load(bytes: &[u8], folder: &str, diagnostics: &mut Vec<Diagnostic>) -> Option<Document> {
    let mut found = Vec::new();
    let document = document::read(bytes, folder, &mut found);
    if let Some(document) = &document {
        if found.iter().any(Diagnostic::fixable) {
            fix::keep_sound(bytes, folder, &Essence::of(document), &mut found);
        }
        check::body::check(&document.source, document.body, &mut found);
        check::hidden::check(&document.source, &mut found);
    }
    diagnostics.append(&mut found);
    document
}

#[cfg(test)]
mod tests;
