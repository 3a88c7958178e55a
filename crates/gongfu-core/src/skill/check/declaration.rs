//! The packages that a script imports, against the manifests near it.

use std::collections::BTreeSet;

use crate::import::{self, Language};
use crate::skill::folder::Folder;
use crate::skill::path::SkillPath;

/// The packages of the table for these modules, and the modules that it doesn't know: anybody may have published a
/// package under such a name, so it is never proposed as one.
pub(crate) fn proposed(
    language: Language,
    modules: &BTreeSet<String>,
) -> (Vec<String>, Vec<String>) {
    let mut packages = BTreeSet::new();
    let mut unknown = BTreeSet::new();
    for module in modules {
        for guess in import::guesses(language, [module.as_str()]) {
            if guess.is_known {
                packages.insert(guess.package);
            } else {
                unknown.insert(import::shortest(language, module).to_owned());
            }
        }
    }
    (
        packages.into_iter().collect(),
        unknown.into_iter().collect(),
    )
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
