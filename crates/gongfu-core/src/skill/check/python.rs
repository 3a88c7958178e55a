//! The imports of a Python script, and whether they are declared.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::LazyLock;

use rustc_hash::FxHashSet;

use super::declaration::declared_near;
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

/// The most lines of one import.
const MAX_NAMES: usize = 1_000;

/// The third-party modules of a script that neither it (PEP 723) nor the skill declares, and the line of the first.
///
/// Imports inside of `try:` and for type checkers are optional by custom and don't count; nor do modules of the skill.
pub fn undeclared(
    path: &SkillPath,
    text: &str,
    folder: &Folder,
) -> Option<(BTreeSet<String>, usize)> {
    if text.contains("# /// script") || declared_near(path, &MANIFESTS, folder) {
        return None;
    }
    let mut foreign = imports(text);
    foreign.retain(|(module, _)| {
        let top = module.split('.').next().unwrap_or_default();
        !is_standard(top) && !is_local(top, folder)
    });
    let line = foreign.iter().map(|(_, line)| *line).min()?;
    let modules = foreign.into_iter().map(|(module, _)| module);
    Some((modules.collect(), line))
}

/// The full names of the modules that a script imports, with their lines. What comes of a module may be one as well, so
/// `from a import b` names `a.b`, as for a run.
fn imports(text: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    let mut quote: Option<&str> = None;
    let mut guarded: Option<usize> = None;
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
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
        let mut code = Cow::Borrowed(code);
        if code.starts_with("from ") && code.contains('(') && !code.contains(')') {
            // The names are on the lines below.
            for (_, line) in lines.by_ref().take(MAX_NAMES) {
                let names = without_comment(line);
                let whole = without_comment(&code).to_owned() + " " + names;
                code = whole.into();
                if names.contains(')') {
                    break;
                }
            }
        }
        if guard {
            guarded = guarded.or(Some(indent));
        } else if guarded.is_none() {
            let statements = code.split("; ").flat_map(imported);
            found.extend(statements.map(|module| (module, number + 1)));
        }
        quote = opened_quote(&code);
    }
    found
}

fn without_comment(line: &str) -> &str {
    line.split('#').next().unwrap_or_default()
}

/// The kind of triple quotes that a line leaves open.
fn opened_quote(code: &str) -> Option<&'static str> {
    ["\"\"\"", "'''"]
        .into_iter()
        .find(|quote| code.matches(quote).count() % 2 == 1 && !code.trim_start().starts_with('#'))
}

fn imported(code: &str) -> Vec<String> {
    let code = without_comment(code);
    // Without `as name`, brackets and what follows.
    let name = |text: &str| {
        let text = text.trim_start_matches([' ', '(']);
        let end = text.find([' ', ';', ')', '\\']).unwrap_or(text.len());
        text.get(..end).unwrap_or_default().to_owned()
    };
    let modules: Vec<String> = if let Some(rest) = code.strip_prefix("import ") {
        rest.split(',').map(name).collect()
    } else if let Some((module, names)) = code
        .strip_prefix("from ")
        .and_then(|rest| rest.split_once(" import"))
    {
        let module = name(module);
        let below = |part: String| match part.as_str() {
            "*" => module.clone(),
            part => format!("{module}.{part}"),
        };
        let parts = names.split(',').map(name);
        parts.filter(|part| !part.is_empty()).map(below).collect()
    } else {
        Vec::new()
    };
    let is_module = |module: &String| {
        let mut parts = module.split('.');
        parts.all(|part| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_'))
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
