//! The imports of a Python script, and whether they are declared.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use rustc_hash::FxHashSet;

use super::declaration::{UndeclaredPackages, declared_near};
use crate::skill::folder::Folder;
use crate::skill::path::SkillPath;

/// Files that declare what Python scripts need.
const MANIFESTS: [&str; 7] = [
    "requirements.txt",
    "pyproject.toml",
    "scripts/requirements.txt",
    "scripts/pyproject.toml",
    "setup.py",
    "Pipfile",
    "environment.yml",
];

/// The third-party packages of a script that neither it (PEP 723) nor the skill declares.
///
/// Imports inside of `try:` and for type checkers are optional by custom and don't count; nor do modules of the skill.
pub fn undeclared(path: &SkillPath, text: &str, folder: &Folder) -> Option<UndeclaredPackages> {
    if text.contains("# /// script") || declared_near(path, &MANIFESTS, folder) {
        return None;
    }
    let imports = imports(text);
    let foreign: Vec<&(String, usize)> = imports
        .iter()
        .filter(|(module, _)| !is_standard(module) && !is_local(module, folder))
        .collect();
    let line = foreign.iter().map(|(_, line)| *line).min()?;
    let packages: BTreeSet<String> = foreign
        .into_iter()
        .map(|(module, _)| module.clone())
        .collect();
    Some(UndeclaredPackages {
        packages: packages.into_iter().collect(),
        manifest: "pep 723",
        line,
    })
}

/// The top-level modules that a script imports, with their lines.
fn imports(text: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    let mut quote: Option<&str> = None;
    let mut guarded: Option<usize> = None;
    for (number, line) in text.lines().enumerate() {
        if let Some(open) = quote {
            if line.contains(open) {
                quote = None;
            }
            continue;
        }
        let code = line.trim_start();
        let indent = line.len() - code.len();
        let goes_on = ["except", "else:", "finally:"]
            .iter()
            .any(|word| code.starts_with(word));
        if guarded.is_some_and(|outer| indent < outer || (indent == outer && !goes_on))
            && !code.is_empty()
        {
            guarded = None;
        }
        let guard =
            code.starts_with("try:") || (code.starts_with("if ") && code.contains("TYPE_CHECKING"));
        if guard {
            guarded = guarded.or(Some(indent));
        } else if guarded.is_none() {
            let statements = code.split("; ").flat_map(imported);
            found.extend(statements.map(|module| (module, number + 1)));
        }
        quote = opened_quote(code);
    }
    found
}

/// The kind of triple quotes that a line leaves open.
fn opened_quote(code: &str) -> Option<&'static str> {
    ["\"\"\"", "'''"]
        .into_iter()
        .find(|quote| code.matches(quote).count() % 2 == 1 && !code.trim_start().starts_with('#'))
}

fn imported(code: &str) -> Vec<String> {
    let root = |dotted: &str| {
        dotted
            .trim()
            .split(['.', ' ', ';', '#'])
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    let is_module =
        |name: &String| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    let modules: Vec<String> = if let Some(rest) = code.strip_prefix("import ") {
        rest.split(',').map(root).collect()
    } else if let Some(rest) = code.strip_prefix("from ") {
        if rest.contains(" import") {
            vec![root(rest)]
        } else {
            Vec::new()
        }
    } else {
        Vec::new()
    };
    modules.into_iter().filter(is_module).collect()
}

/// Returns true if a module is a file or folder of the skill, wherever a script may add it to its path.
fn is_local(module: &str, folder: &Folder) -> bool {
    let file = format!("{module}.py");
    folder.files.iter().any(|entry| {
        entry.path.file_name() == file
            || entry
                .path
                .as_str()
                .split('/')
                .rev()
                .skip(1)
                .any(|part| part == module)
    })
}

fn is_standard(module: &str) -> bool {
    module.starts_with('_') || STANDARD.contains(module)
}

/// The modules of the standard library, Python 3.8 to 3.14 together.
static STANDARD: LazyLock<FxHashSet<&str>> =
    LazyLock::new(|| include_str!("python_modules.txt").lines().collect());

#[cfg(test)]
mod tests {
    use super::is_standard;

    #[test]
    fn a_module_of_the_standard_library_is_no_package() {
        assert!(["abc", "os", "zoneinfo", "_thread"].map(is_standard) == [true; 4]);
        assert!(["numpy", "", "os.path"].map(is_standard) == [false; 3]);
    }
}
