//! The sets of skills that are measured: a real one where there is one, else a made-up one, and
//! either of them multiplied.
//!
//! Knows what a skill looks like on disk, and nothing of who reads it.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;

use crate::corpus::files_below;
use crate::random::Random;

/// The number of skills in the made-up set: as many as in the corpus.
const SYNTHETIC: usize = 544;
/// The least number of files of a skill in the multiplied set.
const FILES: usize = 5;

/// A folder of skills.
pub(crate) struct Set {
    /// The name of the set, for people.
    pub(crate) title: String,
    /// The folder that is given to gongfu.
    pub(crate) folder: PathBuf,
    /// The folders that hold the skills directly.
    pub(crate) parents: Vec<PathBuf>,
    pub(crate) skills: usize,
    pub(crate) files: usize,
    /// True when it was made just now: then the times of its files can't be trusted yet.
    pub(crate) is_new: bool,
    /// Removes it at the end.
    _made: Option<TempDir>,
}

impl Set {
    /// The skills below a folder.
    pub(crate) fn at(folder: &Path) -> Result<Self> {
        let folder = folder
            .canonicalize()
            .with_context(|| format!("{} is not there", folder.display()))?;
        Self::found(folder, "real skills", None)
    }

    /// Made-up skills, as many as the corpus has.
    pub(crate) fn synthetic() -> Result<Self> {
        let made = TempDir::new()?;
        let mut random = Random::new(544);
        for number in 0..SYNTHETIC {
            let name = format!("{}-{}-{number}", word(&mut random), word(&mut random));
            let skill = made.path().join("skills").join(&name);
            fs::create_dir_all(skill.join("references"))?;
            let size = 2_000 + random.below(18_000);
            fs::write(skill.join("SKILL.md"), document(&name, size, &mut random))?;
            for file in 0..random.below(6) {
                let size = 500 + random.below(8_000);
                let path = skill.join(format!("references/part-{file}.md"));
                fs::write(path, prose(size, &mut random))?;
            }
        }
        Self::found(made.path().join("skills"), "made-up skills", Some(made))
    }

    /// Copies of a set under other names and descriptions, until there are so many skills.
    pub(crate) fn multiplied(original: &Self, wanted: usize) -> Result<Self> {
        let made = TempDir::new()?;
        let target = made.path().join("skills");
        let sources = original.sources()?;
        if sources.is_empty() {
            bail!("{} holds no skills", original.folder.display());
        }
        let mut random = Random::new(10_000);
        for number in 0..wanted {
            let Some(source) = sources.get(number % sources.len()) else {
                break;
            };
            let name = source
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default();
            let round = number / sources.len();
            let name = format!("{name}-{round}");
            let skill = target.join(&name);
            // Names that two collections share get a folder each.
            let skill = if skill.exists() {
                target.join(format!("{name}-b"))
            } else {
                skill
            };
            let files = copy(source, &skill)?;
            let document = skill.join("SKILL.md");
            let text = fs::read_to_string(&document).unwrap_or_default();
            let varied = varied(&text, &folder_name(&skill), round);
            fs::write(&document, varied)?;
            for extra in files..FILES {
                fs::create_dir_all(skill.join("references"))?;
                let path = skill.join(format!("references/extra-{extra}.md"));
                fs::write(path, prose(400 + random.below(1_600), &mut random))?;
            }
        }
        let title = format!("{}, multiplied", original.title);
        Self::found(target, &title, Some(made))
    }

    fn found(folder: PathBuf, what: &str, made: Option<TempDir>) -> Result<Self> {
        let mut set = Self {
            title: what.to_owned(),
            folder,
            parents: Vec::new(),
            skills: 0,
            files: 0,
            is_new: made.is_some(),
            _made: made,
        };
        let sources = set.sources()?;
        set.skills = sources.len();
        set.parents = sources
            .iter()
            .filter_map(|skill| skill.parent().map(Path::to_owned))
            .collect();
        set.parents.sort();
        set.parents.dedup();
        for skill in &sources {
            set.files += files_below(skill)?.len();
        }
        Ok(set)
    }

