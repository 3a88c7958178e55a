//! The packages of a skill that declares none: guessed from the imports of its scripts.
//!
//! What the scripts import is found once for each version of a skill, and kept. The environment belongs to the
//! packages, so that scripts that need the same ones share it.

use std::collections::{BTreeMap, BTreeSet};

use gongfu_core::dependency::{
    Failure, Imports, Language, Manifest, PackageSpec, Requirements, guesses, left_out_entry,
    requirement_problem, shortened,
};
use gongfu_core::library::Skill;
use serde::{Deserialize, Serialize};

use crate::Inner;
use crate::build::{MAX_LEFT_OUT, disk, io_failure};

/// The imports of scripts, and what a person said to them.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scan {
    imports: Imports,
    /// Packages outside of the table that a person allowed.
    allowed: BTreeSet<String>,
}

impl Inner {
    /// A manifest with the packages that are guessed; `None` before anybody looked at the imports.
    pub(crate) fn guessed(&self, manifest: &Manifest) -> std::io::Result<Option<Manifest>> {
        let name = self.key(manifest.language, manifest.digest());
        let scan: Option<Scan> = self.storage.scan(&name)?;
        Ok(scan.map(|scan| guess(manifest, scan)))
    }

    /// The same; looks at the imports if nobody did yet.
    pub(crate) async fn guess(
        &self,
        skill: &Skill,
        manifest: &Manifest,
    ) -> Result<Manifest, Failure> {
        let name = self.key(manifest.language, manifest.digest());
        let (storage, wanted) = (self.storage.clone(), name.clone());
        let known: Option<Scan> = disk(move || storage.scan(&wanted)).await?;
        let mut scan = match known {
            Some(known) => known,
            None => Scan {
                imports: self.imports(skill, manifest).await?,
                allowed: BTreeSet::new(),
            },
        };
        scan.allowed.extend(manifest.allowed.iter().cloned());
        self.storage.keep_scan(&name, &scan).map_err(io_failure)?;
        Ok(guess(manifest, scan))
    }
}

fn guess(manifest: &Manifest, scan: Scan) -> Manifest {
    let language = manifest.language;
    let mut warnings = manifest.warnings.clone();
    warnings.extend(scan.imports.unread);
    let (mut names, mut has_unknown) = (Vec::new(), false);
    let modules = scan.imports.modules.keys().map(String::as_str);
    for guess in guesses(language, modules) {
        let package = guess.package;
        if language == Language::Python && requirement_problem(&package).is_some() {
            continue;
        }
        let is_allowed = scan.allowed.contains(&package) || manifest.allowed.contains(&package);
        if guess.is_known || is_allowed {
            names.push(package);
        } else {
            has_unknown = true;
            warnings.push(format!(
                "{package}: not in gongfu's list of known packages, and anyone can publish under an imported name; a person can install it, or the package that the module is in, with `gongfu env build SKILL --inferred --allow {package}`"
            ));
        }
    }
    // In Python a module may be in a package of another name, which only a person knows. Where no module lacks its
    // package, an allowed name is meant for another language.
    if language == Language::Python && has_unknown {
        for package in scan.allowed.iter().chain(&manifest.allowed) {
            if requirement_problem(package).is_none() && !names.contains(package) {
                names.push(package.clone());
            }
        }
    }
    let warnings = warnings.iter().map(|warning| left_out_entry(warning));
    Manifest {
        language,
        files: manifest.files.clone(),
        packages: newest(language, &names),
        warnings: shortened(warnings, MAX_LEFT_OUT),
        allowed: Vec::new(),
    }
}

/// The newest versions of these packages.
fn newest(language: Language, names: &[String]) -> PackageSpec {
    match language {
        Language::Python => PackageSpec::Requirements(Requirements {
            lines: names.to_vec(),
            ..Requirements::default()
        }),
        Language::Node => {
            let versions: BTreeMap<&String, &str> = names.iter().map(|name| (name, "*")).collect();
            PackageSpec::Package {
                package: serde_json::json!({ "private": true, "dependencies": versions })
                    .to_string(),
                lock: None,
            }
        }
    }
}
