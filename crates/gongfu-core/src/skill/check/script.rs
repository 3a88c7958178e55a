//! Scripts: whether something can run them, and whether what they import is declared.

use super::declaration::proposed;
use super::{javascript, python};
use crate::import::Language;
use crate::skill::diagnostic::{Diagnostic, Edit, Position};
use crate::skill::finding::Finding;
use crate::skill::folder::Folder;
use crate::skill::path::SkillPath;

/// The largest script that is looked at, in bytes.
pub const MAX_SCRIPT: usize = 1024 * 1024;

/// Returns true if a file is looked at as a script.
pub fn is_script(path: &SkillPath) -> bool {
    let below_scripts = path.as_str().starts_with("scripts/");
    matches!(
        path.extension().as_str(),
        "py" | "js" | "mjs" | "cjs" | "ts" | "sh" | "bash"
    ) || (below_scripts && path.extension().is_empty())
}

/// Finds what will keep a script from running.
pub fn check(path: &SkillPath, bytes: &[u8], folder: &Folder, diagnostics: &mut Vec<Diagnostic>) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let first = text.split_inclusive('\n').next().unwrap_or_default();
    let shebang = first.starts_with("#!");
    if shebang && first.ends_with("\r\n") {
        let at = first.len() - 2;
        let edit = Edit {
            start: at,
            end: at + 1,
            replacement: String::new(),
        };
        let found = placed(Finding::ScriptShebangCarriageReturn, path, 1);
        diagnostics.push(found.with_fix(vec![edit]));
    }
    let extension = path.extension();
    if extension.is_empty() && !shebang && is_plain_name(path.file_name()) {
        diagnostics.push(placed(Finding::ScriptWithoutInterpreter, path, 1));
    }
    if !is_run(path) {
        return;
    }
    let (language, undeclared) = match extension.as_str() {
        "py" => (Language::Python, python::undeclared(path, text, folder)),
        "js" | "mjs" | "cjs" | "ts" => (Language::Node, javascript::undeclared(path, text, folder)),
        _ => return,
    };
    if let Some((modules, line)) = undeclared {
        let (packages, unknown) = proposed(language, &modules);
        let finding = Finding::ScriptDependenciesUndeclared {
            language,
            packages,
            unknown,
        };
        diagnostics.push(placed(finding, path, line));
    }
}

/// Returns true if a name without an ending looks like a command's: `Makefile`, `LICENSE`, `.env` and
/// `config` lie beside scripts and are run by nobody.
fn is_plain_name(name: &str) -> bool {
    let lower = name
        .chars()
        .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_'));
    lower
        && !matches!(
            name,
            "config" | "makefile" | "dockerfile" | "justfile" | "license" | "readme"
        )
}

/// Returns true if a script is there to be run; what lies among assets and examples is copied or read.
fn is_run(path: &SkillPath) -> bool {
    let top = path.as_str().split('/').next().unwrap_or_default();
    !matches!(
        top,
        "assets" | "templates" | "template" | "examples" | "tests"
    )
}

fn placed(finding: Finding, path: &SkillPath, line: usize) -> Diagnostic {
    Diagnostic {
        position: Some(Position { line, column: 1 }),
        ..Diagnostic::about_file(finding, path.as_str())
    }
}

#[cfg(test)]
mod tests;