    /// The folders of the skills, sorted.
    fn sources(&self) -> Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        let mut open = vec![self.folder.clone()];
        while let Some(folder) = open.pop() {
            if folder.join("SKILL.md").is_file() {
                found.push(folder);
                continue;
            }
            for entry in fs::read_dir(&folder)? {
                let entry = entry?;
                if entry.file_type()?.is_dir() {
                    open.push(entry.path());
                }
            }
        }
        found.sort();
        Ok(found)
    }
}

fn folder_name(folder: &Path) -> String {
    folder
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// Copies a folder; returns the number of its files.
fn copy(from: &Path, to: &Path) -> Result<usize> {
    let files = files_below(from)?;
    for path in &files {
        let target = to.join(path.strip_prefix(from)?);
        fs::create_dir_all(target.parent().unwrap_or(to))?;
        // Written, not copied: a copy would keep the permissions of a read-only original.
        fs::write(target, fs::read(path)?)?;
    }
    Ok(files.len())
}

/// A document under another name, with a description of its own.
fn varied(text: &str, name: &str, round: usize) -> String {
    let mut varied = String::with_capacity(text.len() + 100);
    let mut fences = 0;
    for line in text.split_inclusive('\n') {
        fences += usize::from(line.trim_end() == "---");
        let plain = |value: &str| value.starts_with(|first: char| first.is_alphanumeric());
        match line.strip_prefix("description: ") {
            _ if fences != 1 => varied.push_str(line),
            _ if line.starts_with("name:") => {
                let _ = writeln!(varied, "name: {name}");
            }
            Some(value) if plain(value) => {
                let _ = write!(varied, "description: Variant {round} of it. {value}");
            }
            Some(value) if value.starts_with('"') => {
                let rest = value.get(1..).unwrap_or_default();
                let _ = write!(varied, "description: \"Variant {round} of it. {rest}");
            }
            _ => varied.push_str(line),
        }
    }
    let _ = writeln!(varied, "\nThis is variant {round}.");
    varied
}

const WORDS: [&str; 32] = [
    "account", "browser", "chart", "data", "email", "format", "graph", "hash", "image", "join",
    "key", "layout", "matrix", "note", "order", "page", "query", "report", "sheet", "table",
    "update", "value", "window", "yield", "zip", "check", "deploy", "fetch", "merge", "plan",
    "review", "test",
];

fn word(random: &mut Random) -> &'static str {
    random.pick(&WORDS)
}

fn sentence(random: &mut Random) -> String {
    let words: Vec<&str> = (0..6 + random.below(10)).map(|_| word(random)).collect();
    format!("Use {}.", words.join(" "))
}

fn prose(size: usize, random: &mut Random) -> String {
    let mut text = String::new();
    while text.len() < size {
        let _ = match random.below(8) {
            0 => writeln!(text, "\n## {} {}\n", word(random), word(random)),
            1 => writeln!(text, "\n```sh\n{} --{}\n```\n", word(random), word(random)),
            2 => writeln!(text, "- {}", sentence(random)),
            _ => writeln!(text, "{}", sentence(random)),
        };
    }
    text
}

fn document(name: &str, size: usize, random: &mut Random) -> String {
    format!(
        "---\nname: {name}\ndescription: {}\nlicense: MIT\nmetadata:\n  version: \"1.0\"\n---\n\n# {name}\n\n{}",
        sentence(random),
        prose(size, random)
    )
}

#[cfg(test)]
mod tests {
    use super::varied;

    #[test]
    fn a_variant_differs_in_name_and_description_alone() {
        let text = "---\nname: a\ndescription: Do it.\n---\n\nname: b\ndescription: not this\n";
        assert_eq!(
            varied(text, "a-3", 3),
            "---\nname: a-3\ndescription: Variant 3 of it. Do it.\n---\n\nname: b\ndescription: not this\n\nThis is variant 3.\n"
        );
        let quoted = varied("---\ndescription: \"Do: it\"\n---\n", "x", 1);
        assert!(
            quoted.contains("description: \"Variant 1 of it. Do: it\"\n"),
            "{quoted}"
        );
    }
}
