//! Checks beyond the fields of the format: what a body, a folder and its scripts get wrong.
//!
//! One file a check. Each is given what it looks at and adds its findings; none stops the others.

pub mod body;
mod declaration;
pub mod hidden;
pub mod javascript;
pub mod limit;
pub mod python;
pub mod reference;
pub mod script;

use super::diagnostic::Diagnostic;
use super::document::Document;
use super::folder::Folder;

/// Runs the checks that need the folder as well as the document.
pub fn folder(folder: &Folder, document: &Document, diagnostics: &mut Vec<Diagnostic>) {
    limit::check(folder, diagnostics);
    reference::check(folder, document, diagnostics);
}
