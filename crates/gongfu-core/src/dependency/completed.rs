//! The completion of a list of requirements: many a `requirements.txt` names some of the packages only.

use super::{Imports, Language, Manifest, PackageSpec, guesses};
use crate::import::normal;
use crate::skill::SkillPath;

/// Words of names by which packages differ that have the same modules.
const VARIANTS: [&str; 10] = [
    "bin", "binary", "contrib", "cpu", "gpu", "headless", "nightly", "pypi", "simd", "slim",
];

impl Manifest {
    /// True for a `requirements.txt` without digests: the others have to be complete for their own installers.
    pub fn may_be_incomplete(&self) -> bool {
        let is_list = |file: &SkillPath| matches!(file.extension().as_str(), "txt" | "in");
        let is_open = |packages: &PackageSpec| matches!(packages, PackageSpec::Requirements(requirements) if !requirements.is_lock);
        self.files.first().is_some_and(is_list) && is_open(&self.packages)
    }

    /// The same with the packages of the table without which these scripts end as soon as they start.
    #[must_use]
    pub fn completed(mut self, scripts: &[SkillPath], imports: &Imports) -> Self {
        let PackageSpec::Requirements(requirements) = &mut self.packages else {
            return self;
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let named = requirements.lines.iter().map(|line| {
            let end = line.find(|c| !is_name(c)).unwrap_or(line.len());
            plain(line.get(..end).unwrap_or(line))
        });
        let named: Vec<String> = named.collect();
        let needed = imports.needed.iter().map(String::as_str);
        let missing = guesses(Language::Python, needed)
            .into_iter()
            .filter(|guess| guess.is_known && !named.contains(&plain(&guess.package)));
        let missing: Vec<String> = missing.map(|guess| guess.package).collect();
        if !missing.is_empty() {
            requirements.lines.extend(missing);
            self.files.extend(scripts.iter().cloned());
        }
        self
    }
}

/// A name without the words that tell one variant of a package from another: `psycopg2-binary` is `psycopg2`.
fn plain(package: &str) -> String {
    let normal = normal(package);
    let words = normal.split('-').filter(|word| !VARIANTS.contains(word));
    let words: Vec<&str> = words.collect();
    words.join("-")
}

#[cfg(test)]
mod tests;
