//! The packages that a script imports, against the manifests near it.

use crate::skill::folder::Folder;
use crate::skill::path::SkillPath;

/// Packages that a script imports while nothing near it declares any.
#[derive(Debug, PartialEq, Eq)]
pub struct UndeclaredPackages {
    /// Their import names, sorted.
    pub packages: Vec<String>,
    /// The manifest that could declare them.
    pub manifest: &'static str,
    /// The line of the first such import.
    pub line: usize,
}

/// Returns true if one of `names` lies beside `path` or in a folder above it, up to the skill's own.
pub(crate) fn declared_near(path: &SkillPath, names: &[&str], folder: &Folder) -> bool {
    let mut here = path.parent();
    loop {
        let found = names.iter().any(|name| {
            let candidate = here.join(name);
            candidate.is_ok_and(|candidate| folder.has_file(&candidate))
        });
        if found || here.is_root() {
            return found;
        }
        here = here.parent();
    }
}
